"""Every reader of the project by a name: what it is given (a path), and a small sound file of its kind."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def _all(things: Iterable[Any]) -> int:
    return sum(1 for _ in things)


def _as(path: Path, name: str) -> Path:
    """A folder in which the path goes by a name; the path itself where it can be in none."""
    if "\0" in path.name or not path.parent.is_dir() or path.parent == Path():
        return path
    folder = Path(tempfile.mkdtemp(dir=path.parent))
    try:
        (folder / name).symlink_to(path)
    except (OSError, ValueError):
        return path
    return folder


def _document(path: Path) -> object:
    from abduce import read_document

    return len(read_document(path).facts)


def _facts(path: Path) -> object:
    from abduce.data.facts import read_facts

    return _all(read_facts(path))


def _contexts(path: Path) -> object:
    from abduce.data.facts import read_contexts

    return len(read_contexts(path))


def _taxonomy(path: Path) -> object:
    from abduce import Taxonomy

    return len(Taxonomy.load(path))


def _corpus(path: Path) -> object:
    from abduce.data.corpora import load_corpus

    return len(load_corpus(str(path)))


def _precedents(path: Path) -> object:
    from abduce.tagging.precedents import read_precedents

    return _all(read_precedents(path))


def _decisions(path: Path) -> object:
    from abduce.tagging.review.again import read_decisions

    return len(read_decisions(path))


def _questions(path: Path) -> object:
    from abduce.data.questions import read_questions

    return _all(read_questions(path))


def _schema(path: Path) -> object:
    from abduce.signatures.dimensions import load_schema

    return load_schema(str(path)).fingerprint


def _prompts(path: Path) -> object:
    from abduce.signatures.prompting import load_prompts

    return len(load_prompts(str(path)))


def _lm(path: Path) -> object:
    from abduce.lm.options import lm_table
    from abduce.lm.profiles import ModelProfiles

    return ModelProfiles.read(lm_table(path), file=path).resolved()


def _experiment(path: Path) -> object:
    from abduce.eval.experiments.files import load_experiment

    return load_experiment(path)


def _calibration(path: Path) -> object:
    from abduce.tagging.calibration import Calibration

    return Calibration.load(path)


def _state(path: Path) -> object:
    import dspy
    from abduce.eval.runs.state import load_state
    from abduce.programs.state import Stateful

    class Small(Stateful):
        def __init__(self) -> None:
            super().__init__()
            self.say = dspy.Predict("text -> answer")

    return load_state(Small(), path)


def _manifest(path: Path) -> object:
    from abduce.retrievers.store import read_manifest

    return read_manifest(_as(path, "manifest.json"))


def _run(path: Path) -> object:
    from abduce.eval.runs.run import Run

    return Run.load(_as(path, "run.json"))


def _note(path: Path) -> object:
    from abduce.tagging.notes.note import read_note

    return read_note(path).text


def _mentions(path: Path) -> object:
    from abduce.signatures.types import SourceContext
    from abduce.tagging.notes.note import read_mentions

    note = SourceContext(context_id="n", text="Fever and anemia.", modality="text")
    return len(read_mentions(path, note, {"datatype": "diagnosis"}))


def _trec(path: Path) -> object:
    from abduce.eval.runs.trec import read_run

    return len(read_run(path))


def _qrels(path: Path) -> object:
    from abduce.eval.runs.trec import read_qrels

    return len(read_qrels(path))


def _texts(path: Path) -> object:
    from abduce.data.corpora import load_corpus

    return len(load_corpus(str(_as(path, "a.txt"))))


def _release(path: Path) -> object:
    from abduce.data.build.us_gaap import build_us_gaap

    return build_us_gaap(path, path.parent / "out", "x")


def _codiesp(path: Path) -> object:
    from abduce.data.build.codiesp.archive import read_corpus

    return len(read_corpus(path).cases)


def _icd(path: Path) -> object:
    from abduce.data.build.icd10cm.release import Release

    release = Release(_as(path, "icd10cm_codes_2018.txt"))
    found = release.get("codes", 2018)
    return None if found is None else len(found.read())


def _rows(path: Path) -> object:
    from abduce.eval.runs.log import read_lines

    return _all(read_lines(path))


@dataclass(frozen=True)
class Reader:
    """``read`` takes the path of a file with this ``suffix``; ``sound`` is what such a file may hold.

    ``plain``: complains with a ValueError (the room of signatures knows no file); else with an InputError.
    """

    name: str
    suffix: str
    sound: bytes
    read: Callable[[Path], object]
    plain: bool = False


def _jsonl(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


_PAGE = """<html><body><p>Balance sheet (in millions)</p><table><tr><td></td><td>2024</td><td>2023</td></tr>
<tr><td>Cash</td><td>$ 5</td><td>(4)</td></tr><tr><td>Debt</td><td>1,234.5</td><td>7%</td></tr></table>
<p>The company paid $3.2 million in 2024.</p></body></html>"""
_XML = f"""<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL">
<body><table><tr><td>Cash</td><td><ix:nonFraction name="us-gaap:Cash" contextRef="c" unitRef="u">5</ix:nonFraction>
</td></tr></table></body></html>"""  # noqa: F541
_MARKDOWN = "# Notes\n\nPaid 5 in 2024.\n\n| a | 2024 |\n|---|---|\n| Cash | 5 |\n| *Debt* | `7` |\n\n- one 1\n- two [2](x)\n"
_CSV = 'item,2024,2023\nCash,5,4\nDebt,"1,234",(7)\n'
_FACT = {
    "fact_id": "f1", "value": "5", "datatype": "monetaryItemType", "context_id": "c1", "modality": "table",
    "row_header": "Cash", "column_header": "2024", "gold": "Cash", "split": "dev", "filing_id": "x",
}  # fmt: skip
_QUESTION = {"id": "q1", "question": "Which?", "options": {"A": "one", "B": "two"}, "answer": "A"}
_LM = (
    b'[lm]\nkind = "openai"\nmodel = "m"\nbase_url = "http://localhost:1/v1"\n[lm.judge]\ntemperature = 0.5\n'
)
_EXPERIMENT = b"""family = "taxonomy"
domain = "finance"
split = "dev"
[retriever]
kind = "bm25"
w_cov = 1.0
[[row]]
name = "FHS"
program = "fhs"
set = { beta = 0.6, J = 2 }
"""
_SCHEMA = b'[[dimension]]\nname = "Family"\ndescription = "d"\n[dimension.vocabulary]\ncash = ["cash"]\n'
_PROMPTS = b'[verifier]\ninstructions = "Say."\norder = []\n'
_CALIBRATION = {
    "program": "locus", "kind": "logistic", "fitted_on": 99, "mean": [0, 0, 0, 0, 0], "scale": [1, 1, 1, 1, 1],
    "weights": [1, 1, 1, 1, 1], "bias": 0.5, "wanted": [0.9], "thresholds": [0.5],
}  # fmt: skip
_STATE = {
    "say": {"demos": [{"text": "a", "answer": "b"}], "lm": None, "signature": {"instructions": "x", "fields": []}},
    "abduce_fingerprints": {"say": "0"},
}  # fmt: skip

_EXPORT = [
    {"id": 1, "data": {"fact_id": "f"}, "predictions": [],
     "annotations": [{"result": [{"from_name": "concept", "value": {"choices": ["Cash"]}}], "updated_at": "2024"}]}
]  # fmt: skip
_QUESTIONS = b"""family = "qa"
name = "q"
questions = ["mmlu-med-dev"]
corpus = "medical"
[retriever]
kind = "bm25"
[[row]]
name = "RAG"
program = "Simple RAG"
set = { k = 5 }
"""


def _zip(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def _parquet() -> bytes:
    import pyarrow
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(pyarrow.table({"id": ["1"], "title": ["t"], "content": ["some text"]}), out)
    return out.getvalue()


READERS = [
    Reader("page", ".htm", _PAGE.encode(), _document),
    Reader("inline XBRL", ".xhtml", _XML.encode(), _document),
    Reader("markdown", ".md", _MARKDOWN.encode(), _document),
    Reader("sheet as CSV", ".csv", _CSV.encode(), _document),
    Reader("workbook", ".xlsx", b"PK\3\4", _document),
    Reader("facts", ".jsonl", _jsonl(_FACT), _facts),
    Reader("facts, packed", ".jsonl.gz", gzip.compress(_jsonl(_FACT)), _facts),
    Reader("facts as CSV", ".csv", (",".join(_FACT) + "\n" + ",".join(_FACT.values()) + "\n").encode(), _facts),
    Reader("contexts", ".jsonl", _jsonl({"context_id": "c", "source_context": "x", "modality": "text"}), _contexts),
    Reader("taxonomy", ".jsonl", _jsonl({"id": "A", "label": "a b", "datatype": "t"}), _taxonomy),
    Reader("taxonomy as CSV", ".csv", b"id,label\nA,a b\nB,c\n", _taxonomy),
    Reader("corpus", ".jsonl", _jsonl({"id": "1", "title": "t", "content": "some text"}), _corpus),
    Reader("precedents", ".jsonl", _jsonl({**_FACT, "source_context": "x"}), _precedents),
    Reader("tags", ".csv", b"fact_id,locus,value,concept\nf,Cash,5,Cash\n", _precedents),
    Reader("questions", ".jsonl", _jsonl(_QUESTION), _questions),
    Reader("schema", ".toml", _SCHEMA, _schema, plain=True),
    Reader("prompts", ".toml", _PROMPTS, _prompts, plain=True),
    Reader("lm", ".toml", _LM, _lm),
    Reader("experiment", ".toml", _EXPERIMENT, _experiment),
    Reader("calibration", ".json", json.dumps(_CALIBRATION).encode(), _calibration),
    Reader("program state", ".json", json.dumps(_STATE).encode(), _state),
    Reader("index manifest", ".json", json.dumps({"format": "abduce-index", "version": 2, "kind": "bm25"}).encode(), _manifest),
    Reader("run", ".json", b'{"format": 1}', _run),
    Reader("note", ".txt", b"Fever and anemia.", _note),
    Reader("mentions", ".csv", b"mention,start,end\nFever,0,5\n", _mentions),
    Reader("decisions", ".jsonl", _jsonl({"fact_id": "f", "state": "accepted", "concept": "Cash"}), _decisions),
    Reader("Label Studio", ".json", json.dumps(_EXPORT).encode(), _decisions),
    Reader("reviewed tags", ".csv", b"fact_id,locus,value,concept,state\nf,Cash,5,Cash,accepted\n", _decisions),
    Reader("tags in a workbook", ".xlsx", b"PK\3\4", _precedents),
    Reader("Parquet corpus", ".parquet", _parquet(), _corpus),
    Reader("texts", ".txt", b"Fever and anemia.\n\nMore of it.", _texts),
    Reader("taxonomy release", ".zip", _zip({"x/x.xsd": b"<schema/>"}), _release),
    Reader("CodiEsp", ".zip", _zip({"a/train/text_files/c.txt": b"fiebre", "a/train/trainX.tsv": b"c\t"}), _codiesp),
    Reader("code files", ".txt", b"A000    Cholera\n", _icd),
    Reader("rows of a run", ".log", b'{"format": 2}\t00000000\t\n', _rows),
    Reader("experiment over questions", ".toml", _QUESTIONS, _experiment),
    Reader("trec run", ".trec", b"q Q0 d 1 2.5 tag\n", _trec),
    Reader("qrels", ".trec", b"q 0 d 1\n", _qrels),
]  # fmt: skip
BY_NAME = {reader.name: reader for reader in READERS}
