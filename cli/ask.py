"""``abduce ask``: one question, answered with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..retrievers.errors import InputError
from .notes import end_if_unusable, print_note
from .options import DataOption, ProgramOption
from .say import say

if TYPE_CHECKING:
    from ..asking.asker import Asker


def ask(
    question: Annotated[
        str, typer.Argument(help="The question, or a file of questions (.jsonl, .csv, .tsv, .parquet).")
    ],
    options: Annotated[
        str | None,
        typer.Option(help="Answer options, separated by commas (or by | if texts have commas)."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="One answer option; repeatable, instead of --options."),
    ] = None,
    corpus: Annotated[
        str,
        typer.Option(
            help="Passages: medical or disease-ontology (data folder), a JSONL, CSV or Parquet file, a text, "
            "web page or PDF or a folder of them, or hf:OWNER/NAME."
        ),
    ] = "medical",
    program: Annotated[
        str, typer.Option(help="HCQR, Simple RAG, Rewriting, HyDE, MAIN-RAG, Rerank-RAG, No-RAG (CoT), ...")
    ] = "HCQR",
    program_option: ProgramOption = None,
    retriever: Annotated[str, typer.Option(help="bm25, medcpt, minilm, minilm-packaged, ...")] = "bm25",
    index: Annotated[Path | None, typer.Option(help="A stored index of the corpus.")] = None,
    gold: Annotated[
        str | None, typer.Option(help="The right answer (letter or text); a judge then labels the context.")
    ] = None,
    lm: Annotated[
        Path | None,
        typer.Option(help="TOML file with an \\[lm] table; default $ABDUCE_LM, or --url and --model."),
    ] = None,
    url: Annotated[str | None, typer.Option(help="Address of a model server that ends in /v1.")] = None,
    model: Annotated[str | None, typer.Option(help="The model's name on that server.")] = None,
    no_answer: Annotated[
        bool,
        typer.Option(
            "--no-answer", help="Evidence only, without a model; each option is searched for separately."
        ),
    ] = False,
    rules: Annotated[
        Path | None, typer.Option(help="Rules from abduce calibrate RUN_DIR; answers then have a confidence.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object; for a file, one per line.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the answers to a file of questions here: .jsonl or .csv.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Questions of a file in parallel.")] = 8,
    data: DataOption = None,
    allow_fallback: Annotated[
        bool,
        typer.Option(
            "--allow-fallback",
            help="Exit with 0 even if the model failed for more than half of a file's questions.",
        ),
    ] = False,
) -> None:
    """Answer a question from a corpus, and show the queries and the passages that each one found.

    Without options, HCQR proposes candidate answers itself. Without a model, the evidence for every option is
    shown and no option is chosen.

    Examples:

        abduce ask "Which vitamin prevents scurvy?" --options "A,B12,C,D" --lm my-model.toml

        abduce ask "What causes gout?" --url http://localhost:8000/v1 --model Qwen/Qwen3-4B-Instruct-2507

        abduce ask "Which cells make insulin?" --options "alpha cells,beta cells" --no-answer

        abduce ask "Who signs the lease?" --corpus notes/ --lm my-model.toml

        abduce ask questions.csv --corpus notes/ --lm my-model.toml --out answers.csv
    """
    from ..asking.answers_file import ENDINGS
    from ..asking.asked import as_question
    from ..asking.asker import Asker
    from ..data.build.index import parse_settings
    from ..data.corpora import CORPORA
    from ..data.folder import DataFolder
    from ..lm.options import chosen_lm
    from ..retrievers.files import check_out
    from ..retrievers.settings import named

    many = _is_file(question)
    if many:
        _only_of_one(options, option, gold)
    elif out is not None:
        raise InputError("is for a file of questions", field="out")
    check_out(out, ENDINGS)
    asked = None if many else as_question(question, read_options(options, option or []))
    settings = named(retriever) | ({"index": str(index)} if index else {})
    table = None if no_answer else chosen_lm(lm, url, model)
    with Asker(
        corpus,
        program,
        retriever=settings,
        lm=table,
        data=data,
        answer=not no_answer,
        rules=rules,
        options=parse_settings(program_option or [], "--program-option"),
    ) as asker:
        of = f", from {DataFolder.find(data)}" if corpus in CORPORA else ""
        print_note(f"corpus {asker.corpus.name}, {len(asker.corpus):,} passages{of}")
        if asked is None:
            _ask_file(asker, Path(question), out, as_json, concurrency, allow_fallback)
            return
        answer = asker.ask(asked, gold=gold)
        cost = asker.cost
    if cost:
        print_note(cost)
    if as_json:
        say(answer.model_dump_json(indent=2))
        return
    from .pages.question import question_page
    from .terminal import Console

    Console().print(question_page(answer))


def _is_file(question: str) -> bool:
    """Whether the argument is a file of questions, by its ending."""
    path = Path(question.removesuffix(".gz"))
    return path.suffix in (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet") and "?" not in question


def _only_of_one(options: str | None, each: list[str] | None, gold: str | None) -> None:
    for name, given in (("options", options), ("option", each), ("gold", gold)):
        if given:
            raise InputError("is for a single question; a file has its own", field=name)


def _ask_file(
    asker: Asker,
    path: Path,
    out: Path | None,
    as_json: bool,
    concurrency: int,
    allow_fallback: bool,
) -> None:
    from ..asking.answers_file import as_jsonl, write_answers
    from ..programs.trace import LOSSES
    from .pages.question import answers_page
    from .progress import count_bar
    from .terminal import Console

    console = Console()
    with count_bar(console) as bar:
        answers = asker.ask_all(
            path, concurrency=concurrency, progress=lambda done, total: bar("questions", done, total)
        )
    if out is not None:
        write_answers(out, answers)
        print_note(f"{len(answers):,} answers written to {out}")
    if as_json:
        say(as_jsonl(answers), nl=False)
    elif out is None or console.is_terminal:
        console.print(answers_page(answers))
    failed = sum(a.error is not None for a in answers)
    if failed:
        print_note(f"{failed:,} of {len(answers):,} questions failed; their errors stand in their answers")
    lost = sum(bool(LOSSES & a.counters.keys()) for a in answers)
    if lost:
        print_note(
            f"{lost:,} of {len(answers):,} questions fell back in part: replies of the model were no use"
        )
    if cost := asker.cost:
        print_note(cost)
    end_if_unusable((failed + lost) / max(1, len(answers)), allow_fallback, "questions", "their answers")


def read_options(options: str | None, each: Sequence[str] = ()) -> list[str]:
    """Options from one text (:func:`~abduce.data.questions.options_in`), or one by one.

    Raises:
        InputError: both ways are used.
    """
    if options is None:
        return list(each)
    if each:
        raise InputError("give either --options or --option", field="options")
    from ..data.questions import options_in

    return options_in(options)
