"""Soft verdicts: exact against brute force, the same as hard ones where all is certain, never silent."""

from __future__ import annotations

import itertools
import json
import math
import re

import pytest
from abduce.lm import load
from abduce.programs.config import FHSConfig
from abduce.programs.fhs import FHS
from abduce.programs.trace import Trace
from abduce.programs.verify import LMVerifier
from abduce.programs.window import mean_support, support
from abduce.signatures.types import Judgement, Verdict
from dspy.utils.exceptions import LMInvalidRequestError
from hypothesis import given
from hypothesis import strategies as st
from openai_stub import Stub

S, N, X = Judgement.SUPPORT, Judgement.NO_SUPPORT, Judgement.ABSTAIN
LETTERS = {"s": S, "n": N, "x": X}
DIMENSIONS = ("Family", "Role", "Event", "Qualifier", "Scope", "Temporal")


def brute(chances):
    """The expected support rate and the chance of a verdict, over all 3^n combinations of judgements."""
    rate = weight = 0.0
    for letters in itertools.product(range(3), repeat=len(chances)):
        p = math.prod(row[k] for row, k in zip(chances, letters, strict=True))
        judged = sum(k < 2 for k in letters)
        if judged:
            weight += p
            rate += p * letters.count(0) / judged
    return (rate / weight if weight else 0.0), weight


def soft(concept, chances, letters="ssssss"):
    said = {d: LETTERS[c] for d, c in zip(DIMENSIONS, letters, strict=True)}
    return Verdict(concept, said, dict(zip(DIMENSIONS, chances, strict=True)))


def normal(row):
    total = sum(row)
    return tuple(v / total for v in row)


ROWS = st.lists(st.tuples(*[st.floats(0.001, 1)] * 3).map(normal), min_size=6, max_size=6)


@given(ROWS)
def test_the_expectation_is_exact(chances):
    found, (rate, weight) = support(soft("c", chances)), brute(chances)
    assert found.value == pytest.approx(rate, abs=1e-9)
    assert found.weight == pytest.approx(weight, abs=1e-9)


def test_by_hand():
    one = soft("c", [(0.5, 0.3, 0.2)] + [(0, 0, 1)] * 5)
    assert support(one) == pytest.approx((0.5 / 0.8, 0.8))
    two = soft("c", [(0.5, 0.5, 0), (1, 0, 0)] + [(0, 0, 1)] * 4)
    assert support(two) == pytest.approx((0.75, 1.0))
    assert support(soft("c", [(0, 0, 1)] * 6)) == (0, 0)
    assert support(one, "no_support").value == pytest.approx(0.5 / 6)


@given(st.lists(st.text("snx", min_size=6, max_size=6), min_size=1, max_size=4))
def test_certain_letters_are_hard_verdicts(window):
    certain = {"s": (1.0, 0.0, 0.0), "n": (0.0, 1.0, 0.0), "x": (0.0, 0.0, 1.0)}
    ids = [f"c{i}" for i in range(len(window))]
    hard = [soft(c, [()] * 6, letters) for c, letters in zip(ids, window, strict=True)]
    hard = [Verdict(v.concept_id, v.judgements) for v in hard]
    softened = [soft(c, [certain[x] for x in w], w) for c, w in zip(ids, window, strict=True)]
    pool = [*ids, "outside"]
    assert mean_support(pool, [softened]) == pytest.approx(mean_support(pool, [hard]), abs=1e-12)


def test_a_verdict_by_chance_takes_its_share_of_the_mean():
    """c0: 1 with chance .5; c1: 0 for sure. The mean of the judged is (.5 * 1 + 1 * 0) / 1.5 = 1/3."""
    first = soft("c0", [(0.5, 0, 0.5)] + [(0, 0, 1)] * 5)
    second = soft("c1", [(0, 1, 0)] + [(0, 0, 1)] * 5)
    found = mean_support(["c0", "c1", "c2"], [[first, second]])
    assert found == pytest.approx({"c0": 0.5 * 1 + 0.5 / 3, "c1": 0.0, "c2": 1 / 3})


def tokens(content, chances, pieces=None):
    """The log-probabilities of a content whose verdict letters, in order, have these probabilities."""
    split = pieces or [p for p in re.split(r'( ?(?<=[" ])[snx](?=[" ]))', content) if p]
    waiting, entries = iter(chances), []
    for piece in split:
        options = {piece: 1.0}
        letter = piece.strip()
        if letter in ("s", "n", "x"):
            row = dict(zip("snx", next(waiting), strict=True))
            # A quarter of every letter's mass is on another spelling, and a tenth of all on no letter at all.
            spelled = {f"{piece.replace(letter, c)}": 0.75 * 0.9 * p for c, p in row.items()}
            options = spelled | {c.upper(): 0.25 * 0.9 * p for c, p in row.items()} | {"?": 0.1}
        tops = [{"token": t, "logprob": math.log(p)} for t, p in options.items() if p > 0]
        entries.append({"token": piece, "logprob": math.log(options[piece] or 1), "top_logprobs": tops})
    return {"content": entries}


CHANCES = [
    [(0.7, 0.2, 0.1), (0.1, 0.1, 0.8), (0.2, 0.2, 0.6), (0.4, 0.35, 0.25), (0.3, 0.3, 0.4), (0.1, 0.2, 0.7)],
    [(0.6, 0.3, 0.1), (0.5, 0.4, 0.1), (0.1, 0.7, 0.2), (0.2, 0.7, 0.1), (0.9, 0.05, 0.05), (0.3, 0.3, 0.4)],
]  # fmt: skip
SAID = ["s x x s x x", "s s n n s x"]
WINDOW = ["DebtNoncurrent", "Cash"]


def ask(lm, using, schema, tiny, fact, values=None):
    hypothesis = schema.hypothesis(values or {"Family": "debt", "Qualifier": "noncurrent"}, "q")
    trace, verifier = Trace(), LMVerifier(schema, tiny, form="soft")
    with using(lm):
        said = verifier(fact=fact, hypothesis=hypothesis, candidates=WINDOW, trace=trace, index=0)
    return said, trace


def test_the_letters_of_one_call_are_read_and_renormalised(scripted, using, schema, tiny, table_fact):
    flat = [row for rows in CHANCES for row in rows]
    lm = scripted(verifier={"verdicts": SAID}, logprobs=lambda asked, content: tokens(content, flat))
    (first, second), trace = ask(lm, using, schema, tiny, table_fact)
    assert len(lm.asked) == 1
    assert lm.asked[0].config["top_logprobs"] == 20
    for verdict, rows in ((first, CHANCES[0]), (second, CHANCES[1])):
        assert set(verdict.probabilities) == {"Family", "Qualifier"}  # the others are unresolved
        assert verdict.probabilities["Family"] == pytest.approx(rows[0], abs=1e-9)
        assert verdict.probabilities["Qualifier"] == pytest.approx(rows[3], abs=1e-9)
        rest = [(0.0, 0.0, 1.0)] * 4
        found = brute([rows[0], rows[3], *rest])
        assert tuple(support(verdict)) == pytest.approx(found, abs=1e-9)
    assert (first.judgements["Family"], second.judgements["Qualifier"]) == (S, N)
    assert not [name for name in trace.counters if name.startswith("soft")]


def unanswered(asked, content):
    raise LMInvalidRequestError("logprobs is not supported")


def thought(asked, content):
    found = tokens(content, [(1.0, 0.0, 0.0)] * 12)
    entry = {"token": "<think>cash?</think>", "logprob": 0.0, "top_logprobs": []}
    return {"content": [entry, *found["content"]]}


def merged(asked, content):
    pieces = re.split(r"(s x)", content, maxsplit=1)
    return tokens(content, [], [pieces[0], pieces[1], pieces[2]])


FALLBACKS = {
    "soft_no_logprobs": lambda asked, content: None,
    "soft_split_token": merged,
    "soft_thinking": thought,
    "soft_misread": lambda asked, content: tokens(content.replace("s x", "x x"), [(1.0, 0.0, 0.0)] * 12),
}


@pytest.mark.parametrize("reason", FALLBACKS)
def test_what_cannot_be_read_is_a_hard_verdict_and_counted(reason, scripted, using, schema, tiny, table_fact):
    lm = scripted(verifier={"verdicts": SAID}, logprobs=FALLBACKS[reason])
    (first, second), trace = ask(lm, using, schema, tiny, table_fact)
    assert {n: c for n, c in trace.counters.items() if n.startswith("soft")} == {reason: 1}
    assert first.probabilities == second.probabilities == {}
    assert (first.judgements["Family"], first.judgements["Qualifier"]) == (S, S)
    assert (second.judgements["Family"], second.judgements["Qualifier"]) == (S, N)


def test_an_endpoint_that_refuses_is_asked_without(scripted, using, schema, tiny, table_fact):
    lm = scripted(verifier={"verdicts": SAID}, logprobs=unanswered)
    verdicts, trace = ask(lm, using, schema, tiny, table_fact)
    assert verdicts is not None
    assert [("logprobs" in a.config) for a in lm.asked] == [True, False]
    assert trace.counters["soft_no_logprobs"] == 1


def test_the_ranking_of_FHS_follows_the_expectations(
    scripted, using, schema, table_retriever, tiny, reply, table_fact
):
    """Hard letters tie the two candidates at 1/2; their probabilities do not."""
    index = table_retriever(tiny, {"q": ["Cash", "Goodwill"]})
    flat = [(0.55, 0.45, 0.0), (0.45, 0.55, 0.0)] + [(0.0, 0.0, 1.0)] * 4
    flat += [(0.95, 0.05, 0.0), (0.45, 0.55, 0.0)] + [(0.0, 0.0, 1.0)] * 4
    said = {"verdicts": ["s n x x x x", "s n x x x x"]}
    lm = scripted(
        generator=reply("q", Family="debt", Role="balance"),
        verifier=said,
        logprobs=lambda asked, content: tokens(content, flat),
    )
    found = {}
    for form in ("compact", "soft"):
        with using(lm):
            program = FHS(index, schema, FHSConfig(J=1, beta=6.0), verdicts=form)
            found[form] = program(fact=table_fact).ranking
    assert list(found["compact"].ids) == ["Cash", "Goodwill"]
    assert found["compact"].components["support"].tolist() == [0.5, 0.5]
    assert list(found["soft"].ids) == ["Goodwill", "Cash"]
    # S~ is 1 and 0; the supports are (.55 + .45) / 2 and (.95 + .45) / 2.
    assert found["soft"].components["support"].tolist() == pytest.approx([0.7, 0.5], abs=1e-9)
    assert found["soft"].scores.tolist() == pytest.approx([6 * 0.7, 1 + 6 * 0.5])


def test_over_the_wire_and_from_the_cache(tmp_path, schema, table_retriever, tiny, table_fact):
    """The stub is .5, .3, .2 sure of every letter."""
    import dspy

    before = dspy.cache
    supports, asked = [], []
    index = table_retriever(tiny, default=["Cash", "Goodwill"])
    try:
        with Stub() as stub:
            for _ in range(2):
                with (
                    load({"kind": "vllm", "base_url": stub.url}, cache_dir=tmp_path) as models,
                    models.context(),
                ):
                    program = FHS(index, schema, FHSConfig(Kv=2), verdicts="soft")
                    trace = program(fact=table_fact).trace
                assert [c.ok for c in trace.calls] == [True] * 4
                assert not [n for n in trace.counters if n.startswith("soft")]
                supports.append([v.probabilities["Family"] for j in trace.judged for v in j.verdicts])
                dspy.cache.reset_memory_cache()
                asked.append(len(stub.bodies))
            sent = [b for b in stub.bodies if b.get("logprobs")]
        assert asked[0] == asked[1]  # the second run came from the cache
        assert supports[0] == supports[1]
        for row in supports[0]:
            assert row == pytest.approx((0.5, 0.3, 0.2))
        pattern = json.dumps(sent[0]["response_format"])
        assert "^[snx]( [snx]){5}$" in pattern
    finally:
        dspy.cache = before
