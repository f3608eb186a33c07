"""Recognise the same filing under another identity, by its facts.

A filing states its identity. Another copy (facts of a data set, a reviewed tags file, a page without tags)
may have another identity or none, and may spell the company differently. Copies have the same values at the
same loci. The six filings of the data folder share all of the evaluation facts drawn from them; consecutive
filings (which repeat last year's columns) share at most 67%.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..retrievers.precedents.columns import content_key, declared_end
from ..retrievers.precedents.index import Tagged
from ..retrievers.precedents.loci import company_key, same_company, value_key
from ..retrievers.precedents.stored import Filing
from ..retrievers.precedents.tokensets import key_of
from ..signatures.types import Fact

SHARED = 0.8
"""Two filings are the same where the smaller shares at least so much of its facts with the other."""

FEWEST = 20
"""Distinct facts that the smaller must have for :data:`SHARED`; of fewer, all must be shared."""

LEAST = 3
"""Fewer distinct facts tell nothing of a whole filing: what stands in the same text is left out alone."""

_PREFIX = re.compile(r"([0-9a-f]{16})-\d{4}")

Key = tuple[str, ...]


def fact_key(fact: Fact) -> Key:
    """A key that a fact keeps in another copy of its filing: its value, and the innermost headers of a cell
    or the letters around a mention.
    """
    value = value_key(fact.value)
    if fact.modality == "table":
        leaf = (fact.row_header or "").split(" | ")[-1]
        return ("table", value, _letters(leaf), _letters(fact.column_header or ""))
    start, end = fact.mention_start or 0, fact.mention_end or 0
    text = fact.context.text
    before, after = _letters(text[max(0, start - 40) : start]), _letters(text[end : end + 40])
    return ("text", value, before[-20:], after[:20])


def _letters(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


def content_prefix(*ids: str) -> str | None:
    """The content hash at the start of a document's fact and context ids; None if no id has one."""
    return next((match[1] for i in ids if (match := _PREFIX.match(i))), None)


@dataclass
class Unified:
    """Precedents under the identities of the filings to be tagged.

    ``left_out`` counts the precedents of those filings, by the filing's name in its file. ``united`` are
    pairs of names of the same company. ``later`` counts precedents of the companies' later filings, which
    scope ``own`` leaves out.
    """

    tagged: list[Tagged]
    left_out: Counter[str] = field(default_factory=Counter)
    united: list[tuple[str, str]] = field(default_factory=list)
    later: int = 0

    def notes(self) -> Iterator[str]:
        """Notes for the user, one line each."""
        count = self.left_out.total()
        if count:
            are = "precedents are" if count > 1 else "precedent is"
            first = ", ".join(list(self.left_out)[:3]) + (", ..." if len(self.left_out) > 3 else "")
            yield f"{count:,} {are} of a filing that is tagged itself ({first}): left out"
        for name, other in self.united:
            yield f"{other} is taken as another name of {name}"
        if self.later:
            are = "precedents are" if self.later > 1 else "precedent is"
            yield f"{self.later:,} {are} of the company's filings of later periods: left out"


class KnownFilings:
    """The filings of the facts to be tagged.

    Args:
        facts: those facts; one without ``filing_id`` belongs to none.
        also: another name of their company, from the user.
    """

    def __init__(self, facts: Iterable[Fact], also: str | None = None) -> None:
        self.keys: dict[str, set[Key]] = {}
        self.companies: dict[str, str] = {}
        self.also = also or ""
        self._prefixes: dict[str, str] = {}
        self._ids: dict[tuple[str, str], str] = {}
        self._texts: dict[str, set[bytes]] = {}
        self._having: dict[Key, list[str]] = {}
        contexts: dict[str, dict[int, Fact]] = {}
        for fact in facts:
            if fact.filing_id is None:
                continue
            ours, key = fact.filing_id, fact_key(fact)
            keys = self.keys.setdefault(ours, set())
            if key not in keys:
                keys.add(key)
                self._having.setdefault(key, []).append(ours)
            if company_key(fact.company or ""):
                self.companies.setdefault(ours, fact.company or "")
            self._ids[fact.fact_id, value_key(fact.value)] = ours
            if prefix := content_prefix(fact.fact_id, fact.context.context_id):
                self._prefixes[prefix] = ours
            contexts.setdefault(ours, {})[id(fact.context)] = fact
        for ours, found in contexts.items():
            if len(self.keys[ours]) < LEAST:
                self._texts[ours] = {_text(fact) for fact in found.values()} - {b""}

    def unify(self, files: Sequence[Sequence[Tagged]]) -> Unified:
        """The precedents of some files; those of a known filing have its identity."""
        found = Unified([])
        if not self.keys:
            found.tagged = [one for tagged in files for one in tagged]
            return found
        declared: dict[str, list[Tagged]] = {}
        for tagged in files:
            nameless: list[Tagged] = []
            for one in tagged:
                theirs = one.fact.filing_id or content_prefix(one.fact.fact_id, one.fact.context.context_id)
                (nameless if theirs is None else declared.setdefault(theirs, [])).append(one)
            self._settle(nameless, self._of_a_file(nameless), found)
        for theirs, group in declared.items():
            self._settle(group, self._of_a_filing(theirs, group), found)
        companies = dict.fromkeys(self.companies.values())
        if company_key(self.also):
            found.united += [(c, self.also) for c in companies if not same_company(c, self.also)]
        found.united = list(dict.fromkeys(found.united))
        found.later = self._later(found)
        return found

    def twins(self, filings: Iterable[Filing]) -> list[Filing]:
        """The filings of a stored index that are the same as a known one."""
        ours = {
            name: np.array(sorted({_short(key) for key in keys}), dtype=np.uint32)
            for name, keys in self.keys.items()
        }
        return [filing for filing in filings if any(self._twin(filing, n, keys) for n, keys in ours.items())]

    def _twin(self, filing: Filing, ours: str, keys: npt.NDArray[np.uint32]) -> bool:
        if filing.name == ours:
            return True
        fewer = min(len(filing.keys), len(keys))
        if fewer < LEAST or (declared_end(filing.name) and declared_end(ours)):
            return False
        return _mostly(fewer, len(np.intersect1d(filing.keys, keys, assume_unique=True)))

    def _settle(self, group: Sequence[Tagged], twins: Sequence[str | None], found: Unified) -> None:
        """Give precedents the identity of the known filing they belong to; None: no known one."""
        for one, ours in zip(group, twins, strict=True):
            fact, concept = one
            if ours is None:
                found.tagged.append(one)
                continue
            found.left_out[fact.filing_id or ours] += 1
            name = self.companies.get(ours)
            if name and company_key(fact.company or "") and not same_company(name, fact.company or ""):
                found.united.append((name, fact.company or ""))
            if fact.filing_id != ours:
                one = Tagged(fact.model_copy(update={"filing_id": ours}), concept)
            found.tagged.append(one)

    def _of_a_filing(self, theirs: str, group: Sequence[Tagged]) -> list[str | None]:
        """The known filing of each precedent of one filing."""
        if theirs in self.keys:
            return [theirs] * len(group)
        if theirs in self._prefixes:
            return [self._prefixes[theirs]] * len(group)
        keys = [fact_key(one.fact) for one in group]
        near = self._near(set(keys), theirs)
        twin = next((ours for ours, shared in near if self._same(set(keys), ours, shared)), None)
        if twin is not None:
            return [twin] * len(group)
        few = [ours for ours, _ in near if min(len(set(keys)), len(self.keys[ours])) < LEAST]
        return [self._in_a_text(one.fact, key, few) for one, key in zip(group, keys, strict=True)]

    def _in_a_text(self, fact: Fact, key: Key, few: Sequence[str]) -> str | None:
        """The known filing of a few facts that has the same fact in the same text."""
        for ours in few:
            if key in self.keys[ours]:
                texts = self._texts.get(ours)
                if texts is None or _text(fact) in texts:
                    return ours
        return None

    def _of_a_file(self, group: Sequence[Tagged]) -> list[str | None]:
        """The known filing of each precedent of a file without filing ids. If most of the file, or of a
        source context, is one known filing, all of it is; otherwise only the same facts are.
        """
        keys = [fact_key(one.fact) for one in group]
        ids = [self._ids.get((one.fact.fact_id, key[1])) for one, key in zip(group, keys, strict=True)]
        every, rest = set(keys), None
        for ours, shared in self._near(every):
            same = max(shared, sum(i == ours for i in ids))
            if self._same(every, ours, same):
                ids = [
                    i or (ours if key in self.keys[ours] else None) for i, key in zip(ids, keys, strict=True)
                ]
                if rest is None and same >= SHARED * len(every):
                    rest = ours
        ids = [i or rest for i in ids]
        contexts: dict[tuple[str, str], list[int]] = {}
        for i, one in enumerate(group):
            place = company_key(one.fact.company or ""), one.fact.context.context_id
            contexts.setdefault(place, []).append(i)
        for members in contexts.values():
            inside = {keys[i] for i in members}
            for ours, shared in self._near(inside):
                if self._same(inside, ours, shared):
                    for i in members:
                        ids[i] = ours
                    break
        return ids

    def _near(self, keys: set[Key], theirs: str | None = None) -> list[tuple[str, int]]:
        """The known filings that share facts and may be the same, with counts; most first. Two filings that
        both state their identity are compared by it alone.
        """
        found = Counter(ours for key in keys for ours in self._having.get(key, ()))
        says = bool(declared_end(theirs))
        return [(o, n) for o, n in found.most_common() if not (says and declared_end(o))]

    def _same(self, keys: set[Key], ours: str, shared: int) -> bool:
        return _mostly(min(len(keys), len(self.keys[ours])), shared)

    def _later(self, found: Unified) -> int:
        """How many precedents are of a filing whose period ended after those of all known filings of its
        company.
        """
        latest: dict[str, str] = {}
        for ours, name in self.companies.items():
            if end := declared_end(ours):
                latest[name] = max(end, latest.get(name, ""))
        names = {name: [name, *(b for a, b in found.united if a == name)] for name in latest}
        groups = Counter((t.fact.filing_id, t.fact.company or "") for t in found.tagged) if latest else {}
        return sum(
            count
            for (theirs, company), count in groups.items()
            if any(
                declared_end(theirs) > latest[name] and any(same_company(n, company) for n in names[name])
                for name in latest
            )
        )


def _mostly(fewer: int, shared: int) -> bool:
    """Whether two filings are the same, by the number of distinct facts of the smaller one and the shared
    ones.
    """
    return fewer >= LEAST and shared >= (SHARED if fewer >= FEWEST else 1.0) * fewer


def _short(key: Key) -> int:
    """32 bits of a key: enough to distinguish the few thousand facts of a filing."""
    return key_of(key) & 0xFFFFFFFF


def filings_of(tagged: Iterable[Tagged]) -> list[Filing]:
    """The precedents grouped by filing."""
    found: dict[str, tuple[str, set[int]]] = {}
    for fact, _ in tagged:
        if fact.filing_id is not None:
            found.setdefault(fact.filing_id, (fact.company or "", set()))[1].add(_short(fact_key(fact)))
    return [
        Filing(name, company, np.array(sorted(keys), dtype=np.uint32))
        for name, (company, keys) in found.items()
    ]


def _text(fact: Fact) -> bytes:
    return content_key(fact.context.text, fact.modality == "table")
