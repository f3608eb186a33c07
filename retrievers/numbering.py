"""Queries to token numbers; the tokens of each run of characters are cached."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from .tokenize import Tokenizer, WordTokenizer

_KEPT = 200_000
_LONGEST = 64


class QueryNumbers:
    """A tokenizer with a vocabulary.

    Args:
        tokenizer: the tokenizer of queries and documents.
        vocabulary: known tokens and their numbers.
    """

    def __init__(self, tokenizer: Tokenizer, vocabulary: Mapping[str, int]) -> None:
        self._tokenizer, self._vocabulary = tokenizer, vocabulary
        self._runs = _Runs(tokenizer, vocabulary) if isinstance(tokenizer, WordTokenizer) else None

    def distinct(self, query: str) -> tuple[list[int], int]:
        """The numbers of the distinct known tokens, ascending; and the count of distinct tokens."""
        if self._runs is None:
            tokens: set[int | str] = {self._vocabulary.get(t, t) for t in self._tokenizer(query)}
        else:
            runs = set(self._runs.tokenizer.runs(query))
            tokens = set(chain.from_iterable(map(self._runs.__getitem__, runs)))
        return sorted(t for t in tokens if t.__class__ is int), len(tokens)

    def repeated(self, query: str) -> tuple[list[int], int]:
        """The same with every occurrence of a known token."""
        tokens = self._tokenizer(query)
        return sorted(self._vocabulary[t] for t in tokens if t in self._vocabulary), len(set(tokens))


class _Runs(dict[str, tuple[int | str, ...]]):
    """Runs with their tokens: the number of a known token, or an unknown token itself."""

    def __init__(self, tokenizer: WordTokenizer, vocabulary: Mapping[str, int]) -> None:
        super().__init__()
        self.tokenizer, self._vocabulary = tokenizer, vocabulary

    def __missing__(self, run: str) -> tuple[int | str, ...]:
        tokens = tuple(self._vocabulary.get(t, t) for t in chain(*self.tokenizer.pieces(run)))
        if len(run) <= _LONGEST and len(self) < _KEPT:  # a megabyte without a space is not kept
            self[run] = tokens
        return tokens
