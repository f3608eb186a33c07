"""Seen and unseen: whether an already-tagged fact of another company has this header, mention or concept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ...data.domains import Domain
from ...data.folder import DataFolder
from ...retrievers.errors import InputError
from ...retrievers.precedents.loci import company_key, mention_tokens, row_tokens
from ...signatures.types import Fact
from ...tagging.precedents import domain_precedents, read_precedents

UNNAMED = "(none)"
"""The company of a fact that does not say whose it is."""


def locus_key(fact: Fact) -> tuple[str, ...]:
    """The key that facts of different filings can share: the words of a cell's innermost row header, or of a
    mention; empty without words.
    """
    if fact.modality == "table":
        return row_tokens(fact.row_header or "")[0]
    return mention_tokens(fact.value)


def seen_groups(
    facts: Mapping[str, Fact], golds: Mapping[str, str], domain: Domain, folder: DataFolder
) -> dict[str, dict[str, str]]:
    """Groups by fact id: ``company`` if the domain has companies; ``header`` (or mention) and ``concept``,
    each ``seen`` or ``unseen`` among the already-tagged facts of other companies.

    Without already-tagged facts in the folder there is no seen or unseen. A number in running text has no
    header, so it has no group ``header``.
    """
    owners: dict[tuple[str, ...], set[str]] = defaultdict(set)
    concepts: dict[str, set[str]] = defaultdict(set)
    source = domain_precedents(folder, domain)
    try:
        for path in source.paths if source is not None else ():
            for one in read_precedents(path, source.contexts if source else None, domain, _quiet):
                if one.fact.fact_id in facts:
                    continue  # a split that is evaluated may itself be among the precedents
                key, whose = locus_key(one.fact), _owner(one.fact, domain)
                owners[key].add(whose)
                concepts[one.concept].add(whose)
    except InputError:
        owners, concepts = {}, {}
    known: dict[str, dict[str, str]] = {}
    for id_, fact in facts.items():
        whose, groups = _owner(fact, domain), {}
        if domain.companies:
            groups["company"] = (fact.company or "").strip() or UNNAMED
        if concepts:
            if key := locus_key(fact):
                groups["header" if fact.modality == "table" else "mention"] = _seen(owners.get(key), whose)
            groups["concept"] = _seen(concepts.get(golds.get(id_, "")), whose)
        known[id_] = groups
    return known


def _owner(fact: Fact, domain: Domain) -> str:
    """A fact's owner: its company, or (if the domain has none) its source context."""
    return company_key(fact.company or "") if domain.companies else fact.context.context_id


def _seen(owners: set[str] | None, whose: str) -> str:
    return "seen" if owners and owners - {whose} else "unseen"


def _quiet(line: str) -> None:
    """Ignores notes on precedents, which were given when the run was made."""
