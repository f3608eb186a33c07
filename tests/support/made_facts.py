"""Facts for tests: a cell of a table, and a mention in a text."""

from __future__ import annotations

from typing import Any

from abduce.signatures.types import Fact, SourceContext


def cell(
    fact_id: str = "f",
    row: str | None = None,
    column: str | None = "2024",
    *,
    value: str = "100",
    filing: str | None = None,
    context_id: str | None = None,
    text: str = "<table></table>",
    above: str = "",
    datatype: str | None = "monetaryItemType",
    **fields: Any,
) -> Fact:
    """A cell; its source context is named after its filing unless ``context_id`` or ``context`` is given."""
    id_ = context_id or f"{filing}-t"
    context = SourceContext(context_id=id_, text=text, modality="table", preceding_text=above)
    given = {"context": context, "row_header": row, "column_header": column} | fields
    return Fact(fact_id=fact_id, value=value, datatype=datatype, filing_id=filing, **given)


def mention(
    fact_id: str,
    text: str,
    words: str,
    *,
    filing: str | None = None,
    context_id: str | None = None,
    **fields: Any,
) -> Fact:
    """A mention: the first place of ``words`` in a text."""
    start = text.index(words)
    return Fact(
        fact_id=fact_id,
        value=words,
        context=SourceContext(context_id=context_id or f"{filing}-p{fact_id}", text=text),
        modality="text",
        mention_start=start,
        mention_end=start + len(words),
        filing_id=filing,
        **fields,
    )
