"""A review that saves while the user works: the requests of its page."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

import orjson

from ...retrievers.errors import InputError
from ...web.page import page
from ...web.server import PageServer, Reply
from ..decisions import Decision, latest
from ..tags import Tags
from .journal import Journal
from .out import write_reviewed
from .sheet import review_data

EVERY = 2.0
"""Seconds after which the reviewed tags are written again, where something was decided."""


class ServedReview:
    """One document under review at a local server.

    Every decision is in the journal before the page learns that it is saved. The reviewed tags are written
    from it every few seconds and at the end. One page can write at a time: the one opened last.

    Args:
        tags: the document's tags.
        path: the document.
        journal: an open journal with the decisions to show.
        out: the file of reviewed tags, .csv or .xlsx; None: only the journal is kept.
        port: the server's port; 0: any free port.
        on_problem: called with an error if the reviewed tags cannot be written.
    """

    def __init__(
        self,
        tags: Tags,
        path: Path | None,
        journal: Journal,
        out: Path | None = None,
        port: int = 0,
        on_problem: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.tags, self.journal, self.out, self.on_problem = tags, journal, out, on_problem
        self._data, self._packs = review_data(tags, path)
        self._known = {tag.fact.fact_id for tag in tags}
        self._lock = threading.Lock()
        self._session = 0
        self._changed = threading.Event()
        self._ended = threading.Event()
        self._writer = threading.Thread(target=self._keep_written, daemon=True)
        self.server = PageServer({"": self._page}, {"decisions": self._save}, port)

    @property
    def decisions(self) -> Mapping[str, Decision]:
        """The latest decision on each fact."""
        return latest(self.journal.decisions)

    def _page(self) -> Reply:
        with self._lock:
            self._session += 1
            shown = [d.record() for i, d in self.decisions.items() if i in self._known]
            data = self._data | {"served": True, "session": self._session, "decisions": shown}
        return Reply(page("review", str(data["title"]), data, self._packs, served=True), "text/html")

    def _save(self, body: bytes, headers: Mapping[str, str]) -> Reply:
        try:
            records = orjson.loads(body)
            decisions = [Decision.of(r) for r in records]
        except (orjson.JSONDecodeError, TypeError) as e:
            return Reply(f"not a list of decisions: {e}", status=400)
        except InputError as e:
            return Reply(str(e), status=400)
        if unknown := next((d.fact_id for d in decisions if d.fact_id not in self._known), None):
            return Reply(f"no fact {unknown!r:.80}", status=400)
        with self._lock:
            if headers.get("x-session") != str(self._session):
                return Reply("this review was opened again in another window: reload this one", status=409)
            try:
                self.journal.append(decisions)
            except InputError as e:
                return Reply(str(e), status=507)
        self._changed.set()
        return Reply("saved")

    def write(self) -> None:
        """Write the reviewed tags, if there is an output file.

        Raises:
            InputError: they cannot be written.
        """
        if self.out is not None:
            with self._lock:
                decisions = self.decisions
            write_reviewed(self.out, self.tags, decisions)

    def _keep_written(self) -> None:
        while not self._ended.wait(EVERY):
            if self._changed.is_set():
                self._changed.clear()
                try:
                    self.write()
                except InputError as e:
                    self.on_problem(str(e))

    def __enter__(self) -> ServedReview:
        self.write()
        self.server.__enter__()
        self._writer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.__exit__(kind, error, trace)
        self._ended.set()
        self._writer.join()
        self.write()
