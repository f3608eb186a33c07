"""Hostile inputs: paths that are no files, files made to harm, and damaged copies of sound ones.

Everything is made from a seed; an input is named by what it is, so that a failure can be made again.
"""

from __future__ import annotations

import gzip
import io
import os
import random
import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path

from hostile_readers import READERS, Reader

DAMAGED = 34
"""Damaged copies of each reader's sound file."""

NO_FILES = (
    "fifo",
    "link to a fifo",
    "circle",
    "folder",
    "missing",
    "device",
    "socket",
    "long name",
    "nul",
    "below",
)
MEGA = 1 << 20


def names() -> Iterator[tuple[str, str]]:
    """(reader, input) of every case."""
    for reader in READERS:
        for kind in NO_FILES:
            yield reader.name, f"path: {kind}"
        for number in range(DAMAGED):
            yield reader.name, f"damaged: {number}"
        for name in made(reader):
            yield reader.name, f"made: {name}"


def place(reader: Reader, name: str, folder: Path) -> Path:
    """Make an input in a folder and give its path."""
    kind, _, what = name.partition(": ")
    path = folder / f"in{reader.suffix}"
    if kind == "path":
        return _no_file(what, path)
    path.write_bytes(_damaged(reader, int(what)) if kind == "damaged" else made(reader)[what]())
    return path


def _no_file(kind: str, path: Path) -> Path:
    if kind in ("fifo", "link to a fifo"):
        os.mkfifo(path)
        if kind == "fifo":
            return path
        link = path.with_name(f"link{path.name}")
        link.symlink_to(path)
        return link
    if kind == "circle":
        path.symlink_to(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            os.chdir(path.parent)
            server.bind(path.name)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "long name":
        return path.with_name("x" * 300 + path.name)
    elif kind == "nul":
        return Path(f"a\0{path.name}")
    elif kind == "below":
        path.write_bytes(b"x")
        return path / path.name
    return path


def _damaged(reader: Reader, number: int) -> bytes:
    """The sound file with bits flipped, parts cut out, doubled, or replaced by what parsers stumble over."""
    draw = random.Random(f"{reader.name} {number}")
    data = bytearray(reader.sound)
    if number == 0:
        return bytes(data)
    tokens = (
        b"\0", b"\xff\xfe", b"\x1b[2J", b"nan", b"-inf", b"1e999", b"9" * 400, b"null", b"[]", b"{}", b'"', b"'", b"\\",
        b"\xed\xa0\x80", b"\xe2\x80\xae", b"\r", b"\t", b"<", b">", b"</table>", b"<table>", b"|", b"=", b"[[", b"{{",
        b"&#x0;", b"&lol;", b"<!--", b"<![CDATA[", b"../../../etc/passwd", b"file:///etc/passwd", b"$(touch /tmp/x)",
        b"=cmd|' /C calc'!A0", b"true", b"-1", b"0", b"\xf0\x9f\x92\xa9" * 50, b"x" * 5000,
    )  # fmt: skip
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(len(data) + 1)
        way = draw.randrange(5)
        if way == 0 and data:
            data[at % len(data)] ^= 1 << draw.randrange(8)
        elif way == 1:
            del data[at : at + draw.randint(1, 40)]
        elif way == 2:
            data[at:at] = data[at : at + draw.randint(1, 200)] * draw.randint(1, 20)
        elif way == 3:
            data[at:at] = draw.choice(tokens)
        else:
            data[at : at + draw.randint(1, 12)] = draw.choice(tokens)
    return bytes(data)


def made(reader: Reader) -> dict[str, object]:
    """Files that are made to harm the readers of such a suffix: name to a function that makes the bytes."""
    files: dict[str, object] = {
        "empty": lambda: b"",
        "blanks": lambda: b" \n" * 200_000,
        "nul bytes": lambda: bytes(3 * MEGA),
        "one long line": lambda: b"a" * (40 * MEGA),
        "random": lambda: random.Random(7).randbytes(200_000),
    }
    suffix = reader.suffix
    if suffix.endswith(".gz"):
        files["gzip bomb"] = lambda: gzip.compress(b'{"id": "1", "fact_id": "1"}\n' * (8 * MEGA))
        files["zeros, packed"] = lambda: gzip.compress(bytes(300 * MEGA))
        files["gzip, cut"] = lambda: gzip.compress(b"{}\n" * 9999)[:-9]
    if suffix in (".jsonl", ".json"):
        files |= {
            "nested lists": lambda: b"[" * 200_000 + b"\n",
            "nested objects": lambda: b'{"a":' * 200_000 + b"\n",
            "deep in a field": lambda: b'{"id": "1", "label": ' + b"[" * 900 + b"]" * 900 + b"}\n",
            "numbers": lambda: b'{"id": 1e999, "label": NaN, "value": ' + b"9" * 5000 + b"}\n",
            "many keys": lambda: b"{" + b",".join(b'"k%d":1' % n for n in range(50_000)) + b"}\n",
            "surrogates": lambda: b'{"id": "\\ud800", "label": "\\udfff", "fact_id": "\\ud800"}\n',
            "the same key": lambda: b'{"id": "1", "id": ["2"], "label": {}, "label": 7}\n',
        }
    if suffix == ".toml":
        files |= {
            "nested lists": lambda: b"a = " + b"[" * 100_000,
            "nested tables": lambda: b"a = " + b"{a = " * 5_000,
            "a dotted key": lambda: b"a" + b".a" * 50_000 + b" = 1\n",
            "many tables": lambda: b"".join(b"[t%d]\nx = 1\n" % n for n in range(20_000)),
            "numbers": lambda: (
                reader.sound.replace(b"1.0", b"nan").replace(b"0.6", b"inf").replace(b"0.5", b"-inf")
            ),
            "other types": lambda: reader.sound.replace(b'"', b"").replace(b"m", b"7"),
        }
    if suffix == ".csv":
        files |= {
            "many columns": lambda: b"," * MEGA + b"\n",
            "an open quote": lambda: b'id,label\n"' + b"x,y\n" * MEGA,
            "many quotes": lambda: b"a,b\n" + b'"""' * 500_000,
            "only returns": lambda: b"id,label\rA,b\r" * 20_000,
            "many rows": lambda: b"id,label\n" + b"".join(b"%d,x\n" % n for n in range(20_000)),
        }
    if suffix in (".htm", ".xhtml"):
        files |= {
            "nested tags": lambda: b"<html><body>" + b"<i>" * MEGA + b" 5 million",
            "seven million tags": lambda: b"<html><body><p>5 million in 2024 " + b"<i>1</i>" * 7 * MEGA,
            "nested tables": lambda: b"<table><tr><td>" * 5_000 + b"5",
            "attributes": lambda: b"<p " + b" ".join(b"a%d=1" % n for n in range(100_000)) + b">5 million</p>",
            "a wide table": lambda: b"<table><tr>" + b"<td>1</td>" * 100_000 + b"</tr></table>",
            "a span": lambda: b"<table><tr><td colspan=999999999 rowspan=999999999>5</td><td>6</td></tr></table>",
            "entities": lambda: b'<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa">'
            + b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%s;" % (str(n - 1).encode() if n else b"") * 10) for n in range(9))
            + b"]><html><body><p>&a8; 5 million</p></body></html>",
            "an outside entity": lambda: b'<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]><html>&x; 5 million</html>',
            "an outside DTD": lambda: b'<!DOCTYPE html SYSTEM "http://192.0.2.1/x.dtd"><html><p>5 million</p></html>',
            "brackets": lambda: b"<p>" + b"<" * 300_000 + b" 5 million",
            "comments": lambda: b"<!--" * 100_000 + b"<p>5 million</p>",
            "ampersands": lambda: b"<p>" + b"&" * 500_000 + b"5 million</p>",
            "headers": lambda: b"<table>" + b"<tr><th>a</th><td></td></tr>" * 20_000 + b"</table>",
            "spaces": lambda: b"<p>5" + b" " * (5 * MEGA) + b"million</p>",
            "digits": lambda: b"<p>" + b"1,111" * 200_000 + b" million</p>",
            "parentheses": lambda: b"<table><tr><td>" + b"(" * 100_000 + b"</td><td>5</td></tr></table>",
        }  # fmt: skip
        for charset in ("utf-16", "utf-32", "utf-7", "hex", "rot13", "base64", "zip", "undefined", "idna", "punycode",
                        "unicode_escape", "mbcs", "no-such", "\u0131"):  # fmt: skip
            head = f'<html><head><meta charset="{charset}"></head>'.encode()
            files[f"charset {charset}"] = lambda head=head: (
                head + b"<body><p>5 million \xe9 in 2024</p></body></html>"
            )
    if suffix == ".md":
        files |= {
            "a rule": lambda: b"-" * 4_000 + b"x",
            "a rule of blanks": lambda: b"- " * 2_000 + b"x",
            "a table's rule": lambda: b"| a | 5 |\n|" + b" :-: |" * 4_000 + b"x\n| 1 | 2 |\n",
            "square brackets": lambda: b"5 million " + b"[" * 80_000,
            "links": lambda: b"5 million " + b"[a](" * 20_000,
            "stars": lambda: b"5 million " + b"*a **b " * 20_000,
            "underscores": lambda: b"5 million " + b"_" * 80_000,
            "backticks": lambda: b"5 million " + b"".join(b"`" * n + b" " for n in range(300)),
            "quotes": lambda: b">" * 20_000 + b" 5 million",
            "lists": lambda: b"".join(b" " * n + b"- 5\n" for n in range(1_000)),
            "pipes": lambda: b"|" * 100_000 + b"\n|-|\n|5|",
            "tags": lambda: b"5 million " + b"<a" * 40_000,
            "headings": lambda: b"#" * 50_000 + b" 5 million",
            "backslashes": lambda: b"5 million " + b"\\" * 100_000,
        }
    if suffix == ".xlsx":
        files |= {name: (lambda name=name: _workbook(name)) for name in WORKBOOKS}
        files["zip, cut"] = lambda: _workbook("sound")[:-200]
    return files


WORKBOOKS = (
    "sound", "a sheet by another name", "many cells", "merged cells", "zip bomb", "entities", "a path outside",
    "many parts", "nested elements", "a formula", "shared texts",
)  # fmt: skip
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def _workbook(kind: str) -> bytes:
    """A workbook of one sheet, made by hand."""
    sheet_name = "sheet1.dat" if kind == "a sheet by another name" else "sheet1.xml"
    row = b'<row><c t="inlineStr"><is><t>Cash</t></is></c><c><v>5</v></c></row>'
    rows, more, head = row, b"", b""
    if kind in ("many cells", "a sheet by another name"):
        rows = b"<row>" + b"<c><v>5</v></c>" * 4_000_000 + b"</row>"
    if kind == "merged cells":
        more = b'<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'
    if kind == "zip bomb":
        more = b" " * (400 * MEGA)
    if kind == "entities":
        head = b'<!DOCTYPE x [<!ENTITY a "' + b"a" * 1000 + b'"><!ENTITY b "' + b"&a;" * 1000 + b'">]>'
        rows = b'<row><c t="inlineStr"><is><t>' + b"&b;" * 1000 + b"</t></is></c><c><v>5</v></c></row>"
    if kind == "nested elements":
        more = b"<x>" * 100_000
    if kind == "a formula":
        rows = b"<row><c><f>WEBSERVICE(&quot;http://192.0.2.1&quot;)</f><v>5</v></c></row>" + row
    sheet = head + b'<worksheet xmlns="%s"><sheetData>%s</sheetData>%s</worksheet>' % (
        _MAIN.encode(),
        rows,
        more,
    )
    shared = b"<si><t>x</t></si>" * (3_000_000 if kind == "shared texts" else 1)
    parts = {
        "[Content_Types].xml": b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        b'<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        b'spreadsheetml.sheet.main+xml"/><Override PartName="/xl/%s" ContentType="application/vnd.openxmlformats-'
        b'officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/sharedStrings.xml" ContentType="'
        b'application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>'
        % sheet_name.encode(),
        "_rels/.rels": b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        b'<Relationship Id="r1" Type="%s/officeDocument" Target="xl/workbook.xml"/></Relationships>'
        % _REL.encode(),
        "xl/workbook.xml": b'<workbook xmlns="%s" xmlns:r="%s"><sheets><sheet name="s" sheetId="1" r:id="r1"/></sheets>'
        b"</workbook>" % (_MAIN.encode(), _REL.encode()),
        "xl/_rels/workbook.xml.rels": b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        b'<Relationship Id="r1" Type="%s/worksheet" Target="%s"/><Relationship Id="r2" Type="%s/sharedStrings" '
        b'Target="sharedStrings.xml"/></Relationships>' % (_REL.encode(), sheet_name.encode(), _REL.encode()),
        "xl/sharedStrings.xml": b'<sst xmlns="%s">%s</sst>' % (_MAIN.encode(), shared),
        f"xl/{sheet_name}": sheet,
    }
    if kind == "a path outside":
        parts["../../outside.xml"] = b"<x/>"
    if kind == "many parts":
        parts |= {f"x{n}.xml": b"<x/>" for n in range(20_000)}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()
