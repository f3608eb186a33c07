"""What an :class:`~abduce.asking.asker.Asker` returns: the answer, its evidence, and how it was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from ..signatures.html import html_line, html_table


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)


class AskedQuery(_Part):
    """One query as sent to the retriever, under the name that passages refer to."""

    name: str
    text: str


class FoundBy(_Part):
    """A query that returned a passage, and the passage's rank (from 1)."""

    query: str
    rank: int


class EvidencePassage(_Part):
    """One passage of the context. In JSON the field ``sources`` is called ``from``."""

    id: str
    title: str
    content: str
    sources: Sequence[FoundBy] = Field(
        serialization_alias="from", validation_alias=AliasChoices("from", "sources")
    )
    source: str | None = None
    url: str | None = None


class QueryPlan(_Part):
    """The formulator's state and its queries (HCQR paper: Section 3.3, 3.4)."""

    working_hypothesis: str
    hypothesis_key: str | None
    discriminating_features: Sequence[str]
    confirming_evidence: Sequence[str]
    brief_reasoning: str
    queries: Mapping[str, str]


class CitedStatement(_Part):
    """A sentence of the context for or against an option.

    ``document`` is the passage's number in ``evidence``, from 1. ``by`` is ``model`` if the model cited the
    sentence (which is in that passage), or ``words`` if a rule found it by the option's words. The rule's
    ``against`` only means that the sentence has a negation.
    """

    document: int
    stance: Literal["for", "against"]
    sentence: str
    by: Literal["model", "words"]


class ContextJudgement(_Part):
    """A judge's label for the context. ``error`` says why the judge could not be asked."""

    name: str
    label: str | None
    given: str | None
    selected: str | None
    consistent: bool
    error: str | None = None


class Answer(_Part):
    """One answered question.

    Attributes:
        id: the question's id; ``question`` if it has none.
        question: the question's text.
        options: key to text; the model's candidates if ``proposed``.
        program: the method.
        answer: key of the chosen option; None if none was requested or valid.
        answer_text: the text of that option.
        gold: key of the right option, or the right text of a question without options, if known.
        confidence: the probability that the answer is right, if the given rules provide it.
        sure_for: the highest accuracy that answers of this confidence have (.95, .90); None: an abstention.
        right: whether the answer is right, if known: by key, or by text without case, articles and
            punctuation. ``exact``: whether the text is exactly the same.
        error: why the question failed (only with many questions; a single question raises).
        reasoning: the model's reasoning before its choice.
        plan: HCQR's plan, else None.
        queries: the queries in order.
        evidence: the passages of the context, in the order in which the model reads them.
        statements: the sentences of the context for and against each option; empty if there are none.
        cited: numbers of the passages that the citations and the reasoning refer to.
        left_out: ids of passages that did not fit into the model's window.
        judge: the context's label, if a gold answer was given and the method retrieves.
        counters: counts of what happened, by name, without zeros.
    """

    id: str
    question: str
    options: Mapping[str, str]
    proposed: bool
    program: str
    answer: str | None
    answer_text: str | None
    gold: str | None
    confidence: float | None
    sure_for: float | None
    right: bool | None
    exact: bool | None
    reasoning: str | None
    plan: QueryPlan | None
    queries: Sequence[AskedQuery]
    evidence: Sequence[EvidencePassage]
    statements: Mapping[str, Sequence[CitedStatement]]
    cited: Sequence[int]
    left_out: Sequence[str]
    judge: ContextJudgement | None
    counters: Mapping[str, int]
    error: str | None = None

    def __repr__(self) -> str:
        chosen = f"{self.answer} {self.answer_text}" if self.answer else self.error or "no answer"
        return (
            f"<Answer to {self.question[:80]!r} by {self.program}: {chosen}, {len(self.evidence)} passages>"
        )

    def to_json(self) -> str:
        """One JSON object with every field."""
        return self.model_dump_json()

    def _repr_html_(self) -> str:
        parts = [html_line(self.question)]
        if self.options:
            rows = [
                [key, text, "chosen" if key == self.answer else "", "right" if key == self.gold else ""]
                for key, text in self.options.items()
            ]
            parts.append(html_table(["", "option", "answer", "gold"], rows))
        if self.reasoning or self.error:
            parts.append(html_line(self.error or str(self.reasoning)))
        passages = [
            [n, p.title, p.content[:300], ", ".join(f.query for f in p.sources)]
            for n, p in enumerate(self.evidence, 1)
        ]
        if passages:
            parts.append(html_table(["", "title", "passage", "found by"], passages, "Evidence"))
        return "".join(parts)
