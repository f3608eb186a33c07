"""Taxonomies by name, file or index folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..retrievers.errors import InputError
from ..retrievers.store import open_index, read_manifest
from ..retrievers.taxonomy import Taxonomy
from .domains import DOMAINS, FINANCE, Domain
from .folder import DataFolder


def domain_of(taxonomy: str) -> Domain:
    """The domain of a taxonomy's name; an unknown taxonomy is treated like finance."""
    return next((d for d in DOMAINS.values() if d.taxonomy == taxonomy), FINANCE)


def find_taxonomy(
    name: str | Path, folder: DataFolder, columns: Mapping[str, str] | None = None
) -> tuple[Taxonomy, Domain]:
    """A taxonomy by its name, or by the path of a file or an index folder, and its domain.

    A release by its name is whole, even if the domain's evaluation uses only a part of it. ``columns`` names
    the headings of a file (:meth:`Taxonomy.load`).

    Raises:
        InputError: there is no such taxonomy.
    """
    for domain in DOMAINS.values():
        if domain.taxonomy == str(name):
            return folder.taxonomy(domain, whole=True), domain
    path = Path(name)
    if os.path.isdir(path):
        opened = open_index(path, read_manifest(path)["kind"]).collection()
        if not isinstance(opened, Taxonomy):
            raise InputError("is an index of passages, not of a taxonomy", file=path)
        return opened, domain_of(opened.name)
    if not path.suffix:
        known = ", ".join(d.taxonomy for d in DOMAINS.values())
        raise InputError(f"no taxonomy {str(name)!r}: give a file, or one of {known}")
    return Taxonomy.load(path, columns=columns), FINANCE
