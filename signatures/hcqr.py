"""What the planning calls of decision-useful RAG are asked (HCQR: 3.3, 3.4, B.3 to B.7).

Instructions are this project's own words. Every reply is a pydantic model that bounds its texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import dspy
from pydantic import BeforeValidator, Field

from .options import Letter, Reply, cut


def _as_list(value: Any) -> Any:
    """A list that a model wrote as one text, one item a line or between semicolons."""
    if isinstance(value, str):
        parts = value.replace(";", "\n").splitlines()
        return [part.strip(" -*\t") for part in parts if part.strip(" -*\t")]
    return value


Phrase = Annotated[str, Field(max_length=300), cut(300)]
Phrases = Annotated[list[Phrase], Field(max_length=8), cut(8), BeforeValidator(_as_list)]
MAX_QUERY = 2_400
"""Characters of one query: more than the 512 tokens that encoders of passages read."""

Query = Annotated[str, Field(min_length=1, max_length=MAX_QUERY), cut(MAX_QUERY)]


def cut_short(queries: Iterable[str]) -> int:
    """How many queries that a model wrote are as long as they may be: their end is missing."""
    return sum(len(query) == MAX_QUERY for query in queries)


class WorkingState(Reply):
    """The formulator's state: f, r, e and the working hypothesis (paper: Section 3.3, order of B.3)."""

    discriminating_features: Phrases = Field(
        description="clues of this question that separate the leading candidate answers"
    )
    brief_reasoning: Annotated[str, cut(1200)] = Field(
        max_length=1200, description="why this hypothesis is preferred for now"
    )
    confirming_evidence: Phrases = Field(
        description="facts, rules or conditions that should hold if the hypothesis is right"
    )
    working_hypothesis: Annotated[str, cut(400)] = Field(
        min_length=1, max_length=400, description="the best guess for now"
    )


class Formulate(dspy.Signature):
    """Plan what to look up before a decision is made. You are not giving the final answer.

    Take the answer option that you would bet on now as a working hypothesis. Say which clues of the
    question separate it from its strongest rivals, why you prefer it, and what a reference text would
    have to state if it were right. Be specific: name findings, mechanisms, thresholds, criteria, drugs
    or structures, not general topics. Write working_hypothesis as the letter of one of the options.
    """

    question: str = dspy.InputField()
    options: str = dspy.InputField()
    answer: WorkingState = dspy.OutputField()


class FormulateWithoutOptions(dspy.Signature):
    """Plan what to look up before a decision is made. You are not giving the final answer.

    Take the answer that you would bet on now as a working hypothesis, in your own words. Say which clues
    of the question separate it from its strongest rivals, why you prefer it, and what a reference text
    would have to state if it were right. Be specific: name findings, mechanisms, thresholds, criteria,
    drugs or structures, not general topics.
    """

    question: str = dspy.InputField()
    answer: WorkingState = dspy.OutputField()


class ThreeQueries(Reply):
    """q1, q2 and q3 (paper: Section 3.4)."""

    support: Query = Field(description="q1: finds passages that would directly support the hypothesis")
    distinction: Query = Field(description="q2: finds criteria that separate the strongest rival options")
    key_features: Query = Field(description="q3: finds passages that verify the clues of the question")


class RewriteByHypothesis(dspy.Signature):
    """Turn a working hypothesis into exactly three search queries for a reference corpus.

    support: build it from the hypothesised answer, the confirming evidence and the reasoning, so that it
    finds passages that state the hypothesis outright. distinction: build it from the discriminating
    features and the candidate answers, so that it finds criteria that tell the strongest rivals apart.
    key_features: build it from the salient clues of the question alone, so that it is of use even if the
    hypothesis is wrong. Each query stands alone, is dense in technical terms, and differs from the others.
    Do not write option letters into a query.
    """

    question: str = dspy.InputField()
    options: str = dspy.InputField()
    working_hypothesis: str = dspy.InputField()
    discriminating_features: str = dspy.InputField()
    confirming_evidence: str = dspy.InputField()
    brief_reasoning: str = dspy.InputField()
    answer: ThreeQueries = dspy.OutputField()


class Paraphrases(Reply):
    """Exactly three, each a field of its own, so that a schema cannot give two or four."""

    query_1: Query
    query_2: Query
    query_3: Query


class Paraphrase(dspy.Signature):
    """Rewrite the question as exactly three search queries that ask for the same information in different
    words: change the wording, the terms and the angle, keep the meaning. Do not answer the question.
    """

    question: str = dspy.InputField()
    answer: Paraphrases = dspy.OutputField()


class ParaphraseWithOptions(dspy.Signature):
    """Rewrite the question as exactly three search queries that ask for the same information in different
    words: change the wording, the terms and the angle, keep the meaning. The answer options are shown;
    use their terms where they help the search. Do not answer the question.
    """

    question: str = dspy.InputField()
    options: str = dspy.InputField()
    answer: Paraphrases = dspy.OutputField()


class HypotheticalPassage(Reply):
    """One document that does not exist."""

    passage: Annotated[str, cut(2400)] = Field(
        min_length=1, max_length=2400, description="about 100 to 200 words"
    )


class WriteHypotheticalPassage(dspy.Signature):
    """Write one paragraph as it could stand in a textbook and that would answer the question. State facts;
    do not mention the question, an exam or answer options.
    """

    question: str = dspy.InputField()
    answer: HypotheticalPassage = dspy.OutputField()


class TentativeAnswer(Reply):
    """The answer that one document suggests."""

    answer_choice: Letter


class AnswerFromOneDocument(dspy.Signature):
    """Choose the option that this one document points to. If it points to none, choose the option that
    you find most likely.
    """

    question: str = dspy.InputField()
    options: str = dspy.InputField()
    document: str = dspy.InputField()
    answer: TentativeAnswer = dspy.OutputField()


def _yes_or_no(value: Any) -> Any:
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, str):
        word = value.strip().strip(".!\"'*").casefold()
        return {"yes": "Yes", "no": "No", "true": "Yes", "false": "No"}.get(word, value)
    return value


YesNo = Annotated[Literal["Yes", "No"], BeforeValidator(_yes_or_no)]


class Sufficiency(Reply):
    """Whether a document carries its tentative answer."""

    supported: YesNo


class JudgeDocument(dspy.Signature):
    """Does the document contain enough relevant information to support this answer to the question?
    Say Yes or No.
    """

    question: str = dspy.InputField()
    options: str = dspy.InputField()
    document: str = dspy.InputField()
    tentative_answer: str = dspy.InputField()
    answer: Sufficiency = dspy.OutputField()


class Candidates(Reply):
    """Candidate answers of a question without options."""

    answers: Annotated[list[Phrase], Field(min_length=2, max_length=6), cut(6), BeforeValidator(_as_list)]


class ProposeAnswers(dspy.Signature):
    """The question has no answer options. Propose two to six short candidate answers that exclude each
    other, the most likely first, so that one of them is very likely right.
    """

    question: str = dspy.InputField()
    answer: Candidates = dspy.OutputField()
