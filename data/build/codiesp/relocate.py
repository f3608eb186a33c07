"""Locate the English words of a Spanish mention by one model call and an exact-substring check."""

from __future__ import annotations

from dataclasses import dataclass

import dspy
from dspy.utils.exceptions import ContextWindowExceededError

from ....programs.calls import ask
from ....programs.running import Part
from ....programs.trace import Trace
from ....signatures.relocate import Relocated, relocator_signature
from .align import Span
from .archive import Annotation
from .project import AlignedCase, Relocation

DROPPED = {
    "parse": "the model's reply did not parse",
    "empty": "the model found no translation",
    "substring": "the model's words are not in the text",
    "context": "the text is too long for the model",
}
"""Why a relocation by model is dropped."""


@dataclass(frozen=True)
class Attempt:
    """A relocation, or the reason (a value of :data:`DROPPED`) why there is none."""

    relocation: Relocation | None
    reason: str = ""


class Relocator(Part):
    """One call per mention; an answer counts only if it is in the text exactly.

    The answer is searched for in the aligned sentences first, then in the whole document. Of several places,
    the nearest to the mention's relative position in the Spanish text is used. (The paper gives no rule;
    translations keep the order of the original.)

    Args:
        prompts: prompt set with the table ``[relocator]``.
    """

    def __init__(self, prompts: str = "clinical") -> None:
        super().__init__()
        self.predict = dspy.Predict(relocator_signature(prompts))

    async def aforward(self, case: AlignedCase, annotation: Annotation) -> dspy.Prediction:
        """``dspy.Prediction`` with ``attempt`` and ``trace``."""
        trace = Trace()
        text = case.case.text_en
        lines = [case.en[j] for j in case.aligned(annotation.spans)]
        try:
            answer: Relocated | None = await ask(
                self.predict,
                trace,
                "relocator",
                document=text,
                aligned_sentences="\n".join(text[a:b] for a, b in lines) or "none",
                spanish_sentence=case.sentence_es(annotation.spans),
                spanish_mention=annotation.mention_es,
            )
        except ContextWindowExceededError:
            return dspy.Prediction(attempt=Attempt(None, DROPPED["context"]), trace=trace)
        return dspy.Prediction(attempt=self.check(case, annotation, lines, answer), trace=trace)

    @staticmethod
    def check(
        case: AlignedCase, annotation: Annotation, lines: list[Span], answer: Relocated | None
    ) -> Attempt:
        """The exact-substring check of an answer."""
        if answer is None:
            return Attempt(None, DROPPED["parse"])
        words = answer.mention.strip()
        if not words:
            return Attempt(None, DROPPED["empty"])
        text, expected = case.case.text_en, case.expected(annotation.spans)
        for scope, spans in (("aligned_sentence", lines), ("document", [(0, len(text))])):
            places = [p for a, b in spans for p in _occurrences(text, words, a, b)]
            if places:
                start = min(places, key=lambda p: (abs(p - expected), p))
                return Attempt(Relocation(start, start + len(words), scope))
        return Attempt(None, DROPPED["substring"])


def _occurrences(text: str, words: str, start: int, end: int) -> list[int]:
    """The occurrences of the words between two offsets, not inside longer words."""
    found: list[int] = []
    at = text.find(words, start, end)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(words) : at + len(words) + 1]
        if not (_joins(before, words[0]) or _joins(words[-1], after)):
            found.append(at)
        at = text.find(words, at + 1, end)
    return found


def _joins(a: str, b: str) -> bool:
    return bool(a) and bool(b) and a.isalnum() and b.isalnum()
