"""The baselines' calls: free text, decomposition and refinement (paper: Appendix C.1)."""

from __future__ import annotations

from functools import lru_cache

import dspy

from .dimensions import DimensionSchema
from .fhs import EVIDENCE
from .prompting import build_signature
from .replies import (
    Description,
    DimensionRevision,
    DirectedReadings,
    Revision,
    SubQueries,
    readings_answer,
)

HEADERS = frozenset({"row_header", "column_header"})
"""The parts of the evidence that one-pass free-text grounding alone does not see."""


@lru_cache(maxsize=16)
def describe_signature(
    schema: DimensionSchema, prompts: str = "default", headers: bool = True
) -> type[dspy.Signature]:
    """Free-text grounding: evidence to one description, with or without the headers of a cell."""
    hidden = frozenset[str]() if headers else HEADERS
    return build_signature("describe", EVIDENCE, Description, prompts, schema, hidden)


@lru_cache(maxsize=16)
def varied_signature(schema: DimensionSchema, prompts: str = "default") -> type[dspy.Signature]:
    """The forced-variation arm: the model is told which sample of how many it is."""
    inputs = EVIDENCE | {"sample": "which of the samples this is"}
    return build_signature("describe_varied", inputs, Description, prompts, schema)


@lru_cache(maxsize=16)
def diverse_signature(schema: DimensionSchema, J: int, prompts: str = "default") -> type[dspy.Signature]:
    """The diversity prompt of the design study: one call, ``J`` readings (paper: Table 11, Panel A)."""
    return build_signature("describe_diverse", EVIDENCE, readings_answer(J), prompts, schema)


@lru_cache(maxsize=16)
def directed_signature(schema: DimensionSchema, prompts: str = "default") -> type[dspy.Signature]:
    """The dimension-directed arm: one call, four readings that each differ in one respect."""
    return build_signature("describe_directed", EVIDENCE, DirectedReadings, prompts, schema)


@lru_cache(maxsize=16)
def decompose_signature(schema: DimensionSchema, prompts: str = "default") -> type[dspy.Signature]:
    """Decomposed retrieval: evidence to one sub-query for each of four foci."""
    return build_signature("decompose", EVIDENCE, SubQueries, prompts, schema)


@lru_cache(maxsize=16)
def critique_signature(schema: DimensionSchema, prompts: str = "default") -> type[dspy.Signature]:
    """Intrinsic refinement: the previous description, no candidates, to critique and revision."""
    inputs = EVIDENCE | {"previous": "the previous interpretation"}
    return build_signature("critique", inputs, Revision, prompts, schema)


@lru_cache(maxsize=16)
def feedback_signature(schema: DimensionSchema, prompts: str = "default") -> type[dspy.Signature]:
    """Retrieval-feedback refinement: the previous description and what it retrieved."""
    inputs = EVIDENCE | {
        "previous": "the previous interpretation",
        "candidates": "the concepts that the previous interpretation retrieved, best first",
    }
    return build_signature("feedback", inputs, Revision, prompts, schema)


@lru_cache(maxsize=16)
def revise_signature(schema: DimensionSchema, prompts: str = "default") -> type[dspy.Signature]:
    """FHS-Seq: revise one dimension of the current hypothesis (paper: Section 4.5, Appendix F).

    Like a generator it sees no candidate.
    """
    inputs = EVIDENCE | {
        "hypothesis": "the current hypothesis: one value per dimension, and its retrieval query",
        "dimension": "the dimension to revise: the one that the verdicts speak against",
    }
    return build_signature("revise", inputs, DimensionRevision, prompts, schema)
