"""What was learned from already-tagged facts, as one folder: towers, logits, pairs of concepts, confidence.

Folds keep the judgement clean: beside the full towers stand some that left a fold of companies out, and a
fact of a company that training saw is judged by those that left it out. Where no towers are clean for a fact,
they keep silent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..retrievers.base import Floats
from ..retrievers.errors import InputError
from ..retrievers.precedents.companies import Companies
from ..retrievers.precedents.loci import company_key
from ..retrievers.store import Stored, open_index, trusting, writing
from ..retrievers.taxonomy import Taxonomy
from ..retrievers.towers.model import Towers
from ..retrievers.towers.store import KIND, read_concepts, read_towers, write_concepts, write_towers
from ..signatures.types import Fact
from .evidence import FEATURES
from .logit import Logit
from .together import FEATURES as JOINT
from .together import Owners, Together

SIGNS = ("chance", "margin", "share", "companies", "agreement", "unseen", "text")
"""What confidence is computed from, see :func:`signs`."""


def group_of(fact: Fact) -> str:
    """What a fold leaves out whole: the fact's company, else its filing, else its source context."""
    return company_key(fact.company or "") or fact.filing_id or fact.context.context_id


class CleanTowers(NamedTuple):
    """The towers that are clean for a fact, or None; and the number of its company (or filing) among those
    that training saw, or None."""

    towers: Towers | None
    group: int | None


@dataclass(frozen=True, eq=False)
class Learned:
    """Everything that the trained rows need beside retriever and precedents.

    Args:
        taxonomy: name and content hash of what it was trained for.
        towers: trained on everything.
        folds: towers that left out the groups of the same place in ``groups``; empty where only the full ones
            are kept.
        groups: the companies (or filings) of each fold: all that training saw.
        filings: the filings that training saw.
        logits: by scope and modality (``"others table"``), over :data:`~abduce.programs.evidence.FEATURES`.
        joint: by scope, over :data:`~abduce.programs.together.FEATURES`; may lack any.
        confidence: by scope, over :data:`SIGNS`.
        accepted: by scope and wanted precision, the least confidence that reached it on companies that
            neither towers nor confidence had seen; None where none did.
        together: which concepts stand in one table; None where no tables were seen.
        worded: whether it learned from worded mentions.
        about: what the manifest says besides (settings, sources, measures).
    """

    taxonomy: tuple[str, str]
    towers: Towers
    folds: Sequence[Towers]
    groups: Sequence[frozenset[str]]
    filings: frozenset[str]
    logits: Mapping[str, Logit]
    joint: Mapping[str, Logit]
    confidence: Mapping[str, Logit]
    accepted: Mapping[str, Mapping[float, float | None]]
    together: Together | None
    worded: bool
    about: Mapping[str, Any]
    _folds: Mapping[str, int] = field(init=False, repr=False)
    _numbers: Mapping[str, int] = field(init=False, repr=False)
    _companies: tuple[Companies, Mapping[int, str]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        fold_of = {group: fold for fold, groups in enumerate(self.groups) for group in groups}
        numbers = {group: i for i, group in enumerate(sorted(fold_of))}
        companies = Companies()
        spelled = {companies.code(group): group for group in numbers}
        for name, value in (("_folds", fold_of), ("_numbers", numbers), ("_companies", (companies, spelled))):
            object.__setattr__(self, name, value)

    def __deepcopy__(self, memo: dict[int, Any]) -> Learned:
        return self

    def known(self, fact: Fact) -> str | None:
        """The company (or filing, or source context) of a fact as training knew it; None where it saw
        neither."""
        own = group_of(fact)
        if own in self._folds:
            return own
        companies, spelled = self._companies
        return spelled.get(companies.find(fact.company))

    def judge(self, fact: Fact, scope: str) -> CleanTowers:
        """The towers that may judge a fact.

        Where training saw the fact's company: those that left it out. Where such are not kept, the full ones,
        but only in scope ``own`` and for a filing that training did not see.
        """
        group = self.known(fact)
        if group is None:
            return CleanTowers(None if fact.filing_id in self.filings else self.towers, None)
        number = self._numbers[group]
        if self.folds:
            return CleanTowers(self.folds[self._folds[group]], number)
        clean = scope == "own" and fact.filing_id is not None and fact.filing_id not in self.filings
        return CleanTowers(self.towers if clean else None, number)

    def without_folds(self) -> Learned:
        """The same model with the full towers alone."""
        return replace(self, folds=())

    def logit(self, scope: str, modality: str) -> Logit:
        """The small logit of a scope and a modality; that of the other modality where there is none.

        Raises:
            ValueError: none of that scope.
        """
        for name in (f"{scope} {modality}", f"{scope} table", f"{scope} text"):
            if name in self.logits:
                return self.logits[name]
        raise ValueError(f"the model has no weights of the scope {scope!r}")

    def check(self, taxonomy: Taxonomy) -> None:
        """Refuse a taxonomy of another name than that which it was trained for. Concepts that one of the two
        lacks are passed over.

        Raises:
            InputError: it is another.
        """
        if self.taxonomy[0] != taxonomy.name:
            raise InputError(f"the model was trained for {self.taxonomy[0]}, not for {taxonomy.name}")

    def save(self, folder: Path, overwrite: bool = False) -> None:
        """Write it as a folder: complete, or not at all.

        Raises:
            InputError: the place is taken or may not be written.
        """
        with writing(folder, overwrite) as writer:
            name, content = self.taxonomy
            writer.manifest["collection"] = {
                "kind": "taxonomy",
                "name": name,
                "indexed": [],
                "count": len(self.towers.ids),
                "datatypes": {},
                "hash": content,
            }
            write_concepts(writer, self.towers)
            for name, towers in [("full", self.towers), *_folds(self.folds)]:
                write_towers(writer, name, towers)
            if self.together is not None:
                for name in _OWNERS:
                    owners = getattr(self.together, name)
                    writer.array(f"{name}.keys", owners.keys)
                    writer.array(f"{name}.bits", owners.bits)
            writer.finish(
                KIND,
                {
                    "folds": len(self.folds),
                    "together": self.together is not None,
                    "worded": self.worded,
                    "groups": [sorted(g) for g in self.groups],
                    "filings": sorted(self.filings),
                    **{k: {n: list(w.weights) for n, w in getattr(self, k).items()} for k in _LOGITS},
                    "accepted": {k: {f"{p:g}": c for p, c in v.items()} for k, v in self.accepted.items()},
                    "about": dict(self.about),
                },
            )

    @classmethod
    def open(cls, folder: str | Path) -> Learned:
        """Open a folder; its arrays are mapped into memory.

        Raises:
            InputError: no such model, or one that was changed or has other features.
        """
        stored = open_index(folder, KIND)
        with trusting(folder):
            given = stored.parameters
            ids, groups = read_concepts(stored)
            together = None
            if given["together"]:
                companies = sum(map(len, given["groups"]))
                owners = [_owners(stored, name, companies) for name in _OWNERS]
                together = Together(len(ids), companies, *owners)
            about = stored.manifest["collection"]
            if int(given["folds"]) not in (0, len(given["groups"])):
                raise ValueError(f"{given['folds']} folds of {len(given['groups'])} groups")
            logits = {
                kind: {name: _logit(names, weights, folder) for name, weights in given[kind].items()}
                for kind, names in _LOGITS.items()
            }
            return cls(
                taxonomy=(about["name"], about["hash"]),
                towers=read_towers(stored, "full", ids, groups),
                folds=[read_towers(stored, f"fold{i}", ids, groups) for i in range(int(given["folds"]))],
                groups=[frozenset(map(str, g)) for g in given["groups"]],
                filings=frozenset(map(str, given["filings"])),
                logits=logits["logits"],
                joint=logits["joint"],
                confidence=logits["confidence"],
                accepted={
                    scope: {float(p): None if least is None else float(least) for p, least in found.items()}
                    for scope, found in given["accepted"].items()
                },
                together=together,
                worded=bool(given["worded"]),
                about=dict(given["about"]),
            )


_OWNERS = ("single", "tables", "order")
_LOGITS: Mapping[str, tuple[str, ...]] = {
    "logits": FEATURES,
    "joint": JOINT,
    "confidence": (*SIGNS, "constant"),
}


def _owners(stored: Stored, name: str, companies: int) -> Owners:
    keys = stored.take(f"{name}.keys", "int64", rising=True)
    return Owners(keys, stored.take(f"{name}.bits", "uint8", (len(keys), -(-companies // 8))))


def _logit(names: tuple[str, ...], weights: Sequence[float], folder: str | Path) -> Logit:
    if len(weights) != len(names):
        raise InputError(f"has {len(weights)} weights for {len(names)} features; train it again", file=folder)
    return Logit(names, tuple(float(w) for w in weights))


def _folds(folds: Sequence[Towers]) -> list[tuple[str, Towers]]:
    return [(f"fold{i}", towers) for i, towers in enumerate(folds)]


def signs(
    chances: Floats, share: float, companies: float, agreement: float, unseen: float, text: bool
) -> Floats:
    """What tells how sure a ranking's first concept is, and a constant, shape (8,).

    ``chance``: log-odds of its probability; ``margin``: to the next; ``share``: of the votes; ``companies``:
    the logarithm of how many voted for it, plus one; ``agreement``: the share of the rankings that put it
    first; ``unseen``: no tagged fact has it; ``text``: the fact is a mention.
    """
    first = float(np.clip(chances[0], 1e-6, 1 - 1e-6)) if len(chances) else 1e-6
    second = float(chances[1]) if len(chances) > 1 else 0.0
    odds = np.log(first / (1 - first))
    return np.array([odds, first - second, share, companies, agreement, unseen, float(text), 1.0])


def sure(logit: Logit, values: Floats) -> float:
    """The probability in [0, 1] that a logit gives to some :func:`signs`."""
    z = float(values @ np.asarray(logit.weights))
    return float(1.0 / (1.0 + np.exp(-np.clip(z, -40, 40))))
