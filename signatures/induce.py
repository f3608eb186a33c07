"""A dimension schema induced from a taxonomy, for inventories that nobody wrote one for.

The FHS paper leaves this open (Limitations). The rules here are plain and deterministic; what they give is
a TOML file that a person can read and mend:

- every metadata field with few distinct values is a vocabulary-matched dimension, matched by the field;
- **Topic**: a vocabulary of the label words that cover the inventory, chosen greedily: each next word is
  the one that covers most labels not yet covered;
- **Qualifier**: the words that most often end a label or stand after its comma;
- **Role** and **Event** are matched by overlap, as in the papers' own schemas.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from .dimensions import Dimension, DimensionSchema
from .tokenize import tok_set
from .types import Concept

TOPICS = 20
QUALIFIERS = 20
FIELD_VALUES = 30
"""A metadata field with more distinct values is no dimension."""

FIELD_COVERAGE = 0.3
"""A metadata field that fewer concepts have is none either."""

NAME_LENGTH = 40
"""A value longer than this is a text, no name of a category."""

_SEGMENT = re.compile(r"[,;:(\[]")


def induce_schema(concepts: Iterable[Concept], name: str = "induced") -> DimensionSchema:
    """A schema for a taxonomy.

    Args:
        concepts: the whole inventory.
        name: of the schema.

    Raises:
        ValueError: there are no concepts.
    """
    known = list(concepts)
    if not known:
        raise ValueError("there are no concepts to induce a schema from")
    labels = [frozenset(t for t in tok_set(c.label) if t.isalpha() and len(t) > 2) for c in known]
    topics = _cover(labels, TOPICS)
    tails = _tails(known, set(topics), QUALIFIERS)
    dimensions = [
        _words("Topic", "the subject that the value is about", topics),
        Dimension(name="Role", match="overlap", description="what the value is within its subject"),
        Dimension(name="Event", match="overlap", description="what happened that the value records"),
        _words("Qualifier", "how the value is qualified or presented", tails),
    ]
    dimensions += _fields(known)
    kept = [d for d in dimensions if d.match == "overlap" or d.categories]
    return DimensionSchema(name=name, dimensions=tuple(kept), concept=f"{name} concept")


def _words(name: str, meaning: str, words: Sequence[str]) -> Dimension:
    listed = ", ".join(words)
    description = f"{meaning}, such as {listed}" if words else meaning
    categories = {w: (w,) for w in words}
    return Dimension(name=name, match="vocabulary", description=description, categories=categories)


def _cover(labels: Sequence[frozenset[str]], most: int) -> list[str]:
    """Words by how many labels each covers that no earlier word does; ties by the alphabet."""
    open_ = [label for label in labels if label]
    chosen: list[str] = []
    while open_ and len(chosen) < most:
        counts = Counter(word for label in open_ for word in label)
        word = min(counts, key=lambda w: (-counts[w], w))
        if counts[word] < 2:
            break
        chosen.append(word)
        open_ = [label for label in open_ if word not in label]
    return chosen


def _tails(concepts: Sequence[Concept], taken: set[str], most: int) -> list[str]:
    """Words that often end a label, or one of its segments after a comma."""
    counts: Counter[str] = Counter()
    for concept in concepts:
        segments = [s for s in _SEGMENT.split(concept.label) if s.strip()]
        ends = {re.findall(r"[^\W\d_]+", s)[-1] for s in segments if re.findall(r"[^\W\d_]+", s)}
        counts.update({t for end in ends for t in tok_set(end) if len(t) > 2})
    ranked = sorted(counts, key=lambda w: (-counts[w], w))
    return [w for w in ranked if w not in taken and counts[w] > 1][:most]


def _fields(concepts: Sequence[Concept]) -> list[Dimension]:
    """A dimension for each metadata field whose values are few and common."""
    values: dict[str, Counter[str]] = {}
    for concept in concepts:
        for field, value in concept.metadata.items():
            if isinstance(value, str) and value.strip():
                values.setdefault(field, Counter())[value] += 1
    found = []
    for field, counts in values.items():
        named = all(len(v) <= NAME_LENGTH and not set(v) & set("/:[]") for v in counts)  # no paths or sources
        if (
            named
            and 2 <= len(counts) <= FIELD_VALUES
            and sum(counts.values()) >= FIELD_COVERAGE * len(concepts)
        ):
            phrases = {v: (v.replace("_", " "),) for v in sorted(counts) if tok_set(v)}
            if len(phrases) < 2:
                continue
            name = " ".join(part.capitalize() for part in field.replace("_", " ").split())
            found.append(
                Dimension(
                    name=name,
                    match="vocabulary",
                    description=f"the {field.replace('_', ' ')}: {', '.join(phrases)}",
                    categories=phrases,
                    field=field,
                    values={v: (v,) for v in phrases},
                )
            )
    return found
