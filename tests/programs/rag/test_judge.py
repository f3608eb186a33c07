"""The context-utility judge: order, conservatism, other labels, empty contexts, its description."""

from __future__ import annotations

import pytest
from abduce.programs import ContextJudge
from abduce.programs.rag.context import Evidence
from abduce.programs.rag.judge import conservative, recorded_evidence
from abduce.retrievers.errors import InputError
from abduce.signatures.judge import ContextUtility
from abduce.signatures.types import UtilityLabel
from dspy.utils.exceptions import ContextWindowExceededError

ENTAILED, USEFUL, NOT_USEFUL = UtilityLabel.ENTAILED, UtilityLabel.USEFUL, UtilityLabel.NOT_USEFUL
CONTEXT = (Evidence("p001", (("q1", 1),)), Evidence("p002", (("q2", 1),)))


def judged(using, scripted, replies, passages, question, reply, gold="B", context=CONTEXT):
    lm = scripted(**replies | {"judge": reply})
    with using(lm):
        return ContextJudge(passages)(question=question, gold=gold, context=context), lm


@pytest.mark.parametrize(
    ("selected", "given", "label", "consistent"),
    [
        ("B", ENTAILED, ENTAILED, True),
        ("B", USEFUL, USEFUL, True),
        ("B", NOT_USEFUL, NOT_USEFUL, True),
        ("A", ENTAILED, NOT_USEFUL, False),
        ("A", USEFUL, NOT_USEFUL, False),
        ("A", NOT_USEFUL, NOT_USEFUL, True),
        (None, ENTAILED, USEFUL, False),
        (None, USEFUL, USEFUL, True),
        (None, NOT_USEFUL, NOT_USEFUL, True),
    ],
)
def test_the_lower_label_counts(selected, given, label, consistent):
    utility = conservative(given, selected, "B")
    assert (utility.label, utility.given, utility.consistent) == (label, given, consistent)


@pytest.mark.parametrize(
    ("word", "label"),
    [
        ("entailed", ENTAILED),
        ("USEFUL", USEFUL),
        ("useful but not entailed", USEFUL),
        ("not_useful", NOT_USEFUL),
    ],
)
def test_harmless_spellings(word, label, using, scripted, replies, passages, question):
    result, _ = judged(using, scripted, replies, passages, question, {"selected_answer": "b", "label": word})
    assert result.label is label
    assert result.utility.selected == "B"


def test_another_label_is_asked_again_then_counted(using, scripted, replies, passages, question):
    reply = {"selected_answer": "B", "label": "Partially Useful"}
    result, lm = judged(using, scripted, replies, passages, question, reply)
    assert result.label is None
    assert lm.stages() == ["judge", "judge"]
    assert result.trace.counters["dropped_replies"] == 1
    assert result.trace.counters["unjudged"] == 1


def test_the_second_reply_counts(using, scripted, replies, passages, question):
    queue = iter([{"selected_answer": "B", "label": "hm"}, {"selected_answer": "none", "label": "Useful"}])
    result, _ = judged(using, scripted, replies, passages, question, lambda _: next(queue))
    assert result.label is USEFUL
    assert result.utility.selected is None


def test_an_empty_context_is_not_useful_without_a_call(using, scripted, replies, passages, question):
    result, lm = judged(using, scripted, replies, passages, question, {}, context=())
    assert result.label is NOT_USEFUL
    assert lm.prompts == []
    assert result.trace.counters["judge_empty_context"] == 1


def test_gold_must_be_an_option(using, scripted, replies, passages, question):
    with pytest.raises(InputError, match="'E' of 'q' is none of"):
        judged(using, scripted, replies, passages, question, {}, gold="E")


def test_the_prompt_holds_what_the_paper_names(using, scripted, replies, passages, question, read):
    _, lm = judged(
        using, scripted, replies, passages, question, {"selected_answer": "B", "label": "Entailed"}
    )
    (prompt,) = lm.of("judge")
    assert read(prompt, "gold_answer") == "B. Ibuprofen"
    assert "[1] (title: Title 1) Sentence number 1." in read(prompt, "documents")
    assert list(ContextUtility.model_fields) == ["selected_answer", "label"]


def test_description_names_model_version_and_prompt(scripted, passages, replies):
    judge = ContextJudge(passages, lm=scripted(**replies))
    told = judge.describe()
    assert told["model"] == "scripted"
    assert told["version"]
    other = ContextJudge(passages, lm=scripted(**replies))
    other.judge.signature = other.judge.signature.with_instructions("Judge kindly.")
    assert other.describe()["prompt_sha256"] != told["prompt_sha256"]


def test_evidence_from_a_stored_trace():
    notes = {"context": [{"id": "p001", "sources": [["q1", 1], ["q3", 4]]}]}
    assert recorded_evidence(notes) == (Evidence("p001", (("q1", 1), ("q3", 4))),)
    assert recorded_evidence({}) == ()


@pytest.mark.parametrize(("holds", "label", "backoffs"), [(2, ENTAILED, 0), (1, ENTAILED, 1), (0, None, 3)])
def test_a_judge_with_a_short_context_reads_less_or_gives_no_label(
    holds, label, backoffs, using, scripted, replies, passages, question
):
    class Short(scripted):
        def forward(self, prompt=None, messages=None, **kwargs):
            if messages[-1]["content"].count("Sentence number") > holds:
                raise ContextWindowExceededError(message="too long")
            return super().forward(prompt, messages, **kwargs)

    with using(Short(**replies)):
        result = ContextJudge(passages)(question=question, gold="B", context=CONTEXT)
    assert result.label is label
    assert result.trace.counters["judge_context_backoffs"] == backoffs
    assert result.trace.counters["judge_left_out"] == (1 if holds == 1 else 0)
    assert result.trace.counters["unjudged"] == (label is None)


def test_a_context_of_which_nothing_fits_is_unjudged_not_useless(
    using, scripted, replies, passages, question
):
    with using(scripted(**replies)):
        result = ContextJudge(passages, room=3)(question=question, gold="B", context=CONTEXT)
    assert result.label is None
    assert result.trace.counters["unjudged"] == 1
