"""The same filing under another identity: told from the facts themselves.

A filing declares what it is, another copy of it (facts of a data set, a reviewed tags file, a page without
tags) may carry an identity of its own. The facts of the same filing stand at the same loci with the same
values: of the six filings of the data folder and the evaluation facts drawn from them all are shared, of
filings that follow one another (last year's columns again) at most 67%.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..retrievers.loci import company_key, same_company, value_key
from ..retrievers.precedents import Tagged
from ..signatures.types import Fact

SHARED = 0.8
"""Two filings are the same where the smaller shares at least so much of its facts with the other."""

FEWEST = 20
"""Distinct facts that either must have: fewer tell nothing."""

_DECLARED = re.compile(r"[^ ]+ [^ ]+ \d{4}-\d\d-\d\d( amended)?$")

Key = tuple[str, ...]


def fact_key(fact: Fact) -> Key:
    """What a fact has in common with itself in another copy of its filing: its value, and the innermost
    headers of a cell or the letters beside a mention."""
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


class KnownFilings:
    """The filings of the facts that are to be tagged.

    Args:
        facts: those facts; one without ``filing_id`` belongs to none.
    """

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.keys: dict[str, set[Key]] = {}
        self.companies: dict[str, str] = {}
        for fact in facts:
            if fact.filing_id is not None:
                self.keys.setdefault(fact.filing_id, set()).add(fact_key(fact))
                self.companies[fact.filing_id] = company_key(fact.company or "")

    def unify(self, tagged: Sequence[Tagged]) -> list[Tagged]:
        """The precedents, those of a filing that is one of these under its identity here."""
        names = self.names(tagged)
        return [self._renamed(t, names[t.fact.filing_id]) if t.fact.filing_id in names else t for t in tagged]

    def _renamed(self, one: Tagged, ours: str) -> Tagged:
        fact = one.fact
        if fact.filing_id is None and fact_key(fact) not in self.keys[ours]:
            return one  # what says no filing may be of several
        return Tagged(fact.model_copy(update={"filing_id": ours}), one.concept)

    def names(self, tagged: Iterable[Tagged]) -> dict[str | None, str]:
        """The filing ids of precedents that are one of these filings, to the id that it has here."""
        others: dict[str | None, list[Fact]] = {}
        for one in tagged:
            others.setdefault(one.fact.filing_id, []).append(one.fact)
        found: dict[str | None, str] = {}
        for theirs, facts in others.items():
            if theirs in self.keys:
                continue
            company = company_key(facts[0].company or "")
            near = [ours for ours in self.keys if self._may_be(ours, theirs, company)]
            if not near:
                continue
            keys = {fact_key(fact) for fact in facts}
            twin = next((ours for ours in near if _same(keys, self.keys[ours])), None)
            if twin is not None:
                found[theirs] = twin
        return found

    def _may_be(self, ours: str, theirs: str | None, company: str) -> bool:
        if theirs is not None and _DECLARED.match(ours) and _DECLARED.match(theirs):
            return False  # both say what they are, and it differs
        own = self.companies[ours]
        return not own or not company or same_company(own, company)


def _same(a: set[Key], b: set[Key]) -> bool:
    fewer = min(len(a), len(b))
    return fewer >= FEWEST and len(a & b) >= SHARED * fewer
