"""A concept of a day does not stand under "Year ended": its votes count less, and only there."""

import numpy as np
import pytest
from abduce.programs.config import PrecedentsConfig
from abduce.programs.precedents import PrecedentVote, blended, weighed
from abduce.programs.presets import spec_named
from abduce.retrievers.base import Ranking
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.precedents.index import Precedents, Tagged
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.types import Concept
from made_facts import cell, mention
from pydantic import ValidationError

KINDS = {"Day": "instant", "Year": "duration", "Open": None}
TAXONOMY = Taxonomy(
    Concept(id=i, label=f"name {i}", metadata={"period_type": kind} if kind else {})
    for i, kind in KINDS.items()
)


def fact(id_, filing, company, column="Year ended June 30", modality="table"):
    whose = {"filing": filing, "company": company, "datatype": None}
    if modality == "table":
        return cell(id_, "Net worth", column, **whose)
    headers = {"row_header": "Net worth", "column_header": column}
    return mention(id_, "Net worth was 5 in all.", "5", **whose, **headers)


def program(modality="table", **config):
    """Two say that it is of a day, one of a year, and one does not say; all stand alike."""
    tags = ["Day", "Day", "Year", "Open"]
    tagged = [Tagged(fact(f"p{i}", f"F{i}", f"C{i}", modality=modality), tag) for i, tag in enumerate(tags)]
    settings = PrecedentsConfig(**config)
    return PrecedentVote(BM25Retriever(TAXONOMY), Precedents(tagged), taxonomy=TAXONOMY, config=settings)


def shares(made, **where):
    ranking = made(fact=fact("q", "Q", "NEW", **where)).ranking
    return dict(zip(ranking.ids, ranking.scores.tolist(), strict=True))


def test_the_other_kind_counts_less_by_hand():
    assert shares(program(fill=False)) == pytest.approx({"Day": 0.5, "Year": 0.25, "Open": 0.25})
    found = shares(program(fill=False, period=0.4))
    assert found == pytest.approx({"Day": 0.2, "Year": 0.25, "Open": 0.25})
    assert list(found) == ["Open", "Year", "Day"]


@pytest.mark.parametrize("column", ["2024", "Total", ""])
def test_a_column_that_names_neither_changes_nothing(column):
    assert shares(program(fill=False, period=0.4), column=column) == shares(
        program(fill=False), column=column
    )


def test_a_day_lowers_what_is_of_a_year():
    found = shares(program(fill=False, period=0.4), column="As of June 30, 2024")
    plain = shares(program(fill=False), column="As of June 30, 2024")
    assert found["Year"] == pytest.approx(0.4 * plain["Year"])
    assert (found["Day"], found["Open"]) == (plain["Day"], plain["Open"])


def test_text_has_no_column():
    assert shares(program("text", fill=False, period=0.4), modality="text") == shares(
        program("text", fill=False), modality="text"
    )


def test_the_locus_querys_share_is_lowered_too():
    voted, located = Ranking.of(["Open"], [0.5]), Ranking.of(["Day", "Year"])
    score = blended(voted, located, 0.2, 10, lambda id_: 0.1 if id_ == "Day" else 1.0)
    assert dict(zip(score.ids, score.scores, strict=True)) == pytest.approx(
        {"Open": 0.5, "Year": 0.1, "Day": 0.02}
    )


def test_fill_stays_behind_the_votes():
    ranking = program(period=0.4)(fact=fact("q", "Q", "NEW")).ranking
    assert ranking.ids == ["Open", "Year", "Day"]
    assert (ranking.scores > 0).all()


def test_components_move_with_their_concept():
    ranking = Ranking.of(["a", "b"], [3.0, 2.0], components={"companies": np.array([7.0, 9.0])})
    moved = weighed(ranking, lambda id_: 0.5 if id_ == "a" else 1.0, PrecedentsConfig())
    assert (moved.ids, moved.scores.tolist()) == (["b", "a"], [2.0, 1.5])
    assert moved.components["companies"].tolist() == [9.0, 7.0]
    assert weighed(ranking, lambda id_: 1.0, PrecedentsConfig()) is ranking


def test_settings():
    assert spec_named("precedents (others), locus").resolve().period == 0.5
    assert spec_named("precedents (others)").resolve().period == 1.0
    for bad in (0.0, 1.5):
        with pytest.raises(ValidationError):
            PrecedentsConfig(period=bad)
