"""What ``abduce ask`` does: one question through one program, shown as a page or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..data.corpora import CORPORA, load_corpus
from ..data.folder import DataFolder
from ..data.questions import gold_key, option_problem
from ..lm.options import chosen_lm
from ..retrievers.corpus import Corpus
from ..retrievers.errors import InputError
from ..retrievers.registry import named
from ..signatures.types import Question

LETTERS = "ABCDEFGHIJ"
SNIPPET = 220
"""Characters of a passage that the page shows."""


def ask_question(
    text: str,
    *,
    options: str | None = None,
    each: Sequence[str] = (),
    corpus: str = "medical",
    program: str = "HCQR",
    retriever: str = "bm25",
    index: Path | None = None,
    gold: str | None = None,
    lm: Path | None = None,
    url: str | None = None,
    model: str | None = None,
    no_answer: bool = False,
    as_json: bool = False,
    data: str | None = None,
    console: Console | None = None,
) -> dict[str, Any]:
    """Answer a question and print the result; returns what ``--json`` prints.

    Raises:
        InputError: whatever is wrong with the options, the gold answer, the corpus, the program or the model.
    """
    question = Question(question_id="question", text=_not_empty(text), options=read_list(options, each))
    gold_of = _gold(question, gold)
    table = None if no_answer else chosen_lm(lm, url, model)
    spec = _spec(program, question, no_answer)
    if spec.needs_model and table is None:
        raise InputError(
            f"{program} calls a language model: give --lm FILE (or --url and --model), or --no-answer to "
            "retrieve only"
        )
    folder = DataFolder.find(data)
    passages = load_corpus(corpus, folder)
    of = f", from {folder}" if corpus in CORPORA else ""
    Console(stderr=True).print(
        f"Corpus: {passages.name}, {len(passages):,} passages{of}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    settings = named(retriever) | ({"index": str(index)} if index else {})
    with ExitStack() as stack:
        served = None
        if table is not None:
            from ..lm import load
            from ..lm.profiles import RAG_STAGES

            served = stack.enter_context(load(table))
            stages = (*(RAG_STAGES if spec.needs_model else ()), *(("judge",) if gold_of else ()))
            served.refuse_if_away(stages, program)
        result = _run(question, gold_of, spec, passages, settings, served)
    found = as_dict(question, result, passages, program, gold_of)
    console = console or Console()
    if as_json:
        console.print(
            json.dumps(found, ensure_ascii=False, indent=2), markup=False, highlight=False, soft_wrap=True
        )
    else:
        console.print(page(found))
    return found


def _not_empty(text: str) -> str:
    if not text.strip():
        raise InputError("the question is empty", field="question")
    return text


def read_list(options: str | None, each: Sequence[str] = ()) -> dict[str, str]:
    """Options from one text (at ``|`` where it has one, else at commas) or one by one; keys A, B, C ...

    Raises:
        InputError: both ways at once, fewer than two, more than ten, an empty one, or two that are the same.
    """
    if options is not None and each:
        raise InputError("give either --options or --option", field="options")
    texts = list(each)
    if options is not None:
        texts = options.split("|" if "|" in options else ",")
    if not texts:
        return {}
    if len(texts) > len(LETTERS):
        raise InputError(f"has {len(texts)} options; two to ten are needed", field="options")
    found = {letter: t.strip() for letter, t in zip(LETTERS, texts, strict=False)}
    if problem := option_problem(found):
        raise InputError(problem, field="options")
    return found


def _gold(question: Question, gold: str | None) -> str | None:
    if gold is None:
        return None
    if not question.options:
        raise InputError("a gold answer needs options to be judged against", field="gold")
    key = gold_key(gold, question.options)
    if key is None:
        raise InputError(f"{gold!r} is none of the options {list(question.options.values())}", field="gold")
    return key


def _spec(program: str, question: Question, no_answer: bool) -> Any:
    from ..programs.rag.presets import rag_spec

    try:
        spec = rag_spec(program)
        if not question.options:
            if spec.program != "hcqr" or no_answer:
                raise InputError(
                    "the question has no options; only HCQR with a model proposes them", field="options"
                )
            spec = spec.changed({"open_ended": True})
        if no_answer:
            spec = spec.changed({"answer": False} | ({"planner": "rules"} if spec.program == "hcqr" else {}))
            if spec.needs_model:
                raise InputError(
                    f"{program} plans its retrieval with a model: leave --no-answer out", field="program"
                )
        return spec
    except ValueError as e:
        raise e if isinstance(e, InputError) else InputError(str(e), field="program") from e


def _run(
    question: Question,
    gold: str | None,
    spec: Any,
    passages: Corpus,
    settings: Mapping[str, Any],
    served: Any,
) -> Any:
    from ..data.rag_parts import make_rag_parts
    from ..programs.rag.judge import ContextJudge
    from ..programs.rag.presets import build_rag
    from .judging import Answering, Judge

    judges = []
    if gold is not None and served is not None:
        judges = [Judge("judge", ContextJudge(passages, served.for_stage("judge")), served.context)]
    try:
        program = build_rag(spec, make_rag_parts(passages, settings))
    except ValueError as e:
        raise e if isinstance(e, InputError) else InputError(str(e)) from e
    context = served.context if served is not None else nullcontext
    return Answering(program, context, 0, judges)(question=question, gold=gold or "")


def as_dict(
    question: Question, result: Any, passages: Corpus, program: str, gold: str | None
) -> dict[str, Any]:
    """Everything there is to say about one answered question, as plain values."""
    trace = result.trace
    evidence = []
    for item in result.context:
        passage = passages[item.id]
        evidence.append(
            {
                "id": item.id,
                "title": passage.title,
                "content": passage.content,
                "from": [{"query": name, "rank": rank} for name, rank in item.sources],
                "source": passage.metadata.get("source"),
                "url": passage.metadata.get("url"),
            }
        )
    judged = [
        {k: None if v is None else str(v) if k in ("label", "given") else v for k, v in entry.items()}
        for entry in trace.notes.get("judges", [])
    ]
    return {
        "question": question.text,
        "options": dict(result.options),
        "proposed": "proposed_options" in trace.notes,
        "program": program,
        "answer": result.answer or None,
        "answer_text": result.answer_text or None,
        "gold": gold,
        "reasoning": result.reasoning or None,
        "plan": trace.notes.get("plan"),
        "queries": [{"name": q.form, "text": q.text} for q in trace.queries],
        "evidence": evidence,
        "left_out": trace.notes.get("left_out", []),
        "judge": judged[0] if judged else None,
        "counters": {k: v for k, v in trace.counters.items() if v},
    }


def page(found: Mapping[str, Any]) -> RenderableType:
    """The readable form of :func:`as_dict`."""
    parts: list[RenderableType] = [Panel(Text(found["question"]), title="Question", title_align="left")]
    options = Table(show_header=False, box=None, padding=(0, 1))
    for key, text in found["options"].items():
        chosen, right = key == found["answer"], key == found["gold"]
        mark = ("=> " if chosen else "   ") + key
        style = "bold green" if chosen and right else "bold" if chosen else "green" if right else ""
        options.add_row(Text(mark, style), Text(text + ("   (gold)" if right else ""), style))
    if found["options"]:
        parts.append(options)
    if found["proposed"]:
        parts.append(Text("The options were proposed by the model.", "italic"))
    if found["answer"]:
        parts.append(
            Panel(Text(found["reasoning"] or ""), title=f"Answer: {found['answer']}", title_align="left")
        )
    else:
        parts.append(Text("No answer: none was asked for, or no valid one came.", "italic"))
    if plan := found["plan"]:
        parts.append(_plan(plan))
    if found["queries"]:
        queries = Table(title="Queries", title_justify="left")
        queries.add_column("name")
        queries.add_column("text", overflow="fold")
        for q in found["queries"]:
            queries.add_row(q["name"], Text(q["text"]))
        parts.append(queries)
    if found["evidence"]:
        parts.append(_evidence(found))
    if judge := found["judge"]:
        if judge.get("error"):
            parts.append(Text(f"Judge: could not be asked ({judge['error']})."))
        else:
            label, supports = judge["label"] or "no valid label", judge["selected"] or "no option"
            parts.append(Text(f"Judge: {label}; the context supports {supports}."))
    if found["counters"]:
        counted = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in sorted(found["counters"].items()))
        parts.append(Text(f"Counted: {counted}", "dim"))
    return Group(*parts)


def _plan(plan: Mapping[str, Any]) -> RenderableType:
    table = Table(
        title="Working hypothesis (steers retrieval, not shown to the generator)", title_justify="left"
    )
    table.add_column("part")
    table.add_column("text", overflow="fold")
    table.add_row("hypothesis", Text(plan["working_hypothesis"]))
    for key in ("discriminating_features", "confirming_evidence"):
        if plan[key]:
            table.add_row(key.replace("_", " "), Text("\n".join(plan[key])))
    if plan["brief_reasoning"]:
        table.add_row("reasoning", Text(plan["brief_reasoning"]))
    return table


def _evidence(found: Mapping[str, Any]) -> RenderableType:
    table = Table(title=f"Evidence ({len(found['evidence'])} passages)", title_justify="left")
    for name in ("#", "passage", "from", "text"):
        table.add_column(name, overflow="fold")
    for number, item in enumerate(found["evidence"], 1):
        text = item["content"]
        shown = text if len(text) <= SNIPPET else text[:SNIPPET].rsplit(" ", 1)[0] + " ..."
        came = "\n".join(f"{s['query']} #{s['rank']}" for s in item["from"])
        where = "\n".join(p for p in (item["title"], item["id"], item["url"] or item["source"] or "") if p)
        table.add_row(str(number), Text(where), came, Text(shown))
    if found["left_out"]:
        table.caption = f"{len(found['left_out'])} more did not fit into the model's window"
    return table
