"""``abduce data``: build the files of a data folder."""

from __future__ import annotations

import typer

from . import build_codiesp, build_corpus, build_icd10cm, build_us_gaap

app = typer.Typer(no_args_is_help=True, help="Build the files of a data folder.")
build = typer.Typer(no_args_is_help=True, help="Build one kind of file; each kind names its sources.")
app.add_typer(build, name="build")

build.command("icd10cm")(build_icd10cm.icd10cm)
build.command("codiesp")(build_codiesp.codiesp)
build.command("corpus")(build_corpus.corpus)
build.command("us-gaap")(build_us_gaap.us_gaap)
