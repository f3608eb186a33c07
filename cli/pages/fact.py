"""How one fact is tagged, as a page: hypotheses, queries, pool, window, verdicts, final scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ...programs.methods import Parts
from ...programs.trace import Judged, Trace
from ...programs.window import support_of
from ...retrievers.taxonomy import Taxonomy
from ...signatures.tokenize import tok_set
from ...signatures.types import UNRESOLVED, Fact, Judgement, Verdict
from ...tagging.evidence import evidence_of
from ...tagging.trail import Trail

MARKS = {
    Judgement.SUPPORT: ("+", "green"),
    Judgement.NO_SUPPORT: ("-", "red"),
    Judgement.ABSTAIN: (".", "dim"),
}

CONTEXT_CHARACTERS = 600
QUERY_CHARACTERS = 300

COMPONENTS = {
    "fused_norm": "S~",
    "fused": "S",
    "support": "v",
    "bm25": "BM25",
    "bm25_norm": "BM25^",
    "cov_label": "cov_label",
    "cov_query": "cov_query",
}
"""Score components as the paper and the page write them."""


def explain_fact(trail: Trail, top: int = 10) -> RenderableType:
    """The page as a rich renderable. Texts of the document are shown literally, never as markup.

    The known concept is green; no method has seen it.
    """
    fact, prediction, parts, gold = trail.fact, trail.prediction, trail.parts, trail.gold
    trace: Trace = prediction.trace
    blocks: list[RenderableType] = [_evidence(fact, parts, trail.program)]
    if trace.hypotheses:
        blocks.append(_hypotheses(trace, parts))
    blocks.append(_queries(trace, parts.taxonomy, gold))
    if trace.notes.get("precedents"):
        blocks.append(_precedents(trace, gold))
    if trace.pool is not None:
        blocks.append(_pool(trace))
    shown = list(prediction.ranking.ids[:top])
    blocks += [_verdicts(judged, parts, trace, shown, gold) for judged in trace.judged]
    blocks.append(_ranking(prediction, parts.taxonomy, gold, top))
    if reasons := evidence_of(fact, prediction, parts.taxonomy):
        blocks.append(Text(f"Evidence: {reasons}"))
    if gold:
        rank = prediction.ranking.rank_of(gold)
        place = f"rank {rank}" if rank else f"not among the {len(prediction.ranking)} ranked"
        blocks.append(Text(f"Gold (for comparison only; no method has seen it): {gold}, {place}"))
    spent = ", ".join(f"{stage} {seconds * 1000:.1f} ms" for stage, seconds in trace.seconds.items())
    counted = ", ".join(
        f"{name.replace('_', ' ')} {n}" for name, n in sorted(trace.counters.items()) if n and name != "pool"
    )
    last = f"Counted: {counted}\nTime: {spent} (the first retrieval builds the index)"
    blocks.append(Text(last, style="dim"))
    return Group(*(Padding(block, (0, 0, 1, 0)) for block in blocks))


def _table(title: str, caption: str = "") -> Table:
    return Table(
        title=Text(title, style="bold"),
        title_justify="left",
        caption=Text(caption, style="dim") if caption else None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 2, 0, 0),
        pad_edge=False,
    )


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
            grid.add_row(Text(name, style="bold", no_wrap=True), Text(text))
    title = Text(f"{fact.fact_id}: {fact.modality} fact, program {program}")
    return Panel(grid, title=title, title_align="left")


def _hypotheses(trace: Trace, parts: Parts) -> RenderableType:
    table = _table("Hypotheses", "in brackets: the categories that a value normalises to")
    table.add_column("dimension", no_wrap=True)
    for j in range(len(trace.hypotheses)):
        table.add_column(f"h{j + 1}", overflow="fold")
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
    table.add_row("query", *(Text(h.retrieval_query) for h in trace.hypotheses))
    return table


def _queries(trace: Trace, taxonomy: Taxonomy, gold: str) -> RenderableType:
    caption = "; ".join(_searched(trace, len(taxonomy)))
    table = _table("Queries", caption)
    table.add_column("of", no_wrap=True)
    table.add_column("query", overflow="fold", ratio=3)
    table.add_column("best hit", overflow="fold", ratio=2)
    for query, ranking in zip(trace.queries, trace.rankings, strict=True):
        of = query.form if query.hypothesis is None else f"h{query.hypothesis + 1} {query.form}"
        cut = len(query.text) > QUERY_CHARACTERS
        text = query.text[:QUERY_CHARACTERS] + " ..." if cut else query.text
        best = _concept(ranking.ids[0], gold) if len(ranking) else Text("nothing", style="dim")
        table.add_row(of, Text(text), best)
    return table


def _precedents(trace: Trace, gold: str) -> RenderableType:
    """The nearest precedent of each voted concept, with its vote."""
    caption = "vote: the precedent's own share; alike: the likeness of headers, or of mentions"
    table = _table("Precedents", caption)
    for name in ("concept", "where", "whose"):
        table.add_column(name, overflow="fold")
    for name in ("vote", "alike"):
        table.add_column(name, justify="right", no_wrap=True)
    for near in trace.notes["precedents"]:
        whose = ", ".join(str(near[name]) for name in ("company", "fact_id") if near[name])
        numbers = (f"{float(str(near['share'])):.1%}", f"{float(str(near['alike'])):.0%}")
        table.add_row(_concept(str(near["concept"]), gold), Text(str(near["locus"])), Text(whose), *numbers)
    return table


def _searched(trace: Trace, size: int) -> list[str]:
    """What was searched: how many of ``size`` concepts, or how many precedents. A companion that mixes both
    is skipped.
    """
    said = []
    for query, ranking in zip(trace.queries, trace.rankings, strict=True):
        n = ranking.candidates
        if query.form == "precedents":
            any_ = " of any datatype" if ranking.fell_back else ""
            said.append(f"{n:,} groups of equal precedents{any_} were allowed to vote")
        elif "precedents" in ranking.components:
            continue
        elif ranking.fell_back:
            what = f"{n:,} of {size:,}" if 0 < n < size else f"all {size:,}"
            said.append(f"no datatype that the taxonomy declares: {what} concepts were searched")
        elif n:
            said.append(f"{n:,} of {size:,} concepts pass the datatype filter")
    return list(dict.fromkeys(said))


def _pool(trace: Trace) -> RenderableType:
    kept = 0 if trace.pool is None else len(trace.pool)
    n = trace.counters["pool"] or kept
    rankings = f"{len(trace.rankings)} ranking{'' if len(trace.rankings) == 1 else 's'}"
    text = Text("Pool  ", style="bold")
    line = f"{n:,} candidates of {rankings}, fused by reciprocal rank (kappa = {trace.settings['kappa']:g})"
    if trace.settings.get("normalise", True):
        line += ", range-normalised to S~"
    if kept < n:
        line += f"; the first {kept} go on"
    return text.append(line, style="not bold")


def _concept(id_: str, gold: str) -> Text:
    return Text(id_, style="bold green" if gold and id_ == gold else "")


def _verdicts(judged: Judged, parts: Parts, trace: Trace, shown: Sequence[str], gold: str) -> RenderableType:
    names = parts.schema.names
    whole = len(judged.window) > len(shown) * 4
    title = f"Verdicts under h{judged.hypothesis + 1}"
    if judged.round:
        title += f" in round {judged.round + 1}"
    title += f" on the whole pool ({len(judged.window)}; those ranked first)" if whole else " on the window"
    if judged.verdicts is None:
        return Text(f"{title}: the call failed, support is 0 for all", style="red")
    marks = [str(i) for i in range(1, len(names) + 1)]
    if len({name[0] for name in names}) == len(names):
        marks = [name[0] for name in names]
    legend = ", ".join(f"{mark} {name}" for mark, name in zip(marks, names, strict=True))
    table = _table(title, f"{legend};  + support, - no support, . abstain")
    table.add_column("candidate", overflow="fold")
    table.add_column(" ".join(marks), no_wrap=True)
    table.add_column("support", justify="right", no_wrap=True)
    wanted = {id_: i for i, id_ in enumerate(shown)}
    verdicts = judged.verdicts
    if whole:
        verdicts = sorted((v for v in verdicts if v.concept_id in wanted), key=lambda v: wanted[v.concept_id])
    for verdict in verdicts:
        cells = Text(" ").join(_marks(verdict, names))
        table.add_row(_concept(verdict.concept_id, gold), cells, _support(verdict, trace))
    return table


def _marks(verdict: Verdict, names: Sequence[str]) -> list[Text]:
    return [Text(*MARKS[verdict.judgements[name]]) for name in names]


def _support(verdict: Verdict, trace: Trace) -> str:
    value = support_of(verdict, trace.settings.get("abstain", "exclude"))
    return "none" if value is None else f"{value:.2f}"


def _ranking(prediction: Any, taxonomy: Taxonomy, gold: str, top: int) -> RenderableType:
    ranking, trace = prediction.ranking, prediction.trace
    title = f"Ranking, the first {min(top, len(ranking))} of {len(ranking)}"
    parts = [name for name in COMPONENTS if name in ranking.components]
    before: dict[str, int] = {}
    caption = ""
    if trace.pool is not None:
        raw = not trace.settings.get("normalise", True)
        parts = ["fused" if raw else "fused_norm"]
        if trace.judged:
            parts.append("support")
            before = {id_: i for i, id_ in enumerate(trace.pool.by_score(), 1)}
            title += f": score = {COMPONENTS[parts[0]]} + {trace.settings.get('beta', 0):g} v"
            caption = f"by {COMPONENTS[parts[0]]}: the rank without the verifier"
    table = _table(title, caption)
    table.add_column("rank", justify="right", no_wrap=True)
    if before:
        table.add_column(f"by {COMPONENTS[parts[0]]}", justify="right", no_wrap=True)
    table.add_column("concept", overflow="fold")
    for name in ("score", *(COMPONENTS[p] for p in parts)):
        table.add_column(name, justify="right", no_wrap=True)
    for hit in ranking.top(top):
        text = _concept(hit.id, gold)
        label = taxonomy[hit.id].label
        if not tok_set(label) <= tok_set(hit.id):
            text.append(f"\n{label}", style="dim not bold")
        places = [str(hit.rank), *([str(before.get(hit.id, ""))] if before else [])]
        values = [f"{hit.score:.3f}", *(f"{hit.components[p]:.3f}" for p in parts)]
        table.add_row(*places, text, *values)
    return table
