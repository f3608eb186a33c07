"""Identify the filing of a document by its content; file name and path have no effect."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from .source import open_bytes

_TRUE = frozenset("true yes 1 x \u2611 \u2612".split())
_SPACE = b" \t\r\n\v\f"
_DATES = ("%Y-%m-%d", "%B %d %Y", "%b %d %Y", "%d %B %Y", "%d %b %Y", "%m/%d/%Y", "%m/%d/%y")


def content_digest(path: Path) -> str:
    """A hash of a file's bytes (gzip unpacked) without white space, 16 hexadecimal digits. Copies with other
    line ends or another last line have the same hash.

    Raises:
        InputError: unreadable, or over the size limit of documents.
    """
    found = hashlib.blake2b(digest_size=8)
    with open_bytes(path) as stream:
        for chunk in iter(lambda: stream.read(1 << 20), b""):
            found.update(chunk.translate(None, _SPACE))
    return found.hexdigest()


def declared_filing(about: Mapping[str, str]) -> str | None:
    """What a filing says it is: registrant, document type, end of the period, and whether it is amended.

    Two renderings of the same filing agree in it, though their bytes differ. None where one of the first
    three is not told. Args: ``about`` holds ``dei`` facts by local name.

    >>> declared_filing({"EntityRegistrantName": "Acme Inc.", "DocumentType": "10-K",
    ...                  "DocumentPeriodEndDate": "December 31, 2024", "AmendmentFlag": "true"})
    'ACMEINC 10-K 2024-12-31 amended'
    """
    who = "".join(c for c in about.get("EntityRegistrantName", "").upper() if c.isalnum())
    what = re.sub(r"[^A-Z0-9/-]", "", about.get("DocumentType", "").upper()).removeprefix("FORM")
    when = _date(about.get("DocumentPeriodEndDate", ""))
    if not (who and what and when):
        return None
    base = what.removesuffix("/A")
    amended = base != what or about.get("AmendmentFlag", "").strip().lower() in _TRUE
    return f"{who} {base} {when}{' amended' if amended else ''}"


def _date(text: str) -> str:
    """A date as ISO; in any other notation, its letters and digits."""
    plain = " ".join(text.replace(",", " ").split())
    for form in _DATES:
        try:
            return datetime.strptime(plain, form).date().isoformat()
        except ValueError:
            continue
    return "".join(c for c in plain.upper() if c.isalnum())
