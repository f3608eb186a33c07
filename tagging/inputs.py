"""Inputs of tagging: a document, a file of facts, or facts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..data.columns import Columns
from ..data.domains import Domain
from ..data.example import Example
from ..data.facts import keep_facts, read_contexts
from ..data.folder import DataFolder
from ..data.kept import FactsOf
from ..data.text_rows import is_text_rows, read_text_rows
from ..documents.document import Document
from ..documents.read import SUFFIXES, kind_of, read_document, refusal
from ..documents.source import open_bytes
from ..retrievers.errors import InputError
from ..retrievers.precedents.loci import company_key
from ..retrievers.taxonomy import Taxonomy
from ..signatures.types import Fact
from .golds import Golds

FACTS = frozenset({".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"})
"""What facts are read from (a ``.gz`` may follow, but not of Parquet)."""

DEFAULT = Columns()

What = str | Path | Document | Iterable[Fact]
"""A document's path, a facts file's path, a document that was read, or facts."""


def is_document(path: Path) -> bool:
    """Whether a file is a document rather than a file of facts: HTML, Markdown, a workbook, or a CSV file
    without a ``fact_id`` column.
    """
    kind = kind_of(path)
    if kind in (".csv", ".tsv"):
        with open_bytes(path) as stream:
            return b"fact_id" not in stream.read(4096).split(b"\n", 1)[0]
    return kind in SUFFIXES


@dataclass(frozen=True)
class Given:
    """Facts to tag, with what is known about them.

    Args:
        facts: at least one.
        name: their name in messages.
        file: their file; None if they were passed as objects.
        document: their document, if any.
        examples: the examples of a facts file, with their known concepts. No method sees these.
        skipped: the errors of facts that were skipped.
        notes: notes for the user.
    """

    facts: Sequence[Fact]
    name: str
    file: Path | None = None
    document: Document | None = None
    examples: Sequence[Example] = ()
    skipped: tuple[InputError, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def gold(self) -> Mapping[str, str]:
        """The known concepts by fact id."""
        if self.document is not None:
            return self.document.gold
        return {e.id: e.gold for e in self.examples if e.gold}

    @property
    def unlabelled(self) -> Collection[str]:
        """Ids of facts in rows without a label."""
        return self.document.unlabelled if self.document is not None else frozenset()

    def golds(self, taxonomy: Taxonomy) -> Golds:
        """The known concepts, checked against a taxonomy; raises InputError if there are none to score."""
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
    columns: Columns = DEFAULT,
) -> Given:
    """Read the input.

    Args:
        what: see :data:`What`; None: the first split of the data folder.
        folder, domain: the data folder, and the domain of its facts.
        company: the company of facts that name none.
        contexts: source contexts of a facts file, if they are neither inline nor in a file next to it.
        skip_bad: skip bad facts of a file.
        columns: the column names of a table of texts.

    Raises:
        InputError: unreadable, an unsupported format, or no facts.
    """
    if isinstance(what, Document):
        return _of_document(what)
    if isinstance(what, str | Path):
        path = Path(what)
        bad: list[InputError] | None = [] if skip_bad else None
        if is_text_rows(path, columns):
            name = path.name.partition(".")[0]
            return _of_examples(list(read_text_rows(path, columns, bad)), name, path, bad, company)
        if is_document(path):
            return _of_document(read_document(path, company), path)
        if kind_of(path) not in FACTS:
            kinds = f"{', '.join(sorted(FACTS))} (facts), {', '.join(sorted(SUFFIXES))} (documents)"
            raise InputError(refusal(path, kinds), file=path)
        known = None if contexts is None else read_contexts(contexts)
        return _of_examples(keep_facts(path, known, bad), path.name.partition(".")[0], path, bad, company)
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
    return Given([_named(fact, company) for fact in facts], "facts")


def _of_document(document: Document, path: Path | None = None) -> Given:
    return Given(list(document.facts), document.name, path, document, notes=tuple(document.notes))


def _of_examples(
    examples: Sequence[Example],
    name: str,
    path: Path | None,
    bad: list[InputError] | None,
    company: str | None,
) -> Given:
    if not examples:
        why = f": {len(bad)} are bad, the first: {bad[0]}" if bad else ""
        raise InputError(f"has no facts{why}", file=path)
    facts = FactsOf(examples, partial(_named, company=company))
    return Given(facts, name, path, examples=examples, skipped=tuple(bad or ()))


def _named(fact: Fact, company: str | None) -> Fact:
    """The fact, with the given company if it has none."""
    if not company_key(company or "") or company_key(fact.company or ""):
        return fact
    return fact.model_copy(update={"company": company})


def year_note(given: Given, taxonomy: Taxonomy) -> str:
    """A note if a document uses the taxonomy of another year; otherwise empty."""
    year = given.document.taxonomy_year if given.document is not None else None
    if not year or year in taxonomy.name or not re.search(r"20\d\d", taxonomy.name):
        return ""
    return (
        f"the document uses the {year} taxonomy; it is tagged with {taxonomy.name}. Build the right "
        "one with: abduce data build us-gaap --from DIR"
    )
