"""Questions answered from a corpus: ``Asker("medical").ask("Which cells ...?", options=[...])``."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.corpora import load_corpus
from ..data.folder import DataFolder
from ..data.questions import LabelledQuestion, read_questions, same_answer
from ..lm.options import chosen_lm
from ..programs.rag.rule import AnswerRules
from ..retrievers.errors import InputError, describe
from ..retrievers.settings import named
from ..signatures.types import Question
from .answer import Answer, AskedQuery, CitedStatement, ContextJudgement, EvidencePassage, FoundBy, QueryPlan
from .asked import as_question, right_option

if TYPE_CHECKING:
    from ..lm.models import Models
    from ..programs.rag.presets import RAGParts, RAGSpec
    from ..retrievers.corpus import Corpus
    from .judging import Answering, Judge

__all__ = ["Answer", "Asker"]

NO_MODEL = "Evidence per option"
"""What retrieves where no model is to be called."""


class Asker:
    """Answers questions by one method from one corpus.

    The corpus is read at once; indexes and models are loaded for the first question. It is safe to use from
    several threads. As a context manager it closes connections and stops a model server that it started.

    Args:
        corpus: a name, file or folder (:func:`abduce.data.corpora.load_corpus`), or a ``Corpus``.
        program: a row of :data:`abduce.programs.rag.presets.RAG_PRESETS`, a program's name, or your own class
            (``package.module:Class``) with ``options``.
        retriever: a kind, preset or index folder (:func:`abduce.retrievers.settings.named`), or settings;
            default BM25.
        lm: an ``[lm]`` table, or a TOML file with one. Default: the file in ``$ABDUCE_LM``, else the caller's
            DSPy model.
        data: the data folder; default ``$ABDUCE_DATA``, else the bundled data.
        answer: False only retrieves and calls no model. HCQR needs a model, so "Evidence per option" replaces
            it: every option is searched for separately.
        cite: ask for the deciding sentences and check them. False uses the paper's prompt.
        rules: a file from ``abduce calibrate RUN_DIR``; answers then have a confidence, and ``HCQR or CoT``
            uses its rule.

    Raises:
        InputError: an unknown corpus, program, retriever setting or model, or no model for a program that
            needs one.
    """

    def __init__(
        self,
        corpus: str | Path | Corpus = "medical",
        program: str = "HCQR",
        *,
        retriever: str | Mapping[str, Any] | None = None,
        lm: str | Path | Mapping[str, Any] | None = None,
        data: str | Path | None = None,
        answer: bool = True,
        cite: bool = True,
        rules: str | Path | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.program = program if answer or program.casefold() != "hcqr" else NO_MODEL
        self.answers = answer
        self.rules = None if rules is None else AnswerRules.load(rules)
        self.spec = _spec(self.program, answer, cite, options or {})
        if self.rules is not None:
            self.spec = _ruled(self.spec, self.rules, str(rules))
        self._table = _table(lm) if answer else None
        if self.spec.needs_model and self._table is None and not _caller_has_a_model():
            raise InputError(
                f"{program} calls a language model: give --lm FILE (or --url and --model), or --no-answer to "
                "retrieve only (lm= and answer=False in Python)"
            )
        self.corpus = _corpus(corpus, data)
        settings = {"kind": "bm25"} if retriever is None else retriever
        self._settings = named(settings) if isinstance(settings, str) else dict(settings)
        self._closing = ExitStack()
        self._lock = threading.Lock()
        self._models: Models | None = None
        self._parts: RAGParts | None = None
        self._programs: dict[bool, Any] = {}

    def ask(
        self,
        question: str | Question,
        options: Mapping[str, str] | Sequence[str] = (),
        *,
        gold: str | None = None,
    ) -> Answer:
        """Answer one question.

        Args:
            question: its text, or a question object with options.
            options: two to ten texts, by key or in order (keys A, B, C ...). Without options, HCQR proposes
                candidate answers itself.
            gold: key or text of the right option, if known; a judge then labels the context. Without options,
                the right text, which is compared with the answer. Methods never see it.

        Raises:
            InputError: see :func:`as_question`; or ``gold`` is not an option, or the method needs options.
            dspy.LMError: the model could not be reached, or refused the request.
        """
        asked = as_question(question, options)
        key = right_option(asked, gold) if asked.options else gold
        models = self._served(judged=key is not None)
        return self._answer(asked, key, models, judged=key is not None and bool(asked.options))

    def ask_all(
        self,
        questions: str | Path | Iterable[Question | LabelledQuestion],
        *,
        judge: bool = False,
        concurrency: int = 8,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Answer]:
        """Answer many questions in order. If one fails, its answer has an ``error``.

        Args:
            questions: a file (:func:`abduce.data.questions.read_questions`; questions may be without options
                and without answers), or questions.
            judge: label the contexts of questions with a known right option.
            concurrency: questions in parallel if a model is called.
            progress: called with the number of questions done and the number of all questions.

        Raises:
            InputError: a bad file, or an error that affects every question (no model, a wrong setting).
        """
        if isinstance(questions, str | Path):
            questions = read_questions(questions, open_ended=True)
        asked = [q if isinstance(q, LabelledQuestion) else LabelledQuestion(q, None) for q in questions]
        models = self._served(judged=judge)
        answered: list[Answer] = []

        def one(item: LabelledQuestion) -> Answer:
            try:
                return self._answer(item.question, item.gold, models, judge and bool(item.question.options))
            except InputError as e:
                if e.of_every_example:
                    raise
                return self._failed(item, str(e))
            except Exception as e:  # noqa: BLE001 - one question's failure is its own
                reason = describe(e)
                return self._failed(item, f"{reason['type']}: {reason['message']}")

        with ThreadPoolExecutor(concurrency if self.spec.needs_model else 1, "abduce-ask") as pool:
            waiting = [pool.submit(contextvars.copy_context().run, one, item) for item in asked]
            try:
                for future in waiting:
                    answered.append(future.result())
                    if progress is not None:
                        progress(len(answered), len(asked))
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
        return answered

    def _answer(self, question: Question, gold: str | None, models: Models | None, judged: bool) -> Answer:
        result = self._answering(question, models, judged)(question=question, gold=gold or "")
        return self._as_answer(question, result, gold)

    @property
    def cost(self) -> str:
        """The cost of its model calls so far, in one line; empty if there were none."""
        from ..lm.use import meter_line

        return "" if self._models is None else meter_line(self._models.meter)

    def close(self) -> None:
        """Close connections, and stop a model server that this asker started."""
        with self._lock:
            self._closing.close()
            self._models = None

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _served(self, judged: bool) -> Models | None:
        """The models of the ``[lm]`` table, checked once before the first question."""
        if self._table is None or not (self.spec.needs_model or judged):
            return None
        from ..lm import load
        from ..programs.stages import RAG_STAGES

        with self._lock:
            if self._models is None:
                self._models = self._closing.enter_context(load(self._table))
                stages = (*(RAG_STAGES if self.spec.needs_model else ()), *(("judge",) if judged else ()))
                self._models.refuse_if_away(stages, self.program)
            return self._models

    def _answering(self, question: Question, models: Models | None, judged: bool) -> Answering:
        from ..programs.rag.judge import ContextJudge
        from .judging import Answering, Judge

        context = models.context if models is not None else nullcontext
        judges: list[Judge] = []
        if judged and (models is not None or self.spec.needs_model):
            lm = models.for_stage("judge") if models is not None else None
            judges = [Judge("judge", ContextJudge(self.corpus, lm), context)]
        return Answering(self._built(not question.options), context, 0, judges)

    def _built(self, open_ended: bool) -> Any:
        """The program, built once with options and once without."""
        from ..data.parts import make_rag_parts
        from ..programs.rag.presets import build_rag

        spec = self.spec
        if open_ended and self.answers:
            if spec.program != "hcqr":
                raise InputError(
                    "the question has no options; only HCQR with a model proposes them", field="options"
                )
            spec = spec.changed({"open_ended": True})
        with self._lock:
            if open_ended not in self._programs:
                self._parts = self._parts or make_rag_parts(self.corpus, self._settings)
                try:
                    self._programs[open_ended] = build_rag(spec, self._parts)
                except ValueError as e:
                    raise e if isinstance(e, InputError) else InputError(str(e)) from e
            return self._programs[open_ended]

    def _as_answer(self, question: Question, result: Any, gold: str | None) -> Answer:
        from ..programs.rag.either import answer_evidence
        from ..programs.rag.statements import numbers_in

        trace = result.trace
        plan = trace.notes.get("plan")
        statements = self._statements(question, result)
        sure = None
        if self.rules is not None and self.answers:
            sure = self.rules.confidence.probability(answer_evidence(result.answer, trace.notes))
        right = exact = None
        if gold is not None and self.answers:
            text = str(result.answer_text)
            right = result.answer == gold if question.options else same_answer(text, gold)
            exact = result.answer == gold if question.options else text.strip() == gold.strip()
        cited = {s.document for found in statements.values() for s in found if s.by == "model"}
        return Answer(
            id=question.question_id,
            question=question.text,
            options=dict(result.options),
            proposed="proposed_options" in trace.notes,
            program=self.program,
            answer=result.answer or None,
            answer_text=result.answer_text or None,
            gold=gold,
            confidence=sure,
            sure_for=None if sure is None or self.rules is None else self.rules.accuracy(sure),
            right=right,
            exact=exact,
            reasoning=result.reasoning or None,
            plan=None if plan is None else QueryPlan(**plan),
            queries=[AskedQuery(name=q.form, text=q.text) for q in trace.queries],
            evidence=[self._passage(item) for item in result.context],
            statements=statements,
            cited=sorted(cited | {n for n in numbers_in(result.reasoning) if 1 <= n <= len(result.context)}),
            left_out=trace.notes.get("left_out", []),
            judge=next((ContextJudgement(**judged) for judged in trace.notes.get("judges", [])), None),
            counters={name: n for name, n in trace.counters.items() if n},
        )

    def _failed(self, item: LabelledQuestion, error: str) -> Answer:
        return Answer(
            id=item.question.question_id,
            question=item.question.text,
            options=dict(item.question.options),
            proposed=False,
            program=self.program,
            answer=None,
            answer_text=None,
            gold=item.gold,
            confidence=None,
            sure_for=None,
            right=None if item.gold is None else False,
            exact=None if item.gold is None else False,
            reasoning=None,
            plan=None,
            queries=[],
            evidence=[],
            statements={},
            cited=[],
            left_out=[],
            judge=None,
            counters={},
            error=error,
        )

    def _statements(self, question: Question, result: Any) -> dict[str, list[CitedStatement]]:
        """The model's citations; for an option without citations, the sentences with the option's words."""
        from ..programs.rag.statements import by_words

        asked = question.model_copy(update={"options": dict(result.options)})
        named = by_words(asked, result.context, self.corpus)
        found = {key: [CitedStatement(**asdict(s)) for s in own] for key, own in named.items()}
        for key, cited in result.trace.notes.get("statements", {}).items():
            found[key] = [CitedStatement(**s) for s in cited] or found[key]
        return found

    def _passage(self, item: Any) -> EvidencePassage:
        passage = self.corpus[item.id]
        source, url = (passage.metadata.get(name) for name in ("source", "url"))
        return EvidencePassage(
            id=item.id,
            title=passage.title,
            content=passage.content,
            sources=[FoundBy(query=name, rank=rank) for name, rank in item.sources],
            source=None if source is None else str(source),
            url=None if url is None else str(url),
        )


def _spec(program: str, answer: bool, cite: bool, options: Mapping[str, Any]) -> RAGSpec:
    from ..programs.rag.presets import rag_spec

    try:
        spec = rag_spec(program).changed({f"options.{name}": value for name, value in options.items()})
        if not answer:
            spec = spec.changed({"answer": False})
        elif cite and spec.needs_retriever and not getattr(spec.resolve(), "expose_hypothesis", False):
            spec = spec.changed({"cite": True})
    except ValueError as e:
        raise InputError(str(e), field="program") from e
    if not answer and spec.needs_model:
        raise InputError(
            f"{program} plans its retrieval with a model: leave --no-answer out", field="program"
        )
    return spec


def _ruled(spec: RAGSpec, rules: AnswerRules, path: str) -> RAGSpec:
    """The spec with the inputs of the rules: log-probabilities, and the choice of an arm."""
    from ..programs.rag.presets import rag_spec

    fitted = rag_spec(rules.row).program if rules.row in _preset_names() else ""
    if fitted and fitted != spec.program:
        raise InputError(f"was fitted for the row {rules.row!r}", file=path)
    changes: dict[str, Any] = {"probabilities": True}
    if spec.program == "hcqr or cot" and rules.choice is not None:
        changes["rule"] = path
    return spec.changed(changes)


def _preset_names() -> frozenset[str]:
    from ..programs.rag.presets import RAG_PRESETS

    return frozenset(RAG_PRESETS)


def _table(lm: str | Path | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return lm if isinstance(lm, Mapping) else chosen_lm(None if lm is None else Path(lm))


def _caller_has_a_model() -> bool:
    import dspy

    return dspy.settings.lm is not None


def _corpus(corpus: str | Path | Corpus, data: str | Path | None) -> Corpus:
    if isinstance(corpus, str | Path):
        return load_corpus(str(corpus), DataFolder.find(data))
    return corpus
