"""Header chains of table values: by hand, one habit of tables a test."""

from abduce.documents.headers import UNLABELLED, locate
from abduce.documents.htmltable import table_grid
from lxml import html
from made_grid import grid_of


def read(markup):
    grid = table_grid(html.fromstring(f"<table>{markup}</table>"))
    return {place.cell.text: (place.row_header, place.column_header) for place in locate(grid)}


def rows(*lines):
    return {p.cell.text: (p.row_header, p.column_header) for p in locate(grid_of([list(r) for r in lines]))}


def test_a_multi_row_header_with_spans_and_a_units_row():
    found = read(
        "<tr><td></td><td colspan=4>Year Ended December 31,</td></tr>"
        "<tr><td>(in millions)</td><td colspan=2>2024</td><td colspan=2>2023</td></tr>"
        "<tr><td>Revenue</td><td>$</td><td>10</td><td>$</td><td>9</td></tr>"
    )
    assert found == {
        "10": ("Revenue", "Year Ended December 31, | 2024"),
        "9": ("Revenue", "Year Ended December 31, | 2023"),
    }


def test_a_units_row_above_the_values_is_a_heading():
    found = read(
        "<tr><td></td><td>2024</td></tr><tr><td></td><td>(In thousands)</td></tr>"
        "<tr><td>Cash</td><td>5</td></tr>"
    )
    assert found["5"] == ("Cash", "2024 | (In thousands)")


def test_sections_by_indent_close_again():
    def pad(n):
        return f'style="padding:2px 1pt 2px {n}pt"'

    found = read(
        "<tr><td></td><td>2024</td></tr>"
        f"<tr><td {pad(1)}>ASSETS:</td></tr><tr><td {pad(1)}>Current assets:</td></tr>"
        f"<tr><td {pad(19)}>Cash</td><td>1</td></tr>"
        f"<tr><td {pad(37)}>Total current assets</td><td>2</td></tr>"
        f"<tr><td {pad(1)}>Total assets</td><td>3</td></tr>"
    )
    assert found["1"][0] == "Current assets: | Cash"
    assert found["2"][0] == "Current assets: | Total current assets"
    assert found["3"][0] == "Total assets"


def test_sections_without_indent_hold_until_the_next():
    found = rows(
        ["", "2024"],
        ["Assets", ""],
        ["Current", ""],
        ["Cash", "1"],
        ["Liabilities", ""],
        ["Debt", "2"],
    )
    assert found["1"][0] == "Assets | Current | Cash"
    assert found["2"][0] == "Liabilities | Debt"


def test_headings_in_the_middle_replace_those_above():
    found = rows(
        ["", "2024", "2023"],
        ["Cash", "1", "2"],
        ["", "Level 1", "Level 2"],
        ["Bonds", "3", "4"],
    )
    assert found["2"] == ("Cash", "2023")
    assert found["4"] == ("Bonds", "Level 2")


def test_a_row_without_a_label_is_a_total_and_says_so():
    grid = grid_of([["", "2024"], ["Cash", "1"], ["", "9"]])
    last = list(locate(grid))[-1]
    assert (last.row_header, last.labelled) == (UNLABELLED, False)


def test_a_row_label_that_spans_rows_and_years_as_labels():
    found = read(
        "<tr><td>Segment</td><td>Year</td><td>Sales</td></tr>"
        "<tr><td rowspan=2>Europe</td><td>FY2024</td><td>7</td></tr><tr><td>FY2023</td><td>8</td></tr>"
    )
    assert found["7"] == ("Europe | FY2024", "Sales")
    assert found["8"] == ("Europe | FY2023", "Sales")
    assert rows(["Due in", "Amount"], ["2026", "5"])["5"] == ("2026", "Amount")


def test_dashes_and_signs_are_neither_values_nor_headings():
    found = read(
        "<tr><td></td><td colspan=3>2024</td></tr>"
        "<tr><td>Gains</td><td>$</td><td>(12</td><td>)</td></tr>"
        "<tr><td>Losses</td><td>$</td><td>—</td><td></td></tr><tr><td>Net</td><td></td><td>3</td><td>%</td></tr>"
    )
    assert found == {"(12": ("Gains", "2024"), "3": ("Net", "2024")}


def test_hidden_rows_and_footnote_marks():
    found = read(
        "<tr><td></td><td>2024</td></tr><tr style='display: none'><td>Ghost</td><td>66</td></tr>"
        "<tr><td>Other<sup>(1)</sup></td><td>12<sup>(a)</sup></td></tr>"
    )
    assert found == {"12(a)": ("Other(1)", "2024")}


def test_a_number_split_over_spans_is_one():
    found = read("<tr><td>Cash</td><td><span>1,2</span><span>34</span></td></tr>")
    assert found == {"1,234": ("Cash", "")}


def test_a_table_without_any_header():
    assert rows(["1", "2"], ["3", "4"])["2"] == (UNLABELLED, "")


def test_a_number_split_over_cells_is_one():
    found = read(
        "<tr><td></td><td colspan=3>2024</td></tr><tr><td>Loss</td><td>(1</td><td>,234</td><td>)</td></tr>"
        "<tr><td>Gain</td><td>$ 12</td><td>,345,678)</td></tr>"
        "<tr><td>Apart</td><td>1</td><td></td><td>,500</td></tr>"
    )
    assert found == {
        "(1,234": ("Loss", "2024"),
        "$ 12,345,678)": ("Gain", "2024"),
        "1": ("Apart", "2024"),
    }


def test_a_tagged_figure_that_no_style_explains_is_read():
    from abduce.documents.datatypes import guess_cell

    assert guess_cell("Revenue", "2024", False, False, "1.234.567") is None
