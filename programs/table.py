"""FHS a table at a time: one verifier call judges the readings of all rows together (abduce's own)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import dspy

from ..signatures.fhs import table_signature
from ..signatures.replies import judgements, table_answer
from ..signatures.types import Fact, Hypothesis, Judgement, Verdict
from .base import rank_by_support, record_judged, window_for
from .calls import ask_about
from .fhs import FHS
from .fusion import Pool, final_ranking
from .generate import LMGenerator, kept_samples
from .running import at_once, called
from .shared import Once
from .trace import Judged, Trace
from .verify import show_hypothesis

STRINGS = 120
"""At most so many verdicts (a candidate under one reading) are asked for in one call; a larger table takes
more calls, of whole rows each."""


@dataclass
class _Row:
    """One fact of the table on its way."""

    fact: Fact
    trace: Trace
    hypotheses: list[Hypothesis] = field(default_factory=list)
    pool: Pool | None = None
    window: list[str] = field(default_factory=list)

    @property
    def strings(self) -> int:
        return len(self.hypotheses) * len(self.window)


class TableFHS(FHS):
    """FHS whose facts of one table are done together.

    The samples of all rows are drawn at the same time; each row has its own queries, pool and window. Then
    one call sees the source context once, and for every row its readings and its window of Kv candidates, and
    judges them all; a table of more than :data:`STRINGS` verdicts (12 rows of two readings at Kv = 5, 6 at
    Kv = 10) takes more calls. Scores are FHS's own. The first fact of a call has the call in its trace;
    ``notes["table"]`` of each says how many were judged together and which of them asked. A call that fails
    after its retry is a failed verification of each of its readings. A fact of a passage, or of no table
    that was given, is done as in FHS.

    Args:
        facts: all facts of the run; where facts that share evidence are asked about once, the first ones.
        others: as for FHS; the verifier must be a model's, with compact verdicts.

    Raises:
        ValueError: another kind of verifier, or a generator that calls no model.
    """

    def __init__(self, *args: Any, facts: Sequence[Fact] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if getattr(self.verifier, "form", "") != "compact" or not isinstance(self.generator, LMGenerator):
            raise ValueError("a table is read by a model, and judged by one with compact verdicts")
        self.sampler: LMGenerator = self.generator
        self.judge = dspy.Predict(table_signature(self.schema, (1,), self.prompts))
        self._once = Once()
        self._tables: dict[str, list[Fact]] = {}
        for fact in facts:
            if fact.modality == "table":
                self._tables.setdefault(fact.context.context_id, []).append(fact)

    def start(self) -> Trace:
        """A fresh trace whose verdicts stand for no other verifier's in a replay."""
        trace = super().start()
        trace.settings["verifier"] += ", a table at a time"
        return trace

    async def aforward(self, fact: Fact) -> dspy.Prediction:
        """The ranking of one fact; its whole table is done with the first that asks."""
        table = self._tables.get(fact.context.context_id, [])
        place = next((i for i, one in enumerate(table) if one.fact_id == fact.fact_id), None)
        if place is None or fact.modality != "table":
            return await super().aforward(fact=fact)
        done = await self._once.get(fact.context.context_id, len(table), lambda: self._whole(table))
        found = done[place]
        if isinstance(found, Exception):
            raise found
        return found

    async def _whole(self, facts: Sequence[Fact]) -> list[dspy.Prediction | Exception]:
        """Every row of a table; a row whose samples could not be drawn has the error in its place."""
        rows = [_Row(fact, self.start()) for fact in facts]
        J, temperature = self.config.J, self.config.temperature
        samples = [(row, j) for row in rows for j in range(J)]
        drawn = await at_once([partial(self._sample, row, j, temperature) for row, j in samples])
        failed: dict[str, Exception] = {}
        for n, row in enumerate(rows):
            own = drawn[n * J : (n + 1) * J]
            error = next((one for one in own if isinstance(one, Exception)), None)
            if error is not None:
                failed[row.fact.fact_id] = error
                continue
            kept = kept_samples([h for h in own if not isinstance(h, Exception)], self.config.keep, row.trace)
            self.accept(kept, row.trace)
            row.hypotheses = kept
            self.search(row.fact, self.queries(row.fact, kept, row.trace), row.trace)
            await self.accompany(row.fact, row.trace)
            row.pool = self.consolidate(row.trace)
            row.window = window_for(row.pool, self.verifier, self.profiles, self.config)
        going = [row for row in rows if row.fact.fact_id not in failed]
        if self.config.beta > 0:
            await self._verify([row for row in going if row.strings])
        return [failed.get(row.fact.fact_id) or self._ranked(row) for row in rows]

    async def _sample(self, row: _Row, j: int, temperature: float) -> Hypothesis | Exception | None:
        """One sample of a row; an error is the row's own."""
        try:
            drawn: list[Hypothesis | None] = await called(
                self.sampler, fact=row.fact, J=1, temperature=temperature, trace=row.trace, first=j
            )
        except dspy.LMError as e:
            error: Exception = e
            return error
        return drawn[0]

    async def _verify(self, rows: Sequence[_Row]) -> None:
        """Judge the readings of all rows in as few calls as they need, all at the same time."""
        parts: list[list[_Row]] = []
        for row in rows:
            if not parts or sum(r.strings for r in parts[-1]) + row.strings > STRINGS:
                parts.append([])
            parts[-1].append(row)
        answers = await at_once([partial(self._judge, part, i) for i, part in enumerate(parts)])
        for part, answer in zip(parts, answers, strict=True):
            for place, row in enumerate(part, 1):
                said = None if answer is None else list(getattr(answer, f"row_{place}"))
                judged = []
                for j, hypothesis in enumerate(row.hypotheses):
                    own = None if said is None else said[j * len(row.window) : (j + 1) * len(row.window)]
                    heard = None if own is None else self._heard(hypothesis, row.window, own)
                    judged.append(Judged(j, row.window, heard))
                record_judged(judged, self.config, row.trace)
                row.trace.notes["table"] = {"rows": len(part), "asked_by": part[0].fact.fact_id}

    async def _judge(self, rows: Sequence[_Row], index: int) -> Any | None:
        sizes = tuple(row.strings for row in rows)
        current = self.judge.signature  # an optimizer may have reworded it
        with rows[0].trace.timed("verify"):
            return await ask_about(
                self.judge,
                rows[0].trace,
                "verifier",
                rows[0].fact,
                self.serializer,
                index=index,
                signature=current.with_updated_fields("answer", type_=table_answer(self.schema, sizes)),
                inputs={"rows": "\n\n".join(self._shown(row, i) for i, row in enumerate(rows, 1))},
            )

    def _shown(self, row: _Row, number: int) -> str:
        """One row as the verifier sees it."""
        evidence = self.serializer.evidence(row.fact)
        parts = [f"row_{number}"]
        parts += [
            f"{name}: {evidence[name]}" for name in ("value", "datatype", "row_header", "column_header")
        ]
        parts.append(f"candidates:\n{self.candidates.show(row.window)}")
        for j, hypothesis in enumerate(row.hypotheses, 1):
            parts.append(f"reading {j}:\n{show_hypothesis(hypothesis, self.schema)}")
        return "\n".join(parts)

    def _heard(self, hypothesis: Hypothesis, window: Sequence[str], said: Sequence[str]) -> list[Verdict]:
        verdicts = []
        for candidate, item in zip(window, said, strict=True):
            judged, _ = judgements(self.schema, item)
            heard = {d: j if d in hypothesis.values else Judgement.ABSTAIN for d, j in judged.items()}
            verdicts.append(Verdict(candidate, heard))
        return verdicts

    def _ranked(self, row: _Row) -> dspy.Prediction:
        assert row.pool is not None
        if not row.trace.judged:
            return self.answer(final_ranking(row.pool, {}, 0.0), row.trace)
        return self.answer(rank_by_support(row.pool, row.trace.judged, self.config), row.trace)
