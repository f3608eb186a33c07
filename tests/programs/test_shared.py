"""Facts that share their evidence, and tables that are judged at once: calls counted, rankings by hand."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import dspy
import made_facts
import pytest
from abduce.programs.methods import Parts, build_program, check_replay
from abduce.programs.presets import PRESETS
from abduce.programs.running import in_thread
from abduce.programs.shared import Once
from abduce.signatures.types import SourceContext

TABLE = SourceContext(context_id="t", text="<table><tr><td>Debt</td></tr></table>", modality="table")


def cell(row, column, context=TABLE):
    value = f"{len(row)},{len(column)}00"
    return made_facts.cell(f"{context.context_id} {row} {column}", row, column, value=value, context=context)


FACTS = [cell(row, year) for row in ("Debt", "Goodwill", "Tax") for year in ("2024", "2023")]
"""Three rows of two years each: three groups of two."""


@pytest.fixture
def index(table_retriever, tiny):
    first = {"debt": ["DebtCurrent", "DebtNoncurrent", "Cash"], "goodwill": ["Goodwill", "Cash", "Revenues"]}
    return table_retriever(tiny, first, default=["TaxExpense", "TaxDeferred"])


@pytest.fixture
def model(scripted, reply, judge_table):
    """Supports DebtNoncurrent and TaxDeferred alone, on every dimension that is read."""

    def verdict(candidate):
        return "ssssss" if candidate in ("DebtNoncurrent", "TaxDeferred") else "nnnnnn"

    def verify(asked):
        shown = [line.split(". ", 1)[1].split(" | ")[0] for line in asked.field("candidates").split("\n")]
        return {"verdicts": [verdict(c) for c in shown]}

    return lambda **more: scripted(
        **{
            "generator": lambda a: reply(f"{a.field('row_header').lower()} amount", Role="amount"),
            "verifier": verify,
            "table": lambda a: judge_table(a, lambda row, reading, c: verdict(c)),
            "selector": {"ids": ["Cash"]},
            **more,
        }
    )


@pytest.fixture
def made(index, tiny, schema):
    def go(name, facts=FACTS, **changes):
        return build_program(
            PRESETS[name].changed(changes), Parts(lambda _: index, tiny, schema, facts=facts)
        )

    return go


def test_a_group_is_asked_about_once_and_all_its_members_answered(made, model, using):
    lm = model()
    program = made("FHS, shared evidence", selector=True)
    with using(lm):
        found = [program(fact=fact) for fact in FACTS]
    assert lm.stages() == {"generator": 6, "verifier": 6, "selector": 3}  # 3 groups, not 6 facts
    for one, two in zip(found[::2], found[1::2], strict=True):
        assert list(one.ranking.ids) == list(two.ranking.ids)
        assert list(one.retrieved.ids) == list(two.retrieved.ids)
        assert len(one.trace.calls) == one.trace.counters["llm_calls"] == 5
        assert two.trace.calls == []
        assert (two.trace.counters["llm_calls"], two.trace.counters["retrievals"]) == (0, 0)
        assert two.trace.queries == one.trace.queries
    assert [f.trace.notes.get("evidence_of") for f in found] == [
        None, "t Debt 2024", None, "t Goodwill 2024", None, "t Tax 2024",
    ]  # fmt: skip


def test_the_first_fact_is_asked_about_whichever_comes_first(made, model, using):
    answers = []
    for facts in (FACTS, FACTS[::-1]):
        lm, program = model(), made("FHS, shared evidence")
        with using(lm):
            answers.append({f.fact_id: program(fact=f) for f in facts})
        assert {a.field("column_header") for a in lm.asked} == {"2024"}
    for id_, one in answers[0].items():
        assert one.ranking.scores.tolist() == answers[1][id_].ranking.scores.tolist()
        assert len(one.trace.calls) == len(answers[1][id_].trace.calls)


def test_without_the_runs_facts_each_is_asked_about(made, model, using):
    lm = model()
    with using(lm):
        for fact in FACTS[:2]:
            made("FHS, shared evidence", facts=())(fact=fact)
    assert lm.stages() == {"generator": 4, "verifier": 4}


def test_an_error_is_everyones_and_a_later_session_asks_again(made, model, using):
    def broken(asked):
        raise dspy.LMError("down")

    program = made("FHS, shared evidence")
    with using(model(generator=broken)):
        for fact in FACTS[:2]:
            with pytest.raises(dspy.LMError, match="down"):
                program(fact=fact)
    with using(model()):
        assert len(made("FHS, shared evidence")(fact=FACTS[1]).ranking)


def test_once_computes_once_under_threads_and_forgets():
    once, calls = Once(), Counter()
    start = threading.Barrier(8)

    async def compute():
        calls.update(["k"])
        return "value"

    def ask(_):
        start.wait()
        return in_thread(once.get("k", 8, compute))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == ["value"] * 8
    assert calls["k"] == 1
    in_thread(once.get("k", 1, compute))
    assert calls["k"] == 2


def test_one_call_judges_all_rows_of_a_table(made, model, using):
    lm = model()
    with using(lm):
        program = made("FHS, table")
        found = {f.row_header: program(fact=f) for f in FACTS[::2]}
        fhs = {f.row_header: made("FHS", Kv=5)(fact=f) for f in FACTS[::2]}
    tables = lm.of("table")
    assert len(tables) == 1
    rows = tables[0].field("rows").split("\n\n")
    assert [row.split("\n")[0] for row in rows] == ["row_1", "row_2", "row_3"]
    assert "row_header: Goodwill" in rows[1]
    assert tables[0].prompt.count("[[ ## source_context ## ]]") <= 2  # once in the question itself
    assert len(lm.of("generator")) == 2 * 6  # as many as FHS draws
    for row, one in found.items():
        assert list(one.ranking.ids) == list(fhs[row].ranking.ids)
        assert one.ranking.scores.tolist() == fhs[row].ranking.scores.tolist()
        assert one.trace.notes["table"] == {"rows": 3, "asked_by": "t Debt 2024"}
    assert found["Debt"].ranking.ids[0] == "DebtNoncurrent"
    tax = found["Tax"].ranking
    assert tax.components["support"][list(tax.ids).index("TaxDeferred")] == 1.0
    assert [sum(c.stage == "verifier" for c in one.trace.calls) for one in found.values()] == [1, 0, 0]


def test_a_large_table_takes_several_calls_of_whole_rows(made, model, using, monkeypatch):
    monkeypatch.setattr("abduce.programs.table.STRINGS", 8)  # each row has 2 readings of 2 or 3 candidates
    lm = model()
    with using(lm):
        program = made("FHS, table")
        for fact in FACTS:
            program(fact=fact)
    assert [len(a.field("rows").split("\n\n")) for a in lm.of("table")] == [1, 1, 1]


def test_a_table_call_that_fails_is_a_failed_verification_of_every_reading(made, model, using):
    lm = model(table="no JSON")
    with using(lm):
        found = [made("FHS, table")(fact=f) for f in FACTS[:1]]
    (one,) = found
    assert len(lm.of("table")) == 2  # asked once more
    assert one.trace.counters["failed_verifications"] == 2
    assert set(one.ranking.components["support"].tolist()) == {0.0}


def test_a_row_whose_samples_fail_leaves_the_others(made, model, using, reply):
    def generate(asked):
        if asked.field("row_header") == "Goodwill":
            raise dspy.LMError("down")
        return reply("debt amount", Family="debt")

    with using(model(generator=generate)):
        program = made("FHS, table")
        assert len(program(fact=FACTS[0]).ranking)
        with pytest.raises(dspy.LMError):
            program(fact=FACTS[2])
        assert len(program(fact=FACTS[4]).ranking)


def test_a_mention_is_done_as_in_FHS(made, model, using, text_fact, reply):
    lm = model(generator=reply("debt amount", Family="debt"))
    with using(lm):
        made("FHS, table", facts=[*FACTS, text_fact])(fact=text_fact)
    assert lm.stages() == {"verifier": 2, "generator": 2}


def test_what_a_table_cannot_be_judged_by_is_refused(made):
    for changes in ({"verdicts": "soft"}, {"generator": "rules"}, {"verifier": "symbolic"}):
        with pytest.raises(ValueError, match="a table is read by a model"):
            made("FHS, table", **changes)
    with pytest.raises(ValueError, match="cannot be replayed"):
        check_replay(PRESETS["FHS"].changed({"replay": "x"}), PRESETS["FHS, table"])


@pytest.mark.parametrize(("split", "facts", "groups"), [("dev", 1281, 659), ("test", 1828, 1055)])
def test_what_sharing_saves_on_the_projects_data(shared_data, split, facts, groups):
    from abduce.data.domains import FINANCE
    from abduce.data.folder import DataFolder
    from abduce.programs.shared_rows import shared_evidence

    found = [e.inputs["fact"] for e in DataFolder.find(str(shared_data)).facts(FINANCE, split)]
    cells = [f for f in found if f.modality == "table"]
    assert (len(cells), len(shared_evidence(cells))) == (facts, groups)
