"""The page's data against the run's own numbers, and what the file holds."""

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from abduce.data.domains import FINANCE
from abduce.data.folder import DataFolder
from abduce.documents.plain_cells import cells_of
from abduce.eval.report.breakdown import breakdown
from abduce.eval.report.details import question_detail
from abduce.eval.report.page import report_data, report_html
from abduce.eval.report.seen import seen_groups
from abduce.eval.report.sources import Sources
from abduce.eval.runs.joining import joined
from abduce.eval.runs.run import Run
from abduce.retrievers.errors import InputError
from hypothesis import given
from hypothesis import strategies as st
from made_report import made_facts, made_run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Sources]:
    return made_run(tmp_path_factory.mktemp("run") / "r", 40)


def packs_of(html: str) -> dict[str, Any]:
    found = re.findall(r'<script type="text/plain" id="pack-([\w-]+)">([^<]*)</script>', html)
    return {name: json.loads(gzip.decompress(base64.b64decode(text))) for name, text in found}


def data_of(html: str) -> Any:
    [text] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(text)


def test_values_are_those_of_the_run(made: tuple[Run, Sources]) -> None:
    run, sources = made
    html = report_html(run, sources)
    data, packs = data_of(html), packs_of(html)
    assert [r["R@1"] for r in data["rows"]] == [run[r["row"]].mean("R@1")[0] for r in data["rows"]]
    for row in run.rows:
        assert packs["values"]["values"][row.name]["R@1"] == row.per_example("R@1").tolist()
        ranks = packs["values"]["ranks"][row.name]
        assert [float(r == 1) for r in ranks] == row.per_example("R@1").tolist()
        assert data["curves"][row.name][0] == pytest.approx(row.mean("R@1")[0], abs=1e-4)
    [compared] = data["compare"]
    difference = run.compare("better", "base").differences["R@1"]
    assert (compared["a"], compared["b"]) == ("better", "base")
    assert compared["measures"]["R@1"][:3] == [difference.mean, difference.low, difference.high]


def test_breakdowns_are_those_of_the_tables(made: tuple[Run, Sources]) -> None:
    run, sources = made
    data, _ = report_data(run, replace(sources, groups={}))
    fields = {one["field"]: one for one in data["breakdowns"]}
    assert list(fields) == ["kind"]
    for measure in ("R@1", "MRR", "Acc"):
        for line in breakdown(run, "kind", measure).rows:
            cells = [[c.value, c.low, c.high] for c in line[1:]]
            assert fields["kind"]["rows"][line[0]][measure] == [pytest.approx(c, abs=1e-4) for c in cells]


def test_risk_and_coverage_by_hand(made: tuple[Run, Sources]) -> None:
    run, sources = made
    data, _ = report_data(run, sources)
    last = data["risk"]["better"][-1]
    done = [r for r in run.records("better") if r["status"] == "ok"]
    right = sum(r["ranking"]["ids"][0] == f"Concept{int(r['id'][1:]) % 4}" for r in done)
    assert last == [1.0, pytest.approx(right / len(done), abs=1e-4)]


def test_a_fact_has_its_trail_and_its_table(made: tuple[Run, Sources]) -> None:
    run, sources = made
    _, packs = report_data(run, sources)
    chunk, items = (json.loads(gzip.decompress(packs[n])) for n in ("details-0", "items"))
    detail = chunk["rows"]["better"]["1"]
    assert items["ids"][detail["f"][0][0]] == "Concept1"
    assert detail["h"][1] == [{"Family": "debt 1"}, {"Family": ["debt"]}, "query 1"]
    assert detail["v"][0][3] == ["snx", "snx", "snx"]
    assert detail["d"] == ["Family", "Role", "Event"]
    assert [items["ids"][i] for i in detail["s"]] == ["Concept1"]
    assert detail["g"] == 1
    fact = chunk["facts"]["f1"]
    assert fact["row_header"] == "Trade receivables"
    assert chunk["contexts"][fact["context"]]["table"][2] == [["Trade receivables"], ["200"], ["210"]]
    failed = json.loads(gzip.decompress(packs["details-1"]))["rows"]["better"]["39"]
    assert failed["e"] == ["RuntimeError", "no reply"]


def test_equal_runs_give_equal_pages(made: tuple[Run, Sources], tmp_path: Path) -> None:
    run, sources = made
    assert report_html(run, sources) == report_html(run, sources)


def test_two_runs_compare_rows_of_the_same_name(tmp_path: Path) -> None:
    before, sources = made_run(tmp_path / "before")
    after, _ = made_run(tmp_path / "after")
    data, _ = report_data(joined([before, after]), sources)
    assert [(c["a"], c["b"]) for c in data["compare"]] == [
        ("base (after)", "base (before)"),
        ("better (after)", "better (before)"),
    ]
    assert all(c["measures"]["MRR"][0] == 0 for c in data["compare"])


def test_sources_that_are_not_there_are_said_to_be_missing(tmp_path: Path, cli: Any) -> None:
    made_run(tmp_path / "r")
    ran = cli("report", tmp_path / "r", "--html", tmp_path / "p.html")
    assert (ran.code, "p.html: 0." in ran.out) == (0, True)
    notes = data_of((tmp_path / "p.html").read_text(encoding="utf-8"))["notes"]
    assert notes == [
        "8 of 8 examples are not in the data bundled with abduce: their sources are not shown "
        "(name the data folder with --data)"
    ]


@pytest.mark.parametrize(("name", "problem"), [("p.pdf", "end in .html"), ("no/p.html", "no such folder")])
def test_a_page_that_cannot_be_written_says_why(tmp_path: Path, cli: Any, name: str, problem: str) -> None:
    made_run(tmp_path / "r")
    ran = cli("report", tmp_path / "r", "--html", tmp_path / name)
    assert (ran.code, problem in ran.err) == (2, True)
    assert not (tmp_path / name).exists()


def test_no_such_baseline(made: tuple[Run, Sources]) -> None:
    with pytest.raises(InputError, match="no row 'gone'"):
        report_html(made[0], made[1], baseline="gone")


def test_bundled_facts_are_found_again_by_their_fingerprint(tmp_path: Path) -> None:
    from abduce.eval.report.sources import find_sources

    folder = DataFolder.find()
    examples = folder.facts(FINANCE, next(iter(FINANCE.splits)))[:6]
    (tmp_path / "resolved.toml").write_text('domain = "finance"\n')
    run = Run("x", "d", [], [*examples[:5], made_changed(examples[5])], folder=tmp_path, codec="taxonomy")
    found = find_sources(run, folder)
    assert set(found.facts) == {e.id for e in examples[:5]}
    assert found.taxonomy is not None
    assert "1 of 6 examples" in found.notes[-1]


def made_changed(example: Any) -> Any:
    return replace(example, gold="Another", version="")


def test_seen_means_seen_at_another_company(tmp_path: Path) -> None:
    facts = made_facts(3)
    known = [
        (facts[0].model_copy(update={"fact_id": "p0", "company": "Acme"}), "Concept0"),
        (facts[1].model_copy(update={"fact_id": "p1", "company": "Other"}), "Concept9"),
    ]
    folder = tmp_path / "finance"
    folder.mkdir()
    contexts = {f.context.context_id: f.context.text for f, _ in known}
    lines = [{"context_id": id_, "source_context": text} for id_, text in contexts.items()]
    write(folder / "contexts.jsonl", lines)
    flat = [
        f.model_dump(mode="json", exclude={"context"}) | {"context_id": f.context.context_id, "gold": g}
        for f, g in known
    ]
    write(folder / "facts_prior.jsonl", flat)
    golds = {"f0": "Concept0", "f1": "Concept1", "f2": "Concept9"}
    got = seen_groups({f.fact_id: f for f in facts}, golds, FINANCE, DataFolder(tmp_path))
    assert got["f0"] == {"company": "Acme", "header": "unseen", "concept": "unseen"}
    assert got["f1"] == {"company": "Acme", "header": "seen", "concept": "unseen"}
    assert got["f2"] == {"company": "Acme", "header": "unseen", "concept": "seen"}


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")


def test_cells_keep_text_and_spans_alone() -> None:
    markup = (
        '<table onclick="x()"><thead><tr><td colspan="2">A &lt;b&gt;</td></tr></thead>'
        '<tbody><tr><td rowspan="999999"><script>alert(1)</script>B<table><tr><td>in</td></tr></table>'
        "</td></tr></tbody></table><table><tr><td>second</td></tr></table>"
    )
    assert cells_of(markup) == [[["A <b>", 2, 1]], [["Bin", 1, 1000]]]
    assert cells_of("no table") is None
    assert cells_of("") is None


@given(st.text(max_size=200))
def test_any_markup_is_cells_or_nothing(text: str) -> None:
    found = cells_of(f"<table>{text}</table>")
    assert found is None or all(isinstance(c[0], str) for row in found for c in row)


def test_codec_of_another_family_shows_its_rankings(tmp_path: Path) -> None:
    run, sources = made_run(tmp_path / "r")
    data, packs = report_data(replace(run, codec="mine"), sources)
    chunk = json.loads(gzip.decompress(packs["details-0"]))
    assert data["family"] == "mine"
    assert set(chunk["rows"]["base"]["0"]) == {"f"}


def test_what_a_question_s_answer_cites_is_marked_in_its_context() -> None:
    trace = {
        "queries": [{"form": "q1", "text": "cholera", "hypothesis": None, "round": 0}],
        "rankings": [{"ids": [0, 1]}],
        "ids": ["p1", "p2"],
        "calls": [],
        "counters": {"retrievals": 1, "left_out": 2},
        "notes": {
            "context": [{"id": "p1", "sources": [["q1", 1]]}, {"id": "p2", "sources": [["q1", 2]]}],
            "statements": {"A": [{"document": 2, "stance": "for", "sentence": "It is.", "by": "model"}]},
        },
    }
    record = {
        "status": "ok",
        "trace": trace,
        "answer": "A",
        "answer_text": "yes",
        "options": None,
        "plan": {"f": ["x"]},
        "utility": [{"name": "j", "label": "Entailed", "selected": "A"}],
        "covered": {"A": True},
        "seconds": 0.5,
        "ranking": {"ids": ["p1", "p2"]},
    }
    detail = question_detail(record, {"p1": 0, "p2": 1}.__getitem__)
    assert detail["x"] == [[0, [["q1", 1]], 0], [1, [["q1", 2]], 1]]
    assert detail["b"] == [["A", "for", 2, "It is.", "model"]]
    assert (detail["a"], detail["l"], detail["u"]) == (
        ["A", "yes"],
        {"f": ["x"]},
        [["j", "Entailed", "A", None]],
    )
    assert detail["c"] == {"left_out": 2}
