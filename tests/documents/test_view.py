"""The page of a document: its facts where they stand, and nothing of its markup but structure."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from abduce.documents.read import read_document
from abduce.documents.view import TAGS, View, view_document
from abduce.retrievers.errors import InputError
from hypothesis import given, reject
from hypothesis import strategies as st
from made_filing import page

FILINGS = sorted(
    (Path(__file__).resolve().parents[3] / "shared" / "data" / "finance" / "filings").glob("*.htm.gz")
)


def nodes(view: View) -> Iterator[list[Any]]:
    waiting: list[Any] = list(view.blocks)
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            yield node
            waiting += node[2]


def text_of(node: Any) -> str:
    return node if isinstance(node, str) else "".join(map(text_of, node[2]))


def shown(view: View) -> dict[int, str]:
    """The text that stands at each fact."""
    found: dict[int, str] = {}
    for node in nodes(view):
        for fact in node[1].get("f", ()):
            found[fact] = found.get(fact, "") + text_of(node)
    return found


def seen(path: Path) -> tuple[Any, View]:
    document = read_document(path)
    return document, view_document(path, document.facts)


def test_every_fact_stands_where_the_reader_found_it(tmp_path: Path) -> None:
    text = "<p>Debt of <b>7</b>7 million fell by 3.5% to $66 million.</p><p>In 2024 nothing.</p>"
    (tmp_path / "f.htm").write_text(page(2024, ["Cash", "Debt, <i>net</i>"], text=text), encoding="utf-8")
    document, view = seen(tmp_path / "f.htm")
    assert view.missing == []
    at = shown(view)
    assert {i: "".join(t.split()) for i, t in at.items()} == {
        i: "".join(f.value.split()) for i, f in enumerate(document.facts)
    }
    plain = [text_of(n) for n in nodes(view) if n[1].get("n")]
    assert {"2024", "2023"} <= set(plain)
    assert any(text_of(n) == "In 2024 nothing." for n in nodes(view))


def test_hidden_rows_and_spans_do_not_shift_facts(tmp_path: Path) -> None:
    (tmp_path / "f.htm").write_text(
        "<table><tr><td rowspan=2>Assets</td><td colspan=2>2024</td></tr>"
        "<tr style='display:none'><td>9</td><td>9</td></tr>"
        "<tr><td>Cash</td><td>1,200</td><td>(35)</td></tr><tr><td>Debt</td><td>40</td><td>50</td></tr></table>"
    )
    document, view = seen(tmp_path / "f.htm")
    at = shown(view)
    for i, fact in enumerate(document.facts):
        assert at[i].strip("()") == fact.value.strip("()")


def test_nothing_but_structure_is_left(tmp_path: Path) -> None:
    (tmp_path / "f.htm").write_text(
        "<body onload='x()'><script>evil()</script><style>p{}</style><p style='background:url(http://x)'>"
        "Cash of <a href='javascript:evil()'>12</a> million <img src=http://x onerror=evil()></p>"
        "<iframe src=http://x></iframe><svg><text>evil</text></svg><form><input value=evil></form>"
        "<p hidden>evil 13</p>"
        "<table><tr><td onclick=evil()>Debt</td><td colspan='3'>14</td></tr></table></body>"
    )
    _, view = seen(tmp_path / "f.htm")
    for tag, attributes, _ in nodes(view):
        assert tag in TAGS
        assert attributes.keys() <= set("fnacr")
        assert all(isinstance(v, int | list) or v in "rc" for v in attributes.values())
    assert "evil" not in "".join(map(text_of, view.blocks))


@given(st.text(alphabet="<>/abtdrp =\"'&;19 ", max_size=200))
def test_any_markup_is_nodes(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("v") / "f.htm"
    path.write_text(f"<p>Cash 12</p>{text}<table><tr><td>Debt</td><td>14</td></tr></table>", encoding="utf-8")
    try:
        document, view = seen(path)
    except InputError:
        reject()  # the reader refuses it
    assert all(n[0] in TAGS for n in nodes(view))
    assert set(shown(view)) == set(range(len(document.facts)))


@pytest.mark.parametrize("name", ["t.md", "t.csv"])
def test_other_documents_are_their_tables_and_passages(tmp_path: Path, name: str) -> None:
    rows = "| | 2024 | 2023 |\n|---|---|---|\n| Cash | 12 | 13 |\n| Debt | 14 | 13 |\n\nWe owe 15 million.\n"
    text = rows if name == "t.md" else ",2024,2023\nCash,12,13\nDebt,14,13\n"
    (tmp_path / name).write_text(text)
    document, view = seen(tmp_path / name)
    assert shown(view) == {i: f.value for i, f in enumerate(document.facts)}


@pytest.mark.skipif(not FILINGS, reason="needs the filings that lie beside the repository")
def test_no_fact_of_a_real_filing_is_missing() -> None:
    document, view = seen(min(FILINGS, key=lambda p: p.stat().st_size))
    assert view.missing == []
    assert len(shown(view)) == len(document.facts)
