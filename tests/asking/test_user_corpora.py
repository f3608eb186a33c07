"""``abduce data build corpus``, and folders of texts as corpora."""

from __future__ import annotations

import gzip
import json

from abduce.data.corpora import load_corpus
from command_line import cli


def build(*arguments):
    return cli("data", "build", "corpus", *arguments)


def test_build_corpus_from_files_and_folders(tmp_path, folder):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "gout.md").write_text("# Gout\n\n" + "Uric acid forms crystals. " * 60)
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"id": "x", "title": "T", "content": "One. Two.", "url": "u"}) + "\n")
    out = tmp_path / "passages.jsonl.gz"
    done = build(notes, rows, "--out", out, "--size", 500)
    assert done.code == 0, done.said
    with gzip.open(out, "rt") as stream:
        made = [json.loads(line) for line in stream]
    assert [p["id"] for p in made] == ["gout_0", "gout_1", "gout_2", "gout_3", "x_0"]
    assert made[0]["title"] == "Gout"
    assert made[-1] == {"id": "x_0", "title": "T", "content": "One. Two.", "url": "u"}
    assert all(len(p["content"]) <= 500 and p["content"].endswith(".") for p in made)
    found = cli(
        "ask",
        "Which hormone lowers blood sugar?",
        "--data",
        str(folder),
        "--options",
        "a,b",
        "--no-answer",
        "--json",
        "--corpus",
        str(out),
    )
    assert found.code == 0, found.said


def test_build_corpus_complains_and_writes_nothing(tmp_path):
    rows = tmp_path / "rows.jsonl"
    good = json.dumps({"id": "x", "title": "T", "content": "One."})
    out = tmp_path / "out.jsonl"
    for bad, message in [
        ('{"id": "y", "title": "T"}', ":2: field 'content': is missing"),
        ("{", ":2: is not JSON"),
        (good, "duplicate id"),
    ]:
        rows.write_text(f"{good}\n{bad}\n")
        failed = build(rows, "--out", out)
        assert failed.code == 2
        assert message in failed.err
        assert not out.exists()
        done = build(rows, "--out", out, "--skip-bad")
        assert "1 skipped" in done.said
        out.unlink()
    for arguments, message in [
        ((tmp_path / "none.jsonl", "--out", out), "no such file"),
        ((rows, "--out", tmp_path / "out.csv"), "must end in .jsonl"),
        ((tmp_path / "none.docx", "--out", out), "is none of"),
    ]:
        assert message in build(*arguments).err


def test_web_pages_of_a_folder_are_passages_and_what_is_not_read_is_told(tmp_path, caplog):
    page = "<html><head><style>p{}</style></head><body><p>Gout comes from uric acid.</p><script>gout</script>"
    page += "<table><tr><td>Dose</td><td>5 mg</td></tr></table></body></html>"
    (tmp_path / "gout.html").write_text(page, encoding="utf-8")
    (tmp_path / "lease.txt").write_text("Maria Gomez signs the lease.", encoding="utf-8")
    (tmp_path / "more.docx").write_bytes(b"PK")
    with caplog.at_level("INFO", logger="abduce"):
        corpus = load_corpus(str(tmp_path))
    texts = {p.title: " ".join(p.content.split()) for p in corpus}
    assert texts == {"gout": "Gout comes from uric acid. Dose 5 mg", "lease": "Maria Gomez signs the lease."}
    assert "not read: 1 .docx" in caplog.text
