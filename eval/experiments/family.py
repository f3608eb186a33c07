"""What a family of experiments brings: keys of its files, its data, and how its rows become programs.

Everything else (reading a file, choosing rows and examples, models, the runner, the tables) is written once:
:mod:`abduce.eval.experiments.files`, :mod:`abduce.eval.experiments.run`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol

from ...data.example import Example
from ...data.folder import DataFolder
from ...retrievers.errors import InputError
from ..runs.row import Codec, Row
from .experiment import Experiment, RowTable, Spec, Table

if TYPE_CHECKING:
    from ...lm.models import Models


@dataclass(frozen=True)
class Session:
    """What rows are made with, beside the experiment.

    Args:
        examples: those that are run.
        models: the language models of the experiment by name; empty where no row calls one.
        out: the run folder, from which rows that replay others read what earlier sessions did.
        cache: whether replies of further models (judges) are read from and written to the cache.
        note: is told what the user must know.
        closing: closes with the run what rows opened.
    """

    examples: Sequence[Example]
    models: Mapping[str, Models] = field(default_factory=dict)
    out: Path | None = None
    cache: bool = True
    note: Callable[[str], None] = lambda line: None
    closing: ExitStack = field(default_factory=ExitStack)


@dataclass(frozen=True, kw_only=True)
class Bench(ABC, Generic[Table, Spec]):
    """The data of one experiment, at hand.

    Args:
        name: what the examples are (``finance test``).
        examples: those of the split.
        whole: they are the experiment's own split in full; only then the paper's numbers are shown beside.
        fingerprint: covers what all examples share.
        ids: those of what is ranked.
        noun: what the examples are called.
        beside: what else they are run with (``, corpus medical``).
        stratum: the group of which a sample takes so many examples each.
        shows_records: the tables of a run read whole records, which are then kept in memory where there is
            no folder.
    """

    name: str
    examples: Sequence[Example]
    whole: bool
    fingerprint: str
    ids: Sequence[str]
    noun: str
    beside: str = ""
    stratum: str = ""
    shows_records: bool = False

    @abstractmethod
    def codec(self, measures: Sequence[str]) -> Codec:
        """Records and scores the family's predictions; ``measures`` are measured beside its own."""

    @abstractmethod
    def rows(self, experiment: Experiment[Table, Spec], session: Session) -> Sequence[Row]:
        """The runner's rows. Nothing costly is built before the runner asks for it.

        Raises:
            InputError: a row that cannot be put together.
        """


class Family(Protocol[Table, Spec]):
    """One family. ``table`` is the class of its files."""

    @property
    def table(self) -> type[Table]: ...

    def spec(self, row: RowTable, start: Spec | None, table: Table) -> Spec:
        """A row's spec, before its ``set``; ``start`` is the spec of its ``base``.

        Raises:
            ValueError: no such program or setting.
        """
        ...

    def open(
        self,
        experiment: Experiment[Table, Spec],
        folder: DataFolder,
        split: str | None,
        bad: list[InputError] | None,
    ) -> Bench[Table, Spec]:
        """Read the data.

        Args:
            experiment: whose data.
            folder: the data folder.
            split: in place of the experiment's own.
            bad: where given, bad examples are appended here and passed over.

        Raises:
            InputError: a file is missing or wrong.
        """
        ...


AnyExperiment = Experiment[Any, Any]
