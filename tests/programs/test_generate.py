"""Generators: samples of one unmodified prompt, and the model-free rules."""

from __future__ import annotations

from abduce.programs.generate import LMGenerator, RuleGenerator
from abduce.programs.trace import Trace


def draw(generator, fact, J=2, temperature=0.8):
    trace = Trace()
    return generator(fact=fact, J=J, temperature=temperature, trace=trace), trace


class TestModel:
    def test_J_samples_of_one_unmodified_prompt(self, scripted, using, schema, reply, table_fact):
        lm = scripted(generator=lambda a: reply(f"query {a.sample}", Family="debt"))
        with using(lm):
            drawn, trace = draw(LMGenerator(schema), table_fact, J=3)
        assert [h.retrieval_query for h in drawn] == ["query 0", "query 1", "query 2"]
        assert len({a.prompt for a in lm.asked}) == 1
        assert {a.config["temperature"] for a in lm.asked} == {0.8}
        assert trace.counters["llm_calls"] == 3

    def test_a_smaller_J_draws_the_first_samples_of_a_larger_one(
        self, scripted, using, schema, reply, table_fact
    ):
        lm = scripted(generator=lambda a: reply(f"query {a.sample}"))
        with using(lm):
            one, _ = draw(LMGenerator(schema), table_fact, J=1)
            four, _ = draw(LMGenerator(schema), table_fact, J=4)
        assert one == four[:1]

    def test_greedy_asks_at_temperature_0(self, scripted, using, schema, reply, table_fact):
        lm = scripted(generator=reply("q"))
        with using(lm):
            draw(LMGenerator(schema), table_fact, J=1, temperature=0.0)
        assert [a.config["temperature"] for a in lm.asked] == [0.0]

    def test_values_are_normalised_and_unresolved_ones_dropped(
        self, scripted, using, schema, reply, table_fact
    ):
        lm = scripted(generator=reply("q", Family="long-term debt", Event="N/A", Scope="unknown"))
        with using(lm):
            (hypothesis,), _ = draw(LMGenerator(schema), table_fact, J=1)
        assert hypothesis.values == {"Family": "long-term debt"}
        assert hypothesis.categories == {"Family": ("debt",)}

    def test_the_prompt_has_no_candidate_and_no_gold(self, scripted, using, schema, reply, table_fact):
        lm = scripted(generator=reply("q"))
        with using(lm):
            draw(LMGenerator(schema), table_fact, J=1)
        assert lm.asked[0].field("candidates") is None
        assert lm.asked[0].field("row_header") == "Debt | Long-term"


class TestRules:
    def test_a_cell_is_read_from_its_headers(self, schema, table_fact):
        fact = table_fact.model_copy(update={"column_header": "As of December 31, 2024 | Net"})
        (hypothesis,), trace = draw(RuleGenerator(schema), fact)
        assert hypothesis.values == {
            "Family": "debt",
            "Role": "Long-term",
            "Qualifier": "noncurrent",
            "Temporal": "noncurrent",
        }
        # a dimension that the row header names is not read from the column header
        assert "net" not in hypothesis.categories["Qualifier"]
        assert hypothesis.retrieval_query == "Debt | Long-term As of December 31, 2024 | Net"
        assert trace.counters["llm_calls"] == 0

    def test_the_column_header_fills_what_the_row_header_leaves_open(self, schema, table_fact):
        fact = table_fact.model_copy(update={"row_header": "Goodwill", "column_header": "Net"})
        (hypothesis,), _ = draw(RuleGenerator(schema), fact)
        assert hypothesis.categories["Family"] == ("asset",)
        assert hypothesis.categories["Qualifier"] == ("net",)

    def test_a_mention_is_read_from_the_text_around_it(self, schema, text_fact):
        (hypothesis,), _ = draw(RuleGenerator(schema), text_fact)
        assert hypothesis.categories["Family"] == ("debt",)
        assert "Role" not in hypothesis.values
        assert hypothesis.retrieval_query == text_fact.context.text

    def test_every_value_it_gives_normalises(self, schema, dev_facts):
        rules = RuleGenerator(schema)
        for example in dev_facts[:100]:
            (hypothesis,), _ = draw(rules, example.inputs["fact"])
            assert schema.unnormalised(hypothesis) == {}

    def test_rules_do_not_sample(self, schema, table_fact):
        assert len(draw(RuleGenerator(schema), table_fact, J=4)[0]) == 1
