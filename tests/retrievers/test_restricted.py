"""Where a datatype filter cannot apply, only what a number can be is ranked."""

import pytest
from abduce.retrievers.base import Where
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.restricted import Narrowed, not_among
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.types import Concept

ROWS = [
    ("CashMember", "Cash", "domainItemType", {"abstract": True}),
    ("CashAbstract", "Cash", "stringItemType", {"abstract": "true"}),
    ("CashPolicy", "Cash", "textBlockItemType", {}),
    ("CashUntyped", "Cash", None, {}),
    ("Cash", "Cash", "monetaryItemType", {"abstract": False}),
    ("CashRate", "Cash rate", "percentItemType", {}),
]
NUMERIC = {"monetaryItemType", "percentItemType", "sharesItemType"}


def taxonomy(rows=ROWS):
    return Taxonomy(Concept(id=i, label=text, datatype=d, metadata=m) for i, text, d, m in rows)


@pytest.mark.parametrize("datatype", [None, "unknownItemType"])
def test_no_datatype_only_numeric_concepts(datatype):
    known = taxonomy()
    narrowed = Narrowed(BM25Retriever(known), known, not_among(known, NUMERIC))
    (ranking,) = narrowed.search(["cash"], 10, [Where(datatype=datatype)])
    assert set(ranking.ids) == {"Cash", "CashRate"}
    assert (ranking.candidates, ranking.fell_back) == (2, True)


def test_a_datatype_that_applies_and_searches_without_a_filter_stay_as_they_are():
    known = taxonomy()
    plain = BM25Retriever(known)
    narrowed = Narrowed(plain, known, not_among(known, NUMERIC))
    for where in ([Where(datatype="textBlockItemType")], None, [None]):
        (one,), (other,) = plain.search(["cash"], 10, where), narrowed.search(["cash"], 10, where)
        assert list(one.ids) == list(other.ids)
        assert one.scores.tolist() == other.scores.tolist()
        assert (one.candidates, one.fell_back) == (other.candidates, other.fell_back)


def test_another_exclusion_is_kept():
    known = taxonomy()
    narrowed = Narrowed(BM25Retriever(known), known, not_among(known, NUMERIC))
    (ranking,) = narrowed.search(["cash"], 10, [Where(exclude=(("id", "Cash"),))])
    assert set(ranking.ids) == {"CashRate"}


def test_a_taxonomy_with_datatypes_of_its_own_loses_only_abstract_concepts():
    own = taxonomy([("A", "Cash", "money", {}), ("B", "Cash", "text", {"abstract": "True"})])
    narrowed = Narrowed(BM25Retriever(own), own, not_among(own, NUMERIC))
    (ranking,) = narrowed.search(["cash"], 10, [Where()])
    assert list(ranking.ids) == ["A"]
