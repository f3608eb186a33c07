"""Tables as people export them: periods below groups, units in the corner, notes, accounting formats."""

import pytest
from abduce.documents.formats import show_number
from abduce.documents.read import read_document


def read(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    return [(f.row_header, f.column_header, f.value) for f in read_document(path).facts]


@pytest.mark.parametrize(
    ("unit", "first", "second"),
    [("£m", "Group", "Company"), ("$'000", "Group", "Company"), ("Income statement", "Actual", "Budget")],
)
def test_years_below_groups_are_headings(tmp_path, unit, first, second):
    head = f"Acme plc,{first},{first},{second},{second}\n{unit},2024,2023,2024,2023\n"
    assert read(tmp_path, head + "Revenue,1350,1200,300,200\n") == [
        ("Revenue", f"{first} | 2024", "1350"),
        ("Revenue", f"{first} | 2023", "1200"),
        ("Revenue", f"{second} | 2024", "300"),
        ("Revenue", f"{second} | 2023", "200"),
    ]


@pytest.mark.parametrize("unit", ["$'000", "£m", "€ million", "EUR m", "in £000"])
def test_a_second_heading_row_in_the_middle_of_a_sheet(tmp_path, unit):
    found = read(tmp_path, f"Income,2024,2023\nRevenue,1350,1200\n{unit},2025,2024\nCash,5,6\n")
    assert found[2:] == [("Cash", "2025", "5"), ("Cash", "2024", "6")]


def test_years_far_apart_head_columns_where_the_corner_says_what_the_rows_are(tmp_path):
    assert read(tmp_path, "Country,2024,2010\nFrance,1350,1200\n") == [
        ("France", "2024", "1350"),
        ("France", "2010", "1200"),
    ]


def test_a_column_of_notes_is_no_decimal_comma(tmp_path):
    text = (
        'Item,2024,2023,Note\nRevenue,"1,234","1,100","2,3"\nCost,"900","850","5,6"\nTax,(30),(20),"7,12"\n'
    )
    found = read(tmp_path, text)
    assert [value for _, _, value in found] == ["1,234", "1,100", "900", "850", "(30)", "(20)"]


def test_numbers_with_exponents_are_written_out(tmp_path):
    assert read(tmp_path, "Item,A,B\nx,1.5e3,2e-05\ny,3,4\nz,1E5,-1.25E+06\n") == [
        ("x", "A", "1500"),
        ("x", "B", "0.00002"),
        ("y", "A", "3"),
        ("y", "B", "4"),
        ("z", "B", "-1250000"),
    ]


def test_a_decimal_comma_behind_four_digits_or_a_nought_is_certain(tmp_path):
    text = "Item;2024;2023\nRevenue;1234,5;1100,2\nEPS;0,951;1,025\n"
    assert read(tmp_path, text) == [
        ("Revenue", "2024", "1234,5"),
        ("Revenue", "2023", "1100,2"),
        ("EPS", "2024", "0,951"),
        ("EPS", "2023", "1,025"),
    ]


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ('"$"#,##0_);\\("$"#,##0\\)', ("$1,500", "($1,500)")),
        ('_("$"* #,##0_)_("$"* \\(#,##0\\)_("$"* "-"_)_(@_)', ("$1,500", "-$1,500")),
        ("#,##0.0_);\\(#,##0.0\\)", ("1,500.0", "(1,500.0)")),
        ('#,##0;"("#,##0")"', ("1,500", "(1,500)")),
        ('#,##0"k"', ("1,500 k", "-1,500 k")),
        ('#,##0" pieces"', ("1,500", "-1,500")),
        ('#,##0.0" years"', ("1,500.0 years", "-1,500.0 years")),
        ('#,##0" CR";#,##0" DR"', ("1,500 CR", "-1,500 DR")),
        ("[$CHF] #,##0", ("CHF 1,500", "CHF -1,500")),
    ],
)
def test_quoted_and_escaped_signs_of_a_format_are_shown(form, shown):
    assert (show_number(1500, form), show_number(-1500, form)) == shown


def test_a_label_that_spans_rows_is_followed_by_theirs(tmp_path):
    path = tmp_path / "t.html"
    path.write_text(
        "<table><tr><td></td><td></td><td>2024</td></tr>"
        "<tr><td rowspan=2>Operating</td><td>Fixed</td><td>10</td></tr>"
        "<tr><td>Variable</td><td>11</td></tr><tr><td>Finance</td><td></td><td>12</td></tr></table>",
        encoding="utf-8",
    )
    assert [(f.row_header, f.value) for f in read_document(path).facts] == [
        ("Operating | Fixed", "10"),
        ("Operating | Variable", "11"),
        ("Finance", "12"),
    ]
