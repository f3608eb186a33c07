"""Verifiers: a window of candidates under one hypothesis to a verdict each (paper: Section 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import dspy

from ..retrievers.remade import Remade
from ..retrievers.taxonomy import Taxonomy
from ..signatures.dimensions import DimensionSchema
from ..signatures.fhs import verifier_signature
from ..signatures.replies import CODES, Chances, VerdictForm, judgements, verdicts_answer
from ..signatures.types import UNRESOLVED, Concept, Fact, Hypothesis, Judgement, Verdict
from .calls import ask_about
from .logprobs import Measuring, Token, Unreadable, letter_chances
from .profiles import Profiles
from .running import Part
from .serialize import Serializer, one_line
from .trace import Trace

DEFINITION_CHARACTERS = 320
"""How much of a candidate's definition is shown."""


class Verifier(Protocol):
    """What FHS asks of a verifier.

    ``over`` says whether it judges the window or the whole pool, ``kind`` how it does: verdicts of two
    verifiers of one kind on the same window may stand for each other in a replay.
    """

    over: Literal["window", "pool"]
    kind: str

    def __call__(
        self, *, fact: Fact, hypothesis: Hypothesis, candidates: Sequence[str], trace: Trace, index: int
    ) -> list[Verdict] | None: ...


def show_candidate(concept: Concept, definition: int = DEFINITION_CHARACTERS) -> str:
    """A candidate as a model sees it, after its rank: id, datatype, label, definition, references.

    ``definition`` is how many of the definition's characters are shown; 0: none.
    """
    parts = [one_line(concept.id)]
    if concept.datatype:
        parts.append(one_line(concept.datatype))
    parts.append(one_line(concept.label))
    text = " ".join(concept.definition.split())[:definition]
    if text:
        parts.append(text)
    references = concept.metadata.get("references")
    if references:
        listed = references if isinstance(references, str) else "; ".join(map(str, references))
        parts.append(f"references: {one_line(listed)}")
    return " | ".join(parts)


class Candidates(Remade):
    """Lists of candidates as text; each concept is written out once. Safe to share between threads."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        self._shown: dict[tuple[str, int], str] = {}

    def show(
        self, ids: Sequence[str], definition: int = DEFINITION_CHARACTERS, marks: Sequence[str] = ()
    ) -> str:
        """Candidates one per line, numbered from 1 or marked; ``definition`` as in :func:`show_candidate`."""
        lines = []
        for place, id_ in enumerate(ids):
            line = self._shown.get((id_, definition))
            if line is None:
                line = self._shown[id_, definition] = show_candidate(self.taxonomy[id_], definition)
            lines.append(f"{marks[place] if marks else place + 1}. {line}")
        return "\n".join(lines)


def show_hypothesis(hypothesis: Hypothesis, schema: DimensionSchema) -> str:
    """A hypothesis one dimension a line, in canonical order."""
    return "\n".join(f"{name}: {hypothesis.values.get(name, UNRESOLVED)}" for name in schema.names)


class LMVerifier(Part):
    """One structured call over (fact, hypothesis, window).

    Args:
        schema, taxonomy: what is judged.
        serializer: how the evidence is written down.
        form: ``compact`` or ``spelled`` answers with hard verdicts; ``graded``: the chance of support in
            percent; ``soft``: letters whose probabilities are read from the log-probabilities of the same
            call. Probabilities make the support rate an expectation (rows of our own).
        prompts: name or path of the prompt set.

    Soft verdicts fall back to the letters as they are written, for the whole call and counted, where the
    letters have no probabilities of their own (:func:`~abduce.programs.logprobs.letter_chances` names the
    counters).
    """

    over: Literal["window", "pool"] = "window"

    def __init__(
        self,
        schema: DimensionSchema,
        taxonomy: Taxonomy,
        serializer: Serializer | None = None,
        form: VerdictForm = "compact",
        prompts: str = "default",
    ) -> None:
        super().__init__()
        self.schema = schema
        self.candidates = Candidates(taxonomy)
        self.serializer = serializer or Serializer()
        self.form: VerdictForm = form
        self.kind = f"{form} verdicts, prompts {prompts}"
        self.verify = dspy.Predict(verifier_signature(schema, 1, form, prompts))
        self._sized: dict[tuple[str, int], type[dspy.Signature]] = {}

    def _signature(self, n: int) -> type[dspy.Signature]:
        """The predictor's current signature (an optimizer may have reworded it) for n candidates."""
        current = self.verify.signature
        key = (current.instructions, n)
        if key not in self._sized:
            answer = verdicts_answer(self.schema, n, self.form)
            self._sized[key] = current.with_updated_fields("answer", type_=answer)
        return self._sized[key]

    async def aforward(
        self, fact: Fact, hypothesis: Hypothesis, candidates: Sequence[str], trace: Trace, index: int
    ) -> list[Verdict] | None:
        """A verdict for each candidate, in their order; None where two replies were no use.

        Args:
            fact, hypothesis: the evidence and its reading.
            candidates: concept ids.
            trace: gets the calls and what was counted.
            index: the hypothesis's number among those of the fact.
        """
        soft = self.form == "soft"
        answer = await ask_about(
            Measuring(self.verify) if soft else self.verify,
            trace,
            "verifier",
            fact,
            self.serializer,
            index=index,
            signature=self._signature(len(candidates)),
            inputs={
                "candidates": self.candidates.show(candidates),
                "hypothesis": show_hypothesis(hypothesis, self.schema),
            },
        )
        if answer is None:
            return None
        items = answer.answer.verdicts if soft else answer.verdicts
        found = [judgements(self.schema, item) for item in items]
        if soft:
            found = self._softened(found, items, answer.tokens, trace)
        verdicts = []
        for candidate, (said, chances) in zip(candidates, found, strict=True):
            heard = {d: j if d in hypothesis.values else Judgement.ABSTAIN for d, j in said.items()}
            kept = {d: p for d, p in chances.items() if d in hypothesis.values}
            verdicts.append(Verdict(concept_id=candidate, judgements=heard, probabilities=kept))
        return verdicts

    def _softened(
        self,
        found: list[tuple[dict[str, Judgement], dict[str, Chances]]],
        items: Sequence[str],
        tokens: Sequence[Token] | None,
        trace: Trace,
    ) -> list[tuple[dict[str, Judgement], dict[str, Chances]]]:
        """The judgements with the probabilities of their letters; where these cannot be read, the judgements
        as they are, counted."""
        written = [item.replace(" ", "") for item in items]
        try:
            chances = letter_chances(tokens, "verdicts", written, "".join(CODES))
        except Unreadable as e:
            trace.count(e.reason)
            return found
        return [
            (said, {d: (s, n, x) for d, (s, n, x) in zip(self.schema.names, row, strict=True)})
            for (said, _), row in zip(found, chances, strict=True)
        ]


class SymbolicVerifier:
    """The program-driven check in place of the model, over the whole pool."""

    over: Literal["window", "pool"] = "pool"
    kind = "symbolic"

    def __init__(self, schema: DimensionSchema, profiles: Profiles) -> None:
        self.schema, self.profiles = schema, profiles

    def __call__(
        self, *, fact: Fact, hypothesis: Hypothesis, candidates: Sequence[str], trace: Trace, index: int
    ) -> list[Verdict] | None:
        features = [self.profiles[c] for c in candidates]
        judged = self.schema.judge(hypothesis, features)
        return [Verdict(c, j) for c, j in zip(candidates, judged, strict=True)]
