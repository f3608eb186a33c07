"""Tables of question runs, by hand: models kept apart, averages over cells, the paper's trends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from abduce.data.example import Example
from abduce.eval.report.cells import cells_of, counterpart
from abduce.eval.report.questions import question_tables
from abduce.eval.runs.joining import joined
from abduce.eval.runs.outcome import RowResult
from abduce.eval.runs.run import Run

EXAMPLES = [
    Example(f"{d}{i}", {}, "A", f"{d}{i}", {"dataset": d}) for d in ("medqa", "mmlu-med") for i in range(4)
]
LABELS = {"E": "Entailed", "U": "Useful", "N": "Not Useful"}
PROGRAMS = {
    "No-RAG (CoT)": "no-rag",
    "Simple RAG": "simple",
    "HCQR": "hcqr",
    "- q1": "hcqr",
    "MAIN-RAG": "main-rag",
}


def row(method, right, labels="", model="", identity="", failed=()):
    """A row over eight questions: ``right`` one digit each, ``labels`` one letter each (``-``: unjudged)."""
    values = {"Acc": np.array([[float(c) for c in right]])}
    if labels:
        values |= {name: np.array([[float(c == letter) for c in labels]]) for letter, name in LABELS.items()}
        values["DUR"] = values["Entailed"] + values["Useful"]
    gone = np.zeros((1, len(EXAMPLES)), dtype=bool)
    gone[0, list(failed)] = True
    settings = {
        "method": method,
        "model_name": model,
        "model": identity,
        "spec": {"program": PROGRAMS[method]},
        "config": {"drop": "q1"} if method == "- q1" else {},
        "judges": [{"name": "j", "model": "m", "version": "1", "prompt_sha256": "0" * 64}] if labels else [],
    }
    name = f"{method} [{model}]" if model else method
    seconds = np.zeros((1, len(EXAMPLES)))
    return RowResult(name, [0], values, {}, seconds, gone, ~gone, settings=settings)


def run(*rows, folder=None, baseline=None):
    declared = {"baseline": baseline} if baseline else {}
    return Run("tiny", "made", list(rows), EXAMPLES, None, folder, declared=declared)


def tables(found):
    return {t.title: t for t in question_tables(found)}


def plain(line):
    return [getattr(v, "value", v) for v in line]


def test_two_folders_keep_their_own_baseline():
    """Two models, each the [lm] of its run: no name tells them apart, their folders and identities do."""
    first = run(row("No-RAG (CoT)", "00000000"), row("HCQR", "10000000"), folder=Path("out_M1"))
    second = run(row("No-RAG (CoT)", "11111111"), row("HCQR", "11110000"), folder=Path("out_M2"))
    found = tables(joined([first, second]))["Helped and harmed against No-RAG (CoT)"]
    told = {line[0]: plain(line)[3] for line in found.rows}
    assert told == {
        "medqa: HCQR (out_M1)": 0.25, "medqa: HCQR (out_M2)": 0.0,
        "mmlu-med: HCQR (out_M1)": 0.0, "mmlu-med: HCQR (out_M2)": -1.0,
    }  # fmt: skip


def test_one_model_in_two_folders_shares_its_baseline():
    first = run(row("No-RAG (CoT)", "00000000", identity="x"), folder=Path("main"))
    second = run(row("HCQR", "11110000", identity="x"), folder=Path("ablations"))
    cells = cells_of(joined([first, second]))
    hcqr = next(c for c in cells if c.method == "HCQR")
    assert counterpart(hcqr, cells, "No-RAG (CoT)").row.name == "No-RAG (CoT)"


MODELS = [("small", "a"), ("large", "b")]


def two_models():
    rows = []
    for (model, identity), cot, hcqr in zip(
        MODELS, ("11001100", "11101110"), ("11101110", "11111110"), strict=True
    ):
        rows += [
            row("No-RAG (CoT)", cot, "", model, identity),
            row("Simple RAG", "10001000", "NNNNEU-N", model, identity, failed=[3]),
            row("HCQR", hcqr, "EEUNEUNN", model, identity),
            row("- q1", "10001100", "", model, identity),
        ]
    return run(*rows, baseline="Simple RAG")


def test_gains_over_both_baselines_are_averaged_over_models():
    found = tables(two_models())["Gains in accuracy, averaged over models"]
    assert found.columns == [
        "row", "medqa over No-RAG (CoT)", "mmlu-med over No-RAG (CoT)", "medqa over Simple RAG",
        "mmlu-med over Simple RAG",
    ]  # fmt: skip
    hcqr = next(line for line in found.rows if line[0] == "HCQR")
    # medqa: .75 - .5 and 1 - .75; over Simple RAG: .75 - .25 and 1 - .25
    assert plain(hcqr)[1:] == pytest.approx([0.25, 0.125, 0.625, 0.5])


def test_another_row_may_be_what_gains_are_over():
    found = replace(two_models(), declared={"no_rag": "- q1"})
    assert "Helped and harmed against - q1" in tables(found)


def test_label_shares_add_up_with_the_unjudged():
    found = tables(two_models())
    by_cell = {line[0]: plain(line)[1:] for line in found["Context utility"].rows}
    # three Not Useful, and one whose question failed
    assert by_cell["medqa: Simple RAG [small]"] == [4, 0.0, 0.0, 0.75, 0.25, 0.0]
    assert by_cell["mmlu-med: Simple RAG [small]"] == [4, 0.25, 0.25, 0.25, 0.25, 0.5]
    for line in by_cell.values():
        assert sum(line[1:5]) == pytest.approx(1.0)
    averaged = {line[0]: plain(line)[1:] for line in found["Context utility, averaged over cells"].rows}
    assert averaged["HCQR"] == pytest.approx([4, 0.375, 0.25, 0.375, 0.0, 0.625])


def test_the_papers_trends_hold_or_do_not():
    lines = {line[0]: (line[1], line[2]) for line in tables(two_models())["The paper's trends"].rows}
    assert lines["Simple RAG is below No-RAG (CoT) in every cell"] == ("holds", "4 of 4 cells")
    # the large model's HCQR equals its No-RAG on mmlu-med
    assert lines["HCQR has the best accuracy in every cell"] == ("does not hold", "3 of 4 cells")
    gain = lines["HCQR gains over Simple RAG (+.059 on MedQA, +.036 on MMLU-Med)"]
    assert gain == ("holds", "medqa +0.625, mmlu-med +0.500")
    assert lines["the gain is larger on MedQA than on MMLU-Med"][0] == "holds"
    assert lines["HCQR has the highest decision-useful rate in every cell"] == (
        "does not hold",
        "2 of 4 cells",
    )
    assert "leaving out q1 costs most" not in lines  # q2 and q3 are no rows of this run


def test_no_trend_without_the_papers_rows():
    assert "The paper's trends" not in tables(run(row("- q1", "11110000")))


def test_a_trend_that_nothing_tells_is_no_line():
    judged = run(row("No-RAG (CoT)", "11001100"), row("HCQR", "11101110", "EENNEENN"))  # none is Useful
    statements = [line[0] for line in tables(judged)["The paper's trends"].rows]
    assert not any(s.startswith("gain over No-RAG (CoT): Entailed") for s in statements)
    assert any(s.startswith("HCQR is above") for s in statements)


def test_as_many_as_another_are_not_the_most():
    def told(rag, hcqr):
        judged = run(row("Simple RAG", "11001100", rag), row("HCQR", "11101110", hcqr))
        lines = {line[0]: line[1] for line in tables(judged)["The paper's trends"].rows}
        return [lines[f"HCQR has the {what} contexts"] for what in ("most Entailed", "fewest Not Useful")]

    assert told("EENNUUUU", "EENNUUUU") == ["does not hold", "does not hold"]
    assert told("EENNUUUU", "EEENUUUU") == ["holds", "holds"]
