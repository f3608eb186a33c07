"""BM25 indexes of whole releases, stored by content, so that each is built once per machine."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ..retrievers.bm25 import BM25Retriever
from ..retrievers.errors import InputError
from ..retrievers.profiles import ProfileFile
from ..retrievers.store import FORMAT, VERSIONS, open_index
from ..retrievers.taxonomy import Taxonomy
from ..version import __version__
from .domains import Domain
from .example import fingerprint
from .folder import DataFolder, file_fingerprint

FEWEST = 5_000
"""An index of fewer concepts is built in no time and not kept."""


def indexes_folder() -> Path:
    """The folder of stored indexes: ``$ABDUCE_INDEXES``, else ``~/.cache/abduce/indexes``."""
    named = os.environ.get("ABDUCE_INDEXES")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "abduce" / "indexes"


def kept_release(domain: Domain, folder: DataFolder) -> tuple[Taxonomy, str]:
    """A domain's whole release, and the folder of its BM25 index; an empty text if none can be stored.

    The index is built from the release's file and named by its content, so a changed file gets another index.

    Raises:
        InputError: the data folder has no such release, or it cannot be read.
    """
    inventory = folder.file(domain.name, domain.inventory)
    content = file_fingerprint(inventory)
    key = fingerprint([content, domain.taxonomy, list(domain.indexed), FORMAT, VERSIONS["bm25"], __version__])
    place = indexes_folder() / f"{domain.taxonomy}-{key[:16]}"
    with suppress(InputError):  # there is none yet, or it is damaged
        found = open_index(place, "bm25").collection()
        if isinstance(found, Taxonomy):
            if domain.profiles is not None:
                found.profiles = ProfileFile(folder.file(domain.name, domain.profiles), content)
            return found, str(place)
    taxonomy = folder.taxonomy(domain, whole=True)
    if len(taxonomy) < FEWEST:
        return taxonomy, ""
    try:
        BM25Retriever(taxonomy).save(place, overwrite=place.exists())
    except (InputError, OSError):  # another process was first, or nothing may be written there
        return taxonomy, ""
    return taxonomy, str(place)
