"""``abduce eval``: run an experiment and print its table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def evaluate(
    experiment: Annotated[
        str, typer.Argument(help="A bundled experiment's name, or the path of an experiment's TOML file.")
    ],
    data: Annotated[
        str | None, typer.Option(help="Data folder; without it $ABDUCE_DATA, else the bundled data.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Split to evaluate, in place of the experiment's.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N examples.")] = None,
    row: Annotated[list[str] | None, typer.Option(help="Only this row; may be given again.")] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder: results, traces, summary; resumable.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Facts in flight where a model is called.")] = 32,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Pass over bad facts and count them.")] = False,
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="Do again what failed before, judgements too."),
    ] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Ask the model every time; keep no reply.")
    ] = False,
    intervals: Annotated[bool, typer.Option("--intervals", help="Show 95% intervals in the table.")] = False,
    lm: Annotated[
        Path | None, typer.Option(help="TOML file whose [lm] table stands in for the experiment's.")
    ] = None,
    retriever: Annotated[
        str | None,
        typer.Option(
            help="In place of the experiment's [retriever]: bm25, minilm, medcpt ..., or an index folder."
        ),
    ] = None,
) -> None:
    """Run an experiment over a split and print its table.

    Examples:

        abduce eval finance-no-model

        abduce eval finance-no-model --data DIR --split test --out runs/no-model

        abduce eval my-table.toml --row FHS --limit 100

        abduce eval finance-main --data DIR --lm my-server.toml --concurrency 64

        abduce eval hcqr-smoke --lm my-model.toml --out runs/smoke

        abduce eval hcqr-no-model --data DIR --retriever medical-minilm.index
    """
    from ..eval.experiments.families import ir_file, qa_file
    from ..lm.options import lm_table
    from ..retrievers.errors import InputError

    shared: dict[str, Any] = {
        "data": data,
        "split": split,
        "limit": limit,
        "rows": row or [],
        "out": out,
        "concurrency": concurrency,
        "skip_bad": skip_bad,
        "retry_failed": retry_failed,
        "intervals": intervals,
        "lm": None if lm is None else lm_table(lm),
        "cache": not no_cache,
        "retriever": retriever,
    }
    if (path := ir_file(experiment)) is not None:
        if retriever is not None:
            raise InputError("each row of this experiment names its retriever", field="--retriever")
        from ..eval.experiments.retrieval import parse_ir, run_ir

        return run_ir(parse_ir(path.read_text(encoding="utf-8"), path), data, limit, row or [])
    if (path := qa_file(experiment)) is not None:
        from ..eval.experiments.questions_file import parse_qa
        from ..eval.experiments.run_questions import run_qa

        run_qa(parse_qa(path.read_text(encoding="utf-8"), path), **shared)
        return
    from ..eval.experiments.run_taxonomy import run_experiment

    run_experiment(experiment, **shared)
