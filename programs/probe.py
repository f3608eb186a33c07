"""Oracle probes: the gold concept's own words are the query. Bounds on the index, not methods."""

from __future__ import annotations

from typing import Literal

import dspy

from ..retrievers.base import Retriever
from ..retrievers.taxonomy import Taxonomy
from ..signatures.types import Fact
from .base import Program
from .config import SearchConfig
from .serialize import Serializer
from .trace import Query


class Probe(Program):
    """Query with the gold concept's label, or label and definition (paper: Table 1, Appendix E.1).

    Args:
        text: ``label`` or ``label+definition``.
    """

    needs_gold = True

    def __init__(
        self,
        retriever: Retriever,
        serializer: Serializer | None = None,
        taxonomy: Taxonomy | None = None,
        config: SearchConfig | None = None,
        text: Literal["label", "label+definition"] = "label+definition",
    ) -> None:
        super().__init__(retriever, serializer, taxonomy, config)
        if text not in ("label", "label+definition"):
            raise ValueError(f"a probe's text is 'label' or 'label+definition', not {text!r}")
        self.text = text

    async def aforward(self, fact: Fact, gold: str) -> dspy.Prediction:
        """The top K concepts for the gold concept's own words.

        Raises:
            KeyError: the taxonomy has no such concept.
        """
        trace = self.start()
        concept = self.taxonomy[gold]
        text = concept.label if self.text == "label" else f"{concept.label} {concept.definition}".strip()
        (ranking,) = self.search(fact, [Query(text, "gold")], trace)
        return self.answer(ranking, trace)
