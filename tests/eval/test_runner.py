import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from abduce.eval import runlog
from abduce.eval.metrics import RANKING_MEASURES, score_ranking
from abduce.eval.results import Run
from abduce.eval.rows import Example, Progress, Row, fingerprint
from abduce.eval.runner import run
from abduce.retrievers.errors import InputError


class ListCodec:
    """A prediction is a list of ids."""

    name = "list"
    measures = RANKING_MEASURES

    def encode(self, prediction: Any) -> dict[str, Any]:
        return {
            "ranking": {"ids": prediction, "scores": np.arange(len(prediction), 0, -1.0)},
            "cost": {"llm_calls": 2},
        }

    def score(self, record: Mapping[str, Any], gold: Any) -> dict[str, float]:
        return score_ranking(record["ranking"]["ids"], gold)


CODEC = ListCodec()


def examples(n: int = 12) -> list[Example]:
    return [
        Example(f"e{i}", {"n": i}, f"g{i}", f"c{i % 4}", {"kind": "odd" if i % 2 else "even"})
        for i in range(n)
    ]


def row(
    name: str, rank: Callable[[int], int] = lambda n: n % 3 + 1, calls: list[int] | None = None, **more: Any
) -> Row:
    """A row that puts the gold id at ``rank(n)`` and notes each call."""

    def build(seed: int) -> Callable[..., list[str]]:
        def program(n: int) -> list[str]:
            if calls is not None:
                calls.append(n)
            place = rank(n)
            return [f"x{i}" for i in range(1, place)] + [f"g{n}"]

        return program

    return Row(name, build, **more)


def failing(bad: set[int], calls: list[int] | None = None, **more: Any) -> Row:
    def rank(n: int) -> int:
        if n in bad:
            raise RuntimeError(f"no reply\nfor {n}")
        return 1

    return row("shaky", rank, calls, **more)


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("concurrency", [1, 4])
def test_values_by_hand(concurrency: int) -> None:
    got = run([row("a")], examples(), codec=CODEC, concurrency=concurrency)
    [summary] = got.summary()["rows"]
    assert (summary["row"], summary["n"], summary["failed"]) == ("a", 12, 0)
    assert summary["R@1"] == pytest.approx(1 / 3)
    assert summary["R@10"] == 1
    assert summary["MRR"] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert summary["cost"] == {"llm_calls": 2}
    low, high = summary["intervals"]["R@1"]
    assert low <= summary["R@1"] <= high


def test_the_folder_holds_what_a_report_needs(tmp_path: Path) -> None:
    got = run(
        [row("a: b/c", reference={"MRR": 0.5}), failing({3})], examples(), codec=CODEC, out=tmp_path,
        experiment="exp", data="toy", resolved="x = 1\n", baseline="shaky",
    )  # fmt: skip
    assert json.loads(text(tmp_path / "summary.json")) == got.summary()
    assert text(tmp_path / "resolved.toml") == "x = 1\n"
    [failure] = map(json.loads, text(tmp_path / "failures.jsonl").splitlines())
    assert (failure["row"], failure["id"], failure["seed"], failure["type"]) == (
        "shaky",
        "e3",
        0,
        "RuntimeError",
    )
    assert failure["message"] == "no reply for 3"
    assert failure["at"].startswith("eval/test_runner.py:")
    for loaded in (Run.load(tmp_path), Run.load(tmp_path, CODEC)):
        assert loaded.summary() == got.summary()
        assert loaded.baseline == "shaky"
        assert str(loaded.table()) == str(got.table())
    record = next(iter(got.records("a: b/c")))
    assert {"id", "seed", "x", "status", "metrics", "seconds", "ranking", "cost"} == set(record)
    assert record["ranking"] == {"ids": ["g0"], "scores": [1.0]}


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_failure_counts_as_wrong_and_stops_nothing(tmp_path: Path, concurrency: int) -> None:
    got = run([failing({1, 2, 5}), row("fine")], examples(), codec=CODEC, concurrency=concurrency)
    shaky, fine = got.summary()["rows"]
    assert (shaky["n"], shaky["failed"], shaky["R@1"], shaky["MRR"]) == (12, 3, 0.75, 0.75)
    assert (fine["n"], fine["failed"]) == (12, 0)
    assert "| shaky | 12 | 3 |" in str(got.table())
    everything = run([failing(set(range(12)))], examples(), codec=CODEC).summary()["rows"][0]
    assert (everything["n"], everything["failed"], everything["R@1"]) == (12, 12, 0)


def test_text_that_utf8_cannot_hold_is_kept_as_far_as_it_can_be(tmp_path: Path) -> None:
    class Talking(ListCodec):
        def encode(self, prediction: Any) -> dict[str, Any]:
            return super().encode(prediction) | {
                "trace": {"raw": ["half \ud83d of a pair"], 3: np.float64(0.1)}
            }

    def rank(n: int) -> int:
        if n == 1:
            raise ValueError("bad \udc00 text")
        return 1

    run([row("a", rank)], examples(3), codec=Talking(), out=tmp_path)
    loaded = Run.load(tmp_path)
    assert loaded.summary()["rows"][0]["failed"] == 1
    first = next(iter(loaded.records("a")))
    assert first["trace"] == {"raw": ["half ? of a pair"], "3": 0.1}
    assert json.loads(text(tmp_path / "failures.jsonl"))["message"] == "bad ? text"


def test_a_codec_that_raises_is_a_failure_too() -> None:
    class Broken(ListCodec):
        def score(self, record: Mapping[str, Any], gold: Any) -> dict[str, float]:
            raise KeyError("ids")

    assert run([row("a")], examples(), codec=Broken()).summary()["rows"][0]["failed"] == 12


def test_finished_work_is_not_done_twice(tmp_path: Path) -> None:
    calls: list[int] = []
    first = run([row("a", calls=calls)], examples(8), codec=CODEC, out=tmp_path)
    assert len(calls) == 8
    second = run([row("a", calls=calls)], examples(12), codec=CODEC, out=tmp_path)
    assert calls[8:] == [8, 9, 10, 11]
    assert (first.resumed, second.resumed) == (0, 8)
    fresh = run([row("a")], examples(12), codec=CODEC, out=tmp_path / "fresh")
    assert second.summary() == fresh.summary()
    assert run([row("a", calls=calls)], examples(5), codec=CODEC, out=tmp_path).summary()["rows"][0]["n"] == 5
    assert len(calls) == 12


def test_failures_are_kept_and_retried_on_demand(tmp_path: Path) -> None:
    calls: list[int] = []
    run([failing({1, 2}, calls)], examples(), codec=CODEC, out=tmp_path)
    again = run([failing(set(), calls)], examples(), codec=CODEC, out=tmp_path)
    assert len(calls) == 12
    assert again.summary()["rows"][0]["failed"] == 2
    retried = run([failing({2}, calls)], examples(), codec=CODEC, out=tmp_path, retry_failed=True)
    assert calls[12:] == [1, 2]
    assert retried.summary()["rows"][0]["failed"] == 1
    assert [json.loads(x)["id"] for x in text(tmp_path / "failures.jsonl").splitlines()] == ["e2"]
    run([failing(set(), calls)], examples(), codec=CODEC, out=tmp_path, retry_failed=True)
    assert not (tmp_path / "failures.jsonl").exists()
    assert Run.load(tmp_path).summary()["rows"][0]["R@1"] == 1


@pytest.mark.parametrize(
    "change",
    [
        {"settings": {"beta": 0.6}},
        {"prompts": "v2"},
        {"model": {"id": "m", "temperature": 0}},
        {"code": "abc"},
    ],
)
def test_any_changed_part_of_the_key_starts_afresh_and_keeps_the_old(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    calls: list[int] = []
    notes: list[str] = []
    old = run([row("a", calls=calls)], examples(), codec=CODEC, out=tmp_path)
    new = run(
        [row("a", lambda n: 2, calls, **change)], examples(), codec=CODEC, out=tmp_path, on_note=notes.append
    )
    assert len(calls) == 24
    assert new.summary()["rows"][0]["R@1"] == 0
    assert len(notes) == 1
    assert next(iter(change)) in notes[0]
    back = run([row("a", calls=calls)], examples(), codec=CODEC, out=tmp_path)
    assert len(calls) == 24
    assert back.summary() == old.summary()


def test_shared_data_and_each_example_are_part_of_the_key(tmp_path: Path) -> None:
    calls: list[int] = []
    run([row("a", calls=calls)], examples(), codec=CODEC, out=tmp_path, fingerprint="taxonomy 1")
    run([row("a", calls=calls)], examples(), codec=CODEC, out=tmp_path, fingerprint="taxonomy 2")
    assert len(calls) == 24
    changed = [*examples()[:-1], Example("e11", {"n": 11}, "another gold", "c3")]
    got = run([row("a", calls=calls)], changed, codec=CODEC, out=tmp_path, fingerprint="taxonomy 2")
    assert calls[24:] == [11]
    assert got.summary()["rows"][0]["n"] == 12
    assert got.to_pandas().set_index("id").loc["e11", "MRR"] == 0


def test_key_order_does_not_matter_but_values_do() -> None:
    one, two = row("a", settings={"x": 1, "y": (1, 2)}), row("a", settings={"y": (1, 2), "x": 1})
    assert one.key("") == two.key("") != row("a", settings={"x": 1, "y": (2, 1)}).key("")
    with pytest.raises(TypeError, match="object"):
        fingerprint({"x": object()})


def test_resumed_records_are_scored_anew(tmp_path: Path) -> None:
    class Stricter(ListCodec):
        def score(self, record: Mapping[str, Any], gold: Any) -> dict[str, float]:
            return {"R@1": 0.0}

    run([row("a")], examples(6), codec=CODEC, out=tmp_path)
    got = run([row("a")], examples(12), codec=Stricter(), out=tmp_path)
    assert got.summary()["rows"][0]["R@1"] == 0


def test_seeds_are_reported_together(tmp_path: Path) -> None:
    def build(seed: int) -> Callable[..., list[str]]:
        return lambda n: [f"g{n}"] if n < 4 * (seed + 1) else ["wrong"]

    rows = [Row("sampled", build, seeds=(0, 1, 2))]
    got = run(rows, examples(), codec=CODEC, out=tmp_path)
    [summary] = got.summary()["rows"]
    assert (summary["n"], summary["R@1"], summary["seeds"]) == (12, pytest.approx(2 / 3), [0, 1, 2])
    assert summary["sd"]["R@1"] == pytest.approx(1 / 3)
    assert ".667±.333" in str(got.table())
    assert len(got.to_pandas()) == 36
    calls: list[int] = []
    more = [Row("sampled", lambda s: lambda n: calls.append(n) or [], seeds=(0, 3))]
    assert run(more, examples(), codec=CODEC, out=tmp_path).resumed == 12
    assert len(calls) == 12


def test_programs_are_built_once_a_seed_and_only_for_work(tmp_path: Path) -> None:
    built: list[int] = []

    def build(seed: int) -> Callable[..., list[str]]:
        built.append(seed)
        return lambda n: []

    rows = [Row("a", build, seeds=(5, 6))]
    run(rows, examples(), codec=CODEC, out=tmp_path, concurrency=4)
    run(rows, examples(), codec=CODEC, out=tmp_path)
    assert built == [5, 6]


def test_only_an_oracle_sees_gold() -> None:
    oracle = Row("oracle", lambda s: lambda n, gold: [gold], takes_gold=True)
    assert run([oracle], examples(), codec=CODEC).summary()["rows"][0]["R@1"] == 1
    blind = Row("blind", lambda s: lambda n, gold: [gold])
    assert run([blind], examples(), codec=CODEC).summary()["rows"][0]["failed"] == 12


def test_progress_ends_complete() -> None:
    seen: list[Progress] = []
    run([row("a"), failing({0})], examples(), codec=CODEC, on_progress=seen.append, concurrency=2)
    assert (seen[0].done, seen[0].total, seen[0].rows) == (0, 24, 2)
    last = seen[-1]
    assert (last.done, last.rows_done, last.failed, last.calls) == (24, 2, 1, 2 * 23)
    assert [p.done for p in seen] == list(range(25))


def test_concurrency_is_bounded_and_real() -> None:
    running = most = 0
    import threading

    guard, started = threading.Lock(), threading.Semaphore(0)

    def program(n: int) -> list[str]:
        nonlocal running, most
        with guard:
            running += 1
            most = max(most, running)
        started.release()
        if n == 0:
            for _ in range(3):
                assert started.acquire(timeout=20)
        with guard:
            running -= 1
        return []

    got = run([Row("a", lambda s: program)], examples(), codec=CODEC, concurrency=3)
    assert got.summary()["rows"][0]["failed"] == 0
    assert most <= 3


@pytest.mark.parametrize("keep", [True, False])
def test_in_memory_records(keep: bool) -> None:
    got = run([row("a")], examples(), codec=CODEC, keep=keep)
    if keep:
        assert [r["id"] for r in got.records("a")] == [e.id for e in examples()]
    else:
        with pytest.raises(InputError, match="keep=True"):
            got.records("a")


SCRIPT = """
    import itertools, sys, time
    sys.path.insert(0, {tests!r})
    from test_runner import CODEC, examples, failing, row
    from abduce.eval.runner import run

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
        tests=str(Path(__file__).parent), log=str(log), out=str(tmp_path / "r")
    )
    command = [sys.executable, "-c", script, concurrency]
    rows = tmp_path / "r" / "rows" / "a.jsonl"
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
    written = [json.loads(x) for x in rows.read_text().splitlines()[1:]]
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
        from test_runner import CODEC, examples, row
        from abduce.eval.runner import run

        def rank(n):
            while not pathlib.Path({go!r}).exists():
                time.sleep(0.01)
            return 1

        run([row("a", rank)], examples(), codec=CODEC, out={out!r}, concurrency=2)
        """
    ).format(tests=str(Path(__file__).parent), go=str(go), out=str(folder))
    first = subprocess.Popen([sys.executable, "-c", script])
    while first.poll() is None and not (folder / "rows" / "a.jsonl").exists():
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
        "import os, sys\nfrom abduce.eval.runfolder import RunFolder\n"
        "with RunFolder(sys.argv[1]).locked():\n    os.kill(os.getpid(), 9)\n"
    )
    dead = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert dead.returncode == -signal.SIGKILL
    assert (tmp_path / ".lock").exists()
    assert run([row("a")], examples(), codec=CODEC, out=tmp_path).summary()["rows"][0]["n"] == 12


@pytest.mark.parametrize("tail", [b'{"id": "e1', b"\x00\x00\x00", b'{"id": "e1", "ran\n', b"[1]\n"])
def test_a_bad_last_line_is_cut_off_and_its_example_done_again(tmp_path: Path, tail: bytes) -> None:
    run([row("a")], examples(), codec=CODEC, out=tmp_path)
    path = tmp_path / "rows" / "a.jsonl"
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
    path = tmp_path / "rows" / "a.jsonl"
    path.write_bytes(path.read_bytes()[:20])
    assert run([row("a")], examples(), codec=CODEC, out=tmp_path).resumed == 0
    assert run([row("a")], examples(), codec=CODEC, out=tmp_path).resumed == 12


def test_damage_in_the_middle_names_file_and_line_and_changes_nothing(tmp_path: Path) -> None:
    run([row("a")], examples(), codec=CODEC, out=tmp_path)
    path = tmp_path / "rows" / "a.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], b"\x00rubbish\n", *lines[5:]]))
    before = path.read_bytes()
    for attempt in (
        lambda: run([row("a")], examples(), codec=CODEC, out=tmp_path),
        lambda: Run.load(tmp_path),
    ):
        with pytest.raises(InputError, match=r"rows/a\.jsonl:5: is damaged"):
            attempt()
    assert path.read_bytes() == before
    path.write_bytes(b"".join([*lines[:4], *lines[5:]]))
    assert run([row("a")], examples(), codec=CODEC, out=tmp_path).resumed == 11


@pytest.mark.parametrize("record", [b'{"id": "e3"}\n', b'{"id": "e3", "seed": 0, "x": 5}\n'])
def test_a_record_without_its_fields_is_one_clear_line(tmp_path: Path, record: bytes) -> None:
    run([row("a")], examples(), codec=CODEC, out=tmp_path)
    path = tmp_path / "rows" / "a.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    if b"x" in record:
        record = record.replace(b"5", json.dumps(json.loads(lines[4])["x"]).encode())
    path.write_bytes(b"".join([*lines[:4], record, *lines[5:]]))
    with pytest.raises(InputError, match=r"a\.jsonl: holds a record this version cannot read"):
        run([row("a")], examples(), codec=CODEC, out=tmp_path)


@pytest.mark.parametrize("file", ["run.json", "rows/a.jsonl"])
def test_a_folder_of_another_version_is_refused_untouched(tmp_path: Path, file: str) -> None:
    run([row("a")], examples(), codec=CODEC, out=tmp_path)
    path = tmp_path / file
    path.write_text(text(path).replace('"format":1', '"format":99').replace('"format": 1', '"format": 99'))
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
        from test_runner import CODEC, examples, row
        from abduce.eval.runner import run
        from abduce.retrievers.errors import InputError
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
        try:
            run([row("a")], examples(12), codec=CODEC, out={out!r}, concurrency=int(sys.argv[1]))
        except InputError as e:
            sys.exit(str(e))
        """
    ).format(tests=str(Path(__file__).parent), out=str(tmp_path))
    path = tmp_path / "rows" / "a.jsonl"
    run([row("a")], examples(12), codec=CODEC, out=tmp_path)
    size = path.stat().st_size
    path.unlink()
    limited = script.replace("4000", str(size * 2 // 3))
    got = subprocess.run(
        [sys.executable, "-c", limited, concurrency], check=False, capture_output=True, text=True
    )
    assert got.returncode == 1
    assert (
        "a.jsonl: cannot be written: the file has reached the size limit; what was finished is kept"
        in got.stderr
    )
    assert path.read_bytes().endswith(b"}\n")
    finished = path.read_bytes().count(b"\n") - 1
    again = run([row("a")], examples(12), codec=CODEC, out=tmp_path)
    assert 0 < finished == again.resumed < 12
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != size * 2 // 3


def test_no_space_left_cuts_the_line_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = runlog.RunLog(tmp_path / "a.jsonl", {"format": 1, "key": "k"})
    log.append(b'{"id":1}\n')
    real = os.write

    def full(fd: int, data: Any) -> int:
        if len(data) > 4:
            return real(fd, bytes(data)[:4])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(InputError, match="the disk is full; what was finished is kept"):
        log.append(b'{"id":2}')
    log.close()
    assert (tmp_path / "a.jsonl").read_bytes() == b'{"format":1,"key":"k"}\n{"id":1}\n'


@pytest.mark.parametrize(
    ("rows", "n", "more", "complaint"),
    [
        ([], 3, {}, "no rows"),
        ([row("a")], 0, {}, "no examples"),
        ([row("a"), row("a")], 3, {}, "the row 'a' is there twice"),
        ([row("FHS"), row("fhs")], 3, {}, "row file"),
        ([row("a")], 3, {"concurrency": 0}, "at least 1"),
        ([row("a")], 3, {"baseline": "b"}, "'b' is none of the rows a"),
        ([row("a", seeds=())], 3, {}, "at least one seed"),
        ([row("a", seeds=(1, 1))], 3, {}, "none twice"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_is_written(
    tmp_path: Path, rows: list[Row], n: int, more: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        run(rows, examples(n), codec=CODEC, out=tmp_path / "out", **more)
    assert not (tmp_path / "out").exists()


def test_an_id_twice_is_refused() -> None:
    with pytest.raises(InputError, match="example 'e0' is there twice"):
        run([row("a")], [*examples(2), examples(1)[0]], codec=CODEC)


def test_names_that_differ_only_in_signs_have_files_of_their_own(tmp_path: Path) -> None:
    rows = [row("- q1", lambda n: 1), row("+ q1", lambda n: 2), row("q1", lambda n: 3)]
    run(rows, examples(), codec=CODEC, out=tmp_path)
    assert [r["MRR"] for r in Run.load(tmp_path).summary()["rows"]] == pytest.approx([1, 1 / 2, 1 / 3])
