"""FHS, factorized hypothesis search (paper: Section 4, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import dspy

from ..retrievers.base import Retriever
from ..retrievers.taxonomy import Taxonomy
from ..signatures.dimensions import DimensionSchema
from ..signatures.replies import VerdictForm
from ..signatures.types import Fact, Hypothesis
from .base import Program, rank_by_support, verify_pool
from .config import FHSConfig
from .fusion import final_ranking
from .generate import Generator, LMGenerator, kept_samples
from .profiles import Profiles
from .render import render
from .running import called
from .serialize import Serializer
from .state import must_be
from .trace import Query, Trace
from .verify import LMVerifier, Verifier


class FHS(Program):
    """Generate J hypotheses, render, retrieve, fuse, verify a profile-diverse window, rank.

    Args:
        retriever: the first stage.
        schema: the domain's dimensions.
        config: J, K, kappa, Kv, beta and the rest.
        generator, verifier: default: model-backed ones.
        serializer: how facts become text.
        taxonomy: the ranked taxonomy; default: the retriever's.
        profiles: may be shared between programs over the same taxonomy and schema.
        prompts: the prompt set of the parts that call a model.
        verdicts: form of the verifier's answers.
        companions: the programs weighted by the config's ``companions``, by name; each ranks the same fact.
    """

    config: FHSConfig
    default_config = FHSConfig()

    def __init__(
        self,
        retriever: Retriever,
        schema: DimensionSchema,
        config: FHSConfig | None = None,
        generator: Generator | None = None,
        verifier: Verifier | None = None,
        serializer: Serializer | None = None,
        taxonomy: Taxonomy | None = None,
        profiles: Profiles | None = None,
        prompts: str = "default",
        verdicts: VerdictForm = "compact",
        companions: Mapping[str, Program] | None = None,
    ) -> None:
        super().__init__(retriever, serializer, taxonomy, config or self.default_config)
        must_be("schema", schema, DimensionSchema)
        self.schema = schema
        self.prompts = prompts
        self.profiles = profiles or Profiles(schema, self.taxonomy)
        self.generator: Generator = generator or LMGenerator(schema, self.serializer, prompts)
        self.verifier: Verifier = verifier or LMVerifier(
            schema, self.taxonomy, self.serializer, verdicts, prompts
        )
        self.companions = dict(companions or {})
        missing = set(self.config.companions) - set(self.companions)
        if missing:
            raise ValueError(f"no companion program {sorted(missing)[0]!r} was given")

    async def aforward(self, fact: Fact) -> dspy.Prediction:
        """Algorithm 1 for one fact."""
        trace = self.start()
        hypotheses = await self.hypotheses(fact, trace)
        queries = self.queries(fact, hypotheses, trace)
        self.search(fact, queries, trace)
        await self.accompany(fact, trace)
        pool = self.consolidate(trace)
        if self.config.beta == 0 or not hypotheses:
            return self.answer(final_ranking(pool, {}, 0.0), trace)
        judged = await verify_pool(fact, hypotheses, pool, self.verifier, self.profiles, self.config, trace)
        return self.answer(rank_by_support(pool, judged, self.config), trace)

    async def hypotheses(self, fact: Fact, trace: Trace) -> list[Hypothesis]:
        """The hypotheses that are used, recorded in the trace; empty where every sample was dropped."""
        with trace.timed("generate"):
            drawn = await called(
                self.generator, fact=fact, J=self.config.J, temperature=self.config.temperature, trace=trace
            )
        kept = kept_samples(drawn, self.config.keep, trace)
        self.accept(kept, trace)
        return kept

    def accept(self, hypotheses: Sequence[Hypothesis], trace: Trace) -> None:
        """Record the used hypotheses, and log their values outside every vocabulary.

        ``notes["unnormalised"]`` has one mapping per hypothesis of the trace, if any has such a value.
        """
        trace.hypotheses += hypotheses
        found = sum(len(self.schema.unnormalised(h)) for h in hypotheses)
        if found:
            trace.count("unnormalised_values", found)
            trace.notes["unnormalised"] = [self.schema.unnormalised(h) for h in trace.hypotheses]

    def queries(self, fact: Fact, hypotheses: list[Hypothesis], trace: Trace) -> list[Query]:
        """Both renderings of every hypothesis; without any hypothesis, the direct query (counted)."""
        if not hypotheses:
            return [self.fall_back(fact, trace)]
        return render(fact, self.serializer.identify(fact), hypotheses, self.schema, self.config.forms)

    async def accompany(self, fact: Fact, trace: Trace) -> None:
        """Ask each companion for its ranking and record it beside the hypotheses' own."""
        for name in self.config.companions:
            prediction = await called(self.companions[name], fact=fact)
            own = prediction.trace
            trace.queries.append(Query(own.queries[0].text if own.queries else "", name))
            trace.rankings.append(prediction.ranking)
            trace.count("retrievals", own.counters["retrievals"])
