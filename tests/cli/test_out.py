"""What a command would write to is checked before anything else: one line, nothing read, asked or made."""

import os
import stat
from pathlib import Path

import pytest
from abduce import InputError
from abduce.data.build.icd10cm.build import write_all
from abduce.retrievers.files import check_out, replacing_part, write_text

FILES = {
    "tag": ("tag", "none.jsonl", "--lm", "none.toml", "--out", "OUT.csv"),
    "ask": ("ask", "none.jsonl", "--lm", "none.toml", "--out", "OUT.csv"),
    "calibrate": ("calibrate", "no row", "--out", "OUT.json"),
    "optimize": ("optimize", "none", "--row", "FHS", "--lm", "none.toml", "--out", "OUT.json"),
    "review": ("review", "none.htm", "--out", "OUT.csv"),
    "report --html": ("report", "none", "--html", "OUT.html"),
    "report --values": ("report", "none", "--values", "OUT.csv"),
    "data build corpus": ("data", "build", "corpus", "none.txt", "--out", "OUT.jsonl"),
    "index build milvus": ("index", "build", "none.csv", "OUT.db", "--kind", "milvus"),
}
FOLDERS = {
    "eval": ("eval", "none", "--out", "OUT"),
    "report": ("report", "none", "--out", "OUT"),
    "report --trec": ("report", "none", "--trec", "OUT"),
    "judge": ("judge", "none", "--url", "http://127.0.0.1:1", "--model", "m", "--out", "OUT"),
    "train": ("train", "none.jsonl", "--out", "OUT"),
    "index build": ("index", "build", "none.csv", "OUT"),
    "data build us-gaap": ("data", "build", "us-gaap", "--from", "none.zip", "--out", "OUT"),
    "data build icd10cm": ("data", "build", "icd10cm", "--from", "none", "--year", "2018", "--out", "OUT"),
    "data build codiesp": (
        *("data", "build", "codiesp", "--from", "none", "--inventory", "none.gz"),
        *("--out", "OUT"),
    ),
}


def named(command, path):
    return [word.replace("OUT", str(path)) if "OUT" in word else word for word in command]


def refused(ran, *words):
    """The one line of a refusal, which has these words."""
    assert ran.code == 2
    assert len(ran.err.strip().splitlines()) == 1, ran.err
    for word in words:
        assert word in ran.err
    return ran.err.strip()


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_written_is_refused_first(cli, tmp_path, name):
    refused(cli(*named(FILES[name], tmp_path / "no folder" / "x")), "there is no such folder to write to")
    suffix = next(word for word in FILES[name] if "OUT" in word).removeprefix("OUT")
    (tmp_path / f"folder{suffix}").mkdir()
    refused(cli(*named(FILES[name], tmp_path / "folder")), "is a folder, not a file")
    os.mkfifo(tmp_path / f"pipe{suffix}")
    refused(cli(*named(FILES[name], tmp_path / "pipe")), "nobody reads the pipe")
    (tmp_path / f"circle{suffix}").symlink_to(f"circle{suffix}")
    refused(cli(*named(FILES[name], tmp_path / "circle")), "links that lead in a circle")
    refused(cli(*named(FILES[name], tmp_path / ("x" * 300))), "the name is too long")
    assert {p.name.removesuffix(suffix) for p in tmp_path.iterdir()} == {"folder", "pipe", "circle"}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_cannot_be_written_is_refused_first(cli, tmp_path, name):
    (tmp_path / "file").write_text("x")
    refused(cli(*named(FOLDERS[name], tmp_path / "file")), "is no folder")
    refused(cli(*named(FOLDERS[name], tmp_path / "file" / "below")), str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    refused(cli(*named(FOLDERS[name], tmp_path / "pipe")), "is no folder")
    refused(cli(*named(FOLDERS[name], "/dev/null")), "is no folder")
    assert {p.name for p in tmp_path.iterdir()} == {"file", "pipe"}
    assert (tmp_path / "file").read_text() == "x"


@pytest.mark.parametrize("name", FILES | FOLDERS)
def test_a_place_that_can_be_written_is_not_the_problem(cli, tmp_path, name):
    ran = cli(*named((FILES | FOLDERS)[name], tmp_path / "x"))
    assert str(tmp_path) not in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_device_or_a_pipe_is_written_to_and_a_link_stays(tmp_path):
    check_out(Path("/dev/null"), (".csv",))
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    link.symlink_to(real)
    check_out(link)
    write_text(link, "a")
    assert link.is_symlink()
    assert real.read_text() == "a"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    check_out(pipe)
    with replacing_part(pipe, keep=True) as (stream, part):
        stream.write(b"b")
    assert part is None
    assert os.read(reader, 9) == b"b"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_several_files_appear_together_or_not_at_all(tmp_path):
    (tmp_path / "b").mkdir()
    with pytest.raises(InputError, match="b: cannot be written: is a folder"):
        write_all(tmp_path, {"a": b"1", "b": b"2"})
    assert [p.name for p in tmp_path.iterdir()] == ["b"]
    (tmp_path / "b").rmdir()
    (tmp_path / "real").write_text("old")
    (tmp_path / "b").symlink_to(tmp_path / "real")
    write_all(tmp_path, {"a": b"1", "b": b"2"})
    assert ((tmp_path / "a").read_text(), (tmp_path / "real").read_text()) == ("1", "2")


@pytest.mark.parametrize(
    "command", [("report",), ("calibrate",), ("review",), ("tag",), ("eval",), ("index", "info")]
)
def test_a_name_that_is_too_long_is_one_line(cli, command):
    assert refused(cli(*command, "x" * 300)).startswith("abduce: ")
