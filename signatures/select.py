"""The listwise selector's call."""

from __future__ import annotations

from functools import lru_cache

import dspy

from .dimensions import DimensionSchema
from .fhs import EVIDENCE
from .prompting import build_signature
from .replies import Letter, Selection


@lru_cache(maxsize=16)
def selector_signature(schema: DimensionSchema, prompts: str = "default") -> type[dspy.Signature]:
    """Value, datatype, source context and the ranked candidates to at most 20 ids, best first."""
    inputs = {name: EVIDENCE[name] for name in ("value", "datatype", "source_context")}
    inputs["candidates"] = "the ranked candidates: rank, id, datatype, label, definition"
    return build_signature("selector", inputs, Selection, prompts, schema)


@lru_cache(maxsize=16)
def letter_signature(schema: DimensionSchema, prompts: str = "default") -> type[dspy.Signature]:
    """Value, datatype, source context and at most 20 lettered candidates to the letter of the best."""
    inputs = {name: EVIDENCE[name] for name in ("value", "datatype", "source_context")}
    inputs["candidates"] = "the candidates: letter, id, datatype, label, definition"
    return build_signature("selector_letter", inputs, Letter, prompts, schema)
