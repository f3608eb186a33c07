"""Already-tagged facts from files: JSONL, tagged filings, and reviewed tags.csv files."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path

from ..data import bundled
from ..data.columns import Columns
from ..data.domains import Domain
from ..data.example import fingerprint
from ..data.facts import read_contexts, read_facts
from ..data.folder import DataFolder, file_fingerprint
from ..data.text_rows import is_text_rows, read_text_rows
from ..retrievers.concept_ids import strip_namespace
from ..retrievers.errors import InputError
from ..retrievers.precedents.index import Precedents, Tagged
from ..retrievers.precedents.loci import same_company
from ..retrievers.precedents.stored import StoredPrecedents, open_precedents
from ..retrievers.taxonomy import Taxonomy
from ..signatures.types import Fact
from .log import log_note
from .same_filing import KnownFilings
from .tags_file import is_tags, read_tags

FACTS = frozenset({".jsonl", ".ndjson"})
TAGS = frozenset({".csv", ".tsv", ".xlsx"})

SHOWN = 5
"""Names that a note lists."""


def read_precedents(
    path: str | Path,
    contexts: Path | None = None,
    domain: Domain | None = None,
    on_note: Callable[[str], None] = log_note,
    columns: Columns | None = None,
) -> Iterator[Tagged]:
    """The tagged facts of a file.

    Args:
        path: facts with ``gold`` (.jsonl), a filing with inline-XBRL tags (.htm), or a reviewed tags.csv of
            ``abduce tag`` (lines whose concept was emptied are passed over).
        contexts: source contexts of the facts, if they are neither inline nor in a file next to it.
        domain: the domain whose field names a facts file uses.
        on_note: called with one line per note (such as another encoding).
        columns: the column names of a table of tagged texts; such a table is also accepted.

    Raises:
        InputError: unreadable, an unsupported format, or no tagged fact.
    """
    from ..documents.read import HTML, kind_of

    path = Path(path)
    kind = kind_of(path)
    if kind in HTML:
        found = _from_filing(path)
    elif columns is not None and _is_rows(path, kind, columns):
        found = _from_rows(path, columns)
    elif kind in FACTS:
        found = _from_facts(path, contexts, domain)
    elif kind in TAGS:
        found = read_tags(path, on_note)
    else:
        raise InputError("is no precedents file: give .jsonl, .htm or tags as .csv or .xlsx", file=path)
    empty = True
    for one in found:
        empty = False
        yield one
    if empty:
        raise InputError("has no tagged facts", file=path)


def _from_facts(path: Path, contexts: Path | None, domain: Domain | None) -> Iterator[Tagged]:
    fields = domain.context_fields if domain is not None else None
    known = None if contexts is None else read_contexts(contexts, fields)
    for example in read_facts(path, known, need_gold=True, domain=domain):
        yield Tagged(example.inputs["fact"], strip_namespace(str(example.gold)))


def _is_rows(path: Path, kind: str, columns: Columns) -> bool:
    """Whether a file is a table of texts rather than a file with its own layout."""
    return is_text_rows(path, columns) and not (kind in TAGS and is_tags(path))


def _from_rows(path: Path, columns: Columns) -> Iterator[Tagged]:
    for example in read_text_rows(path, columns, need_gold=True):
        yield Tagged(example.inputs["fact"], str(example.gold))


def _from_filing(path: Path) -> Iterator[Tagged]:
    from ..documents.read import read_document

    document = read_document(path)
    for fact in document.facts:
        concept = document.gold.get(fact.fact_id)
        if concept is not None and fact.fact_id not in document.own_tags:
            yield Tagged(fact, concept)


@cache
def bundled_precedents(domain: str) -> StoredPrecedents | None:
    """The bundled tagged facts of a domain, or None."""
    folder = Path(str(resources.files(bundled))) / domain / "precedents"
    return open_precedents(folder) if folder.is_dir() else None


class PrecedentSource:
    """Precedents, read and indexed on first use; later calls return the same index.

    Args:
        paths: what :func:`read_precedents` reads.
        contexts: source contexts of facts files, if they are neither inline nor in a file next to them.
        domain: the domain whose field names facts files use.
        facts: the facts to tag, if known. Another copy of their filing among the precedents is recognised by
            content and takes the same identity, so it never votes.
        company: another name of their company, from the user.
        on_note: called with one line per note, once the precedents are read.
        given: whether they are the user's own, not those of a data folder.
        stored: an index that also votes.
        others: leave out the facts' company, also under the name that a stored copy of their filing uses.
        columns: the column names of tables of tagged texts.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        contexts: Path | None = None,
        domain: Domain | None = None,
        facts: Sequence[Fact] = (),
        company: str | None = None,
        on_note: Callable[[str], None] = log_note,
        given: bool = True,
        stored: StoredPrecedents | None = None,
        others: bool = False,
        columns: Columns | None = None,
    ) -> None:
        self.paths, self.contexts, self.domain, self.facts = list(paths), contexts, domain, facts
        self.company, self.on_note, self.given = company, on_note, given
        self.stored, self.others, self.columns = stored, others, columns
        self.concepts: Counter[str] = Counter()
        self._built: Precedents | None = None
        self._lock = threading.Lock()

    def for_facts(
        self,
        facts: Sequence[Fact],
        company: str | None = None,
        on_note: Callable[[str], None] | None = None,
        others: bool = False,
    ) -> PrecedentSource:
        """The same source for the facts to tag, with the user's name for their company and a callback for
        notes.
        """
        told = on_note or self.on_note
        made = PrecedentSource(
            self.paths, self.contexts, self.domain, facts, company, told, self.given, self.stored, others
        )
        made.columns = self.columns
        return made

    def __call__(self) -> Precedents:
        with self._lock:
            if self._built is None:
                parts = [*([self._read()] if self.paths else []), *([self._opened()] if self.stored else [])]
                if not parts:
                    raise InputError("there are no precedents")
                self._built = parts[0] if len(parts) == 1 else parts[0].beside(parts[1])
            return self._built

    def _opened(self) -> Precedents:
        """The stored index without the filings to be tagged."""
        assert self.stored is not None
        index = self.stored.index
        twins = KnownFilings(self.facts, self.company).twins(self.stored.filings) if self.facts else []
        if not twins:
            return index
        names = ", ".join(f.name for f in twins[:3]) + (", ..." if len(twins) > 3 else "")
        self.on_note(f"{names} of the bundled filings is tagged itself: left out")
        gone = {f.name for f in twins}
        if self.others:
            companies = {f.company for f in twins}
            gone |= {
                f.name for f in self.stored.filings if any(same_company(f.company, c) for c in companies)
            }
        return index.without(gone)

    def _read(self) -> Precedents:
        files = [
            list(read_precedents(p, self.contexts, self.domain, self.on_note, self.columns))
            for p in self.paths
        ]
        self.concepts = Counter(one.concept for one in itertools.chain.from_iterable(files))
        if not self.facts:
            return Precedents(itertools.chain.from_iterable(files))
        found = KnownFilings(self.facts, self.company).unify(files)
        for line in found.notes():
            self.on_note(line)
        return Precedents(found.tagged, united=found.united)

    @property
    def companies(self) -> bool:
        """Whether any precedent names a company; otherwise companies have no effect."""
        index = self()
        return index.nameless < len(index)

    def check_named(self) -> None:
        """Note how many precedents scope ``others`` leaves out because they name no company.

        Raises:
            InputError: none of them names a company.
        """
        index = self()
        if index.nameless == len(index):
            raise InputError(
                "no precedent says whose it is, so scope 'others' leaves all out: name companies"
            )
        if index.nameless:
            left_out = f"{index.nameless:,} of {len(index):,} precedents do not say whose they are"
            self.on_note(f"{left_out}: left out by scope 'others'")

    def tell_unknown(self, taxonomy: Taxonomy) -> None:
        """Note which concepts of the user's precedents the taxonomy lacks; they are never assigned."""
        self()
        lacking = [concept for concept in self.concepts if concept not in taxonomy]
        if self.given and lacking:
            count = sum(self.concepts[concept] for concept in lacking)
            shown = ", ".join(lacking[:SHOWN]) + (", ..." if len(lacking) > SHOWN else "")
            are = "precedents have concepts" if count > 1 else "precedent has a concept"
            self.on_note(f"{count:,} {are} that {taxonomy.name} lacks, and are skipped: {shown}")

    @property
    def fingerprint(self) -> str:
        """A hash of the files' contents."""
        files = [*self.paths, *([self.contexts] if self.contexts else [])]
        about = [self.stored.about] if self.stored is not None else []
        return fingerprint([*(file_fingerprint(path) for path in files), *about])


def domain_precedents(folder: DataFolder, domain: Domain) -> PrecedentSource | None:
    """The already-tagged facts of a data folder (of the splits that it has), or None."""
    paths = []
    for split in domain.precedents:
        with suppress(InputError):
            paths.append(folder.file(domain.name, domain.splits[split]))
    try:
        contexts = folder.file(domain.name, "contexts.jsonl.gz")
    except InputError:
        return None
    return PrecedentSource(paths, contexts, domain, given=False) if paths else None
