"""Every method end to end with a scripted model: calls, queries, contexts, answers."""

from __future__ import annotations

from collections import Counter

import pytest
from abduce.programs import HCQR, HCQRConfig, HyDE, MainRAG, NoRAG, RerankRAG, Rewriting, SimpleRAG
from abduce.programs.rag.config import RAGConfig, RewritingConfig
from abduce.retrievers.base import Ranking
from abduce.signatures.types import Question

IDS = [f"p{i:03d}" for i in range(1, 201)]


def last_first(pairs):
    """A cross-encoder that likes the last document best."""
    return list(range(len(pairs)))


def build(name, retriever, passages):
    return {
        "no-rag": lambda: NoRAG(),
        "simple": lambda: SimpleRAG(retriever, passages),
        "rewriting": lambda: Rewriting(retriever, passages),
        "rewriting + options": lambda: Rewriting(retriever, passages, RewritingConfig(options=True)),
        "hyde": lambda: HyDE(retriever, passages),
        "rerank": lambda: RerankRAG(retriever, passages, last_first),
        "main-rag": lambda: MainRAG(retriever, passages),
        "hcqr": lambda: HCQR(retriever, passages),
        "hcqr - options": lambda: HCQR(retriever, passages, HCQRConfig(options=False)),
        "hcqr - q1": lambda: HCQR(retriever, passages, HCQRConfig(drop="q1")),
        "hcqr - q2": lambda: HCQR(retriever, passages, HCQRConfig(drop="q2")),
        "hcqr - q3": lambda: HCQR(retriever, passages, HCQRConfig(drop="q3")),
    }[name]()


CALLS = {
    "no-rag": ({"answer": 1}, 0),
    "simple": ({"answer": 1}, 1),
    "rewriting": ({"paraphrase": 1, "answer": 1}, 3),
    "rewriting + options": ({"paraphrase": 1, "answer": 1}, 3),
    "hyde": ({"hyde": 8, "answer": 1}, 1),
    "rerank": ({"answer": 1}, 1),
    "main-rag": ({"tentative_answer": 15, "document_judge": 15, "answer": 1}, 1),
    "hcqr": ({"formulate": 1, "rewrite": 1, "answer": 1}, 3),
    "hcqr - options": ({"formulate": 1, "rewrite": 1, "answer": 1}, 3),
    "hcqr - q1": ({"formulate": 1, "rewrite": 1, "answer": 1}, 2),
    "hcqr - q2": ({"formulate": 1, "rewrite": 1, "answer": 1}, 2),
    "hcqr - q3": ({"formulate": 1, "rewrite": 1, "answer": 1}, 2),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_and_retrievals(name, using, scripted, replies, table_retriever, passages, question):
    lm = scripted(**replies)
    program = build(name, table_retriever(IDS), passages)
    with using(lm):
        result = program(question=question)
    calls, retrievals = CALLS[name]
    assert Counter(lm.stages()) == calls
    assert result.trace.counters["llm_calls"] == sum(calls.values())
    assert result.trace.counters["retrievals"] == retrievals
    assert result.answer == "B"
    assert result.answer_text == "Ibuprofen"
    assert len(result.context) <= 15
    assert [e.id for e in result.context] == list(result.ranking.ids)


def test_hcqr_fuses_by_query_then_rank(using, scripted, replies, table_retriever, passages, question):
    retriever = table_retriever(
        IDS,
        {
            "s": ["p010", "p011", "p012", "p013", "p014", "p015"],
            "d": ["p011", "p020", "p010", "p021", "p022"],
            "k": ["p030", "p020", "p031", "p032", "p033"],
        },
    )
    with using(scripted(**replies)):
        result = HCQR(retriever, passages)(question=question)
    assert list(result.ranking.ids) == [
        "p010", "p011", "p012", "p013", "p014", "p020", "p021", "p022", "p030", "p031", "p032", "p033",
    ]  # fmt: skip
    sources = {e.id: e.sources for e in result.context}
    assert sources["p010"] == (("q1", 1), ("q2", 3))
    assert sources["p020"] == (("q2", 2), ("q3", 2))
    assert result.trace.counters["duplicates"] == 3
    # Jaccard: q1/q2 share 2 of 8, q1/q3 0 of 10, q2/q3 1 of 9
    assert result.trace.notes["overlap"] == pytest.approx((2 / 8 + 0 + 1 / 9) / 3)
    assert [k for _, k in retriever.asked] == [5, 5, 5]


def test_a_dropped_query_is_not_refilled(using, scripted, replies, table_retriever, passages, question):
    retriever = table_retriever(IDS, {"s": IDS[:9], "d": IDS[20:29], "k": IDS[40:49]})
    with using(scripted(**replies)):
        result = HCQR(retriever, passages, HCQRConfig(drop="q2"))(question=question)
    assert list(result.ranking.ids) == IDS[:5] + IDS[40:45]
    assert "q2" in result.trace.notes["plan"]["queries"]


def test_rewriter_gets_the_hypothesis_as_text(
    using, scripted, replies, table_retriever, passages, question, read
):
    lm = scripted(**replies)
    with using(lm):
        HCQR(table_retriever(IDS), passages)(question=question)
    (prompt,) = lm.of("rewrite")
    assert read(prompt, "working_hypothesis") == "Ibuprofen"
    assert "age under twelve" in read(prompt, "discriminating_features")


SECRET = {
    "discriminating_features": ["XFEATURE"],
    "brief_reasoning": "XREASON",
    "confirming_evidence": ["XEVIDENCE"],
    "working_hypothesis": "XHYPOTHESIS",
}


@pytest.mark.parametrize("options", [True, False])
def test_the_generator_never_sees_the_hypothesis(
    options, using, scripted, replies, table_retriever, passages, question
):
    lm = scripted(**replies | {"formulate": SECRET})
    with using(lm):
        HCQR(table_retriever(IDS), passages, HCQRConfig(options=options))(question=question)
    (prompt,) = lm.of("answer")
    for secret in ("XHYPOTHESIS", "XFEATURE", "XREASON", "XEVIDENCE", "hypothesis"):
        assert secret not in prompt
    assert "XHYPOTHESIS" in lm.of("rewrite")[0]


def test_the_hypothesis_is_shown_where_asked_for(
    using, scripted, replies, table_retriever, passages, question, read
):
    lm = scripted(**replies)
    with using(lm):
        HCQR(table_retriever(IDS), passages, HCQRConfig(expose_hypothesis=True))(question=question)
    assert read(lm.of("answer")[0], "working_hypothesis") == "Ibuprofen"


def test_options_are_hidden_from_the_formulator_only(
    using, scripted, replies, table_retriever, passages, question
):
    lm = scripted(**replies | {"formulate": SECRET})
    with using(lm):
        result = HCQR(table_retriever(IDS), passages, HCQRConfig(options=False))(question=question)
    assert "Morphine" not in lm.of("formulate")[0]
    assert "Morphine" in lm.of("rewrite")[0]
    assert "Morphine" in lm.of("answer")[0]
    assert result.trace.notes["plan"]["hypothesis_key"] is None
    assert result.trace.counters["hypothesis_off_options"] == 0


@pytest.mark.parametrize(
    ("said", "key", "off"),
    [
        ("B", "B", 0),
        ("ibuprofen", "B", 0),
        ("B. Ibuprofen", "B", 0),
        ("B-cell lymphoma", None, 1),
        ("A or B", None, 1),
        ("A, since the fever is high", None, 1),
    ],
)
def test_a_hypothesis_is_one_option_or_none(
    said, key, off, using, scripted, replies, table_retriever, passages, question
):
    """What is written is kept as text; the schema that a server gets names the letters."""
    lm = scripted(**replies | {"formulate": replies["formulate"] | {"working_hypothesis": said}})
    with using(lm):
        result = HCQR(table_retriever(IDS), passages)(question=question)
    plan = result.trace.notes["plan"]
    assert plan["hypothesis_key"] == key
    assert plan["working_hypothesis"] == ("Ibuprofen" if key else said)
    assert result.trace.counters["hypothesis_off_options"] == off
    assert '"enum": ["A", "B", "C", "D"]' in lm.of("formulate")[0]


def test_all_methods_share_one_answer_prompt(
    using, scripted, replies, table_retriever, passages, question, read
):
    prompts = set()
    for name in ("simple", "rewriting", "hcqr", "rerank"):
        lm = scripted(**replies)
        with using(lm):
            build(name, table_retriever(IDS), passages)(question=question)
        (prompt,) = lm.of("answer")
        prompts.add(prompt.replace(read(prompt, "documents"), ""))
    assert len(prompts) == 1


def test_greedy_but_hyde(using, scripted, replies, table_retriever, passages, question):
    for name in CALLS:
        lm = scripted(**replies)
        with using(lm):
            build(name, table_retriever(IDS), passages)(question=question)
        for stage, _, kwargs in lm.prompts:
            assert kwargs["temperature"] == (0.7 if stage == "hyde" else 0.0)


def test_hyde_samples_are_separate_rollouts(using, scripted, replies, table_retriever, passages, question):
    counter = iter(range(100))
    lm = scripted(**replies | {"hyde": lambda _: {"passage": f"document {next(counter)}"}})
    with using(lm):
        result = HyDE(table_retriever(IDS), passages)(question=question)
    assert sorted(result.trace.notes["hypothetical_documents"]) == [f"document {i}" for i in range(8)]


def test_rerank_reads_150_and_keeps_15(using, scripted, replies, table_retriever, passages, question):
    retriever = table_retriever(IDS)
    with using(scripted(**replies)):
        result = RerankRAG(retriever, passages, last_first)(question=question)
    assert retriever.asked == [(question.text, 150)]
    assert list(result.ranking.ids) == IDS[149:134:-1]


def test_rerank_keeps_the_first_order_on_ties(using, scripted, replies, table_retriever, passages, question):
    def equal(pairs):
        return [0.5] * len(pairs)

    with using(scripted(**replies)):
        result = RerankRAG(table_retriever(IDS), passages, equal)(question=question)
    assert list(result.ranking.ids) == IDS[:15]


@pytest.mark.parametrize("stage", ["formulate", "rewrite"])
def test_a_dropped_plan_falls_back_to_the_question(
    stage, using, scripted, replies, table_retriever, passages, question
):
    lm = scripted(**replies | {stage: "no JSON at all"})
    with using(lm):
        result = HCQR(table_retriever(IDS), passages)(question=question)
    assert lm.stages().count(stage) == 2  # asked again once
    assert result.trace.counters["dropped_replies"] == 1
    assert result.trace.counters["direct_fallback"] == 1
    assert list(result.ranking.ids) == IDS[:15]
    assert result.answer == "B"


@pytest.mark.parametrize("paraphrases", [{"query_1": "x", "query_2": "y"}, ["x", "y", "z", "w"]])
def test_not_three_paraphrases_are_refused(
    paraphrases, using, scripted, replies, table_retriever, passages, question
):
    with using(scripted(**replies | {"paraphrase": paraphrases})):
        result = Rewriting(table_retriever(IDS), passages)(question=question)
    assert result.trace.counters["dropped_replies"] == 1
    assert result.trace.counters["direct_fallback"] == 1


@pytest.mark.parametrize(
    ("reply", "key"),
    [
        ("b", "B"),
        ("(B)", "B"),
        ("B. Ibuprofen", "B"),
        ("ibuprofen", "B"),
        ("The answer is D.", "D"),
        ("E", ""),
    ],
)
def test_answers_are_read_in_many_spellings(
    reply, key, using, scripted, replies, table_retriever, passages, question
):
    lm = scripted(**replies | {"answer": {"step_by_step_thinking": "t", "answer_choice": reply}})
    with using(lm):
        result = SimpleRAG(table_retriever(IDS), passages)(question=question)
    assert result.answer == key
    assert result.trace.counters["answer_off_options"] == (key == "")


def test_an_answer_that_never_parses_is_counted(
    using, scripted, replies, table_retriever, passages, question
):
    with using(scripted(**replies | {"answer": "hm"})):
        result = SimpleRAG(table_retriever(IDS), passages)(question=question)
    assert result.answer == ""
    assert result.trace.counters["dropped_replies"] == 1


def test_open_ended_proposes_options(using, scripted, replies, table_retriever, passages):
    asked = Question(question_id="q", text="What lowers fever in a child?")
    lm = scripted(**replies | {"answer": {"step_by_step_thinking": "", "answer_choice": "C"}})
    with using(lm):
        result = HCQR(table_retriever(IDS), passages, open_ended=True)(question=asked)
    assert result.options == {"A": "Ibuprofen", "B": "Aspirin", "C": "Rest"}
    assert (result.answer, result.answer_text) == ("C", "Rest")
    assert lm.stages() == ["propose", "formulate", "rewrite", "answer"]


def test_open_ended_without_candidates_has_no_answer(using, scripted, replies, table_retriever, passages):
    asked = Question(question_id="q", text="What?")
    with using(scripted(**replies | {"propose": {"answers": ["same", "Same"]}})):
        result = HCQR(table_retriever(IDS), passages, open_ended=True)(question=asked)
    assert result.answer == ""
    assert result.trace.counters["no_candidates"] == 1


def test_open_ended_keeps_given_options(using, scripted, replies, table_retriever, passages, question):
    lm = scripted(**replies)
    with using(lm):
        result = HCQR(table_retriever(IDS), passages, open_ended=True)(question=question)
    assert result.options == dict(question.options)
    assert "propose" not in lm.stages()


def test_budget_and_depth_are_configurable(using, scripted, replies, table_retriever, passages, question):
    retriever = table_retriever(IDS, {"s": IDS[:9], "d": IDS[20:29], "k": IDS[40:49]})
    config = HCQRConfig(B_max=6, per_query=3)
    with using(scripted(**replies)):
        result = HCQR(retriever, passages, config)(question=question)
    assert list(result.ranking.ids) == IDS[:3] + IDS[20:23]
    assert result.trace.counters["over_budget"] == 3


def test_retrieval_without_a_model(table_retriever, passages, question):
    program = SimpleRAG(table_retriever(IDS), passages, RAGConfig(answer=False))
    result = program(question=question)
    assert list(result.ranking.ids) == IDS[:15]
    assert result.answer == ""


def test_nothing_found_is_still_answered(using, scripted, replies, passages, question):
    class Empty:
        def search(self, queries, k, where=None):
            return [Ranking.of([]) for _ in queries]

    lm = scripted(**replies)
    for name in ("simple", "hcqr", "rerank", "main-rag", "hyde"):
        with using(lm):
            assert build(name, Empty(), passages)(question=question).answer == "B"
    assert "(nothing was found)" in lm.of("answer")[0]


def test_a_program_keeps_its_state(tmp_path, using, scripted, replies, table_retriever, passages, question):
    program = HCQR(table_retriever(IDS), passages)
    program.planner.rewrite.signature = program.planner.rewrite.signature.with_instructions(
        "Turn a working hypothesis into three queries, tersely."
    )
    program.save(tmp_path / "hcqr.json")
    again = HCQR(table_retriever(IDS), passages)
    again.load(tmp_path / "hcqr.json")
    lm = scripted(**replies)
    with using(lm):
        again(question=question)
    assert "tersely" in lm.of("rewrite")[0]


def test_long_replies_are_cut_not_lost(using, scripted, replies, table_retriever, passages, question):
    state = {
        "discriminating_features": "; ".join(["f" * 400] * 12),
        "brief_reasoning": "r" * 5000,
        "confirming_evidence": ["e" * 400] * 12,
        "working_hypothesis": "B. Ibuprofen" + " because" * 100,
    }
    long = {
        "formulate": state,
        "rewrite": {name: name * 300 for name in ("support", "distinction", "key_features")},
        "answer": {"step_by_step_thinking": "x" * 9000, "answer_choice": "B. Ibuprofen" + " !" * 300},
    }
    with using(scripted(**replies | long)):
        result = HCQR(table_retriever(IDS), passages)(question=question)
    assert result.answer == "B"
    assert result.trace.counters["dropped_replies"] == 0
    plan = result.trace.notes["plan"]
    assert plan["hypothesis_key"] == "B"
    assert [len(q) for q in plan["queries"].values()] == [2100, 2400, 2400]
    assert result.trace.counters["cut_queries"] == 2
    assert [len(f) for f in plan["confirming_evidence"]] == [300] * 8
