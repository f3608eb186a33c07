import csv
import io
import re

import pytest
from abduce.cli.pages.tables import drawn
from abduce.eval.tables import Table, TableCell, number, p_value
from rich.console import Console

TABLE = Table(
    ["row", "n", "R@1", "Acc"],
    [
        [
            "FHS_1 | [x]",
            2144,
            TableCell(0.18512, low=0.17, high=0.2, reference=0.185, mark="+", best=True),
            None,
        ],
        ["- 50% & more", 2144, TableCell(0.1, sd=0.012, mark="-"), TableCell(1.0)],
    ],
    title="Table 4 *",
    notes=["marks: p < .05"],
)


def test_numbers_as_papers_print_them() -> None:
    shown = [number(v) for v in (0.2566, 1.0, 0.0, -0.0001, -0.0123, None, float("nan"), 12.5)]
    assert shown == [".257", "1.000", ".000", ".000", "-.012", "", "", "12.500"]
    assert [number(v, None) for v in (2144, 3.25)] == ["2,144", "3.25"]
    assert (number(1234.56, 1), number(0.5, 0)) == ("1,234.6", "0")
    assert (p_value(0.0004), p_value(0.03)) == ("<.001", ".030")


def spaces_apart(text: str) -> str:
    return re.sub(r" +", " ", re.sub("-+", "-", text))


def test_markdown() -> None:
    assert spaces_apart(TABLE.markdown()) == (
        "**Table 4 \\***\n\n"
        "| row | n | R@1 | Acc |\n"
        "|:-|-:|-:|-:|\n"
        "| FHS_1 \\| [x] | 2,144 | **.185** [.170, .200] ▲ (.185) | |\n"
        "| - 50% & more | 2,144 | .100±.012 ▼ | 1.000 |\n"
        "\nmarks: p < .05\n"
    )
    assert str(TABLE) == TABLE.markdown()


def test_latex_escapes_and_is_booktabs() -> None:
    text = spaces_apart(TABLE.latex())
    assert "FHS\\_1 | [x] & 2,144 & \\textbf{.185} [.170, .200]$^{\\uparrow}$ (.185) & \\\\" in text
    assert "- 50\\% \\& more & 2,144 & .100$\\pm$.012$^{\\downarrow}$ & 1.000 \\\\" in text
    assert "\\caption{Table 4 * marks: p $<$ .05}" in text
    assert [text.count(f"\\{rule}rule\n") for rule in ("top", "mid", "bottom")] == [1, 1, 1]


def test_a_table_without_rows_is_laid_out() -> None:
    empty = Table(["row", "n"], [])
    assert "row" in empty.markdown()
    assert "\\bottomrule" in empty.latex()
    assert "<table" in empty.html()


def test_csv_has_one_figure_a_column_in_full_precision() -> None:
    rows = list(csv.DictReader(io.StringIO(TABLE.csv())))
    assert rows[0]["R@1"] == "0.18512"
    assert rows[0]["R@1 reference"] == "0.185"
    assert rows[0]["R@1 mark"] == "+"
    assert rows[1]["R@1 sd"] == "0.012"
    assert rows[1]["R@1 low"] == rows[0]["Acc"] == ""
    assert "Acc reference" not in rows[0]
    assert rows[0]["row"] == "FHS_1 | [x]"


def test_terminal_shows_names_with_brackets_as_they_are() -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(drawn(TABLE))
    text = console.export_text()
    assert "FHS_1 | [x]" in text
    assert ".185 [.170, .200]▲ (.185)" in text
    assert "marks: p < .05" in text


def test_a_narrow_terminal_loses_nothing() -> None:
    wide = Table(
        ["row", *(f"R@{k}" for k in range(6))],
        [["a very long name of a row", *[TableCell(0.5, low=0.4, high=0.6)] * 6]],
    )
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(drawn(wide))
    text = console.export_text()
    assert text.count(".500") == text.count(".600]") == 6
    assert all(word in text for word in ("very", "long", "name", "R@5"))
    assert max(map(len, text.splitlines())) <= 80


def test_a_reference_goes_below_its_value_before_a_name_is_wrapped() -> None:
    table = Table(["row", *"abcd"], [["a name of a row", *[TableCell(0.5, reference=0.4, mark="+")] * 4]])

    def lines(width: int) -> list[str]:
        console = Console(width=width, record=True, file=io.StringIO())
        console.print(drawn(table))
        return [" ".join(line.split()) for line in console.export_text().splitlines()]

    assert "a name of a row" + " .500▲ (.400)" * 4 in lines(80)
    narrow = lines(50)
    assert "a name of a row" + " .500▲" * 4 in narrow
    assert "(.400) (.400) (.400) (.400)" in narrow


def test_html_is_escaped() -> None:
    text = Table(["a"], [["<b>"]])._repr_html_()
    assert "&lt;b&gt;" in text
    assert "<b>" not in text


def test_ragged_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="2 cells under 1"):
        Table(["a"], [["x", "y"]])


def test_no_column_is_lost_on_a_narrow_terminal():
    columns = ["row", *(f"column{i}" for i in range(14))]
    rows = [["a method with a long name", *(0.123 for _ in range(14))]]
    stream = io.StringIO()
    Console(file=stream, width=60).print(drawn(Table(columns, rows, title="wide", notes=["a note"])))
    text = stream.getvalue()
    assert all(name in text.split() for name in columns[1:])
    assert max(map(len, text.splitlines())) <= 60
    assert text.count("wide") == 1
    assert text.count("a note") == 1
