"""The differences between domains: files, schema and serializer. Programs do not depend on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..programs.serialize import Serializer
from ..retrievers.taxonomy import Taxonomy


@dataclass(frozen=True)
class Domain:
    """One evidence-to-taxonomy domain.

    Args:
        name: its folder in the data layout.
        taxonomy: name of its inventory (``us-gaap-2024``).
        inventory: the inventory's file in the folder.
        schema: name of the dimension schema.
        profiles: the file of the inventory's category profiles in the folder, if any.
        indexed: the parts of a concept in its document text.
        serializer: how facts become text.
        splits: split name to the file of its facts.
        load: reads the inventory file under the taxonomy's name, either whole or the part that the evaluation
            ranks; None: any JSONL or CSV taxonomy, always whole.
        fact_fields, context_fields: map our field names to those in the domain's files.
        fact_constants: fields that are the same for every fact of the domain and not in its files.
        groups: map an example's group (for breakdowns in reports) to a field of its fact.
        apart: group values whose examples also get a separate table.
        precedents: splits whose facts serve as precedents.
        judged: splits that experiments evaluate: nothing is fitted on their companies (or cases).
        companies: whether its facts belong to companies, which scope ``others`` leaves out.
        numeric: the datatypes whose values are printed as numbers: the candidates for a number with an
            unknown datatype.
    """

    name: str
    taxonomy: str
    inventory: str
    schema: str
    indexed: tuple[str, ...]
    serializer: Serializer = field(default_factory=Serializer)
    splits: Mapping[str, str] = field(default_factory=dict)
    profiles: str | None = None
    load: Callable[[Path, str, bool], Taxonomy] | None = None
    fact_fields: Mapping[str, str] = field(default_factory=dict)
    context_fields: Mapping[str, str] = field(default_factory=dict)
    fact_constants: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    apart: Mapping[str, str] = field(default_factory=dict)
    precedents: tuple[str, ...] = ()
    judged: tuple[str, ...] = ()
    companies: bool = True
    numeric: frozenset[str] = frozenset()


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
    precedents=("prior",),
    judged=("dev", "test"),
    numeric=frozenset(
        f"{name}ItemType"
        for name in (
            "monetary percent shares perShare perUnit integer positiveInteger nonNegativeInteger pure "
            "decimal float double fraction duration volume area mass weight length energy power flow memory "
            "temperature pressure speed frequency ghgEmissions"
        ).split()
    ),
)


def _load_icd10cm(path: Path, name: str, whole: bool) -> Taxonomy:
    from .icd10cm import load_inventory

    return load_inventory(path, name, whole)


CLINICAL = Domain(
    name="clinical",
    taxonomy="icd10cm-2018",
    inventory="icd10cm_fy2018_taxonomy.jsonl.gz",
    schema="icd10cm",
    profiles="icd10cm_fy2018_profiles.jsonl.gz",
    indexed=("id", "label", "definition"),
    serializer=Serializer(before=0, after=0),
    splits={"dev": "facts_dev.jsonl.gz", "test": "facts_test.jsonl.gz", "train": "facts_train.jsonl.gz"},
    load=_load_icd10cm,
    fact_fields={"value": "mention", "context_id": "case_id", "gold": "gold_code"},
    context_fields={"context_id": "case_id", "source_context": "text_en"},
    fact_constants={"modality": "text", "datatype": "diagnosis"},
    groups={"tier": "relocation_tier"},
    apart={"tier": "A"},
    precedents=("train", "dev"),
    judged=("dev", "test"),
    companies=False,
)

DOMAINS = {domain.name: domain for domain in (FINANCE, CLINICAL)}
