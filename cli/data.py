"""``abduce data``: build the files of a data folder."""

from __future__ import annotations

import typer

from . import build_codiesp, build_corpus, build_icd10cm, build_us_gaap, data_stats

app = typer.Typer(no_args_is_help=True, help="Build the files of a data folder, and count their content.")
build = typer.Typer(no_args_is_help=True, help="Build one kind of file.")
app.add_typer(build, name="build")
app.command("stats")(data_stats.stats)

build.command("icd10cm")(build_icd10cm.icd10cm)
build.command("codiesp")(build_codiesp.codiesp)
build.command("corpus")(build_corpus.corpus)
build.command("us-gaap")(build_us_gaap.us_gaap)
