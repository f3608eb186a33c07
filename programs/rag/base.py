"""No-RAG and Simple RAG, and what every RAG program shares: one generator, one way to fill a context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, ClassVar

import dspy
from dspy.utils.exceptions import ContextWindowExceededError

from ...retrievers.base import Ranking, Retriever
from ...retrievers.errors import InputError
from ...signatures.answer import (
    AnswerQuestion,
    AnswerWithCitations,
    AnswerWithDocuments,
    AnswerWithHypothesis,
)
from ...signatures.options import Choices, option_problem, restricted
from ...signatures.types import Question
from ..calls import ask
from ..logprobs import Measured, Measuring
from ..running import Part, called
from ..stages import Stage
from ..state import Stateful
from ..telling import note
from ..trace import Query, Trace
from .config import RAGConfig
from .context import CountTokens, Evidence, Fused, Passages, estimate_tokens, pack
from .probabilities import option_probabilities
from .statements import checked, numbers_in

WINDOW_SHARES = (1.0, 0.75, 0.5, 0.25, 0.125, 0.0625)
"""What share of the documents that fit the window is shown; the next is tried where the server says that the
prompt is too long."""


async def ask_for_option(
    predictor: dspy.Predict, trace: Trace, stage: str, choices: Choices, *, index: int = 0, **inputs: Any
) -> Any | None:
    """:func:`~abduce.programs.calls.ask` where the answer's ``answer_choice`` is one of these options."""
    signature = narrowed(predictor.signature, "answer_choice", choices.letters)
    return await ask(
        predictor, trace, stage, index=index, signature=signature, options=str(choices), **inputs
    )


@lru_cache(maxsize=256)
def narrowed(signature: Any, field: str, values: tuple[str, ...]) -> Any:
    """The signature whose answer's ``field`` is an enum of ``values``; the same object for equal arguments,
    because adapters keep what they derive from a signature."""
    model = restricted(signature.output_fields["answer"].annotation, field, values)
    return signature.with_updated_fields("answer", type_=model)


@dataclass(frozen=True)
class GivenAnswer:
    """What the generator gave: the question's own key of the chosen option, or "" where the reply was dropped
    (``dropped_replies``) or names no option (``answer_off_options``); its reasoning; what it cites."""

    key: str = ""
    reasoning: str = ""
    cited: Sequence[Any] = ()


class AnswerGenerator(Part):
    """The answer from question, options and, where there is one, the context (paper: 4.5).

    Every method holds this module with the same prompt. The working hypothesis is in the prompt only
    where ``expose_hypothesis`` is set.

    Args:
        documents: False for No-RAG, whose prompt does not speak of documents.
        expose_hypothesis: add a working hypothesis to the prompt.
        cite: ask for the sentences that decide too.
        probabilities: ask for log-probabilities; ``notes["probabilities"]`` then has every option's, by key.
    """

    def __init__(
        self,
        documents: bool = True,
        expose_hypothesis: bool = False,
        cite: bool = False,
        probabilities: bool = False,
    ) -> None:
        super().__init__()
        self.documents = documents
        self.expose_hypothesis = expose_hypothesis
        signature: Any = AnswerQuestion
        if documents:
            signature = AnswerWithCitations if cite else AnswerWithDocuments
            signature = AnswerWithHypothesis if expose_hypothesis else signature
        self.answer = dspy.Predict(signature)
        self.uncited = dspy.Predict(AnswerWithDocuments) if cite and documents else None
        self.probabilities = probabilities

    @classmethod
    def of(cls, config: RAGConfig, documents: bool = True) -> AnswerGenerator:
        """The generator of a method's settings."""
        exposed = bool(getattr(config, "expose_hypothesis", False))
        return cls(documents, exposed, config.cite, config.probabilities)

    async def aforward(
        self,
        question: Question,
        choices: Choices,
        documents: str,
        trace: Trace,
        hypothesis: str = "",
        cite: bool = True,
    ) -> GivenAnswer:
        """One answer; ``cite`` false asks a generator that cites with the shorter prompt that does not."""
        predictor = self.answer if cite or self.uncited is None else self.uncited
        inputs: dict[str, Any] = {"question": question.text}
        if self.documents:
            inputs["documents"] = documents or "(nothing was found)"
        if self.expose_hypothesis:
            inputs["working_hypothesis"] = hypothesis or "(none)"
        with trace.timed("answer"):
            asked = Measuring(predictor) if self.probabilities else predictor
            signature = narrowed(predictor.signature, "answer_choice", choices.letters)
            shown = {**inputs, "options": str(choices)}
            reply = await ask(asked, trace, Stage.ANSWER, signature=signature, **shown)
        if reply is None:
            return GivenAnswer()
        if isinstance(reply, Measured):
            found = option_probabilities(reply.tokens, choices.letters)
            trace.notes["probabilities"] = found and {choices.keys[x]: p for x, p in found.items()}
            reply = reply.answer
        key = choices.key(reply.answer_choice)
        if key is None:
            trace.count("answer_off_options")
        return GivenAnswer(key or "", reply.step_by_step_thinking, getattr(reply, "evidence", ()))


class QuestionProgram(Stateful):
    """What every method for questions shares: it takes a question. One whose ``model_free`` is true asks no
    model but for the answer."""

    model_free = False
    takes: ClassVar[Mapping[str, type]] = {"question": Question}
    config: RAGConfig

    def forward(self, question: Question) -> dspy.Prediction:
        """Answer one question; see :class:`RAG` for the prediction.

        It waits in the caller's thread; ``await program.acall(question=question)`` does the same on an event
        loop.

        Raises:
            TypeError: ``question`` is no :class:`~abduce.signatures.types.Question`.
            InputError: its options are not two to ten distinct texts.
        """
        return super().forward(question=question)


class RAG(QuestionProgram):
    """The frame of every retrieval method: plan and retrieve, fuse, pack, answer.

    A method says how it retrieves (:meth:`retrieve`). Called with ``question=`` it returns a
    ``dspy.Prediction`` with

    - ``answer``: the key of the chosen option; "" where no valid answer came (counted in the trace);
    - ``answer_text``, ``reasoning``, ``options`` (the question's, or the proposed ones);
    - ``context``: the :class:`~abduce.programs.rag.context.Evidence` that the generator read, in order;
    - ``ranking``: the same passages as a :class:`Ranking`;
    - ``trace``: queries, rankings, calls, counters; its ``notes`` hold ``context`` (id and sources of each
      document), ``left_out`` (ids that the window had no room for), ``context_tokens``, ``overlap`` (mean
      pairwise Jaccard of the queries' results) and what a method adds.

    Args:
        retriever: any retriever over the passages.
        passages: texts by id.
        config: settings of the method.
        count: the number of tokens of a text, for packing.
    """

    def __init__(
        self,
        retriever: Retriever,
        passages: Passages,
        config: RAGConfig | None = None,
        count: CountTokens = estimate_tokens,
    ) -> None:
        super().__init__()
        self.config = config or RAGConfig()
        self.retriever = retriever
        self.passages = passages
        self.count = count
        self.generator = AnswerGenerator.of(self.config)

    async def aforward(self, question: Question) -> dspy.Prediction:
        """Answer one question. Where no answer is asked for, it may have no options.

        Raises:
            InputError: the question has fewer than two or more than ten options, or two that are the same.
        """
        trace = Trace(settings=self.config.model_dump(mode="json"))
        completed = await self.complete(question, trace)
        if completed is None:
            return prediction(question, "", "", (), trace)
        c = self.config
        choices = checked_choices(completed) if c.answer or completed.options else Choices.of({})
        fused = await self.retrieve(completed, trace)
        room = c.window - c.output - c.reserve - self.count(question.text) - self.count(str(choices))
        given = GivenAnswer()
        attempts = [(share, c.cite) for share in WINDOW_SHARES]
        if c.cite:  # the prompt that cites is the longer one
            attempts += [(share, False) for share in WINDOW_SHARES]
        for share, cite in attempts:
            packed = pack(fused.evidence, self.passages, int(room * share), self.count)
            if share == 1.0:
                room = packed.tokens
            try:
                if c.answer:
                    given = await called(
                        self.generator,
                        question=completed,
                        choices=choices,
                        documents=packed.text,
                        trace=trace,
                        hypothesis=self.exposed(trace),
                        cite=cite,
                    )
                break
            except ContextWindowExceededError:
                if (share, cite) == attempts[-1]:
                    raise
                trace.count("context_backoffs")
        trace.count("duplicates", fused.duplicates)
        trace.count("over_budget", fused.over_budget)
        trace.count("left_out", len(packed.left_out))
        trace.notes |= {
            "left_out": list(packed.left_out),
            "context_tokens": packed.tokens,
            "overlap": fused.overlap,
        }
        if c.cite:
            cited = checked(given.cited, choices, packed.evidence, self.passages, trace)
            invented = sum(not 1 <= n <= len(packed.evidence) for n in numbers_in(given.reasoning))
            trace.count("invented_citations", invented)
            trace.notes["statements"] = {key: [asdict(s) for s in found] for key, found in cited.items()}
        return prediction(completed, given.key, given.reasoning, packed.evidence, trace)

    async def complete(self, question: Question, trace: Trace) -> Question | None:
        """The question with options; open-ended methods add them, or give None where none could be found."""
        return question

    async def retrieve(self, question: Question, trace: Trace) -> Fused:
        """The passages of the context, best first, at most ``B_max``."""
        raise NotImplementedError

    def exposed(self, trace: Trace) -> str:
        """The working hypothesis that the generator may see; nothing by default."""
        return ""

    def search(self, queries: Mapping[str, str], k: int, trace: Trace) -> dict[str, Ranking]:
        """One batched search of named queries; queries and rankings are written to the trace, in order."""
        with trace.timed("retrieve") as span:
            rankings = self.retriever.search(list(queries.values()), k)
            note(span, queries=len(queries), K=k, found=sum(map(len, rankings)))
        trace.retrieved([Query(text, name) for name, text in queries.items()], rankings)
        return dict(zip(queries, rankings, strict=True))

    def by_question(self, question: Question, trace: Trace) -> Fused:
        """The top B_max of the raw question: Simple RAG, and what other methods fall back to."""
        name = "question"
        return as_is(self.search({name: question.text}, self.config.B_max, trace)[name], name)

    def fall_back(self, question: Question, trace: Trace) -> Fused:
        """The raw question where a method's planning call was dropped; counted as ``direct_fallback``."""
        trace.count("direct_fallback")
        return self.by_question(question, trace)


class SimpleRAG(RAG):
    """The raw question is the query; its top ``B_max`` documents are the context (paper: B.2)."""

    async def retrieve(self, question: Question, trace: Trace) -> Fused:
        return self.by_question(question, trace)


class SimpleRAGWithOptions(RAG):
    """Ours, in neither paper: question and option texts are one query."""

    async def retrieve(self, question: Question, trace: Trace) -> Fused:
        query = " ".join([question.text, *question.options.values()])
        name = "question + options"
        return as_is(self.search({name: query}, self.config.B_max, trace)[name], name)


class NoRAG(QuestionProgram):
    """Chain of thought without retrieval (paper: B.2). Takes no retriever; its context is empty."""

    def __init__(self, config: RAGConfig | None = None) -> None:
        super().__init__()
        self.config = config or RAGConfig()
        self.generator = AnswerGenerator.of(self.config, documents=False)

    async def aforward(self, question: Question) -> dspy.Prediction:
        """Answer one question; see :class:`RAG` for the prediction and the errors."""
        trace = Trace()
        choices = checked_choices(question)
        given = await called(self.generator, question=question, choices=choices, documents="", trace=trace)
        return prediction(question, given.key, given.reasoning, (), trace)


def as_is(ranking: Ranking, name: str) -> Fused:
    """A single ranking as a context; the paper hands it to the generator directly, so passages with the
    same text under several ids stay."""
    return Fused(tuple(Evidence(id_, ((name, rank),)) for rank, id_ in enumerate(ranking.ids, 1)))


def checked_choices(question: Question) -> Choices:
    """The options under letters.

    Raises:
        InputError: fewer than two or more than ten options, an empty one, or two with the same text.
    """
    if problem := option_problem(question.options):
        raise InputError(f"the question {question.question_id!r}: {problem}", field="options")
    return Choices.of(question.options)


def prediction(
    question: Question, key: str, reasoning: str, evidence: Sequence[Evidence], trace: Trace
) -> dspy.Prediction:
    """The prediction that every RAG program returns."""
    ranking = Ranking.of([e.id for e in evidence])
    trace.final = ranking
    trace.notes["context"] = [{"id": e.id, "sources": [list(s) for s in e.sources]} for e in evidence]
    return dspy.Prediction(
        answer=key,
        answer_text=question.options.get(key, ""),
        reasoning=reasoning,
        options=dict(question.options),
        context=list(evidence),
        ranking=ranking,
        trace=trace,
    )
