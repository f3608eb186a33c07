"""PDF documents made by hand: lines of text at given places, one font, no library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

Placed = tuple[float, float, str]
"""Left and top in points from the upper left corner, and the text."""


def write_pdf(path: Path, pages: Sequence[Sequence[Placed]]) -> Path:
    """A PDF of pages of 612 x 792 points; an empty page has a picture's worth of nothing on it."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>",
    ]
    kids = []
    for page in pages:
        text = "".join(
            f"BT /F 10 Tf 1 0 0 1 {x} {782 - top} Tm ({_escaped(words)}) Tj ET\n" for x, top, words in page
        ).encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%sendstream" % (len(text), text))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F 3 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        out.index(b"xref\n0 "),
    )
    path.write_bytes(out)
    return path


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
