"""Every row over twenty bundled facts and the whole inventory, with a scripted model."""

from __future__ import annotations

import pytest
from abduce.data.domains import FINANCE
from abduce.eval.runs.recompute import recompute
from abduce.eval.runs.taxonomy_codec import TaxonomyCodec
from abduce.programs.methods import Parts, build_program
from abduce.programs.presets import PRESETS, scopes
from abduce.programs.profiles import Profiles
from abduce.programs.trace_json import from_json

FOCI = ("entity_and_family", "temporal", "measurement_and_qualifiers", "aggregation_and_structure")
ROWS = [name for name, spec in PRESETS.items() if not scopes(spec)]


@pytest.fixture(scope="module")
def twenty(dev_facts):
    """Ten table facts and ten text facts, as far as there are."""
    tables = [e for e in dev_facts if e.inputs["fact"].modality == "table"]
    texts = [e for e in dev_facts if e.inputs["fact"].modality == "text"]
    chosen = tables[:: len(tables) // 10][:10] + texts[:: max(1, len(texts) // 10)][:10]
    assert len(chosen) == 20
    return chosen


@pytest.fixture(scope="module")
def parts(us_gaap, us_gaap_index, schema):
    return Parts(lambda _: us_gaap_index, us_gaap, schema, FINANCE.serializer, Profiles(schema, us_gaap))


@pytest.fixture
def model(scripted, reply):
    """Reads what is shown: descriptions are made of the evidence, verdicts of the candidates."""

    def words(asked):
        shown = (asked.field("row_header") or "", asked.field("source_context") or "")
        return " ".join(" ".join(shown).split()[: 8 + asked.sample % 100])[:500] or "amount"

    def verdicts(asked):
        lines = asked.field("candidates").split("\n")
        if "chance in percent" in asked.prompt:
            return {"verdicts": [[len(line) % 101] * 6 for line in lines]}
        return {"verdicts": ["".join("snx"[(len(line) + d) % 3] for d in range(6)) for line in lines]}

    return scripted(
        generator=lambda a: reply(words(a), Family="asset", Role=words(a)[:100]),
        describe=lambda a: {"description": words(a)},
        varied=lambda a: {"description": words(a)},
        decompose=lambda a: dict(zip(FOCI, (words(a), "as of year end", "net", "total"), strict=True)),
        critique=lambda a: {"critique": "vague", "description": words(a)},
        feedback=lambda a: {"critique": "vague", "description": words(a)},
        verifier=verdicts,
        revise=lambda a: {"value": "liability", "retrieval_query": words(a)},
        selector=lambda a: {"ids": [a.field("candidates").split("\n")[-1].split(". ", 1)[1].split(" | ")[0]]},
    )


@pytest.mark.parametrize("name", ROWS)
def test_a_row_ranks_concepts_of_the_fact_s_datatype_and_can_be_recomputed(
    name, twenty, parts, model, using, us_gaap
):
    spec = PRESETS[name].changed({"selector": True})
    program = build_program(spec, parts)
    codec = TaxonomyCodec()
    with using(model):
        for example in twenty:
            fact = example.inputs["fact"]
            gold = {"gold": example.gold} if spec.needs_gold else {}
            prediction = program(fact=fact, **gold)
            ids = list(prediction.retrieved.ids)
            assert len(set(ids)) == len(ids) <= 200
            assert {us_gaap[c].datatype for c in ids} <= {fact.datatype}
            assert sorted(prediction.ranking.ids) == sorted(ids)
            record = codec.encode(prediction)
            found = recompute(from_json(record["trace"]))
            assert list(found.ids) == ids
            assert found.scores.tolist() == prediction.retrieved.scores.tolist()
            measures = codec.score(record, example.gold)
            assert 0 <= measures["R@1"] <= measures["R@10"] <= measures["R@200"] <= measures["Cov"] <= 1
            if ids:  # the selector put the last candidate on top
                assert measures["Acc"] == float(ids[-1] == example.gold)
