"""Contrasts between rows, by hand."""

from __future__ import annotations

import dspy
import pytest
from abduce.data.example import Example
from abduce.eval.report import fhs_contrasts as c
from abduce.eval.runs.row import Row
from abduce.eval.runs.runner import run
from abduce.eval.runs.taxonomy_codec import TaxonomyCodec
from abduce.programs.fusion import final_ranking, fuse
from abduce.programs.trace import Judged, Query, Trace
from abduce.retrievers.base import Ranking
from abduce.signatures.types import Judgement, Verdict

N = 8


def ranked(place: int) -> dspy.Prediction:
    """Gold at this rank; 0: not there."""
    ids = [f"x{i}" for i in range(1, place)] + (["g"] if place else ["x"])
    trace = Trace()
    trace.retrieved([Query("q", "direct")], [Ranking.of(ids)])
    return dspy.Prediction(ranking=Ranking.of(ids), trace=trace)


def made(baseline: str, references=None, settings=None, **rows: list[int]):
    examples = [
        Example(f"e{i}", {"n": i}, "g", f"c{i // 2}", {"modality": "table" if i < N // 2 else "text"})
        for i in range(N)
    ]
    given = [
        Row(
            name.replace("_", " ").replace(" minus ", " - "),
            lambda s, places=places: lambda n: ranked(places[n]),
            settings=(settings or {}).get(name, {}),
            reference=(references or {}).get(name, {}),
        )
        for name, places in rows.items()
    ]
    return run(given, examples, codec=TaxonomyCodec(), keep=True, baseline=baseline)


def cells(table, row):
    [found] = [line for line in table.rows if line[0] == row]
    return {k: getattr(v, "value", v) for k, v in zip(table.columns, found, strict=True)}


def test_within_a_modality():
    result = made(
        "FHS", {"FHS": {"R@1 by modality: table": 0.2}}, FHS=[1] * 4 + [2] * 4, feedback=[2] * 4 + [1] * 4
    )
    tables = {t.title: t for t in c.within_groups(result)}
    assert list(tables) == [f"Difference to FHS, modality {m} alone" for m in ("table", "text")]
    assert cells(tables["Difference to FHS, modality table alone"], "feedback")["R@1"] == -1
    assert cells(tables["Difference to FHS, modality text alone"], "feedback")["R@1"] == 1
    assert cells(tables["Difference to FHS, modality text alone"], "feedback")["R@50"] == 0
    assert not list(c.within_groups(made("FHS", FHS=[1] * N, feedback=[1] * N)))


def test_the_interaction_is_a_difference_of_differences():
    """MRR: the term gains .5 on every fact for direct, and .5 on half of the facts for the label form."""
    result = made(
        "direct",
        direct=[1] * N,
        direct_minus_label_coverage=[2] * N,
        label_form=[1] * N,
        label_form_minus_label_coverage=[2, 1] * 4,
    )
    table = c.coverage_interaction(result)
    form, direct = cells(table, "label form"), cells(table, "direct")
    assert (direct["MRR gain"], direct["MRR beyond direct"]) == (0.5, None)
    assert (form["MRR gain"], form["MRR beyond direct"]) == (0.25, -0.25)
    # Every context has one fact of each kind: no resample differs.
    [line] = [line for line in table.rows if line[0] == "label form"]
    cell = line[table.columns.index("MRR beyond direct")]
    assert (cell.low, cell.high) == (-0.25, -0.25)
    assert not c.coverage_interaction(made("direct", direct=[1] * N)).rows


def test_the_concepts_that_their_label_does_not_find():
    probe = {"spec": {"program": "probe", "options": {"text": "label"}}}
    whole = {"spec": {"program": "probe", "options": {"text": "label+definition"}}}
    result = made("a", settings={"a": probe, "b": whole}, a=[2] * N, b=[2] * N)
    table = c.failing_labels(result)
    assert table.rows == [["a", "g", "x1"]]
    assert table.notes == ["a: 1 of 1 gold concepts."]


def test_the_head_of_a_case():
    trace = Trace()
    trace.retrieved([Query("q", "definition", 0)], [Ranking.of(["a", "g"])])
    trace.pool = fuse(trace.rankings)
    trace.judged = [Judged(0, ["a", "g"], [Verdict(x, {"F": Judgement.SUPPORT}) for x in "ag"])]
    ranking = final_ranking(trace.pool, {"a": 0.0, "g": 1.0}, 2.0)
    one = dspy.Prediction(ranking=ranking, trace=trace)
    result = run(
        [Row("FHS", lambda s: lambda n: one)], [Example("e", {"n": 0}, "g")], codec=TaxonomyCodec(), keep=True
    )
    (table,) = c.case_heads(result)
    assert table.title == "FHS on e"
    got = cells(table, "g (gold)")
    assert (got["rank without verifier"], got["rank"], got["S~"], got["v"], got["S_final"]) == (2, 1, 0, 1, 2)
    assert cells(table, "a")["rank"] == 2


@pytest.mark.parametrize("ids", [["e1"], []])
def test_examples_by_id(ids):
    from abduce.eval.experiments.subset import restricted
    from abduce.retrievers.errors import InputError

    found = [Example(f"e{i}", {}, "g") for i in range(3)]
    assert [e.id for e in restricted(found, {}, ids)] == (ids or ["e0", "e1", "e2"])
    with pytest.raises(InputError, match="no example has the id 'e9'"):
        restricted(found, {}, ["e9"])
