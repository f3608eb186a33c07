"""The page of a running run, rebuilt whenever its folder changes."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from types import TracebackType

from ...data.folder import DataFolder
from ...retrievers.errors import InputError
from ...web.server import PageServer, Reply
from .page import report_html
from .report import load_run
from .sources import Sources, find_sources

LOG = logging.getLogger("abduce.eval")

EVERY = 3.0
"""Seconds between two looks at the folder."""

SHARE = 4
"""Making a page may take at most one SHARE-th of the time: the run comes first."""

FAREWELL = 6.0
"""Seconds that the last page is kept for a browser to fetch."""

WAITING = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="2;url=./">'
    '<link rel="icon" href="data:,"><title>abduce</title><main>'
    "<p>The run has not written anything yet ...</p></main></html>"
)


class LiveReport:
    """Serves the page of a run folder on 127.0.0.1 while a run writes to it.

    It is a context manager. On exit it keeps the last page for a moment, so that an open browser shows the
    finished run.

    Args:
        folder: the run folder; it may not exist yet.
        data: the data folder with the examples' sources.
        port: the server's port; 0: any free port.
        every: seconds between checks of the folder.
    """

    def __init__(self, folder: Path, data: DataFolder, port: int = 0, every: float = EVERY) -> None:
        self.folder, self.data, self.every = folder, data, every
        self._page, self._version, self._seen = WAITING, "", ""
        self._sources: tuple[frozenset[str], Sources] | None = None
        self._ended = threading.Event()
        self._fetched = threading.Event()
        self._builder = threading.Thread(target=self._follow, daemon=True)
        self.server = PageServer(
            {"": self._answer, "page": self._answer, "version": lambda: Reply(self._version)}, port=port
        )

    def _answer(self) -> Reply:
        self._fetched.set()
        return Reply(self._page, "text/html")

    def _state(self) -> str:
        """A value that changes when something is written."""
        rows = sorted((self.folder / "rows").glob("*.log"))
        if not (self.folder / "run.json").is_file():
            return ""
        return " ".join(f"{p.name}:{p.stat().st_size}" for p in rows)

    def update(self) -> bool:
        """Rebuild the page if the folder has changed; returns whether it has."""
        try:
            state = self._state()
            if not state or state == self._seen:
                return False
            run = load_run(self.folder)
            ids = frozenset(e.fingerprint() for e in run.examples)
            if self._sources is None or self._sources[0] != ids:
                self._sources = ids, find_sources(run, self.data)
            self._page = report_html(run, self._sources[1], served=True)
        except (InputError, OSError) as e:  # a file that is being written: the next look sees it whole
            LOG.info("the page was not made again: %s", e)
            return False
        self._seen = self._version = state
        self._fetched.clear()
        return True

    def _follow(self) -> None:
        wait = self.every
        while not self._ended.wait(wait):
            begun = time.monotonic()
            self.update()
            wait = max(self.every, SHARE * (time.monotonic() - begun))

    def __enter__(self) -> LiveReport:
        self.server.__enter__()
        self._builder.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._builder.join()
        watched = self._fetched.is_set()
        if self.update() and watched:
            self._fetched.wait(FAREWELL)
        self.server.__exit__(kind, error, trace)
