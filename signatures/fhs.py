"""FHS's two model calls: one hypothesis of a fact, and the verdicts on a window (paper: 4.1, 4.4, B.3)."""

from __future__ import annotations

from functools import lru_cache

import dspy

from .dimensions import DimensionSchema
from .prompting import build_signature
from .replies import VerdictForm, hypothesis_answer, table_answer, verdicts_answer

EVIDENCE = {
    "value": "the located value as it is shown",
    "datatype": "the declared datatype of the value",
    "input_type": "whether the value is a table cell or a text mention",
    "row_header": "row header chain of the cell, outermost first",
    "column_header": "column header chain of the cell, outermost first",
    "source_context": "visible text of the table or passage the value stands in",
}
"""Every part of a fact that a model may read, in the paper's order."""


PRECEDENTS = {"precedents": "how values at similar places of other filings were tagged"}
"""What a generator of abduce's own is shown besides the evidence."""


@lru_cache(maxsize=32)
def generator_signature(
    schema: DimensionSchema, prompts: str = "default", precedents: bool = False
) -> type[dspy.Signature]:
    """Evidence to one factorized hypothesis. No taxonomy and no candidate is shown.

    ``precedents``: how alike values were tagged before is shown too (abduce's own).
    """
    name, more = ("generator_precedents", PRECEDENTS) if precedents else ("generator", {})
    return build_signature(name, EVIDENCE | more, hypothesis_answer(schema), prompts, schema)


@lru_cache(maxsize=16)
def table_signature(
    schema: DimensionSchema, sizes: tuple[int, ...], prompts: str = "default"
) -> type[dspy.Signature]:
    """A source context and all its rows, with their readings and candidates, to the verdicts of each row.

    ``sizes`` is how many verdicts each row has (:func:`~abduce.signatures.replies.table_answer`).
    """
    inputs = {
        "source_context": EVIDENCE["source_context"],
        "rows": "the rows to judge: the located value, its candidates, its readings",
    }
    return build_signature("verifier_table", inputs, table_answer(schema, sizes), prompts, schema)


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
    return build_signature(f"verifier_{form}", inputs, verdicts_answer(schema, n, form), prompts, schema)
