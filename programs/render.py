"""Hypotheses to queries: the label form and the definition form (paper: Section 4.2, Appendix B.2)."""

from __future__ import annotations

from collections.abc import Sequence

from ..signatures.dimensions import DimensionSchema
from ..signatures.tokenize import tok
from ..signatures.types import Fact, Hypothesis
from .trace import Query


def label_form(hypothesis: Hypothesis, schema: DimensionSchema) -> str:
    """Resolved dimension values in canonical order, tokenised with ``tok``; empty: no query."""
    resolved = [hypothesis.values[name] for name in schema.names if name in hypothesis.values]
    return " ".join(t for value in resolved for t in tok(value))


def prefixed(identifier: str, text: str) -> str:
    """The locus identifier in front of a query text."""
    return f"{identifier} {text}".strip()


def render(
    fact: Fact,
    identifier: str,
    hypotheses: Sequence[Hypothesis],
    schema: DimensionSchema,
    forms: Sequence[str] = ("label", "definition"),
    round_: int = 0,
    first: int = 0,
) -> list[Query]:
    """The queries of all hypotheses, in order of hypothesis, definition form first.

    A table fact issues the given forms; a text fact the definition form only. An empty form issues
    no query. ``first`` is the index of the first hypothesis given, ``round_`` the round it belongs to.
    """
    queries: list[Query] = []
    for j, hypothesis in enumerate(hypotheses, first):
        if "definition" in forms and hypothesis.retrieval_query:
            text = prefixed(identifier, hypothesis.retrieval_query)
            queries.append(Query(text, "definition", j, round_))
        if "label" in forms and fact.modality == "table":
            label = label_form(hypothesis, schema)
            if label:
                queries.append(Query(prefixed(identifier, label), "label", j, round_))
    return queries
