from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dspy
import pytest
from abduce.data.example import Example
from abduce.eval.experiments.evaluate import evaluate, from_dspy, row_of
from abduce.eval.optimize.metrics import to_dspy
from abduce.eval.runs.plain_codec import PlainCodec
from abduce.eval.runs.row import Progress
from abduce.eval.runs.run import Run
from abduce.programs import FHS, FHSConfig, Locus, RuleGenerator, SymbolicVerifier
from abduce.programs.profiles import Profiles
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.errors import InputError
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.dimensions import load_schema
from abduce.signatures.types import Concept, Fact, Question, SourceContext

LABELS = ("Assets held for sale", "Deferred revenue", "Goodwill", "Lease liability", "Inventory, net")


@pytest.fixture
def retriever() -> BM25Retriever:
    ids = [label.title().replace(" ", "").replace(",", "") for label in LABELS]
    return BM25Retriever(Taxonomy(Concept(id=i, label=t) for i, t in zip(ids, LABELS, strict=True)))


def fhs(retriever: BM25Retriever, **config: Any) -> FHS:
    schema = load_schema("us-gaap")
    return FHS(
        retriever,
        schema,
        FHSConfig(J=1, **config),
        generator=RuleGenerator(schema),
        verifier=SymbolicVerifier(schema, Profiles(schema, retriever.taxonomy)),
    )


def examples(retriever: BM25Retriever) -> list[dspy.Example]:
    found = []
    for i, concept in enumerate(retriever.taxonomy):
        context = SourceContext(context_id=f"c{i % 2}", text="<table></table>", modality="table")
        fact = Fact(fact_id=f"f{i}", value="12", context=context, row_header=concept.label)
        found.append(dspy.Example(fact=fact, gold=concept.id).with_inputs("fact"))
    return found


def test_programs_and_dspy_examples_in_one_call(retriever: BM25Retriever) -> None:
    run = evaluate({"FHS": fhs(retriever), "locus": Locus(retriever)}, examples(retriever), baseline="locus")
    assert [r["R@1"] for r in run.summary()["rows"]] == [1, 1]
    assert "<table>" in run._repr_html_()
    assert "<b>" in run.table()._repr_html_()
    assert run.compare("FHS", "locus").differences["MRR"].mean == 0
    frame = run.to_pandas()
    assert set(frame["modality"]) == {"table"}
    assert set(frame["cluster"]) == {"c0", "c1"}
    assert {"retrievals", "Cov", "seconds"} <= set(frame.columns)
    record = next(iter(run.records("FHS")))
    assert record["trace"]["hypotheses"]


def test_it_resumes_under_what_it_can_see_of_a_program(retriever: BM25Retriever, tmp_path: Path) -> None:
    def go(program: FHS) -> Run:
        return evaluate({"FHS": program}, examples(retriever), out=tmp_path)

    assert go(fhs(retriever)).resumed == 0
    assert go(fhs(retriever)).resumed == len(LABELS)
    assert go(fhs(retriever, beta=0.3)).resumed == 0
    other = BM25Retriever(retriever.taxonomy, k1=1.2)
    assert go(fhs(other, beta=0.3)).resumed == 0


def test_the_model_and_the_prompts_are_part_of_the_key() -> None:
    program = dspy.Predict("question -> answer")
    keys = {row_of("a", program).key("")}
    for model, temperature in (("openai/one", 0.0), ("openai/two", 0.0), ("openai/two", 0.5)):
        with dspy.context(lm=dspy.LM(model, temperature=temperature, api_key="k", api_base="http://a")):
            keys.add(row_of("a", program).key(""))
    with dspy.context(lm=dspy.LM("openai/one", temperature=0.0, api_key="other", api_base="http://b")):
        keys.add(row_of("a", program).key(""))
    assert len(keys) == 4
    changed = dspy.Predict(dspy.Signature("question -> answer", "Answer in one word."))
    assert row_of("a", changed).key("") not in keys


def test_each_seed_reaches_the_program() -> None:
    seen: list[int] = []

    def program(n: int) -> list[str]:
        seen.append(dspy.settings.seed)
        return [str(n)]

    run = evaluate({"a": program}, [Example("e", {"n": 1}, "1")], seeds=(0, 7))
    assert seen == [0, 7]
    assert run["a"].seeds == [0, 7]


def test_an_oracle_row_is_given_gold(retriever: BM25Retriever) -> None:
    class Oracle(dspy.Module):
        needs_gold = True

        def forward(self, fact: Fact, gold: str) -> dspy.Prediction:
            return dspy.Prediction(answer=gold)

    run = evaluate({"oracle": Oracle()}, examples(retriever), codec=PlainCodec())
    assert run.summary()["rows"][0]["Acc"] == 1


def test_plain_programs_of_any_kind() -> None:
    seen: list[Progress] = []
    listed = [Example(str(i), {"n": i}, str(i)) for i in range(4)]
    rows: dict[str, Any] = {
        "list": lambda n: ["x", str(n)],
        "answer": lambda n: SimpleNamespace(answer=str(n % 2)),
        "broken": lambda n: 3,
    }
    got = {r["row"]: r for r in evaluate(rows, listed, on_progress=seen.append).summary()["rows"]}
    assert [p.done for p in seen] == list(range(13))
    assert (got["list"]["MRR"], got["list"]["Acc"]) == (0.5, 0)
    assert got["answer"]["Acc"] == 0.5
    assert "MRR" not in got["answer"]
    assert got["broken"]["failed"] == 4


def test_questions_are_clustered_on_their_text() -> None:
    question = Question(question_id="q1", text="Which  one?", options={"A": "x", "B": "y"}, subject="anatomy")
    made = from_dspy(dspy.Example(question=question, gold="A").with_inputs("question"))
    assert (made.id, made.cluster, made.groups) == ("q1", "Which one?", {"subject": "anatomy"})


def test_examples_that_lack_something_say_what() -> None:
    with pytest.raises(InputError, match="example 0 has no gold"):
        evaluate({"a": lambda x: []}, [dspy.Example(x=1).with_inputs("x")])
    with pytest.raises(InputError, match="with_inputs"):
        evaluate({"a": lambda x: []}, [dspy.Example(x=1, gold="y")])
    with pytest.raises(InputError, match="no examples"):
        evaluate({"a": lambda x: []}, [])


def test_examples_go_to_dspy_and_back(retriever: BM25Retriever) -> None:
    ours = [from_dspy(e) for e in examples(retriever)]
    back = [from_dspy(e) for e in to_dspy(ours)]
    assert [e.fingerprint() for e in back] == [e.fingerprint() for e in ours]
    plain = to_dspy([Example("id7", {"n": 1}, "g")])[0]
    assert from_dspy(plain).id == "id7"
