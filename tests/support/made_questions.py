"""A run of two rows over made questions, with everything that a page shows of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
from abduce.data.example import Example
from abduce.eval.report.sources import Sources
from abduce.eval.runs.question_codec import QuestionCodec
from abduce.eval.runs.row import Row
from abduce.eval.runs.run import Run
from abduce.eval.runs.runner import run
from abduce.programs.trace import Query, Trace
from abduce.retrievers.base import Ranking
from abduce.retrievers.corpus import Corpus, Passage
from abduce.signatures.types import Question

OPTIONS = {"A": "cholera", "B": "measles"}


def question_run(out: Path, n: int = 4, say: Callable[[str], str] = str) -> tuple[Run, Sources]:
    """Row "base" asks one query, answers B and is judged "Not Useful"; row "planned" plans, asks two, cites
    the second passage, answers A (the gold option) and is judged "Entailed"; its second judge cannot be
    asked."""
    passages = [Passage(f"p{i}", say(f"Title {i}"), say(f"Passage {i} of cholera.")) for i in range(3)]
    corpus = Corpus(passages, "made")
    options = {key: say(text) for key, text in OPTIONS.items()}
    questions = [
        Question(question_id=f"q{i}", text=say(f"Which is it in case {i}?"), options=options)
        for i in range(n)
    ]

    def program(question: Question, planned: bool) -> Any:
        trace = Trace(settings={})
        asked = [Query(say("watery stools"), "confirm"), Query(say("rash"), "refute")][: 1 + planned]
        trace.retrieved(asked, [Ranking.of(["p0", "p1"]), Ranking.of(["p1", "p2"])][: 1 + planned])
        ids = ["p0", "p1", "p2"] if planned else ["p0", "p1"]
        trace.notes["context_tokens"] = 40
        trace.notes["context"] = [{"id": i, "sources": [["confirm", k]]} for k, i in enumerate(ids, 1)]
        label, chosen = ("Entailed", "A") if planned else ("Not Useful", None)
        judged = {"name": say("first"), "label": label, "selected": chosen, "rationale": None}
        trace.notes["judges"] = [judged]
        if planned:
            state = {"working_hypothesis": say("it is cholera"), "confirming_evidence": [say("rice water")]}
            trace.notes["plan"] = state
            sentence = {"document": 2, "stance": "for", "sentence": say("Passage 1 of"), "by": "model"}
            trace.notes["statements"] = {"A": [sentence]}
            unasked = {"name": "second", "label": None, "selected": None, "error": say("OSError: it is gone")}
            trace.notes["judges"].append(unasked)
        answer = "A" if planned else "B"
        return dspy.Prediction(
            ranking=Ranking.of(ids), trace=trace, answer=answer, answer_text=options[answer], options=options
        )

    def row(name: str, planned: bool) -> Row:
        return Row(name, lambda seed: lambda question: program(question, planned))

    examples = [
        Example(q.question_id, {"question": q}, "A", q.question_id, {"dataset": say("made")})
        for q in questions
    ]
    codec = QuestionCodec(corpus)
    run([row("base", False), row("planned", True)], examples, codec=codec, out=out, baseline="base",
        experiment=say("questions"))  # fmt: skip
    return Run.load(out, codec), Sources(questions={q.question_id: q for q in questions}, corpus=corpus)
