"""FHS-Seq: the target dimension, the rounds, and when it stops (paper: Section 4.5, Appendix F)."""

from __future__ import annotations

import pytest
from abduce.programs.config import FHSSeqConfig
from abduce.programs.fhs_seq import FHSSeq, target_dimension
from abduce.programs.trace import Judged
from abduce.signatures.types import Judgement, Verdict

LETTERS = {"s": Judgement.SUPPORT, "n": Judgement.NO_SUPPORT, "x": Judgement.ABSTAIN}


def judged(schema, *letters):
    verdicts = [
        Verdict(f"c{i}", {n: LETTERS[c] for n, c in zip(schema.names, said, strict=True)})
        for i, said in enumerate(letters)
    ]
    return Judged(0, [v.concept_id for v in verdicts], verdicts)


class TestTarget:
    """The largest positive (no_support - support), summed over window and hypotheses."""

    def test_the_largest_balance(self, schema):
        # Family 1 - 1, Role 2, Qualifier 1
        assert target_dimension([judged(schema, "snxnxx", "nnxxxx")], schema) == "Role"

    def test_it_is_summed_over_all_hypotheses(self, schema):
        first, second = judged(schema, "nxxxxx"), judged(schema, "xxxnxx", "xxxnxx")
        assert target_dimension([first, second], schema) == "Qualifier"

    def test_ties_fall_in_canonical_order(self, schema):
        assert target_dimension([judged(schema, "xnxxxn")], schema) == "Role"

    @pytest.mark.parametrize("letters", ["ssssss", "xxxxxx"])
    def test_none_positive(self, schema, letters):
        assert target_dimension([judged(schema, letters)], schema) is None

    def test_a_balance_of_0_is_not_positive(self, schema):
        assert target_dimension([judged(schema, "sxxxxx", "nxxxxx")], schema) is None

    def test_a_failed_verification_says_nothing(self, schema):
        failed = Judged(1, ["c0"], None)
        assert target_dimension([failed], schema) is None
        assert target_dimension([judged(schema, "nxxxxx"), failed], schema) == "Family"


class TestRounds:
    @pytest.fixture
    def index(self, table_retriever, tiny):
        return table_retriever(
            tiny,
            {"alpha": ["Cash", "DebtCurrent"], "revised": ["LeaseExpense", "Cash"]},
            default=["Goodwill"],
        )

    def run(self, index, schema, using, lm, fact, **config):
        with using(lm):
            return FHSSeq(index, schema, FHSSeqConfig(**config))(fact=fact)

    def replies(self, reply, rounds_of_dissent):
        """The verifier finds no support on Family until the window has a revised hypothesis often enough."""

        def verify(asked):
            n = len(asked.field("candidates").split("\n"))
            settled = f"lease{rounds_of_dissent}" in asked.field("hypothesis")
            return {"verdicts": [("s" if settled else "n") + "xxxxx"] * n}

        def revise(asked):
            current = asked.field("hypothesis").split("\n")[0].removeprefix("Family: ")
            number = int(current[5:]) + 1 if current.startswith("lease") else 1
            return {"value": f"lease{number}", "retrieval_query": f"revised{number}"}

        return {
            "generator": lambda a: reply(f"alpha{a.sample % 100}", Family="debt", Scope="plan"),
            "verifier": verify,
            "revise": revise,
        }

    def test_at_most_three_later_rounds(self, index, schema, using, scripted, reply, table_fact):
        lm = scripted(**self.replies(reply, rounds_of_dissent=99))
        trace = self.run(index, schema, using, lm, table_fact).trace
        assert lm.stages() == {"generator": 2, "revise": 3, "verifier": 2 + 3 + 4 + 5}
        assert trace.notes["targets"] == ["Family"] * 3
        assert [h.values["Family"] for h in trace.hypotheses] == [
            "debt",
            "debt",
            "lease1",
            "lease2",
            "lease3",
        ]
        assert [q.round for q in trace.queries] == [0] * 4 + [1, 1, 2, 2, 3, 3]
        assert [j.round for j in trace.judged] == [0] * 2 + [1] * 3 + [2] * 4 + [3] * 5

    def test_each_round_revises_the_current_hypothesis_on_one_dimension(
        self, index, schema, using, scripted, reply, table_fact
    ):
        lm = scripted(**self.replies(reply, rounds_of_dissent=99))
        trace = self.run(index, schema, using, lm, table_fact).trace
        asked = [a.field("hypothesis").split("\n")[0] for a in lm.of("revise")]
        assert asked == ["Family: debt", "Family: lease1", "Family: lease2"]
        assert {a.field("dimension") for a in lm.of("revise")} == {"Family"}
        assert all(h.values["Scope"] == "plan" for h in trace.hypotheses)
        assert trace.hypotheses[2].categories["Family"] == ()  # normalised anew

    def test_the_reviser_sees_the_whole_hypothesis_and_the_directive_and_no_candidate(
        self, index, schema, using, scripted, reply, table_fact
    ):
        lm = scripted(**self.replies(reply, rounds_of_dissent=99))
        self.run(index, schema, using, lm, table_fact, rounds=2)
        first, second = lm.of("revise")
        assert first.field("hypothesis").split("\n") == [
            "Family: debt",
            "Role: UNRESOLVED",
            "Event: UNRESOLVED",
            "Qualifier: UNRESOLVED",
            "Scope: plan",
            "Temporal: UNRESOLVED",
            "retrieval_query: alpha0",
        ]
        assert second.field("hypothesis").endswith("retrieval_query: revised1")
        for asked in (first, second):
            assert asked.field("row_header") == "Debt | Long-term"
            assert asked.field("candidates") is None
            assert not [c for c in ("DebtCurrent", "LeaseExpense", "Goodwill") if c in asked.prompt]

    def test_unnormalised_revisions_are_counted(self, index, schema, using, scripted, reply, table_fact):
        lm = scripted(**self.replies(reply, rounds_of_dissent=99))
        trace = self.run(index, schema, using, lm, table_fact, rounds=2).trace
        # "debt" and "plan" are in the vocabulary; "lease1" and "lease2" are not.
        assert trace.counters["unnormalised_values"] == 2
        assert trace.notes["unnormalised"] == [{}, {}, {"Family": "lease1"}, {"Family": "lease2"}]

    @pytest.mark.parametrize(("outside", "support"), [("mean", 0.5), ("zero", 0.0)])
    def test_what_is_outside_the_window_takes_the_mean_or_0(
        self, outside, support, table_retriever, tiny, schema, using, scripted, reply, table_fact
    ):
        index = table_retriever(tiny, {"alpha": ["Cash", "DebtCurrent", "Goodwill"]})
        verify = {"verdicts": ["sxxxxx", "nxxxxx"]}
        lm = scripted(generator=reply("alpha", Family="debt"), verifier=verify)
        ranking = self.run(index, schema, using, lm, table_fact, rounds=0, J=1, Kv=2, outside=outside).ranking
        found = dict(zip(ranking.ids, ranking.components["support"].tolist(), strict=True))
        assert sorted(found.values()) == sorted([1.0, 0.0, support])

    def test_it_stops_where_no_dimension_has_a_positive_balance(
        self, index, schema, using, scripted, reply, table_fact
    ):
        def verify(asked):
            return {"verdicts": ["sxxxxx"] * len(asked.field("candidates").split("\n"))}

        lm = scripted(**self.replies(reply, 99) | {"verifier": verify})
        trace = self.run(index, schema, using, lm, table_fact).trace
        assert lm.stages() == {"generator": 2, "verifier": 2}
        assert trace.notes["targets"] == []

    def test_it_stops_where_a_revision_does_not_parse(
        self, index, schema, using, scripted, reply, table_fact
    ):
        lm = scripted(**self.replies(reply, 99) | {"revise": "?"})
        prediction = self.run(index, schema, using, lm, table_fact)
        assert lm.stages() == {"generator": 2, "revise": 2, "verifier": 2}
        assert prediction.trace.counters["dropped_replies"] == 1
        assert len(prediction.ranking) == 3

    def test_the_whole_pool_is_fused_and_the_last_round_s_verdicts_rank(
        self, index, schema, using, scripted, reply, table_fact
    ):
        def verify(asked):
            shown = [line.split(". ", 1)[1].split(" | ")[0] for line in asked.field("candidates").split("\n")]
            first = "LeaseExpense" not in shown
            return {"verdicts": ["nxxxxx" if first or c != "LeaseExpense" else "sxxxxx" for c in shown]}

        lm = scripted(**self.replies(reply, 99) | {"verifier": verify})
        prediction = self.run(index, schema, using, lm, table_fact, rounds=1)
        assert sorted(prediction.ranking.ids) == ["Cash", "DebtCurrent", "Goodwill", "LeaseExpense"]
        support = dict(zip(prediction.ranking.ids, prediction.ranking.components["support"], strict=True))
        assert support["LeaseExpense"] == 1.0  # under all three hypotheses, on the new window

    def test_its_first_round_is_FHS_s_own(self, index, schema, using, scripted, reply, table_fact):
        from abduce.programs import FHS

        lm = scripted(**self.replies(reply, 99))
        alone = self.run(index, schema, using, lm, table_fact, rounds=0)
        with using(scripted(**self.replies(reply, 99))):
            fhs = FHS(index, schema)(fact=table_fact)
        assert alone.ranking.ids == fhs.ranking.ids
        assert alone.ranking.scores.tolist() == fhs.ranking.scores.tolist()
        assert lm.stages() == {"generator": 2, "verifier": 2}
