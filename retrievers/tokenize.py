"""Tokenizers by name: the shared ``tok`` (it lives with the dimensions), the same with stems, and Lucene's
English analysis."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import lru_cache, partial

from ..signatures.letters import fold
from ..signatures.tokenize import FUNCTION_WORDS, Pieces, WordTokenizer, tok, tok_set
from .errors import InputError, MissingExtra

__all__ = [
    "FUNCTION_WORDS",
    "LUCENE_STOP_WORDS",
    "TOKENIZERS",
    "Tokenizer",
    "WordTokenizer",
    "distinct",
    "lucene_porter",
    "tok",
    "tok_set",
    "tokenizer_hash",
    "tokenizer_named",
]

Tokenizer = Callable[[str], list[str]]

LUCENE_STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there "
    "these they this to was will with".split()
)

_LETTERS = r"(?<=[^\W\d_])['’.](?=[^\W\d_])"
_DIGITS = r"(?<=\d)[.,'’](?=\d)"
_LUCENE_WORD = rf"[^\W_]+(?:(?:{_LETTERS}|{_DIGITS})[^\W_]+)*"
_PROBE = (
    "AssetsHeldForSale, us-gaap:IncreaseDecreaseInAccountsPayable; the companies' policies were Amortized "
    "(net of XBRLTaxes) in FY2024: $1,234.5 or 12% with gas, losses, analyses and U.S. GAAP's ASC_842 "
    "Type 2 diabetes mellitus without complications, M54.5; a naïve Señor's Straße ßÉ 漢字 x2y running ponies"
)


def lucene_porter() -> Tokenizer:
    """Words, lower-cased, Lucene's 33 stop words dropped, Porter-stemmed.

    Words end at Unicode's word boundaries: a full stop or apostrophe between letters, or a full stop, comma
    or apostrophe between digits, does not split them. This is close enough to Anserini's English analysis to
    reproduce its published BM25 numbers (``retrieval-scifact``). The stemmer object is not thread-safe, so
    each word is stemmed once under a lock and cached.

    Raises:
        MissingExtra: PyStemmer is not installed.
    """
    stem = _stem("porter")
    words = re.compile(_LUCENE_WORD)

    def pieces(word: str) -> Pieces:
        return (), () if word in LUCENE_STOP_WORDS else (stem(word),)

    return WordTokenizer(lambda text: words.findall(fold(text).lower()), pieces)


def stemmed(language: str = "english") -> Tokenizer:
    """The tokens of ``tok``, each as its stem: ``running`` and ``runs`` are one word.

    Args:
        language: a Snowball stemmer: ``english``, ``german``, ``french`` ...

    Raises:
        MissingExtra: PyStemmer is not installed.
    """
    stem = _stem(language)

    def pieces(run: str) -> Pieces:
        first, second = tok.pieces(run)
        return tuple(map(stem, first)), tuple(map(stem, second))

    return WordTokenizer(tok.runs, pieces)


def _stem(algorithm: str) -> Callable[[str], str]:
    """A stemmer. Its object is not thread-safe, so each word is stemmed once under a lock and cached."""
    try:
        import Stemmer
    except ImportError as e:
        raise MissingExtra("PyStemmer", "stem") from e
    import threading

    stemmer = Stemmer.Stemmer(algorithm)
    lock = threading.Lock()

    @lru_cache(maxsize=500_000)
    def stem(word: str) -> str:
        with lock:
            return str(stemmer.stemWord(word))

    return stem


LANGUAGES = (
    "arabic armenian basque catalan danish dutch english finnish french german greek hindi hungarian "
    "indonesian irish italian lithuanian nepali norwegian portuguese romanian russian serbian spanish "
    "swedish tamil turkish yiddish"
).split()
"""Whose words can be stemmed."""

TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {
    "tok": lambda: tok,
    "lucene-porter": lucene_porter,
    "stem": stemmed,
    **{f"stem-{language}": partial(stemmed, language) for language in LANGUAGES},
}
"""Tokenizers by the name that settings and index manifests use; each value makes one."""


def distinct(tokenizer: Tokenizer, text: str) -> set[str]:
    """The distinct tokens of a text."""
    return tokenizer.distinct(text) if isinstance(tokenizer, WordTokenizer) else set(tokenizer(text))


def tokenizer_named(name: str) -> Tokenizer:
    """The tokenizer with a name.

    Raises:
        InputError: an unknown name; the message lists the known ones.
    """
    if name not in TOKENIZERS:
        raise InputError(
            f"no tokenizer {name!r}; there are {', '.join(sorted(TOKENIZERS))}", field="tokenizer"
        )
    return TOKENIZERS[name]()


def tokenizer_hash(tokenizer: Tokenizer) -> str:
    """A hash of a tokenizer's output for a fixed text, by which an index refuses other tokenizers."""
    tokens = "\x1f".join(tokenizer(_PROBE))
    return hashlib.sha256(tokens.encode()).hexdigest()
