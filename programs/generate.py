"""Generators: a fact to J hypotheses, by a model or by rules (paper: Section 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import dspy

from ..signatures.dimensions import DimensionSchema
from ..signatures.fhs import generator_signature
from ..signatures.phrases import PhraseBook, load_phrases, undated
from ..signatures.types import Fact, Hypothesis
from .calls import ask_about
from .running import Part, at_once
from .serialize import Serializer
from .trace import Trace


class Generator(Protocol):
    """What FHS asks of a generator: J hypotheses in the order of the samples, None for a dropped one."""

    def __call__(
        self, *, fact: Fact, J: int, temperature: float, trace: Trace
    ) -> Sequence[Hypothesis | None]: ...


def kept_samples(drawn: Sequence[Hypothesis | None], keep: Sequence[int], trace: Trace) -> list[Hypothesis]:
    """The samples that are used: those with the indices ``keep`` (empty: all), without the dropped ones.

    Where some are left out, the trace notes the numbers of the others (``notes["samples"]``).
    """
    numbers = [j for j, h in enumerate(drawn) if h is not None and (not keep or j in keep)]
    if len(numbers) < len(drawn):
        trace.notes["samples"] = numbers
    return [h for j in numbers if (h := drawn[j]) is not None]


class LMGenerator(Part):
    """J samples of one unmodified prompt, drawn at the same time.

    Args:
        schema: the dimensions that the answer must give.
        serializer: how the evidence is written down.
        prompts: name or path of the prompt set.
        demonstrations: a fact to a text that says how alike values were tagged, which is shown too (abduce's
            own; the method itself shows none).
    """

    def __init__(
        self,
        schema: DimensionSchema,
        serializer: Serializer | None = None,
        prompts: str = "default",
        demonstrations: Callable[[Fact], str] | None = None,
    ) -> None:
        super().__init__()
        self.demonstrations = demonstrations
        self.schema = schema
        self.serializer = serializer or Serializer()
        self.prompts = prompts
        self.generate = dspy.Predict(generator_signature(schema, prompts, demonstrations is not None))

    async def aforward(
        self, fact: Fact, J: int, temperature: float, trace: Trace, first: int = 0
    ) -> list[Hypothesis | None]:
        """Samples ``first`` to ``first + J - 1``; one alone is drawn in the caller's thread."""
        told = {} if self.demonstrations is None else {"precedents": self.demonstrations(fact)}
        return await at_once(
            [partial(self.sample, fact, j, temperature, trace, told) for j in range(first, first + J)]
        )

    async def sample(
        self, fact: Fact, j: int, temperature: float, trace: Trace, told: Mapping[str, str]
    ) -> Hypothesis | None:
        """Hypothesis ``j``, or None where its replies did not parse."""
        answer = await ask_about(
            self.generate,
            trace,
            "generator",
            fact,
            self.serializer,
            index=j,
            temperature=temperature,
            inputs=told,
        )
        if answer is None:
            return None
        fields: dict[str, Any] = answer.model_dump()
        return self.schema.hypothesis(fields, fields.pop("retrieval_query"))


class RuleGenerator:
    """One hypothesis without a model; rules do not sample, so J is 1 whatever is asked.

    The vocabulary-matched dimensions take the categories whose trigger phrases occur in the row
    header, else in the column header (a text fact: in the text around the mention). Of the vocabulary-free
    dimensions the first takes the innermost row header; the others stay unresolved. The definition-form
    query is the text at the locus.
    """

    def __init__(self, schema: DimensionSchema, serializer: Serializer | None = None) -> None:
        self.schema = schema
        self.serializer = serializer or Serializer()

    def __call__(self, *, fact: Fact, J: int = 1, temperature: float = 0.0, trace: Trace) -> list[Hypothesis]:
        locus = self.serializer.locus_text(fact)
        table = fact.modality == "table"
        sources = [fact.row_header or "", fact.column_header or ""] if table else [locus]
        values: dict[str, str | None] = {}
        free = [d.name for d in self.schema.dimensions if not d.controlled]
        for dimension in self.schema.dimensions:
            if not dimension.controlled:
                continue
            found = next(filter(None, map(dimension.categories_in, sources)), ())
            values[dimension.name] = ", ".join(c.replace("_", " ") for c in found) or None
        if table and free and fact.row_header:
            values[free[0]] = fact.row_header.split(" | ")[-1]
        return [self.schema.hypothesis(values, locus)]


class PhraseGenerator(RuleGenerator):
    """Two readings without a model, through a phrase book: the locus alone, and with the text above it.

    The dimensions are those of the rule generator. The definition-form queries are the header chains
    (dates and units taken out) or the text around the mention, followed by the taxonomy's words for them;
    the second reading of a table fact adds the text just above the table, which the paper's source
    context does not have.
    """

    def __init__(
        self,
        schema: DimensionSchema,
        serializer: Serializer | None = None,
        phrases: PhraseBook | None = None,
    ) -> None:
        super().__init__(schema, serializer)
        self.phrases = phrases if phrases is not None else load_phrases(schema.name)

    def __call__(self, *, fact: Fact, J: int = 2, temperature: float = 0.0, trace: Trace) -> list[Hypothesis]:
        (read,) = super().__call__(fact=fact, trace=trace)
        if fact.modality == "text":
            locus = self.serializer.mention_window(fact)
            said = " ".join(self.phrases.say(locus, "", fact.datatype))
            return [read.model_copy(update={"retrieval_query": f"{locus} {said}".strip()})]
        chain = (fact.row_header or "").split(" | ")
        column = undated(fact.column_header or "")
        above = " ".join(fact.context.preceding_text.split())
        near = " ".join([*chain[:-1], column, above])
        said = " ".join(self.phrases.say(chain[-1], near, fact.datatype))
        locus = f"{' '.join(chain)} {column}".strip()
        queries = [f"{locus} {said}".strip(), f"{locus} {undated(above)} {said}".strip()]
        return [read.model_copy(update={"retrieval_query": query}) for query in dict.fromkeys(queries)][:J]
