"""An answered question, as ``abduce ask`` shows it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ...asking.answer import Answer, CitedStatement, ContextJudgement, EvidencePassage, QueryPlan


def question_page(answer: Answer) -> RenderableType:
    """The question, its options with the chosen one marked, the queries, the evidence, the judgement."""
    parts: list[RenderableType] = [Panel(Text(answer.question), title="Question", title_align="left")]
    if answer.options:
        parts.append(_options(answer))
    if answer.proposed:
        parts.append(Text("The options were proposed by the model.", "italic"))
    if answer.answer:
        cited = f" (rests on {', '.join(f'[{n}]' for n in answer.cited)})" if answer.cited else ""
        title = f"Answer: {answer.answer}{cited}"
        parts.append(Panel(Text(answer.reasoning or ""), title=Text(title), title_align="left"))
    else:
        parts.append(Text(_why_none(answer), "italic"))
    if answer.confidence is not None:
        sure = "not sure enough to be taken" if answer.sure_for is None else f"sure for {answer.sure_for:.0%}"
        parts.append(Text(f"Confidence: {answer.confidence:.2f}, {sure}."))
    if answer.options:
        parts.append(_statements(answer))
    if answer.plan:
        parts.append(_plan(answer.plan))
    if answer.queries:
        queries = Table(title="Queries", title_justify="left")
        queries.add_column("name")
        queries.add_column("text", overflow="fold")
        for q in answer.queries:
            queries.add_row(q.name, Text(q.text))
        parts.append(queries)
    if answer.evidence:
        parts.append(_evidence(answer))
    if answer.judge:
        parts.append(_judge(answer.judge))
    if answer.counters:
        counted = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in sorted(answer.counters.items()))
        parts.append(Text(f"Counted: {counted}", "dim"))
    return Group(*parts)


def answers_page(answers: Sequence[Answer]) -> RenderableType:
    """One line per question: the answer, and whether it is right if that is known."""
    table = Table()
    for name in ("id", "question", "answer", "right"):
        table.add_column(name, overflow="fold")
    for answer in answers:
        given = Text(answer.error or "", "red")
        if answer.error is None:
            text = (
                f"{answer.answer}: {answer.answer_text}" if answer.answer else _counted(len(answer.evidence))
            )
            given = Text(text)
        right = "" if answer.right is None else "yes" if answer.right else "no"
        table.add_row(Text(answer.id), Text(" ".join(answer.question.split())[:200]), given, right)
    known = [a.right for a in answers if a.right is not None]
    if known:
        exact = sum(bool(a.exact) for a in answers)
        table.caption = f"{sum(known)} of {len(known)} right, {exact} of them letter for letter"
    return table


def _counted(passages: int) -> str:
    return f"{passages} passage{'' if passages == 1 else 's'}"


def _why_none(answer: Answer) -> str:
    counters = answer.counters
    if counters.get("dropped_replies"):
        return "No answer: the model's replies did not have the required form, twice."
    if counters.get("answer_off_options"):
        return "No answer: the model's reply names none of the options."
    if counters.get("no_candidates"):
        return "No answer: the model proposed no candidate answers."
    return "Evidence only: no answer was asked for."


def _statements(answer: Answer) -> RenderableType:
    """The sentences for and against each option, with their passage numbers."""
    by_model = any(s.by == "model" for found in answer.statements.values() for s in found)
    title = "For and against" if by_model else "Sentences that name an option (-: with a negation)"
    table = Table()
    table.add_column("option", overflow="fold")
    table.add_column("what the passages say", overflow="fold")
    for key, text in answer.options.items():
        found = answer.statements.get(key, ())
        lines = Text("\n").join(map(_statement, found)) if found else Text("nothing found", "dim")
        table.add_row(Text(f"{key}  {text}"), lines)
    if by_model:
        table.caption = "not cited by the model, found by the option's words: in italics"
    return Group(Text(title, "italic"), table)


def _statement(statement: CitedStatement) -> Text:
    sign = "+" if statement.stance == "for" else "-"
    style = "italic" if statement.by == "words" else ""
    return Text(f"{sign} [{statement.document}] {statement.sentence}", style)


def _options(answer: Answer) -> RenderableType:
    table = Table(show_header=False, box=None, padding=(0, 1))
    for key, text in answer.options.items():
        chosen, right = key == answer.answer, key == answer.gold
        mark = ("=> " if chosen else "   ") + key
        style = "bold green" if chosen and right else "bold" if chosen else "green" if right else ""
        table.add_row(Text(mark, style), Text(text + ("   (gold)" if right else ""), style))
    return table


def _judge(judge: ContextJudgement) -> RenderableType:
    if judge.error:
        return Text(f"Judge: could not be asked ({judge.error}).")
    label, supports = judge.label or "no valid label", judge.selected or "no option"
    return Text(f"Judge: {label}; the context supports {supports}.")


def _plan(plan: QueryPlan) -> RenderableType:
    table = Table()
    table.add_column("part")
    table.add_column("text", overflow="fold")
    table.add_row("hypothesis", Text(plan.working_hypothesis))
    if plan.discriminating_features:
        table.add_row("discriminating features", Text("\n".join(plan.discriminating_features)))
    if plan.confirming_evidence:
        table.add_row("confirming evidence", Text("\n".join(plan.confirming_evidence)))
    if plan.brief_reasoning:
        table.add_row("reasoning", Text(plan.brief_reasoning))
    return Group(Text("Working hypothesis (steers retrieval, not shown to the generator)", "italic"), table)


def _evidence(answer: Answer) -> RenderableType:
    from ...programs.rag.statements import nearest

    table = Table(title=f"Evidence ({_counted(len(answer.evidence))})", title_justify="left")
    for name in ("#", "passage", "from"):
        table.add_column(name, overflow="fold")
    for number, item in enumerate(answer.evidence, 1):
        came = "\n".join(f"{s.query} #{s.rank}" for s in item.sources)
        where = Text(_where(item))
        if not answer.options:
            where.append(f"\n{nearest(item.content, answer.question)}", "italic")
        table.add_row(str(number), where, came)
    if answer.left_out:
        table.caption = f"{len(answer.left_out)} more did not fit into the model's window"
    return table


def _where(item: EvidencePassage) -> str:
    return "\n".join(p for p in (item.title, item.id, item.url or item.source or "") if p)
