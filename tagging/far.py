"""Local and remote files and folders (``s3://...``): listed, fetched, written in one step."""

from __future__ import annotations

import glob
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..retrievers.errors import InputError, MissingExtra

CONTEXTS = ("contexts.jsonl", "contexts.jsonl.gz")
"""Source contexts beside a facts file: never a file of facts themselves."""


@dataclass(frozen=True)
class Place:
    """A local path, or an address that Arrow supports (``s3``, ``gs``, ``hdfs``, ``file``).

    ``files`` is Arrow's file system, ``path`` the location in it, ``name`` the user's name for it.
    """

    files: Any
    path: str
    name: str

    @classmethod
    def of(cls, name: str | Path) -> Place:
        """The place of a name.

        Raises:
            InputError: Arrow does not support the address, or is not installed.
        """
        try:
            from pyarrow import ArrowException, fs
        except ImportError as e:
            raise MissingExtra("pyarrow", "scale") from e
        name = str(name)
        if "://" not in name:
            return cls(fs.LocalFileSystem(), str(Path(name).absolute()), name)
        try:
            files, path = fs.FileSystem.from_uri(name)
        except (ArrowException, OSError, ValueError) as e:
            raise InputError(f"is no address of files ({e})", file=name) from e
        return cls(files, path, name)

    def __truediv__(self, name: str) -> Place:
        return Place(self.files, f"{self.path.rstrip('/')}/{name}", f"{self.name.rstrip('/')}/{name}")

    @property
    def here(self) -> bool:
        """Whether it is a local path."""
        return "://" not in self.name

    def exists(self) -> bool:
        """Whether the file exists."""
        return bool(self.files.get_file_info(self.path).is_file)

    def read(self) -> bytes:
        """All bytes of a file."""
        with self.files.open_input_stream(self.path) as stream:
            return bytes(stream.read())

    def write(self, data: bytes) -> None:
        """Write a file in one step, and create its folder.

        Raises:
            InputError: it cannot be written.
        """
        folder, _, name = self.path.rpartition("/")
        part = f"{folder}/_{name}.part"
        try:
            self.files.create_dir(folder)
            with self.files.open_output_stream(part) as stream:
                stream.write(data)
            self.files.move(part, self.path)
        except OSError as e:
            raise InputError(f"cannot be written ({e})", file=self.name) from e

    def remove(self) -> None:
        """Delete a file, if it is there."""
        if self.exists():
            self.files.delete_file(self.path)

    @contextmanager
    def local(self) -> Iterator[Path]:
        """The file on this machine, with its source contexts; fetched if it is remote.

        Raises:
            InputError: it cannot be fetched.
        """
        if self.here:
            yield Path(self.path)
            return
        folder, _, name = self.path.rpartition("/")
        with tempfile.TemporaryDirectory(prefix="abduce-") as scratch:
            for each in (name, *CONTEXTS):
                beside = Place(self.files, f"{folder}/{each}", each)
                try:
                    if each == name or beside.exists():
                        with (
                            self.files.open_input_stream(beside.path) as stream,
                            open(Path(scratch, each), "wb") as copy,
                        ):
                            while block := stream.read(1 << 20):
                                copy.write(block)
                except OSError as e:
                    raise InputError(f"cannot be read ({e})", file=self.name) from e
            yield Path(scratch, name)


def find(pattern: str) -> list[str]:
    """The files that match a path or address with ``*``, ``?`` or ``**``, sorted.

    Raises:
        InputError: no file matches, or the location cannot be listed.
    """
    if "://" not in pattern:
        found = [str(Path(p).absolute()) for p in glob.glob(pattern, recursive=True) if Path(p).is_file()]
    else:
        from pyarrow import fs

        fixed = pattern.split("*")[0].split("?")[0].rpartition("/")[0]
        base, whole = Place.of(fixed), Place.of(pattern).path
        try:
            listed = base.files.get_file_info(fs.FileSelector(base.path, recursive=True))
        except OSError as e:
            raise InputError(f"cannot be listed ({e})", file=pattern) from e
        names = [i.path for i in listed if i.is_file and fnmatchcase(i.path, whole)]
        found = [fixed + n[len(base.path) :] for n in names]
    found = sorted(f for f in found if f.rpartition("/")[2] not in CONTEXTS)
    if not found:
        raise InputError("no file is there", file=pattern)
    return found
