"""Documents of every kind to facts, and what is wrong with bad ones."""

import gzip
import subprocess
import sys
import zipfile

import pytest
from abduce.documents import grid, html, source
from abduce.documents import markup as assemble
from abduce.documents.read import read_document
from abduce.retrievers.errors import InputError

FILING = """<?xml version="1.0" encoding="utf-8"?>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"
 xmlns:us-gaap="http://fasb.org/us-gaap/2024"><head><title>x 99</title></head><body>
<div style="display:none"><ix:header><ix:hidden>
<ix:nonNumeric name="dei:EntityRegistrantName" contextRef="c">Acme Widgets Inc.</ix:nonNumeric>
<ix:nonFraction name="us-gaap:Assets" contextRef="c" unitRef="usd">777</ix:nonFraction>
</ix:hidden></ix:header></div>
<p>Our debt was
$<ix:nonFraction name="us-gaap:LongTermDebt" contextRef="c" unitRef="usd">12.5</ix:nonFraction>
million at June 30, 2024, see Note 7.</p>
<p>Balance sheet</p>
<table><tr><td/><td colspan="2">2024</td></tr>
<tr><td>Current assets:</td><td/><td/></tr>
<tr><td>Cash</td><td>$</td><td><span
><ix:nonFraction name="us-gaap:Cash" contextRef="c" unitRef="usd">1,0</ix:nonFraction></span></td></tr>
<tr><td>Widgets</td><td></td><td
>(<ix:nonFraction name="acme:Widgets" contextRef="c" unitRef="usd" sign="-">42</ix:nonFraction>)</td></tr>
</table></body></html>"""


def write(tmp_path, name, text, encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


def by_value(document):
    return {f.value: f for f in document.facts}


def test_an_inline_xbrl_filing(tmp_path):
    document = read_document(write(tmp_path, "f.htm", FILING))
    assert document.company == "Acme Widgets Inc."
    assert document.taxonomy_year == "2024"
    facts = by_value(document)
    assert set(facts) == {"12.5", "1,0", "42"}
    cash = facts["1,0"]
    assert (cash.row_header, cash.column_header) == ("Current assets: | Cash", "2024")
    assert cash.context.preceding_text == "Balance sheet"
    assert cash.context.text.startswith("<table><tr>")
    debt = facts["12.5"]
    assert debt.context.text[debt.mention_start : debt.mention_end] == "12.5"
    assert debt.datatype == "monetaryItemType"
    assert sorted(document.gold.values()) == ["Cash", "LongTermDebt", "Widgets"]
    assert [document.gold[i] for i in document.own_tags] == ["Widgets"]


def test_broken_markup_is_read_as_html(tmp_path):
    broken = FILING.replace("</span></td></tr>", "</td>").replace("<p>Balance", "<p>&nbsp;<b>Balance")
    document = read_document(write(tmp_path, "f.htm", broken))
    assert by_value(document)["1,0"].row_header == "Current assets: | Cash"


def test_html_gz_nested_and_layout_tables(tmp_path):
    inner = "<table><tr><td>Cash</td><td>1,5</td></tr><tr><td>Debt</td><td>33</td></tr></table>"
    page = f"""<html><body><table><tr><td>{inner}</td></tr></table>
    <table><tr><td>•</td><td>We repaid $30 million of notes in 2024.</td></tr></table></body></html>"""
    path = tmp_path / "p.html.gz"
    path.write_bytes(gzip.compress(page.encode()))
    facts = by_value(read_document(path))
    assert facts["33"].row_header == "Debt"
    assert facts["30"].modality == "text"
    assert set(facts) == {"33", "30"}


def test_markdown(tmp_path):
    table = "| | 2024 | 2023 |\n|:--|--:|--:|\n| **Net** sales | 5,500 | (7) |\n"
    text = f"# Report\n\nSales were $5.5 million.\n\n{table}"
    facts = by_value(read_document(write(tmp_path, "r.md", text)))
    assert (facts["5,500"].row_header, facts["5,500"].column_header) == ("Net sales", "2024")
    assert facts["(7)"].context.preceding_text == "Sales were $5.5 million."
    assert facts["5.5"].datatype == "monetaryItemType"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_of_any_delimiter_and_encoding(tmp_path, delimiter):
    rows = [["Café", "2024"], ["Assets", ""], ["  Cash", "1.5"], ["Debt", "2"]]
    text = "\n".join(delimiter.join(r) for r in rows)
    document = read_document(write(tmp_path, "t.csv", text, "cp1252"))
    assert by_value(document)["1.5"].row_header == "Assets | Cash"


def test_excel_as_shown(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Balance"
    for row in (["In thousands"], [], ["", 2024], ["Cash", 1234.5], ["Margin", 0.125], ["Secret", 9]):
        sheet.append(row)
    sheet["B4"].number_format = "$#,##0.0;($#,##0.0)"
    sheet["B5"].number_format = "0.0%"
    sheet.row_dimensions[6].hidden = True
    book.save(tmp_path / "b.xlsx")
    facts = by_value(read_document(tmp_path / "b.xlsx"))
    assert set(facts) == {"1,234.5", "12.5"}
    assert facts["1,234.5"].row_header == "Cash"
    assert facts["12.5"].datatype == "percentItemType"
    assert facts["12.5"].context.preceding_text == "Balance In thousands"


def test_a_page_without_tables_says_so(tmp_path):
    document = read_document(write(tmp_path, "p.html", "<p>Revenue rose to $9,100 from $8,000.</p>"))
    assert [f.value for f in document.facts] == ["9,100", "8,000"]
    assert "no tables" in document.notes[0]


def test_a_page_in_a_wrong_encoding_is_read(tmp_path):
    page = '<html><head><meta charset="utf-8"></head><body><p>Caf\u00e9 sales of $7,100.</p></body></html>'
    document = read_document(write(tmp_path, "p.html", page, "latin-1"))
    assert document.facts[0].context.text.startswith("Café")
    assert "cp1252" in document.notes[-1]
    utf16 = read_document(write(tmp_path, "q.html", page, "utf-16"))
    assert utf16.facts[0].context.text.startswith("Café")


def test_ids_are_distinct_even_where_a_number_is_tagged_for_two_periods(tmp_path):
    tag = '<ix:nonFraction name="us-gaap:Cash" contextRef="c" unitRef="usd">'
    twice = FILING.replace(tag, tag + tag.replace('"c"', '"p"')).replace("1,0<", "1,0</ix:nonFraction><")
    document = read_document(write(tmp_path, "f.htm", twice))
    assert [f.value for f in document.facts].count("1,0") == 1
    assert len({f.fact_id for f in document.facts}) == len(document.facts)


BOMB = """<?xml version="1.0"?><!DOCTYPE html [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">
<!ENTITY x SYSTEM "file:///etc/passwd">]><html><body><p>&b; &x; $9,000</p></body></html>"""


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.html", b"<p>Nothing here</p>", "no numbers"),
        ("p.html", b"", "is empty"),
        ("p.html", b"\x00\x01\x02binary", "binary"),
        ("p.html", BOMB.encode(), "entities"),
        ("p.docx", b"PK", "is none of .*save it as"),
        ("p.pdf", b"%PDF", "is not a PDF"),
        ("p.html.gz", b"\x1f\x8b\x08\x00garbage", "corrupt"),
        ("p.xlsx", b"not a zip", "not an Excel workbook"),
        ("p.csv", b"a,b\nc,d\n", "no numbers"),
    ],
)
def test_bad_input_is_one_line_that_names_the_file(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_document(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_document(tmp_path / "no.html")
    (tmp_path / "d.html").mkdir()
    with pytest.raises(InputError, match="folder"):
        read_document(tmp_path / "d.html")


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "b.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 50_000_000)
    with pytest.raises(InputError, match="zip bomb"):
        read_document(path)


def test_limits(tmp_path, monkeypatch):
    monkeypatch.setattr(html, "MAX_CELLS", 3)
    cells = "<tr><td>Cash</td><td>1</td><td>2</td></tr>" * 2
    with pytest.raises(InputError, match="cells"):
        read_document(write(tmp_path, "t.html", f"<table>{cells}</table>"))
    with pytest.raises(InputError, match="nested more than"):
        read_document(write(tmp_path, "d.html", "<div>" * 1000 + "Sales of $5,000"))
    path = write(tmp_path, "l.html", "<p>" + "x" * 5000)
    with pytest.raises(InputError, match="larger than"), source.open_bytes(path, 100) as stream:
        stream.read()
    builder = grid.GridBuilder()
    for _ in range(16):
        builder.cell("x", colspan=1000)
    with pytest.raises(InputError, match="columns"):
        builder.cell("x", colspan=1000)


def test_a_huge_page_needs_little_memory(tmp_path):
    path = tmp_path / "huge.html"
    row = "<tr><td>Cash and cash equivalents</td><td>1,234</td></tr>"
    block = "<div><p>" + "Lorem ipsum dolor sit amet. " * 40 + f"</p><table>{row * 3}</table></div>"
    with path.open("w") as out:
        out.write("<html><body>")
        for _ in range(12_000):
            out.write(block)
        out.write("</body></html>")
    code = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from abduce.documents.html import parse_blocks\nfrom abduce.documents.page import Page\n"
        "base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "n = sum(1 for _ in parse_blocks(Path(sys.argv[1]), Page()))\n"
        "print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    blocks, kilobytes = map(int, done.stdout.split())
    assert blocks == 24_000
    assert kilobytes < 40_000


def test_markup_of_a_grid_reads_back_the_same():
    from abduce.documents.headers import locate
    from abduce.documents.htmltable import table_grid
    from lxml import html as lxml_html

    first = table_grid(
        lxml_html.fromstring(
            "<table><tr><td rowspan=2>A &amp; B</td><td colspan=2>2024</td></tr>"
            "<tr><td></td><td>5</td></tr></table>"
        )
    )
    again = table_grid(lxml_html.fromstring(assemble.markup(first)))
    assert [(p.row_header, p.column_header, p.cell.text) for p in locate(again)] == [
        (p.row_header, p.column_header, p.cell.text) for p in locate(first)
    ]


XML = '<?xml version="1.0"?>'
BODY = """<html xmlns="http://www.w3.org/1999/xhtml"{root}><body>
<p{attribute}>&b; debt of $9,000</p></body></html>"""
LAUGHS = '<!ENTITY b "lol">' + "".join(
    f'<!ENTITY l{i} "{(f"&l{i - 1};" if i else "&b;") * 10}">' for i in range(9)
)


@pytest.mark.parametrize(
    "before", ["<!--" + "x" * 70_000 + "-->", "<?x " + "y" * 70_000 + "?>", "\n" * 70_000, "<!---->" * 20_000]
)
@pytest.mark.parametrize(
    "declarations", ['<!ENTITY b "ha 5,555">', '<!ENTITY b SYSTEM "file:///etc/passwd">', LAUGHS]
)
def test_entities_far_behind_comments_are_refused(tmp_path, before, declarations):
    text = f"{XML}{before}<!DOCTYPE html [{declarations}]>" + BODY.format(root="", attribute="")
    with pytest.raises(InputError, match="entities"):
        read_document(write(tmp_path, "p.html", text))


@pytest.mark.parametrize(("place", "kind"), [("root", "xml"), ("attribute", "xml"), ("attribute", "html")])
def test_entities_in_attributes_never_grow(tmp_path, place, kind):
    """Parsers expand entities of attributes in any case: a page that has them is refused or read without."""
    start = XML if kind == "xml" else ""
    places = {"root": "", "attribute": ""} | {place: ' title="&l8;"'}
    body = BODY.format(**places) if kind == "xml" else '<html><body><p title="&l8;">debt of $9,000</p>'
    text = f"{start}<!--{'x' * 70_000}--><!DOCTYPE html [{LAUGHS}]>{body}"
    code = (
        "import resource, sys\nfrom abduce.documents.read import read_document\n"
        "from abduce.retrievers.errors import InputError\n"
        "base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    said = [f.value for f in read_document(sys.argv[1]).facts]\n"
        "except InputError as e:\n    said = str(e)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base, said)"
    )
    path = write(tmp_path, "p.html", text)
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    kilobytes, _, said = done.stdout.partition(" ")
    assert int(kilobytes) < 40_000
    assert "entities" in said or said.strip() == "['9,000']"


def test_a_document_type_without_entities_is_no_attack(tmp_path):
    kind = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://example.invalid/x.dtd">'
    text = XML + kind + BODY.format(root="", attribute="").replace("&b;", "")
    assert [f.value for f in read_document(write(tmp_path, "p.html", text)).facts] == ["9,000"]
