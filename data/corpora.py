"""Passage corpora by name, file or Hugging Face data set."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..retrievers.corpus import Corpus
from ..retrievers.errors import InputError
from ..retrievers.files import Row
from .folder import DataFolder
from .parquet import plain_row, read_parquet
from .questions import WORKED_EXAMPLE
from .texts import TEXT_FILES, passages_of

CORPORA: Mapping[str, str] = {
    "medical": "medical_corpus.jsonl.gz",
    "disease-ontology": "disease_ontology_definitions.jsonl.gz",
    "worked-example": "worked_example_corpus.jsonl",
}
"""Corpora of a data folder: files of its ``qa`` folder. The worked example's always comes with abduce."""


def corpus_file(name: str, folder: DataFolder | None) -> Path:
    """The file of one of :data:`CORPORA`.

    Raises:
        InputError: it is missing, or no folder is given.
    """
    if name == WORKED_EXAMPLE:
        folder = DataFolder.of_package()
    if folder is None:
        raise InputError(f"the corpus {name!r} is read from a data folder: give one")
    return folder.file("qa", CORPORA[name])


def load_corpus(name: str, folder: DataFolder | None = None) -> Corpus:
    """Load a corpus.

    Args:
        name: one of :data:`CORPORA` (from ``folder``); a file (JSONL, CSV, TSV, Parquet); a folder that
            holds a saved Hugging Face data set or Parquet files; or ``hf:OWNER/NAME``
            (``hf:OWNER/NAME:SPLIT``), which ``datasets`` loads. A row has an id, a title (may be empty) and
            a content. A text file (.txt, .md), a web page, a PDF, or a folder of them, is cut into passages.
        folder: the data folder; only :data:`CORPORA` need one.

    Raises:
        InputError: it does not exist, it is empty, or a row lacks its id or content.
    """
    if name in CORPORA:
        return Corpus.load(corpus_file(name, folder), name)
    if name.startswith("hf:"):
        return Corpus.of_rows(_hub_rows(name[3:]), Path(name), name[3:])
    path = Path(name)
    if os.path.isdir(path):
        return Corpus.of_rows(_folder_rows(path), path, path.name)
    if path.suffix.lower() in TEXT_FILES:
        return Corpus.of_rows(_text_rows(path), path, path.stem)
    if path.suffix == ".parquet":
        return Corpus.of_rows(read_parquet(path), path, path.stem)
    if not path.suffix:
        raise InputError(
            f"no corpus {name!r}: give a file, a folder, hf:OWNER/NAME, or one of {', '.join(CORPORA)}"
        )
    return Corpus.load(path)


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
    elif any(p.suffix.lower() in TEXT_FILES for p in path.rglob("*")):
        yield from _text_rows(path)
    else:
        known = ", ".join(TEXT_FILES)
        raise InputError(f"holds neither a saved data set, Parquet files nor texts ({known})", file=path)


def _text_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Numbered passages of a text file, or of all files in a folder."""
    yield from enumerate((row for _, row in passages_of([path])), 1)


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
        yield number, plain_row(row)
