import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from abduce.data.example import Example, fingerprint
from abduce.eval.runs.row import Progress, Row
from abduce.eval.runs.run import Run
from abduce.eval.runs.runner import run
from abduce.programs.trace import Trace
from abduce.retrievers.errors import InputError
from made_runs import CODEC, ListCodec, examples, failing, row, text


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
    assert failure["at"].startswith("support/made_runs.py:")
    for loaded in (Run.load(tmp_path), Run.load(tmp_path, CODEC)):
        assert loaded.summary() == got.summary()
        assert loaded.baseline == "shaky"
        assert str(loaded.table()) == str(got.table())
    record = next(iter(got.records("a: b/c")))
    assert {"id", "seed", "x", "began", "status", "metrics", "seconds", "ranking", "cost"} == set(record)
    assert record["ranking"] == {"ids": ["g0"], "scores": [1.0]}


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_failure_counts_as_wrong_and_stops_nothing(tmp_path: Path, concurrency: int) -> None:
    got = run([failing({1, 2, 5}), row("fine")], examples(), codec=CODEC, concurrency=concurrency)
    shaky, fine = got.summary()["rows"]
    assert (shaky["n"], shaky["failed"], shaky["R@1"], shaky["MRR"]) == (12, 3, 0.75, 0.75)
    assert (fine["n"], fine["failed"]) == (12, 0)
    assert "| shaky | 12 | 3 |" in " ".join(str(got.table()).split())
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
    assert json.loads(text(tmp_path / "failures.jsonl"))["message"] == "bad � text"


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


@pytest.mark.parametrize(
    ("rows", "n", "more", "complaint"),
    [
        ([], 3, {}, "no rows"),
        ([row("a")], 0, {}, "no examples"),
        ([row("a"), row("a")], 3, {}, "duplicate row 'a'"),
        ([row("FHS"), row("fhs")], 3, {}, "row file"),
        ([row("a")], 3, {"concurrency": 0}, "at least 1"),
        ([row("a")], 3, {"baseline": "b"}, "'b' is none of the rows a"),
        ([row("a", seeds=())], 3, {}, "at least one seed"),
        ([row("a", seeds=(1, 1))], 3, {}, "no duplicate seed"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_is_written(
    tmp_path: Path, rows: list[Row], n: int, more: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        run(rows, examples(n), codec=CODEC, out=tmp_path / "out", **more)
    assert not (tmp_path / "out").exists()


def test_an_id_twice_is_refused() -> None:
    with pytest.raises(InputError, match="duplicate example 'e0'"):
        run([row("a")], [*examples(2), examples(1)[0]], codec=CODEC)


def test_names_that_differ_only_in_signs_have_files_of_their_own(tmp_path: Path) -> None:
    rows = [row("- q1", lambda n: 1), row("+ q1", lambda n: 2), row("q1", lambda n: 3)]
    run(rows, examples(), codec=CODEC, out=tmp_path)
    assert [r["MRR"] for r in Run.load(tmp_path).summary()["rows"]] == pytest.approx([1, 1 / 2, 1 / 3])


class LosingCodec(ListCodec):
    """Predictions with a trace."""

    def encode(self, prediction: Any) -> dict[str, Any]:
        return super().encode(prediction.ranking)


def losing(lost: set[int], asked: list[int] | None = None) -> Row:
    """Ranks right, but falls back on the examples ``lost``."""

    def rank(n: int) -> SimpleNamespace:
        if asked is not None:
            asked.append(n)
        trace = Trace()
        trace.count("llm_calls")
        if n in lost:
            trace.count("dropped_replies")
        return SimpleNamespace(ranking=[f"g{n}"], trace=trace)

    return Row("losing", lambda seed: rank)


def test_what_fell_back_is_counted_marked_and_asked_again_on_demand(tmp_path: Path) -> None:
    codec, asked = LosingCodec(), list[int]()
    got = run([losing({1, 2})], examples(), codec=codec, out=tmp_path)
    [entry] = got.summary()["rows"]
    assert (entry["failed"], entry["fell_back"]) == (0, 2)
    assert "fell back" in str(got.table())
    assert any(note.startswith("losing: 17% fell back") for note in got.table().notes)
    assert not got.unusable
    assert Run.load(tmp_path).summary() == got.summary()
    again = run([losing({1}, asked)], examples(), codec=codec, out=tmp_path, retry_failed=True)
    assert asked == [1, 2]
    assert again.summary()["rows"][0]["fell_back"] == 1
    assert not any(
        "fell back because" in note for note in again.table().notes
    )  # one of twelve: below a tenth


def test_a_run_in_which_everything_failed_or_fell_back_is_unusable() -> None:
    everything = set(range(12))
    assert run([losing(everything)], examples(), codec=LosingCodec()).unusable
    assert run([failing(everything)], examples(), codec=CODEC).unusable
    assert not run([losing(everything - {0})], examples(), codec=LosingCodec()).unusable
