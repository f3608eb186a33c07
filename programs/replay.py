"""Replay: another row's logged hypotheses and queries under other settings.

No hypothesis is generated anew. What is deterministic is done again (retrieval, fusion, window, score).
Logged verdicts are used where the row's own window is the logged one: beta or a verdict convention is then
compared to the last digit without a model, and under its own settings a replay gives the logged ranking
exactly. Where the window differs (another retriever, another fusion), the verifier is asked again.
"""

from __future__ import annotations

from collections.abc import Callable

import dspy

from ..retrievers.base import Retriever
from ..retrievers.taxonomy import Taxonomy
from ..signatures.types import Fact
from .base import Program, rank_by_support, record_judged, verify_pool, window_for
from .config import FHSConfig
from .fusion import final_ranking
from .profiles import Profiles
from .serialize import Serializer
from .trace import Judged, Query, Trace
from .verify import Verifier

Source = Callable[[Fact], Trace]
"""The logged trace of a fact."""


class Replay(Program):
    """One logged row again under this row's settings.

    Args:
        retriever, taxonomy, serializer: as everywhere.
        source: gives a fact's logged trace.
        config: J and ``keep`` choose among the logged hypotheses, ``forms`` among their queries; the rest
            applies as in FHS.
        profiles: for the window.
        verifier: judges this row's own window, where the log has no verdicts of a verifier of its kind on
            that same window under every kept hypothesis.

    ``notes["verdicts"]`` of the trace is ``logged`` or ``asked again``; the latter is counted
    (``verified_again``).
    """

    config: FHSConfig

    def __init__(
        self,
        retriever: Retriever,
        source: Source,
        config: FHSConfig,
        profiles: Profiles,
        verifier: Verifier,
        serializer: Serializer | None = None,
        taxonomy: Taxonomy | None = None,
    ) -> None:
        super().__init__(retriever, serializer, taxonomy, config)
        self.source, self.profiles, self.verifier = source, profiles, verifier

    async def aforward(self, fact: Fact) -> dspy.Prediction:
        """The fact's logged trace under this row's settings."""
        old = self.source(fact)
        trace = self.start()
        if "verifier" not in old.settings:  # a row without dimensions, which no verifier judges
            del trace.settings["verifier"]
        if old.settings.get("J", self.config.J) < self.config.J and not old.notes.get("targets"):
            raise ValueError(f"J is {self.config.J}, but the log has {old.settings['J']} samples")
        # The numbers of the samples that the log kept; what comes after them (later rounds, sub-queries) are
        # no samples, and all are taken.
        samples = old.notes.get("samples", range(min(len(old.hypotheses), old.settings.get("J", 0))))
        chosen = [s < self.config.J and (not self.config.keep or s in self.config.keep) for s in samples]
        kept = [j for j in range(len(old.hypotheses)) if j >= len(samples) or chosen[j]]
        places = {j: place for place, j in enumerate(kept)}
        trace.hypotheses = [old.hypotheses[j] for j in kept]
        self._retrieve(fact, old, places, trace)
        if old.hypotheses and not kept:  # the samples that this row would have drawn were dropped
            self.search(fact, [self.fall_back(fact, trace)], trace)
        if old.pool is None:
            if len(trace.rankings) != 1:
                raise ValueError("the log has several rankings and no fusion of them: it cannot be replayed")
            return self.answer(trace.rankings[0], trace)
        pool = self.consolidate(trace)
        if self.config.beta == 0 or not trace.hypotheses:
            return self.answer(final_ranking(pool, {}, 0.0), trace)
        window = window_for(pool, self.verifier, self.profiles, self.config)
        judged = self._logged(old, window, places)
        trace.notes["verdicts"] = "asked again" if judged is None else "logged"
        if judged is None:
            trace.count("verified_again")
            last = max((q.round for q in trace.queries), default=0)
            judged = await verify_pool(
                fact, trace.hypotheses, pool, self.verifier, self.profiles, self.config, trace, last
            )
        else:
            record_judged(judged, self.config, trace)
        return self.answer(rank_by_support(pool, judged, self.config), trace)

    def _retrieve(self, fact: Fact, old: Trace, places: dict[int, int], trace: Trace) -> None:
        """The kept queries again, in their old order; a companion's ranking is taken as logged."""
        for query, ranking in zip(old.queries, old.rankings, strict=True):
            if query.hypothesis is None:
                if query.form in old.settings.get("companions", {}):
                    if query.form in self.config.companions:
                        trace.queries.append(query)
                        trace.rankings.append(ranking)
                else:
                    self.search(fact, [query], trace)
            elif query.hypothesis in places and query.form in self.config.forms:
                place = places[query.hypothesis]
                self.search(fact, [Query(query.text, query.form, place, query.round)], trace)

    def _logged(self, old: Trace, window: list[str], places: dict[int, int]) -> list[Judged] | None:
        """The last round's verdicts of the kept hypotheses; None where they are not of this window, or of
        another kind of verifier."""
        if old.settings.get("verifier") != self.verifier.kind:
            return None
        last = max((j.round for j in old.judged), default=0)
        logged = [j for j in old.judged if j.round == last and j.hypothesis in places]
        if len(logged) < len(places) or any(j.window != window for j in logged):
            return None
        return [Judged(places[j.hypothesis], window, j.verdicts, j.round) for j in logged]
