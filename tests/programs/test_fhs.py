"""FHS by hand: retrieval, fusion, window, verification, ranking; and what is made of bad replies."""

from __future__ import annotations

import pytest
from abduce.programs import FHS, FHSConfig, Locus, RuleGenerator, SymbolicVerifier
from abduce.programs.profiles import Profiles

TABLE = {
    "alpha": ["Cash", "DebtCurrent", "Goodwill"],
    "beta": ["DebtCurrent", "Revenues"],
    "debt debt noncurrent": ["DebtNoncurrent", "DebtCurrent"],
    "inventory": ["InventoryNet", "Cash"],
}
"""What the stub index answers to the definition forms (alpha, beta) and the label forms of the samples."""


@pytest.fixture
def index(table_retriever, tiny):
    return table_retriever(tiny, TABLE, default=["TaxExpense"])


@pytest.fixture
def samples(reply):
    def answer(asked):
        if asked.sample % 100 == 0:
            return reply("alpha", Family="debt", Qualifier="noncurrent")
        return reply("beta", Family="inventory")

    return answer


def by_candidate(table, rest="xxxxxx"):
    """A verifier's reply: letters by concept id."""

    def answer(asked):
        shown = [line.split(". ", 1)[1].split(" | ")[0] for line in asked.field("candidates").split("\n")]
        return {"verdicts": [table.get(c, rest) for c in shown]}

    return answer


def fused(*ranks):
    return sum(1 / (60 + r) for r in ranks)


def test_without_a_verifier_the_ranking_is_the_fusion_of_four_rankings(
    scripted, using, index, schema, samples, table_fact
):
    lm = scripted(generator=samples)
    with using(lm):
        prediction = FHS(index, schema, FHSConfig(beta=0.0))(fact=table_fact)
    ranking, trace = prediction.ranking, prediction.trace
    # DebtCurrent 2, 2, 1; Cash 1, 2; DebtNoncurrent 1; InventoryNet 1; Revenues 2; Goodwill 3
    assert list(ranking.ids) == [
        "DebtCurrent",
        "Cash",
        "DebtNoncurrent",
        "InventoryNet",
        "Revenues",
        "Goodwill",
    ]
    top, low = fused(1, 2, 2), fused(3)
    assert ranking.scores.tolist() == pytest.approx(
        [(s - low) / (top - low) for s in (top, fused(1, 2), fused(1), fused(1), fused(2), low)]
    )
    assert [q.text for q in trace.queries] == [
        "1,204 monetaryItemType alpha",
        "1,204 monetaryItemType debt debt noncurrent noncurrent",
        "1,204 monetaryItemType beta",
        "1,204 monetaryItemType inventory inventory",
    ]
    assert trace.judged == []
    assert lm.stages() == {"generator": 2}


def test_verdicts_are_added_with_weight_beta(scripted, using, index, schema, samples, table_fact):
    debt = by_candidate({"DebtNoncurrent": "sxxsxx", "DebtCurrent": "sxxnxx", "Cash": "nxxnxx"})
    stock = by_candidate({"InventoryNet": "sxxxxx", "DebtCurrent": "nxxxxx"})
    lm = scripted(
        generator=samples, verifier=lambda a: debt(a) if "Family: debt" in a.field("hypothesis") else stock(a)
    )
    with using(lm):
        prediction = FHS(index, schema)(fact=table_fact)
    top, low = fused(1, 2, 2), fused(3)
    norm = {
        c: (s - low) / (top - low)
        for c, s in {
            "DebtCurrent": top,
            "Cash": fused(1, 2),
            "DebtNoncurrent": fused(1),
            "InventoryNet": fused(1),
            "Revenues": fused(2),
            "Goodwill": low,
        }.items()
    }
    # under the first hypothesis 1, 1/2 and 0 were judged (mean 1/2), under the second 1 and 0 (mean 1/2)
    support = dict.fromkeys(norm, 0.5) | {
        "DebtNoncurrent": (1 + 0.5) / 2,
        "DebtCurrent": (0.5 + 0) / 2,
        "Cash": (0 + 0.5) / 2,
        "InventoryNet": (0.5 + 1) / 2,
    }
    expected = {c: norm[c] + 0.6 * support[c] for c in norm}
    found = dict(zip(prediction.ranking.ids, prediction.ranking.scores.tolist(), strict=True))
    assert found == pytest.approx(expected)
    assert list(prediction.ranking.ids) == sorted(expected, key=lambda c: (-expected[c], c))
    assert [j.window for j in prediction.trace.judged] == [list(prediction.trace.pool.by_score())] * 2


def test_the_window_has_Kv_candidates_and_the_call_is_sized_by_it(
    scripted, using, index, schema, samples, table_fact
):
    lm = scripted(generator=samples, verifier=by_candidate({}))
    with using(lm):
        FHS(index, schema, FHSConfig(Kv=3))(fact=table_fact)
    assert [len(a.field("candidates").split("\n")) for a in lm.of("verifier")] == [3, 3]


def test_K_limits_each_retrieval_and_the_pool(scripted, using, index, schema, samples, table_fact):
    with using(scripted(generator=samples)):
        prediction = FHS(index, schema, FHSConfig(K=2, beta=0.0))(fact=table_fact)
    assert {k for _, k, _ in index.asked} == {2}
    assert list(prediction.ranking.ids) == ["DebtCurrent", "Cash"]
    assert prediction.trace.counters["pool"] == 5  # Goodwill, at rank 3, was not returned


def test_each_search_is_filtered_by_the_fact_s_datatype(scripted, using, index, schema, samples, table_fact):
    with using(scripted(generator=samples)):
        FHS(index, schema, FHSConfig(beta=0.0))(fact=table_fact)
    assert {where.datatype for _, _, where in index.asked} == {"monetaryItemType"}


class TestRepliesThatDoNotParse:
    def test_one_bad_reply_is_asked_for_again(self, scripted, using, index, schema, samples, table_fact):
        lm = scripted(generator=lambda a: "no JSON" if a.sample == 1 else samples(a))
        with using(lm):
            trace = FHS(index, schema, FHSConfig(beta=0.0))(fact=table_fact).trace
        assert len(lm.of("generator")) == 3
        assert [h.retrieval_query for h in trace.hypotheses] == ["alpha", "beta"]
        assert trace.counters["dropped_replies"] == 0
        assert trace.counters["llm_calls"] == 3
        assert [c.ok for c in trace.calls if c.index == 1] == [False, True]

    def test_after_two_the_sample_is_dropped_and_counted(
        self, scripted, using, index, schema, samples, table_fact
    ):
        lm = scripted(generator=lambda a: "{}" if a.sample % 100 == 1 else samples(a))
        with using(lm):
            trace = FHS(index, schema, FHSConfig(beta=0.0))(fact=table_fact).trace
        assert [h.retrieval_query for h in trace.hypotheses] == ["alpha"]
        assert len(trace.rankings) == 2
        assert trace.counters["dropped_replies"] == 1

    def test_with_none_left_the_direct_query_is_used_and_counted(
        self, scripted, using, index, schema, table_fact
    ):
        lm = scripted(generator="nonsense")
        with using(lm):
            prediction = FHS(index, schema)(fact=table_fact)
        trace = prediction.trace
        assert [q.text for q in trace.queries] == ["1,204 monetaryItemType 2024 Debt | Long-term 1,204"]
        assert [q.form for q in trace.queries] == ["direct"]
        assert list(prediction.ranking.ids) == ["TaxExpense"]
        assert trace.counters["direct_fallback"] == 1
        assert trace.counters["dropped_replies"] == 2
        assert lm.stages() == {"generator": 4}  # nothing to verify

    def test_a_failed_verification_is_0_for_all_and_counted(
        self, scripted, using, index, schema, samples, table_fact
    ):
        good = by_candidate({"Goodwill": "sxxsxx"}, "nxxnxx")

        def verify(asked):
            return good(asked) if "Family: debt" in asked.field("hypothesis") else "?"

        with using(scripted(generator=samples, verifier=verify)):
            prediction = FHS(index, schema)(fact=table_fact)
        support = dict(zip(prediction.ranking.ids, prediction.ranking.components["support"], strict=True))
        assert support == dict.fromkeys(support, 0.0) | {"Goodwill": 0.5}
        assert prediction.trace.counters["failed_verifications"] == 1
        assert [j.verdicts is None for j in prediction.trace.judged] == [False, True]

    @pytest.mark.parametrize(("keep", "query"), [((0,), None), ((1,), "beta")])
    def test_keep_counts_samples_not_survivors(
        self, scripted, using, index, schema, samples, table_fact, keep, query
    ):
        lm = scripted(generator=lambda a: "bad" if a.sample % 100 == 0 else samples(a))
        with using(lm):
            trace = FHS(index, schema, FHSConfig(beta=0.0, keep=keep))(fact=table_fact).trace
        assert [h.retrieval_query for h in trace.hypotheses] == ([query] if query else [])
        assert trace.counters["direct_fallback"] == (query is None)

    def test_a_model_that_fails_is_not_swallowed(self, scripted, using, index, schema, table_fact):
        with using(scripted(generator=ConnectionError("down"))), pytest.raises(ConnectionError, match="down"):
            FHS(index, schema)(fact=table_fact)


def test_values_outside_a_vocabulary_are_counted_noted_and_still_searched(
    scripted, using, index, schema, reply, table_fact
):
    lm = scripted(generator=reply("alpha", Family="zebra stripes"))
    with using(lm):
        trace = FHS(index, schema, FHSConfig(J=1, beta=0.0))(fact=table_fact).trace
    assert trace.counters["unnormalised_values"] == 1
    assert trace.notes["unnormalised"] == [{"Family": "zebra stripes"}]
    assert trace.queries[1].text == "1,204 monetaryItemType zebra stripe zebra stripe"


def test_without_a_model_nothing_is_asked(scripted, using, tiny, tiny_index, schema, table_fact):
    fhs = FHS(
        tiny_index,
        schema,
        FHSConfig(J=1),
        generator=RuleGenerator(schema),
        verifier=SymbolicVerifier(schema, Profiles(schema, tiny)),
    )
    lm = scripted()
    with using(lm):
        prediction = fhs(fact=table_fact)
    assert lm.asked == []
    assert prediction.ranking.ids[0] == "DebtNoncurrent"
    (judged,) = prediction.trace.judged
    assert sorted(judged.window) == sorted(prediction.ranking.ids)  # the whole pool


def test_a_companion_s_ranking_is_fused_with_its_weight(
    scripted, using, table_retriever, tiny, schema, reply, table_fact
):
    index = table_retriever(tiny, {"alpha": ["Cash", "Goodwill"], "2024": ["Goodwill", "Revenues"]})
    config = FHSConfig(J=1, beta=0.0, companions={"locus": 0.5}, forms=("definition",))
    fhs = FHS(index, schema, config, companions={"locus": Locus(index)})
    with using(scripted(generator=reply("alpha"))):
        prediction = fhs(fact=table_fact)
    assert [q.form for q in prediction.trace.queries] == ["definition", "locus"]
    fused_scores = dict(zip(prediction.ranking.ids, prediction.ranking.components["fused"], strict=True))
    assert fused_scores == pytest.approx(
        {"Goodwill": 1 / 62 + 0.5 / 61, "Cash": 1 / 61, "Revenues": 0.5 / 62}
    )
    assert prediction.trace.counters["retrievals"] == 2


def test_a_companion_that_is_not_given_is_an_error(index, schema):
    with pytest.raises(ValueError, match="no companion program 'locus'"):
        FHS(index, schema, FHSConfig(companions={"locus": 1.0}))
