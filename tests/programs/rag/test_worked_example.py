"""The paper's worked example (Appendix, Figure 17): the answer leaves a reading that the passages contradict.

The question and the passages are written anew; the model is scripted.
"""

from __future__ import annotations

import pytest
from abduce.data.corpora import load_corpus
from abduce.data.folder import DataFolder
from abduce.data.questions import named_questions
from abduce.programs import HCQR
from abduce.programs.rag.statements import by_words
from abduce.retrievers.bm25 import BM25Retriever


@pytest.fixture
def asked():
    [item] = named_questions(DataFolder.of_package(), ["worked-example"])
    return item


STATE = {
    "discriminating_features": ["heel neutral", "forefoot moves past the midline"],
    "brief_reasoning": "an inward foot at birth suggests clubfoot",
    "confirming_evidence": ["clubfoot is treated by serial manipulation and casting"],
    "working_hypothesis": "A",
}
QUERIES = {
    "support": "clubfoot newborn serial manipulation and casting treatment",
    "distinction": "forefoot inward heel neutral ankle upward tells apart clubfoot radiographs release",
    "key_features": "flexible forefoot light pressure past the midline outer border curved newborn",
}


def test_the_answer_leaves_the_hypothesis(asked, scripted, using, read):
    """q1 follows clubfoot; q2 and q3 bring what speaks against it; the generator never sees that reading."""
    corpus = load_corpus("worked-example")
    answer = {"step_by_step_thinking": "flexible, neutral heel: not clubfoot", "answer_choice": "B"}
    lm = scripted(formulate=STATE, rewrite=QUERIES, answer=answer)
    with using(lm):
        found = HCQR(BM25Retriever(corpus, w_cov=0.0), corpus)(question=asked.question)
    plan = found.trace.notes["plan"]
    assert (plan["hypothesis_key"], found.answer, asked.gold) == ("A", "B", "B")
    first = {e.id: e.first[0] for e in found.context}
    assert first["foot-2"] == "q1"  # for casting
    sources = {e.id: {name for name, _ in e.sources} for e in found.context}
    assert sources["foot-3"] & {"q2", "q3"}  # a neutral heel tells it apart
    assert sources["foot-4"] & {"q2", "q3"}  # it resolves by itself
    [prompt] = lm.of("answer")
    assert "clubfoot is treated by" not in prompt  # the state steers retrieval only
    assert read(prompt, "documents").count("[") == len(found.context)
    named = by_words(asked.question, found.context, corpus)
    assert any("Reassurance and follow-up are all" in s.sentence for s in named["B"])
