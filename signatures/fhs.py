"""FHS's two model calls: one hypothesis of a fact, and the verdicts on a window (paper: 4.1, 4.4, B.3)."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import dspy

from .dimensions import DimensionSchema
from .prompting import build
from .replies import VerdictForm, hypothesis_answer, verdicts_answer

EVIDENCE = {
    "value": "the located value as it is shown",
    "datatype": "the declared datatype of the value",
    "input_type": "whether the value is a table cell or a text mention",
    "row_header": "row header chain of the cell, outermost first",
    "column_header": "column header chain of the cell, outermost first",
    "source_context": "visible text of the table or passage the value stands in",
}
"""Every part of a fact that a model may read, in the paper's order."""


Variation = Literal["", "varied", "assigned", "precedents"]
"""What a generator is told besides the evidence: nothing (the method); to be distinct, or a focus of its own
(arms of the design study; paper: Table 11); how alike values were tagged before (abduce's own)."""

_TOLD = {
    "": {},
    "varied": {"sample": "which of the readings this is"},
    "assigned": {"focus": "the dimensions that this reading is about"},
    "precedents": {"precedents": "how values at similar places of other filings were tagged"},
}


@lru_cache(maxsize=32)
def generator_signature(
    schema: DimensionSchema, prompts: str = "default", variation: Variation = ""
) -> type[dspy.Signature]:
    """Evidence to one factorized hypothesis. No taxonomy and no candidate is shown."""
    name = f"generator_{variation}".rstrip("_")
    return build(name, EVIDENCE | _TOLD[variation], hypothesis_answer(schema), prompts, schema)


@lru_cache(maxsize=64)
def verifier_signature(
    schema: DimensionSchema, n: int, form: VerdictForm = "compact", prompts: str = "default"
) -> type[dspy.Signature]:
    """Evidence, window and hypothesis to a judgement per candidate and dimension.

    ``n`` is the number of candidates in the window, ``form`` the form of the answer
    (:func:`~abduce.signatures.replies.verdicts_answer`).
    """
    inputs = EVIDENCE | {
        "candidates": "the candidate concepts, numbered",
        "hypothesis": "the reading to check: one value a dimension",
    }
    return build(f"verifier_{form}", inputs, verdicts_answer(schema, n, form), prompts, schema)
