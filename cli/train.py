"""``abduce train``: train a model on already-tagged facts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def train(
    tagged: Annotated[
        list[Path],
        typer.Argument(help="Already-tagged facts: facts .jsonl, a tagged filing .htm, a reviewed tags.csv."),
    ],
    out: Annotated[Path, typer.Option(help="The model's folder.")],
    taxonomy: Annotated[
        str, typer.Option(help="A taxonomy's name, a JSONL or CSV file (id, label), or an index folder.")
    ] = "us-gaap-2024",
    contexts: Annotated[
        Path | None,
        typer.Option(help="Source contexts as JSONL; default contexts.jsonl[.gz] in the facts' folder."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="Data folder with the taxonomy; default $ABDUCE_DATA, else the bundled data."),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, max=10, help="Number of folds of companies (or filings).")] = 3,
    keep_folds: Annotated[
        bool,
        typer.Option(
            help="Keep the towers of each fold, for scoring companies that training saw; "
            "without them the model has a quarter of the size."
        ),
    ] = True,
    seed: Annotated[int, typer.Option(min=0, help="The same seed and facts give the same model.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing model.")] = False,
) -> None:
    """Train a model that assigns a taxonomy's concepts, on already-tagged facts.

    Examples:

        abduce train last-year.htm reviewed.csv --out my-model

        abduce train facts_prior.jsonl.gz --data DIR --out model

        abduce train mentions.jsonl.gz --taxonomy icd10cm-2018 --data DIR --out clinical-model
    """
    from ..data.folder import DataFolder
    from ..data.parts import make_parts
    from ..data.taxonomies import find_taxonomy
    from ..retrievers.errors import InputError
    from ..retrievers.files import check_out
    from ..signatures.induce import induce_schema
    from ..tagging.models import train_from
    from ..tagging.precedents import PrecedentSource
    from ..tagging.train import TrainSettings
    from .progress import count_bar
    from .terminal import Console

    console = Console()
    check_out(out, folder=True)
    if out.exists() and not overwrite:
        raise InputError("exists already; give another folder, or --overwrite", file=out)
    found, domain = find_taxonomy(taxonomy, DataFolder.find(data))
    schema = None if found.name == domain.taxonomy else induce_schema(found, found.name)
    parts = make_parts(found, domain, {"kind": "bm25"}, schema)
    source = PrecedentSource(tagged, contexts, domain)
    with count_bar(console) as bar:
        settings = TrainSettings(folds=folds, seed=seed)
        model = train_from(
            source, parts, settings, on_progress=lambda what, done: bar(what, round(100 * done), 100)
        )
    if not keep_folds:
        model = model.without_folds()
    model.save(out, overwrite)
    many = sum(map(len, model.groups))
    learned = f"{model.about['facts']:,} facts ({model.about['loci']:,} loci)"
    console.print(
        f"Trained on {learned} of {many:,} companies or filings: {out}", markup=False, highlight=False
    )
