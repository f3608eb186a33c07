"""Replay: the logged row again, exactly; and under other settings what those would have ranked."""

import pytest
from abduce.programs.methods import Parts, build, check_replay
from abduce.programs.presets import PRESETS
from abduce.programs.profiles import Profiles


def verdicts(asked):
    """Support on every dimension for candidates with an even number, none for the others."""
    n = asked.field("candidates").count("\n") + 1
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
    return build(spec, replace(parts, replay=lambda row: lambda fact: trace))


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
        logged = build(PRESETS[name], parts)(fact=fact)
    again = replayed(parts, logged.trace, name=name)(fact=fact)  # no model is set here
    assert list(again.ranking.ids) == list(logged.ranking.ids)
    assert again.ranking.scores.tolist() == logged.ranking.scores.tolist()
    assert again.trace.counters["llm_calls"] == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"beta": 0.0},
        {"beta": 2.0},
        {"fusion": "mean"},
        {"normalise": False},
        {"abstain": "no_support"},
        {"kappa": 5},
    ],
)
def test_other_settings_rank_as_a_run_of_their_own_would(changes, parts, lm, using, table_fact):
    """The verifier's answer depends on the window alone, so a fresh run is comparable."""
    with using(lm):
        logged = build(PRESETS["FHS"], parts)(fact=table_fact)
        fresh = build(PRESETS["FHS"].changed(changes), parts)(fact=table_fact)
    again = replayed(parts, logged.trace, changes)(fact=table_fact)
    if list(again.trace.judged and again.trace.judged[0].window) == list(
        fresh.trace.judged and fresh.trace.judged[0].window
    ):
        assert list(again.ranking.ids) == list(fresh.ranking.ids)
        assert again.ranking.scores.tolist() == fresh.ranking.scores.tolist()
    else:
        assert again.trace.judged


def test_fewer_samples_and_one_sample_are_taken_from_the_log(parts, lm, using, table_fact):
    with using(lm):
        logged = build(PRESETS["FHS"], parts)(fact=table_fact)
        first = build(PRESETS["FHS"].changed({"J": 1, "beta": 0.0}), parts)(fact=table_fact)
        second = build(PRESETS["FHS"].changed({"keep": (1,), "beta": 0.0}), parts)(fact=table_fact)
    one = replayed(parts, logged.trace, {"J": 1, "beta": 0.0})(fact=table_fact)
    other = replayed(parts, logged.trace, {"keep": (1,), "beta": 0.0})(fact=table_fact)
    assert list(one.ranking.ids) == list(first.ranking.ids)
    assert list(other.ranking.ids) == list(second.ranking.ids)
    assert list(one.ranking.ids) != list(other.ranking.ids)


def test_another_retriever_ranks_the_same_queries(parts, lm, using, table_fact):
    with using(lm):
        logged = build(PRESETS["FHS"], parts)(fact=table_fact)
    again = replayed(parts, logged.trace, {"retriever.w_cov": 0.0})(fact=table_fact)
    assert [q.text for q in again.trace.queries] == [q.text for q in logged.trace.queries]
    scores = [r.scores.tolist() for r in again.trace.rankings]
    assert scores != [r.scores.tolist() for r in logged.trace.rankings]


def test_a_candidate_that_was_never_judged_takes_the_mean_and_is_counted(parts, lm, using, table_fact):
    with using(lm):
        logged = build(PRESETS["FHS"].changed({"Kv": 2}), parts)(fact=table_fact)
    again = replayed(parts, logged.trace, {"Kv": 4})(fact=table_fact)
    assert again.trace.counters["unjudged_candidates"] == 4  # two of the window, under two hypotheses
    assert all(len(j.verdicts) == 2 for j in again.trace.judged)


def test_the_symbolic_check_can_take_the_place_of_logged_verdicts(parts, lm, using, table_fact):
    with using(lm):
        logged = build(PRESETS["FHS"], parts)(fact=table_fact)
        fresh = build(PRESETS["program-driven score"], parts)(fact=table_fact)
    again = replayed(parts, logged.trace, {"verifier": "symbolic"})(fact=table_fact)
    assert list(again.ranking.ids) == list(fresh.ranking.ids)


def test_without_a_log_there_is_nothing_to_replay(parts):
    with pytest.raises(ValueError, match="no log to replay"):
        build(PRESETS["FHS"].changed({"replay": "FHS"}), parts)


@pytest.mark.parametrize(
    ("base", "changes", "says"),
    [
        ("- verifier", {"beta": 0.6}, "logs no verdicts"),
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
        logged = build(PRESETS["- verifier"], parts)(fact=table_fact)
    with pytest.raises(ValueError, match="no verdicts"):
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
        logged = build(PRESETS["FHS"], parts)(fact=table_fact)
        alone = build(PRESETS["FHS"].changed({"J": 1, "beta": 0.0}), parts)(fact=table_fact)
        second = build(PRESETS["FHS"].changed({"keep": (1,), "beta": 0.0}), parts)(fact=table_fact)
    assert logged.trace.notes["samples"] == [1]
    assert len(logged.trace.hypotheses) == 1
    again = replayed(parts, logged.trace, {"J": 1, "beta": 0.0})(fact=table_fact)
    assert [q.form for q in again.trace.queries] == ["direct"]
    assert list(again.ranking.ids) == list(alone.ranking.ids)
    other = replayed(parts, logged.trace, {"keep": (1,), "beta": 0.0})(fact=table_fact)
    assert list(other.ranking.ids) == list(second.ranking.ids)
    same = replayed(parts, logged.trace)(fact=table_fact)
    assert same.ranking.scores.tolist() == logged.ranking.scores.tolist()
