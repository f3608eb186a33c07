"""Whose a tag is, told by the namespace behind its prefix."""

import pytest
from abduce.documents.namespaces import is_standard, namespaces_of
from abduce.documents.read import read_document
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.types import Concept

GAAP, IFRS = "http://fasb.org/us-gaap/2024", "https://xbrl.ifrs.org/taxonomy/2023-03-23/ifrs-full"


def page(names, bound, doctype="", html='html xmlns="http://www.w3.org/1999/xhtml"'):
    bindings = " ".join(f'xmlns:{p}="{u}"' for p, u in bound.items())
    rows = "".join(
        f'<tr><td>Row {i}</td><td><ix:nonFraction name="{n}" contextRef="c" unitRef="u">{i + 1},000'
        "</ix:nonFraction></td></tr>"
        for i, n in enumerate(names)
    )
    return (
        f'{doctype}<{html} xmlns:ix="http://www.xbrl.org/2013/inlineXBRL" {bindings}><body>'
        f"<table><tr><td></td><td>2024</td></tr>{rows}</table></body></html>"
    )


def own(document):
    return sorted(document.gold[i] for i in document.own_tags)


@pytest.mark.parametrize("as_html", [False, True])
@pytest.mark.parametrize(
    ("prefix", "uri", "expected"),
    [
        ("gaap", GAAP, []),
        ("ifrs-full", IFRS, []),
        ("us-gaap", "http://xbrl.fasb.org/us-gaap/2011-01-31", []),
        ("us-gaap", "http://www.acme.com/20241231", ["Cash"]),
        ("acme", "http://www.acme.com/20241231", ["Cash"]),
    ],
)
def test_the_namespace_counts_not_the_prefix(tmp_path, as_html, prefix, uri, expected):
    path = tmp_path / "f.htm"
    text = page([f"{prefix}:Cash"], {prefix: uri})
    if as_html:
        text = text.replace("<body>", "<body><p>a<br>b")  # not well-formed
    path.write_text(text)
    document = read_document(path)
    assert own(document) == expected
    assert set(document.tags.values()) == {(uri, "Cash")}
    assert ("not well-formed" in " ".join(document.notes)) is as_html


def taxonomy(name, *ids):
    return Taxonomy([Concept(id=i, label=i) for i in ids], name)


def test_an_unbound_prefix_stands_for_itself():
    assert is_standard("us-gaap")
    assert is_standard("ifrs-full")
    assert not is_standard("acme")
    assert not is_standard("http://www.fasb.organic.com/x")


def test_which_namespaces_are_the_taxonomys():
    acme = "http://acme.com/2024"
    tags = {"1": (GAAP, "Cash"), "2": (GAAP, "Debt"), "3": (acme, "Cash"), "4": (IFRS, "Equity")}
    assert namespaces_of(tags, taxonomy("us-gaap-2024", "Cash", "Equity")) == {GAAP}
    assert namespaces_of(tags, taxonomy("ifrs-full-2023", "Cash")) == {IFRS}
    # a list of the user's own: the standard namespace with most of its concepts, not acme's Cash beside it
    assert namespaces_of(tags, taxonomy("mine", "Cash", "Debt")) == {GAAP}
    assert namespaces_of(tags, taxonomy("mine", "Cash", "Debt", "Equity")) == {GAAP, IFRS}
    assert namespaces_of({**tags, "5": (acme, "Dogs")}, taxonomy("acme", "Dogs")) == {acme}
    assert namespaces_of(tags, taxonomy("mine", "Cats")) == set()
    assert namespaces_of({}, taxonomy("mine", "Cats")) == set()
