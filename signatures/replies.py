"""Types of model answers: bounded on the wire, forgiving of case and spelling, strict about the rest."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, create_model

from .dimensions import DimensionSchema
from .made import Made, made
from .types import Judgement

MAX_VALUE = 200
"""Characters of one dimension value."""

MAX_QUERY = 600
"""Characters of one definition-form query or description."""

VerdictForm = Literal["compact", "spelled", "graded", "soft"]

CODES = {"s": Judgement.SUPPORT, "n": Judgement.NO_SUPPORT, "x": Judgement.ABSTAIN}

_SPELLINGS = {
    "support": "support",
    "supported": "support",
    "supports": "support",
    "yes": "support",
    "no_support": "no_support",
    "not_supported": "no_support",
    "unsupported": "no_support",
    "no": "no_support",
    "abstain": "abstain",
    "abstained": "abstain",
    "unresolved": "abstain",
    "n/a": "abstain",
    "na": "abstain",
    "none": "abstain",
}


def _cut(limit: int) -> BeforeValidator:
    """Cuts a text, or a list, to what the wire's bound allows: longer is no reason to lose a reply."""

    def cut(value: Any) -> Any:
        return value[:limit] if isinstance(value, str | list) else value

    return BeforeValidator(cut)


class FactReply(Made):
    """Base of every answer: extra keys are refused, text is stripped."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


def _spelling(value: Any) -> Any:
    if isinstance(value, str):
        key = "_".join(value.strip().strip(".").casefold().replace("-", " ").replace("_", " ").split())
        return _SPELLINGS.get(key, value)
    return value


def _code(value: Any) -> Any:
    return "".join(value.split()).casefold() if isinstance(value, str) else value


def _spaced(value: Any) -> Any:
    return " ".join(_code(value)) if isinstance(value, str) else value


def _unresolved(value: Any) -> Any:
    return "UNRESOLVED" if value is None else value


Query = Annotated[str, Field(min_length=1, max_length=MAX_QUERY), _cut(MAX_QUERY)]
"""A definition-form query or a description."""

Value = Annotated[str, Field(max_length=MAX_VALUE), _cut(MAX_VALUE), BeforeValidator(_unresolved)]
"""A value of one dimension."""

SpelledJudgement = Annotated[Literal["support", "no_support", "abstain"], BeforeValidator(_spelling)]


class Description(FactReply):
    """A free-text interpretation: one retrieval-ready description."""

    description: Query


class DirectedReadings(FactReply):
    """Four whole readings, each of which may differ from the plain one in the respect that names it."""

    family: Query
    period: Query
    qualifier_and_aggregation: Query
    scope: Query

    def readings(self) -> list[str]:
        """The readings in the order of the fields."""
        return [self.family, self.period, self.qualifier_and_aggregation, self.scope]


class Readings(FactReply):
    """Several whole readings of one fact."""

    descriptions: list[Query]

    def readings(self) -> list[str]:
        """The readings in their order."""
        return list(self.descriptions)


class Revision(FactReply):
    """A critique of the previous interpretation and the description that replaces it."""

    critique: Annotated[str, Field(max_length=MAX_QUERY), _cut(MAX_QUERY)]
    description: Query


class SubQueries(FactReply):
    """One sub-query for each of the four fixed foci of decomposed retrieval."""

    entity_and_family: Query
    temporal: Query
    measurement_and_qualifiers: Query
    aggregation_and_structure: Query


class Selection(FactReply):
    """The listwise selector's choice: at most 20 ids, best first."""

    ids: Annotated[list[Annotated[str, Field(max_length=300)]], Field(max_length=20), _cut(20)]


LETTERS = "ABCDEFGHIJKLMNOPQRST"
"""Marks of at most 20 candidates."""


class Letter(FactReply):
    """The one-token selector's choice: the mark of one candidate."""

    letter: Annotated[str, Field(pattern=f"^[{LETTERS[0]}-{LETTERS[-1]}]$")]


class DimensionRevision(FactReply):
    """FHS-Seq: a new value of the target dimension and the definition-form query that goes with it."""

    value: Value
    retrieval_query: Query


@lru_cache(maxsize=16)
def readings_answer(n: int) -> type[Readings]:
    """Exactly ``n`` readings."""
    field: Any = (list[Query], Field(min_length=n, max_length=n))
    return made(create_model("Readings", __base__=Readings, descriptions=field), readings_answer, n)


@lru_cache(maxsize=32)
def hypothesis_answer(schema: DimensionSchema) -> type[FactReply]:
    """The generator's answer for a schema: a text a dimension, and ``retrieval_query``."""
    fields: dict[str, Any] = dict.fromkeys(schema.names, (Value, ...))
    fields["retrieval_query"] = (Query, ...)
    model = create_model("FactorizedHypothesis", __base__=FactReply, **fields)
    return made(model, hypothesis_answer, schema)


@lru_cache(maxsize=64)
def verdicts_answer(schema: DimensionSchema, n: int, form: VerdictForm) -> type[FactReply]:
    """The verifier's answer for ``n`` candidates.

    ``compact``: one string a candidate in the window's order, one letter a dimension in canonical
    order: ``s`` support, ``n`` no support, ``x`` abstain. ``soft``: the same letters with a space between
    them, so that each is a token of its own whose log-probabilities can be read. ``spelled``: one object a
    candidate with a judgement a dimension. ``graded``: the chance of support in percent.
    """
    item: Any
    if form == "compact":
        item = _letters(schema)
    elif form == "soft":
        pattern = f"^[snx]( [snx]){{{len(schema.names) - 1}}}$"
        item = Annotated[str, Field(pattern=pattern), BeforeValidator(_spaced)]
    elif form == "graded":
        chance = Annotated[int, Field(ge=-1, le=100)]
        item = Annotated[list[chance], Field(min_length=len(schema.names), max_length=len(schema.names))]
    else:
        item = _spelled(schema)
    verdicts: Any = (list[item], Field(min_length=n, max_length=n))
    model = create_model("Verdicts", __base__=FactReply, verdicts=verdicts)
    return made(model, verdicts_answer, schema, n, form)


@lru_cache(maxsize=16)
def _spelled(schema: DimensionSchema) -> type[FactReply]:
    """One candidate's verdict in spelled form."""
    fields: dict[str, Any] = dict.fromkeys(schema.names, (SpelledJudgement, ...))
    return made(create_model("CandidateVerdict", __base__=FactReply, **fields), _spelled, schema)


def _letters(schema: DimensionSchema) -> Any:
    """One candidate's verdict in compact form."""
    # The pattern stands next to the type: behind a validator it would not reach the wire.
    return Annotated[str, Field(pattern=f"^[snx]{{{len(schema.names)}}}$"), BeforeValidator(_code)]


@lru_cache(maxsize=256)
def table_answer(schema: DimensionSchema, sizes: tuple[int, ...]) -> type[FactReply]:
    """The verdicts on all rows of a table: ``row_1``, ``row_2`` ..., each a list of so many compact verdicts:
    those of its first reading in the order of its candidates, then those of its second, and so on."""
    item: Any = _letters(schema)
    fields: dict[str, Any] = {
        f"row_{i}": (list[item], Field(min_length=n, max_length=n)) for i, n in enumerate(sizes, 1)
    }
    return made(create_model("TableVerdicts", __base__=FactReply, **fields), table_answer, schema, sizes)


Chances = tuple[float, float, float]
"""The probabilities of support, no support and abstention."""


def judgements(schema: DimensionSchema, item: Any) -> tuple[dict[str, Judgement], dict[str, Chances]]:
    """One candidate's judgements, and the probabilities by dimension where the form has them."""
    if isinstance(item, str):
        letters = item.replace(" ", "")
        return {name: CODES[letter] for name, letter in zip(schema.names, letters, strict=True)}, {}
    if isinstance(item, list):
        chances = dict(zip(schema.names, item, strict=True))
        support = {name: chance / 100 for name, chance in chances.items() if chance >= 0}
        probabilities = {name: (p, 1 - p, 0.0) for name, p in support.items()}
        return {name: _by_chance(support.get(name)) for name in schema.names}, probabilities
    return {name: Judgement(getattr(item, name)) for name in schema.names}, {}


def _by_chance(probability: float | None) -> Judgement:
    if probability is None:
        return Judgement.ABSTAIN
    return Judgement.SUPPORT if probability >= 0.5 else Judgement.NO_SUPPORT
