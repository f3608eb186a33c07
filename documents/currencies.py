"""Currencies as documents write them: signs, abbreviations and ISO codes."""

from __future__ import annotations

import re

SIGNS = "$€£¥₹₩₽₺₪฿₫₱₦₴₸₡₲₵৳₭₮₼₾￥￡＄"

CODES = frozenset(
    "AED ARS AUD BDT BGN BHD BRL CAD CHF CLP CNH CNY COP CZK DKK EGP EUR GBP GHS HKD HUF IDR ILS INR "
    "ISK JOD JPY KES KRW KWD KZT LKR MAD MXN MYR NGN NOK NZD OMR PEN PHP PKR PLN QAR RMB RON RSD RUB SAR "
    "SEK SGD THB TND TRY TWD TZS UAH UGX USD UYU VND ZAR".split()
)
"""ISO 4217 codes that documents are written in (and RMB)."""

_WRITTEN = {
    "$": "USD",
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "₩": "KRW",
    "₽": "RUB",
    "₺": "TRY",
    "₪": "ILS",
    "฿": "THB",
    "₫": "VND",
    "₱": "PHP",
    "₦": "NGN",
    "₴": "UAH",
    "₸": "KZT",
    "₵": "GHS",
    "৳": "BDT",
    "US$": "USD",
    "U.S.$": "USD",
    "C$": "CAD",
    "CA$": "CAD",
    "CDN$": "CAD",
    "A$": "AUD",
    "AU$": "AUD",
    "NZ$": "NZD",
    "HK$": "HKD",
    "S$": "SGD",
    "NT$": "TWD",
    "R$": "BRL",
    "MX$": "MXN",
    "RS": "INR",
    "RS.": "INR",
    "RM": "MYR",
    "SFR": "CHF",
    "SFR.": "CHF",
    "FR.": "CHF",
    "KR": "SEK",
    "KR.": "SEK",
    "ZŁ": "PLN",
    "KČ": "CZK",
    "RMB": "CNY",
    "DOLLAR": "USD",
    "EURO": "EUR",
    "POUND": "GBP",
    "STERLING": "GBP",
    "YEN": "JPY",
    "RENMINBI": "CNY",
    "RUPEE": "INR",
    "FRANC": "CHF",
}

_PREFIXED = r"(?:US|U\.S\.|CA?|CDN|AU?|NZ|HK|S|NT|R|MX)\$"
_ABBREVIATED = r"(?<![^\W\d_])(?:Rs\.?|RM|SFr\.?|Fr\.|kr\.?|zł|Kč)(?![^\W\d_])"
_CODE = rf"(?<![^\W\d_])(?-i:{'|'.join(sorted(CODES))})(?![^\W\d_])"

CURRENCY = rf"(?:{_PREFIXED}|[{SIGNS}]|{_CODE}|{_ABBREVIATED})"
"""A pattern for a currency beside a figure. Codes are written in capitals."""

_WORDS = re.compile(
    rf"{CURRENCY}|\b(?:dollar|euro|pound|sterling|yen|renminbi|rupee|franc)(?=s?\b)", re.IGNORECASE
)


def currency_code(written: str) -> str:
    """The ISO code of a currency as it is written (``US$``, ``Rs.``, ``CHF``); a lone sign stands for the
    currency that most documents mean by it.

    >>> currency_code("R$"), currency_code("CHF")
    ('BRL', 'CHF')
    """
    plain = written.strip().upper()
    return _WRITTEN.get(plain, plain if plain in CODES else _WRITTEN.get(plain[-1:], plain))


def find_currency(text: str) -> str | None:
    """The currency that a heading or a caption names (``in thousands of euros``), or None."""
    match = _WORDS.search(text)
    return currency_code(match[0]) if match else None
