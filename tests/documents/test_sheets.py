"""Workbooks: every value of a sheet, each cell looked at once, and nothing loaded that would be too much."""

import zipfile

import openpyxl
import pytest
from abduce.documents import bookcheck
from abduce.documents.read import read_document
from abduce.retrievers.errors import InputError
from openpyxl.reader.excel import ExcelReader


def book(path, rows, **sheets):
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    for title, more in sheets.items():
        sheet = made.create_sheet(title)
        for row in more:
            sheet.append(row)
    made.save(path)
    return path


def read(path):
    return [(f.value, f.row_header, f.column_header) for f in read_document(path).facts]


def csv(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    return path


def rewritten(path, change):
    """The workbook with its parts changed: ``change(name, data)`` gives a part's new content."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, change(name, data))
    return path


@pytest.fixture
def never_loaded(monkeypatch):
    """Loading the workbook would fail the test."""

    def load(*_, **__):
        raise AssertionError("the workbook was loaded")

    monkeypatch.setattr(ExcelReader, "read", load)


def test_every_value_of_a_sheet_with_its_headers(tmp_path):
    rows = [
        ["", "2024", "2023"],
        *([f"line {'ab'[r % 2]}{chr(99 + r)}", 1000 + r, 9000 - r] for r in range(20)),
    ]
    facts = read_document(book(tmp_path / "b.xlsx", rows)).facts
    found = {(f.row_header, f.column_header): f.value for f in facts}
    assert found == {
        (row[0], year): str(value) for row in rows[1:] for year, value in (("2024", row[1]), ("2023", row[2]))
    }


def test_a_sheets_width_is_worked_out_a_fixed_number_of_times(tmp_path, monkeypatch):
    """openpyxl works it out over all cells, so that asking for every row is quadratic."""
    sheet = openpyxl.worksheet.worksheet.Worksheet
    asked = []
    plain = sheet.max_column.fget
    monkeypatch.setattr(sheet, "max_column", property(lambda self: asked.append(1) or plain(self)))
    passes = []
    walk = sheet.iter_rows
    monkeypatch.setattr(sheet, "iter_rows", lambda self, *a, **k: passes.append(1) or walk(self, *a, **k))
    counts = []
    for n in (5, 200):
        path = book(tmp_path / f"{n}.xlsx", [["", "2024"], *(["Cash", i + 2] for i in range(n))])
        asked.clear()
        passes.clear()
        assert len(read_document(path).facts) == n
        counts.append((len(asked), len(passes)))
    assert counts[0] == counts[1]
    assert counts[0][1] == 0  # they would make a cell for every place


def test_a_packed_bomb_is_refused_before_it_is_loaded(tmp_path, never_loaded):
    path = tmp_path / "b.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 50_000_000)
    with pytest.raises(InputError, match="zip bomb"):
        read_document(path)


def test_too_many_cells_are_refused_before_they_are_loaded(tmp_path, never_loaded, monkeypatch):
    path = book(tmp_path / "b.xlsx", [["Cash", i] for i in range(30)], more=[["Debt", i] for i in range(30)])
    monkeypatch.setattr(bookcheck, "MAX_BOOK_CELLS", 119)
    with pytest.raises(InputError, match="more than 119 cells") as caught:
        read_document(path)
    assert str(path) in str(caught.value)
    monkeypatch.setattr(bookcheck, "MAX_BOOK_CELLS", 120)
    with pytest.raises(AssertionError, match="was loaded"):
        read_document(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    "bomb",
    [
        '<mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells>',
        '<hyperlinks><hyperlink ref="$A$1:$XFD$1048576" location="x"/></hyperlinks>',
    ],
)
def test_ranges_count_as_the_cells_that_they_become(tmp_path, never_loaded, bomb, encoding):
    path = book(tmp_path / "b.xlsx", [["", "2024"], ["Cash", 5]])

    def change(name, data):
        if name != "xl/worksheets/sheet1.xml":
            return data
        text = data.decode().replace("</sheetData>", "</sheetData>" + bomb)
        return (
            text.encode(encoding) if encoding == "utf-8" else f'<?xml version="1.0"?>{text}'.encode(encoding)
        )

    with pytest.raises(InputError, match="cells"):
        read_document(rewritten(path, change))


def test_styles_without_end_are_refused(tmp_path, never_loaded, monkeypatch):
    monkeypatch.setattr(bookcheck, "MAX_OTHERS", 2000)
    path = book(tmp_path / "b.xlsx", [["", "2024"], ["Cash", 5]])

    def change(name, data):
        return data.replace(b"</cellXfs>", b"<xf/>" * 3000 + b"</cellXfs>") if "styles" in name else data

    with pytest.raises(InputError, match="beside its cells"):
        read_document(rewritten(path, change))


def test_entities_in_a_part_are_refused(tmp_path, never_loaded):
    path = book(tmp_path / "b.xlsx", [["", "2024"], ["Cash", 5]])
    entity = b'<!DOCTYPE x [<!ENTITY a "ha">]>'

    def change(name, data):
        return (
            b"<?xml version='1.0'?><!--" + b" " * 70_000 + b"-->" + entity + data
            if "sheet1" in name
            else data
        )

    with pytest.raises(InputError, match="document type declaration"):
        read_document(rewritten(path, change))


def test_a_part_that_is_no_xml_or_lies_about_its_size(tmp_path):
    path = book(tmp_path / "b.xlsx", [["", "2024"], ["Cash", 5]])
    rewritten(path, lambda name, data: b"<worksheet>" if "sheet1" in name else data)
    with pytest.raises(InputError, match="cannot be read as a workbook"):
        read_document(path)
    data = bytearray(
        book(tmp_path / "c.xlsx", [["", "2024"], *[["Cash", i] for i in range(200)]]).read_bytes()
    )
    at = data.rindex(b"PK\x01\x02", 0, data.rindex(b"xl/worksheets/sheet1.xml"))
    data[at + 24 : at + 28] = (50).to_bytes(4, "little")  # the size after unpacking
    (tmp_path / "c.xlsx").write_bytes(data)
    with pytest.raises(InputError, match="workbook"):
        read_document(tmp_path / "c.xlsx")


def test_merged_headings_and_labels_hold_for_what_they_cover(tmp_path):
    made = openpyxl.Workbook()
    sheet = made.active
    for row in (
        ["", 2024, "", 2023, ""],
        ["", "Amount", "% of sales", "Amount", "% of sales"],
        ["North", 5, 6, 7, 8],
        ["", 9, 10, 11, 12],
    ):
        sheet.append(row)
    for merged in ("B1:C1", "D1:E1", "A3:A4"):
        sheet.merge_cells(merged)
    made.save(tmp_path / "b.xlsx")
    columns = ["2024 | Amount", "2024 | % of sales", "2023 | Amount", "2023 | % of sales"]
    assert read(tmp_path / "b.xlsx") == [(str(5 + i), "North", columns[i % 4]) for i in range(8)]


def test_merged_cells_beside_hidden_columns_and_rows(tmp_path):
    made = openpyxl.Workbook()
    sheet = made.active
    for row in (["", "2024", "", "", "2023"], ["", "a", "b", "c", "d"], ["X", 1, 2, 3, 4], ["Y", 5, 6, 7, 8]):
        sheet.append(row)
    sheet["A5"] = "Z"
    sheet["E5"] = 9
    sheet.merge_cells("B1:D1")
    for letter in "BC":
        sheet.column_dimensions[letter].hidden = True
    sheet.column_dimensions.group("B", "C", hidden=True)
    sheet.row_dimensions[4].hidden = True
    made.save(tmp_path / "b.xlsx")
    assert read(tmp_path / "b.xlsx") == [
        ("3", "X", "2024 | c"),
        ("4", "X", "2023 | d"),
        ("9", "Z", "2023 | d"),
    ]


def test_a_row_that_a_merged_label_reaches_into_parts_no_table(tmp_path):
    made = openpyxl.Workbook()
    sheet = made.active
    for row in (["", "2024"], ["North", 5], [], ["", 7], [], ["Other", 8]):
        sheet.append(row)
    sheet.merge_cells("A2:A4")
    made.save(tmp_path / "b.xlsx")
    assert read(tmp_path / "b.xlsx") == [
        ("5", "North", "2024"),
        ("7", "North", "2024"),
        ("8", "Other", "2024"),
    ]


def test_a_lone_number_is_a_value_and_a_lone_text_is_not(tmp_path):
    text = "Annual report\n2024\n\nRevenue,100\n\n,500\n\n12/31/2024\n\nCash,7\n"
    document = read_document(csv(tmp_path, text))
    assert [(f.value, f.row_header) for f in document.facts] == [
        ("100", "Revenue"),
        ("500", "Total"),
        ("7", "Cash"),
    ]
    assert [f.context.preceding_text for f in document.facts] == ["Annual report 2024", "", "12/31/2024"]


def test_a_sheet_of_one_column(tmp_path):
    assert read(csv(tmp_path, "Amount\n100\n2015\n")) == [
        ("100", "Total", "Amount"),
        ("2015", "Total", "Amount"),
    ]
    assert read(csv(tmp_path, "100\n200\n")) == [("100", "Total", None), ("200", "Total", None)]


def test_a_sheet_of_few_cells_far_apart_stays_small(tmp_path, monkeypatch):
    made = openpyxl.Workbook()
    sheet = made.active
    sheet["A1"], sheet["B1"] = "Cash", 5
    sheet.cell(1_000_000, 16_000).value = 7
    made.save(tmp_path / "b.xlsx")
    kept = []
    load = ExcelReader.read
    monkeypatch.setattr(ExcelReader, "read", lambda reader: kept.append(reader) or load(reader))
    assert read(tmp_path / "b.xlsx") == [("5", "Cash", None), ("7", "Total", None)]
    assert len(kept[0].wb.active._cells) == 3


@pytest.mark.parametrize("form", ["#,##0", "$#,##0", "0.0"])
def test_formatted_numbers_like_years_are_values(tmp_path, form):
    path = tmp_path / "b.xlsx"
    made = openpyxl.Workbook()
    for row in (["Item", 2024, 2023], ["Staff", 2015, 1980], ["", 1999, 2001]):
        made.active.append(row)
    for row in made.active["B2:C3"]:
        for cell in row:
            cell.number_format = form
    made.save(path)
    found = read_document(path).facts
    assert [float(f.value.replace(",", "")) for f in found] == [2015, 1980, 1999, 2001]
    assert [f.column_header for f in found] == ["2024", "2023"] * 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Posten;2024\nErlöse;1.234,5\nKosten;1.100\n", [("1.234,5", "Erlöse"), ("1.100", "Kosten")]),
        ("Erlöse;12,5\nKosten;7,25\nX;3,10\n", [("12,5", "Erlöse"), ("7,25", "Kosten"), ("3,10", "X")]),
        ("Post,2024\nSales,1 234\nCosts,(12 345)\n", [("1 234", "Sales"), ("(12 345)", "Costs")]),
        ("Owner's, the\nCash,5\nPartner's, other\nDebt,6\n", [("5", "Cash"), ("6", "Debt")]),
        ('Item, "A, B"\nCash, 5\n', [("5", "Cash")]),
    ],
)
def test_how_a_text_parts_its_cells_and_figures(tmp_path, text, found):
    assert [(value, row) for value, row, _ in read(csv(tmp_path, text))] == found
