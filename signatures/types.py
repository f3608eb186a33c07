"""The nouns of abduce: what goes into a program and what it decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

UNRESOLVED = "UNRESOLVED"
"""The literal a generator returns for a dimension that the evidence does not support."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceContext(_Frozen):
    """The table or passage that many facts share.

    ``text`` is the markup of one bare ``<table>`` or the text of a passage, as it stands in the
    source. ``preceding_text`` (the text just above a table) is not part of the paper's source
    context; only abduce's own rows read it.
    """

    context_id: str
    text: str
    modality: Literal["table", "text"] = "text"
    preceding_text: str = ""


class Fact(_Frozen):
    """A located fact ``x = (locus, value, context)``. It never carries its gold concept.

    The locus of a table fact is its row and column header chains (parts joined by `` | ``); the locus
    of a text fact is ``context.text[mention_start:mention_end]`` (character offsets, end exclusive).
    ``filing_id`` and ``company`` are provenance: they keep a fact's own filing out of its precedents
    and are never shown to a model. Neither is what a document's reader learned beside: ``scale`` (the power
    of ten that the printed figure stands for: 6 in a table in millions, -2 for percent), ``unit`` (an ISO
    currency code, ``shares``, ``USD/shares``, ``percent``, ``years``), ``stated`` (where both were said, and
    in what words) and ``place`` (what the source calls it: a sheet and its cell, a page and a box).
    """

    fact_id: str
    value: str = Field(min_length=1)
    context: SourceContext
    modality: Literal["table", "text"] = "table"
    datatype: str | None = None
    row_header: str | None = None
    column_header: str | None = None
    row_index: int | None = None
    col_index: int | None = None
    mention_start: int | None = None
    mention_end: int | None = None
    filing_id: str | None = None
    company: str | None = None
    taxonomy_year: str | None = None
    scale: int | None = None
    unit: str | None = None
    stated: str | None = None
    place: str | None = None

    @model_validator(mode="after")
    def _span_lies_inside_its_context(self) -> Fact:
        if not self.value.strip():
            raise ValueError("value: is empty")
        start, end = self.mention_start, self.mention_end
        if start is not None or end is not None:
            n = len(self.context.text)
            if start is None or end is None or not 0 <= start < end <= n:
                raise ValueError(
                    f"mention_start: span [{start}, {end}) is outside its context (0..{n} characters)"
                )
        return self


class Concept(_Frozen):
    """One entry of a taxonomy. ``definition`` may be empty; ``metadata`` holds period type, balance,
    path, inclusion terms and whatever else the inventory declares."""

    id: str
    label: str
    definition: str = ""
    datatype: str | None = None
    metadata: Mapping[str, Any] = Field(default_factory=dict)


class Hypothesis(_Frozen):
    """A partial assignment of dimensions and its definition-form query (paper: Section 3.4).

    ``values`` maps a dimension name to the generator's free-form value; an unresolved dimension is
    absent. ``categories`` maps a vocabulary-matched dimension to the categories the value normalises
    to (empty tuple: it could not be normalised). A free-text description is a hypothesis without
    values.
    """

    values: Mapping[str, str] = Field(default_factory=dict)
    retrieval_query: str = ""
    categories: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)


class Judgement(StrEnum):
    """One verdict on one dimension of one candidate."""

    SUPPORT = "support"
    NO_SUPPORT = "no_support"
    ABSTAIN = "abstain"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the verifier says of one candidate under one hypothesis: a judgement per dimension.

    ``probabilities`` is filled only by verifiers that are not certain: per dimension the probabilities of
    support, no support and abstention, in [0, 1] and 1 in sum. A dimension without stands as it is judged.
    (A plain dataclass: the symbolic check makes hundreds per fact.)
    """

    concept_id: str
    judgements: Mapping[str, Judgement]
    probabilities: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)


class Question(_Frozen):
    """A question with answer options; ``options`` maps a letter (or any key) to its text.

    The gold answer is not part of it.
    """

    question_id: str
    text: str = Field(min_length=1)
    options: Mapping[str, str] = Field(default_factory=dict)
    subject: str | None = None


class UtilityLabel(StrEnum):
    """What a context set does for a question, given the gold answer (HCQR paper: Section 3)."""

    ENTAILED = "Entailed"
    USEFUL = "Useful-but-Not-Entailed"
    NOT_USEFUL = "Not Useful"
