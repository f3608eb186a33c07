"""Turn the blocks of a document into facts with source contexts and, if present, its tags."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..retrievers.concept_ids import strip_namespace
from ..retrievers.errors import InputError
from ..signatures.types import Fact, SourceContext
from .blocks import Block, Paragraph, TableBlock
from .datatypes import MONETARY, PER_SHARE, SHARES, guess_cell
from .grid import Grid, Mark
from .headers import Located, read_table
from .markup import markup
from .mentions import Mention, find_mentions, guess_at
from .namespaces import is_standard
from .numbers import Number
from .units import DocumentUnits, Stated, TableUnits, of_cell, of_mention, unit_column

MAX_FACTS = 250_000
"""Facts of one document; one with more is refused, which bounds memory."""

MAX_PASSAGE = 20_000
"""Characters of a text context; a longer passage is cut into windows of as many, which overlap by half. Each
mention belongs to the one in the middle of which it stands."""


MAX_ABOVE = 600
"""Characters of the text above a table that are kept; the nearest."""

MAX_UNREAD = 10_000
"""Places of what was seen and not read that are kept; all are counted."""


class Unread(NamedTuple):
    """Something with figures that was seen but not read: reason, place and text."""

    reason: str
    place: str
    text: str


class _Value(NamedTuple):
    """One value of a cell; ``inside`` is its position in the cell's text, if it is only a part of it."""

    text: str
    number: Number | None = None
    mark: Mark | None = None
    inside: tuple[int, int] | None = None


@dataclass
class Document:
    """The content of one file.

    ``content`` identifies the content; the ids of contexts and facts begin with it. ``filing_id`` identifies
    the filing (:func:`~.identity.declared_filing`, or else ``content``). Neither depends on the file's name;
    ``name`` is that name, for messages. ``gold`` maps the id of a tagged fact to its concept, without the
    namespace; ``tags`` maps the same ids to (namespace, concept); ``namespaces`` gives the meaning of the
    tags' prefixes. ``own_tags`` are those of a company's extension rather than a standard setter's taxonomy.
    ``unlabelled`` are the ids of facts in rows without a label. ``counts`` has the numbers of tables,
    passages, facts and unlabelled facts. ``unread`` lists what was seen but not read (``passed_over`` counts
    it by reason). ``notes`` are for the user.
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
    passed_over: Counter[str] = field(default_factory=Counter)
    unread: list[Unread] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.units = DocumentUnits()
        self._unsettled: dict[str, Stated] = {}
        self.wordless = ""
        """The first passage of tagged numbers that has no words."""
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

    def pass_over(self, reason: str, place: str, text: str) -> None:
        """Count something with figures that is not read."""
        self.passed_over[reason] += 1
        if len(self.unread) < MAX_UNREAD:
            self.unread.append(Unread(reason, place, text[:100]))

    @property
    def tags(self) -> dict[str, tuple[str, str]]:
        """Fact id to the namespace and concept of its tag; an unbound prefix is used as its own namespace."""
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
        """Record the company, taxonomy year, filing and prefixes of its tags, which may only be known at the
        end.
        """
        self.namespaces = dict(namespaces or {})
        own = {p for p in set(self.prefixes.values()) if not is_standard(self._namespace(p))}
        self.own_tags = {i for i, p in self.prefixes.items() if p in own}
        self.company, self.taxonomy_year = company, taxonomy_year
        self.filing_id = filing_id or self.content
        about = {"company": company, "taxonomy_year": taxonomy_year, "filing_id": self.filing_id}
        self.facts = [f.model_copy(update=about) for f in self.facts]

    def _table(self, block: TableBlock, context_id: str) -> None:
        reading = read_table(block.grid, block.preceding_text)
        for cell, reason in reading.unread:
            self.pass_over(
                reason, cell.place or f"table {self.counts['tables'] + 1}, row {cell.row + 1}", cell.text
            )
        if not reading.places:
            return
        self.counts["tables"] += 1
        context = SourceContext(
            context_id=context_id,
            text=markup(block.grid),
            modality="table",
            preceding_text=" ".join(filter(None, (block.preceding_text, *reading.captions)))[-MAX_ABOVE:],
        )
        around = f"{_headings(block.grid)} {block.preceding_text[-300:]}"
        captions = " ".join(reading.captions)
        units = TableUnits.of(block.grid, captions, block.preceding_text[-MAX_ABOVE:])
        unit_of = unit_column(block.grid)
        for place in reading.places:
            signs = block.grid.signs(place.cell)
            unit = unit_of.get(place.cell.row)
            said = around if unit is None else unit
            for number, value in enumerate(_values(place)):
                self._add_cell(place, number, value, context, signs, said, units, unit)

    def _add_cell(
        self,
        place: Located,
        number: int,
        value: _Value,
        context: SourceContext,
        signs: tuple[str, bool],
        around: str,
        units: TableUnits,
        unit: str | None,
    ) -> None:
        cell = place.cell
        fact_id = f"{context.context_id}-r{cell.row}c{cell.col}"
        if len(cell.marks) > 1 or len(cell.numbers) > 1 or place.mentions:
            fact_id += f"m{number}"
        if value.inside and cell.worded:  # a number inside a label
            datatype = guess_at(cell.text, *value.inside)
            stated = of_mention(cell.text, *value.inside, datatype, units)
        else:
            figure = value.number.figure if value.number else re.sub(r"[^\d.,]", "", value.text)
            sign, percent = signs
            money = bool(sign)
            if value.number is not None:
                money, percent = money or value.number.money, value.number.percent or (percent and not money)
            row = f"{place.row_header} ({unit})" if unit else place.row_header
            datatype = guess_cell(row, place.column_header, money, percent, figure.strip(".,") or "0", around)
            stated = of_cell(units, value.number, datatype, row, place.column_header, sign or None)
        stated = self._stated(fact_id, stated, datatype)
        if not place.labelled:
            self.counts["unlabelled"] += 1
            self.unlabelled.add(fact_id)
        self._add(
            Fact(
                fact_id=fact_id,
                place=cell.place or None,
                **stated._asdict(),
                value=value.text,
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
            value.mark,
        )

    def _passage(self, block: Paragraph, context_id: str) -> None:
        self.units.passage(block.text)
        mentions = list(find_mentions(block.text, block.marks))
        if not mentions:
            return
        self.counts["passages"] += 1
        if not any(map(str.isalpha, block.text)):
            self.counts["wordless"] += len(mentions)
            self.wordless = self.wordless or block.text[:40]
        windows: dict[tuple[int, int], SourceContext] = {}
        for i, mention in enumerate(mentions):
            low, high = _window(len(block.text), mention)
            context = windows.get((low, high))
            if context is None:
                id_ = f"{context_id}-{len(windows)}" if len(block.text) > MAX_PASSAGE else context_id
                context = SourceContext(context_id=id_, text=block.text[low:high])
                windows[low, high] = context
            start, end = mention.start - low, mention.end - low
            stated = of_mention(block.text, mention.start, mention.end, mention.datatype, None)
            stated = self._stated(f"{context_id}-m{i}", stated, mention.datatype)
            fact = Fact(
                fact_id=f"{context_id}-m{i}",
                place=block.place or None,
                **stated._asdict(),
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

    def _stated(self, fact_id: str, stated: Stated, datatype: str | None) -> Stated:
        """Count the statements on a value; if some are missing, the end of the document settles them."""
        self.units.count(stated, datatype)
        if datatype in (MONETARY, SHARES, PER_SHARE) and (
            stated.scale is None or stated.unit is None or stated.unit == "/shares"
        ):
            self._unsettled[fact_id] = stated
            return stated._replace(unit=None)
        return stated

    def settle(self) -> None:
        """Give values without a nearby magnitude or currency those of the whole document."""
        for i, fact in enumerate(self.facts):
            if (stated := self._unsettled.get(fact.fact_id)) is not None:
                found = self.units.settle(stated, fact.datatype, fact.value)
                self.facts[i] = fact.model_copy(update=found._asdict())
        self._unsettled.clear()

    def _add(self, fact: Fact, mark: Mark | None) -> None:
        self.facts.append(fact)
        self.counts["facts"] += 1
        if mark is not None:
            self.gold[fact.fact_id] = strip_namespace(mark.name)
            self.counts["tagged"] += 1
            self.prefixes[fact.fact_id] = mark.name.partition(":")[0]


def _window(length: int, mention: Mention) -> tuple[int, int]:
    """Start and end of a mention's context in a passage of this length.

    A mention longer than its window extends the window.
    """
    if length <= MAX_PASSAGE:
        return 0, length
    step = MAX_PASSAGE // 2
    low = step * max(0, (mention.start - step // 2) // step)
    low = min(low, length - MAX_PASSAGE)
    return low, max(low + MAX_PASSAGE, mention.end)


def _values(place: Located) -> Iterator[_Value]:
    """The values of a cell: all tagged ones, or else the numbers in it, alone or among words."""
    cell = place.cell
    if cell.marks:
        for mark in cell.marks:
            yield _Value(cell.text[mark.start : mark.end], cell.number, mark, (mark.start, mark.end))
    elif place.mentions:
        for one in place.mentions:
            yield _Value(cell.text[one.start : one.end], None, None, (one.start, one.end))
    else:
        for number in cell.numbers:
            yield _Value(number.shown, number)


def _headings(grid: Grid) -> str:
    """The words of a table's first rows and of its labels' units, for guessing units."""
    words = [c.text for row in grid.rows[:6] for c in row if c.number is None]
    return " ".join(words)[:1000]
