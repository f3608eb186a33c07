import inspect
from types import SimpleNamespace
from typing import Any

import dspy
import pytest
from abduce.eval.optimize.metrics import AnswerMetric, TaxonomyMetric, UtilityMetric
from abduce.programs.fusion import Pool
from abduce.programs.profiles import Profiles
from abduce.programs.trace import Judged, Query, Trace
from abduce.retrievers.base import Ranking
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.dimensions import load_schema
from abduce.signatures.types import Concept, Judgement, Verdict
from dspy.utils import DummyLM

TAXONOMY = Taxonomy(
    [
        Concept(id="DeferredRevenueCurrent", label="Deferred revenue, current"),
        Concept(id="DeferredRevenueNoncurrent", label="Deferred revenue, noncurrent"),
        Concept(id="Goodwill", label="Goodwill"),
    ]
)
SCHEMA = load_schema("us-gaap")
PROFILES = Profiles(SCHEMA, TAXONOMY)
GOLD = "DeferredRevenueNoncurrent"


def prediction() -> dspy.Prediction:
    """The gold concept is second; its Temporal category was taken for the other one's."""
    hypothesis = SCHEMA.hypothesis({"Family": "revenue", "Temporal": "current"}, "revenue deferred")
    names = ["DeferredRevenueCurrent", GOLD]
    yes, no, out = Judgement.SUPPORT, Judgement.NO_SUPPORT, Judgement.ABSTAIN
    verdicts = [
        Verdict(concept_id=names[0], judgements={"Family": yes, "Temporal": yes, "Scope": out}),
        Verdict(concept_id=names[1], judgements={"Family": yes, "Temporal": no, "Scope": out}),
    ]
    trace = Trace(
        queries=[Query("12 current revenue", "label", 0), Query("12 goodwill", "definition", 0)],
        rankings=[Ranking.of(names), Ranking.of(["Goodwill"])],
        hypotheses=[hypothesis],
        judged=[Judged(0, names, verdicts), Judged(1, names, None), Judged(2, ["Goodwill"], [])],
    )
    trace.count("dropped_replies", 2)
    return dspy.Prediction(ranking=Ranking.of([*names, "Goodwill"]), trace=trace)


EXAMPLE = dspy.Example(fact="f", gold=GOLD).with_inputs("fact")


def test_feedback_names_query_dimension_and_verdict() -> None:
    got = TaxonomyMetric("MRR", PROFILES)(EXAMPLE, prediction())
    assert got.score == 0.5
    text = got.feedback
    for part in (
        "The right concept is DeferredRevenueNoncurrent (Deferred revenue, noncurrent).",
        "It is at rank 2 of 3; ahead of it stands DeferredRevenueCurrent (Deferred revenue, current).",
        "The label query of hypothesis 0 returned it at rank 2: '12 current revenue'",
        "The definition query of hypothesis 0 did not return it among 1: '12 goodwill'",
        "Hypothesis 0: Temporal = 'current' does not fit; the concept has noncurrent.",
        "Verifier, hypothesis 0: support 1 of 2 for the right concept; it was denied on Temporal.",
        "hypothesis 0: DeferredRevenueCurrent (Deferred revenue, current) got more support (2 of 2).",
        "Verifier, hypothesis 1: the call failed.",
        "Verifier, hypothesis 2: the right concept is not in the window of 1.",
        "2 replies did not have the required form and were dropped.",
    ):
        assert part in text
    assert "Family" not in text.replace("Family = ", "")


def test_without_profiles_the_trace_still_speaks() -> None:
    text = TaxonomyMetric("R@1")(EXAMPLE, prediction()).feedback
    assert "denied on Temporal" in text
    assert "does not fit" not in text


def test_first_place_and_absence() -> None:
    metric = TaxonomyMetric("MRR")
    first = metric(EXAMPLE, dspy.Prediction(ranking=Ranking.of([GOLD]), trace=Trace(pool=Pool.__new__(Pool))))
    assert (first.score, "It is ranked first." in first.feedback) == (1, True)
    absent = metric(EXAMPLE, dspy.Prediction(ranking=Ranking.of(["x"])))
    assert (absent.score, "no query retrieved it" in absent.feedback) == (0, True)
    for failed in (None, dspy.Prediction()):
        got = metric(EXAMPLE, failed)
        assert (got.score, "Nothing was ranked." in got.feedback) == (0, True)


def test_accuracy_is_after_the_selector_and_recall_before() -> None:
    trace = Trace(selected=["Goodwill"])
    pred = dspy.Prediction(ranking=Ranking.of(["Goodwill", GOLD]), retrieved=Ranking.of([GOLD]), trace=trace)
    assert TaxonomyMetric("Acc")(EXAMPLE, pred).score == 0
    assert TaxonomyMetric("R@1")(EXAMPLE, pred).score == 1
    assert "Selector: put Goodwill first." in TaxonomyMetric("Acc")(EXAMPLE, pred).feedback


def test_unknown_measures_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="tea"):
        TaxonomyMetric("tea")


def test_a_demonstration_must_be_good_enough() -> None:
    pred = prediction()
    assert TaxonomyMetric("MRR")(EXAMPLE, pred, []) is False
    assert TaxonomyMetric("MRR", demo_at=0.5)(EXAMPLE, pred, []) is True
    told = TaxonomyMetric("MRR")(EXAMPLE, pred, [], "generator.generate", [])
    assert (told.score, bool(told.feedback)) == (0.5, True)
    for metric in (TaxonomyMetric(), AnswerMetric()):
        inspect.signature(metric).bind(None, None, None, None, None)


def test_answer_feedback_names_hypothesis_and_query() -> None:
    class Passage:
        def __init__(self, content: str) -> None:
            self.id = self.title = ""
            self.content = content

    passages = {"p1": Passage("Warfarin is an anticoagulant."), "p2": Passage("Nothing here.")}
    trace = Trace(
        queries=[Query("blood thinner", "q1"), Query("sodium", "q2")],
        rankings=[Ranking.of(["p1", "p2"]), Ranking.of(["p2"])],
        notes={"plan": {"working_hypothesis": "Aspirin", "hypothesis_key": "A"}, "left_out": ["p9"]},
    )
    options = {"A": "Aspirin", "B": "Warfarin"}
    example = dspy.Example(question="?", gold="B").with_inputs("question")
    wrong = AnswerMetric(passages)(example, dspy.Prediction(answer="A", options=options, trace=trace))
    assert wrong.score == 0
    for part in (
        "The right answer is B: Warfarin.",
        "Chosen was A: Aspirin.",
        "The working hypothesis was wrong: 'Aspirin'",
        "Query q1 returned 2 passages, 1 of them with every word of the right answer: 'blood thinner'",
        "Query q2 returned 1 passages, 0 of them",
        "1 passages did not fit into the window.",
    ):
        assert part in wrong.feedback
    right = AnswerMetric()(example, dspy.Prediction(answer="B", options=options, trace=trace))
    assert (right.score, "It was chosen." in right.feedback) == (1, True)
    none = AnswerMetric()(example, dspy.Prediction(answer="", options=options, trace=trace))
    assert (none.score, "no valid answer came" in none.feedback) == (0, True)
    assert "the program failed" in AnswerMetric()(example, None).feedback


@pytest.mark.parametrize(
    ("label", "score"),
    [("Entailed", 1), ("Useful-but-Not-Entailed", 1), ("Not Useful", 0), (None, 0)],
)
def test_utility_is_the_judges_word(label: str | None, score: int) -> None:
    asked: list[Any] = []

    def judge(**inputs: Any) -> Any:
        asked.append(inputs)
        return SimpleNamespace(utility=SimpleNamespace(label=label))

    metric = UtilityMetric(judge)  # type: ignore[arg-type]
    example = dspy.Example(question="?", gold="B").with_inputs("question")
    pred = dspy.Prediction(answer="A", options={"B": "b"}, context=("p1",), trace=Trace())
    got = metric(example, pred)
    assert got.score == score
    assert (f"the context is {label}." if label else "not judged") in got.feedback
    assert asked == [{"question": "?", "gold": "B", "context": ("p1",)}]
    assert metric(example, pred, []) is bool(score)
    pred.trace.notes["judges"] = [{"label": "Entailed"}]
    assert metric(example, pred).score == 1
    assert len(asked) == 2
    assert "the program failed" in metric(example, None).feedback


class Guess(dspy.Module):
    """Ranks what one model call names."""

    def __init__(self) -> None:
        super().__init__()
        self.guess = dspy.Predict("text -> concept")

    def forward(self, text: str) -> dspy.Prediction:
        return dspy.Prediction(ranking=Ranking.of([self.guess(text=text).concept]))


DEVSET = [dspy.Example(text=f"t{i}", gold="A" if i < 3 else "B").with_inputs("text") for i in range(4)]


def replies(**more: Any) -> DummyLM:
    return DummyLM({f"t{i}": {"concept": "A"} for i in range(4)} | more)


def test_dspy_evaluate_sums_it() -> None:
    with dspy.context(lm=replies()):
        got = dspy.Evaluate(devset=DEVSET, metric=TaxonomyMetric("R@1"), num_threads=2)(Guess())
    assert got.score == 75.0


def test_bootstrapping_takes_only_examples_that_are_right() -> None:
    with dspy.context(lm=replies()):
        optimizer = dspy.BootstrapFewShot(metric=TaxonomyMetric("R@1"), max_labeled_demos=0, max_rounds=1)
        compiled = optimizer.compile(Guess(), trainset=DEVSET)
    assert sorted(d.text for d in compiled.guess.demos) == ["t0", "t1", "t2"]


class Reflector(dspy.BaseLM):
    """Keeps what it is asked and proposes one fixed instruction."""

    def __init__(self) -> None:
        super().__init__("reflector", "chat", 0.0, 1000, cache=False)
        self.asked: list[str] = []

    def __call__(self, prompt: str | None = None, messages: Any = None, **kwargs: Any) -> list[str]:
        self.asked.append(prompt or "\n".join(m["content"] for m in messages))
        return ["```\nName the concept.\n```"]


def test_gepa_reflects_on_the_feedback() -> None:
    reflector = Reflector()
    optimizer = dspy.GEPA(
        metric=TaxonomyMetric("R@1"),
        max_metric_calls=14,
        reflection_lm=reflector,
        reflection_minibatch_size=4,
        num_threads=1,
        skip_perfect_score=False,
    )
    with dspy.context(lm=replies()):
        compiled = optimizer.compile(Guess(), trainset=DEVSET, valset=DEVSET)
    assert reflector.asked
    assert "The right concept is B." in reflector.asked[0]
    assert "It is not in the ranking: no query retrieved it." in reflector.asked[0]
    assert isinstance(compiled, Guess)


def test_miprov2_compiles_with_it() -> None:
    proposals = DummyLM([{"proposed_instruction": "Name it."}] * 40)
    with dspy.context(lm=replies()):
        optimizer = dspy.MIPROv2(
            metric=TaxonomyMetric("R@1"),
            prompt_model=proposals,
            auto=None,
            num_candidates=2,
            max_bootstrapped_demos=1,
            max_labeled_demos=1,
            num_threads=1,
        )
        compiled = optimizer.compile(
            Guess(),
            trainset=DEVSET,
            valset=DEVSET,
            num_trials=2,
            minibatch=False,
            program_aware_proposer=False,
            data_aware_proposer=False,
            fewshot_aware_proposer=False,
        )
    assert compiled.score == 75.0
