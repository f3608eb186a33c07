"""Inverted lists with BM25 weights, which come from an index of bm25s."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from .tokenize import Tokenizer, WordTokenizer

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TokenLists:
    """N lists of token numbers: list ``i`` is ``tokens[starts[i]:starts[i + 1]]``."""

    tokens: Ints
    starts: Longs

    @classmethod
    def of(cls, texts: Iterable[str], tokenizer: Tokenizer, vocabulary: defaultdict[str, int]) -> TokenLists:
        """Tokenise texts, numbering tokens; of a list, only what it holds counts, not the order."""
        if isinstance(tokenizer, WordTokenizer):
            runs: defaultdict[str, int] = defaultdict()
            runs.default_factory = runs.__len__
            lists = _numbered(texts, tokenizer.runs, runs)
            pieces = [tuple(vocabulary[t] for part in tokenizer.pieces(run) for t in part) for run in runs]
            return lists.replaced(cls.from_lists(pieces))
        return _numbered(texts, tokenizer, vocabulary)

    @classmethod
    def from_lists(cls, lists: Sequence[Sequence[int]]) -> TokenLists:
        starts = _starts([len(x) for x in lists])
        return cls(np.fromiter(chain.from_iterable(lists), dtype=np.int32, count=int(starts[-1])), starts)

    def replaced(self, by: TokenLists) -> TokenLists:
        """Each number replaced by the list at that position of ``by``."""
        spread = by.take(self.tokens.astype(np.int64))
        return TokenLists(spread.tokens, spread.starts[self.starts])

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, rows: Longs) -> TokenLists:
        """The lists of these rows."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = _starts(lengths)
        places = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], lengths)
        return TokenLists(self.tokens[places], starts)

    def prefixed(self, heads: TokenLists) -> TokenLists:
        """List ``i`` of ``heads`` in front of list ``i``; order inside a list does not matter here."""
        lengths = np.diff(self.starts) + np.diff(heads.starts)
        owners = np.concatenate([heads.owners(), self.owners()])
        order = np.argsort(owners, kind="stable")
        starts = _starts(lengths)
        return TokenLists(np.concatenate([heads.tokens, self.tokens])[order], starts)

    def owners(self) -> Longs:
        """The list of each token."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.starts))


def _starts(lengths: npt.ArrayLike) -> Longs:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])


def _numbered(
    texts: Iterable[str], tokenizer: Callable[[str], list[str]], vocabulary: defaultdict[str, int]
) -> TokenLists:
    blocks: list[Ints] = []
    lengths: list[int] = []
    block: list[int] = []
    for text in texts:
        tokens = tokenizer(text)
        block.extend(map(vocabulary.__getitem__, tokens))
        lengths.append(len(tokens))
        if len(block) > 1_000_000:
            blocks.append(np.array(block, dtype=np.int32))
            block = []
    blocks.append(np.array(block, dtype=np.int32))
    return TokenLists(np.concatenate(blocks), _starts(lengths))


@dataclass(frozen=True)
class Postings:
    """One searchable set of documents, by token.

    ``indices[indptr[t]:indptr[t + 1]]`` are the documents with token ``t``, and ``weights`` their BM25
    weights, all above 0. ``label_indices[label_indptr[t]:label_indptr[t + 1]]`` are the documents with ``t``
    in the label. ``rows`` are the documents' positions in the collection, ascending, so a lower document
    number is a lower id. ``label_lengths`` count distinct label tokens.
    """

    rows: Longs
    indptr: Longs
    indices: Ints
    weights: Floats
    label_indptr: Longs
    label_indices: Ints
    label_lengths: Ints

    @classmethod
    def build(
        cls, rows: Longs, documents: TokenLists, labels: TokenLists, n_tokens: int, k1: float, b: float
    ) -> Postings:
        """Index the documents at the positions ``rows``.

        Args:
            rows: positions of the N documents, ascending.
            documents: N token lists (repeats count).
            labels: N token lists, taken as sets.
            n_tokens: size of the vocabulary.
            k1, b: BM25's constants.
        """
        n = len(rows)
        label_pairs = np.unique(labels.tokens * np.int64(n) + labels.owners())
        indptr, indices, weights = _weighted(documents, n_tokens, k1, b)
        return cls(
            rows,
            indptr,
            indices,
            weights,
            _starts(np.bincount(label_pairs // n, minlength=n_tokens)),
            (label_pairs % n).astype(np.int32),
            np.bincount(label_pairs % n, minlength=n).astype(np.int32),
        )

    def sound(self, items: int) -> bool:
        """Whether the arrays fit together, so that compiled code can trust them.

        Args:
            items: the size of the collection; ``rows`` are positions in it.
        """
        n = len(self.label_lengths)
        lists = (self.indptr, self.indices), (self.label_indptr, self.label_indices)
        if len(self.rows) != n or len(self.weights) != len(self.indices):
            return False
        if not all(_fit(starts, documents, n) for starts, documents in lists):
            return False
        ascending = n == 0 or (self.rows[0] >= 0 and self.rows[-1] < items and (np.diff(self.rows) > 0).all())
        usable = (self.weights > 0).all() and np.isfinite(self.weights).all()
        counted = np.array_equal(self.label_lengths, np.bincount(self.label_indices, minlength=n))
        return bool(ascending and usable and counted)


def _fit(starts: Longs, documents: Ints, n: int) -> bool:
    """Whether the lists cover ``documents`` in sequence, with all entries below ``n``."""
    if len(starts) == 0 or starts[0] != 0 or starts[-1] != len(documents) or (np.diff(starts) < 0).any():
        return False
    return len(documents) == 0 or bool(documents.min() >= 0 and documents.max() < n)


def _weighted(documents: TokenLists, n_tokens: int, k1: float, b: float) -> tuple[Longs, Ints, Floats]:
    """Starts, documents and BM25 weights (Lucene's idf and saturation) of every token's list."""
    import bm25s

    if not len(documents.tokens):
        return np.zeros(n_tokens + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0)
    lists = [part.tolist() for part in np.split(documents.tokens, documents.starts[1:-1])]
    model = bm25s.BM25(k1=k1, b=b, method="lucene", idf_method="lucene", dtype="float64", int_dtype="int32")
    vocabulary = {token: token for token in range(n_tokens)}
    model.index((lists, vocabulary), create_empty_token=False, show_progress=False)
    starts, indices, weights = (np.asarray(model.scores[name]) for name in ("indptr", "indices", "data"))
    starts = starts.astype(np.int64)
    if not (weights > 0).all():  # an extreme k1: such a posting says nothing
        kept = weights > 0
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept)])[starts]
        indices, weights = indices[kept], weights[kept]
    return starts, indices.astype(np.int32), np.ascontiguousarray(weights, dtype=np.float64)
