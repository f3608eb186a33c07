"""Numbers as they are printed."""

import pytest
from abduce.eval.documents.numbers import is_placeholder, is_year, parse_number
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
    assert (number.figure, number.negative, number.money, number.decimals) == (text, True, True, decimals)


def test_years():
    assert is_year("2024")
    assert is_year("FY2025")
    assert not is_year("2,024")
    assert not is_year("1234")
