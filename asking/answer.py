"""What an :class:`~abduce.asking.asker.Asker` returns: the answer, its evidence, and how it was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from ..signatures.html import html_line, html_table


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)


class AskedQuery(_Part):
    """One query as it went to the retriever, under the name by which passages refer to it."""

    name: str
    text: str


class FoundBy(_Part):
    """A query that returned a passage, and at which rank (from 1)."""

    query: str
    rank: int


class EvidencePassage(_Part):
    """One passage of the context. In JSON ``sources`` is called ``from``."""

    id: str
    title: str
    content: str
    sources: Sequence[FoundBy] = Field(
        serialization_alias="from", validation_alias=AliasChoices("from", "sources")
    )
    source: str | None = None
    url: str | None = None


class QueryPlan(_Part):
    """The formulator's state and the queries made from it (HCQR paper: Section 3.3, 3.4)."""

    working_hypothesis: str
    hypothesis_key: str | None
    discriminating_features: Sequence[str]
    confirming_evidence: Sequence[str]
    brief_reasoning: str
    queries: Mapping[str, str]


class CitedStatement(_Part):
    """A sentence of the context that bears on an option.

    ``document`` is the passage's number, its place in ``evidence`` from 1. ``by``: the ``model`` cited it
    (checked: the sentence stands in that passage), or a rule found it by the option's ``words``; ``against``
    of the rule means no more than a negation in the sentence.
    """

    document: int
    stance: Literal["for", "against"]
    sentence: str
    by: Literal["model", "words"]


class ContextJudgement(_Part):
    """What a judge said of the context. ``error`` says why it could not be asked."""

    name: str
    label: str | None
    given: str | None
    selected: str | None
    consistent: bool
    error: str | None = None


class Answer(_Part):
    """One answered question.

    Attributes:
        id: of the question; ``question`` where it has none of its own.
        question: its text.
        options: key to text; those that the model proposed where ``proposed``.
        program: the method.
        answer: key of the chosen option; None where none was asked for, or no valid one came.
        answer_text: the text of that option.
        gold: key of the right option, or the right text of a question without options, where it is known.
        confidence: the probability that the answer is right, where rules were given that say so.
        sure_for: the highest accuracy that answers of this confidence have (.95, .90); None: not sure
            enough, an abstention.
        right: whether the answer is the right one, where it is known: the key, or the text without case,
            articles and punctuation. ``exact``: whether the text is the same letter for letter.
        error: why the question could not be answered (of many questions; a single one raises).
        reasoning: the model's, before its choice.
        plan: HCQR's, else None.
        queries: in order.
        evidence: the passages of the context, in the order in which the model read them.
        statements: per option the sentences of the context that bear on it; empty where nothing was found.
        cited: numbers of the passages that the answer rests on: those of its citations and its reasoning.
        left_out: ids of passages that the model's window had no room for.
        judge: of the context, where a gold answer was given and the method retrieves.
        counters: what happened on the way, by name, where it is not 0.
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
