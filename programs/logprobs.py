"""Log-probabilities beside an answer: asked for in the same call, and read at the tokens that decide it."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import dspy
from dspy.utils.exceptions import LMInvalidRequestError, LMUnsupportedFeatureError

from .running import Part, called

TOP = 20
"""Alternatives that are asked for at every token: what common servers give at most."""

_AROUND = " \t\r\n\"'`.,:;*(){}[]Ġ▁"
"""What may stand around a word in its token."""

_BEFORE = re.compile(r"</?think>|```(?:json)?|\[\[ ## \w+ ## \]\]|\s+")
"""What may stand before the JSON of an answer that was not thought about aloud: an empty thought, a code
fence, the field marker of DSPy's chat adapter."""


@dataclass(frozen=True)
class Token:
    """A token of a reply and its alternatives, itself among them, with their log-probabilities."""

    text: str
    options: Mapping[str, float]

    def chances(self, words: Sequence[str], fold: bool = True) -> dict[str, float]:
        """The probability of each word at this token; 0 where it is no alternative.

        Spellings of a word (with a space or a quotation mark, in capitals too where ``fold``) are added up.
        """
        found = dict.fromkeys(words, 0.0)
        for text, value in self.options.items():
            word = bare(text, fold)
            if word in found:
                found[word] += math.exp(value)
        return found


def bare(token: str, fold: bool = True) -> str:
    """A token without what may stand around a word."""
    word = token.strip(_AROUND)
    return word.casefold() if fold else word


@dataclass(frozen=True)
class Measured:
    """A typed answer and the tokens of its reply; None where the endpoint gave no log-probabilities."""

    answer: Any
    tokens: Sequence[Token] | None

    def model_dump_json(self) -> str:
        """The answer alone, as a trace keeps it."""
        written: str = self.answer.model_dump_json()
        return written


class Measuring(Part):
    """A predictor that also asks for log-probabilities; its answer comes as :class:`Measured`.

    An endpoint that refuses the parameter is asked again without it.
    """

    def __init__(self, predictor: dspy.Predict, top: int = TOP) -> None:
        super().__init__()
        self.predictor, self.top = predictor, top

    @property
    def lm(self) -> Any:
        """The predictor's own model."""
        return getattr(self.predictor, "lm", None)

    @property
    def signature(self) -> Any:
        """The predictor's own signature."""
        return self.predictor.signature

    async def aforward(self, config: Mapping[str, Any] | None = None, **inputs: Any) -> Any:
        """The predictor's reply to some inputs; its ``answer`` is a :class:`Measured`."""
        plain = dict(config or {})
        asking = plain | {"logprobs": True, "top_logprobs": self.top}
        try:
            reply = await called(self.predictor, config=asking, **inputs)
        except (LMInvalidRequestError, LMUnsupportedFeatureError):
            reply = await called(self.predictor, config=plain, **inputs)
        return dspy.Prediction(answer=Measured(answer=reply.answer, tokens=tokens_of(reply)))


def tokens_of(reply: Any) -> list[Token] | None:
    """The tokens of a prediction whose reply had log-probabilities; None where it had none."""
    return read_tokens(getattr(reply, "logprobs", None))


def read_tokens(logprobs: Any) -> list[Token] | None:
    """Tokens from ``{"content": [{"token", "logprob", "top_logprobs": [{"token", "logprob"}, ...]}, ...]}``.

    A token without a log-probability has no alternatives. None where there is no such content.
    """
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not content:
        return None
    tokens = []
    for entry in content:
        options = {str(o["token"]): float(o["logprob"]) for o in entry.get("top_logprobs") or ()}
        if entry.get("logprob") is not None:
            options.setdefault(str(entry.get("token")), float(entry["logprob"]))
        tokens.append(Token(str(entry.get("token") or ""), options))
    return tokens


class Unreadable(ValueError):
    """The letters of an answer have no probabilities of their own; ``reason`` is a counter's name."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason.replace("_", " "))
        self.reason = reason


def letter_chances(
    tokens: Sequence[Token] | None, field: str, strings: Sequence[str], letters: str
) -> list[list[tuple[float, ...]]]:
    """The probability of every letter of the strings of a JSON list, renormalised over the allowed letters.

    Args:
        tokens: of the whole reply.
        field: the name of the list in the JSON.
        strings: what the list was read as, each of letters alone.
        letters: the allowed letters.

    Returns:
        For each string, for each of its letters, one probability per allowed letter; they sum to 1.

    Raises:
        Unreadable: ``soft_no_logprobs``; ``soft_thinking``: text stands before the JSON; ``soft_misread``:
            the tokens do not spell the strings; ``soft_split_token``: a letter shares its token with others.
    """
    if tokens is None or not any(t.options for t in tokens):
        raise Unreadable("soft_no_logprobs")
    text = "".join(t.text for t in tokens)
    if _BEFORE.sub("", text.partition("{")[0]):
        raise Unreadable("soft_thinking")
    start = text.rfind(f'"{field}"')
    found = list(re.finditer(r'"([^"]*)"', text[start + len(field) + 2 :]))[: len(strings)]
    if start < 0 or ["".join(m[1].split()).casefold() for m in found] != list(strings):
        raise Unreadable("soft_misread")
    ends = list(accumulate(len(t.text) for t in tokens))
    offset = start + len(field) + 2
    chances = []
    for match in found:
        row = []
        for place, character in enumerate(match[1], offset + match.start(1)):
            if not character.isspace():
                row.append(_at(tokens[bisect_right(ends, place)], letters))
        chances.append(row)
    return chances


def _at(token: Token, letters: str) -> tuple[float, ...]:
    if bare(token.text) not in set(letters):
        raise Unreadable("soft_split_token")
    found = token.chances(letters)
    total = math.fsum(found.values())
    if total <= 0:
        raise Unreadable("soft_no_logprobs")
    return tuple(p / total for p in found.values())
