"""The ``[lm]`` table from the command line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..retrievers.errors import InputError
from ..retrievers.files import read_toml

ENVIRONMENT = "ABDUCE_LM"


def chosen_lm(
    file: Path | None = None, url: str | None = None, model: str | None = None
) -> dict[str, Any] | None:
    """The table of a TOML file (``--lm``, else ``$ABDUCE_LM``), or of ``--url`` and ``--model``; None if
    nothing is given.

    Raises:
        InputError: no such file, not TOML, no ``[lm]`` table in it, or both ways are used.
    """
    if url or model:
        if file is not None:
            raise InputError("give either a file or an address and a model", field="lm")
        table: dict[str, Any] = {"kind": "openai" if model else "vllm"}
        return table | {k: v for k, v in (("base_url", url), ("model", model)) if v}
    named = file or (Path(os.environ[ENVIRONMENT]) if os.environ.get(ENVIRONMENT) else None)
    if named is None:
        return None
    return lm_table(named)


def lm_table(path: Path) -> dict[str, Any]:
    """The ``[lm]`` table of a TOML file.

    Raises:
        InputError: no such file, not TOML, or it has no such table.
    """
    table = read_toml(path).get("lm")
    if not isinstance(table, dict):
        raise InputError("has no [lm] table", file=path)
    return table
