"""One kind of thing in many surfaces: sheets with empty rows, placed blocks, decimal commas, units."""

import openpyxl
import pytest
from abduce.documents.numbers import parse_number, parse_numbers
from abduce.documents.read import read_document
from abduce.documents.units import said_in


def read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_document(path)


def found(document):
    return [(f.value, f.row_header, f.column_header) for f in document.facts]


def table(*rows):
    cells = ("".join(f"<td>{c}</td>" for c in row) for row in rows)
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"


@pytest.mark.parametrize(
    ("text", "shown", "negative", "currency", "scale"),
    [
        ("Cr 45", "Cr 45", True, None, 0),
        ("Dr. 1,234", "Dr. 1,234", False, None, 0),
        ("TEUR 45", "45", False, "EUR", 3),
        ("45 T€", "45", False, "EUR", 3),
        ("€m 45", "45", False, "EUR", 6),
        ("CHF m 45", "45", False, "CHF", 6),
        ("45 million yen", "45", False, "JPY", 6),
        ("1.2 Canadian dollars", "1.2", False, "CAD", 0),
        ("45,000円", "45,000", False, "JPY", 0),
        ("12.5 cents", "12.5", False, None, -2),
        ("45(1), (2)", "45", False, None, 0),
        ("45¹,²", "45", False, None, 0),
        ("7[^1]", "7", False, None, 0),
    ],
)
def test_more_of_printed_numbers(text, shown, negative, currency, scale):
    number = parse_number(text)
    assert (number.shown, number.negative, number.currency, number.scale) == (
        shown,
        negative,
        currency,
        scale,
    )


@pytest.mark.parametrize("text", ["45+", "45 or more", "c. 45", "ca. 45", "greater than 45"])
def test_bounded_numbers(text):
    assert [(n.figure, n.bounded) for n in parse_numbers(text)] == [("45", True)]


@pytest.mark.parametrize("odd", ["3:1", "2-for-1", "1/2", "45 DX"])
def test_the_first_row_below_whole_headings_is_none_because_it_cannot_be_read(tmp_path, odd):
    page = table(["", "2024", "2023"], ["Split", odd, odd], ["Goodwill", "50", "40"])
    document = read(tmp_path, "a.html", page)
    assert found(document) == [("50", "Goodwill", "2024"), ("40", "Goodwill", "2023")]
    assert document.passed_over["figures that no grammar explains"] == 2


@pytest.mark.parametrize(
    "text",
    [
        ",2024,2023\n\nSales,1,2\n\nCost,3,4\n",
        ",2024,2023\nSales,1,2\n\n\nCost,3,4\n",
        ",2024,2023\nSales,1,2\n\nOther\n\nCost,3,4\n",
    ],
)
def test_headings_reach_over_empty_rows_of_a_sheet(tmp_path, text):
    values = [(v, c) for v, _, c in found(read(tmp_path, "a.csv", text))]
    assert values == [("1", "2024"), ("2", "2023"), ("3", "2024"), ("4", "2023")]


def test_a_table_with_headings_of_its_own_is_another(tmp_path):
    document = read(tmp_path, "a.csv", ",2024,2023\nSales,1,2\n\n(in thousands)\n\n,2022,2021\nCash,3,4\n")
    assert found(document)[2:] == [("3", "Cash", "2022"), ("4", "Cash", "2021")]
    assert [f.context.preceding_text for f in document.facts][1:3] == ["", "(in thousands)"]


def test_a_row_of_formulas_without_values_heads_nothing(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "P&L"
    for row in (["", 2024, 2023], ["Gross profit", "=B3*2", "=C3*2"], ["Cost", 5, 4]):
        book.active.append(row)
    book.save(tmp_path / "b.xlsx")
    document = read_document(tmp_path / "b.xlsx")
    assert found(document) == [("5", "Cost", "2024"), ("4", "Cost", "2023")]
    assert [u.place for u in document.unread] == ["P&L!B2", "P&L!C2"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.csv", "Item;Value\nRate;12,5\n"), ("a.tsv", "Item\tValue\nRate\t12,5\n")],
)
def test_one_decimal_comma_is_enough_between_semicolons_or_tabs(tmp_path, name, text):
    assert found(read(tmp_path, name, text)) == [("12,5", "Rate", "Value")]


PLACED = [("", "2024", "2023"), ("Plant", "52,982", "63,450"), ("Debtors", "67,236", "14,768")]


def placed(make):
    return "".join(
        make(r, i, text, 50 + 150 * i, 100 + 20 * r)
        for r, row in enumerate(PLACED)
        for i, text in enumerate(row)
    )


@pytest.mark.parametrize(
    ("make", "style"),
    [
        (lambda r, i, t, x, y: f'<span style="position:absolute;left:{x}px;top:{y}px">{t}</span>', ""),
        (lambda r, i, t, x, y: f'<p style="position:absolute;transform:translate({x}px,{y}px)">{t}</p>', ""),
        (lambda r, i, t, x, y: f'<p style="position:absolute;right:{500 - x}px;top:{y}px">{t}</p>', ""),
        (
            lambda r, i, t, x, y: f'<div id="d{r}{i}">{t}</div>',
            "div{position:absolute}"
            + "".join(f"#d{r}{i}{{left:{50 + 150 * i}pt;top:{9 * r}pt}}" for r in range(3) for i in range(3)),
        ),
    ],
)
def test_blocks_are_placed_by_style_sheets_spans_and_moves(tmp_path, make, style):
    page = f"<html><head><style>{style}</style></head><body>{placed(make)}</body></html>"
    assert found(read(tmp_path, "a.html", page)) == [
        ("52,982", "Plant", "2024"),
        ("63,450", "Plant", "2023"),
        ("67,236", "Debtors", "2024"),
        ("14,768", "Debtors", "2023"),
    ]


def test_blocks_placed_in_a_placed_line(tmp_path):
    inner = '<span style="position:absolute;left:{}px;top:0">{}</span>'
    lines = "".join(
        f'<div style="position:absolute;left:50px;top:{20 * r}px">{a}{inner.format(250, b)}'
        f"{inner.format(350, c)}</div>"
        for r, (a, b, c) in enumerate(PLACED)
    )
    document = read(tmp_path, "a.html", f"<html><body>{lines}</body></html>")
    assert found(document)[0] == ("52,982", "Plant", "2024")


def test_lined_up_text_in_a_page_keeps_its_tags(tmp_path):
    tag = '<ix:nonFraction name="x:Plant" contextRef="c" unitRef="u">{}</ix:nonFraction>'
    lines = f"{'':20}{'2024':>8}{'2023':>8}\n{'Plant':20}  {tag.format('52,982')}  63,450\n"
    lines += f"{'Debtors':20}{'67,236':>8}{'14,768':>8}\n"
    page = f'<html xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"><body><pre>{lines}</pre></body></html>'
    document = read(tmp_path, "a.xhtml", page)
    assert found(document)[:2] == [("52,982", "Plant", "2024"), ("63,450", "Plant", "2023")]
    assert [*document.gold.values()] == ["Plant"]


OLD = """<TABLE>
<CAPTION>
                                    December 31,
                                  ----------------
                                    1997      1996
                                  ------    ------
<S>                               <C>       <C>
Current assets:
  Cash.......................... $ 1,234   $   987
  Receivables, net..............     567       432
                                  ------    ------
    Total current assets........   1,801     1,419
Goodwill........................     100       100
</TABLE>
"""


def test_tables_of_old_filings_in_plain_text(tmp_path):
    facts = found(read(tmp_path, "a.txt", OLD))
    assert facts[0] == ("1,234", "Current assets: | Cash", "December 31, | 1997")
    assert facts[-1] == ("100", "Goodwill", "December 31, | 1996")


@pytest.mark.parametrize(
    ("text", "scale", "currency"),
    [
        ("EUR million", 6, "EUR"),
        ("in TEUR", 3, "EUR"),
        ("Mio. EUR", 6, "EUR"),
        ("¥ million", 6, "JPY"),
        ("in thousands of Swiss francs", 3, "CHF"),
        ("(Expressed in Canadian dollars)", 0, "CAD"),
    ],
)
def test_what_a_caption_says(text, scale, currency):
    assert said_in(text)[0:3:2] == (scale, currency)


@pytest.mark.parametrize("text", ["We paid EUR 5 million.", "a 5 million EUR loan", "Revenue in USD 5"])
def test_an_amount_is_no_caption(text):
    assert said_in(text) is None


def test_a_column_of_units_says_each_row_its_own(tmp_path):
    text = "Item,Unit,2024\nRevenue,EUR m,1234\nStaff,FTE,50\nMargin,%,12.5\n"
    facts = read(tmp_path, "a.csv", text).facts
    assert [(f.scale, f.unit) for f in facts] == [(6, "EUR"), (None, None), (-2, "percent")]


def test_both_ends_of_a_range_have_its_currency_and_magnitude(tmp_path):
    text = "Fees of EUR 5-7 million, $10-$15 per share, 0,50 euros, terms of 3 to 5 years; "
    text += "2.6 years, par $0.01 and 500 shares."
    facts = read(tmp_path, "a.txt", text).facts
    assert [(f.value, f.scale, f.unit) for f in facts] == [
        ("5", 6, "EUR"),
        ("7", 6, "EUR"),
        ("10", 0, "USD/shares"),
        ("15", 0, "USD/shares"),
        ("0,50", 0, "EUR"),
        ("3", 0, "years"),
        ("5", 0, "years"),
        ("2.6", 0, "years"),
        ("0.01", 0, "USD"),
        ("500", 0, "shares"),
    ]


def test_side_by_side_where_only_the_labels_have_headings(tmp_path):
    rows = (
        ["Assets", "", "Liabilities", ""],
        ["Cash", "640", "Payables", "600"],
        ["Plant", "200", "Capital", "75"],
    )
    assert [r for _, r, _ in found(read(tmp_path, "a.html", table(*rows)))] == [
        "Assets | Cash",
        "Assets | Plant",
        "Liabilities | Payables",
        "Liabilities | Capital",
    ]


def test_a_heading_over_the_middle_of_its_columns(tmp_path):
    text = ",,2024,,,2023,\n,Gross,Loss,Net,Gross,Loss,Net\nPatents,10,2,8,9,1,8\n"
    heads = [c for _, _, c in found(read(tmp_path, "a.csv", text))]
    assert heads == [f"{year} | {what}" for year in (2024, 2023) for what in ("Gross", "Loss", "Net")]


def test_a_net_sum_closes_its_section(tmp_path):
    text = "Item,2024\nCash flows from financing activities,\nDividends,-2\n"
    text += "Net cash used in financing activities,-2\nCash at end,4\n"
    assert [r for _, r, _ in found(read(tmp_path, "a.csv", text))] == [
        "Cash flows from financing activities | Dividends",
        "Cash flows from financing activities | Net cash used in financing activities",
        "Cash at end",
    ]


def test_years_with_their_currency_head_columns(tmp_path):
    page = table(["", "Note", "2024 £", "2023 £"]) + table(["Turnover", "2", "52,982", "63,450"])
    assert found(read(tmp_path, "a.html", page)) == [
        ("52,982", "Turnover", "2024 £"),
        ("63,450", "Turnover", "2023 £"),
    ]


def test_bare_years_below_headings_are_values_of_a_table(tmp_path):
    page = table(["", "Founded", "Units"], ["Alpha", "1999", "2010"], ["Beta", "2001", "1950"])
    assert found(read(tmp_path, "a.html", page)) == [("2010", "Alpha", "Units"), ("1950", "Beta", "Units")]


def test_contents_by_parts_without_a_heading_hold_page_numbers(tmp_path):
    rows = [
        ["PART I", "", ""],
        ["1.", "Business", "3"],
        ["1A.", "Risk Factors", "10"],
        ["2.", "Properties", "20"],
    ]
    rows += [["PART II", "", ""], ["7.", "MD&amp;A", "30"]]
    document = read(tmp_path, "a.html", table(*rows) + "<p>Revenue was $5 million.</p>")
    assert [f.value for f in document.facts] == ["5"]
    assert document.passed_over["page numbers"] == 4


def test_a_layout_that_is_not_read_is_told(tmp_path):
    tag = '<ix:nonFraction name="x:Plant" contextRef="c" unitRef="u">{}</ix:nonFraction>'
    rows = "".join(
        f'<div style="display:flex"><div>{name}</div><div>{tag.format(value)}</div></div>'
        for name, value in (("Plant", "52,982"), ("Debtors", "67,236"))
    )
    page = f'<html xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"><body>{rows}</body></html>'
    document = read(tmp_path, "a.xhtml", page)
    assert [f.value for f in document.facts] == ["52,982", "67,236"]
    assert "2 tagged values stand in blocks without words" in " ".join(document.notes)
    assert "'52,982'" in " ".join(document.notes)
