"""The gate for files from outside, and written files."""

from __future__ import annotations

import gzip
import os
import random
import socket
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from abduce.retrievers.errors import InputError
from abduce.retrievers.files import (
    check_out,
    csv_cell,
    csv_text,
    read_csv,
    read_jsonl,
    read_rows,
    read_toml,
    write_text,
)
from abduce.retrievers.outside import (
    MAX_LINE,
    check_regular,
    open_outside,
    read_bytes,
    read_json,
)
from hypothesis import given
from hypothesis import strategies as st


def everything_that_is_no_file(tmp_path: Path) -> dict[str, Path]:
    fifo, link, loop = tmp_path / "fifo.jsonl", tmp_path / "link.jsonl", tmp_path / "loop.jsonl"
    os.mkfifo(fifo)
    link.symlink_to(fifo)
    loop.symlink_to(loop)
    (tmp_path / "folder.jsonl").mkdir()
    return {
        "fifo": fifo, "link to a fifo": link, "circle": loop, "folder": tmp_path / "folder.jsonl",
        "missing": tmp_path / "no.jsonl", "device": Path("/dev/zero"), "long": tmp_path / ("x" * 300),
        "nul": Path("a\0b.jsonl"), "below a file": Path(__file__) / "x.jsonl",
        "surrogate": Path("\udcff.jsonl"), "escape": Path("\x1b[31m.jsonl"),
    }  # fmt: skip


def test_nothing_but_a_regular_file_is_opened(tmp_path: Path) -> None:
    for name, path in everything_that_is_no_file(tmp_path).items():
        for read in (check_regular, read_json, read_toml, lambda p: list(read_jsonl(p))):
            with pytest.raises(InputError) as caught:
                read(path)
            assert "\n" not in str(caught.value), name
            assert "\x1b" not in str(caught.value).encode("utf-8").decode()


def test_a_socket_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(InputError, match="not a"):
            check_regular("s")


def test_what_unpacks_to_too_much_is_refused_before_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("abduce.retrievers.outside.UNPACKED_FREE", 1 << 20)
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": "1", "label": "x"}\n' * 100_000))
    with pytest.raises(InputError, match="unpacks to more than"):
        for _ in read_jsonl(path):
            pass


def test_what_unpacks_as_data_does_is_read(tmp_path: Path) -> None:
    path = tmp_path / "data.gz"
    noise = random.Random(0).randbytes(100_000)
    path.write_bytes(gzip.compress(noise + b"\n" * 3_000_000))
    assert len(read_bytes(path, 1 << 30)) == 3_100_000
    with pytest.raises(InputError, match="larger than 1 MB"):
        read_bytes(path, 1 << 20)


def test_a_line_without_an_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "line.jsonl.gz"
    path.write_bytes(gzip.compress(b" " * (MAX_LINE + 100)))
    with pytest.raises(InputError, match="has a line of more than 32 MB"):
        list(read_jsonl(path))


CUT = gzip.compress(b"x" * 999, mtime=0)[:-5]


@pytest.mark.parametrize("data", [b"\x1f\x8b", b"\x1f\x8b\x08\0\0\0\0\0\0\0", CUT], ids=["two", "ten", "cut"])
def test_corrupt_gzip_is_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.csv.gz").write_bytes(data)
    with pytest.raises(InputError, match="corrupt"):
        list(read_rows(tmp_path / "a.csv.gz"))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "NaN", "Infinity", "9" * 5000, "", "{", "\ufeff{", '"\ud800"']
)
def test_json_that_is_meant_to_harm_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError, match=r"a\.json"):
        read_json(path)


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, "a" + ".a" * 100_000 + " = 1", "= 1", "a = 1\na = 2"]
)
def test_toml_that_is_meant_to_harm_is_one_line_or_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"a\.toml"):
        read_toml(path)


def test_a_csv_with_too_many_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("," * 20_000 + "\n")
    with pytest.raises(InputError, match="columns"):
        list(read_csv(path))


@given(st.binary(max_size=300))
def test_bytes_are_rows_or_one_line(data: bytes) -> None:
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"abduce-gate-{os.getpid()}.csv"
    path.write_bytes(data)
    with suppress(InputError):
        for _, row in read_csv(path):
            assert all(isinstance(cell, str) for cell in row.values())
    path.unlink()


def test_opening_leaves_no_descriptor_behind(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    for path in everything_that_is_no_file(tmp_path).values():
        with pytest.raises(InputError), open_outside(path):
            pass
    after = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    assert after == before


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "@SUM(A1)",
        "\tx",
        "-2+3+cmd|' /C calc'!A0",
        "+1+HYPERLINK(1)",
        "-x",
        "+x",
        "- x",
        "\r=1",
        "-1)(2",
    ],
)
def test_what_a_spreadsheet_would_run_is_quoted(text: str) -> None:
    assert csv_cell(text).startswith("'")


@pytest.mark.parametrize(
    "text", ["-1", "+1,234.50", "-(12)", "-3.5%", "(5)", "- 7", "-", "+", "a=b", "1-2", "\u2212\u2009x", ""]
)
def test_numbers_and_words_stay_as_they_are(text: str) -> None:
    assert csv_cell(text) == text


def test_a_cell_ends_no_line_and_holds_no_escape() -> None:
    assert csv_text(["a", "b"], [["x\r=1", "\x1b[31m"]]) == 'a,b\n"x\n=1",\ufffd[31m\n'


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "t.txt", tmp_path / "l.txt"
    target.write_text("old")
    link.symlink_to(target)
    check_out(link)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["l.txt", "t.txt"]


def test_a_device_is_written_to_and_never_replaced() -> None:
    write_text(Path("/dev/null"), "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(InputError, match="the disk is full"):
        write_text(Path("/dev/full"), "x")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_pipe_is_written_to_where_somebody_reads_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for refuse in (check_out, lambda p: write_text(p, "x")):
        with pytest.raises(InputError, match="nobody reads the pipe"):
            refuse(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "x")
    assert os.read(reader, 10) == b"x"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_what_cannot_be_written_is_told_before(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path, why in (
        (tmp_path / "no" / "a.csv", "no such folder"),
        (tmp_path, "is a folder"),
        (tmp_path / "file" / "a.csv", "not a folder"),
        (tmp_path / ("x" * 300), "too long"),
        (Path("a\0b"), "cannot be written"),
    ):
        with pytest.raises(InputError, match=why):
            check_out(path)
    check_out(tmp_path / "new.csv")
    assert not (tmp_path / "new.csv").exists()
