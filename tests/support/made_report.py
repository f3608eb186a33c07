"""A small run over made facts whose every text is given, as a folder and as sources, for tests of pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dspy
from abduce.data.example import Example
from abduce.eval.report.sources import Sources
from abduce.eval.runs.row import Row
from abduce.eval.runs.run import Run
from abduce.eval.runs.runner import run
from abduce.eval.runs.taxonomy_codec import TaxonomyCodec
from abduce.programs.fusion import final_ranking, fuse
from abduce.programs.trace import Judged, Query, Trace
from abduce.retrievers.base import Ranking
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.types import Concept, Fact, Hypothesis, Judgement, SourceContext, Verdict

LABELS = ("Cash on hand", "Trade receivables", "Long-term debt", "Deferred taxes")
DIMENSIONS = ("Family", "Role", "Event")


def made_facts(n: int = 8, say: Callable[[str], str] = str) -> list[Fact]:
    """Facts of two-column tables, four a table; ``say`` may change every text."""
    facts = []
    for i in range(n):
        table = i // 4
        rows = "".join(
            f"<tr><td>{_escaped(say(LABELS[r - 1]))}</td><td>{r}0{table}</td><td>{r}1{table}</td></tr>"
            for r in range(1, len(LABELS) + 1)
        )
        context = SourceContext(
            context_id=f"t{table}",
            text=f"<table><tr><td></td><td>2024</td><td>2023</td></tr>{rows}</table>",
            modality="table",
            preceding_text=say("The table below"),
        )
        r = i % 4 + 1
        facts.append(
            Fact(
                fact_id=f"f{i}",
                value=f"{r}0{table}",
                context=context,
                datatype="monetaryItemType",
                row_header=say(LABELS[r - 1]),
                column_header="2024",
                company=say("Acme"),
                filing_id=f"F{table}",
            )
        )
    return facts


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def made_taxonomy(n: int = 12, say: Callable[[str], str] = str) -> Taxonomy:
    return Taxonomy(
        [
            Concept(
                id=f"Concept{i}",
                label=say(f"Concept {i}"),
                definition=say(f"Amount {i}."),
                datatype="monetaryItemType",
            )
            for i in range(n)
        ],
        "made",
    )


def prediction(first: Sequence[str], say: Callable[[str], str]) -> Any:
    """FHS's trail with two hypotheses over a window of three candidates."""
    trace = Trace(settings={"K": 200, "kappa": 60.0, "beta": 0.6})
    trace.hypotheses = [
        Hypothesis(
            values={"Family": say(f"debt {j}")},
            retrieval_query=say(f"query {j}"),
            categories={"Family": ("debt",)},
        )
        for j in range(2)
    ]
    queries = [Query(say(f"query {j}"), "definition", j) for j in range(2)]
    trace.retrieved(queries, [Ranking.of(list(first)), Ranking.of(list(first)[::-1])])
    trace.pool = fuse(trace.rankings)
    judgements = (Judgement.SUPPORT, Judgement.NO_SUPPORT, Judgement.ABSTAIN)
    verdicts = [
        Verdict(concept_id=c, judgements=dict(zip(DIMENSIONS, judgements, strict=True))) for c in first[:3]
    ]
    trace.judged = [Judged(j, list(first[:3]), verdicts) for j in range(2)]
    trace.selected = list(first[:1])
    return dspy.Prediction(ranking=final_ranking(trace.pool, {first[0]: 1.0}, 0.6), trace=trace)


def made_run(
    out: Path, n: int = 8, say: Callable[[str], str] = str, names: Sequence[str] = ("base", "better")
) -> tuple[Run, Sources]:
    """A run of two rows, of which the second is right more often and fails on the last fact."""
    facts = made_facts(n, say)
    examples = [
        Example(
            f.fact_id,
            {"fact": f},
            f"Concept{i % 4}",
            f.context.context_id,
            {"kind": say("odd" if i % 2 else "even")},
        )
        for i, f in enumerate(facts)
    ]

    def row(name: str, right: int) -> Row:
        def build(seed: int) -> Any:
            def program(fact: Fact) -> Any:
                i = int(fact.fact_id[1:])
                if name == names[-1] and i == n - 1:
                    raise RuntimeError(say("no reply"))
                start = i % 4 if i < right else (i + 1) % 4
                return prediction([f"Concept{(start + j) % 6}" for j in range(5)], say)

            return program

        return Row(name, build)

    rows = [row(name, n * (k + 1) // 3) for k, name in enumerate(names)]
    codec = TaxonomyCodec()
    run(rows, examples, codec=codec, out=out, experiment=say("made"), data=say("facts"), baseline=names[0])
    loaded = Run.load(out, codec)
    groups = {
        f.fact_id: {"company": say("Acme"), "concept": "seen" if i % 3 else "unseen"}
        for i, f in enumerate(facts)
    }
    sources = Sources({f.fact_id: f for f in facts}, taxonomy=made_taxonomy(say=say), groups=groups)
    return loaded, sources
