"""Kinds of files beside HTML: Markdown, plain text, PDF, formulas of workbooks, and what is refused."""

import openpyxl
import pytest
from abduce.documents.read import read_document
from abduce.retrievers.errors import InputError
from made_pdf import write_pdf


def read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    document = read_document(path)
    return document, [(f.value, f.row_header, f.column_header) for f in document.facts]


@pytest.mark.parametrize(
    "amount", [r"\$1,250", "**1,250**", "_1,250_", "1,250&nbsp;", "&#36;1,250", "`1,250`"]
)
def test_markdown_is_parsed(tmp_path, amount):
    text = f"In thousands\n\n| Item | 2024 |\n|:--|--:|\n| Net<br>sales | {amount} |\n| A\\|B | 7 |\n"
    document, found = read(tmp_path, "r.md", text)
    assert found == [("1,250", "Net sales", "2024"), ("7", "A/B", "2024")]
    assert document.facts[0].context.preceding_text == "In thousands"


@pytest.mark.parametrize("before", ["", "> ", "> > "])
def test_tables_in_quotes_and_html_tables_in_markdown(tmp_path, before):
    pipe = ["| | 2024 |", "|--|--|", "| Cash | 1,250 |"]
    html = [
        "",
        "<table>",
        "<tr><th></th><th>2023</th></tr>",
        "<tr><td>Staff</td><td>412</td></tr>",
        "</table>",
    ]
    text = "\n".join(before + line for line in [*pipe, *html]) + "\n\nDebt was \\$5 million.\n"
    _, found = read(tmp_path, "r.md", text)
    assert found == [("1,250", "Cash", "2024"), ("412", "Staff", "2023"), ("5", None, None)]


def test_grid_tables_are_read_with_cells_over_columns(tmp_path):
    text = (
        "+-----------+-------+-------+\n"
        "| Item      | Year ended    |\n"
        "+-----------+-------+-------+\n"
        "|           | 2024  | 2023  |\n"
        "+===========+=======+=======+\n"
        "| Net       | 1,250 | 1,100 |\n"
        "| **sales** |       |       |\n"
        "+-----------+-------+-------+\n"
    )
    _, found = read(tmp_path, "r.md", text)
    assert found == [("1,250", "Net sales", "Year ended | 2024"), ("1,100", "Net sales", "Year ended | 2023")]


def test_grid_tables_whose_cells_span_rows_are_refused_in_a_line(tmp_path):
    text = "Text\n\n+------+------+\n| Item | 2024 |\n|      +------+\n|      | 5    |\n+------+------+\n"
    with pytest.raises(InputError, match=r"r\.md:5: a grid table has cells that span rows"):
        read(tmp_path, "r.md", text)


def test_a_formula_without_a_value_is_told(tmp_path):
    book = openpyxl.Workbook()
    for row in (["In thousands", 2024], ["Sales", 1250], ["Profit", "=B2*2"], ["Margin", "=B3/B2"]):
        book.active.append(row)
    book.create_sheet("Notes").sheet_state = "hidden"
    book.save(tmp_path / "b.xlsx")
    document = read_document(tmp_path / "b.xlsx")
    assert [(f.value, f.place) for f in document.facts] == [("1250", "Sheet!B2")]
    assert "2 formulas without a stored value (open and save" in document.notes[-1]
    assert "1 hidden sheets" in document.notes[-1]
    assert [(u.text, u.place) for u in document.unread[1:]] == [("=B2*2", "Sheet!B3"), ("=B3/B2", "Sheet!B4")]


def test_a_workbook_of_formulas_alone_says_why_it_has_no_facts(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["Sales", "=1+1"])
    book.save(tmp_path / "b.xlsx")
    with pytest.raises(InputError, match=r"1 formulas without a stored value .*B1"):
        read_document(tmp_path / "b.xlsx")


def test_leading_spaces_of_a_sheet_are_indents(tmp_path):
    book = openpyxl.Workbook()
    for row in (["", 2024], ["Assets"], ["   Cash", 5], ["Other", 6]):
        book.active.append(row)
    book.save(tmp_path / "b.xlsx")
    assert [f.row_header for f in read_document(tmp_path / "b.xlsx").facts] == ["Assets | Cash", "Other"]


def test_two_tables_of_a_sheet_parted_by_an_empty_column(tmp_path):
    book = openpyxl.Workbook()
    for row in (
        ["Assets", 2024, None, "Staff", "North"],
        ["Cash", 5, None, "Clerks", 12],
        ["Land", 6, None, "Nurses", 13],
    ):
        book.active.append(row)
    book.save(tmp_path / "b.xlsx")
    found = [(f.value, f.row_header, f.column_header) for f in read_document(tmp_path / "b.xlsx").facts]
    assert sorted(found) == [
        ("12", "Clerks", "North"),
        ("13", "Nurses", "North"),
        ("5", "Cash", "2024"),
        ("6", "Land", "2024"),
    ]


def test_plain_text_is_passages(tmp_path):
    text = "Our revenue was $5 million\nin 2024.\n\nThe debt is 7% of it.  Nothing else.\n"
    document, _ = read(tmp_path, "r.txt", text)
    assert [(f.value, f.modality) for f in document.facts] == [("5", "text"), ("7", "text")]
    assert document.facts[0].context.text == "Our revenue was $5 million in 2024."
    assert document.facts[1].place == "line 4"


def test_columns_of_plain_text_are_tables(tmp_path):
    text = "Balance sheet\n\n                2024     2023\nAssets:\n"
    text += "  Cash         1,250      900\n  Land            60       70\n"
    _, found = read(tmp_path, "r.txt", text)
    assert found == [
        ("1,250", "Assets: | Cash", "2024"),
        ("900", "Assets: | Cash", "2023"),
        ("60", "Assets: | Land", "2024"),
        ("70", "Assets: | Land", "2023"),
    ]


STATEMENT = [
    (72, 60, "BALANCE SHEET (in thousands)"),
    (330, 90, "2024"),
    (430, 90, "2023"),
    (72, 110, "Current assets"),
    (84, 125, "Cash and equivalents"),
    (318, 125, "1,250"),
    (424, 125, "(900)"),
    (84, 140, "Stocks"),
    (336, 140, "60"),
    (442, 140, "70"),
    (72, 200, "We owe $5 million to banks."),
]


def test_tables_and_text_of_a_pdf(tmp_path):
    document = read_document(write_pdf(tmp_path / "r.pdf", [STATEMENT, []]))
    assert [(f.value, f.row_header, f.column_header) for f in document.facts] == [
        ("1,250", "Current assets | Cash and equivalents", "2024"),
        ("(900)", "Current assets | Cash and equivalents", "2023"),
        ("60", "Current assets | Stocks", "2024"),
        ("70", "Current assets | Stocks", "2023"),
        ("5", None, None),
    ]
    assert document.facts[0].context.preceding_text == "BALANCE SHEET (in thousands)"
    page, box = document.facts[0].place.split(", box ")
    assert page == "page 1"
    x0, top, x1, bottom = map(int, box.split())
    assert (x0, x1) == (318, 348)
    assert 120 < top < bottom < 140
    assert "1 scanned pages (no text)" in document.notes[-1]
    assert document.unread[-1].place == "page 2"


def test_a_scanned_and_a_broken_pdf_are_refused_in_a_line(tmp_path):
    with pytest.raises(InputError, match=r"no text on any of its 2 pages"):
        read_document(write_pdf(tmp_path / "s.pdf", [[], []]))
    whole = write_pdf(tmp_path / "b.pdf", [STATEMENT]).read_bytes()
    (tmp_path / "b.pdf").write_bytes(whole[:300])
    with pytest.raises(InputError) as caught:
        read_document(tmp_path / "b.pdf")
    assert "b.pdf" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("r.docx", "web page"),
        ("r.xls", ".xlsx"),
        ("r.json", ".jsonl"),
        ("r.zip", "unpack"),
        ("r.png", "a document with text"),
        ("r.foo", "is none of .csv"),
    ],
)
def test_a_refusal_names_what_comes_nearest(tmp_path, name, nearest):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(InputError, match=nearest):
        read_document(tmp_path / name)


def test_labels_of_a_pdf_go_on_over_lines_and_tables_over_pages(tmp_path):
    first = [
        (330, 60, "2024"),
        (72, 80, "A label that goes on"),
        (72, 92, "in a second line"),
        (336, 80, "60"),
        (72, 120, "Stocks"),
        (336, 120, "70"),
        (72, 150, "Plant"),
        (336, 150, "80"),
        (300, 760, "12"),
    ]
    second = [(72, 60, "Land"), (336, 60, "90"), (72, 90, "Total"), (330, 90, "300")]
    document = read_document(write_pdf(tmp_path / "r.pdf", [first, second]))
    assert [(f.value, f.row_header, f.column_header) for f in document.facts] == [
        ("60", "A label that goes on in a second line", "2024"),
        ("70", "Stocks", "2024"),
        ("80", "Plant", "2024"),
        ("90", "Land", "2024"),
        ("300", "Total", "2024"),
    ]


def test_tables_side_by_side_in_a_pdf(tmp_path):
    rows = [("Assets", "2024", "Liabilities", "2024"), ("Cash", "640", "Payables", "100")]
    rows += [("Plant", "200", "Capital", "240"), ("Total", "840", "Total", "340")]
    pieces = [
        (x, 60 + 18 * r, text)
        for r, row in enumerate(rows)
        for x, text in zip((72, 180, 215, 330), row, strict=True)
    ]
    facts = read_document(write_pdf(tmp_path / "r.pdf", [pieces])).facts
    assert [(f.value, f.row_header) for f in facts] == [
        ("640", "Cash"),
        ("200", "Plant"),
        ("840", "Total"),
        ("100", "Payables"),
        ("240", "Capital"),
        ("340", "Total"),
    ]
