"""Which sentences of a context bear on which option: found by words, or named by a model and checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...signatures.options import Choices
from ...signatures.sentences import sentences
from ...signatures.tokenize import tok_set
from ...signatures.types import Question
from ..trace import Trace
from .context import Evidence, PassageLike, Passages

Stance = Literal["for", "against"]

_AGAINST = re.compile(
    r"\b(?:not|no|never|neither|nor|without|cannot|unlike|unlikely|rarely|except|contraindicated|excludes?|excluded|"
    r"rules? out|ruled out|rather than|instead of|absent|avoid(?:ed)?)\b|n't\b",
    re.IGNORECASE,
)
SHARE = 0.6
"""Of an option of more than four words, so many must stand in a sentence; of a shorter one all."""
LONGEST = 300
"""Characters of a sentence that are shown: a glossary is one sentence of thousands."""
PER_OPTION = 3
"""Sentences of one option at most."""


@dataclass(frozen=True)
class Statement:
    """One sentence of a context that bears on an option.

    ``document`` is the passage's number in the context, from 1. ``by`` says who found it: ``model``, which
    was asked for it, or ``words``, a rule; the rule's ``against`` means no more than a negation in the
    sentence.
    """

    document: int
    stance: Stance
    sentence: str
    by: Literal["model", "words"]


def by_words(
    question: Question, context: Sequence[Evidence], passages: Passages
) -> dict[str, list[Statement]]:
    """For each option the sentences that name it, those that share most words with the question first.

    Of one passage the best sentence counts. In a passage whose title names the option whole, that is the
    sentence that shares most words with the question. Of a long sentence the part is taken that holds most of
    the option's words.

    Args:
        question: with its options.
        context: in the order of its numbers.
        passages: texts by id.

    Returns:
        By key, at most three statements; an empty list where no sentence names the option.
    """
    wanted = {key: tok_set(text) for key, text in question.options.items()}
    stem = tok_set(question.text)
    best: dict[str, list[tuple[float, int, str]]] = {key: [] for key in wanted}
    for number, item in enumerate(context, 1):
        passage = passages[item.id]
        title = tok_set(passage.title)
        found: dict[str, tuple[float, str]] = {}
        for sentence in sentences(passage.content):
            held = tok_set(sentence)
            shared = len(held & stem) / len(stem) if stem else 0.0
            for key, tokens in wanted.items():
                if not tokens:
                    continue
                covered = 1.0 if shared and tokens <= title else len(tokens & held) / len(tokens)
                if covered < (SHARE if len(tokens) > 4 else 1.0):
                    continue
                score = covered + shared
                if key not in found or score > found[key][0]:
                    found[key] = score, _part(sentence, tokens, stem)
        for key, (score, sentence) in found.items():
            best[key].append((-score, number, sentence))
    return {
        key: [
            Statement(number, "against" if _AGAINST.search(sentence) else "for", sentence, "words")
            for _, number, sentence in sorted(places)[:PER_OPTION]
        ]
        for key, places in best.items()
    }


def nearest(text: str, question: str) -> str:
    """The sentence of a passage that shares most words with a question, the first of equals; at most 300
    characters of it."""
    stem = tok_set(question)
    own = sentences(text)
    if not own:
        return ""
    best = max(own, key=lambda sentence: len(tok_set(sentence) & stem))
    return _part(best, stem, stem)


def _part(sentence: str, tokens: frozenset[str], stem: frozenset[str]) -> str:
    """At most 300 characters of a sentence: those with most of the option's words, then of the stem's."""
    if len(sentence) <= LONGEST:
        return sentence
    starts = [m.start() for m in re.finditer(r"\S+", sentence)]
    best, part = (-1, -1), ""
    for start in starts:
        if not tok_set(sentence[start:].split(" ", 1)[0]) & tokens:
            continue
        cut = sentence[start : start + LONGEST - 8].rsplit(" ", 1)[0]
        held = tok_set(cut)
        if (score := (len(held & tokens), len(held & stem))) > best:
            best, part = score, f"{'... ' if start else ''}{cut} ..."
    return part or f"{sentence[: LONGEST - 4].rsplit(' ', 1)[0]} ..."


def checked(
    cited: Iterable[Any], choices: Choices, context: Sequence[Evidence], passages: Passages, trace: Trace
) -> dict[str, list[Statement]]:
    """What a model cited, by option; only documents of the context and sentences that stand in them.

    A number that no document has, or an option that is none, is dropped (``invented_citations``). A sentence
    that is not in its document word for word is replaced by the one of that document that shares most of its
    words; where it shares less than half, it is dropped (``unfound_sentences``).

    Args:
        cited: each with ``option``, ``document``, ``stance`` and ``sentence``.
        choices: the options under letters.
        context: in the order of its numbers.
        passages: texts by id.
        trace: gets the counters.
    """
    found: dict[str, list[Statement]] = {}
    for one in cited:
        key = choices.key(one.option)
        if key is None or not 1 <= one.document <= len(context):
            trace.count("invented_citations")
            continue
        sentence = _in(passages[context[one.document - 1].id], one.sentence)
        if sentence is None:
            trace.count("unfound_sentences")
            continue
        statement = Statement(one.document, one.stance, sentence, "model")
        if statement not in found.setdefault(key, []):
            found[key].append(statement)
    return {key: statements[:PER_OPTION] for key, statements in found.items()}


def _in(passage: PassageLike, quoted: str) -> str | None:
    """The sentence of a passage that a quotation is."""
    plain, own = " ".join(quoted.casefold().split()).strip(" .\"'"), sentences(passage.content)
    for sentence in own:
        if plain and plain in sentence.casefold():
            return sentence
    words = tok_set(quoted)
    shares = [(len(words & tok_set(s)) / len(words), -i) for i, s in enumerate(own)] if words else []
    share, place = max(shares, default=(0.0, 0))
    return own[-place] if share >= 0.5 else None


def numbers_in(reasoning: str) -> list[int]:
    """The document numbers that a reasoning names in square brackets (``[3]``, ``[1, 4]``), ascending."""
    lists = re.findall(r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]", reasoning)
    return sorted({int(n) for part in lists for n in re.split(r"\s*[,;]\s*", part)})


def support_of(statements: Mapping[str, Sequence[Statement]], key: str) -> int:
    """Sentences for an option minus those against it."""
    found = statements.get(key, ())
    return sum(s.stance == "for" for s in found) - sum(s.stance == "against" for s in found)
