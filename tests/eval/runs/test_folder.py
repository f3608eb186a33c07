"""A run folder through kills, locks, damage and full disks."""

import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import made_runs
import pytest
from abduce.eval.runs import log as runlog
from abduce.eval.runs import names
from abduce.eval.runs.folder import RunFolder
from abduce.eval.runs.run import Run
from abduce.eval.runs.runner import run
from abduce.retrievers.errors import InputError
from made_runs import CODEC, examples, row, text

SCRIPT = """
    import itertools, sys, time
    sys.path.insert(0, {tests!r})
    from made_runs import CODEC, examples, failing, row
    from abduce.eval.runs.runner import run

    concurrency, may_call = int(sys.argv[1]), int(sys.argv[2])
    calls = itertools.count()

    def limited(n):
        while next(calls) >= may_call:  # hangs here until it is killed
            time.sleep(60)
        with open({log!r}, "a") as f:
            f.write(f"{{n}}\\n")
        return n % 3 + 1

    rows = [row("a", limited, seeds=(0, 1)), failing({{3, 7}})]
    run(rows, examples(60), codec=CODEC, out={out!r}, concurrency=concurrency, experiment="killed")
"""


@pytest.mark.parametrize("concurrency", ["1", "4"])
def test_killed_again_and_again_it_ends_with_the_same_summary(tmp_path: Path, concurrency: str) -> None:
    log = tmp_path / "calls.txt"
    script = textwrap.dedent(SCRIPT).format(
        tests=str(Path(made_runs.__file__).parent), log=str(log), out=str(tmp_path / "r")
    )
    command = [sys.executable, "-c", script, concurrency]
    rows = tmp_path / "r" / "rows" / "a.log"
    for session in (1, 2, 3):
        process = subprocess.Popen([*command, "30"])
        while not (rows.exists() and rows.read_bytes().count(b"\n") > session * 25):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    with rows.open("ab") as stream:
        stream.write(b'{"id":"e59","seed":1,"x":"half')
    subprocess.run([*command, "1000"], check=True)
    other = script.replace(str(tmp_path / "r"), str(tmp_path / "s"))
    calls = len(log.read_text().splitlines())
    subprocess.run([sys.executable, "-c", other, "1", "1000"], check=True)
    killed = json.loads(text(tmp_path / "r" / "summary.json"))
    assert killed == json.loads(text(tmp_path / "s" / "summary.json"))
    assert text(tmp_path / "r" / "failures.jsonl") == text(tmp_path / "s" / "failures.jsonl")
    assert calls <= 120 + 3 * 2 * int(concurrency)
    written = [json.loads(x.partition(b"\t")[0]) for x in rows.read_bytes().splitlines()[1:]]
    assert len(written) == len({(r["seed"], r["id"]) for r in written}) == 120


def test_ctrl_c_keeps_what_was_finished(tmp_path: Path) -> None:
    def rank(n: int) -> int:
        if n == 7:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
        return 1

    with pytest.raises(KeyboardInterrupt):
        run([row("a", rank)], examples(), codec=CODEC, out=tmp_path, concurrency=1)
    got = run([row("a", lambda n: 1)], examples(), codec=CODEC, out=tmp_path)
    assert got.resumed == 7
    assert got.summary()["rows"][0]["n"] == 12


def test_an_unfinished_run_loads_and_says_so(tmp_path: Path) -> None:
    def rank(n: int) -> int:
        if n == 7:
            raise KeyboardInterrupt
        return 1

    with pytest.raises(KeyboardInterrupt):
        run([row("a", rank)], examples(), codec=CODEC, out=tmp_path)
    loaded = Run.load(tmp_path)
    assert loaded.summary()["rows"][0]["n"] == 7
    assert "Unfinished: 5 of 12" in str(loaded.table())


def test_a_second_run_into_one_folder_refuses(tmp_path: Path) -> None:
    caught: list[str] = []

    def rank(n: int) -> int:
        if n == 0:
            with pytest.raises(InputError, match="another run is writing here") as e:
                run([row("a")], examples(), codec=CODEC, out=tmp_path)
            caught.append(str(e.value))
        return 1

    got = run([row("a", rank)], examples(), codec=CODEC, out=tmp_path)
    assert got.summary()["rows"][0]["failed"] == 0
    assert f"process {os.getpid()}" in caught[0]
    assert run([row("a", rank)], examples(), codec=CODEC, out=tmp_path).resumed == 12


def test_another_process_refuses_while_one_runs_and_disturbs_nothing(tmp_path: Path) -> None:
    folder, go = tmp_path / "r", tmp_path / "go"
    script = textwrap.dedent(
        """
        import pathlib, sys, time
        sys.path.insert(0, {tests!r})
        from made_runs import CODEC, examples, row
        from abduce.eval.runs.runner import run

        def rank(n):
            while not pathlib.Path({go!r}).exists():
                time.sleep(0.01)
            return 1

        run([row("a", rank)], examples(), codec=CODEC, out={out!r}, concurrency=2)
        """
    ).format(tests=str(Path(made_runs.__file__).parent), go=str(go), out=str(folder))
    first = subprocess.Popen([sys.executable, "-c", script])
    while first.poll() is None and not (folder / "rows" / "a.log").exists():
        time.sleep(0.01)
    second = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    with pytest.raises(InputError, match=f"another run is writing here .process {first.pid} on "):
        run([row("a")], examples(), codec=CODEC, out=folder)
    go.touch()
    assert first.wait() == 0
    assert second.returncode == 1
    assert f"process {first.pid}" in second.stderr
    assert Run.load(folder).summary()["rows"][0]["n"] == 12


def test_a_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom abduce.eval.runs.folder import RunFolder\n"
        "with RunFolder(sys.argv[1]).locked():\n    os.kill(os.getpid(), 9)\n"
    )
    dead = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert dead.returncode == -signal.SIGKILL
    assert (tmp_path / ".lock").exists()
    assert run([row("a")], examples(), codec=CODEC, out=tmp_path).summary()["rows"][0]["n"] == 12


@pytest.mark.parametrize("tail", [b'{"id": "e1', b"\x00\x00\x00", b'{"id": "e1", "ran\n', b"[1]\n"])
def test_a_bad_last_line_is_cut_off_and_its_example_done_again(tmp_path: Path, tail: bytes) -> None:
    run([row("a")], examples(), codec=CODEC, out=tmp_path)
    path = tmp_path / "rows" / "a.log"
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + tail)
    calls: list[int] = []
    notes: list[str] = []
    run([row("a", calls=calls)], examples(), codec=CODEC, out=tmp_path, on_note=notes.append)
    assert calls == [11]
    assert "half-written" in notes[0]
    assert path.read_bytes().splitlines()[:-1] == whole.splitlines()[:-1]


def test_a_header_cut_short_starts_the_file_again(tmp_path: Path) -> None:
    run([row("a")], examples(), codec=CODEC, out=tmp_path)
    path = tmp_path / "rows" / "a.log"
    path.write_bytes(path.read_bytes()[:20])
    assert run([row("a")], examples(), codec=CODEC, out=tmp_path).resumed == 0
    assert run([row("a")], examples(), codec=CODEC, out=tmp_path).resumed == 12


def test_damage_in_the_middle_names_file_and_line_and_changes_nothing(tmp_path: Path) -> None:
    run([row("a")], examples(), codec=CODEC, out=tmp_path)
    path = tmp_path / "rows" / "a.log"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], b"\x00rubbish\n", *lines[5:]]))
    before = path.read_bytes()
    for attempt in (
        lambda: run([row("a")], examples(), codec=CODEC, out=tmp_path),
        lambda: Run.load(tmp_path),
    ):
        with pytest.raises(InputError, match=r"rows/a\.log:5: is damaged"):
            attempt()
    assert path.read_bytes() == before
    path.write_bytes(b"".join([*lines[:4], *lines[5:]]))
    assert run([row("a")], examples(), codec=CODEC, out=tmp_path).resumed == 11


@pytest.mark.parametrize("record", [{"id": "e3"}, {"id": "e3", "seed": 0, "x": 5}])
def test_a_record_without_its_fields_is_one_clear_line(tmp_path: Path, record: dict[str, Any]) -> None:
    run([row("a")], examples(), codec=CODEC, out=tmp_path)
    path = tmp_path / "rows" / "a.log"
    lines = path.read_bytes().splitlines(keepends=True)
    if "x" in record:
        record["x"] = json.loads(lines[4].partition(b"\t")[0])["x"]
    path.write_bytes(b"".join([*lines[:4], runlog.write_line(record), *lines[5:]]))
    with pytest.raises(InputError, match=r"a\.log: holds a record this version cannot read"):
        run([row("a")], examples(), codec=CODEC, out=tmp_path)


@pytest.mark.parametrize("file", ["run.json", "examples.jsonl", "rows/a.log", "ids"])
def test_any_changed_bit_is_found(tmp_path: Path, file: str) -> None:
    run([row("a")], examples(), codec=CODEC, out=tmp_path, ids=["r1", "right", "other"])
    right = Run.load(tmp_path).summary()
    path = next(tmp_path.glob("ids-*")) if file == "ids" else tmp_path / file
    whole = path.read_bytes()
    for place in range(3, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        names._read.cache_clear()
        try:
            got = Run.load(tmp_path, CODEC).summary()
        except InputError:
            continue
        # Only the end of a row may be passed over, as half-written: a line, two if their newline is hit.
        assert got == right or (file == "rows/a.log" and got["rows"][0]["n"] in (10, 11))
    path.write_bytes(whole)
    names._read.cache_clear()
    assert Run.load(tmp_path, CODEC).summary() == right


def test_a_folder_of_the_first_format_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "run.json").write_text('{"format": 1, "abduce": "0.0.9", "rows": []}')
    (tmp_path / "rows" / "a.log").write_text('{"format":1,"key":"k"}\n{"id":"e1"}\n')
    for attempt in (
        lambda: run([row("a")], examples(), codec=CODEC, out=tmp_path),
        lambda: Run.load(tmp_path),
        lambda: runlog.RunLog(tmp_path / "rows" / "a.log", {"format": 2, "key": "k"}),
    ):
        with pytest.raises(InputError, match=r"is of format 1 .* choose another folder"):
            attempt()
    assert (tmp_path / "rows" / "a.log").read_text().count("\n") == 2


@pytest.mark.parametrize("file", ["run.json", "rows/a.log"])
def test_a_folder_of_another_version_is_refused_untouched(tmp_path: Path, file: str) -> None:
    run([row("a")], examples(), codec=CODEC, out=tmp_path)
    path = tmp_path / file
    other = path.read_bytes().replace(b'"format":2', b'"format":99').replace(b'"format": 2', b'"format": 99')
    assert other != path.read_bytes()
    path.write_bytes(other)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"is of format 99 .* choose another folder"):
        run([row("a")], examples(), codec=CODEC, out=tmp_path)
    assert path.read_bytes() == before
    with pytest.raises(InputError, match="is of format 99"):
        Run.load(tmp_path)


def test_what_is_no_run_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no run\.json"):
        Run.load(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(InputError, match=r"run\.json:1: is not JSON"):
        Run.load(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"):
        run([row("a")], examples(), codec=CODEC, out=tmp_path / "file")
    with pytest.raises(InputError, match="a part of the path is a file"):
        run([row("a")], examples(), codec=CODEC, out=tmp_path / "file" / "below")


def test_a_read_only_folder_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o555)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    try:
        with pytest.raises(InputError, match="cannot be written: permission denied"):
            run([row("a")], examples(), codec=CODEC, out=tmp_path)
    finally:
        tmp_path.chmod(0o755)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("concurrency", ["1", "3"])
def test_a_full_disk_keeps_what_was_finished(tmp_path: Path, concurrency: str) -> None:
    """The size limit of files makes a write stop in the middle, as a full disk does."""
    script = textwrap.dedent(
        """
        import resource, sys
        sys.path.insert(0, {tests!r})
        from made_runs import CODEC, examples, row
        from abduce.eval.runs.runner import run
        from abduce.retrievers.errors import InputError
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
        try:
            run([row("a")], examples(12), codec=CODEC, out={out!r}, concurrency=int(sys.argv[1]))
        except InputError as e:
            sys.exit(str(e))
        """
    ).format(tests=str(Path(made_runs.__file__).parent), out=str(tmp_path))
    path = tmp_path / "rows" / "a.log"
    run([row("a")], examples(12), codec=CODEC, out=tmp_path)
    size = path.stat().st_size
    path.unlink()
    limited = script.replace("4000", str(size * 2 // 3))
    got = subprocess.run(
        [sys.executable, "-c", limited, concurrency], check=False, capture_output=True, text=True
    )
    assert got.returncode == 1
    assert (
        "a.log: cannot be written: the file has reached the size limit; what was finished is kept"
        in got.stderr
    )
    assert runlog.read_line(path.read_bytes().splitlines(keepends=True)[-1]) is not None
    finished = path.read_bytes().count(b"\n") - 1
    again = run([row("a")], examples(12), codec=CODEC, out=tmp_path)
    assert 0 < finished == again.resumed < 12
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != size * 2 // 3


def test_no_space_left_cuts_the_line_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows").mkdir()
    log = runlog.RunLog(tmp_path / "rows" / "a.log", {"format": 2, "key": "k"})
    log.append(line := runlog.write_line({"id": 1}))
    real = os.write

    def full(fd: int, data: Any) -> int:
        if len(data) > 4:
            return real(fd, bytes(data)[:4])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(InputError, match="the disk is full; what was finished is kept"):
        log.append(b'{"id":2}')
    log.close()
    assert (tmp_path / "rows" / "a.log").read_bytes() == runlog.header_line({"format": 2, "key": "k"}) + line


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"rows": "none"}, "rows"),
        ({"rows": [{"row": 7}]}, r"rows\.0"),
        ({"measures": [1]}, "measures"),
        ({"experiment": None}, "experiment"),
    ],
)
def test_a_run_file_that_is_sealed_and_wrong_is_one_line(tmp_path: Path, change: dict, why: str) -> None:
    run([row("a")], examples(), codec=CODEC, out=tmp_path)
    folder = RunFolder(tmp_path)
    contents = folder.manifest()
    assert contents is not None
    folder.write_manifest(contents | change)
    with pytest.raises(InputError, match=why):
        Run.load(tmp_path)


def test_a_run_file_names_no_path_outside(tmp_path: Path) -> None:
    got = run([row("a")], examples(), codec=CODEC, out=tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    contents = folder.manifest()
    assert contents is not None
    contents["rows"][0]["file"] = "../../elsewhere.log"
    folder.write_manifest(contents)
    assert Run.load(tmp_path / "run").summary() == got.summary()
