"""What can be tagged: a document, a file of facts, or facts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..data.domains import Domain
from ..data.example import Example
from ..data.facts import read_contexts, read_facts
from ..data.folder import DataFolder
from ..documents.document import Document
from ..documents.read import SUFFIXES, kind_of, read_document, refusal
from ..documents.source import open_bytes
from ..retrievers.errors import InputError
from ..retrievers.precedents.loci import company_key
from ..retrievers.taxonomy import Taxonomy
from ..signatures.types import Fact
from .golds import Golds

FACTS = frozenset({".jsonl", ".ndjson", ".csv", ".tsv"})
"""What facts are read from (a ``.gz`` may follow)."""

What = str | Path | Document | Iterable[Fact]
"""A document's path, a facts file's path, a document that was read, or facts."""


def is_document(path: Path) -> bool:
    """Whether a file is a document to read facts from, not a file of facts: HTML, Markdown, a workbook, or a
    CSV file without a ``fact_id`` column."""
    kind = kind_of(path)
    if kind in (".csv", ".tsv"):
        with open_bytes(path) as stream:
            return b"fact_id" not in stream.read(4096).split(b"\n", 1)[0]
    return kind in SUFFIXES


@dataclass(frozen=True)
class Given:
    """Facts to tag, and what is known beside them.

    Args:
        facts: at least one.
        name: what they are called in messages.
        file: where they come from; None: they were handed over.
        document: the document that they are from, where there is one.
        gold: the concepts of a facts file, by fact id. No method sees them.
        skipped: what was wrong with facts that were passed over.
        notes: what the user should know.
    """

    facts: list[Fact]
    name: str
    file: Path | None = None
    document: Document | None = None
    gold: Mapping[str, str] = field(default_factory=dict)
    skipped: tuple[InputError, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def unlabelled(self) -> Collection[str]:
        """Ids of facts in rows without a label of their own."""
        return self.document.unlabelled if self.document is not None else frozenset()

    def golds(self, taxonomy: Taxonomy) -> Golds:
        """The known concepts against a taxonomy; raises InputError where there are none to score."""
        if self.document is not None:
            return Golds.of(self.document, taxonomy)
        return Golds.of_facts(self.gold, self.name, taxonomy)


def read_given(
    what: What | None,
    folder: DataFolder,
    domain: Domain,
    *,
    company: str | None = None,
    contexts: Path | None = None,
    skip_bad: bool = False,
) -> Given:
    """What there is to tag.

    Args:
        what: see :data:`What`; None: the first split of the data folder.
        folder, domain: the data folder and whose facts it holds.
        company: whose facts they are, where they do not say so themselves.
        contexts: source contexts of a facts file, where they are not inline or beside it.
        skip_bad: pass over bad facts of a file.

    Raises:
        InputError: unreadable, of another kind, or without a fact.
    """
    if isinstance(what, Document):
        return _of_document(what)
    if isinstance(what, str | Path):
        path = Path(what)
        if is_document(path):
            return _of_document(read_document(path, company), path)
        if kind_of(path) not in FACTS:
            kinds = f"{', '.join(sorted(FACTS))} (facts), {', '.join(sorted(SUFFIXES))} (documents)"
            raise InputError(refusal(path, kinds), file=path)
        bad: list[InputError] | None = [] if skip_bad else None
        known = None if contexts is None else read_contexts(contexts)
        return _of_examples(
            list(read_facts(path, known, bad)), path.name.partition(".")[0], path, bad, company
        )
    if what is None:
        split = next(iter(domain.splits))
        bad = [] if skip_bad else None
        return _of_examples(folder.facts(domain, split, bad), f"{domain.name} {split}", None, bad, company)
    facts = list(what)
    wrong = next((f for f in facts if not isinstance(f, Fact)), None)
    if wrong is not None or not facts:
        raise InputError(f"not a fact: {wrong!r:.80}" if facts else "there are no facts")
    repeated = len({f.fact_id for f in facts}) < len(facts)
    if repeated:
        raise InputError("two facts have the same fact_id")
    return Given(_named(facts, company), "facts")


def _of_document(document: Document, path: Path | None = None) -> Given:
    return Given(list(document.facts), document.name, path, document, notes=tuple(document.notes))


def _of_examples(
    examples: list[Example], name: str, path: Path | None, bad: list[InputError] | None, company: str | None
) -> Given:
    if not examples:
        why = f": {len(bad)} are bad, the first: {bad[0]}" if bad else ""
        raise InputError(f"has no facts{why}", file=path)
    gold = {e.id: e.gold for e in examples if e.gold}
    facts = [e.inputs["fact"] for e in examples]
    return Given(_named(facts, company), name, path, gold=gold, skipped=tuple(bad or ()))


def _named(facts: list[Fact], company: str | None) -> list[Fact]:
    """The facts, those without a company as the given one's."""
    if not company_key(company or ""):
        return facts
    return [f if company_key(f.company or "") else f.model_copy(update={"company": company}) for f in facts]


def year_note(given: Given, taxonomy: Taxonomy) -> str:
    """What there is to say where a document uses the taxonomy of another year; else empty."""
    year = given.document.taxonomy_year if given.document is not None else None
    if not year or year in taxonomy.name or not re.search(r"20\d\d", taxonomy.name):
        return ""
    return (
        f"the document uses the {year} taxonomy; it is tagged with {taxonomy.name}. Build the right "
        "one with: abduce data build us-gaap --from DIR"
    )
