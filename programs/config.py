"""Settings of the methods, named as in the papers; an unknown key is an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class SearchConfig(BaseModel):
    """What every method over rankings shares.

    Args:
        K: retrieval depth and length of the returned ranking, at least 1.
        kappa: the constant of reciprocal rank fusion (Eq. 4), at least 0.
        fusion: ``sum`` of reciprocal ranks, or their ``mean`` over the rankings that contain the
            candidate.
        normalise: range-normalise the fused scores over the pool (Eq. 5); False: raw fused scores.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    K: int = Field(default=200, ge=1)
    kappa: float = Field(default=60.0, ge=0)
    fusion: Literal["sum", "mean"] = "sum"
    normalise: bool = True


class SampleConfig(SearchConfig):
    """A method that samples interpretations.

    Args:
        J: how many samples, at least 1.
        temperature: of the samples, in [0, 2]; a method that is greedy says 0.
        keep: which samples are used, by index from 0 (the ablation "no ensemble" keeps one of J);
            empty: all.
    """

    J: int = Field(default=2, ge=1)
    temperature: float = Field(default=0.8, ge=0, le=2)
    keep: tuple[int, ...] = ()


class FHSConfig(SampleConfig):
    """Algorithm 1's settings (paper: Table 9).

    Args:
        Kv: candidates in the verifier's window, at least 1.
        scan: how deep the window looks for distinct category profiles.
        beta: weight of the verifier's support (Eq. 3), at least 0; 0 makes no verifier call.
        forms: which renderings a table fact issues; a text fact issues the definition form only.
        abstain: ``exclude`` abstentions from the support rate, or count them as ``no_support``.
        outside: the support of a candidate without a verdict: the ``mean`` of the judged ones (Eq. 2), or
            ``zero`` as in the authors' released FHS-Seq.
        weights: a factor in the fusion for each hypothesis, by index; 1 where there is none (the paper
            weighs none).
        companions: programs whose ranking is fused in beside the hypotheses' own, with the weight of
            each in the fusion (``{"locus": 1.0}``; rows of abduce's own).
    """

    Kv: int = Field(default=10, ge=1)
    scan: int = Field(default=60, ge=1)
    beta: float = Field(default=0.6, ge=0)
    forms: tuple[Literal["label", "definition"], ...] = ("label", "definition")
    abstain: Literal["exclude", "no_support"] = "exclude"
    outside: Literal["mean", "zero"] = "mean"
    weights: tuple[float, ...] = ()
    companions: Mapping[str, float] = Field(default_factory=dict)


class FHSSeqConfig(FHSConfig):
    """FHS-Seq: the parallel round of FHS, then up to ``rounds`` revisions of one dimension each."""

    rounds: int = Field(default=3, ge=0)


class RefineConfig(SearchConfig):
    """Iterative refinement: ``rounds`` interpretations in all, the first one-pass; ``shown`` retrieved
    concepts are shown to the feedback variant."""

    rounds: int = Field(default=4, ge=1)
    shown: int = Field(default=10, ge=1)


class PrecedentsConfig(SearchConfig):
    """Settings of the vote of already-tagged facts.

    Args:
        scope: ``others``: never a precedent of the fact's company; ``own``: its earlier filings too. A
            precedent of the fact's own filing or source context never votes.
        fill: complete the ranking to K with the locus query's concepts.
        locus: what the locus query adds: its reciprocal rank of a concept times this, at least 0, on top
            of the concept's share of the votes. It orders concepts that few or no precedents have.
        period: factor, above 0 and at most 1, of a concept whose own period type (instant, duration) is not
            the one that a cell's column header names: "Year ended" over a concept of a day. 1: no matter.
        alike: the likeness of headers (or mentions), in [0, 1], that the most alike precedent needs for the
            votes to count in full; with less they soon count less. 0: they always do.
        decisions: what the company's own precedents decided for the same chain of headers and kind of period
            stands before every vote.
        shown: how many of the nearest precedents are kept in the trace (``notes["precedents"]``).
    """

    scope: Literal["others", "own"] = "others"
    fill: bool = True
    alike: float = Field(default=0.0, ge=0.0, le=1.0)
    decisions: bool = False
    locus: float = Field(default=0.0, ge=0.0)
    period: float = Field(default=1.0, gt=0.0, le=1.0)
    shown: int = 3


class TrainedConfig(SearchConfig):
    """Settings of the trained rows.

    Args:
        scope: ``others``: nothing of the fact's company is used; ``own``: its earlier filings too. A fact's
            own filing never votes.
        joint: whether the rows of a table are judged together.
        shown: how many of the nearest precedents are kept in the trace (``notes["precedents"]``).
    """

    scope: Literal["others", "own"] = "others"
    joint: bool = True
    shown: int = 3
