"""From already-tagged facts to a model: folds, the same twice, what is stored, and the rows that use it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from abduce.programs.learned import Learned
from abduce.programs.methods import Parts, build_program
from abduce.programs.presets import learns, scoped, scopes, spec_named
from abduce.programs.trained import beside
from abduce.retrievers import registry
from abduce.retrievers.base import Where
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.errors import InputError
from abduce.retrievers.precedents.index import Precedents
from abduce.retrievers.settings import check_settings, sealed
from abduce.retrievers.taxonomy import Taxonomy
from abduce.retrievers.towers.fit import TowerSettings
from abduce.signatures.dimensions import load_schema
from abduce.signatures.types import Concept, SourceContext
from abduce.tagging.models import ModelFolder, TrainedOnce
from abduce.tagging.precedents import PrecedentSource
from abduce.tagging.tagger import Tagger
from abduce.tagging.train import FIXED, TrainSettings, deal, distinct, terms_of, train
from made_tagged import TAXONOMY, fact, tagged, write_tagged

SETTINGS = TrainSettings(
    towers=TowerSettings(dimensions=16, epochs=6, batch=64, rate=0.05), lines=200, least=1
)


def made_parts(given=None):
    index = Precedents(given or tagged())
    retriever = BM25Retriever(TAXONOMY)
    return Parts(lambda changes: retriever, TAXONOMY, load_schema("us-gaap"), precedents=lambda: index)


@pytest.fixture(scope="module")
def parts():
    return made_parts()


@pytest.fixture(scope="module")
def learned(parts):
    return train(tagged(), parts.precedents(), parts, SETTINGS)


@pytest.fixture(scope="module")
def stored(learned, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "m"
    learned.save(folder)
    return folder


def asked(row, company="NEWCO", filing="N-0"):
    text = f"<table><tr><td>{row}</td><td>101</td></tr></table>"
    context = SourceContext(context_id=f"{filing}-{row}", text=text, modality="table")
    return fact("q", row, context, 1, filing, company)


def test_every_company_is_in_one_fold_and_those_apart_in_the_first():
    folds = deal(tagged(), SETTINGS, {"03COMPAN", "NOBODY"})
    assert folds[0] == {"03COMPAN"}
    assert sorted(len(f) for f in folds[1:]) == [2, 2, 3]
    assert len(frozenset().union(*folds)) == 8
    assert deal(tagged(), SETTINGS, {"03COMPAN"}) == folds


def test_a_locus_that_stands_often_is_learned_from_twice():
    one = tagged(1, 1)[0]
    assert len(distinct([one] * 5)) == 2


def test_terms_are_the_label_and_the_parts_that_say_it_otherwise():
    concepts = [
        Concept(id="A", label="Pneumonia", definition="Lung inflammation ; Diseases > Lung ; Pneumonia"),
        *(Concept(id=f"B{i}", label=f"L{i}", definition="said of all ; own") for i in range(25)),
    ]
    assert terms_of(concepts)[0] == ["Pneumonia", "Lung inflammation"]
    assert terms_of(concepts)[1] == ["L0"]


def test_the_same_facts_and_seed_give_the_same_model(learned, parts):
    again = train(tagged(), parts.precedents(), parts, SETTINGS)
    assert np.array_equal(again.towers.concepts.values, learned.towers.concepts.values)
    assert again.logits == learned.logits
    assert again.confidence == learned.confidence


def test_a_company_that_training_saw_is_judged_by_towers_that_left_it_out(learned):
    for one in tagged():
        judge = learned.judge(one.fact, "others")
        fold = next(i for i, groups in enumerate(learned.groups) if one.fact.company[:8] in groups)
        assert judge.towers is learned.folds[fold]
    spelled = tagged()[0].fact.model_copy(update={"company": "00Company Inc."})
    assert learned.judge(spelled, "others").towers in learned.folds
    assert learned.judge(asked("Turnover"), "others").towers is learned.towers


def test_without_folds_the_towers_keep_silent_where_they_are_not_clean(learned):
    bare = learned.without_folds()
    seen = tagged()[0].fact
    later = seen.model_copy(update={"filing_id": "C00-later"})
    assert bare.judge(seen, "own").towers is None
    assert bare.judge(later, "others").towers is None
    assert bare.judge(later, "own").towers is bare.towers
    assert bare.judge(asked("x"), "others").towers is bare.towers


def test_a_model_is_stored_and_opened_again_the_same(stored, learned, parts):
    opened = Learned.open(stored)
    for name in ("taxonomy", "groups", "filings", "logits", "joint", "confidence"):
        assert getattr(opened, name) == getattr(learned, name)
    row = spec_named("trained (others)")
    for one in tagged()[:6]:
        first = build_program(row, replace(parts, trained=lambda: learned))(fact=one.fact)
        second = build_program(row, replace(parts, trained=lambda: opened))(fact=one.fact)
        assert first.ranking.ids == second.ranking.ids
        assert np.array_equal(first.ranking.scores, second.ranking.scores)
        assert first.confidence == second.confidence


def test_a_model_that_was_changed_is_refused(learned, tmp_path):
    learned.save(tmp_path / "m")
    path = tmp_path / "m" / "full.features.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="does not match its hash"):
        Learned.open(tmp_path / "m")
    with pytest.raises(InputError, match="not an index folder"):
        Learned.open(tmp_path)


def test_the_manifest_names_companies_and_filings(stored):
    manifest = json.loads((stored / "manifest.json").read_text("utf-8"))
    assert "05COMPAN" in {g for groups in manifest["parameters"]["groups"] for g in groups}
    assert "C03-1" in manifest["parameters"]["filings"]


def test_words_of_other_companies_are_learned(parts, learned):
    program = build_program(spec_named("trained (others)"), replace(parts, trained=lambda: learned))
    for row, concept in (("Net sales", "Revenues"), ("Term loans", "LongTermDebt")):
        prediction = program(fact=asked(row))
        assert prediction.ranking.ids[0] == concept
        assert prediction.ranking.scores[0] > prediction.ranking.scores[1]
        assert 0 <= prediction.confidence <= 1
        assert {q.form for q in prediction.trace.queries} >= {"towers", "precedents", "locus"}
    assert prediction.ranking.scores.sum() == pytest.approx(1.0)


def test_a_concept_without_tagged_facts_is_found_by_its_label(parts, learned):
    program = build_program(spec_named("trained (others)"), replace(parts, trained=lambda: learned))
    ranking = program(fact=asked("Deferred compensation liability")).ranking
    place = ranking.ids.index("DeferredCompensationLiability")
    assert ranking.components["unseen"][place] == 1.0
    assert place < 3
    assert ranking.scores[place] > 0


def test_scopes_of_trained_rows():
    assert scopes(spec_named("trained (own)")) == {"own"}
    assert scoped(spec_named("trained (own)"), "others") == spec_named("trained (others)")
    assert learns(spec_named("trained"))
    assert not learns(spec_named("precedents (own)"))


def test_own_words_of_the_company_decide_in_scope_own(learned):
    facts = tagged()
    facts = [t._replace(concept="Goodwill") if t.fact.row_header == "Turnover" else t for t in facts]
    mine = next(t.fact for t in facts if t.fact.row_header == "Turnover")
    own = build_program(spec_named("trained (own)"), replace(made_parts(facts), trained=lambda: learned))
    assert own(fact=mine.model_copy(update={"filing_id": "new"})).trace.queries[-1].form == "own precedents"


def test_too_few_companies_take_fixed_weights(caplog):
    few = tagged(2)
    made = train(few, Precedents(few), made_parts(few), SETTINGS)
    assert set(made.logits.values()) == {FIXED}
    assert "too few" in caplog.text
    assert made.together is None


def test_facts_of_another_taxonomy_are_refused(parts, learned):
    other = Taxonomy([Concept(id="X", label="X")], "other")
    strangers = [t._replace(concept="Unknown") for t in tagged(1)]
    with pytest.raises(InputError, match="no tagged fact has a concept of made"):
        train(strangers, parts.precedents(), parts, SETTINGS)
    with pytest.raises(InputError, match="trained for made, not for other"):
        learned.check(other)


def test_a_row_without_a_model_says_what_is_missing(parts):
    with pytest.raises(ValueError, match="no trained model"):
        build_program(spec_named("trained (own)"), parts)


def test_a_model_for_judging_is_trained_once_and_kept(parts, tmp_path):
    facts, _ = write_tagged(tmp_path)
    notes = []
    judged = [t.fact for t in tagged()[:1]]
    again = []
    for told in (notes, again):
        source = PrecedentSource([facts])
        once = TrainedOnce(source, parts, judged, SETTINGS, told.append, tmp_path / "kept")
        model = once()
        assert model.groups[0] == {"00COMPAN"}
    assert notes[0].startswith("training a model on 1 files")
    assert again == [f"the model trained before: {once.place}"]
    assert ModelFolder(tmp_path / "kept" / once.fingerprint)().groups == model.groups


def test_facts_beside_are_those_of_the_same_context():
    facts = [t.fact for t in tagged()]
    together = beside(facts)(facts[0])
    assert {f.context.context_id for f in together} == {facts[0].context.context_id}
    assert len(together) == 6
    assert beside([])(facts[0]) == []


def test_towers_are_a_retriever(stored):
    retriever = registry.build_retriever("towers", TAXONOMY, model=stored)
    known, unknown, excluded = retriever.search(
        ["Net sales", "zzz", "Net sales"],
        3,
        [Where("monetaryItemType"), None, Where("monetaryItemType", (("datatype", "monetaryItemType"),))],
    )
    assert known.ids[0] == "Revenues"
    assert known.candidates == len(TAXONOMY)
    assert len(unknown) == len(excluded) == 0
    assert retriever.search(["Net sales"], 3, [Where("noSuchType")])[0].fell_back
    other = Taxonomy([Concept(id="X", label="X")], "other")
    with pytest.raises(InputError, match="other concepts"):
        registry.build_retriever("towers", other, model=stored)
    with pytest.raises(InputError, match="is needed"):
        check_settings("towers", {})
    assert "seal" in sealed({"kind": "towers", "model": str(stored)}, TAXONOMY)


def test_a_tagger_with_a_model_uses_it_and_says_how_sure_it_is(stored, tmp_path):
    facts, concepts = write_tagged(tmp_path)
    new = [asked(row, None, "N-1").model_copy(update={"fact_id": row}) for row in ("Net sales", "Term loans")]
    with Tagger(concepts, "trained (others)", facts, model=stored) as tagger:
        tags = tagger.tag(new)
    assert [tag.concept for tag in tags] == ["Revenues", "LongTermDebt"]
    assert all(0 <= tag.confidence <= 1 for tag in tags)
    with pytest.raises(InputError, match="needs a trained model"):
        Tagger(concepts, "trained (others)", facts).tag(new)
