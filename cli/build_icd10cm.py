"""``abduce data build icd10cm``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .say import say


def icd10cm(
    source: Annotated[
        Path,
        typer.Option("--from", help="Folder with the official release files (zip archives as published)."),
    ],
    year: Annotated[int, typer.Option(min=2010, max=2099, help="Fiscal year of the release.")] = 2018,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("data/clinical"),
    compare: Annotated[
        Path | None, typer.Option(help="An inventory (.jsonl.gz) to compare with, field by field.")
    ] = None,
    addenda: Annotated[
        bool, typer.Option(help="Apply the PDF addenda if the XML is of an earlier year.")
    ] = True,
    drugs: Annotated[
        bool, typer.Option("--drugs", help="Include the table of drugs in the documentation.")
    ] = False,
) -> None:
    """Build the ICD-10-CM inventory: one document per billable code.

    It reads the code and order files, the tabular list and the alphabetic, external-cause, neoplasm and drug
    indexes.

    Examples:

        abduce data build icd10cm --from raw/icd10cm --year 2018 --out data/clinical
    """
    from ..data.build.icd10cm.build import build_icd10cm
    from ..data.icd10cm_fields import DOCUMENTED
    from ..retrievers.files import check_out

    check_out(out, folder=True)
    indexes = (*DOCUMENTED, "drug_table") if drugs else DOCUMENTED
    for line in build_icd10cm(source, year, out, compare, addenda, indexes).lines:
        say(line)
