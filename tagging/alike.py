"""Groups of similar facts: a person's decision on one is a suggestion for the others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..retrievers.precedents.loci import company_key, content, locus_of, row_tokens
from ..signatures.types import Fact

NEAR = (60, 30)
"""Characters before and after a number in running text whose words say what it is."""

Key = tuple[object, ...]


def close_key(fact: Fact) -> Key | None:
    """A key for facts that almost surely have the same tag. Its parts are the datatype, the whole row header,
    the column header without dates, and the kind of period. For a mention it has the words; for a number in a
    text, the words around it. Rows with only numbers and dates ("$750 3.5%, Feb 2024") are compared only
    within their table. None if there is nothing to compare.
    """
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
    """A key for facts that often have the same tag: datatype and innermost row header of a cell."""
    if fact.modality != "table":
        return None
    header, _ = row_tokens(fact.row_header or "")
    return ("row", fact.datatype, header) if header else None


def numbered(facts: Sequence[Fact]) -> tuple[list[list[int]], int]:
    """Four group numbers for each fact, and how many groups there are. The groups are: close and loose within
    the fact's company, close and loose over all companies. Equal numbers mean similar facts; -1 means no
    group.
    """
    numbers: dict[Key, int] = {}

    def of(key: Key | None, *whose: str) -> int:
        return -1 if key is None else numbers.setdefault((*whose, *key), len(numbers))

    found = []
    for fact in facts:
        whose = company_key(fact.company or "")
        close, loose = close_key(fact), loose_key(fact)
        found.append([of(close, whose), of(loose, whose), of(close, "", "any"), of(loose, "", "any")])
    return found, len(numbers)
