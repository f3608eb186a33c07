"""Index and model folders that are sealed and hashed as they should be, and made to harm all the same.

Whoever makes a folder can seal it: the hashes tell damage, not intent. Each array of each kind of folder is replaced by
others, each field of its manifest by other values; what opens must answer.
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from abduce.programs.learned import Learned
from abduce.programs.methods import Parts, build_program
from abduce.programs.presets import spec_named
from abduce.retrievers.base import Where
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.errors import InputError
from abduce.retrievers.precedents.index import Precedents
from abduce.retrievers.precedents.stored import open_precedents, write_precedents
from abduce.retrievers.store import MANIFEST, _seal, file_hash
from abduce.retrievers.towers.fit import TowerSettings
from abduce.signatures.dimensions import load_schema
from abduce.tagging.same_filing import filings_of
from abduce.tagging.train import TrainSettings, train
from made_tagged import TAXONOMY, tagged

pytestmark = pytest.mark.hostile

SECONDS = 10.0


class Evil:
    """What a pickle would do."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("/tmp/abduce-was-here",)


def npy(array: Any, pickled: bool = False) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=pickled)
    return stream.getvalue()


def huge() -> bytes:
    data = npy(np.zeros(64, dtype=np.int64))
    return data.replace(b"(64,), ", b"(1<<9,), ".replace(b"1<<9", b"9999999999999999"))


def packed(name: str = "a.npy") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, npy(np.zeros(3)))
    return stream.getvalue()


def others(array: Any) -> Iterator[tuple[str, bytes]]:
    """Arrays to put in the place of one."""
    yield "objects", npy(np.array([Evil()], dtype=object), pickled=True)
    yield "records", npy(np.zeros(array.shape, dtype=[("a", "i4"), ("b", "i4")]))
    yield "texts", npy(np.full(array.shape, "x"))
    yield "complex", npy(array.astype(np.complex64))
    yield "halves", npy(array.astype(np.float64) + 0.5)
    yield "other bytes", npy(array.astype(array.dtype.newbyteorder(">")))
    yield "more axes", npy(array[None, ...])
    yield "no axis", npy(np.zeros((), array.dtype))
    yield "shorter", npy(array[:-1])
    yield "longer", npy(np.concatenate([array, array[-1:]]))
    yield "empty", npy(array[:0])
    yield "backwards", npy(array[::-1])
    info: Any = np.iinfo(array.dtype) if array.dtype.kind in "iu" else np.finfo(array.dtype)
    yield "largest", npy(np.full_like(array, info.max))
    yield "smallest", npy(np.full_like(array, info.min))
    if array.dtype.kind == "f":
        yield "nan", npy(np.full_like(array, np.nan))
        yield "inf", npy(np.full_like(array, np.inf))
    yield "noise", npy(np.random.default_rng(0).permutation(array.ravel()).reshape(array.shape))
    yield "huge", huge()
    yield "packed", packed()
    yield "no header", b"\x93NUMPY\x01\x00\xff\xff{"
    yield "nothing", b""


VALUES: list[Any] = [
    None,
    -1,
    10**30,
    1e308,
    True,
    "x",
    "../../x",
    [],
    {},
    [[1]],
    {"a": {"b": 1}},
    "\x1b[2J\n",
]


@dataclass(frozen=True)
class Kind:
    make: Callable[[Path], None]
    use: Callable[[Path], object]


def settings() -> TrainSettings:
    return TrainSettings(
        towers=TowerSettings(dimensions=16, epochs=2, batch=64, rate=0.05), lines=200, least=1
    )


@cache
def parts() -> Parts:
    retriever = BM25Retriever(TAXONOMY)
    index = Precedents(tagged())
    return Parts(lambda changes: retriever, TAXONOMY, load_schema("us-gaap"), precedents=lambda: index)


def make_bm25(folder: Path) -> None:
    BM25Retriever(TAXONOMY).save(folder)


def use_bm25(folder: Path) -> object:
    found = BM25Retriever.open(folder)
    answers = found.search(["cash on hand", "", "debt"], 5, [None, Where("monetaryItemType"), Where("x")])
    return [str(item) for item in found.collection], [a.ids for a in answers]


def make_precedents(folder: Path) -> None:
    every = tagged()
    write_precedents(Precedents(every), filings_of(every), folder, ("made", "0"), "made facts", "")


def use_precedents(folder: Path) -> object:
    found = open_precedents(folder)
    facts = [one.fact for one in tagged()[:1]]
    stranger = facts[0].model_copy(update={"company": "Nobody", "filing_id": "N", "fact_id": "n"})
    program = build_program(
        spec_named("precedents (others)"),
        replace(parts(), precedents=lambda: found.index),
    )
    return [program(fact=fact).ranking.ids for fact in (*facts, stranger)], [f.name for f in found.filings]


def make_model(folder: Path) -> None:
    given = parts()
    assert given.precedents is not None
    train(tagged(), given.precedents(), given, settings()).save(folder)


def use_model(folder: Path) -> object:
    found = Learned.open(folder)
    try:
        program = build_program(spec_named("trained (others)"), replace(parts(), trained=lambda: found))
    except ValueError as e:  # as the tagger tells it
        raise InputError(str(e)) from e
    return [program(fact=one.fact).ranking.ids for one in tagged()[:2]]


KINDS = {
    "bm25": Kind(make_bm25, use_bm25),
    "precedents": Kind(make_precedents, use_precedents),
    "model": Kind(make_model, use_model),
}


def reseal(
    folder: Path, name: str = "", change: Callable[[dict[str, Any]], Any] = lambda manifest: None
) -> None:
    """Hash a file that stands there, change the manifest, and seal it."""
    manifest = json.loads((folder / MANIFEST).read_text())
    if (path := folder / name).is_file():
        manifest["files"][name] = {"bytes": path.stat().st_size, "sha256": file_hash(path)}
    change(manifest)
    manifest["seal"] = _seal(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest))


def trial(kind: Kind, folder: Path) -> str:
    """What is wrong with how a folder is taken; empty where it answers or is refused in a line."""
    began = time.process_time()
    try:
        kind.use(folder)
    except InputError as e:
        if "\n" in str(e) or "\x1b" in str(e):
            return f"not a line: {e!r}"
    except Exception as e:  # noqa: BLE001 - whatever it is, it is told
        return f"{type(e).__name__}: {e}"
    took = time.process_time() - began
    return f"took {took:.0f} s" if took > SECONDS else ""


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list) and value and len(path) < 4:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in list(items)[:12]:
            yield (*path, key)
            yield from leaves(inner, (*path, key))


def put(manifest: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        manifest = manifest[key]
    manifest[path[-1]] = value


@pytest.fixture(scope="module", params=KINDS)
def sound(request, tmp_path_factory) -> tuple[Kind, Path]:
    folder = tmp_path_factory.mktemp(request.param) / "f"
    kind = KINDS[request.param]
    kind.make(folder)
    kind.use(folder)
    return kind, folder


EACH = 5
"""Of the other arrays, so many are tried for each array of a large folder."""


def test_no_array_does_harm(sound, tmp_path) -> None:
    kind, folder = sound
    wrong, count, place = [], 0, tmp_path / "f"
    shutil.copytree(folder, place)
    manifest = (place / MANIFEST).read_text()
    paths = sorted(place.glob("*.npy"))
    for number, path in enumerate(paths):
        data = path.read_bytes()
        found = [*others(np.load(folder / path.name)), ("missing", None)]
        if len(paths) > 40:
            found = random.Random(number).sample(found, EACH)
        for what, other in found:
            if other is None:
                path.unlink()
                reseal(place, path.name, lambda m, name=path.name: m["files"].pop(name))
            else:
                path.write_bytes(other)
                reseal(place, path.name)
            count += 1
            if said := trial(kind, place):
                wrong.append(f"{path.name}: {what}: {said}")
            (place / MANIFEST).write_text(manifest)
        path.write_bytes(data)
    print(f"\n{count:,} arrays in the place of {len(paths)}: {len(wrong)} wrong")
    assert not os.path.exists("/tmp/abduce-was-here")
    assert not wrong, "\n".join(wrong[:40])


def test_no_manifest_does_harm(sound, tmp_path) -> None:
    kind, folder = sound
    manifest = json.loads((folder / MANIFEST).read_text())
    rng, wrong, count = random.Random(0), [], 0
    place = tmp_path / "f"
    shutil.copytree(folder, place)
    text = (place / MANIFEST).read_text()
    for path in leaves(manifest):
        for value in rng.sample(VALUES, 4):
            (place / MANIFEST).write_text(text)
            reseal(place, "", lambda found, path=path, value=value: put(found, path, value))
            count += 1
            if said := trial(kind, place):
                wrong.append(f"{path} = {value!r}: {said}")
    print(f"\n{count:,} manifests: {len(wrong)} wrong")
    assert not wrong, "\n".join(wrong[:40])
