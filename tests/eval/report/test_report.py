import csv
import io
import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ir_measures as ir
import numpy as np
import pyarrow.parquet as pq
import pytest
import typer
from abduce.cli.report import report
from abduce.data.example import Example
from abduce.eval.metrics import RANKING_MEASURES, accuracy, score_ranking
from abduce.eval.report import breakdown as b
from abduce.eval.report import plots
from abduce.eval.report.report import report_tables, write_tables
from abduce.eval.runs.export import read_trec, write_trec, write_values
from abduce.eval.runs.joining import joined
from abduce.eval.runs.row import Row
from abduce.eval.runs.run import Run
from abduce.eval.runs.runner import run
from abduce.eval.tables import TableCell
from abduce.retrievers.errors import InputError
from typer.testing import CliRunner

N = 40


def squeezed(text: str) -> str:
    """Without the spaces that line columns up."""
    return re.sub(" +", " ", text)


class Codec:
    name = "toy"
    measures = (*RANKING_MEASURES, "Acc")

    def encode(self, prediction: Any) -> dict[str, Any]:
        scores = np.arange(len(prediction), 0, -1.0)
        return {"ranking": {"ids": prediction, "scores": scores}, "cost": {"llm_calls": 1, "retrievals": 0}}

    def score(self, record: Mapping[str, Any], gold: Any) -> dict[str, float]:
        ids = record["ranking"]["ids"]
        return score_ranking(ids, gold) | {"Acc": accuracy(ids, gold)}


def examples(fields: int = 1) -> list[Example]:
    return [
        Example(
            f"e{i}", {"n": i}, f"g{i}", f"c{i % 10}",
            {"modality": "table" if i % 4 else "text", **({"many": f"v{i % 12}"} if fields > 1 else {})},
        )
        for i in range(N)
    ]  # fmt: skip


def row(name: str, good: int, seeds: tuple[int, ...] = (0,), **more: Any) -> Row:
    """The gold id is first for the first ``good`` examples, third for the others; e39 fails for 'bad'."""

    def build(seed: int) -> Any:
        def program(n: int) -> list[str]:
            if name == "bad" and n == N - 1:
                raise ValueError("no | reply")
            return [f"g{n}"] if n < good + seed else ["x", "y", f"g{n}"]

        return program

    return Row(name, build, seeds=seeds, **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [row("base", 10), row("good one", 35, reference={"R@1": 0.9}), row("bad", 8)]
    run(rows, examples(), codec=Codec(), out=tmp_path / "r", experiment="toy", data="d", baseline="base")
    return tmp_path / "r"


def cells(table: Any) -> dict[str, dict[str, Any]]:
    return {line[0]: dict(zip(table.columns, line, strict=True)) for line in table.rows}


def test_compare_by_hand(folder: Path) -> None:
    got = Run.load(folder).compare("good one", "base")
    assert got.differences["R@1"].mean == pytest.approx(25 / 40)
    counts = got.counts["Acc"]
    assert (counts.both, counts.helped, counts.harmed, counts.neither) == (10, 25, 0, 5)
    assert counts.p == pytest.approx(2 / 2**25)
    assert got.differences["Acc"].p == got.differences["MRR"].p == pytest.approx(2 / 2001)
    assert "MRR" not in got.counts
    assert "R@10" in got.counts
    assert "| Acc | 40 | .625 [" in squeezed(str(got))
    assert "<table>" in got._repr_html_()
    only = Run.load(folder).compare("good one", "base", ["MRR"])
    assert list(only.differences) == ["MRR"]


def test_compare_refuses_what_is_not_there(folder: Path) -> None:
    loaded = Run.load(folder)
    with pytest.raises(InputError, match="no row 'x'; there are base, good one, bad"):
        loaded.compare("x", "base")
    with pytest.raises(InputError, match="do not share nDCG"):
        loaded.compare("bad", "base", ["nDCG"])


def test_marks_show_what_differs_after_holm(folder: Path) -> None:
    text = str(Run.load(folder).table())
    assert "| good one | 40 | 0 | **.875** ▲ (.900) |" in squeezed(text)
    assert "| bad | 40 | 1 | .200 |" in squeezed(text)
    assert "▲ ▼: differs from base (p < .05 by resampling source contexts, Holm over rows)." in text
    assert "Failures count as wrong." in text
    against_best = str(Run.load(folder).table(baseline="good one"))
    assert "| base | 40 | 0 | .250 ▼ |" in squeezed(against_best)
    assert "▲ |" not in against_best
    assert re.search(r"\*\*.875\*\* \[\.\d{3}, \.\d{3}\] ▲", str(Run.load(folder).table(intervals=True)))


def test_breakdown_by_hand(folder: Path) -> None:
    table = b.breakdown(Run.load(folder), "modality", "R@1")
    got = cells(table)
    assert table.columns == ["row", "table (n=30)", "text (n=10)"]
    assert got["base"]["text (n=10)"].value == pytest.approx(3 / 10)
    assert got["base"]["table (n=30)"].value == pytest.approx(7 / 30)
    assert isinstance(got["base"]["table (n=30)"], TableCell)
    assert got["base"]["table (n=30)"].low < 7 / 30 < got["base"]["table (n=30)"].high


def test_small_groups_are_put_together_and_nobody_is_lost() -> None:
    got = run([row("a", 3)], examples(2), codec=Codec())
    masks = b.groups_of(got, "many", most=5)
    assert list(masks)[-1] == b.OTHER
    assert len(masks) == 5
    assert np.sum(list(masks.values()), axis=0).tolist() == [1] * N
    assert b.group_fields(got) == ["modality", "many"]
    with pytest.raises(InputError, match=r"'colour'; there are: modality, many"):
        b.breakdown(got, "colour")
    with pytest.raises(InputError, match="no measure 'MAP'"):
        b.breakdown(got, "many", "MAP")


def test_cost_leaves_out_what_is_nothing(folder: Path) -> None:
    table = b.cost_table(Run.load(folder))
    assert table.columns == ["row", "llm calls", "seconds", "95th %", "whole run (s)"]
    assert cells(table)["bad"]["llm calls"].value == 1
    assert cells(table)["bad"]["whole run (s)"].value >= 0


def test_cost_stands_beside_the_papers() -> None:
    one = run([row("a", 9, reference={"llm calls": 4.0})], examples(), codec=Codec())
    assert cells(b.cost_table(one))["a"]["llm calls"].reference == 4.0


def test_report_has_every_part(folder: Path) -> None:
    titles = [t.title for t in report_tables(Run.load(folder))]
    assert titles == ["toy, d", "Difference to base", "MRR by modality", "Cost per example", "Failures"]
    assert [t.title for t in report_tables(Run.load(folder), by=[])].count("MRR by modality") == 0
    failures = report_tables(Run.load(folder))[-1]
    assert failures.rows == [["bad", 1, "ValueError", "e39", "no | reply"]]


def test_failures_without_a_folder_are_told_too() -> None:
    got = run([row("bad", 8, seeds=(0, 1))], examples(), codec=Codec())
    assert report_tables(got)[-1].rows == [["bad", 2, "ValueError", "e39", "no | reply"]]


def test_differences_table_by_hand(folder: Path) -> None:
    got = cells(b.against(Run.load(folder), "base"))
    assert got["good one"]["R@1"].value == pytest.approx(0.625)
    assert (got["good one"]["helped"], got["good one"]["harmed"]) == (25, 0)
    assert (got["bad"]["helped"], got["bad"]["harmed"]) == (0, 2)
    assert got["good one"]["R@1 p"] == ".002"
    assert "base" not in got


def test_tables_are_written_in_every_format(folder: Path, tmp_path: Path) -> None:
    tables = report_tables(Run.load(folder))
    paths = write_tables(tables, tmp_path / "out")
    assert [p.name for p in paths] == ["tables.md", "tables.tex", *(f"table0{i}.csv" for i in range(1, 6))]
    first = list(csv.DictReader(io.StringIO(paths[2].read_text())))
    assert float(first[1]["R@1"]) == 0.875
    assert first[1]["R@1 mark"] == "+"
    with pytest.raises(InputError, match="'docx' is none of markdown, latex, csv"):
        write_tables(tables, tmp_path, ["docx"])


def test_plots_hold_the_runs_numbers(folder: Path, tmp_path: Path) -> None:
    paths = plots.write_plots(Run.load(folder), tmp_path / "p")
    assert {p.name for p in paths} == {
        f"{name}.{kind}" for name in ("recall", "cost", "by_modality") for kind in ("svg", "png")
    }
    for path in paths:
        if path.suffix == ".svg":
            text = "".join(ET.fromstring(path.read_text()).itertext())
            assert "good one" in text
            assert "toy" in text
        else:
            assert path.read_bytes().startswith(b"\x89PNG")
    before = (tmp_path / "p" / "recall.svg").read_bytes()
    plots.write_plots(Run.load(folder), tmp_path / "p")
    assert (tmp_path / "p" / "recall.svg").read_bytes() == before


def test_32_rows_look_different() -> None:
    assert len({plots.look(i) for i in range(32)}) == 32
    assert len({plots.look(i)[::2] for i in range(32)}) == 32


def test_ten_helped_facts_of_one_table_are_no_mark() -> None:
    """14 contexts of which one holds all ten helped facts: McNemar's p is 2 / 2^10, the clustered one twice
    the chance that the context is never drawn, 2 * (13 / 14)^14 = .71."""
    found = [Example(f"e{i}", {"n": i}, f"g{i}", f"c{max(0, i - 9)}", {}) for i in range(23)]
    result = run([row("a", 0), row("b", 10)], found, codec=Codec(), baseline="a")
    compared = result.compare("b", "a")
    assert (compared.counts["Acc"].helped, compared.counts["Acc"].harmed) == (10, 0)
    assert compared.counts["Acc"].p == pytest.approx(2 / 2**10)
    assert compared.differences["Acc"].p == pytest.approx(2 * (13 / 14) ** 14, abs=0.06)
    assert not any(result.marks("a")["Acc"].values())
    assert "▲ |" not in str(result.table())
    line = cells(b.against(result, "a"))["b"]
    assert (line["helped"], line["harmed"], line["McNemar p"]) == (10, 0, ".002")


def test_one_context_has_no_interval_no_p_and_says_so() -> None:
    found = [Example(f"e{i}", {"n": i}, f"g{i}", "c", {"modality": "table"}) for i in range(8)]
    result = run([row("a", 0), row("b", 8)], found, codec=Codec(), baseline="a")
    said = "All examples are of one source context"
    for table in (result.table(intervals=True), b.against(result, "a"), result.compare("b", "a").table()):
        assert said in str(table)
        assert "[" not in str(table).replace("[95%]", "")
    assert math.isnan(result.compare("b", "a").differences["Acc"].p)
    assert not any(result.marks("a")["R@1"].values())
    assert "[" not in str(b.breakdown(result, "modality", "R@1"))


def test_recall_curve_is_exact_at_every_depth(folder: Path) -> None:
    loaded = Run.load(folder)
    ks, values = plots.recall_curve(loaded["base"])
    assert (len(ks), values[0], values[1], values[2], values[199]) == (200, 0.25, 0.25, 1, 1)
    ks, values = plots.recall_curve(loaded["bad"])
    assert (values[0], values[2]) == (0.2, pytest.approx(39 / 40))


def test_recall_curve_with_several_gold_ids_has_only_the_measured_depths() -> None:
    several = [Example("e", {"n": 0}, ["g0", "h"])]
    got = run([row("a", 1)], several, codec=Codec())
    assert plots.recall_curve(got["a"]) == ([1, 10, 50, 200], [0.5] * 4)


def test_values_as_csv_and_parquet(folder: Path, tmp_path: Path) -> None:
    loaded = Run.load(folder)
    write_values(loaded, tmp_path / "v.csv")
    write_values(loaded, tmp_path / "v.parquet")
    lines = list(csv.DictReader((tmp_path / "v.csv").open()))
    table = pq.read_table(tmp_path / "v.parquet").to_pylist()
    frame = loaded.to_pandas()
    assert len(lines) == len(table) == len(frame) == 3 * N
    assert table[-1]["id"] == lines[-1]["id"] == "e39"
    assert (lines[-1]["status"], lines[-1]["R@1"], lines[-1]["llm_calls"]) == ("failed", "0.0", "")
    assert table[-1]["llm_calls"] is None
    assert frame.groupby("row")["R@1"].mean()["good one"] == 0.875
    assert {"cluster", "modality", "seconds", "seed"} <= set(frame.columns)
    with pytest.raises(InputError, match=r"must end in \.csv or \.parquet"):
        write_values(loaded, tmp_path / "v.xlsx")


def test_trec_round_trip_gives_the_same_numbers_here_and_elsewhere(folder: Path, tmp_path: Path) -> None:
    loaded = Run.load(folder)
    paths = write_trec(loaded, tmp_path / "trec")
    assert len(paths) == 4
    back = read_trec(paths[1:], paths[0])
    for mine, again in zip(loaded.summary()["rows"], back.summary()["rows"], strict=True):
        assert [mine[m] for m in RANKING_MEASURES] == [again[m] for m in RANKING_MEASURES]
    theirs = ir.calc_aggregate(
        [ir.parse_measure("RR"), ir.parse_measure("R@1")],
        ir.read_trec_qrels(str(paths[0])),
        ir.read_trec_run(str(paths[2])),
    )
    assert theirs[ir.parse_measure("R@1")] == 0.875
    assert back.rows[1].name == paths[2].name.removesuffix(".trec")


def test_seeds_become_runs_of_their_own(tmp_path: Path) -> None:
    got = run([row("a", 10, seeds=(0, 5))], examples(), codec=Codec(), out=tmp_path / "r")
    paths = write_trec(got, tmp_path / "trec")
    assert [p.name for p in paths] == ["qrels.trec", "a.seed0.trec", "a.seed5.trec"]
    assert [r["R@1"] for r in read_trec(paths[1:], paths[0]).summary()["rows"]] == [10 / 40, 15 / 40]


def test_retried_and_outdated_records_are_not_exported(tmp_path: Path) -> None:
    flaky = Row("a", lambda s: lambda n: 1 / 0)
    run([flaky], examples(), codec=Codec(), out=tmp_path / "r")
    fixed = Row("a", lambda s: lambda n: [f"g{n}"])
    got = run([fixed], examples(), codec=Codec(), out=tmp_path / "r", retry_failed=True)
    assert [r["status"] for r in got.records("a")] == ["ok"] * N
    fewer = run([fixed], examples()[:3], codec=Codec(), out=tmp_path / "r")
    assert [r["id"] for r in fewer.records("a")] == ["e0", "e1", "e2"]


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.command()(report)
    return app


def test_command_prints_and_writes(folder: Path, tmp_path: Path, app: typer.Typer) -> None:
    values, trec = tmp_path / "v.parquet", tmp_path / "t"
    got = CliRunner().invoke(
        app, [str(folder), "--format", "markdown", "--values", str(values), "--trec", str(trec)]
    )
    assert got.exit_code == 0, got.output
    assert "| good one | 40 | 0 | **.875** ▲ (.900) |" in squeezed(got.output)
    assert {"tables.md", "tables.tex", "table01.csv", "recall.svg", "by_modality.png"} <= {
        p.name for p in (folder / "report").iterdir()
    }
    assert values.exists()
    assert (trec / "qrels.trec").exists()
    again = CliRunner().invoke(app, [str(trec / "bad.trec"), "--qrels", str(trec / "qrels.trec")])
    assert again.exit_code == 0, again.output
    assert "bad" in again.output


def test_command_without_plots_or_matplotlib(
    folder: Path, app: typer.Typer, monkeypatch: pytest.MonkeyPatch
) -> None:
    got = CliRunner().invoke(app, [str(folder), "--no-plots", "--by", "modality", "--intervals"])
    assert got.exit_code == 0, got.output
    assert not list((folder / "report").glob("*.svg"))
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    got = CliRunner().invoke(app, [str(folder)])
    assert got.exit_code == 0, got.output
    assert "abduce[report]" in got.output
    assert (folder / "report" / "tables.md").exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--format", "pdf"], "'pdf' is none of terminal, markdown"),
        (["--by", "colour"], "'colour'"),
        (["--baseline", "nobody"], "no row 'nobody'"),
        (["--values", "x.doc"], "must end in"),
    ],
)
def test_command_refuses_bad_options(
    folder: Path, app: typer.Typer, options: list[str], complaint: str
) -> None:
    got = CliRunner().invoke(app, [str(folder), *options])
    assert isinstance(got.exception, InputError)
    assert complaint in str(got.exception)


def test_runs_over_the_same_examples_stand_in_one_table(tmp_path: Path, app: typer.Typer) -> None:
    mixed = examples()[::-1]
    run([row("base", 10)], examples(), codec=Codec(), out=tmp_path / "one", baseline="base", experiment="toy")
    run([row("base", 12), row("new", 30)], mixed, codec=Codec(), out=tmp_path / "two", experiment="toy")
    both = joined([Run.load(tmp_path / "one"), Run.load(tmp_path / "two")])
    assert [r.name for r in both.rows] == ["base (one)", "base (two)", "new"]
    counts = both.compare("new", "base (one)").counts["Acc"]
    assert (counts.both, counts.helped, counts.harmed) == (10, 20, 0)
    assert [len(list(both.records(r.name))) for r in both.rows] == [N] * 3
    assert next(iter(both.records("new")))["id"] == "e39"
    arguments = [str(tmp_path / "one"), str(tmp_path / "two"), "--format", "markdown"]
    got = CliRunner().invoke(app, arguments)
    assert got.exit_code == 0, got.output
    assert "| base (two) | 40 | .300 |" in squeezed(got.output)
    assert "differs from base (one)" in got.output
    assert not (tmp_path / "one" / "report").exists()
    run([row("base", 10)], examples()[1:], codec=Codec(), out=tmp_path / "less")
    with pytest.raises(InputError, match=r"less: is over other examples .* 1 differ"):
        joined([Run.load(tmp_path / "one"), Run.load(tmp_path / "less")])


def test_command_refuses_what_is_no_run(tmp_path: Path, app: typer.Typer) -> None:
    for arguments, complaint in (([str(tmp_path)], "no run.json"), (["a", "b"], "no run.json")):
        got = CliRunner().invoke(app, arguments)
        assert isinstance(got.exception, InputError)
        assert complaint in str(got.exception)


def test_a_run_whose_example_list_is_damaged(folder: Path) -> None:
    (folder / "examples.jsonl").write_text(json.dumps({"id": "e0"}) + "\n")
    with pytest.raises(InputError, match=r"examples\.jsonl"):
        Run.load(folder)
