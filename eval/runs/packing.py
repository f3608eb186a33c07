"""JSON with long lists of ids and numbers, in few bytes.

A list of at least :data:`LONG` ids becomes numbers in a table of names; a list of numbers becomes a column of
small integers; the rest is JSON. Both are compressed together. Whole numbers and texts are exact. **Floats
keep the digits that matter**: a falling column (scores of a ranking) keeps enough for its order and ties, any
other column keeps :data:`DIGITS` significant digits of its largest value. Wrap values with :func:`exactly` to
keep every digit.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

LONG = 8
"""Lists below this length stay JSON."""

DIGITS = 5

_COLUMN = "\x00"
"""The key of what stands for a column in the JSON: ``{"\\x00": [kind, length, bytes per value, ...]}``."""

_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
Ints = npt.NDArray[np.int64]


class Names:
    """The ids that records refer to by number, and their numbers."""

    def __init__(self, ids: Sequence[str] = ()) -> None:
        self.ids = list(ids)
        self.numbers = {id_: i for i, id_ in enumerate(self.ids)}


def exactly(values: Sequence[float]) -> list[str]:
    """Floats as texts that :func:`floats` reads back exactly; few distinct values take few bytes."""
    return [repr(float(v)) for v in values]


def floats(texts: Sequence[str]) -> list[float]:
    """The inverse of :func:`exactly`."""
    return [float(t) for t in texts]


def pack(value: Any, names: Names, dictionary: bytes = b"") -> bytes:
    """A JSON value as bytes.

    Args:
        value: dicts, lists, texts, numbers, None and numpy arrays.
        names: the table of ids.
        dictionary: text that most values share parts of; reading needs the same text.
    """
    columns: list[bytes] = []
    rest = orjson.dumps(_without(value, names, columns), option=_OPTIONS)
    squeezer = zlib.compressobj(zdict=dictionary) if dictionary else zlib.compressobj()
    head = len(rest).to_bytes(4, "little")
    return squeezer.compress(b"".join([head, rest, *columns])) + squeezer.flush()


def unpack(data: bytes, names: Names, dictionary: bytes = b"") -> Any:
    """The inverse of :func:`pack`.

    Raises:
        ValueError: the bytes are invalid.
    """
    opener = zlib.decompressobj(zdict=dictionary) if dictionary else zlib.decompressobj()
    try:
        whole = opener.decompress(data) + opener.flush()
        size = int.from_bytes(whole[:4], "little")
        return _Columns(whole, 4 + size, names).back(orjson.loads(whole[4 : 4 + size]))
    except (zlib.error, orjson.JSONDecodeError, IndexError, TypeError) as e:
        raise ValueError(f"is not a packed record ({e})") from e


def _without(value: Any, names: Names, columns: list[bytes]) -> Any:
    """The value with its long lists moved to ``columns``."""
    if isinstance(value, Mapping):
        inner = {k: _without(v, names, columns) for k, v in value.items()}
        return {_COLUMN: ["o", list(inner.items())]} if _COLUMN in inner else inner
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return value
    if len(value) < LONG:
        return [_without(v, names, columns) for v in value]
    kinds = set(map(type, value))
    if kinds == {str}:
        numbers = [names.numbers.get(v, -1) for v in value]
        return value if min(numbers) < 0 else _ints("n", np.array(numbers, dtype=np.int64), columns)
    if kinds == {int} and max(map(abs, value)) < 2**62:
        return _ints("i", np.array(value, dtype=np.int64), columns)
    if kinds <= {float, int} and float in kinds:
        return _floats(np.array(value, dtype=np.float64), columns)
    return [_without(v, names, columns) for v in value]


def _ints(kind: str, values: Ints, columns: list[bytes], *more: Any) -> dict[str, list[Any]]:
    """A column of whole numbers minus their smallest, byte plane by byte plane."""
    low = int(values.min())
    width = max(1, (int(values.max()) - low).bit_length() + 7 >> 3)
    planes = (values - low).astype("<i8").view(np.uint8).reshape(-1, 8)[:, :width]
    columns.append(planes.T.tobytes())
    return {_COLUMN: [kind, len(values), width, low, *more]}


def _floats(values: npt.NDArray[np.float64], columns: list[bytes]) -> dict[str, list[Any]]:
    largest = float(np.abs(values).max())
    if not math.isfinite(largest) or largest < 1e-200:
        columns.append(values.astype("<f8").tobytes())
        return {_COLUMN: ["f", len(values), 8]}
    steps = -np.diff(values)
    decimals = DIGITS - math.floor(math.log10(largest)) - 1
    if (steps < 0).any():
        return _ints("r", np.rint(values * 10.0**decimals).astype(np.int64), columns, decimals)
    apart = steps > 0
    if apart.any():  # values one unit of the last decimal apart stay apart; some that are nearer do, too
        decimals = max(decimals, math.ceil(-math.log10(float(steps[apart].min()))) - 1)
    for more in (decimals, decimals + 1):
        if largest * 10.0**more > 2**53:
            break
        whole = np.rint(values * 10.0**more).astype(np.int64)
        gaps: Ints = whole[:-1] - whole[1:]
        if ((gaps > 0) == apart).all():
            return _ints("d", gaps, columns, more, int(whole[0]))
    columns.append(values.astype("<f8").tobytes())
    return {_COLUMN: ["f", len(values), 8]}


class _Columns:
    """Columns of a packed value, read in the order in which they were written."""

    def __init__(self, data: bytes, at: int, names: Names) -> None:
        self.data, self.at, self.names = data, at, names

    def back(self, value: Any) -> Any:
        if isinstance(value, dict):
            if _COLUMN in value:
                kind, *about = value[_COLUMN]
                if kind == "o":  # a dict that has that key itself
                    return {k: self.back(v) for k, v in about[0]}
                return self._column(kind, *about)
            return {k: self.back(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.back(v) for v in value]
        return value

    def _column(
        self, kind: str, count: int, width: int, low: int = 0, decimals: int = 0, first: int = 0
    ) -> Any:
        taken = np.frombuffer(self.data, np.uint8, count * width, self.at)
        self.at += count * width
        if kind == "f":
            return taken.view("<f8").tolist()
        wide = np.zeros((count, 8), dtype=np.uint8)
        wide[:, :width] = taken.reshape(width, count).T
        values = wide.view("<i8")[:, 0] + low
        if kind == "n":
            ids = self.names.ids
            return [ids[i] for i in values.tolist()]
        if kind == "i":
            return values.tolist()
        if kind == "d":
            values = first - np.concatenate([[0], np.cumsum(values)])
        return _scaled(values, decimals).tolist()


def _scaled(values: Ints, decimals: int) -> npt.NDArray[np.float64]:
    """Whole numbers over a power of ten: the float nearest to the decimal."""
    if decimals < 0:
        return np.asarray(values * 10.0**-decimals, dtype=np.float64)
    return np.asarray(values / 10.0**decimals, dtype=np.float64)
