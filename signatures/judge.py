"""What the context-utility judge is asked (HCQR paper: 4.6, B.8). Own words."""

from __future__ import annotations

from typing import Annotated, Any

import dspy
from pydantic import BeforeValidator, Field, WithJsonSchema

from .options import NO_OPTION, Reply, cut
from .types import UtilityLabel

JUDGE_VERSION = "1"
"""Raised whenever the judge's instructions or its conservative rule change."""

_SPELLINGS = {
    "entailed": UtilityLabel.ENTAILED,
    "useful": UtilityLabel.USEFUL,
    "usefulbutnotentailed": UtilityLabel.USEFUL,
    "notuseful": UtilityLabel.NOT_USEFUL,
}


def _label(value: Any) -> Any:
    """Case, spaces and hyphens do not matter; any other word is left as it is and refused."""
    if isinstance(value, str):
        return _SPELLINGS.get("".join(c for c in value.casefold() if c.isalpha()), value)
    return value


class ContextUtility(Reply):
    """The option first, then the label, so that the label can rest on it."""

    selected_answer: Annotated[str, cut(300)] = Field(
        max_length=300,
        description=f"the letter of the option that the documents alone support most, or {NO_OPTION}",
    )
    label: Annotated[
        UtilityLabel,
        BeforeValidator(_label),
        WithJsonSchema({"type": "string", "enum": [str(label) for label in UtilityLabel]}),
    ]


class JudgeContext(dspy.Signature):
    """Judge what a set of retrieved documents is worth for one decision. Judge the documents alone: do not
    use what you know yourself to fill gaps.

    First name selected_answer: the option that the documents alone support most; none where they support
    no option. Only then compare with the gold answer and give one label.
    Entailed: the documents state, or leave no other conclusion than, the gold answer for this question.
    Useful-but-Not-Entailed: they do not settle it, but give a specific criterion, contrast or fact that
    supports the gold answer or rules out a competing option in this case.
    Not Useful: everything else: background only, weakly related topics, repeated words without a fact that
    bears on the decision, or documents that support a competing option.
    Be strict. In doubt between two labels give the lower one.
    """

    question: str = dspy.InputField()
    options: str = dspy.InputField()
    gold_answer: str = dspy.InputField()
    documents: str = dspy.InputField()
    answer: ContextUtility = dspy.OutputField()
