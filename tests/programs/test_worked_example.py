"""The paper's worked cases, end to end (Appendix G): verdicts that move the gold concept to rank one."""

from __future__ import annotations

from itertools import islice

import pytest
from abduce.programs import FHS, FHSConfig
from abduce.programs.window import support_of
from made_facts import cell

_AWARD = "ShareBasedCompensationArrangementByShareBasedPaymentAward"
GOLD = f"{_AWARD}EquityInstrumentsOtherThanOptionsNonvestedNumber"
RIVAL = "SharebasedCompensationArrangementBySharebasedPaymentAwardOptionsNonvestedNumberOfShares"
OTHERS = [
    f"{_AWARD}NumberOfSharesAvailableForGrant",
    f"{_AWARD}EquityInstrumentsOtherThanOptionsGrantsInPeriod",
    f"{_AWARD}EquityInstrumentsOtherThanOptionsVestedInPeriod",
    f"{_AWARD}EquityInstrumentsOtherThanOptionsForfeitedInPeriod",
    f"{_AWARD}NumberOfSharesAuthorized",
]
HEAD = [OTHERS[0], OTHERS[1], RIVAL, OTHERS[2], OTHERS[3], OTHERS[4], GOLD]
DEPTH = 125


@pytest.fixture(scope="module")
def rsu():
    """The roll-forward of Appendix G.1."""
    table = (
        "<table><tr><td></td><td>Total Number of RSUs</td></tr>"
        "<tr><td>Nonvested at December 31, 2023</td><td>1,229,202</td></tr></table>"
    )
    headers = ("Nonvested at December 31, 2023", "Total Number of RSUs")
    return cell("rsu", *headers, value="1,229,202", datatype="sharesItemType", text=table)


@pytest.fixture(scope="module")
def rankings(us_gaap, schema):
    """Four rankings that agree on their first 124 places; each ends on a concept of its own.

    With kappa = 60 the places of the head have S = 4/61 ... 4/67, the lowest S of the pool is 1/185. So
    S~(rival) - S~(gold) = (4/63 - 4/67) / (4/61 - 1/185) = .063. The fillers share one profile.
    """
    plain = (c.id for c in us_gaap if not any(schema.profile(c)))
    fillers = list(islice(plain, DEPTH + 4))
    shared = HEAD + fillers[: DEPTH - 1 - len(HEAD)]
    return [[*shared, last] for last in fillers[DEPTH : DEPTH + 4]]


def verdicts_by(gold, rival, rest):
    """A reply that judges gold and rival apart from the rest, wherever they stand in the window."""

    def answer(asked):
        shown = [line.split(". ", 1)[1].split(" | ")[0] for line in asked.field("candidates").split("\n")]
        return {"verdicts": [{GOLD: gold, RIVAL: rival}.get(c, rest) for c in shown]}

    return answer


@pytest.fixture
def model(scripted, reply):
    def generate(asked):
        if asked.sample % 100 == 0:
            return reply(
                "firstreading of nonvested share units",
                Family="Share-Based Compensation",
                Role="Nonvested Shares",
                Event="Vesting",
                Temporal="Balance at period end",
            )
        return reply(
            "secondreading of nonvested share units",
            Family="Equity",
            Role="Share-based compensation",
            Temporal="As of December 31, 2023",
        )

    first = verdicts_by(gold="sssxxs", rival="snsxxs", rest="snnxxn")
    second = verdicts_by(gold="ssxxxs", rival="ssxxxs", rest="snxxxn")
    return scripted(
        generator=generate,
        verifier=lambda a: first(a) if "Role: Nonvested" in a.field("hypothesis") else second(a),
    )


@pytest.fixture
def retriever(table_retriever, us_gaap, rankings):
    return table_retriever(
        us_gaap,
        {
            "firstreading": rankings[0],
            "secondreading": rankings[1],
            "nonvested": rankings[2],  # the label form of the first hypothesis
            "equity": rankings[3],  # the label form of the second
        },
    )


def run(fact, retriever, schema, model, using, **config):
    with using(model):
        return FHS(retriever, schema, FHSConfig(**config))(fact=fact)


def test_four_rankings_are_fused(rsu, retriever, schema, model, using, rankings):
    trace = run(rsu, retriever, schema, model, using).trace
    assert [q.form for q in trace.queries] == ["definition", "label"] * 2
    assert sorted(r.ids[-1] for r in trace.rankings) == sorted(r[-1] for r in rankings)
    assert all(q.text.startswith("1,229,202 sharesItemType ") for q in trace.queries)


def test_fusion_alone_ranks_gold_seventh_with_the_rival_ahead(rsu, retriever, schema, model, using):
    prediction = run(rsu, retriever, schema, model, using, beta=0.0)
    assert list(prediction.ranking.ids[:7]) == HEAD
    scores = dict(zip(prediction.ranking.ids, prediction.ranking.scores, strict=True))
    assert scores[HEAD[0]] == 1.0
    assert scores[RIVAL] - scores[GOLD] == pytest.approx((4 / 63 - 4 / 67) / (4 / 61 - 1 / 185))
    assert round(scores[RIVAL] - scores[GOLD], 3) == 0.063
    assert model.stages() == {"generator": 2}


def test_one_role_verdict_moves_gold_to_rank_one(rsu, retriever, schema, model, using):
    prediction = run(rsu, retriever, schema, model, using)
    trace, ranking = prediction.trace, prediction.ranking
    assert ranking.ids[0] == GOLD
    assert ranking.ids[1] == RIVAL
    by_hypothesis = [{v.concept_id: support_of(v) for v in j.verdicts} for j in trace.judged]
    assert [v[GOLD] for v in by_hypothesis] == [1.0, 1.0]
    assert [v[RIVAL] for v in by_hypothesis] == [0.75, 1.0]
    parts = {hit.id: hit for hit in ranking}
    gap = parts[RIVAL].components["fused_norm"] - parts[GOLD].components["fused_norm"]
    support = 0.6 * (parts[GOLD].components["support"] - parts[RIVAL].components["support"])
    assert parts[GOLD].components["support"] == 1.0
    assert parts[RIVAL].components["support"] == 0.875
    assert support == pytest.approx(0.075)
    assert round(gap, 3) == 0.063
    assert parts[GOLD].score - parts[RIVAL].score == pytest.approx(support - gap)
    assert model.stages() == {"generator": 2, "verifier": 2}


def test_a_smaller_weight_would_not(rsu, retriever, schema, model, using):
    ranking = run(rsu, retriever, schema, model, using, beta=0.5).ranking  # .0625 < .063
    assert list(ranking.ids[:2]) == [RIVAL, GOLD]


def test_a_concept_outside_every_window_carries_the_window_mean(rsu, retriever, schema, model, using):
    prediction = run(rsu, retriever, schema, model, using)
    outside = prediction.ranking.ids[-1]
    assert all(outside not in j.window for j in prediction.trace.judged)
    means = [sum(map(support_of, j.verdicts)) / len(j.verdicts) for j in prediction.trace.judged]
    support = prediction.ranking.components["support"][-1]
    assert support == pytest.approx(sum(means) / 2)


class TestNarrative:
    """Appendix G.2: 0/1 under the first hypothesis, 2/2 under the second."""

    @pytest.fixture
    def model(self, scripted, reply):
        def generate(asked):
            if asked.sample == 0:
                return reply("amended", Event="Amended securitization facility")
            return reply("debt", Family="Liabilities", Role="Debt")

        return scripted(
            generator=generate,
            verifier=lambda a: {
                "verdicts": ["xxnxxx" if "Event: Amended" in a.field("hypothesis") else "ssxxxx", "nnnxxx"]
            },
        )

    @pytest.mark.parametrize(("abstain", "support"), [("exclude", 0.5), ("no_support", 1 / 6)])
    def test_the_partial_hypothesis_keeps_the_reading(
        self, text_fact, table_retriever, schema, us_gaap, using, model, abstain, support
    ):
        gold = "LineOfCreditFacilityMaximumBorrowingCapacity"
        retriever = table_retriever(us_gaap, default=[gold, "Goodwill"])
        prediction = run(text_fact, retriever, schema, model, using, abstain=abstain)
        assert [q.form for q in prediction.trace.queries] == ["definition"] * 2
        best = next(iter(prediction.ranking))
        assert best.id == gold
        assert best.components["support"] == pytest.approx(support)
