"""The shared listwise selector. Not part of any method (paper: C.2)."""

from __future__ import annotations

from typing import Any

import dspy
from dspy.utils.exceptions import ContextWindowExceededError

from ..retrievers.base import Ranking
from ..retrievers.concept_ids import strip_namespace
from ..signatures.dimensions import DimensionSchema
from ..signatures.select import selector_signature
from ..signatures.types import Fact
from .base import Program
from .calls import INSTRUCTION_TOKENS, ask_about
from .running import called
from .serialize import estimated_tokens
from .state import Stateful
from .trace import Trace

SELECTED = 20
"""At most so many concepts are placed above the rest."""

SELECTOR_TOKENS = 30_000
"""Token budget of the selector's prompt."""

DEFINITION_CUTS = (320, 240, 120, 0)
"""Characters of each definition, tried in turn until the prompt fits, by estimate and then by the server."""


class Selector(Stateful):
    """A program, then one model call that may place at most 20 of its concepts on top.

    The prediction's ``ranking`` is the program's, reordered; ``retrieved`` is the program's own, on
    which recall and MRR are measured. Ids that are not in the list are dropped and counted; if the call
    fails the ranking stands, and it is counted.

    Args:
        program: what ranks.
        schema: words of the prompt.
        prompts: name or path of the prompt set.
    """

    def __init__(
        self, program: Program, schema: DimensionSchema | None = None, prompts: str = "default"
    ) -> None:
        super().__init__()
        self.program = program
        schema = schema or getattr(program, "schema", None)
        if schema is None:
            raise ValueError("the program has no dimension schema of its own: give one")
        self.schema = schema
        self.select = dspy.Predict(selector_signature(schema, prompts))

    takes = Program.takes

    @property
    def needs_gold(self) -> bool:
        return self.program.needs_gold

    def forward(self, fact: Fact, **more: Any) -> dspy.Prediction:
        """The program's ranking of a fact, reordered by one model call; see the class for the prediction."""
        return super().forward(fact=fact, **more)

    async def aforward(self, fact: Fact, **more: Any) -> dspy.Prediction:
        """The program's ranking, reordered."""
        prediction = await called(self.program, fact=fact, **more)
        trace = prediction.trace
        retrieved = prediction.get("alternatives") or [prediction.ranking]
        reordered = [await self._reorder(fact, ranking, trace) for ranking in retrieved]
        extra = {"alternatives": retrieved, "reordered": reordered} if len(retrieved) > 1 else {}
        return dspy.Prediction(ranking=reordered[0], retrieved=retrieved[0], trace=trace, **extra)

    async def _reorder(self, fact: Any, ranking: Ranking, trace: Trace) -> Ranking:
        """The ranking after one selection; itself where the call failed."""
        if not len(ranking):
            trace.selected = []
            return ranking
        fields = self.select.signature.input_fields
        evidence = "".join(v for k, v in self.program.serializer.evidence(fact).items() if k in fields)
        room = SELECTOR_TOKENS - INSTRUCTION_TOKENS - estimated_tokens(evidence)
        answer = None
        for cut in DEFINITION_CUTS:
            shown = self.program.candidates.show(ranking.ids, cut)
            if estimated_tokens(shown) > room and cut != DEFINITION_CUTS[-1]:
                continue
            try:
                with trace.timed("select"):
                    answer = await ask_about(
                        self.select,
                        trace,
                        "selector",
                        fact,
                        self.program.serializer,
                        budget=SELECTOR_TOKENS,
                        inputs={"candidates": shown},
                    )
                if cut != DEFINITION_CUTS[0]:
                    trace.count("selector_cut_definitions")
                break
            except ContextWindowExceededError:
                trace.count("selector_backoffs")
        if answer is None:
            trace.count("selector_failed")
            return ranking
        listed = set(ranking.ids)
        chosen = list(dict.fromkeys(strip_namespace(i.strip()) for i in answer.ids))
        invented = [c for c in chosen if c not in listed]
        if invented:
            trace.count("selector_invented_ids", len(invented))
            trace.notes["invented"] = invented
        trace.selected = [c for c in chosen if c in listed][:SELECTED]
        return promote(ranking, trace.selected)


def promote(ranking: Ranking, selected: list[str]) -> Ranking:
    """The ranking with the selected ids on top in their order; no id is lost or added.

    Scores stay those of the first stage and so no longer fall from the top.
    """
    places = {id_: i for i, id_ in enumerate(ranking.ids)}
    chosen = [places[c] for c in selected]
    order = chosen + [i for i in range(len(ranking)) if i not in set(chosen)]
    return ranking.take(order)
