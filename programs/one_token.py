"""The shared selector in one token per round: lettered candidates, ranked by the first token's probabilities.

A row of abduce's own, after the single-token listwise rerankers (FIRST). It takes the place of the listwise
selector of :mod:`.select`, whose guarantee it shares: no id is lost or added.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from ..retrievers.base import Ranking
from ..signatures.dimensions import DimensionSchema
from ..signatures.replies import LETTERS, Letter
from ..signatures.select import letter_signature
from .adapter import StrictJSON
from .base import Program
from .calls import ask_about
from .logprobs import Measured, Measuring
from .select import SELECTED, Selector, promote
from .trace import Trace

STEP = 10
"""How many places the window of 20 moves up between rounds: each round keeps the better half of the last."""

_LETTER = re.compile(rf"[\s\"'(\[*]*([{LETTERS[0]}-{LETTERS[-1]}])(?![A-Za-z])")


class LetterAdapter(StrictJSON):
    """Asks for one letter in plain text, without a schema, and reads it."""

    def _shape(self, signature: type[dspy.Signature]) -> Any:
        parts = (f"- {name}: {f.json_schema_extra['desc']}" for name, f in signature.input_fields.items())
        return replace(
            super()._shape(signature),
            system="\n".join([signature.instructions, "", "The input has these parts:", *parts]),
            requirement="Respond with one letter and nothing else.",
        )

    def _prepare_response_format(
        self, lm: dspy.BaseLM, lm_kwargs: dict[str, Any], signature: type[dspy.Signature]
    ) -> None:
        return

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """The letter that the reply begins with.

        Raises:
            AdapterParseError: it begins with none.
        """
        found = _LETTER.match(completion)
        if found is None:
            raise AdapterParseError(
                adapter_name="LetterAdapter",
                signature=signature,
                lm_response=completion,
                message="the reply does not begin with one of the letters",
            )
        return {"answer": Letter(letter=found[1])}


@lru_cache(maxsize=1)
def _adapter() -> LetterAdapter:
    return LetterAdapter()


class Lettered(Measuring):
    """A predictor that is asked for one token, with its alternatives."""

    async def aforward(self, config: Mapping[str, Any] | None = None, **inputs: Any) -> Any:
        """See :class:`Measuring`."""
        with dspy.context(adapter=_adapter()):
            return await super().aforward(config={**(config or {}), "max_tokens": 1}, **inputs)


class OneTokenSelector(Selector):
    """A program, then rounds of at most 20 candidates from the end of its ranking to the top.

    Each round shows a window of candidates with letters and orders it by the probabilities of the letters at
    the first token of the reply; letters that are no alternative keep their order behind. The window then
    moves up by ten places. The 20 concepts of the last round stand on top. Without log-probabilities the
    letter that was said stands first, and it is counted (``selector_no_logprobs``). A round whose call
    fails leaves its window as it is, and is counted (``selector_failed``).

    Args:
        program, schema, prompts: as for :class:`~abduce.programs.select.Selector`.
    """

    def __init__(
        self, program: Program, schema: DimensionSchema | None = None, prompts: str = "default"
    ) -> None:
        super().__init__(program, schema, prompts)
        self.select = dspy.Predict(letter_signature(self.schema, prompts))

    async def _reorder(self, fact: Any, ranking: Ranking, trace: Trace) -> Ranking:
        ids = list(ranking.ids)
        answered = 0
        with trace.timed("select"):
            for index, start in enumerate(window_starts(len(ids))):
                window = ids[start : start + SELECTED]
                order = await self._round(fact, window, index, trace)
                if order is not None:
                    answered += 1
                    ids[start : start + SELECTED] = [window[i] for i in order]
        if ids and not answered:
            return ranking
        trace.selected = ids[:SELECTED]
        return promote(ranking, trace.selected)

    async def _round(self, fact: Any, window: Sequence[str], index: int, trace: Trace) -> list[int] | None:
        """The places of a window in their new order; None where the call failed."""
        found: Measured | None = await ask_about(
            Lettered(self.select),
            trace,
            "selector",
            fact,
            self.program.serializer,
            index=index,
            inputs={"candidates": self.program.candidates.show(window, marks=LETTERS)},
        )
        if found is None or LETTERS.index(found.answer.letter) >= len(window):
            trace.count("selector_failed")
            return None
        letters = LETTERS[: len(window)]
        chances = found.tokens[0].chances(letters, fold=False) if found.tokens else {}
        if not any(chances.values()):
            trace.count("selector_no_logprobs")
            chances = {letter: float(letter == found.answer.letter) for letter in letters}
        return sorted(range(len(window)), key=lambda i: -chances[letters[i]])


def window_starts(n: int) -> list[int]:
    """Where the windows over a list of ``n`` begin, from its end to its top; none of an empty list."""
    if n == 0:
        return []
    last = max(0, n - SELECTED)
    return [*range(last, 0, -STEP), 0]
