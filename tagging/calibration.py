"""Calibrated confidence of a tag, and how many tags can be accepted at a wanted precision.

The evidence of a tag comes from its ranking: the best score, the margin to the next, and the companies behind
it. A logistic model of these is fitted on facts with known concepts (the dev split) and stored as plain
numbers. Isotonic regression is the alternative without a fixed shape. Fitting needs scikit-learn; using a
fitted model does not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, TypeAdapter, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from ..data import bundled
from ..data.example import fingerprint
from ..data.folder import file_fingerprint
from ..retrievers.base import Ranking
from ..retrievers.errors import InputError, MissingExtra
from ..retrievers.files import write_text
from ..retrievers.outside import read_json
from ..retrievers.taxonomy import Taxonomy
from ..signatures.types import Fact
from .precedents import PrecedentSource

Floats = npt.NDArray[np.float64]

FEATURES = ("score", "margin", "log_ratio", "companies", "text")
"""What a tag's confidence is computed from, see :func:`features`."""


def features(ranking: Ranking, modality: str) -> list[float]:
    """The evidence of one tag, shape (5,).

    ``score`` and ``margin`` without the bonus for a decision of the company; ``log_ratio`` of the best and
    the second score if both are positive (at most 10); ``companies`` behind the best concept (logarithm of
    the count plus one; 0 if the program knows none); ``text`` is 1 for a mention.
    """
    if not len(ranking):
        return [0.0] * len(FEATURES)
    scores = ranking.scores[:2] - ranking.components.get("decided", np.zeros(len(ranking)))[:2]
    best, second = float(scores[0]), float(scores[1]) if len(scores) > 1 else 0.0
    ratio = (
        min(10.0, float(np.log(best / second))) if best > 0 and second > 0 else (10.0 if best > 0 else 0.0)
    )
    companies = ranking.components.get("companies")
    known = float(np.log1p(companies[0])) if companies is not None and len(companies) else 0.0
    return [best, best - second, ratio, known, float(modality == "text")]


@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Calibration:
    """A fitted map from evidence to the probability that the first concept is right. All its numbers are
    finite.

    Args:
        program: the row it was fitted for; it does not fit another program's scores.
        kind: ``logistic`` (``mean``, ``scale``, ``weights`` of shape (5,) and ``bias``), or ``isotonic``
            (``x`` and ``y``: the margin and the probability at its steps).
        fitted_on: the number of facts.
        taxonomy, fingerprint: name and content of the taxonomy it was fitted on.
        setup: the kind of retriever, and the schema if it is not the domain's default.
        precedents: a hash of the already-tagged facts (:func:`precedents_fingerprint`); empty: none.
        split: the split it was fitted on.
        wanted, thresholds: for each wanted precision, the lowest confidence that reached it on those facts,
            out of fold; None if none did.
    """

    program: str
    kind: Literal["logistic", "isotonic"]
    fitted_on: int
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    bias: float = 0.0
    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    taxonomy: str = ""
    fingerprint: str = ""
    setup: str = ""
    precedents: str = ""
    split: str = ""
    wanted: tuple[float, ...] = ()
    thresholds: tuple[float | None, ...] = ()

    @property
    def accepts(self) -> Thresholds:
        """Its thresholds."""
        return Thresholds(self.split, dict(zip(self.wanted, self.thresholds, strict=True)))

    def misfit(self, program: str, taxonomy: Taxonomy, setup: str) -> str:
        """Why the calibration does not apply to a program's tags with a taxonomy; empty if it applies."""
        if self.program != program:
            return f"was fitted for the program {self.program!r}"
        if not self.taxonomy:
            return "does not say for which taxonomy it was fitted: make it anew with abduce calibrate"
        if self.taxonomy != taxonomy.name:
            return f"was fitted for {self.taxonomy}, not for {taxonomy.name}"
        if self.fingerprint != taxonomy.content_hash:
            return f"was fitted for another version of {self.taxonomy}"
        if self.setup != setup:
            return f"was fitted with {self.setup}, not with {setup}"
        return ""

    def probability(self, evidence: Sequence[Sequence[float]] | Floats) -> Floats:
        """Probabilities in [0, 1], shape (n,), of evidence of shape (n, 5)."""
        table = np.asarray(evidence, dtype=np.float64).reshape(-1, len(FEATURES))
        if self.kind == "isotonic":
            found: Floats = np.interp(table[:, 1], self.x, self.y)
            return found
        z = ((table - self.mean) / self.scale) @ np.asarray(self.weights) + self.bias
        squashed: Floats = 1.0 / (1.0 + np.exp(-np.clip(z, -40, 40)))
        return squashed

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        write_text(path, json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> Calibration:
        """Read it back.

        Raises:
            InputError: no such file, or not a file that :meth:`save` writes.
        """
        try:
            return cls.of(read_json(path))
        except ValidationError as e:
            raise InputError.of_validation(e, file=path) from e

    @classmethod
    def of(cls, data: dict[str, Any]) -> Calibration:
        """From the JSON object of :meth:`save`.

        Raises:
            pydantic.ValidationError: an unknown field or a wrong type; numbers that are not finite or give no
                probabilities.
        """
        return TypeAdapter(cls).validate_python(data)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        sizes = {len(self.mean), len(self.scale), len(self.weights)}
        if self.kind == "logistic" and sizes != {len(FEATURES)}:
            raise ValueError(f"weights: needs {len(FEATURES)}, and as many of mean and scale")
        if not all(s > 0 for s in self.scale):
            raise ValueError("scale: must be above 0")
        if self.kind == "isotonic" and not (len(self.x) == len(self.y) > 0):
            raise ValueError("x: must be as long as y, and not empty")
        if list(self.x) != sorted(self.x) or not all(0 <= p <= 1 for p in self.y):
            raise ValueError("y: must be probabilities, at ascending x")
        if len(self.wanted) != len(self.thresholds):
            raise ValueError("thresholds: must be as many as wanted")
        return self


def precedents_fingerprint(source: PrecedentSource | None) -> str:
    """A hash of the files of already-tagged facts, the same for a stored index made from them. Empty if there
    are none or a file is missing.
    """
    if source is None or not all(path.is_file() for path in source.paths):
        return ""
    files = sorted(file_fingerprint(path) for path in source.paths)
    if source.stored is not None:
        return fingerprint([*files, source.stored.source]) if files else source.stored.source
    return fingerprint(files)


def bundled_calibration(program: str) -> Calibration | None:
    """The calibration of a row that comes with abduce, or None. Fitted on the finance dev split."""
    file = resources.files(bundled) / "finance" / "calibration.json"
    if not file.is_file():
        return None
    found = {c["program"]: c for c in json.loads(file.read_text(encoding="utf-8"))}
    return Calibration.of(found[program]) if program in found else None


def fit(
    evidence: Sequence[Sequence[float]],
    right: Sequence[bool],
    program: str,
    kind: Literal["logistic", "isotonic"] = "logistic",
) -> Calibration:
    """Fit a calibration on tags with known correctness.

    Args:
        evidence: shape (n, 5), see :func:`features`.
        right: whether the first concept was right, shape (n,).
        program: the row that ranked.
        kind: ``logistic`` or ``isotonic``.

    Raises:
        MissingExtra: scikit-learn is not installed.
        InputError: fewer than 20 facts, or all right, or all wrong.
    """
    try:
        from sklearn.isotonic import IsotonicRegression
        from sklearn.linear_model import LogisticRegression
    except ImportError as e:
        raise MissingExtra("scikit-learn", "calibration") from e
    x = np.asarray(evidence, dtype=np.float64).reshape(-1, len(FEATURES))
    y = np.asarray(right, dtype=np.float64)
    if len(y) < 20 or len(set(y.tolist())) < 2:
        raise InputError(f"cannot calibrate on {len(y)} facts of which {int(y.sum())} are right")
    if kind == "isotonic":
        model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(x[:, 1], y)
        return Calibration(
            program,
            kind,
            len(y),
            x=tuple(model.X_thresholds_.tolist()),
            y=tuple(model.y_thresholds_.tolist()),
        )
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale == 0] = 1.0
    model = LogisticRegression(C=1.0).fit((x - mean) / scale, y)
    return Calibration(
        program,
        kind,
        len(y),
        tuple(mean.tolist()),
        tuple(scale.tolist()),
        tuple(model.coef_[0].tolist()),
        float(model.intercept_[0]),
    )


def confidence_of(prediction: Any, fact: Fact, calibration: Calibration | None) -> float | None:
    """The probability, in [0, 1], that a prediction's first concept is right: from a calibration, or else
    from the program. None if neither gives one.
    """
    if calibration is not None:
        return float(calibration.probability([features(prediction.ranking, fact.modality)])[0])
    found: float | None = prediction.get("confidence")
    return found


class Confident(Protocol):
    """Whatever may have a confidence, in [0, 1]."""

    @property
    def confidence(self) -> float | None: ...


Sure = TypeVar("Sure", bound=Confident)


@dataclass(frozen=True)
class Thresholds:
    """The confidence from which tags may be accepted unseen.

    Args:
        fitted_on: the facts that the thresholds were chosen on.
        least: for each wanted precision, the lowest confidence that reached it; None if none did.
    """

    fitted_on: str
    least: Mapping[float, float | None]

    def of(self, precision: float) -> float | None:
        """The lowest confidence for a precision; None if none reached it.

        Raises:
            InputError: there is no threshold for this precision.
        """
        if precision not in self.least:
            there = ", ".join(f"{p:g}" for p in self.least) or "none"
            raise InputError(f"there is no threshold for a precision of {precision:g}: {there}")
        return self.least[precision]

    def sure(self, tags: Iterable[Sure], precision: float) -> tuple[Sure, ...]:
        """The tags that may be accepted for a precision: none if no confidence reached it.

        Raises:
            InputError: there is no threshold for this precision.
        """
        least = self.of(precision)
        return () if least is None else tuple(t for t in tags if (t.confidence or 0.0) >= least)

    def reached(self, confidence: float | None) -> list[float]:
        """The precisions for which a tag of this confidence may be accepted."""
        sure = -1.0 if confidence is None else confidence
        return [wanted for wanted, least in self.least.items() if least is not None and sure >= least]


@dataclass(frozen=True)
class Acceptance:
    """One line of a risk-coverage table.

    Accepting every tag with at least ``threshold`` accepts the share ``coverage`` of all facts, and the share
    ``precision`` of these is right. ``threshold`` is None if no threshold reaches the wanted precision;
    ``precision`` is None if nothing is accepted.
    """

    wanted: float
    threshold: float | None
    coverage: float
    precision: float | None


def risk_coverage(
    probability: Sequence[float] | Floats,
    right: Sequence[bool] | npt.NDArray[np.bool_],
    wanted: Sequence[float] = (0.99, 0.95, 0.9, 0.8, 0.7),
) -> Iterator[Acceptance]:
    """For each wanted precision, the largest share of facts that can be accepted.

    Facts of equal confidence are accepted together.
    """
    p = np.asarray(probability, dtype=np.float64)
    y = np.asarray(right, dtype=np.float64)
    order = np.argsort(-p, kind="stable")
    p, hits = p[order], np.cumsum(y[order])
    accepted = np.arange(1, len(p) + 1)
    last = np.append(p[1:] != p[:-1], True) if len(p) else np.zeros(0, dtype=bool)
    precision = hits / accepted if len(p) else hits
    for want in wanted:
        places = np.flatnonzero(last & (precision >= want))
        if len(places):
            at = int(places[-1])
            yield Acceptance(want, float(p[at]), (at + 1) / len(p), float(precision[at]))
        else:
            yield Acceptance(want, None, 0.0, None)


def calibration_error(probability: Sequence[float] | Floats, right: Sequence[bool], bins: int = 10) -> float:
    """Expected calibration error: the mean distance of confidence and accuracy over ``bins`` equal ranges of
    confidence, weighted by their facts."""
    p = np.asarray(probability, dtype=np.float64)
    y = np.asarray(right, dtype=np.float64)
    if not len(p):
        return 0.0
    place = np.minimum((p * bins).astype(int), bins - 1)
    n = np.bincount(place, minlength=bins)
    gap = np.abs(
        np.bincount(place, weights=p, minlength=bins) - np.bincount(place, weights=y, minlength=bins)
    )
    return float(gap[n > 0].sum() / len(p))
