"""A tagging in progress: each tag as soon as it is ready, in the order of the facts."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..programs.own import ranked
from ..programs.shared_rows import first_alike
from ..retrievers.errors import InputError
from ..signatures.types import Fact
from .decided import with_decisions
from .decisions import Decision
from .golds import Golds
from .in_order import in_order
from .tag import Tag
from .tags import Tags

if TYPE_CHECKING:
    from .setup import Ready

Progress = Callable[[int, int], None]
"""Called with how many facts are done, and of how many."""


@dataclass(frozen=True, eq=False)
class Tagging(Iterable[Tag]):
    """The tags of facts, computed during iteration; one at a time is in memory.

    Args:
        of: what they are tags of; it has none itself.
        facts: the facts.
        golds: returns their known concepts; raises InputError if there are none to score.
        ready: the programs.
        tag: makes a tag from a fact, its prediction (None: it failed) and the error.
        context: the context (the models) in which programs run.
        concurrency: facts in parallel if a model is called.
        each_fact: run the program for each fact, not once for cells of a row that differ only in dates.
        progress: called with the number of facts done and the number of all facts.
        decisions: a person's decisions on some facts, by id; with them, all tags are made before the first is
            returned.
    """

    of: Tags
    facts: Sequence[Fact]
    golds: Callable[[], Golds]
    ready: Ready
    tag: Callable[[Fact, Any, str], Tag]
    context: Callable[[], AbstractContextManager[None]]
    concurrency: int
    each_fact: bool = False
    progress: Progress | None = field(default=None)
    decisions: Mapping[str, Decision] | None = None

    def __len__(self) -> int:
        return len(self.facts)

    def __iter__(self) -> Iterator[Tag]:
        with self.context():
            tags: Iterable[Tag] = self._tags()
            if self.decisions is not None:
                tags = with_decisions(list(tags), self.decisions, self.of.taxonomy)
            for done, tag in enumerate(tags, 1):
                yield tag
                if self.progress is not None:
                    self.progress(done, len(self.facts))

    def _tags(self) -> Iterator[Tag]:
        facts, ready = self.facts, self.ready
        first = array("q", range(len(facts))) if self.each_fact else first_alike(facts)
        left = array("q", bytes(8 * len(facts)))
        for place in first:
            left[place] += 1
        asked = deque[Fact]()  # in flight, so that none is made twice

        def asking() -> Iterator[Fact]:
            for place in range(len(facts)):
                if first[place] == place:
                    asked.append(facts[place])
                    yield asked[-1]

        answers = in_order(lambda fact: ranked(ready.program(fact)(fact=fact)), asking(), self.concurrency)
        waiting: dict[int, tuple[Any | None, str]] = {}
        for place, own in enumerate(first):
            if own == place:
                waiting[own] = next(answers)
            fact = asked.popleft() if own == place else facts[place]
            left[own] -= 1
            yield self.tag(fact, *(waiting[own] if left[own] else waiting.pop(own)))

    def whole(self, tags: Iterable[Tag]) -> Tags:
        """All the tags together, ready for scoring if concepts are known."""
        try:
            golds = self.golds()
        except InputError as e:  # what score() then says
            return replace(self.of, tags=tuple(tags), golds=e)
        return replace(self.of, tags=tuple(tags), golds=golds, seen=self.ready.seen(self.facts, golds.scored))
