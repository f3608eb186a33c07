"""Verifiers: what the model sees, what is made of its verdicts, and the symbolic check."""

from __future__ import annotations

import pytest
from abduce.programs.profiles import Profiles
from abduce.programs.trace import Trace
from abduce.programs.verify import LMVerifier, SymbolicVerifier, show_candidate, show_hypothesis
from abduce.signatures.types import Concept, Judgement

S, N, X = Judgement.SUPPORT, Judgement.NO_SUPPORT, Judgement.ABSTAIN
WINDOW = ["DebtNoncurrent", "Cash"]


@pytest.fixture
def said(schema):
    return schema.hypothesis({"Family": "debt", "Qualifier": "noncurrent"}, "q")


def verify(verifier, fact, hypothesis, window=WINDOW):
    trace = Trace()
    return verifier(fact=fact, hypothesis=hypothesis, candidates=window, trace=trace, index=0), trace


def test_an_unresolved_dimension_abstains_whatever_the_model_says(
    scripted, using, schema, tiny, said, table_fact
):
    with using(scripted(verifier={"verdicts": ["ssssss", "nnnnnn"]})):
        (first, second), _ = verify(LMVerifier(schema, tiny), table_fact, said)
    assert list(first.judgements.values()) == [S, X, X, S, X, X]
    assert list(second.judgements.values()) == [N, X, X, N, X, X]
    assert [first.concept_id, second.concept_id] == WINDOW


@pytest.mark.parametrize("form", ["compact", "spelled", "graded"])
def test_the_forms_say_the_same(scripted, using, schema, tiny, said, table_fact, form):
    verdicts = {
        "compact": ["sxxnxx", "nxxnxx"],
        "spelled": [
            dict.fromkeys(schema.names, "abstain") | {"Family": "support", "Qualifier": "no_support"},
            dict.fromkeys(schema.names, "abstain") | {"Family": "no_support", "Qualifier": "no_support"},
        ],
        "graded": [[90, -1, -1, 20, -1, -1], [10, -1, 80, 0, -1, -1]],
    }
    with using(scripted(verifier={"verdicts": verdicts[form]})):
        (first, second), _ = verify(LMVerifier(schema, tiny, form=form), table_fact, said)
    assert (first.judgements["Family"], first.judgements["Qualifier"]) == (S, N)
    assert (second.judgements["Family"], second.judgements["Qualifier"]) == (N, N)
    assert second.judgements["Event"] is X
    if form == "graded":
        assert second.probabilities == {"Family": (0.1, 0.9, 0.0), "Qualifier": (0.0, 1.0, 0.0)}


def test_too_few_verdicts_do_not_parse_are_asked_again_and_then_dropped(
    scripted, using, schema, tiny, said, table_fact
):
    lm = scripted(verifier={"verdicts": ["ssssss"]})
    with using(lm):
        verdicts, trace = verify(LMVerifier(schema, tiny), table_fact, said)
    assert verdicts is None
    assert trace.counters["llm_calls"] == 2
    assert trace.counters["dropped_replies"] == 1
    assert len(lm.asked) == 2


def test_the_model_sees_fact_hypothesis_and_window(scripted, using, schema, tiny, said, table_fact):
    lm = scripted(verifier={"verdicts": ["ssssss", "nnnnnn"]})
    with using(lm):
        verify(LMVerifier(schema, tiny), table_fact, said)
    (asked,) = lm.asked
    assert asked.field("value") == "1,204"
    assert asked.field("candidates") == (
        "1. DebtNoncurrent | monetaryItemType | Debt, Noncurrent | Amount of debt due after one year.\n"
        "2. Cash | monetaryItemType | Cash | Amount of cash on hand."
    )
    assert asked.field("hypothesis") == show_hypothesis(said, schema)
    assert show_hypothesis(said, schema).split("\n")[:2] == ["Family: debt", "Role: UNRESOLVED"]
    assert asked.config["temperature"] == 0.0


def test_a_candidate_shows_at_most_320_characters_of_definition_and_its_references():
    concept = Concept(
        id="C", label="L", definition="d" * 400, metadata={"references": ["ASC 842", "ASC 606"]}
    )
    assert show_candidate(concept) == f"C | L | {'d' * 320} | references: ASC 842; ASC 606"
    assert show_candidate(concept, 0) == "C | L | references: ASC 842; ASC 606"


def test_the_symbolic_check_judges_the_whole_pool_by_the_vocabularies(schema, tiny, said, table_fact):
    verifier = SymbolicVerifier(schema, Profiles(schema, tiny))
    assert verifier.over == "pool"
    window = ["DebtNoncurrent", "DebtCurrent", "Goodwill"]
    verdicts, trace = verify(verifier, table_fact, said, window)
    judged = [(v.judgements["Family"], v.judgements["Qualifier"]) for v in verdicts]
    assert judged == [(S, S), (S, N), (N, N)]
    assert all(v.judgements["Role"] is X for v in verdicts)
    assert trace.counters["llm_calls"] == 0
