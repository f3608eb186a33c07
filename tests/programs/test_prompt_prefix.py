"""Prompts of real tables begin alike, so that a server's prefix cache is reused (DESIGN section 4)."""

from __future__ import annotations

import itertools

import pytest
from abduce.data.domains import DOMAINS
from abduce.data.folder import DataFolder
from abduce.programs.adapter import StrictJSON
from abduce.programs.verify import Candidates, show_hypothesis
from abduce.retrievers.bm25 import BM25Retriever
from abduce.signatures.dimensions import load_schema
from abduce.signatures.fhs import generator_signature, table_signature, verifier_signature
from abduce.signatures.select import letter_signature, selector_signature
from abduce.signatures.types import Hypothesis

SHARE = 0.8
DOMAIN = DOMAINS["finance"]
SCHEMA = load_schema(DOMAIN.schema)
READINGS = (
    Hypothesis(values={"Family": "cash", "Role": "balance", "Temporal": "instant"}),
    Hypothesis(values={"Family": "debt", "Event": "repayment", "Scope": "parent"}),
    Hypothesis(),
)


@pytest.fixture(scope="module")
def folder():
    return DataFolder.find(None)


@pytest.fixture(scope="module")
def facts(folder):
    """Table facts of the bundled filings, in their order."""
    split = next(iter(DOMAIN.splits))
    found = [e.inputs["fact"] for e in folder.facts(DOMAIN, split)]
    return [f for f in found if f.modality == "table"]


def prompt(signature, fact, **more):
    inputs = {**DOMAIN.serializer.evidence(fact), **more}
    shown = {name: inputs[name] for name in signature.input_fields}
    return "".join(message["content"] for message in StrictJSON().format(signature, [], shown))


def share(one, other):
    """The part of the other prompt that a cache that has seen the one already knows."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in same) / len(other)


def pairs_of_one_table(facts):
    return [(a, b) for a, b in itertools.pairwise(facts) if a.context.context_id == b.context.context_id]


def test_consecutive_generation_prompts_of_one_table(facts):
    signature = generator_signature(SCHEMA)
    pairs = pairs_of_one_table(facts)
    assert len(pairs) > 100
    shares = [share(prompt(signature, a), prompt(signature, b)) for a, b in pairs]
    assert min(shares) >= SHARE


@pytest.mark.parametrize("form", ["compact", "spelled"])
def test_the_verifier_prompts_of_one_fact(folder, facts, form):
    taxonomy = folder.taxonomy(DOMAIN)
    retriever, candidates = BM25Retriever(taxonomy), Candidates(taxonomy)
    signature = verifier_signature(SCHEMA, 10, form)
    shares = []
    for fact in facts[::10]:
        window = candidates.show(retriever.search([DOMAIN.serializer.locus(fact)], 10)[0].ids)
        first, *others = (
            prompt(signature, fact, candidates=window, hypothesis=show_hypothesis(reading, SCHEMA))
            for reading in READINGS
        )
        shares += [share(first, other) for other in others]
    assert len(shares) >= 40
    assert min(shares) >= SHARE


def test_the_shared_parts_come_first_and_what_differs_comes_last():
    assert next(iter(generator_signature(SCHEMA).input_fields)) == "source_context"
    assert list(verifier_signature(SCHEMA, 10).input_fields)[:2] == ["source_context", "candidates"]
    assert list(verifier_signature(SCHEMA, 10).input_fields)[-1] == "hypothesis"
    assert list(selector_signature(SCHEMA).input_fields)[:2] == ["source_context", "candidates"]
    assert list(verifier_signature(SCHEMA, 10, "soft").input_fields)[:2] == ["source_context", "candidates"]
    assert list(verifier_signature(SCHEMA, 10, "soft").input_fields)[-1] == "hypothesis"
    assert list(table_signature(SCHEMA, (2, 2)).input_fields) == ["source_context", "rows"]
    rounds = list(letter_signature(SCHEMA).input_fields)  # of one fact, only the candidates differ
    assert rounds == ["source_context", "value", "datatype", "candidates"]


def test_the_paper_prompts_keep_the_papers_order_whatever_it_costs():
    order = ["value", "datatype", "input_type", "row_header", "column_header", "source_context"]
    assert list(generator_signature(SCHEMA, "paper").input_fields) == order
