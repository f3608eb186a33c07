"""Currencies in documents: signs, abbreviations and ISO codes."""

from __future__ import annotations

import re

SIGNS = "$€£¥₹₩₽₺₪฿₫₱₦₴₸₡₲₵৳₭₮₼₾￥￡＄円元원"

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
    "円": "JPY",
    "元": "CNY",
    "원": "KRW",
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
}

_NAMES = {
    "us dollar": "USD",
    "u.s. dollar": "USD",
    "canadian dollar": "CAD",
    "australian dollar": "AUD",
    "new zealand dollar": "NZD",
    "hong kong dollar": "HKD",
    "singapore dollar": "SGD",
    "dollar": "USD",
    "euro": "EUR",
    "pounds sterling": "GBP",
    "sterling": "GBP",
    "pound": "GBP",
    "yen": "JPY",
    "renminbi": "CNY",
    "yuan": "CNY",
    "indian rupee": "INR",
    "rupee": "INR",
    "swiss franc": "CHF",
    "franc": "CHF",
    "brazilian real": "BRL",
    "reais": "BRL",
    "swedish kronor": "SEK",
    "norwegian kroner": "NOK",
    "danish kroner": "DKK",
    "korean won": "KRW",
    "ringgit": "MYR",
    "rand": "ZAR",
}
"""Names of currencies, in the singular; the longer stand first."""

CURRENCY_NAME = rf"(?:(?:{'|'.join(map(re.escape, _NAMES))})s?)(?![^\W\d_])"
"""A pattern for the name of a currency behind a figure, in lower case."""

_PREFIXED = r"(?:US|U\.S\.|CA?|CDN|AU?|NZ|HK|S|NT|R|MX)\$"
_ABBREVIATED = r"(?<![^\W\d_])(?:Rs\.?|RM|SFr\.?|Fr\.|kr\.?|zł|Kč)(?![^\W\d_])"
_CODE = rf"(?<![^\W\d_])(?-i:{'|'.join(sorted(CODES))})(?![^\W\d_])"

CURRENCY = rf"(?:{_PREFIXED}|[{SIGNS}]|{_CODE}|{_ABBREVIATED})"
"""A pattern for a currency beside a figure. Codes are written in capitals."""

THOUSANDS = r"(?<![^\W\d_])[TtKk](?:[€£$]|(?-i:EUR|CHF|USD))(?![^\W\d_])"
"""A pattern for thousands of a currency: ``TEUR``, ``T€``, ``k$``."""

_WORDS = re.compile(rf"{THOUSANDS}|{CURRENCY}|\b{CURRENCY_NAME}", re.IGNORECASE)


def currency_code(written: str) -> str:
    """The ISO code of a written currency (``US$``, ``Rs.``, ``CHF``, ``euros``); a lone sign means its most
    common currency.

    >>> currency_code("R$"), currency_code("CHF"), currency_code("Swiss francs")
    ('BRL', 'CHF', 'CHF')
    """
    plain = written.strip()
    if named := _NAMES.get(plain.lower()) or _NAMES.get(plain.lower().removesuffix("s")):
        return named
    plain = plain.upper()
    if plain not in _WRITTEN and plain not in CODES and plain[:1] in ("T", "K"):
        plain = plain[1:]  # thousands of it
    return _WRITTEN.get(plain, plain if plain in CODES else _WRITTEN.get(plain[-1:], plain))


def find_currency(text: str) -> str | None:
    """The currency named in a heading or caption (``in thousands of euros``), or None."""
    match = _WORDS.search(text)
    return currency_code(match[0]) if match else None
