"""Which facts are alike, so that what a person says of one is suggested for the others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..retrievers.precedents.loci import company_key, content, locus_of, row_tokens
from ..signatures.types import Fact

NEAR = (60, 30)
"""Characters before and after a number in running text whose words say what it is."""

Key = tuple[object, ...]


def close_key(fact: Fact) -> Key | None:
    """What facts share that one tag fits with near certainty: datatype, the whole row header, the column
    header without dates and the kind of period; of a mention its words, of a number in a text the words
    around it. Rows of numbers and dates alone ("$750 3.5%, Feb 2024") are alike within their table. None
    where there is nothing to compare."""
    if fact.modality == "table":
        locus = locus_of(fact)
        if not locus.chain:
            header = fact.row_header or ""
            inside = re.search(rf"(?<![\d.,]){re.escape(fact.value)}(?![.,]?\d)", header) is not None
            where = (fact.context.context_id, locus.column, locus.period, inside)
            return ("wordless", fact.datatype, *where) if header else None
        return ("cell", fact.datatype, locus.chain, locus.column, locus.period)
    locus = locus_of(fact)
    if locus.mention:
        return ("mention", fact.datatype, locus.mention)
    start, end = fact.mention_start or 0, fact.mention_end or 0
    text = fact.context.text
    before = content(text[max(0, start - NEAR[0]) : start])
    after = content(text[end : end + NEAR[1]])
    return ("text", fact.datatype, tuple(before), tuple(after)) if before or after else None


def loose_key(fact: Fact) -> Key | None:
    """What facts share that one tag often fits: datatype and the innermost row header of a cell."""
    if fact.modality != "table":
        return None
    header, _ = row_tokens(fact.row_header or "")
    return ("row", fact.datatype, header) if header else None


def numbered(facts: Sequence[Fact]) -> tuple[list[list[int]], int]:
    """For each fact four numbers: of the facts that are closely alike in its company, loosely alike in it,
    and the same among all companies; equal numbers are alike, -1 is like none. Also how many there are."""
    numbers: dict[Key, int] = {}

    def of(key: Key | None, *whose: str) -> int:
        return -1 if key is None else numbers.setdefault((*whose, *key), len(numbers))

    found = []
    for fact in facts:
        whose = company_key(fact.company or "")
        close, loose = close_key(fact), loose_key(fact)
        found.append([of(close, whose), of(loose, whose), of(close, "", "any"), of(loose, "", "any")])
    return found, len(numbers)
