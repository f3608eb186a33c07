"""Whose a document is and which filing it is: told from its content, never from its file's name."""

import gzip

import pytest
from abduce.documents.identity import declared_filing
from abduce.documents.read import read_document

COVER = {
    "EntityRegistrantName": "Acme Widgets Inc.",
    "DocumentType": "10-K",
    "DocumentPeriodEndDate": "December 31, 2024",
}


def dei(name, text, more=""):
    return f'<ix:nonNumeric name="dei:{name}" contextRef="c"{more}>{text}</ix:nonNumeric>'


def page(cover, value="5,500", head='<?xml version="1.0"?>'):
    return f"""{head}<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL">
<body>{cover}<p>Balance sheet</p><table><tr><td></td><td>2024</td></tr><tr><td>Cash</td><td>{value}</td></tr>
</table></body></html>"""


def declared(changes=None, **more):
    told = {**COVER, **(changes or {}), **more}
    return "".join(f"<p>{dei(name, text)}</p>" for name, text in told.items())


def read(tmp_path, text, name="f.htm", **options):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return read_document(path, **options)


@pytest.mark.parametrize("head", ['<?xml version="1.0"?>', "<!doctype html>"])
@pytest.mark.parametrize(
    "cover",
    [
        f"<table><tr><td>{dei('EntityRegistrantName', 'Acme Widgets Inc.')}</td></tr></table>",
        f"<table><tr><td><table><tr><td><b>{dei('EntityRegistrantName', 'Acme <i>Widgets</i> Inc.')}</b>"
        "</td></tr></table></td><td>x</td></tr></table>",
        f"<p>{dei('EntityRegistrantName', 'Acme Widgets Inc.')}</p>",
        dei("EntityRegistrantName", "<div>Acme</div> <div>Widgets <span>Inc.</span></div>"),
        dei("EntityRegistrantName", "") + dei("EntityRegistrantName", "Acme Widgets Inc."),
    ],
    ids=["table", "nested-table", "paragraph", "around-blocks", "empty-first"],
)
def test_the_company_is_read_wherever_it_is_declared(tmp_path, cover, head):
    document = read(tmp_path, page(cover, head=head))
    assert document.company == "Acme Widgets Inc."
    assert {f.company for f in document.facts} == {"Acme Widgets Inc."}


def test_what_is_said_stands_in_the_paragraphs_too(tmp_path):
    cover = dei("EntityRegistrantName", "<div>Acme has 7,100 shops</div>")
    document = read(tmp_path, page(cover))
    assert document.company == "Acme has 7,100 shops"
    assert [f.value for f in document.facts] == ["7,100", "5,500"]


def test_a_page_says_itself_whose_it_is_and_an_option_that_says_otherwise_is_told(tmp_path):
    text = page(declared())
    document = read(tmp_path, text, company="Beta")
    assert document.company == "Acme Widgets Inc."
    assert any("the page is of Acme Widgets Inc., not of Beta" in note for note in document.notes)
    for same in ("  ", "ACME WIDGETS", "Acme Widgets Incorporated"):
        document = read(tmp_path, text, company=same)
        assert document.company == "Acme Widgets Inc."
        assert not any("not of" in note for note in document.notes)
    nameless = text.replace("Acme Widgets Inc.", "--")
    assert read(tmp_path, nameless, company="Beta").company == "Beta"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "ACMEWIDGETSINC 10-K 2024-12-31"),
        (
            {"DocumentPeriodEndDate": "2024-12-31", "DocumentType": "Form 10-K"},
            "ACMEWIDGETSINC 10-K 2024-12-31",
        ),
        ({"AmendmentFlag": "false"}, "ACMEWIDGETSINC 10-K 2024-12-31"),
        ({"AmendmentFlag": "true"}, "ACMEWIDGETSINC 10-K 2024-12-31 amended"),
        ({"DocumentType": "10-K/A"}, "ACMEWIDGETSINC 10-K 2024-12-31 amended"),
        ({"DocumentType": "10-Q"}, "ACMEWIDGETSINC 10-Q 2024-12-31"),
        ({"DocumentPeriodEndDate": ""}, None),
        ({"EntityRegistrantName": ""}, None),
    ],
)
def test_what_a_filing_declares_itself_to_be(changes, expected):
    assert declared_filing({**COVER, **changes}) == expected


def test_the_same_filing_has_one_identity_under_any_name_and_rendering(tmp_path):
    text = page(declared())
    first = read(tmp_path, text, "10-K.htm")
    again = read(tmp_path, text, "other.htm.gz")
    assert (first.filing_id, first.content) == (again.filing_id, again.content)
    assert [f.fact_id for f in first.facts] == [f.fact_id for f in again.facts]
    assert {f.filing_id for f in first.facts} == {"ACMEWIDGETSINC 10-K 2024-12-31"}
    rendered = read(tmp_path, text.replace("<body>", "<body> <!-- saved from a viewer -->"), "v.htm")
    assert rendered.filing_id == first.filing_id


def test_one_name_for_two_years_is_two_identities(tmp_path):
    (tmp_path / "2023").mkdir()
    old = read(tmp_path / "2023", page(declared({"DocumentPeriodEndDate": "December 31, 2023"})), "10-K.htm")
    new = read(tmp_path, page(declared()), "10-K.htm")
    assert old.filing_id != new.filing_id
    assert not {f.context.context_id for f in old.facts} & {f.context.context_id for f in new.facts}


def test_without_a_declaration_the_bytes_tell(tmp_path):
    table = "| | 2024 |\n|--|--|\n| Cash | {} |\n"
    one = read(tmp_path, table.format(5), "a.md")
    two = read(tmp_path, table.format(5), "b.md")
    other = read(tmp_path, table.format(6), "a.md")
    assert one.filing_id == two.filing_id != other.filing_id
    assert one.facts[0].fact_id == two.facts[0].fact_id
    assert read(tmp_path, table.format(5), "a.md", company="Acme").filing_id == one.filing_id


@pytest.mark.parametrize("name", ["a.md", "a.csv", "a.html"])
def test_without_a_declaration_a_copy_with_other_white_space_is_the_same_document(tmp_path, name):
    texts = {
        "a.md": "| | 2024 |\n|--|--|\n| Cash | 5 |\n",
        "a.csv": ",2024\nCash,5\n",
        "a.html": "<table>\n<tr><td></td><td>2024</td></tr>\n<tr><td>Cash</td><td>5</td></tr></table>\n",
    }
    one = tmp_path / name
    one.write_bytes(texts[name].encode())
    known = read_document(one)
    assert [f.value for f in known.facts] == ["5"]
    for copy in (texts[name] + "\n", texts[name].replace("\n", "\r\n"), texts[name].rstrip("\n")):
        other = tmp_path / f"copy-{name}"
        other.write_bytes(copy.encode())
        assert read_document(other).filing_id == known.filing_id


@pytest.mark.parametrize(("form", "amended"), [("ixt:fixed-true", True), ("ixt:fixed-false", False)])
def test_a_flag_is_read_by_its_format(tmp_path, form, amended):
    flag = dei("AmendmentFlag", "&#9746;" if not amended else "Yes indeed", f' format="{form}"')
    document = read(tmp_path, page(declared() + f"<p>{flag}</p>"))
    assert document.filing_id.endswith("amended") is amended
