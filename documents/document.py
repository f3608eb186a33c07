"""Blocks of a document to facts with their source contexts and, where the document has them, its tags."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ..retrievers.errors import InputError
from ..retrievers.taxonomy import strip_namespace
from ..signatures.types import Fact, SourceContext
from .datatypes import guess_cell
from .grid import Cell, Grid, Mark
from .headers import Located, locate
from .html import Block, Paragraph, TableBlock
from .mentions import Mention, find_mentions, guess_at
from .namespaces import is_standard

MAX_FACTS = 250_000
"""Facts of one document; one with more is refused, which bounds memory."""

MAX_PASSAGE = 20_000
"""Characters of a text context; a longer passage is cut into windows of as many, which overlap by half. Each
mention belongs to the one in the middle of which it stands."""


@dataclass
class Document:
    """What was read from one file.

    ``content`` identifies what the file holds; the ids of contexts and facts begin with it. ``filing_id``
    says which filing it is (:func:`~.identity.declared_filing`, or ``content`` where the document does not
    say). Neither depends on the file's name; ``name``, for messages, is that.
    ``gold`` maps the id of a fact that the document itself tags to its concept, without the namespace;
    ``namespaces`` says what the tags' prefixes stand for, ``tags`` maps the same ids to (namespace, concept);
    ``own_tags`` are those of a company's extension, not of a standard setter's taxonomy. ``unlabelled`` are
    the ids of facts in rows without a label of their own. ``counts`` says how many tables, passages, facts
    and unlabelled facts there are. ``notes`` are for the user.
    """

    content: str
    name: str = "document"
    facts: list[Fact] = field(default_factory=list)
    gold: dict[str, str] = field(default_factory=dict)
    own_tags: set[str] = field(default_factory=set)
    unlabelled: set[str] = field(default_factory=set)
    namespaces: dict[str, str] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)
    company: str | None = None
    taxonomy_year: str | None = None
    filing_id: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.filing_id = self.filing_id or self.content

    def add_blocks(self, blocks: Iterable[Block]) -> None:
        """Turn blocks into facts, in reading order.

        Raises:
            InputError: there are more than :data:`MAX_FACTS`.
        """
        for number, block in enumerate(blocks):
            context_id = f"{self.content}-{number:04d}"
            if isinstance(block, Paragraph):
                self._passage(block, context_id)
            else:
                self._table(block, context_id)
            if len(self.facts) > MAX_FACTS:
                raise InputError(f"the document {self.name!r} has more than {MAX_FACTS:,} numbers")

    @property
    def tags(self) -> dict[str, tuple[str, str]]:
        """Fact id to the namespace and the concept of its tag; an unbound prefix stands for itself."""
        return {i: (self._namespace(self.prefixes.get(i, "")), c) for i, c in self.gold.items()}

    def _namespace(self, prefix: str) -> str:
        return self.namespaces.get(prefix, prefix)

    def told(
        self,
        company: str | None,
        taxonomy_year: str | None,
        filing_id: str | None = None,
        namespaces: Mapping[str, str] | None = None,
    ) -> None:
        """Write down whose document it is, its taxonomy's year, which filing it is and what the prefixes of
        its tags stand for; that may be known only at its end."""
        self.namespaces = dict(namespaces or {})
        own = {p for p in set(self.prefixes.values()) if not is_standard(self._namespace(p))}
        self.own_tags = {i for i, p in self.prefixes.items() if p in own}
        self.company, self.taxonomy_year = company, taxonomy_year
        self.filing_id = filing_id or self.content
        about = {"company": company, "taxonomy_year": taxonomy_year, "filing_id": self.filing_id}
        self.facts = [f.model_copy(update=about) for f in self.facts]

    def _table(self, block: TableBlock, context_id: str) -> None:
        places = list(locate(block.grid))
        if not places:
            return
        self.counts["tables"] += 1
        context = SourceContext(
            context_id=context_id,
            text=markup(block.grid),
            modality="table",
            preceding_text=block.preceding_text,
        )
        around = f"{_headings(block.grid)} {block.preceding_text[-300:]}"
        for place in places:
            signs = block.grid.signs(place.cell)
            for number, (value, mark) in enumerate(_values(place.cell)):
                self._add_cell(place, number, value, mark, context, signs, around)

    def _add_cell(
        self,
        place: Located,
        number: int,
        value: str,
        mark: Mark | None,
        context: SourceContext,
        signs: tuple[bool, bool],
        around: str,
    ) -> None:
        cell = place.cell
        fact_id = f"{context.context_id}-r{cell.row}c{cell.col}"
        if mark is not None and len(cell.marks) > 1:
            fact_id += f"m{number}"
        if cell.worded and mark is not None:  # a number inside a label
            datatype = guess_at(cell.text, mark.start, mark.end)
        else:
            figure = cell.number.figure if cell.number else re.sub(r"[^\d.,]", "", value)
            datatype = guess_cell(
                place.row_header, place.column_header, *signs, figure.strip(".,") or "0", around
            )
        if not place.labelled:
            self.counts["unlabelled"] += 1
            self.unlabelled.add(fact_id)
        self._add(
            Fact(
                fact_id=fact_id,
                value=value,
                context=context,
                modality="table",
                datatype=datatype,
                row_header=place.row_header,
                column_header=place.column_header or None,
                row_index=cell.row,
                col_index=cell.col,
                filing_id=self.filing_id,
                company=self.company,
                taxonomy_year=self.taxonomy_year,
            ),
            mark,
        )

    def _passage(self, block: Paragraph, context_id: str) -> None:
        mentions = list(find_mentions(block.text, block.marks))
        if not mentions:
            return
        self.counts["passages"] += 1
        windows: dict[tuple[int, int], SourceContext] = {}
        for i, mention in enumerate(mentions):
            low, high = _window(len(block.text), mention)
            context = windows.get((low, high))
            if context is None:
                id_ = f"{context_id}-{len(windows)}" if len(block.text) > MAX_PASSAGE else context_id
                context = SourceContext(context_id=id_, text=block.text[low:high])
                windows[low, high] = context
            start, end = mention.start - low, mention.end - low
            fact = Fact(
                fact_id=f"{context_id}-m{i}",
                value=context.text[start:end],
                context=context,
                modality="text",
                datatype=mention.datatype,
                mention_start=start,
                mention_end=end,
                filing_id=self.filing_id,
                company=self.company,
                taxonomy_year=self.taxonomy_year,
            )
            self._add(fact, mention.mark)

    def _add(self, fact: Fact, mark: Mark | None) -> None:
        self.facts.append(fact)
        self.counts["facts"] += 1
        if mark is not None:
            self.gold[fact.fact_id] = strip_namespace(mark.name)
            self.counts["tagged"] += 1
            self.prefixes[fact.fact_id] = mark.name.partition(":")[0]


def _window(length: int, mention: Mention) -> tuple[int, int]:
    """Where the context of a mention begins and ends in a passage of this length.

    A mention that is longer than its window can hold makes the window longer.
    """
    if length <= MAX_PASSAGE:
        return 0, length
    step = MAX_PASSAGE // 2
    low = step * max(0, (mention.start - step // 2) // step)
    low = min(low, length - MAX_PASSAGE)
    return low, max(low + MAX_PASSAGE, mention.end)


def _values(cell: Cell) -> Iterator[tuple[str, Mark | None]]:
    """The values of a cell: every tagged one; else the number that it holds."""
    for mark in cell.marks:
        yield cell.text[mark.start : mark.end], mark
    if not cell.marks and cell.number is not None:
        yield cell.number.shown, None


def _headings(grid: Grid) -> str:
    """The words of a table's first rows and of its labels' units, for guessing units."""
    words = [c.text for row in grid.rows[:6] for c in row if c.number is None]
    return " ".join(words)[:1000]


def markup(grid: Grid) -> str:
    """A bare ``<table>`` of a grid's visible cells; gaps become empty cells."""
    out = ["<table>"]
    for r, row in enumerate(grid.rows):
        if not row:
            continue
        out.append("<tr>")
        col = 0
        for cell in row:
            if cell.row != r:
                col = max(col, cell.end)
                continue
            if cell.col > col:
                out.append(_td("", cell.col - col, 1))
            out.append(_td(html.escape(cell.text, quote=False), cell.colspan, cell.rowspan))
            col = cell.end
        out.append("</tr>")
    out.append("</table>")
    return "".join(out)


def _td(text: str, colspan: int, rowspan: int) -> str:
    wide = f' colspan="{colspan}"' if colspan > 1 else ""
    tall = f' rowspan="{rowspan}"' if rowspan > 1 else ""
    return f"<td{wide}{tall}>{text}</td>"
