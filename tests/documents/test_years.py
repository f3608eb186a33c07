"""Bare numbers between 1900 and 2099: headings, dates of an item, or values, by their place."""

import pytest
from abduce.documents.headers import locate
from abduce.documents.htmltable import table_grid
from lxml import html
from made_grid import grid_of


def rows(*lines):
    return [
        (p.cell.text, p.row_header, p.column_header) for p in locate(grid_of([x.split(";") for x in lines]))
    ]


def test_a_labelled_row_below_the_headings_holds_values():
    assert rows("Item;North;South", "Revenue;2015;1980", "Cash;500;600", "Units;1999;700") == [
        ("2015", "Revenue", "North"),
        ("1980", "Revenue", "South"),
        ("500", "Cash", "North"),
        ("600", "Cash", "South"),
        ("1999", "Units", "North"),
        ("700", "Units", "South"),
    ]


def test_a_year_beside_a_number_is_a_value():
    grid = table_grid(html.fromstring("<table><tr><td>Debt<td>$ 2015<td>1980</table>"))
    assert [(p.cell.text, p.row_header) for p in locate(grid)] == [("$ 2015", "Debt"), ("1980", "Debt")]


def test_values_under_years_stay_values_after_other_values():
    assert rows(";2024;2023", "Cash;1;2", "Staff;2015;2014", "Debt;3;4")[2:] == [
        ("2015", "Staff", "2024"),
        ("2014", "Staff", "2023"),
        ("3", "Debt", "2024"),
        ("4", "Debt", "2023"),
    ]


@pytest.mark.parametrize(
    "label",
    [
        "(in millions)",
        "Dollars in thousands",
        "Millions",
        "As of December 31,",
        "December 31,",
        "Fiscal year",
        "Years ended June 30,",
        "Three months ended",
        "",
    ],
)
def test_a_label_that_heads_years_is_none_of_the_row(label):
    found = rows("Item;North;South", f"{label};2024;2023", "Cash;7;8", f"{label};2022;2021", "Debt;5;6")
    assert found == [
        ("7", "Cash", "North | 2024"),
        ("8", "Cash", "South | 2023"),
        ("5", "Debt", "2022"),
        ("6", "Debt", "2021"),
    ]


@pytest.mark.parametrize(
    "above", [[], [";Year ended December 31,;"], [";Year ended;Year ended"], ["(in millions);All;All"]]
)
def test_years_that_head_the_labels_too_stand_before_the_data(above):
    if above and "All" in above[0]:
        above = ["(in millions);Fiscal year ended;Fiscal year ended"]
    found = rows(*above, "Segment;2024;2023", "Europe;5;2016")
    assert [(value, header.rpartition(" | ")[2]) for value, _, header in found] == [
        ("5", "2024"),
        ("2016", "2023"),
    ]


def test_one_heading_over_several_years_is_not_all_their_headings():
    grid = table_grid(
        html.fromstring(
            "<table><tr><td><td colspan=2>Europe<tr><td>Segment<td>2024<td>2023<tr><td>A<td>1<td>2</table>"
        )
    )
    assert [p.column_header for p in locate(grid)] == ["Europe | 2024", "Europe | 2023"]


def test_headings_that_are_repeated_stay_headings():
    assert rows("Assets;2024;2023", "Cash;1;2", "Liabilities;2024;2023", "Debt;3;4")[2:] == [
        ("3", "Debt", "2024"),
        ("4", "Debt", "2023"),
    ]


def test_a_label_over_two_rows_of_headings():
    grid = table_grid(
        html.fromstring(
            "<table><tr><td rowspan=2>Area<td>North<td>South<tr><td>2024<td>2023<tr><td>A<td>1<td>2</table>"
        )
    )
    assert [(p.row_header, p.column_header) for p in locate(grid)] == [
        ("A", "North | 2024"),
        ("A", "South | 2023"),
    ]


@pytest.mark.parametrize(
    "heading", ["Maturity", "Maturity date", "Year", "Fiscal year", "Expires", "Due", "Since"]
)
def test_a_column_of_dates_holds_no_values_and_makes_no_section(heading):
    assert rows(
        f"Notes;{heading};Amount", "Senior;2027;500", "Junior;2031;1999", "Zero;2032;-", "Last;2033;4"
    ) == [
        ("500", "Senior", "Amount"),
        ("1999", "Junior", "Amount"),
        ("4", "Last", "Amount"),
    ]


@pytest.mark.parametrize(
    "heading", ["Prior year", "Due within a year", "Payments", "Year ended December 31,"]
)
def test_a_column_of_amounts_is_no_column_of_dates(heading):
    assert ("1999", "Lease", heading) in rows(f"Item;{heading};Other", "Rent;5;6", "Lease;1999;7")


def test_a_table_of_numbers_alone():
    assert rows("2024;2023", "5;6", "2015;2016") == [
        ("5", "Total", "2024"),
        ("6", "Total", "2023"),
        ("2015", "Total", "2024"),
        ("2016", "Total", "2023"),
    ]


@pytest.mark.parametrize("labelled", [True, False])
def test_no_number_of_a_long_sheet_is_lost(labelled):
    lines = ["Item;a;b;c;d"] if labelled else ["a;b;c;d"]
    for start in range(1000, 3000, 4):
        label = [f"row {chr(97 + start % 26)}"] if labelled else []
        lines.append(";".join([*label, *map(str, range(start, start + 4))]))
    assert [int(value) for value, _, _ in rows(*lines)] == list(range(1000, 3000))


def test_the_first_row_of_a_sheet_without_headings():
    assert rows("Revenue;2015;1980", "Cash;500;600")[:2] == [("2015", "Revenue", ""), ("1980", "Revenue", "")]
    assert rows("Population;2020;2010;2000", "Town;5;6;7")[0] == ("5", "Town", "2020")
