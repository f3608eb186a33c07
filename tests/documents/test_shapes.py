"""Kinds of tables that people have: one kind a test, made for it."""

import pytest
from abduce.documents.headers import locate, read_table
from abduce.documents.read import read_document
from made_grid import grid_of

IX = 'xmlns:ix="http://www.xbrl.org/2013/inlineXBRL" xmlns:ifrs-full="http://xbrl.ifrs.org/ifrs"'


def rows(*lines):
    grid = grid_of([line.split(";") for line in lines])
    return [(p.cell.text, p.row_header, p.column_header) for p in locate(grid)]


def page(tmp_path, body, head=""):
    path = tmp_path / "page.html"
    path.write_text(f"<html {IX}><head>{head}</head><body>{body}</body></html>", encoding="utf-8")
    return read_document(path)


def read(tmp_path, body, head=""):
    return [(f.value, f.row_header, f.column_header) for f in page(tmp_path, body, head).facts]


def table(*lines):
    cells = ("".join(f"<td>{c}</td>" for c in line.split("|")) for line in lines)
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"


@pytest.mark.parametrize("mark", ["&#8203;", "&#xFEFF;", "&shy;", "&#8206;", "&#8288;"])
def test_a_cell_of_invisible_characters_is_empty(tmp_path, mark):
    found = read(
        tmp_path,
        table(
            f"{mark}|{mark}|June 30, 2024",
            f"Inven{mark}tories:|{mark}|{mark}",
            f"Raw {mark}materials|{mark}|1,{mark}250",
        ),
    )
    assert found == [("1,250", "Inventories: | Raw materials", "June 30, 2024")]


@pytest.mark.parametrize("odd", ["45-", "0.1-2.0", "5.3 – 6.1 years", "12 CR", "R$ 7", "45/30", "1.2.3"])
def test_what_cannot_be_read_never_heads_the_rows_below(odd):
    found = rows("Item;2024;2023", "Revenue;10;20", f"Odd one;{odd};{odd}", "Goodwill;30;40")
    assert [f for f in found if f[1] == "Goodwill"] == [
        ("30", "Goodwill", "2024"),
        ("40", "Goodwill", "2023"),
    ]


def test_both_ends_of_a_range_are_values():
    assert rows("Item;2024", "Life (years);0.5 - 2.5", "Volatility;30%–45%") == [
        ("0.5 - 2.5", "Life (years)", "2024"),
        ("30%–45%", "Volatility", "2024"),
    ]


@pytest.mark.parametrize("heads", ["<1 year;1-3 years;3-5 years", "0 - 30 days;31-60 days;61 – 90 days"])
def test_spans_of_time_above_amounts_are_headings(heads):
    first = heads.split(";")[0]
    assert rows(f"Due in;{heads}", "Leases;5;6;7")[0] == ("5", "Leases", first)


def test_a_span_of_time_beside_amounts_is_a_label():
    assert rows("Range;Shares;Price", "$10 - $15;500;12.5", "1-3 years;600;13.5")[1:3] == [
        ("12.5", "$10 - $15", "Price"),
        ("600", "1-3 years", "Shares"),
    ]


@pytest.mark.parametrize(
    ("heading", "cells", "reason"),
    [
        ("Note", ["3", "4(a)", "5, 6"], "references to notes"),
        ("Notes", ["7.1", "12", "13"], "references to notes"),
        ("Ref.", ["3", "4", "5"], "references to notes"),
        ("Account No.", ["4000", "4010", "5200"], "serial numbers"),
        ("#", ["1", "2", "3"], "serial numbers"),
    ],
)
def test_a_column_that_numbers_the_rows_is_told_by_its_heading(heading, cells, reason):
    lines = [f"Item;{heading};2024", *(f"Row {'abc'[i]};{c};{i + 1},500" for i, c in enumerate(cells))]
    reading = read_table(grid_of([line.split(";") for line in lines]))
    assert [p.cell.text for p in reading.places] == ["1,500", "2,500", "3,500"]
    assert [why for _, why in reading.unread] == [reason] * 3


def test_amounts_under_notes_stay_amounts():
    assert [v for v, *_ in rows("Debt;Loans;Notes;Total", "A;100;250;350", "B;200;310;510")] == [
        *("100", "250", "350", "200", "310", "510")
    ]


@pytest.mark.parametrize(
    "codes", [["4000", "4100", "5000"], ["1-1000", "1-2000", "2-1000"], ["1.", "2.", "3."], ["1", "2", "3"]]
)
def test_a_label_stands_for_the_row_not_its_number(codes):
    names = ["Sales", "Rent", "Wages"]
    found = rows(";;2024", *(f"{c};{n};{i}50" for i, (c, n) in enumerate(zip(codes, names, strict=True), 1)))
    assert found == [("150", "Sales", "2024"), ("250", "Rent", "2024"), ("350", "Wages", "2024")]


@pytest.mark.parametrize("heading", ["% Change", "Change (%)", "Variance %", "YoY", "Increase/(Decrease)"])
def test_changes_in_percent_are_no_amounts(heading):
    found = rows(f"Item;2024;2023;{heading}", "Sales;150;120;25", "Costs;90;120;(25)", "Staff;55;50;10")
    assert [v for v, *_ in found] == ["150", "120", "90", "120", "55", "50"]


def test_a_change_in_money_is_an_amount():
    assert [v for v, *_ in rows("Item;2024;2023;Change", "Sales;150;100;50", "Costs;95;90;5")] == [
        *("150", "100", "50", "95", "90", "5")
    ]


@pytest.mark.parametrize("title", ["Page", ""])
def test_contents_give_no_facts(tmp_path, title):
    contents = table(
        f"||{title}", "Item 1.|Business|4", "Item 2.|Properties|21", "Item 7.|Discussion|38", "|Signatures|90"
    )
    document = page(tmp_path, f"<p>Index to the report</p>{contents}<p>Sales were $5,000.</p>")
    assert [f.value for f in document.facts] == ["5,000"]
    assert document.passed_over == {"page numbers": 4}
    assert document.unread[0].text == "4"


def test_sections_close_at_their_total():
    found = rows(
        ";2024",
        "Current assets;",
        "Cash;1",
        "Total current assets;2",
        "Goodwill;3",
        "Current liabilities;",
        "Payables;4",
        "Total;5",
        "Bonds;6",
    )
    assert [r for _, r, _ in found] == [
        "Current assets | Cash",
        "Current assets | Total current assets",
        "Goodwill",
        "Current liabilities | Payables",
        "Current liabilities | Total",
        "Bonds",
    ]


def test_sections_close_at_the_next_heading_of_their_rank():
    found = rows(
        "A;2024", "ASSETS;", "Current;", "Cash;1", "Fixed;", "Land;2", "LIABILITIES;", "Current;", "Debt;3"
    )
    assert [r for _, r, _ in found] == [
        "ASSETS | Current | Cash",
        "ASSETS | Fixed | Land",
        "LIABILITIES | Current | Debt",
    ]


def test_basic_and_diluted_end_their_section():
    found = rows(";2024", "Earnings per share:;", "Basic;1.15", "Diluted;1.13", "Dividends per share;0.12")
    assert [r for _, r, _ in found] == [
        "Earnings per share: | Basic",
        "Earnings per share: | Diluted",
        "Dividends per share",
    ]


@pytest.mark.parametrize(
    "unit", ["(in millions)", "Dollars in thousands, except per share", "In millions of euros"]
)
def test_titles_and_units_are_captions(unit):
    lines = ["Statement of income;;", f"{unit};;", ";2024;2023", "Sales;5;6", f"{unit};;", "Costs;7;8"]
    reading = read_table(grid_of([line.split(";") for line in lines]))
    assert [p.row_header for p in reading.places] == ["Sales", "Sales", "Costs", "Costs"]
    assert reading.captions == ["Statement of income", unit, unit]


def test_a_title_in_the_table_is_text_above_it(tmp_path):
    document = page(tmp_path, "<p>Note 3</p>" + table("Cash flows (in thousands)|", "|2024", "Paid|5"))
    assert document.facts[0].context.preceding_text == "Note 3 Cash flows (in thousands)"
    assert document.facts[0].row_header == "Paid"


@pytest.mark.parametrize("spaces", ["&nbsp;&nbsp;&nbsp;", "&emsp;"])
def test_spaces_that_do_not_break_move_labels_in(tmp_path, spaces):
    lines = ["|2024", "Assets|", f"{spaces}Cash|1", "Other|2"]
    assert [r for _, r, _ in read(tmp_path, table(*lines))] == ["Assets | Cash", "Other"]


def test_headings_reach_over_the_empty_places_beside_them():
    found = rows(";Three months ended;;Nine months ended;", ";2024;2023;2024;2023", "Sales;1;2;3;4")
    assert [c for *_, c in found] == [
        "Three months ended | 2024",
        "Three months ended | 2023",
        "Nine months ended | 2024",
        "Nine months ended | 2023",
    ]
    assert [c for *_, c in rows(";;Restated", ";2024;2023", "Sales;1;2")] == ["2024", "Restated | 2023"]


def test_two_tables_beside_each_other(tmp_path):
    found = read(
        tmp_path,
        table(
            "Assets|2024|2023|Liabilities|2024|2023",
            "Cash|1|2|Loans|3|4",
            "Land|5|6|Capital|7|8",
            "|||Profit|9|10",
        ),
    )
    assert found[-2:] == [("9", "Profit", "2024"), ("10", "Profit", "2023")]
    assert ("3", "Loans", "2024") in found
    assert ("5", "Land", "2024") in found


def test_words_beside_values_are_no_labels_of_a_second_table():
    found = rows(
        "Hedge;Location;2024;Location;2023",
        "Swaps;Other assets;5;Accrued costs;6",
        "Options;Prepaid;7;Other debt;8",
    )
    assert [(v, r) for v, r, _ in found] == [
        ("5", "Swaps"),
        ("6", "Swaps"),
        ("7", "Options"),
        ("8", "Options"),
    ]


def value(number, name="Cash"):
    return f'<ix:nonFraction name="ifrs-full:{name}" contextRef="c" unitRef="u">{number}</ix:nonFraction>'


def test_years_in_a_table_above_the_values(tmp_path):
    body = table("In thousands|2024|2023") + table(
        f"Cash|{value('1,200')}|{value('900')}", "Debt|50|60", "Tax|1|2"
    )
    found = read(tmp_path, body)
    assert [c for *_, c in found] == ["2024", "2023"] * 3
    apart = read(
        tmp_path, table("In thousands|2024|2023") + "<p>New text</p>" + table("Cash|1,200|900", "A|5|6")
    )
    assert {c for *_, c in apart} == {None}


def one_row(*cells):
    return "<table><tr>" + "".join(f"<td style='width:{w}%'>{c}</td>" for w, c in cells) + "</tr></table>"


def test_one_row_tables_of_different_widths_line_up(tmp_path):
    body = (
        one_row((40, ""), (30, "2024"), (30, "2023"))
        + one_row((100, "<br/>"))
        + one_row((100, "FIXED ASSETS"))
        + one_row((35, "Plant"), (5, ""), (28, value("52,982")), (2, ""), (28, value("63,450")), (2, ""))
        + one_row((60, "Land"), (8, value("700")), (2, ""), (28, value("800")), (2, ""))
    )
    assert read(tmp_path, body) == [
        ("52,982", "FIXED ASSETS | Plant", "2024"),
        ("63,450", "FIXED ASSETS | Plant", "2023"),
        ("700", "FIXED ASSETS | Land", "2024"),
        ("800", "FIXED ASSETS | Land", "2023"),
    ]


def put(top, left, text, style="position:absolute;"):
    return f'<div style="{style}top:{top}pt;left:{left}pt">{text}</div>'


PLACED = (
    put(10, 46, "BALANCE SHEET")
    + put(30, 300, "2024")
    + put(30, 400, "2023")
    + put(50, 46, "Stocks")
    + put(50.4, 300, value("1,310"))
    + put(50, 400, value("987"))
    + put(70, 46, "Cash")
    + put(70, 402, value("12"))
)


@pytest.mark.parametrize("style", ["position:absolute;", ""])
def test_placed_blocks_are_rows_and_columns(tmp_path, style):
    document = page(tmp_path, f"<div>{PLACED.replace('position:absolute;', style)}</div><p>End of it.</p>")
    assert [(f.value, f.row_header, f.column_header) for f in document.facts] == [
        ("1,310", "Stocks", "2024"),
        ("987", "Stocks", "2023"),
        ("12", "Cash", "2023"),
    ]
    assert document.facts[0].context.preceding_text == "BALANCE SHEET"
    assert set(document.gold.values()) == {"Cash"}


def test_places_of_a_style_sheet_and_of_the_page_around(tmp_path):
    sheet = "<style>.a{position:absolute;left:20px} .b{position:absolute; left:400px} .y{top:50px}</style>"
    inner = f'<div class="a y">Stocks</div><div class="b y">{value("1,310")}</div>'
    body = f'<div style="position:absolute;top:0px;left:5px">{inner}</div>'
    assert read(tmp_path, body, sheet) == [("1,310", "Stocks", None)]


def test_a_tagged_number_alone_is_read(tmp_path):
    document = page(tmp_path, f"<div>{value('3,456')}</div><div>17</div>")
    assert [f.value for f in document.facts] == ["3,456"]
    assert document.passed_over == {"numbers without words": 1}


@pytest.mark.parametrize(
    ("label", "values"),
    [
        ("Receivables, net of allowance of $1,204 and $987", ["1,204", "987"]),
        ("Common stock, $0.001 par value; 5,000,000 shares authorized", ["0.001", "5,000,000"]),
        ("4.25% notes due 2031", ["4.25"]),
        ("Level 1 (see Note 12)", []),
        ("Balance at December 31, 2024", []),
    ],
)
def test_numbers_in_labels_are_facts_with_the_label_as_locus(tmp_path, label, values):
    facts = page(tmp_path, table("|2024", "Cash|70", f"{label}|500")).facts
    assert [f.value for f in facts] == ["70", *values, "500"]
    assert {f.row_header for f in facts} == {"Cash", label}
    assert len({f.fact_id for f in facts}) == len(facts)


def test_the_text_of_an_outer_cell_is_above_the_table_in_it(tmp_path):
    inner = table("|2024", "Cash|1,250")
    outer = (
        f"<table><tr><td>First (in millions){inner}Second<br>(in euros){inner}</td></tr>"
        f"<tr><td>Third</td></tr><tr><td>{inner}</td></tr></table>"
    )
    facts = page(tmp_path, outer).facts
    assert [f.context.preceding_text for f in facts] == ["First (in millions)", "Second (in euros)", "Third"]
