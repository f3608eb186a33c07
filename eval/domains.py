"""What differs between domains: the files, the schema and the serializer. Programs know none of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..programs.serialize import Serializer


@dataclass(frozen=True)
class Domain:
    """One evidence-to-taxonomy domain.

    Args:
        name: its folder in the data layout.
        taxonomy: name of its inventory (``us-gaap-2024``).
        inventory: the inventory's file in the folder.
        schema: name of the dimension schema.
        indexed: parts of a concept that make its document text.
        serializer: how facts become text.
        splits: split name to the file of its facts.
        definition_field: the inventory's field that holds the definition, where it is not usual.
        keep: a boolean field of the inventory; only concepts that have it true are kept.
    """

    name: str
    taxonomy: str
    inventory: str
    schema: str
    indexed: tuple[str, ...]
    serializer: Serializer = field(default_factory=Serializer)
    splits: Mapping[str, str] = field(default_factory=dict)
    definition_field: str | None = None
    keep: str | None = None


FINANCE = Domain(
    name="finance",
    taxonomy="us-gaap-2024",
    inventory="concepts.jsonl.gz",
    schema="us-gaap",
    indexed=("label", "definition"),
    splits={
        "dev": "facts_dev.jsonl.gz",
        "test": "facts_test.jsonl.gz",
        "cases": "facts_cases.jsonl.gz",
        "prior": "facts_prior.jsonl.gz",
        "fincl": "FinCL-eval-subset.csv",
    },
)

DOMAINS = {domain.name: domain for domain in (FINANCE,)}
