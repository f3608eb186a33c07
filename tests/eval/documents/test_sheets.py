"""Workbooks: every value of a sheet, each cell looked at once, and nothing loaded that would be too much."""

import zipfile

import pytest
from abduce.eval.documents import bookcheck
from abduce.eval.documents.read import read_document
from abduce.retrievers.errors import InputError

openpyxl = pytest.importorskip("openpyxl")


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

    monkeypatch.setattr(openpyxl, "load_workbook", load)


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
    assert counts[0][1] == 1


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
