"""Counts of a split, by hand, and of the bundled facts through the command."""

import pytest
from abduce.data.example import Example
from abduce.data.statistics import split_statistics
from abduce.signatures.types import Fact, SourceContext

CONTEXT = SourceContext(context_id="c", text="1")


def example(i, gold, datatype, modality, cluster):
    fact = Fact(fact_id=f"f{i}", value="1", context=CONTEXT, datatype=datatype)
    groups = {"modality": modality, "datatype": datatype or ""}
    return Example(f"f{i}", {"fact": fact}, gold, cluster, groups)


def test_by_hand(tiny):
    """Nine of the twelve concepts are monetary, three are rates."""
    found = split_statistics(
        [
            example(0, "Cash", "monetaryItemType", "table", "c1"),
            example(1, "Goodwill", "monetaryItemType", "table", "c1"),
            example(2, "DebtRate", "percentItemType", "table", "c2"),
            example(3, "Cash", "monetaryItemType", "text", "c3"),
            example(4, "TaxRate", None, "text", "c4"),
            example(5, "DebtRate", "monetaryItemType", "text", "c4"),
        ],
        tiny,
    )
    counts = {p.name: (p.contexts, p.facts, p.concepts) for p in found.parts}
    assert counts == {"all": (4, 6, 4), "modality table": (2, 3, 3), "modality text": (2, 3, 3)}
    assert found.parts[0].facts_per_context == 1.5
    assert found.shared_concepts == 2  # Cash and DebtRate
    assert found.datatypes["monetaryItemType"] == pytest.approx(4 / 6)
    assert (found.concepts, found.undocumented) == (12, 0)
    assert found.candidates == pytest.approx((9 * 4 + 3 + 12) / 6)  # no datatype: all twelve
    assert found.kept == pytest.approx(5 / 6)  # a monetary fact whose gold is a rate
    with pytest.raises(ValueError, match="no facts"):
        split_statistics([], tiny)


def test_the_command_counts_the_bundled_facts(cli, dev_facts):
    done = cli("data", "stats")
    assert done.code == 0
    assert f"{len(dev_facts):,}" in done.out
    assert "17,388 concepts" in done.out
    assert "keeps the gold concept of" in done.out


def test_the_whole_test_split(shared_data):
    from abduce.data.domains import FINANCE
    from abduce.data.folder import DataFolder

    folder = DataFolder.find(str(shared_data))
    found = split_statistics(folder.facts(FINANCE, "test"), folder.taxonomy(FINANCE))
    assert found.parts[0].facts == 2144
    assert {p.name: p.facts for p in found.parts}["modality table"] == 1828
    assert found.kept == 1.0
