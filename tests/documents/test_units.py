"""Scale and unit of values: what was said, where it counts, and what it does not cover."""

import pytest
from abduce.documents.read import read_document
from abduce.documents.units import said_in


@pytest.mark.parametrize(
    ("text", "amounts", "shares", "currency"),
    [
        ("(in thousands)", 3, None, None),
        ("(In millions, except per share data)", 6, None, None),
        ("(In thousands, except share and per share data)", 3, 0, None),
        ("(In millions, except number of shares, which are reflected in thousands)", 6, 3, None),
        ("(dollars in millions; shares in thousands)", 6, 3, "USD"),
        ("Millions, Except Per Share Amounts", 6, None, None),
        ("Balance sheet (in thousands of euros)", 3, None, "EUR"),
        ("(₹ in crores)", 7, None, "INR"),
        ("£'000", 3, None, "GBP"),
        ("CHF m", 6, None, "CHF"),
        ("($000s)", 3, None, "USD"),
        ("Options (thous.)", 3, None, None),
        ("In 2023 (in billions) it was else. Now amounts are in millions of dollars.", 6, None, "USD"),
    ],
)
def test_statements(text, amounts, shares, currency):
    said = said_in(text)
    assert said is not None
    assert (said.scale, said.shares, said.currency) == (amounts, shares, currency)
    assert said.words


@pytest.mark.parametrize(
    "text", ["We paid $5 million", "Thousands of people came", "December 2000", "item 000123"]
)
def test_prose_says_nothing_of_a_table(text):
    assert said_in(text) is None


def facts(tmp_path, body):
    path = tmp_path / "p.html"
    path.write_text(f"<html><body>{body}</body></html>", encoding="utf-8")
    return {(f.row_header or "").rpartition(" | ")[2] + f" {f.value}": f for f in read_document(path).facts}


def table(*lines):
    cells = ("".join(f"<td>{c}</td>" for c in line.split("|")) for line in lines)
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"


def test_the_nearest_word_counts_and_is_told(tmp_path):
    found = facts(
        tmp_path,
        "<p>Results (in thousands, except share and per share data)</p>"
        + table(
            "|2024",
            "Sales|$ 1,250",
            "Assets (in billions)|$ 3",
            "Margin|12%",
            "Earnings per share|$ 1.25",
            "Weighted-average shares outstanding|41,250",
            "Buy-backs|$ 2.5 million",
            "Average life|5.4 years",
        ),
    )
    got = {name: (f.scale, f.unit) for name, f in found.items()}
    assert got == {
        "Sales 1,250": (3, "USD"),
        "Assets (in billions) 3": (9, "USD"),
        "Margin 12": (-2, "percent"),
        "Earnings per share 1.25": (0, "USD/shares"),
        "Weighted-average shares outstanding 41,250": (0, "shares"),
        "Buy-backs 2.5": (6, "USD"),
        "Average life 5.4": (0, "years"),
    }
    assert found["Sales 1,250"].stated == "text above: (in thousands, except share and per share data)"
    assert found["Assets (in billions) 3"].stated == "row: (in billions)"


def test_a_heading_a_caption_and_the_document_speak_in_turn(tmp_path):
    found = facts(
        tmp_path,
        "<p>All amounts are in millions of euros unless otherwise stated.</p>"
        + table("|2024", "Sales|1,250")
        + "<p>Next</p>"
        + table("(in thousands)|2024", "Costs|1,300")
        + "<p>Last</p>"
        + table("|2024|2024 (£ m)", "Debt|1,000|2,000"),
    )
    assert {name: (f.scale, f.unit) for name, f in found.items()} == {
        "Sales 1,250": (6, "EUR"),
        "Costs 1,300": (3, "EUR"),
        "Debt 1,000": (6, "EUR"),
        "Debt 2,000": (6, "GBP"),
    }
    assert found["Debt 1,000"].stated.startswith("document: ")


def test_in_text_a_number_says_its_own_magnitude(tmp_path):
    path = tmp_path / "p.html"
    path.write_text("<p>Debt of $1.2 billion, ($5) million, €7,000, 3.5%-4.0% and 2 million shares.</p>")
    found = [(f.value, f.scale, f.unit) for f in read_document(path).facts]
    assert found == [
        ("1.2", 9, "USD"),
        ("5", 6, "USD"),
        ("7,000", 0, "EUR"),
        ("3.5", -2, "percent"),
        ("4.0", -2, "percent"),
        ("2", 6, "shares"),
    ]
