"""``abduce ask``: one question, answered with its evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    options: Annotated[
        str | None,
        typer.Option(help="Answer options, separated by commas (or by | where texts have commas)."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="One answer option; give it once for each, in place of --options."),
    ] = None,
    corpus: Annotated[
        str,
        typer.Option(
            help="Passages: medical or disease-ontology (data folder), a JSONL, CSV or Parquet file, a "
            "folder, or hf:OWNER/NAME."
        ),
    ] = "medical",
    program: Annotated[
        str, typer.Option(help="HCQR, Simple RAG, Rewriting, HyDE, MAIN-RAG, Rerank-RAG, No-RAG (CoT), ...")
    ] = "HCQR",
    retriever: Annotated[str, typer.Option(help="bm25, medcpt, minilm, minilm-packaged, ...")] = "bm25",
    index: Annotated[Path | None, typer.Option(help="A stored index of the corpus.")] = None,
    gold: Annotated[
        str | None, typer.Option(help="The right answer (letter or text): a judge then labels the context.")
    ] = None,
    lm: Annotated[
        Path | None,
        typer.Option(help="TOML file with an \\[lm] table; without it $ABDUCE_LM, or --url and --model."),
    ] = None,
    url: Annotated[str | None, typer.Option(help="Address of a model server that ends in /v1.")] = None,
    model: Annotated[str | None, typer.Option(help="The model's name on that server.")] = None,
    no_answer: Annotated[
        bool,
        typer.Option("--no-answer", help="Retrieve only: no model; HCQR's queries are written by rules."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    data: Annotated[
        str | None, typer.Option(help="Data folder; without it $ABDUCE_DATA, else the bundled data.")
    ] = None,
) -> None:
    """Answer a question from a corpus, and show the queries and which passage came from which.

    Without options HCQR proposes candidate answers itself.

    Examples:

        abduce ask "Which vitamin prevents scurvy?" --options "A,B12,C,D" --lm my-model.toml

        abduce ask "What causes gout?" --url http://localhost:8000/v1 --model Qwen/Qwen3-4B-Instruct-2507

        abduce ask "Which cells make insulin?" --options "alpha cells,beta cells" --no-answer
    """
    from ..asking.asker import ask_question

    ask_question(
        question,
        options=options,
        each=option or [],
        corpus=corpus,
        program=program,
        retriever=retriever,
        index=index,
        gold=gold,
        lm=lm,
        url=url,
        model=model,
        no_answer=no_answer,
        as_json=as_json,
        data=data,
    )
