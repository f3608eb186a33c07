"""The model call of the CodiEsp preparation: where the translation says a mention."""

from __future__ import annotations

from functools import lru_cache

import dspy
from pydantic import Field

from .prompting import build_signature
from .replies import FactReply

INPUTS = {
    "document": "the whole English translation",
    "aligned_sentences": "the English sentences that translate the sentence of the mention",
    "spanish_sentence": "the Spanish sentence of the mention",
    "spanish_mention": "the marked Spanish words",
}


class Relocated(FactReply):
    """The words of the translation, copied; empty where it does not contain the mention."""

    mention: str = Field(default="", max_length=400)


@lru_cache(maxsize=4)
def relocator_signature(prompts: str = "clinical") -> type[dspy.Signature]:
    """A Spanish mention in its sentence, and the translation, to the words that translate it.

    Args:
        prompts: name or path of a prompt set with the table ``[relocator]``.
    """
    return build_signature("relocator", INPUTS, Relocated, prompts)
