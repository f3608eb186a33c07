"""Index folders: memory-mapped arrays, and a manifest with the hash of each.

A folder holds one ``.npy`` file per array (texts are a byte array and an offset array) and ``manifest.json``:
format version, kind, parameters, hashes of tokenizer and corpus, and each file's size and SHA-256, with a
seal over the manifest itself. Nothing is pickled. A folder is written under a temporary name next to the
target and then renamed. It never changes afterwards, so many readers may share it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, JsonValue, NonNegativeInt, ValidationError

from ..signatures.outside import Unreadable, open_regular
from .collection import COLUMNS, Collection, RecordColumns, columns_hash
from .columns import TextColumn, is_utf8
from .corpus import Corpus
from .errors import InputError
from .outside import read_json
from .taxonomy import Taxonomy

FORMAT = "abduce-index"
VERSIONS: Mapping[str, int] = {"bm25": 2, "dense": 1, "precedents": 1, "learned": 1}
"""The format version of each kind of index."""
MANIFEST = "manifest.json"
INTEGERS = "uint8 uint16 uint32 int32 int64"
"""The types of numbers and places."""
_KINDS: dict[str, type[Collection[Any]]] = {"taxonomy": Taxonomy, "corpus": Corpus}


@dataclass(frozen=True)
class Stored:
    """An opened index folder: its manifest and its arrays, mapped read-only."""

    folder: Path
    manifest: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]]

    def take(
        self,
        name: str,
        dtype: str = INTEGERS,
        shape: tuple[int | None, ...] = (None,),
        *,
        below: int | None = None,
        rising: bool = False,
    ) -> npt.NDArray[Any]:
        """An array, after the checks that compiled code and look-ups rely on.

        Args:
            name: the array's name.
            dtype: the names of the allowed types.
            shape: its shape; None: any length.
            below: all numbers are at least 0 and below this.
            rising: no number is smaller than the one before it.

        Raises:
            InputError: it is missing, or a check fails; floating-point numbers must be finite.
        """
        array = self.arrays.get(name)
        if array is None:
            raise self._wrong(name, "is missing")
        if array.dtype.name not in dtype.split() or not array.dtype.isnative:
            raise self._wrong(name, f"is of type {array.dtype.name}, not {dtype.replace(' ', ' or ')}")
        if array.ndim != len(shape) or any(
            w not in (None, n) for w, n in zip(shape, array.shape, strict=False)
        ):
            wanted = tuple("any" if w is None else w for w in shape)
            raise self._wrong(name, f"is of shape {array.shape}, not {wanted}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise self._wrong(name, "has numbers that are not finite")
        if below is not None and array.size and not (array.min() >= 0 and array.max() < below):
            raise self._wrong(name, f"has numbers that are not from 0 to {below - 1}")
        if rising and (array[1:] < array[:-1]).any():
            raise self._wrong(name, "is not in ascending order")
        return array

    def _wrong(self, name: str, problem: str) -> InputError:
        return InputError(f"{problem}; build the index again", file=self.folder / f"{name}.npy")

    def texts(self, name: str, length: int | None = None) -> TextColumn:
        """Texts stored with their offsets; ``length``: the required number."""
        shape = (None if length is None else length + 1,)
        return self._column(name, self.take(f"{name}.offsets", "int64", shape, rising=True))

    def measured_texts(self, name: str) -> TextColumn:
        """Texts stored with their lengths."""
        lengths = self.take(f"{name}.lengths", below=1 << 40)
        return self._column(name, np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))))

    def _column(self, name: str, offsets: npt.NDArray[np.int64]) -> TextColumn:
        data = self.take(f"{name}.data", "uint8")
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(data):
            raise self._wrong(name, "its texts do not lie one after the other")
        inside = offsets[offsets < len(data)]
        if (data[inside] & 0xC0 == 0x80).any() or not is_utf8(data):
            raise self._wrong(name, "its texts are not UTF-8")
        return TextColumn(data, offsets)

    def collection(self) -> Collection[Any]:
        """The stored taxonomy or corpus; its items are read on access."""
        about = self.manifest["collection"]
        columns = RecordColumns(*(self.texts(name, about["count"]) for name in COLUMNS))
        made: Collection[Any] = _KINDS[about["kind"]].from_columns(
            columns, about["name"], about["indexed"], about["datatypes"]
        )
        return made

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.manifest["parameters"])


class Writer:
    """Collects the arrays of a folder during writing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: dict[str, Any] = {}
        self._files: dict[str, dict[str, Any]] = {}

    def array(self, name: str, values: npt.NDArray[Any]) -> None:
        path = self.folder / f"{name}.npy"
        np.save(path, np.ascontiguousarray(values), allow_pickle=False)
        self._enter(path)

    def texts(self, name: str, column: TextColumn) -> None:
        self.array(f"{name}.data", column.data)
        self.array(f"{name}.offsets", column.offsets)

    def collection(self, collection: Collection[Any]) -> None:
        """Store the items and their identity; the corpus hash covers every field."""
        columns = collection.columns()
        for name in COLUMNS:
            self.texts(name, getattr(columns, name))
        self.manifest["collection"] = {
            "kind": collection.kind,
            "name": collection.name,
            "indexed": list(collection.indexed),
            "count": len(collection),
            "datatypes": dict(collection.datatypes),
            "hash": columns_hash(columns),
        }

    def _enter(self, path: Path) -> None:
        self._files[path.name] = {"bytes": path.stat().st_size, "sha256": file_hash(path)}

    def finish(self, kind: str, parameters: Mapping[str, Any]) -> None:
        about = {"format": FORMAT, "version": VERSIONS[kind], "kind": kind}
        manifest: dict[str, Any] = {**about, "parameters": dict(parameters)}
        manifest |= self.manifest | {"files": self._files}
        manifest["seal"] = _seal(manifest)
        (self.folder / MANIFEST).write_text(
            json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", "utf-8"
        )


@contextmanager
def writing(folder: str | Path, overwrite: bool = False) -> Iterator[Writer]:
    """Write an index folder, as a whole or not at all.

    Args:
        folder: the target folder.
        overwrite: replace an existing index; anything else is never replaced.

    Raises:
        InputError: the folder exists or cannot be written.
    """
    folder = Path(os.path.realpath(folder))  # a link stays
    if folder.exists():
        if not overwrite:
            raise InputError("exists already; give another folder, or overwrite it", file=folder)
        if not (folder / MANIFEST).is_file() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError("is not an index, so it is not overwritten", file=folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as e:
        raise InputError(f"may not be written ({e.strerror})", file=folder) from e
    try:
        yield Writer(temporary)
        temporary.chmod(0o755)
        if folder.exists():
            aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
            os.rename(folder, aside / "index")
            os.rename(temporary, folder)
            shutil.rmtree(aside)
        else:
            os.rename(temporary, folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """The manifest of an index folder, checked against its seal.

    Raises:
        InputError: no index, a newer format, or a changed manifest.
    """
    folder = Path(folder)
    path = folder / MANIFEST
    if not os.path.lexists(path):
        raise InputError("is not an index folder (it has no manifest.json)", file=folder)
    try:
        manifest = read_json(path)
    except InputError as e:
        raise InputError(f"{e}: the manifest is damaged; build the index again") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError("is not the manifest of an abduce index", file=path)
    version, known = manifest.get("version"), VERSIONS.get(str(manifest.get("kind")))
    if known is None:
        raise InputError(f"is of kind {manifest.get('kind')!r}, which this abduce does not read", file=path)
    if not isinstance(version, int) or version != known:
        newer = isinstance(version, int) and version > known
        advice = "update abduce" if newer else "build the index again"
        raise InputError(f"has format version {version!r}, this abduce reads {known}; {advice}", file=path)
    if manifest.get("seal") != _seal(manifest):
        raise InputError("the manifest was changed after it was written; build the index again", file=path)
    try:
        _Manifest.model_validate(manifest)
    except ValidationError as e:
        raise InputError.of_validation(e, file=path) from None
    return manifest


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class _File(_Table):
    bytes: NonNegativeInt
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Collection(_Table):
    kind: Literal["taxonomy", "corpus"]
    name: str
    indexed: list[str]
    count: NonNegativeInt
    datatypes: dict[str, NonNegativeInt]
    hash: str


class _Tokenizer(_Table):
    name: str | None
    hash: str


class _Segment(_Table):
    datatype: str | None
    documents: NonNegativeInt
    postings: NonNegativeInt
    label_postings: NonNegativeInt


_FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.]{0,200}\.npy$")]


class _Manifest(_Table):
    """The content of ``manifest.json``; the parameters depend on the kind."""

    format: str
    version: int
    kind: str
    parameters: dict[str, JsonValue]
    collection: _Collection
    files: dict[_FileName, _File]
    tokenizer: _Tokenizer | None = None
    segments: list[_Segment] = Field(default=[])
    seal: str


@contextmanager
def trusting(folder: str | Path) -> Iterator[None]:
    """Turn a missing or wrong part of a manifest into one clear line.

    Raises:
        InputError: where a look-up or a conversion inside fails.
    """
    try:
        yield
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError) as e:
        raise InputError(
            f"the manifest is not one of its kind ({type(e).__name__}: {e}); build the index again",
            file=Path(folder) / MANIFEST,
        ) from e


def open_index(folder: str | Path, kind: str | None = None) -> Stored:
    """Open an index folder: check version, size and hash of every file, then map the arrays.

    Args:
        folder: an index folder.
        kind: the required kind (``bm25``, ``dense``), or None for any.

    Raises:
        InputError: not an index, another kind, newer, truncated, or changed; names the file.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    if kind is not None and manifest["kind"] != kind:
        raise InputError(f"is an index of kind {manifest['kind']!r}, not {kind!r}", file=folder)
    with ThreadPoolExecutor(2) as pool:
        for problem in pool.map(lambda entry: _problem(folder, *entry), manifest["files"].items()):
            if problem is not None:
                raise problem
    arrays = {
        name.removesuffix(".npy"): _mapped(folder / name)
        for name in manifest["files"]
        if name.endswith(".npy")
    }
    return Stored(folder, manifest, arrays)


def verify(folder: str | Path) -> list[InputError]:
    """Every problem of an index folder; an empty list if it is valid.

    Raises:
        InputError: there is no readable manifest.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    found = [_problem(folder, name, about) for name, about in manifest["files"].items()]
    strangers = {p.name for p in folder.iterdir()} - set(manifest["files"]) - {MANIFEST}
    problems = [p for p in found if p is not None]
    return problems + [
        InputError("is not part of the index", file=folder / name) for name in sorted(strangers)
    ]


def file_hash(path: Path) -> str:
    with open_regular(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _seal(manifest: Mapping[str, Any]) -> str:
    rest = {k: v for k, v in manifest.items() if k != "seal"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _problem(folder: Path, name: str, about: Mapping[str, Any]) -> InputError | None:
    path = folder / name
    try:
        size = path.stat().st_size
        if size != about["bytes"]:
            return InputError(f"has {size} bytes, not {about['bytes']}; build the index again", file=path)
        if file_hash(path) != about["sha256"]:
            return InputError("does not match its hash; build the index again", file=path)
    except Unreadable as e:
        return InputError(str(e), file=path)
    except OSError as e:
        return InputError(f"cannot be read ({e.strerror})", file=path)
    return None


def _mapped(path: Path) -> npt.NDArray[Any]:
    """An array of numbers, mapped.

    Raises:
        InputError: it has another form (objects, records, a packed file), or is larger than the file.
    """
    try:
        with open_regular(path) as stream:
            if np.lib.format.read_magic(stream) != (1, 0):
                raise ValueError("another version of the format")
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        if dtype.kind not in "iuf":
            raise ValueError(f"of type {dtype}")
        if 0 in shape:  # an empty array cannot be mapped
            return np.zeros(shape, dtype)
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, TypeError, OverflowError, EOFError, SyntaxError) as e:
        raise InputError(f"is no array of numbers ({e})", file=path) from e
    return array.view(np.ndarray)
