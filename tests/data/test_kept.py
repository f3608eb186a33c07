"""Facts that are kept in a file: what is read back is what was given."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from abduce import InputError
from abduce.data.facts import keep_facts, read_facts
from abduce.data.kept import Chosen, FactsOf


@pytest.fixture
def facts(tmp_path):
    rows = [
        {
            "fact_id": f"f{i}",
            "value": f"{i}\u2028é",
            "gold": "Cash" if i % 2 else "",
            "datatype": "us-gaap:t" if i % 3 else None,
            "row_header": "Cash",
            "row_index": i,
            **({"source_context": f"own {i}"} if i % 5 == 0 else {"context_id": f"c{i % 2}"}),
        }
        for i in range(30)
    ]
    path = tmp_path / "facts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    contexts = [{"context_id": f"c{i}", "source_context": f"shared {i}"} for i in range(2)]
    (tmp_path / "contexts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in contexts))
    return path


def told(example):
    return (
        (example, dict(example.inputs), example.fingerprint())[1:],
        example.id,
        example.gold,
        example.groups,
    )


def test_every_example_comes_back_as_it_was(facts):
    kept, plain = keep_facts(facts), list(read_facts(facts))
    assert len(kept) == len(plain) == 30
    assert [told(e) for e in kept] == [told(e) for e in plain]
    assert [told(e) for e in kept[3:9:2]] == [told(e) for e in plain[3:9:2]]
    assert told(kept[-1]) == told(plain[-1])
    assert kept[1].inputs["fact"].context is kept[3].inputs["fact"].context
    assert FactsOf(kept)[5].context.text == "own 5"
    with pytest.raises(IndexError):
        kept[30]


def test_threads_read_their_own(facts):
    kept = keep_facts(facts)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: kept[i % 30].inputs["fact"].fact_id, range(600)))
    assert found == [f"f{i % 30}" for i in range(600)]


def test_some_of_them_by_place_and_changed(facts):
    some = Chosen(keep_facts(facts), [7, 2], lambda e: e)
    assert [e.id for e in some] == ["f7", "f2"]
    assert [f.fact_id for f in FactsOf(some)[:1]] == ["f7"]


def test_an_id_that_stands_twice_is_told_by_its_line(facts):
    first = facts.read_text().splitlines()[4]
    facts.write_text(facts.read_text() + first + "\n")
    with pytest.raises(
        InputError, match=r"facts.jsonl:31: field 'fact_id': duplicate id 'f4', first in line 5"
    ):
        keep_facts(facts)
    bad = []
    assert len(keep_facts(facts, bad=bad)) == 30
    assert "duplicate id 'f4', as in an earlier line" in str(bad[0])
