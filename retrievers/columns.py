"""Texts as one block of bytes with offsets, so that an inventory of a million entries opens at once."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .lazy import Lazy


def is_utf8(data: npt.NDArray[np.uint8]) -> bool:
    """Whether all bytes are valid UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), _PIECE):
            decoder.decode(data[start : start + _PIECE].tobytes())
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


_PIECE = 1 << 20


class TextColumn(Lazy[str]):
    """N texts in UTF-8, concatenated; a text is decoded on access.

    Args:
        data: the bytes, ``uint8`` (may be a memory map).
        offsets: the start of each text and the end of the last, ``int64`` of shape (N + 1,).
    """

    def __init__(self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> None:
        self.data = data
        self.offsets = offsets

    @classmethod
    def of(cls, texts: Iterable[str]) -> TextColumn:
        """A column of these texts; a lone surrogate is written as ``?``."""
        pieces = [text.encode("utf-8", "replace") for text in texts]
        offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
        np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
        return cls(np.frombuffer(b"".join(pieces), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def made(self, place: int) -> str:
        return self._bytes(place).decode()

    def __iter__(self) -> Iterator[str]:
        data = self.data.tobytes()
        bounds = self.offsets.tolist()
        for start, end in pairwise(bounds):
            yield data[start:end].decode()

    def find(self, text: str) -> int | None:
        """The position of a text in an ascending column, or None.

        UTF-8 keeps the order of code points, so bytes are compared.
        """
        wanted = text.encode("utf-8", "replace")
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._bytes(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self._bytes(low) == wanted else None

    def _bytes(self, place: int) -> bytes:
        return self.data[int(self.offsets[place]) : int(self.offsets[place + 1])].tobytes()
