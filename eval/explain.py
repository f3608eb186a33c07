"""The whole trail of one fact as a page: hypotheses, queries, pool, window, verdicts, final scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..programs.presets import Parts
from ..programs.trace import Judged, Trace
from ..programs.window import support_of
from ..retrievers.taxonomy import Taxonomy
from ..signatures.types import UNRESOLVED, Fact, Judgement, Verdict

MARKS = {
    Judgement.SUPPORT: ("+", "green"),
    Judgement.NO_SUPPORT: ("-", "red"),
    Judgement.ABSTAIN: (".", "dim"),
}

CONTEXT_CHARACTERS = 600


def explain_fact(
    fact: Fact, prediction: Any, parts: Parts, program: str, gold: str = "", top: int = 10
) -> RenderableType:
    """The page as a rich renderable. Texts of the document are shown literally, never as markup."""
    trace: Trace = prediction.trace
    blocks: list[RenderableType] = [_evidence(fact, parts, program)]
    if trace.hypotheses:
        blocks.append(_hypotheses(trace, parts))
    blocks.append(_queries(trace))
    if trace.pool is not None:
        line = f"Pool U: {trace.counters['pool']} candidates from {len(trace.rankings)} rankings, fused by "
        line += f"reciprocal rank (kappa = {trace.settings['kappa']:g}), range-normalised"
        blocks.append(Text(line))
    shown = list(prediction.ranking.ids[:top])
    blocks += [_verdicts(judged, parts, trace, shown, top) for judged in trace.judged]
    blocks.append(_ranking(prediction, parts.taxonomy, gold, top))
    if gold:
        rank = prediction.ranking.rank_of(gold)
        place = f"rank {rank}" if rank else f"not among the {len(prediction.ranking)} ranked"
        blocks.append(Text(f"Gold (for comparison only; no method has seen it): {gold}, {place}"))
    spent = ", ".join(f"{stage} {seconds * 1000:.1f} ms" for stage, seconds in trace.seconds.items())
    counted = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in sorted(trace.counters.items()) if n)
    blocks.append(Text(f"Counted: {counted}\nTime: {spent}", style="dim"))
    return Group(*blocks)


def _evidence(fact: Fact, parts: Parts, program: str) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    rows: list[tuple[str, str | None]] = [
        ("value", fact.value),
        ("datatype", fact.datatype),
        ("row header", fact.row_header),
        ("column header", fact.column_header),
    ]
    if fact.modality == "text":
        rows.append(("mention", parts.serializer.mention_window(fact)))
    context = parts.serializer.context(fact.context)
    cut = context if len(context) <= CONTEXT_CHARACTERS else context[:CONTEXT_CHARACTERS] + " ..."
    rows.append(("context", cut))
    for name, text in rows:
        if text:
            grid.add_row(Text(name, style="bold"), Text(text))
    title = Text(f"{fact.fact_id}: {fact.modality} fact, program {program}")
    return Panel(grid, title=title, title_align="left")


def _hypotheses(trace: Trace, parts: Parts) -> RenderableType:
    table = Table(title="Hypotheses", title_justify="left", show_lines=False)
    table.add_column("dimension", style="bold")
    for j in range(len(trace.hypotheses)):
        table.add_column(f"h{j + 1}")
    for name in parts.schema.names:
        cells = []
        for hypothesis in trace.hypotheses:
            value = hypothesis.values.get(name)
            if value is None:
                cells.append(Text(UNRESOLVED, style="dim"))
                continue
            text = Text(value)
            known = hypothesis.categories.get(name)
            if known is not None:
                text.append(f"  [{', '.join(known) or 'not in the vocabulary'}]", style="cyan")
            cells.append(text)
        table.add_row(name, *cells)
    table.add_row("definition form", *(Text(h.retrieval_query) for h in trace.hypotheses))
    return table


def _queries(trace: Trace) -> RenderableType:
    table = Table(title="Queries", title_justify="left")
    for name in ("form", "of", "query", "candidates", "best hit"):
        table.add_column(name, overflow="fold")
    for query, ranking in zip(trace.queries, trace.rankings, strict=True):
        of = "" if query.hypothesis is None else f"h{query.hypothesis + 1}"
        text = query.text if len(query.text) <= 300 else query.text[:300] + " ..."
        passed = f"{ranking.candidates:,}" + (" (full index)" if ranking.fell_back else "")
        best = ranking.ids[0] if len(ranking) else "nothing"
        table.add_row(query.form, of, Text(text), passed, Text(best))
    return table


def _verdicts(judged: Judged, parts: Parts, trace: Trace, shown: Sequence[str], top: int) -> RenderableType:
    names = parts.schema.names
    whole = len(judged.window) > 4 * top
    title = f"Verdicts under h{judged.hypothesis + 1}"
    title += (
        f" on the whole pool ({len(judged.window)} candidates; those ranked first)"
        if whole
        else " on the window"
    )
    if judged.verdicts is None:
        return Text(f"{title}: the call failed, support is 0 for all", style="red")
    table = Table(title=title, title_justify="left")
    table.add_column("candidate", overflow="fold")
    for name in names:
        table.add_column(name, justify="center")
    table.add_column("support", justify="right")
    wanted = set(shown)
    for verdict in judged.verdicts:
        if not whole or verdict.concept_id in wanted:
            table.add_row(Text(verdict.concept_id), *_marks(verdict, names), _support(verdict, trace))
    table.caption = "+ support   - no support   . abstain"
    return table


def _marks(verdict: Verdict, names: Sequence[str]) -> list[Text]:
    return [Text(*MARKS[verdict.judgements[name]]) for name in names]


def _support(verdict: Verdict, trace: Trace) -> str:
    value = support_of(verdict, trace.settings.get("abstain", "exclude"))
    return "-" if value is None else f"{value:.2f}"


def _ranking(prediction: Any, taxonomy: Taxonomy, gold: str, top: int) -> RenderableType:
    ranking = prediction.ranking
    table = Table(title=f"Ranking (first {min(top, len(ranking))} of {len(ranking)})", title_justify="left")
    for name in ("rank", "concept", "label", "score", *ranking.components):
        table.add_column(name, overflow="fold", justify="left" if name in ("concept", "label") else "right")
    for hit in ranking.top(top):
        style = "bold green" if gold and hit.id == gold else ""
        parts = [f"{value:.4f}" for value in hit.components.values()]
        label = Text(taxonomy[hit.id].label)
        table.add_row(str(hit.rank), Text(hit.id), label, f"{hit.score:.4f}", *parts, style=style)
    return table
