"""Replay: the logged row again, exactly; and under other settings what those would have ranked."""

import pytest
from abduce.programs.calls import NoModel
from abduce.programs.methods import Parts, build_program, check_replay
from abduce.programs.presets import PRESETS
from abduce.programs.profiles import Profiles
from abduce.signatures.types import Fact, SourceContext


def verdicts(asked):
    """Support on every dimension for candidates with an even number, none for the others."""
    n = asked.field("candidates").count("\n") + 1
    if "chance in percent" in asked.prompt:
        return {"verdicts": [[90, 20, 60, 80, 10, 70] if i % 2 else [-1] * 6 for i in range(n)]}
    return {"verdicts": ["ssssss" if i % 2 else "nnnnnn" for i in range(n)]}


@pytest.fixture
def lm(scripted, reply):
    def generate(asked):
        text = "amount of debt due" if asked.sample == 0 else "income tax expense and goodwill"
        return reply(text, Family="debt" if asked.sample == 0 else "tax", Role="current")

    descriptions = {"description": "amount of debt", "critique": "too wide"}
    return scripted(
        generator=generate,
        verifier=verdicts,
        describe={"description": "amount of debt due"},
        critique=descriptions,
        feedback=descriptions,
        decompose=dict.fromkeys(
            ("entity_and_family", "temporal", "measurement_and_qualifiers", "aggregation_and_structure"),
            "debt",
        ),
        revise={"value": "goodwill", "retrieval_query": "amount of goodwill"},
    )


@pytest.fixture
def parts(tiny, tiny_index, schema):
    from abduce.retrievers.bm25 import BM25Retriever

    weighted = {1.0: tiny_index, 0.0: BM25Retriever(tiny, w_cov=0.0)}
    profiles = Profiles(schema, tiny)
    return Parts(lambda s: weighted[s.get("w_cov", 1.0)], tiny, schema, profiles=profiles)


def replayed(parts, trace, changes=(), name="FHS"):
    from dataclasses import replace

    spec = PRESETS[name].changed({"replay": "logged", **dict(changes)})
    return build_program(spec, replace(parts, replay=lambda row: lambda fact: trace))


METHODS = [
    "direct",
    "locus",
    "one-pass free-text",
    "one-pass structured",
    "parallel sampling",
    "decomposed",
    "intrinsic refinement",
    "feedback refinement",
    "FHS",
    "FHS-Seq",
    "FHS-rules",
    "FHS-phrases",
    "FHS + locus",
]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("modality", ["table", "text"])
def test_under_its_own_settings_a_replay_is_the_logged_ranking(
    name, modality, parts, lm, using, table_fact, text_fact
):
    fact = table_fact if modality == "table" else text_fact
    with using(lm):
        logged = build_program(PRESETS[name], parts)(fact=fact)
    again = replayed(parts, logged.trace, name=name)(fact=fact)  # no model is set here
    assert list(again.ranking.ids) == list(logged.ranking.ids)
    assert again.ranking.scores.tolist() == logged.ranking.scores.tolist()
    assert again.trace.counters["llm_calls"] == 0


SETTINGS = [
    {"beta": 0.0},
    {"beta": 2.0},
    {"abstain": "no_support"},
    {"normalise": False},
    {"fusion": "mean"},
    {"kappa": 5},
    {"Kv": 4},
    {"J": 1},
    {"keep": (1,)},
    {"forms": ("label",)},
    {"verdicts": "graded"},
    {"retriever.w_cov": 0.0},
]


@pytest.mark.parametrize("changes", SETTINGS, ids=str)
def test_other_settings_rank_as_a_run_of_their_own_would(changes, parts, lm, using, table_fact):
    """The verifier's answer depends on window and hypothesis alone, so a fresh run is comparable."""
    with using(lm):
        logged = build_program(PRESETS["FHS"], parts)(fact=table_fact)
        fresh = build_program(PRESETS["FHS"].changed(changes), parts)(fact=table_fact)
        again = replayed(parts, logged.trace, changes)(fact=table_fact)
    assert list(again.ranking.ids) == list(fresh.ranking.ids)
    assert again.ranking.scores.tolist() == fresh.ranking.scores.tolist()
    assert not [c for c in again.trace.calls if c.stage != "verifier"]


@pytest.mark.parametrize("changes", SETTINGS[:4], ids=str)
def test_on_the_logged_window_a_replay_calls_nothing_and_says_so(changes, parts, lm, using, table_fact):
    with using(lm):
        logged = build_program(PRESETS["FHS"], parts)(fact=table_fact)
    again = replayed(parts, logged.trace, changes)(fact=table_fact)  # no model is set here
    assert again.trace.notes.get("verdicts") == ("logged" if changes.get("beta") != 0.0 else None)
    assert again.trace.counters["verified_again"] == 0
    assert not PRESETS["FHS"].changed({"replay": "x", **changes}).needs_model


@pytest.mark.parametrize("changes", SETTINGS[4:], ids=str)
def test_what_may_move_the_window_needs_a_model(changes):
    assert PRESETS["FHS"].changed({"replay": "x", **changes}).needs_model
    assert not PRESETS["FHS"].changed({"replay": "x", **changes, "beta": 0.0}).needs_model


def test_the_retriever_swap_verifies_its_own_window(table_retriever, tiny, schema, scripted, reply, using):
    """J = 1, Kv = 2: rankings [A, B, C] become [A, C, B], and the verifier supports C alone."""
    a, b, c = "Cash", "Goodwill", "LeaseExpense"
    retrievers = {1.0: table_retriever(tiny, {"q": [a, b, c]}), 0.0: table_retriever(tiny, {"q": [a, c, b]})}
    parts = Parts(lambda s: retrievers[s.get("w_cov", 1.0)], tiny, schema)
    fact = Fact(fact_id="f", value="1", context=SourceContext(context_id="x", text="1"), modality="text")

    def supports_c(asked):
        shown = [line.split(". ", 1)[1].split(" | ")[0] for line in asked.field("candidates").split("\n")]
        return {"verdicts": ["sxxxxx" if one == c else "nxxxxx" for one in shown]}

    lm = scripted(generator=reply("q", Family="lease"), verifier=supports_c)
    changes = {"J": 1, "Kv": 2, "retriever.w_cov": 0.0}
    with using(lm):
        logged = build_program(PRESETS["FHS"].changed({"J": 1, "Kv": 2}), parts)(fact=fact)
        live = build_program(PRESETS["FHS"].changed(changes), parts)(fact=fact)
        again = replayed(parts, logged.trace, changes)(fact=fact)
    assert logged.trace.judged[0].window == [a, b]
    assert again.trace.judged[0].window == [a, c]
    # S~ of [A, C, B] is 1, (1/62 - 1/63) / (1/61 - 1/63) = .492, 0; v is 0, 1, 1/2: C has 1.092, A 1.0.
    assert list(again.ranking.ids) == list(live.ranking.ids) == [c, a, b]
    assert again.trace.notes["verdicts"] == "asked again"
    assert again.trace.counters["verified_again"] == 1
    assert lm.stages() == {"generator": 2, "verifier": 3}


def test_a_failed_verification_of_the_log_stays_one(parts, scripted, reply, using, table_fact):
    lm = scripted(generator=reply("amount of debt due", Family="debt"), verifier="no JSON")
    with using(lm):
        logged = build_program(PRESETS["FHS"], parts)(fact=table_fact)
    again = replayed(parts, logged.trace)(fact=table_fact)
    assert again.trace.counters["failed_verifications"] == 2
    assert again.trace.notes["verdicts"] == "logged"


def test_fewer_samples_and_one_sample_are_taken_from_the_log(parts, lm, using, table_fact):
    with using(lm):
        logged = build_program(PRESETS["FHS"], parts)(fact=table_fact)
        first = build_program(PRESETS["FHS"].changed({"J": 1, "beta": 0.0}), parts)(fact=table_fact)
        second = build_program(PRESETS["FHS"].changed({"keep": (1,), "beta": 0.0}), parts)(fact=table_fact)
    one = replayed(parts, logged.trace, {"J": 1, "beta": 0.0})(fact=table_fact)
    other = replayed(parts, logged.trace, {"keep": (1,), "beta": 0.0})(fact=table_fact)
    assert list(one.ranking.ids) == list(first.ranking.ids)
    assert list(other.ranking.ids) == list(second.ranking.ids)
    assert list(one.ranking.ids) != list(other.ranking.ids)


def test_another_retriever_ranks_the_same_queries(parts, lm, using, table_fact):
    with using(lm):
        logged = build_program(PRESETS["FHS"], parts)(fact=table_fact)
        again = replayed(parts, logged.trace, {"retriever.w_cov": 0.0})(fact=table_fact)
    assert [q.text for q in again.trace.queries] == [q.text for q in logged.trace.queries]
    scores = [r.scores.tolist() for r in again.trace.rankings]
    assert scores != [r.scores.tolist() for r in logged.trace.rankings]


def test_the_symbolic_check_can_take_the_place_of_logged_verdicts(parts, lm, using, table_fact):
    with using(lm):
        logged = build_program(PRESETS["FHS"], parts)(fact=table_fact)
        fresh = build_program(PRESETS["program-driven score"], parts)(fact=table_fact)
    again = replayed(parts, logged.trace, {"verifier": "symbolic"})(fact=table_fact)
    assert list(again.ranking.ids) == list(fresh.ranking.ids)


def test_without_a_log_there_is_nothing_to_replay(parts):
    with pytest.raises(ValueError, match="no log to replay"):
        build_program(PRESETS["FHS"].changed({"replay": "FHS"}), parts)


@pytest.mark.parametrize(
    ("base", "changes", "says"),
    [
        ("FHS", {"J": 3}, "fewer samples"),
        ("- ensemble", {}, "cannot be replayed"),
        ("oracle best single", {}, "cannot be replayed"),
    ],
)
def test_a_replay_that_its_log_cannot_feed_is_refused(base, changes, says):
    with pytest.raises(ValueError, match=says):
        check_replay(PRESETS["FHS"].changed({"replay": "x", **changes}), PRESETS[base])


def test_the_log_itself_is_checked_too(parts, lm, using, table_fact):
    with using(lm):
        logged = build_program(PRESETS["- verifier"], parts)(fact=table_fact)
    with pytest.raises(NoModel, match="the verifier needs a language model"):
        replayed(parts, logged.trace)(fact=table_fact)
    with pytest.raises(ValueError, match="2 samples"):
        replayed(parts, logged.trace, {"J": 3, "beta": 0.0})(fact=table_fact)


def test_a_dropped_sample_keeps_its_number(parts, scripted, reply, using, table_fact):
    """With sample 0 lost, one sample of the log is what one sample of a run is: the direct query."""

    def generate(asked):
        if asked.sample % 100 == 0:
            return "no JSON"
        return reply("income tax expense and goodwill", Family="tax")

    lm = scripted(generator=generate, verifier=verdicts)
    with using(lm):
        logged = build_program(PRESETS["FHS"], parts)(fact=table_fact)
        alone = build_program(PRESETS["FHS"].changed({"J": 1, "beta": 0.0}), parts)(fact=table_fact)
        second = build_program(PRESETS["FHS"].changed({"keep": (1,), "beta": 0.0}), parts)(fact=table_fact)
    assert logged.trace.notes["samples"] == [1]
    assert len(logged.trace.hypotheses) == 1
    again = replayed(parts, logged.trace, {"J": 1, "beta": 0.0})(fact=table_fact)
    assert [q.form for q in again.trace.queries] == ["direct"]
    assert list(again.ranking.ids) == list(alone.ranking.ids)
    other = replayed(parts, logged.trace, {"keep": (1,), "beta": 0.0})(fact=table_fact)
    assert list(other.ranking.ids) == list(second.ranking.ids)
    same = replayed(parts, logged.trace)(fact=table_fact)
    assert same.ranking.scores.tolist() == logged.ranking.scores.tolist()
