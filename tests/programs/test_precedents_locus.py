"""Precedents blended with the locus query: scores by hand, and never a fact's own case."""

from __future__ import annotations

import numpy as np
import pytest
from abduce.programs.config import PrecedentsConfig
from abduce.programs.precedents import PrecedentVote, blended
from abduce.programs.serialize import Serializer
from abduce.retrievers.base import Ranking
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.precedents.index import Precedents, Tagged
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.types import Concept, Fact
from made_facts import mention
from pydantic import ValidationError


def test_shares_and_reciprocal_ranks_add_up() -> None:
    voted = Ranking.of(["b", "a"], [0.7, 0.3], candidates=9)
    located = Ranking.of(["a", "c", "d"], candidates=20)
    found = blended(voted, located, 0.6, 3)
    assert found.ids == ["a", "b", "c"]  # .3 + .6/1, .7, .6/2; d has .6/3
    assert found.scores.tolist() == pytest.approx([0.9, 0.7, 0.3])
    assert found.components["share"].tolist() == [0.3, 0.7, 0.0]
    assert found.components["locus"].tolist() == [1.0, 0.0, 0.5]
    assert found.candidates == 20


def test_ties_fall_by_id() -> None:
    found = blended(Ranking.of(["z", "m"], [0.5, 0.5]), Ranking.of([], []), 1.0, 5)
    assert found.ids == ["m", "z"]


def fact(case: str, words: str) -> Fact:
    text = f"Patient with {words}."
    return mention(f"{case}-{words}", text, words, context_id=case, datatype="diagnosis")


TAXONOMY = Taxonomy(
    [
        Concept(id="K21.9", label="Gastro-esophageal reflux disease", datatype="diagnosis"),
        Concept(id="N13.7", label="Vesicoureteral reflux", datatype="diagnosis"),
        Concept(id="R10.4", label="Abdominal pain", datatype="diagnosis"),
    ]
)


def method(**config: float) -> PrecedentVote:
    tagged = [Tagged(fact("s1", "acid reflux"), "K21.9"), Tagged(fact("s2", "pain in the belly"), "R10.4")]
    return PrecedentVote(
        BM25Retriever(TAXONOMY),
        Precedents(tagged),
        Serializer(before=0, after=0),
        TAXONOMY,
        PrecedentsConfig(K=3, **config),
    )


def test_a_code_without_precedents_is_reached_by_the_locus_query() -> None:
    ranking = method(locus=1.0)(fact=fact("s9", "vesicoureteral reflux")).ranking
    assert ranking.ids.index("N13.7") < ranking.ids.index("R10.4")
    assert set(ranking.ids) == {"K21.9", "N13.7", "R10.4"}
    assert np.all(np.diff(ranking.scores) <= 0)


def test_a_facts_own_case_never_votes() -> None:
    ranking = method(locus=0.2)(fact=fact("s1", "acid reflux")).ranking
    share = dict(zip(ranking.ids, ranking.components["share"], strict=True))
    assert share["K21.9"] == 0.0


def test_the_weight_is_not_negative() -> None:
    with pytest.raises(ValidationError):
        PrecedentsConfig(locus=-0.1)
