"""Data folders (the layout of ``docs/data.md``), taxonomies by name, and facts files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from ..retrievers.errors import InputError
from ..retrievers.outside import open_outside
from ..retrievers.profiles import ProfileFile
from ..retrievers.taxonomy import Taxonomy
from .domains import DOMAINS, Domain
from .example import Example
from .facts import keep_facts, read_contexts
from .fincl import read_fincl

ENVIRONMENT = "ABDUCE_DATA"


@dataclass(frozen=True)
class DataFolder:
    """A folder of the data layout. ``bundled``: it is the one inside the package."""

    root: Path
    bundled: bool = False

    @classmethod
    def find(cls, given: str | Path | None = None) -> DataFolder:
        """The folder given by ``--data`` or ``ABDUCE_DATA``, else the bundled one.

        Raises:
            InputError: the folder does not exist.
        """
        chosen = given or os.environ.get(ENVIRONMENT)
        if not chosen:
            return cls.of_package()
        root = Path(chosen)
        if not os.path.isdir(root):
            raise InputError(
                "no such data folder" if not os.path.exists(root) else "is not a folder", file=root
            )
        return cls(root)

    @classmethod
    def of_package(cls) -> DataFolder:
        """The bundled data."""
        return cls(Path(str(resources.files(__package__) / "bundled")), bundled=True)

    def __str__(self) -> str:
        return "the data bundled with abduce" if self.bundled else str(self.root)

    def file(self, *parts: str) -> Path:
        """A file of the folder, by its path; the same name without ``.gz`` also matches.

        Raises:
            InputError: neither is there.
        """
        path = self.root.joinpath(*parts)
        plain = path.with_suffix("") if path.suffix == ".gz" else path
        for candidate in (path, plain):
            if candidate.is_file():
                return candidate
        hint = "; it is not among the bundled data: give --data DIR" if self.bundled else ""
        raise InputError(f"no such file{hint}", file=path)

    def taxonomy(self, domain: Domain, whole: bool = False) -> Taxonomy:
        """The inventory of a domain: the part that its evaluation ranks, or the ``whole`` release."""
        path = self.file(domain.name, domain.inventory)
        if domain.load is not None:
            taxonomy = domain.load(path, domain.taxonomy, whole)
        else:
            taxonomy = Taxonomy.load(path, domain.taxonomy, domain.indexed)
        if domain.profiles is not None:
            with suppress(InputError):  # profiles may be stored or not
                profiles = self.file(domain.name, domain.profiles)
                taxonomy.profiles = ProfileFile(profiles, file_fingerprint(path))
        return taxonomy

    def facts(self, domain: Domain, split: str, bad: list[InputError] | None = None) -> Sequence[Example]:
        """The evaluation facts of a split.

        Raises:
            InputError: no such split, or a bad fact if ``bad`` is not given.
        """
        if split not in domain.splits:
            known = ", ".join(domain.splits)
            raise InputError(f"{domain.name} has no split {split!r}; there are {known}")
        path = self.file(domain.name, domain.splits[split])
        if split == "fincl":
            return list(read_fincl(path, self.file(domain.name, "fincl_located.jsonl.gz"), bad))
        contexts = read_contexts(self.file(domain.name, "contexts.jsonl.gz"), domain.context_fields)
        return keep_facts(path, contexts, bad, need_gold=True, domain=domain)


def domain_named(name: str) -> Domain:
    """A domain by name.

    Raises:
        InputError: there is none of that name.
    """
    if name not in DOMAINS:
        raise InputError(f"no domain {name!r}; there are {', '.join(DOMAINS)}")
    return DOMAINS[name]


class Fingerprint:
    """A digest of bytes given in pieces; ``digits`` are its 32 hexadecimal digits."""

    def __init__(self) -> None:
        self._digest = hashlib.blake2b()

    def update(self, data: bytes) -> None:
        self._digest.update(data)

    @property
    def digits(self) -> str:
        return self._digest.hexdigest()[:32]


def file_fingerprint(path: Path) -> str:
    """A :class:`Fingerprint` of a file's bytes.

    Raises:
        InputError: it is not a readable regular file.
    """
    found = Fingerprint()
    with open_outside(path, packed=False) as stream:
        for chunk in iter(stream.read, b""):
            found.update(chunk)
    return found.digits


def bytes_fingerprint(data: bytes) -> str:
    """The :func:`file_fingerprint` of a file with these bytes."""
    found = Fingerprint()
    found.update(data)
    return found.digits
