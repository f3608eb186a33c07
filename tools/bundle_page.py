"""Make the bundled filing page: ``python tools/bundle_page.py FILING.htm.gz``.

The tables of a filing that tag total assets or earnings per share, with the text above each, and what
their tags refer to. ``make demo`` tags it.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

from lxml import etree

HERE = Path(__file__).resolve().parent.parent / "data" / "bundled" / "finance"
IX, XBRLI = "http://www.xbrl.org/2013/inlineXBRL", "http://www.xbrl.org/2003/instance"
WANTED = {"us-gaap:Assets", "us-gaap:EarningsPerShareBasic"}


def main(filing: str) -> None:
    tree = etree.fromstring(gzip.decompress(Path(filing).read_bytes()), etree.XMLParser(huge_tree=False))
    body = tree.find(".//{*}body")
    numbers = f"{{{IX}}}nonFraction"
    chosen = []
    for table in body.iter("{*}table"):
        names = {n.get("name") for n in table.iter(numbers)}
        if len(names) > 10 and names & WANTED and not any(table in list(t.iter()) for t in chosen):
            chosen.append(table)
    used = {n.get(a) for t in chosen for n in t.iter(numbers) for a in ("contextRef", "unitRef")}
    for part in [*tree.iter(f"{{{XBRLI}}}context"), *tree.iter(f"{{{XBRLI}}}unit")]:
        if part.get("id") not in used:
            part.getparent().remove(part)
    kept = set()
    for part in [*chosen, *tree.iter(f"{{{IX}}}resources"), *tree.iter(f"{{{XBRLI}}}context")]:
        kept |= {part, *part.iter(), *part.iterancestors()}
    for part in list(body.iter()):
        if part not in kept and part.getparent() is not None and not _titles(part, chosen):
            tail, parent = part.tail, part.getparent()
            parent.remove(part)
            del tail
    text = etree.tostring(tree, encoding="unicode")
    (HERE / "page.htm").write_text(text, "utf-8")
    print(f"{HERE / 'page.htm'}: {len(text):,} characters, {len(chosen)} tables")


def _titles(part: etree._Element, tables: list[etree._Element]) -> bool:
    """Whether a part is, or is in, one of the few blocks of text just above a table."""
    for table in tables:
        block = table
        while block.getparent() is not None and not any(True for _ in block.itersiblings(preceding=True)):
            block = block.getparent()
        above = list(block.itersiblings(preceding=True))[:4]
        if any(part is b or part in list(b.iter()) for b in above):
            return True
    return False


if __name__ == "__main__":
    main(*sys.argv[1:2])
