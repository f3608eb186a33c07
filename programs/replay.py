"""Replay: another row's logged hypotheses, queries and verdicts under other settings, without a model.

Only what is deterministic is done again (retrieval, fusion, window, score), so a retriever, a fusion rule,
beta or a verdict convention is compared to the last digit. Under its own settings a replay gives the
logged ranking exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import dspy

from ..retrievers.base import Retriever
from ..retrievers.taxonomy import Taxonomy
from ..signatures.types import Fact, Verdict
from .base import Program, rank_by_support, verify_pool
from .config import FHSConfig
from .fusion import Pool, final_ranking
from .profiles import Profiles
from .serialize import Serializer
from .trace import Judged, Query, Trace
from .verify import SymbolicVerifier
from .window import profile_window

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
        verifier: the symbolic check in place of the logged verdicts, where given.

    A candidate that comes into the window and was not judged when the row was logged carries no verdict:
    it takes the mean of the judged ones and is counted (``unjudged_candidates``).
    """

    config: FHSConfig

    def __init__(
        self,
        retriever: Retriever,
        source: Source,
        config: FHSConfig,
        profiles: Profiles,
        serializer: Serializer | None = None,
        taxonomy: Taxonomy | None = None,
        verifier: SymbolicVerifier | None = None,
    ) -> None:
        super().__init__(retriever, serializer, taxonomy, config)
        self.source, self.profiles, self.verifier = source, profiles, verifier

    def forward(self, fact: Fact) -> dspy.Prediction:
        old = self.source(fact)
        trace = self.start()
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
        if self.verifier is not None:
            judged = verify_pool(
                fact, trace.hypotheses, pool, self.verifier, self.profiles, self.config, trace
            )
        else:
            judged = self._logged(old, pool, places, trace)
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

    def _logged(self, old: Trace, pool: Pool, places: dict[int, int], trace: Trace) -> list[Judged]:
        """The last round's verdicts on this row's own window."""
        last = max((j.round for j in old.judged), default=0)
        whole = any(len(j.window) > old.settings.get("Kv", 0) for j in old.judged)
        if whole:
            window = list(pool.ids)
        else:
            window = profile_window(pool.by_score(), self.profiles.profile, self.config.Kv, self.config.scan)
        if not old.judged:
            raise ValueError("beta is above 0 and the log has no verdicts")
        judged = []
        for logged in old.judged:
            if logged.round != last or logged.hypothesis not in places:
                continue
            verdicts: list[Verdict] | None = None
            if logged.verdicts is not None:
                known = {v.concept_id: v for v in logged.verdicts}
                verdicts = [known[c] for c in window if c in known]
                if len(verdicts) < len(window):
                    trace.count("unjudged_candidates", len(window) - len(verdicts))
            else:
                trace.count("failed_verifications")
            judged.append(Judged(places[logged.hypothesis], window, verdicts, logged.round))
        trace.judged += judged
        return judged
