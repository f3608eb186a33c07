"""Trained models: opened from a folder, or trained once on already-tagged facts and stored."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from ..data import bundled
from ..data.example import fingerprint
from ..programs.learned import Learned, group_of
from ..programs.methods import Parts
from ..signatures.types import Fact
from .precedents import PrecedentSource, read_precedents

if TYPE_CHECKING:  # what trains is imported where something is trained
    from .train import TrainSettings
    from .weights import Progress

VERSION = 2
"""Of the recipe: kept models of another one are trained anew."""


class ModelFolder:
    """A model folder, opened on first use."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._lock = threading.Lock()
        self._opened: Learned | None = None

    def __call__(self) -> Learned:
        with self._lock:
            if self._opened is None:
                self._opened = Learned.open(self.folder)
            return self._opened

    @property
    def fingerprint(self) -> str:
        """A hash of the model's manifest, which has hashes of all its files."""
        from ..retrievers.store import read_manifest

        return str(read_manifest(self.folder)["seal"])


def bundled_model(domain: str) -> ModelFolder | None:
    """The bundled model of a domain, or None."""
    folder = Path(str(resources.files(bundled))) / domain / "model"
    return ModelFolder(folder) if folder.is_dir() else None


class TrainedOnce:
    """A model for scoring some facts. It is trained on first use and stored.

    The companies (or source contexts) of these facts are a separate fold. The towers that score them have not
    seen them, and no weight is fitted on them.

    Args:
        source: the already-tagged facts.
        parts: retriever, taxonomy, schema and serializer of the rows.
        judged: facts that training must leave out: those of every evaluated split.
        settings: training settings.
        on_note: called with one line for the model used and for each step.
        folder: the folder of stored models; None: ``$ABDUCE_MODELS``, else ``~/.cache/abduce/models``.
        bundled: the bundled model. It is used if it was trained in the same way and has seen neither company
            nor filing of the ``asked`` facts.
        asked: the facts that will be scored.
    """

    def __init__(
        self,
        source: PrecedentSource,
        parts: Parts,
        judged: Sequence[Fact],
        settings: TrainSettings | None = None,
        on_note: Callable[[str], None] = lambda line: None,
        folder: Path | None = None,
        bundled: ModelFolder | None = None,
        asked: Sequence[Fact] = (),
    ) -> None:
        self.bundled, self.asked = bundled, asked
        from .train import TrainSettings

        self.source, self.parts, self.settings = source, parts, settings or TrainSettings()
        self.apart = frozenset(map(group_of, judged))
        self.on_note = on_note
        self.kept = folder or models_folder()
        self._lock = threading.Lock()
        self._made: Learned | None = None

    @property
    def fingerprint(self) -> str:
        """A hash of everything that the model depends on."""
        taxonomy = self.parts.taxonomy
        about = [VERSION, taxonomy.name, taxonomy.content_hash, asdict(self.settings), sorted(self.apart)]
        return fingerprint([*about, self.source.fingerprint])

    def __call__(self) -> Learned:
        with self._lock:
            if self._made is None:
                self._made = self._kept() or self._bundled() or self._trained()
            return self._made

    @property
    def place(self) -> Path:
        """The folder of the stored model."""
        return self.kept / self.fingerprint

    def _kept(self) -> Learned | None:
        if not self.place.is_dir():
            return None
        self.on_note(f"the model trained before: {self.place}")
        return Learned.open(self.place)

    def _bundled(self) -> Learned | None:
        if self.bundled is None:
            return None
        model = self.bundled()
        seen = any(model.known(f) is not None or f.filing_id in model.filings for f in self.asked)
        if seen or model.about.get("made") != self.fingerprint:
            return None
        self.on_note("the model that comes with abduce, which was trained on just these facts")
        return model

    def _trained(self) -> Learned:
        self.on_note(f"training a model on {len(self.source.paths)} files; it is kept in {self.place}")
        made = train_from(self.source, self.parts, self.settings, self.apart, self._told())
        replace(made, about={**made.about, "made": self.fingerprint}).save(self.place)
        return Learned.open(self.place)

    def _told(self) -> Progress:
        """Send a note for each new step of training."""
        said: set[str] = set()

        def on_progress(what: str, done: float) -> None:
            if what not in said:
                said.add(what)
                self.on_note(f"training: {what}")

        return on_progress


def models_folder() -> Path:
    """The folder of trained models: ``$ABDUCE_MODELS``, else ``abduce/models`` in the cache folder."""
    if given := os.environ.get("ABDUCE_MODELS"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "abduce" / "models"


def train_from(
    source: PrecedentSource,
    parts: Parts,
    settings: TrainSettings,
    apart: Collection[str] = (),
    on_progress: Progress = lambda what, done: None,
) -> Learned:
    """Train a model on the facts of some files.

    Raises:
        InputError: see :func:`~.train.train` and :func:`~.precedents.read_precedents`.
    """
    from .train import train

    paths = list(source.paths)
    tagged = [
        one for path in paths for one in read_precedents(path, source.contexts, source.domain, source.on_note)
    ]
    return train(tagged, source.for_facts(())(), parts, settings, apart, on_progress)
