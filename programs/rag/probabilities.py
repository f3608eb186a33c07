"""How probable each option is to the model that answers, by the log-probabilities of its letter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import dspy
from dspy.utils.exceptions import LMInvalidRequestError, LMUnsupportedFeatureError

TOP = 20
"""Alternatives that are asked for at each token."""


class Measured:
    """A reply and its log-probabilities (None where the endpoint gave none); reads like the reply itself."""

    def __init__(self, reply: Any, logprobs: Any) -> None:
        self.reply, self.logprobs = reply, logprobs

    def __getattr__(self, name: str) -> Any:
        return getattr(self.reply, name)


class MeasuredPredict(dspy.Module):
    """A predictor whose answers come with log-probabilities. Where the endpoint refuses the parameter the
    call is made again without it."""

    def __init__(self, predictor: dspy.Predict) -> None:
        super().__init__()
        self.predict = predictor

    @property
    def signature(self) -> Any:
        return self.predict.signature

    def forward(self, config: Mapping[str, Any] | None = None, **inputs: Any) -> dspy.Prediction:
        plain = dict(config or {})
        try:
            reply = self.predict(config=plain | {"logprobs": True, "top_logprobs": TOP}, **inputs)
        except (LMInvalidRequestError, LMUnsupportedFeatureError):
            reply = self.predict(config=plain, **inputs)
        return dspy.Prediction(answer=Measured(reply.answer, getattr(reply, "logprobs", None)))


def option_probabilities(logprobs: Any, letters: Sequence[str]) -> dict[str, float] | None:
    """The probability of each letter at the token that chooses, the last one that is a letter; they sum to 1.

    Spellings of a letter (``B``, `` B``, ``"B``) are added up; a letter that is not among the alternatives
    has probability 0.

    Args:
        logprobs: ``{"content": [{"token", "logprob", "top_logprobs": [{"token", "logprob"}, ...]}, ...]}``,
            or None.
        letters: of the options.

    Returns:
        None where there are no log-probabilities, or no token is a letter.
    """
    if not isinstance(logprobs, Mapping):
        return None
    for entry in reversed(list(logprobs.get("content") or ())):
        if _letter(entry.get("token"), letters) is None or entry.get("logprob") is None:
            continue
        found = {o["token"]: float(o["logprob"]) for o in entry.get("top_logprobs") or ()}
        found.setdefault(entry["token"], float(entry["logprob"]))
        sums = dict.fromkeys(letters, 0.0)
        for token, value in found.items():
            if (letter := _letter(token, letters)) is not None:
                sums[letter] += math.exp(value)
        total = sum(sums.values())
        return {letter: p / total for letter, p in sums.items()} if total > 0 else None
    return None


def _letter(token: Any, letters: Sequence[str]) -> str | None:
    bare = str(token or "").strip(" \t\n\"'.,:{}[]()Ġ▁")
    return bare if bare in letters else None
