"""Facts as text: identifier, direct and locus queries, visible text, caps and back-off."""

from __future__ import annotations

import dspy
import pytest
from abduce.programs import Direct, Locus
from abduce.programs.calls import ask_about
from abduce.programs.running import in_thread
from abduce.programs.serialize import CONTEXT_CAPS, Serializer, elide, estimated_tokens, visible_text
from abduce.programs.trace import Trace
from abduce.signatures.fhs import generator_signature
from abduce.signatures.types import Fact, SourceContext
from dspy.utils.exceptions import ContextWindowExceededError
from hypothesis import given
from hypothesis import strategies as st

TABLE = """<table><tr><td>
  Goodwill&nbsp;and <b>other</b></td><td>1,204</td></tr>
  <style>td { color: red }</style><script>alert("x < y")</script>
  <tr><td>A &amp; B</td></tr></table>"""


def text_of(text, start, end, **more):
    context = SourceContext(context_id="c", text=text)
    return Fact(
        fact_id="f",
        value=text[start:end],
        modality="text",
        context=context,
        mention_start=start,
        mention_end=end,
        **more,
    )


class TestVisibleText:
    def test_markup_scripts_and_styles_go_white_space_is_normal(self):
        assert visible_text(TABLE) == "Goodwill and other 1,204 A & B"

    def test_words_of_neighbouring_cells_stay_apart(self):
        assert visible_text("<table><tr><td>a</td><td>b</td></tr></table>") == "a b"

    def test_the_html_option_keeps_the_markup(self):
        context = SourceContext(
            context_id="c", text="<table>\n <tr><td>a</td></tr></table>", modality="table"
        )
        assert Serializer(markup="html").context(context) == "<table> <tr><td>a</td></tr></table>"
        assert Serializer().context(context) == "a"

    def test_a_passage_is_not_parsed(self):
        context = SourceContext(context_id="c", text="if a <b then\n c")
        assert Serializer().context(context) == "if a <b then c"

    def test_the_text_above_a_table_is_shown_on_request_only(self):
        context = SourceContext(
            context_id="c",
            text="<table><tr><td>a</td></tr></table>",
            modality="table",
            preceding_text="Above\n it",
        )
        assert Serializer().context(context) == "a"
        assert Serializer(preceding=True).context(context) == "Above it a"


class TestQueries:
    def test_direct_is_identifier_and_the_whole_context(self, table_fact, text_fact):
        assert Serializer().direct(table_fact) == ("1,204 monetaryItemType 2024 Debt | Long-term 1,204")
        assert Serializer().direct(text_fact) == (
            "75 monetaryItemType At year end the company owed $75 million under its term loan."
        )

    def test_locus_of_a_cell_is_identifier_row_and_column_header(self, table_fact):
        assert Serializer().locus(table_fact) == "1,204 monetaryItemType Debt | Long-term 2024"

    def test_locus_of_a_mention_is_identifier_and_the_text_around(self):
        text = "b" * 200 + " 75 " + "a" * 200
        fact = text_of(text, 201, 203, datatype="t")
        # 150 characters before (the space included), 100 after
        assert Serializer().locus(fact) == f"75 t {'b' * 149} 75 {'a' * 99}"

    def test_the_window_ends_where_the_context_does(self):
        fact = text_of("owed 75 now", 5, 7)
        assert Serializer().mention_window(fact) == "owed 75 now"

    def test_a_bare_mention_where_the_domain_says_so(self):
        fact = text_of("owed 75 now", 5, 7, datatype="t")
        assert Serializer(before=0, after=0).locus(fact) == "75"

    def test_a_missing_datatype_and_headers_leave_no_gap(self, table_fact):
        bare = table_fact.model_copy(update={"datatype": None, "row_header": None})
        assert Serializer().locus(bare) == "1,204 2024"

    def test_the_programs_ask_exactly_these(self, tiny, table_retriever, table_fact, text_fact):
        for fact in (table_fact, text_fact):
            for program, text in ((Direct, Serializer().direct(fact)), (Locus, Serializer().locus(fact))):
                retriever = table_retriever(tiny, default=["Cash", "Goodwill"])
                prediction = program(retriever)(fact=fact)
                ((query, k, where),) = retriever.asked
                assert (query, k, where.datatype) == (text, 200, "monetaryItemType")
                assert list(prediction.ranking.ids) == ["Cash", "Goodwill"]
                assert prediction.trace.counters["retrievals"] == 1
                assert prediction.trace.counters["llm_calls"] == 0


class TestElide:
    def test_a_short_text_stays(self):
        assert elide("abc", 3) == "abc"

    def test_both_ends_are_kept_and_the_middle_left_out(self):
        assert elide("0123456789abcdef", 11) == "012 ... def"
        assert elide("0123456789abcdef", 12) == "0123 ... def"

    @given(st.text(max_size=60), st.integers(5, 80))
    def test_never_longer_than_the_cap(self, text, cap):
        short = elide(text, cap)
        assert len(short) <= cap
        if len(text) > cap:
            assert len(short) == cap
            head, tail = short.split(" ... ", 1) if short.count(" ... ") == 1 else ("", "")
            assert text.startswith(head)
            assert text.endswith(tail)


class TestEvidence:
    def test_the_parts(self, table_fact):
        assert Serializer().evidence(table_fact) == {
            "value": "1,204",
            "datatype": "monetaryItemType",
            "input_type": "table cell",
            "row_header": "Debt | Long-term",
            "column_header": "2024",
            "source_context": "2024 Debt | Long-term 1,204",
        }

    def test_provenance_is_never_shown(self, table_fact):
        fact = table_fact.model_copy(update={"company": "Acme Inc", "filing_id": "F-77"})
        shown = " ".join(Serializer().evidence(fact).values())
        assert "Acme" not in shown
        assert "F-77" not in shown

    def test_the_cap_is_12000_characters(self):
        fact = text_of("7" + "x" * 20_000, 0, 1)
        assert CONTEXT_CAPS == (12_000, 8_000, 5_000, 2_500)
        assert len(Serializer().evidence(fact)["source_context"]) == 12_000


class TestBackOff:
    """A prompt over its budget is cut to 8,000, 5,000 and 2,500 characters of context."""

    def shown(self, scripted, using, schema, reply, fact, budget, said=None):
        lm = scripted(generator=said or reply("q"))
        trace = Trace()
        with using(lm):
            in_thread(
                ask_about(
                    dspy.Predict(generator_signature(schema)),
                    trace,
                    "generator",
                    fact,
                    Serializer(),
                    budget=budget,
                )
            )
        return [len(a.field("source_context")) for a in lm.asked], trace

    @pytest.mark.parametrize(
        ("budget", "characters"),
        [(16_000, 12_000), (5_400, 8_000), (4_000, 5_000), (2_600, 2_500), (10, 2_500)],
    )
    def test_by_the_estimate(self, scripted, using, schema, reply, budget, characters):
        # instructions 1,500 tokens + (context + about 60 characters of other evidence) / 3
        fact = text_of("7" + "x" * 20_000, 0, 1)
        shown, trace = self.shown(scripted, using, schema, reply, fact, budget)
        assert shown == [characters]
        assert trace.counters["truncated_contexts"] == 1

    def test_a_context_that_fits_is_whole_and_not_counted(self, scripted, using, schema, reply):
        fact = text_of("7" + "x" * 11_000, 0, 1)
        shown, trace = self.shown(scripted, using, schema, reply, fact, 16_000)
        assert shown == [11_001]
        assert trace.counters["truncated_contexts"] == 0

    def test_an_ellipsis_of_the_source_is_no_truncation(self, scripted, using, schema, reply):
        fact = text_of("7 and so on ... and more", 0, 1)
        _, trace = self.shown(scripted, using, schema, reply, fact, 16_000)
        assert trace.counters["truncated_contexts"] == 0

    def test_a_server_that_says_too_long_is_asked_with_less(self, scripted, using, schema, reply):
        fact = text_of("7" + "x" * 20_000, 0, 1)

        def short_only(asked):
            if len(asked.field("source_context")) > 5_000:
                return ContextWindowExceededError(model="scripted")
            return reply("q")

        shown, trace = self.shown(scripted, using, schema, reply, fact, 16_000, short_only)
        assert shown == [12_000, 8_000, 5_000]
        assert trace.counters["context_backoffs"] == 2

    def test_the_estimate_is_cautious(self):
        assert estimated_tokens("") == 0
        assert estimated_tokens("abcd") == 2
