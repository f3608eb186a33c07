"""Numbers as they are printed."""

import pytest
from abduce.documents.numbers import Style, is_placeholder, is_year, parse_number, style_of
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "shown", "negative", "money", "percent"),
    [
        ("1,234", "1,234", False, False, False),
        ("(1,234.5)", "(1,234.5)", True, False, False),
        ("(1,234", "(1,234", True, False, False),
        ("$ (42)", "(42)", True, True, False),
        ("$(42)", "(42)", True, True, False),
        ("-3.5%", "-3.5", True, False, True),
        ("—12", "-12", True, False, False),
        ("12.5 %", "12.5", False, False, True),
        ("(0.3)%", "(0.3)", True, False, True),
        ("€ 7", "7", False, True, False),
        (".25", ".25", False, False, False),
        ("1,234 (a)", "1,234", False, False, False),
        ("99 *", "99", False, False, False),
        ("2024", "2024", False, False, False),
    ],
)
def test_numbers(text, shown, negative, money, percent):
    number = parse_number(text)
    assert number is not None
    assert (number.shown.rstrip(")") + ")" if "(" in number.shown else number.shown) == (
        shown.rstrip(")") + ")" if "(" in shown else shown
    )
    assert (number.negative, number.money, number.percent) == (negative, money, percent)


@pytest.mark.parametrize(
    "text", ["", "—", "$", "Total", "Level 1", "10-K", "1.2.3", "12/31/2024", "June 30", ")"]
)
def test_no_numbers(text):
    assert parse_number(text) is None


@pytest.mark.parametrize("text", ["", " ", "—", "–", "$", "$ —", "%", ")", "N/A", "n/m", "*", "nil"])
def test_placeholders(text):
    assert is_placeholder(text)
    assert not is_placeholder("Cash")


@given(st.integers(min_value=0, max_value=10**12), st.integers(min_value=0, max_value=4))
def test_any_grouped_number_is_read_back(whole, decimals):
    text = f"{whole:,}" + (f".{'1' * decimals}" if decimals else "")
    number = parse_number(f"$ ({text})")
    assert number is not None
    assert (number.figure, number.negative, number.money) == (text, True, True)


def test_years():
    assert is_year("2024")
    assert is_year("FY2025")
    assert not is_year("2,024")
    assert not is_year("1234")


@pytest.mark.parametrize(
    ("texts", "style"),
    [
        (["1.234,5", "99"], Style.COMMA),
        (["1.234.567"], Style.COMMA),
        (["1 234,50"], Style.COMMA),
        (["(12,5 %)"], Style.COMMA),
        (["€ 1,5"], Style.COMMA),
        (["1,5", "2,5", "3,5"], Style.COMMA),
        (["1 234", "2,5"], Style.COMMA),
        (["1 234", "99"], Style.SPACED),
        (["1'234.50"], Style.SPACED),
        (["1,5", "2,5"], Style.PLAIN),
        (["1,234", "1.234"], Style.PLAIN),
        (["1,5", "2,5", "3,5", "4.5"], Style.PLAIN),
        (["1.234,5", "0.5"], Style.PLAIN),
        (["1 234", "1,234"], Style.PLAIN),
        (["12/31/2024", "1.2.3", "Notes 1,5"], Style.PLAIN),
    ],
)
def test_how_a_table_writes_its_figures(texts, style):
    assert style_of(texts) is style


@pytest.mark.parametrize(
    ("text", "style", "shown", "figure"),
    [
        ("(1.234,5)", Style.COMMA, "(1.234,5)", "1,234.5"),
        ("1 234 567,25 €", Style.COMMA, "1 234 567,25", "1,234,567.25"),
        ("1.100", Style.COMMA, "1.100", "1,100"),
        ("-12 345", Style.SPACED, "-12 345", "12,345"),
        ("1'234.5%", Style.SPACED, "1'234.5", "1,234.5"),
    ],
)
def test_figures_of_other_styles(text, style, shown, figure):
    number = parse_number(text, style)
    assert number is not None
    assert (number.shown, number.figure) == (shown, figure)
