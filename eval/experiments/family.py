"""A family of experiments: keys of its files, its data, and its programs.

Everything else (reading files, choosing rows and examples, models, the runner, the tables) is shared:
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
    """What rows need besides the experiment.

    Args:
        examples: the examples of the run.
        models: the language models by name; empty if no row calls one.
        out: the run folder, from which replaying rows read earlier results.
        cache: whether replies of further models (judges) are cached.
        note: called with notes for the user.
        closing: closes what rows opened when the run ends.
    """

    examples: Sequence[Example]
    models: Mapping[str, Models] = field(default_factory=dict)
    out: Path | None = None
    cache: bool = True
    note: Callable[[str], None] = lambda line: None
    closing: ExitStack = field(default_factory=ExitStack)


@dataclass(frozen=True, kw_only=True)
class Bench(ABC, Generic[Table, Spec]):
    """The opened data of one experiment.

    Args:
        name: the examples' name (``finance test``).
        examples: the examples of the split.
        whole: whether they are the experiment's full split; only then are the paper's numbers shown.
        fingerprint: covers the data that all examples share.
        ids: the ids that are ranked.
        noun: the kind of examples.
        beside: the other data of the run (``, corpus medical``).
        stratum: the group within which a sample is drawn.
        origin: where the examples come from; empty: the data folder.
        shows_records: whether tables need whole records, which then stay in memory if there is no folder.
    """

    name: str
    examples: Sequence[Example]
    whole: bool
    fingerprint: str
    ids: Sequence[str]
    noun: str
    beside: str = ""
    stratum: str = ""
    origin: str = ""
    shows_records: bool = False

    @abstractmethod
    def codec(self, measures: Sequence[str]) -> Codec:
        """Records and scores the family's predictions, with additional ``measures``."""

    @abstractmethod
    def rows(self, experiment: Experiment[Table, Spec], session: Session) -> Sequence[Row]:
        """The runner's rows. Expensive parts are built when the runner needs them.

        Raises:
            InputError: a row that cannot be built.
        """


class Family(Protocol[Table, Spec]):
    """One family. ``table`` is the class of its files."""

    @property
    def table(self) -> type[Table]: ...

    def spec(self, row: RowTable, start: Spec | None, table: Table) -> Spec:
        """A row's spec before its ``set``; ``start`` is the spec of its ``base``.

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
            experiment: the experiment.
            folder: the data folder.
            split: replaces the experiment's split.
            bad: if given, bad examples are appended here and skipped.

        Raises:
            InputError: a missing or invalid file.
        """
        ...


AnyExperiment = Experiment[Any, Any]
