"""Passage corpora by name, file or Hugging Face data set."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from ..retrievers.corpus import Corpus
from ..retrievers.errors import InputError, MissingExtra
from ..retrievers.files import Row

CORPORA: Mapping[str, str] = {
    "medical": "medical_corpus.jsonl.gz",
    "disease-ontology": "disease_ontology_definitions.jsonl.gz",
}
"""Corpora of a data folder: files of its ``qa`` folder."""


def load_corpus(name: str, folder: Any = None) -> Corpus:
    """A corpus.

    Args:
        name: one of :data:`CORPORA` (from ``folder``); a file (JSONL, CSV, TSV, Parquet); a folder that
            holds a saved Hugging Face data set or Parquet files; or ``hf:OWNER/NAME``
            (``hf:OWNER/NAME:SPLIT``), which ``datasets`` loads. A row has an id, a title (may be empty) and
            a content.
        folder: an :class:`abduce.data.folder.DataFolder`.

    Raises:
        InputError: there is none, it is empty, or a row lacks its id or content.
    """
    if name in CORPORA:
        if folder is None:
            raise InputError(f"the corpus {name!r} is read from a data folder: give one")
        return Corpus.load(folder.file("qa", CORPORA[name]), name)
    if name.startswith("hf:"):
        return Corpus.of_rows(_hub_rows(name[3:]), Path(name), name[3:])
    path = Path(name)
    if path.is_dir():
        return Corpus.of_rows(_folder_rows(path), path, path.name)
    if path.suffix == ".parquet":
        return Corpus.of_rows(read_parquet(path), path, path.stem)
    if not path.suffix:
        raise InputError(
            f"no corpus {name!r}: give a file, a folder, hf:OWNER/NAME, or one of {', '.join(CORPORA)}"
        )
    return Corpus.load(path)


def read_parquet(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield (row number from 1, row) of a Parquet file.

    Raises:
        InputError: it is missing or not Parquet.
    """
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as e:
        raise MissingExtra("pyarrow", "dev") from e
    if not path.is_file():
        raise InputError("no such file", file=path)
    number = 0
    try:
        with parquet.ParquetFile(path) as stream:
            for batch in stream.iter_batches(4096):
                for row in batch.to_pylist():
                    number += 1
                    yield number, _plain_row(row)
    except (pyarrow.ArrowInvalid, OSError) as e:
        raise InputError(f"is not a readable Parquet file ({e})", file=path) from e


def _folder_rows(path: Path) -> Iterator[tuple[int, Row]]:
    files = sorted(path.glob("*.parquet"))
    if (path / "dataset_info.json").is_file() or (path / "dataset_dict.json").is_file():
        import datasets

        try:
            loaded = datasets.load_from_disk(str(path))
        except (FileNotFoundError, ValueError, OSError) as e:
            raise InputError(f"is not a saved data set ({e})", file=path) from e
        yield from _numbered(loaded, path)
    elif files:
        number = 0
        for file in files:
            for _, row in read_parquet(file):
                number += 1
                yield number, row
    else:
        raise InputError("holds neither a saved data set nor Parquet files", file=path)


def _hub_rows(name: str) -> Iterator[tuple[int, Row]]:
    import datasets

    repository, _, split = name.partition(":")
    try:
        loaded = datasets.load_dataset(repository, split=split or None)
    except Exception as e:  # the library raises errors of a dozen kinds, offline among them
        raise InputError(f"the data set {repository!r} cannot be loaded: {type(e).__name__}: {e}") from e
    yield from _numbered(loaded, Path(f"hf:{name}"))


def _numbered(loaded: Any, path: Path) -> Iterator[tuple[int, Row]]:
    if isinstance(loaded, Mapping):
        if len(loaded) != 1:
            splits = ", ".join(map(str, loaded))
            raise InputError(f"has the splits {splits}: name one (hf:OWNER/NAME:SPLIT)", file=path)
        loaded = next(iter(loaded.values()))
    for number, row in enumerate(loaded, 1):
        yield number, _plain_row(row)


def _plain_row(row: Mapping[str, Any]) -> Row:
    """A row whose values JSON knows, as a line of JSONL would have given them."""
    return {str(name): _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    """Dates, decimals and the like become texts, NaN becomes None, and so do bytes and pictures."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return _plain_row(value)
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, date | time | timedelta | Decimal | UUID):
        return str(value)
    return None
