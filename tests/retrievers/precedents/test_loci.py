"""Loci of different filings become comparable."""

import pytest
from abduce.retrievers.precedents.loci import (
    company_key,
    content,
    locus_of,
    period_of,
    same_company,
    value_key,
)
from abduce.signatures.types import Fact, SourceContext

TABLE = SourceContext(context_id="t", text="<table><tr><td>Cash</td></tr></table>", modality="table")


def cell(**fields):
    return Fact(fact_id="f", context=TABLE, **({"value": "1,234"} | fields))


def test_dates_numbers_and_footnotes_are_no_content():
    assert content("Balance at December 31, 2024 (1)") == ["balance"]
    assert content("Three Months Ended June 30") == []


def test_a_cell_is_its_headers():
    locus = locus_of(cell(row_header="Current assets: | Inventories", column_header="June 28, 2025 | Gross"))
    assert locus.header == ("inventory",)
    assert locus.chain == ("asset", "current", "inventory")
    assert locus.column == ("gross",)
    assert (locus.period, locus.digits) == (2, 4)
    assert locus.mention == ()


def test_a_mention_is_its_surroundings():
    text = "Class A common stock, par value $0.001 per share, was authorized."
    start = text.index("0.001")
    fact = Fact(
        fact_id="m",
        value="0.001",
        context=SourceContext(context_id="c", text=text),
        modality="text",
        mention_start=start,
        mention_end=start + 5,
    )
    locus = locus_of(fact)
    assert {"par", "value", "per", "share"} <= set(locus.header)
    assert set(locus.column) == {"<par", "<value", ">per", ">share"}


def test_a_worded_value_is_its_own_tokens():
    context = SourceContext(context_id="c", text="septic shock")
    fact = Fact(
        fact_id="m", value="septic shock", context=context, modality="text", mention_start=0, mention_end=12
    )
    assert {"septic", "shock", "septic_shock", "septi*"} == set(locus_of(fact).mention)


@pytest.mark.parametrize(
    ("column", "kind"),
    [("Year Ended December 31, | 2024", 1), ("As of June 30, 2024", 2), ("2024", 3), ("Level 1", 0), ("", 0)],
)
def test_periods(column, kind):
    assert period_of(column) == kind


def test_companies_and_values():
    assert company_key("The Boeing Company") == "THEBOEIN"
    assert same_company("THEBOEIN", "BOEINGCO")
    assert same_company(company_key("Apple Inc."), "APPLEINC")
    for full in ("APPLEINC", "APPLECOR", "APPLELTD"):
        assert same_company("APPLE", full)
        assert same_company(full, "APPLE")
    for other in ("APPLEBEE", "APPLEIND", "APPLETON"):
        assert not same_company("APPLE", other)
    assert not same_company("A", "AINC")
    assert company_key("Société Générale") == company_key("SOCIETE GENERALE")
    assert company_key("株式会社アクメ")
    assert not same_company("THERMOFI", "THERMOGE")
    assert not same_company("UNITEDHE", "UNITEDPA")
    assert value_key("$ (1,234.5)") == value_key("1,234.5") == "1234.5"
