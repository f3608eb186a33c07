"""The command line and Python write the same tags, to the byte, for each kind of input."""

import json

import openpyxl
import pytest
from abduce import Tagger

PAGE = """<html><body><p>In millions</p><table>
<tr><td></td><td>December 31, 2024</td><td>December 31, 2023</td></tr>
<tr><td>Goodwill</td><td>77</td><td>75</td></tr><tr><td>Total assets</td><td>1,899</td><td>1,767</td></tr>
</table><p>The effective tax rate was 21.5% in 2024. We owed $75 million under our term loan.</p>
</body></html>"""

ROWS = [
    ("In thousands", None, None),
    (None, "2024", "2023"),
    ("Inventories", 310, 290),
    ("Long-term debt, net", 512, 400),
]

FACT = {
    "fact_id": "f1",
    "value": "1,204",
    "datatype": "monetaryItemType",
    "row_header": "Goodwill",
    "column_header": "2024",
    "source_context": "<table><tr><td></td><td>2024</td></tr><tr><td>Goodwill</td><td>1,204</td></tr>"
    "</table>",
}


@pytest.fixture
def inputs(tmp_path):
    """A file of each kind, by kind."""
    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    book.save(tmp_path / "sheet.xlsx")
    (tmp_path / "page.htm").write_text(PAGE)
    (tmp_path / "facts.jsonl").write_text(json.dumps(FACT) + "\n" + json.dumps(FACT | {"fact_id": "f2"}))
    (tmp_path / "note.txt").write_text("A man with classical cholera. No fever.")
    (tmp_path / "mentions.csv").write_text("mention,code\nclassical cholera,A00\nfever,\n")
    return tmp_path


@pytest.mark.parametrize(("name", "facts"), [("sheet.xlsx", 4), ("page.htm", 6), ("facts.jsonl", 2)])
@pytest.mark.parametrize("options", [{}, {"program": "locus", "company": "Acme Inc."}], ids=["best", "locus"])
def test_a_sheet_a_page_and_a_file_of_facts(cli, inputs, name, facts, options):
    with Tagger(**options) as tagger:
        tags = tagger.tag(inputs / name)
    tags.to_csv(inputs / "python.csv")
    flags = [word for option, value in options.items() for word in (f"--{option}", value)]
    ran = cli("tag", inputs / name, *flags, "--out", inputs / "command.csv")
    assert (ran.code, len(tags)) == (0, facts), ran.err
    assert (inputs / "command.csv").read_bytes() == (inputs / "python.csv").read_bytes()


def test_a_note(cli, inputs):
    given = (inputs / "note.txt", inputs / "mentions.csv")
    with Tagger("icd10cm-2018") as tagger:
        codes = tagger.code_note(*given)
    codes.to_csv(inputs / "python.csv")
    ran = cli(
        *("tag", given[0], "--mentions", given[1], "--taxonomy", "icd10cm-2018"),
        *("--out", inputs / "command.csv"),
    )
    assert (ran.code, len(codes)) == (0, 2), ran.err
    assert (inputs / "command.csv").read_bytes() == (inputs / "python.csv").read_bytes()
