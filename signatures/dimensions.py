"""Dimension schemas: controlled vocabularies, normalisation, category profiles, the match operator.

A schema is a data file (``vocabularies/*.toml``). Each dimension is matched by a controlled
vocabulary or, a vocabulary-free one, by token overlap (paper: A.1, A.2).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from .tokenize import tok_set
from .toml import named_text, one_line, parse_toml
from .types import UNRESOLVED, Concept, Hypothesis, Judgement

UNRESOLVED_SPELLINGS = frozenset(
    {
        "",
        "na",
        "n/a",
        "none",
        "null",
        "unknown",
        "unsupported",
        "unresolved",
        "not specified",
        "not applicable",
    }
)


def is_unresolved(value: str | None) -> bool:
    """Whether a generator's value is one of the spellings of :data:`UNRESOLVED`."""
    return (
        value is None
        or " ".join(value.replace("_", " ").casefold().split()).strip(".") in UNRESOLVED_SPELLINGS
    )


def half_overlap(value: str, text: str | frozenset[str]) -> bool:
    """The match operator of a vocabulary-free dimension: ``|h & c| / |h| >= 0.5`` over tokens.

    A value without a content token matches nothing. The text may be given as its token set.
    """
    tokens = tok_set(value)
    held = tok_set(text) if isinstance(text, str) else text
    return bool(tokens) and 2 * len(tokens & held) >= len(tokens)


class _Part(BaseModel):
    """Base of schemas and dimensions: frozen; a changed copy keeps nothing that was derived before."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A validated copy with some fields changed."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate({**fields, **(update or {})})


class Dimension(_Part):
    """One semantic axis.

    Args:
        name: as the papers write it (``Family``).
        match: ``vocabulary``: a category's phrase occurs when all its tokens do, and its own name is one of
            its phrases; ``substring`` (the rule of the authors' release): also where it stands inside
            a longer word, and the phrases are those that are listed, or the name where none is;
            ``overlap``: no vocabulary.
        description: the one line that tells a generator what belongs here.
        categories: category name to trigger phrases; empty for an overlap dimension.
        field: a metadata field of the concepts that decides a candidate's categories, in place of
            trigger phrases in its text; its value may be a list. A concept without it has none.
        values: category to those values of ``field`` that mean it; where nothing is given, the
            field holds the categories' own names.
    """

    name: str
    match: Literal["vocabulary", "substring", "overlap"]
    description: str
    categories: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    field: str | None = None
    values: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _values_name_categories(self) -> Dimension:
        unknown = sorted(set(self.values) - set(self.categories))
        if unknown:
            raise ValueError(f"values: {self.name} has no category {unknown[0]!r}")
        if self.values and self.field is None:
            raise ValueError(f"values: {self.name} declares no field that could have them")
        return self

    @property
    def controlled(self) -> bool:
        """Whether a vocabulary matches it."""
        return self.match != "overlap"

    @field_validator("categories")
    @classmethod
    def _phrases_can_occur(
        cls, found: Mapping[str, tuple[str, ...]], info: ValidationInfo
    ) -> Mapping[str, tuple[str, ...]]:
        inside = info.data.get("match") == "substring"
        for category, phrases in found.items():
            for phrase in phrases:
                if not (phrase.strip() if inside else tok_set(phrase)):
                    raise ValueError(f"the phrase {phrase!r} of {category!r} has function words only")
        return found

    @cached_property
    def _triggers(self) -> dict[str, list[tuple[str, frozenset[str]]]]:
        """Trigger phrases by one of their tokens: token to (category, all tokens of the phrase)."""
        table: dict[str, list[tuple[str, frozenset[str]]]] = {}
        for category in self.categories:
            for phrase in self._phrases(category):
                tokens = tok_set(phrase)
                if tokens:
                    table.setdefault(min(tokens), []).append((category, tokens))
        return table

    def _phrases(self, category: str) -> tuple[str, ...]:
        """The trigger phrases of a category."""
        name, listed = category.replace("_", " "), self.categories[category]
        return (listed or (name,)) if self.match == "substring" else (name, *listed)

    @cached_property
    def _inside(self) -> dict[str, tuple[str, ...]]:
        """The phrases that may stand inside a longer word, by category."""
        if self.match != "substring":
            return {}
        return {c: tuple(p.lower() for p in self._phrases(c)) for c in self.categories}

    def categories_in(
        self, text: str | frozenset[str], tokens: frozenset[str] | None = None
    ) -> tuple[str, ...]:
        """The categories of which a trigger phrase occurs in a text, in the vocabulary's order.

        A phrase occurs when all its tokens do, which includes its occurrence as words of the text. Under the
        rule ``substring`` it also occurs inside a longer word (``part`` in ``department``); else ``plan`` is
        not in ``plant``. The text may be given as its token set, except under ``substring``; ``tokens`` are
        those of the text, where they are at hand.
        """
        if tokens is None:
            tokens = tok_set(text) if isinstance(text, str) else text
        found = {c for t in tokens for c, phrase in self._triggers.get(t, ()) if phrase <= tokens}
        if self.match == "substring":
            if not isinstance(text, str):
                raise TypeError("tokens do not say what stands inside a longer word")
            low = text.lower()
            found |= {c for c, phrases in self._inside.items() if any(p in low for p in phrases)}
        return tuple(c for c in self.categories if c in found)

    def categories_of(self, concept: Concept, tokens: frozenset[str] | None = None) -> tuple[str, ...]:
        """A candidate's own categories, by metadata where ``field`` is declared, else by its text.

        ``tokens``: those of the concept's id, label, definition and datatype, where they are at hand.
        """
        if not self.controlled:
            return ()
        if self.field is not None:
            declared = concept.metadata.get(self.field)
            held = {str(v) for v in declared} if isinstance(declared, list | tuple) else {str(declared)}
            return tuple(c for c in self.categories if not held.isdisjoint(self.values.get(c) or (c,)))
        if self.match == "vocabulary" and tokens is not None:
            return self.categories_in(tokens)
        return self.categories_in(_identity(concept), tokens)


def _identity(concept: Concept) -> str:
    return " ".join((concept.id, concept.label, concept.definition, concept.datatype or ""))


@dataclass(frozen=True)
class Features:
    """What matching needs of one concept: its category profile and the tokens of its text.

    ``profile`` has one category tuple for each vocabulary-matched dimension, in canonical order;
    ``tokens`` are those of label and definition.
    """

    profile: tuple[tuple[str, ...], ...]
    tokens: frozenset[str]


class DimensionSchema(_Part):
    """The dimensions of one domain in canonical order.

    The paper's category profile is the tuple of a candidate's category sets on the vocabulary-matched
    dimensions. ``evidence`` and ``concept`` are the words that prompts use for a fact and a concept;
    ``fields`` describes the evidence's parts (``value``, ``source_context``, ...) in the domain's own words;
    ``without`` names those that no fact of the domain has, which prompts leave out.
    """

    name: str
    dimensions: tuple[Dimension, ...] = Field(min_length=1)
    evidence: str = "a located value in a document"
    concept: str = "concept"
    fields: Mapping[str, str] = Field(default_factory=dict)
    without: tuple[Literal["datatype", "input_type", "row_header", "column_header"], ...] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Dimension names in canonical order."""
        return tuple(d.name for d in self.dimensions)

    def __getitem__(self, name: str) -> Dimension:
        for dimension in self.dimensions:
            if dimension.name == name:
                return dimension
        raise KeyError(f"the schema {self.name!r} has no dimension {name!r}; it has {', '.join(self.names)}")

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).model_validate_json, (self.model_dump_json(),)  # the same bytes in every process

    @cached_property
    def fingerprint(self) -> str:
        """Changes whenever anything in the schema does."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]

    def hypothesis(self, values: Mapping[str, str | None], retrieval_query: str = "") -> Hypothesis:
        """A normalised hypothesis from a generator's free-form values.

        Unresolved spellings are dropped; a value that does not normalise is kept (it still goes into
        the query) with an empty category tuple. Keys that are no dimension raise KeyError.
        """
        unknown = set(values) - set(self.names)
        if unknown:
            raise KeyError(f"the schema {self.name!r} has no dimension {sorted(unknown)[0]!r}")
        resolved = {
            n: " ".join(str(values[n]).split()) for n in self.names if not is_unresolved(values.get(n))
        }
        categories = {
            d.name: d.categories_in(resolved[d.name])
            for d in self.dimensions
            if d.controlled and d.name in resolved
        }
        return Hypothesis(values=resolved, retrieval_query=retrieval_query.strip(), categories=categories)

    def unnormalised(self, hypothesis: Hypothesis) -> dict[str, str]:
        """The resolved values that no category of their dimension's vocabulary covers."""
        return {n: hypothesis.values[n] for n, found in hypothesis.categories.items() if not found}

    def text_tokens(self, concept: Concept) -> frozenset[str]:
        """The tokens of the text that the match operator reads: label and definition, under the rule of the
        authors' release id and datatype too."""
        released = any(d.match == "substring" for d in self.dimensions)
        return tok_set(_identity(concept) if released else f"{concept.label} {concept.definition}")

    def profile(self, concept: Concept) -> tuple[tuple[str, ...], ...]:
        """The category profile of a candidate: one category tuple a vocabulary-matched dimension."""
        by_text = any(d.controlled and d.field is None for d in self.dimensions)
        tokens = tok_set(_identity(concept)) if by_text else frozenset()
        return tuple(d.categories_of(concept, tokens) for d in self.dimensions if d.controlled)

    def judge(self, hypothesis: Hypothesis, candidates: Sequence[Features]) -> list[dict[str, Judgement]]:
        """The symbolic check (paper: "program-driven score"): each candidate's judgements by dimension.

        Per resolved dimension: the category sets meet: support; they are disjoint, or only one side
        has any: no support; neither side has any: support by :func:`half_overlap` with label and
        definition. Unresolved: abstain.
        """
        vocabulary = [d.name for d in self.dimensions if d.controlled]
        checks = []
        for name in self.names:
            value = hypothesis.values.get(name)
            place = vocabulary.index(name) if name in vocabulary else None
            wanted = hypothesis.categories.get(name, ())
            checks.append((name, place, wanted, value))
        result = []
        for candidate in candidates:
            judgements: dict[str, Judgement] = {}
            for name, place, wanted, value in checks:
                if value is None:
                    judgements[name] = Judgement.ABSTAIN
                    continue
                held = () if place is None else candidate.profile[place]
                if wanted or held:
                    supported = any(c in held for c in wanted)
                else:
                    supported = half_overlap(value, candidate.tokens)
                judgements[name] = Judgement.SUPPORT if supported else Judgement.NO_SUPPORT
            result.append(judgements)
        return result

    @classmethod
    def from_toml(cls, text: str) -> DimensionSchema:
        """Read a schema from TOML text (see ``vocabularies/us-gaap.toml``).

        Raises:
            ValueError: not TOML, or not a schema; one line says where.
        """
        try:
            raw = parse_toml(text)
            words = {k: v for k, v in raw.items() if k != "dimension"}
            return cls(dimensions=tuple(raw["dimension"]), **words)
        except KeyError as e:
            raise ValueError(f"a schema needs {e.args[0]!r}") from e
        except ValidationError as e:
            raise ValueError(one_line(e)) from e


@lru_cache(maxsize=8)
def load_schema(name: str) -> DimensionSchema:
    """A bundled schema by name (``us-gaap``), or any schema by the path of its TOML file.

    Raises:
        ValueError: no such schema, or the file is not one.
    """
    folder = resources.files(__package__) / "vocabularies"
    return DimensionSchema.from_toml(named_text(name, folder, "schema"))


__all__ = [
    "UNRESOLVED",
    "UNRESOLVED_SPELLINGS",
    "Dimension",
    "DimensionSchema",
    "Features",
    "half_overlap",
    "is_unresolved",
    "load_schema",
]
