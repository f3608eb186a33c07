"""Text that stands in no paragraph of its own, next to tables and paragraphs."""

import pytest
from abduce.documents import html
from abduce.documents.read import read_document

TABLE = "<table><tr><td></td><td>2024</td></tr><tr><td>Cash</td><td>1,204</td></tr></table>"
IX = 'xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"'


def read(tmp_path, text):
    path = tmp_path / "page.html"
    path.write_text(f"<html {IX}><body>{text}</body></html>", encoding="utf-8")
    return read_document(path)


@pytest.mark.parametrize(
    ("page", "above"),
    [
        (f"<div>Table 1 (in thousands){TABLE}</div>", "Table 1 (in thousands)"),
        (f"Table 1 (in <i>thousands</i>){TABLE}", "Table 1 (in thousands)"),
        (f"<b>Balance</b> (in thousands){TABLE}<b>Next table</b>", "Balance (in thousands)"),
        (f"<span>Sums in <i>thousands</i>{TABLE}</span>", "Sums in thousands"),
        (f"<p>Notes</p>Loose heading{TABLE}", "Loose heading"),
        (TABLE.replace("<table>", "<table><caption>Cash, in thousands</caption>"), "Cash, in thousands"),
        (
            "<p>Note 3</p>" + TABLE.replace("<table>", "<table><caption>Cash flows</caption>"),
            "Note 3 Cash flows",
        ),
        (f"<div style='display:none'>Not shown</div>{TABLE}", ""),
    ],
)
def test_what_stands_above_a_table_is_read_wherever_it_stands(tmp_path, page, above):
    [cash, *_] = read(tmp_path, page).facts
    assert (cash.row_header, cash.column_header, cash.value) == ("Cash", "2024", "1,204")
    assert cash.context.preceding_text == above


def test_loose_text_and_paragraphs_keep_their_order(tmp_path):
    page = (
        f"Sales in millions <p>Revenue was $5 million.</p> Cost was $3 million. {TABLE} Debt is $9 million."
    )
    document = read(tmp_path, page)
    texts = [f.context.text for f in document.facts if f.context.modality != "table"]
    assert texts == ["Revenue was $5 million.", "Cost was $3 million.", "Debt is $9 million."]


def test_tags_in_loose_text_keep_their_places(tmp_path):
    tag = '<ix:nonFraction name="us-gaap:Debt" contextRef="c" unitRef="u">12.5</ix:nonFraction>'
    document = read(tmp_path, f"Our debt was ${tag} million then <p>and more of it</p> later")
    [debt] = document.facts
    assert debt.context.text[debt.mention_start : debt.mention_end] == "12.5"
    assert document.gold == {debt.fact_id: "Debt"}


def test_loose_text_is_let_go_as_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(html, "MAX_BLOCK", 5_000)  # a piece of the page that is parsed at once holds fewer
    document = read(tmp_path, "<p>one word</p>and another" * 10_000 + TABLE)
    assert document.facts[-1].context.preceding_text == "and another"


def test_a_number_tagged_twice_is_one_and_many_tags_keep_their_places(tmp_path):
    once = '<ix:nonFraction name="us-gaap:Cash" contextRef="{}" unitRef="u">{}</ix:nonFraction>'
    twice = once.format("a", "{}").replace("{}", once.format("b", "7"))
    tags = " and ".join(once.format("c", 100 + i) for i in range(300))
    document = read(tmp_path, f"<p>We hold {twice} then {tags}.</p>")
    assert [f.value for f in document.facts] == ["7", *map(str, range(100, 400))]
    for fact in document.facts:
        assert fact.context.text[fact.mention_start : fact.mention_end] == fact.value
    assert set(document.gold.values()) == {"Cash"}
