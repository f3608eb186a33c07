"""A small service: twelve concepts, a corpus of three passages, no model."""

import json

import pytest
from abduce.asking.asker import Asker
from abduce.serve.limits import Limits
from abduce.serve.service import Service
from abduce.tagging.tagger import Tagger

PASSAGES = [
    ("p1", "Scurvy", "Scurvy is prevented by vitamin C, which fresh fruit holds."),
    ("p2", "Anaemia", "A lack of vitamin B12 leads to anaemia."),
    ("p3", "Rickets", "Rickets is prevented by vitamin D and sunlight."),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A taxonomy and a corpus, as files."""
    folder = tmp_path_factory.mktemp("service")
    concepts = [
        ("Cash", "Cash", "Amount of cash on hand."),
        ("DebtCurrent", "Debt, Current", "Amount of debt due within one year."),
        ("Goodwill", "Goodwill", "Amount of goodwill."),
        ("Revenues", "Revenues", "Amount of revenue recognised."),
    ]
    rows = [
        {"id": i, "label": label, "definition": text, "datatype": "monetaryItemType"}
        for i, label, text in concepts
    ]
    (folder / "concepts.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    passages = [{"id": i, "title": t, "content": c} for i, t, c in PASSAGES]
    (folder / "passages.jsonl").write_text("".join(json.dumps(p) + "\n" for p in passages))
    return folder


@pytest.fixture(scope="module")
def make_service(files):
    """Makes the service, with limits of its own."""

    def make(corpus=True, **limits):
        tagger = Tagger(files / "concepts.jsonl", "locus")
        asker = Asker(files / "passages.jsonl", answer=False) if corpus else None
        return Service(tagger, asker, Limits(**limits))

    return make


SHEET = 'item,2024\nGoodwill,"1,204"\nCash on hand,75\nRevenue,9\n'


@pytest.fixture
def sheet():
    return SHEET
