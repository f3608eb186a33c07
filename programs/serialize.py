"""Facts as text: the identifier, the direct and locus queries, and the evidence that a model reads."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from ..signatures.types import Fact, SourceContext

CONTEXT_CAPS = (12_000, 8_000, 5_000, 2_500)
"""Character caps of the source context: the first, and the back-off where a prompt is too long."""

PROMPT_TOKENS = 16_000
"""Token budget of a rendered prompt."""

CHARACTERS_PER_TOKEN = 3.0
"""A cautious estimate for tables of numbers, used where the model's own tokenizer is not at hand."""


@lru_cache(maxsize=512)
def visible_text(markup: str) -> str:
    """The visible text of HTML markup, white space normalised; scripts and styles are left out."""
    from lxml import html

    root = html.fragment_fromstring(markup, create_parent="div")
    texts = root.xpath(".//text()[not(ancestor::script or ancestor::style)]")
    return " ".join(" ".join(texts).split())


def elide(text: str, cap: int) -> str:
    """At most ``cap`` characters of a text: both ends are kept and the middle is left out."""
    if len(text) <= cap:
        return text
    mark = " ... "
    room = max(cap - len(mark), 0)
    head = math.ceil(room / 2)
    return text[:head] + mark[: cap - room] + (text[len(text) - (room - head) :] if room > head else "")


def estimated_tokens(text: str) -> int:
    """How many tokens a prompt has at most, by the estimate above."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def one_line(text: str) -> str:
    """A text without line breaks: what stands in one place of a prompt cannot begin another."""
    return " ".join(text.split())


@dataclass(frozen=True, config=ConfigDict(allow_inf_nan=False, strict=True, extra="forbid"))
class Serializer:
    """How the facts of one domain are written down.

    Args:
        identifier: which parts make the locus identifier: ``value`` and ``datatype``.
        before, after: characters around a mention in its locus query, at least 0; a mention whose
            ``before`` and ``after`` are both 0 is its own locus query, without an identifier.
        markup: ``visible``: the visible text of the source context (the authors' release); ``html``:
            its markup with white space normalised (the paper's wording).
        preceding: show the text just above a table too (rows of our own only).
    """

    identifier: tuple[Literal["value", "datatype"], ...] = ("value", "datatype")
    before: Annotated[int, Field(ge=0, le=100_000)] = 150
    after: Annotated[int, Field(ge=0, le=100_000)] = 100
    markup: Literal["visible", "html"] = "visible"
    preceding: bool = False

    def __deepcopy__(self, memo: dict[int, Any]) -> Serializer:
        return self

    def identify(self, fact: Fact) -> str:
        """The locus identifier: the value (or mention) followed by the datatype."""
        return " ".join(str(getattr(fact, part)) for part in self.identifier if getattr(fact, part))

    def context(self, context: SourceContext) -> str:
        """The whole source context as text."""
        if context.modality == "table" and self.markup == "visible" and "<" in context.text:
            text = visible_text(context.text)
        else:
            text = " ".join(context.text.split())
        if self.preceding and context.preceding_text:
            return f"{' '.join(context.preceding_text.split())} {text}"
        return text

    def direct(self, fact: Fact) -> str:
        """The direct query: identifier + the visible text of the whole source context."""
        return f"{self.identify(fact)} {self.context(fact.context)}".strip()

    def mention_window(self, fact: Fact) -> str:
        """The text around a mention; the value where the fact has no span."""
        if fact.mention_start is None or fact.mention_end is None:
            return fact.value
        start = max(0, fact.mention_start - self.before)
        return " ".join(fact.context.text[start : fact.mention_end + self.after].split())

    def locus_text(self, fact: Fact) -> str:
        """What stands at the locus: the header chains of a cell, the text around a mention."""
        if fact.modality == "table":
            return " ".join(" ".join(h.split()) for h in (fact.row_header, fact.column_header) if h)
        return self.mention_window(fact)

    def locus(self, fact: Fact) -> str:
        """The locus query: identifier + what stands at the locus."""
        if fact.modality == "text" and self.before == self.after == 0:
            return self.locus_text(fact)
        return f"{self.identify(fact)} {self.locus_text(fact)}".strip()

    def evidence(self, fact: Fact, cap: int = CONTEXT_CAPS[0]) -> dict[str, str]:
        """The evidence that a model reads, by signature field.

        Args:
            cap: at most so many characters of source context; the middle is left out.
        """
        return {
            "value": one_line(fact.value),
            "datatype": one_line(fact.datatype or "") or "not declared",
            "input_type": "table cell" if fact.modality == "table" else "text mention",
            "row_header": one_line(fact.row_header or "") or "none",
            "column_header": one_line(fact.column_header or "") or "none",
            "source_context": elide(self.context(fact.context), cap),
        }
