"""Label Studio: tasks as its import takes them, and its export back."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from abduce.tagging.decisions import Decision
from abduce.tagging.review.labelstudio import CONFIG, read_export, tasks
from made_review import made_tags

TAGS = made_tags([["T0", "T6"], ["T0", "T6"], ["T1"]], [0.9, 0.8, None])
DECIDED = {
    "f0": Decision("f0", "accepted", "T0", note="a <b> & c"),
    "f1": Decision("f1", "corrected", "T9"),
    "f2": Decision("f2", "rejected"),
}


def exported(made: list[dict[str, Any]], path: Path) -> Path:
    path.write_text(json.dumps(made))
    return path


def test_every_name_of_a_result_is_in_the_configuration() -> None:
    names = {e.get("name"): e for e in ElementTree.fromstring(CONFIG).iter() if e.get("name")}
    for task in tasks(TAGS, DECIDED):
        for result in (
            r for part in ("predictions", "annotations") for one in task[part] for r in one["result"]
        ):
            control = names[result["from_name"]]
            assert control.get("toName") == result["to_name"] == "text"
            assert control.tag.lower() == result["type"]


def test_what_was_decided_comes_back(tmp_path: Path) -> None:
    found = list(read_export(exported(tasks(TAGS, DECIDED), tmp_path / "e.json")))
    assert [(d.fact_id, d.state, d.concept, d.note) for d in found] == [
        ("f0", "accepted", "T0", "a <b> & c"),
        ("f1", "corrected", "T9", ""),
        ("f2", "rejected", "", ""),
    ]
    assert [c["value"] for c in tasks(TAGS, DECIDED)[1]["data"]["candidates"]] == ["T9", "T0", "T6"]


def test_the_last_annotation_counts_and_cancelled_ones_do_not(tmp_path: Path) -> None:
    [first, *_] = tasks(TAGS, {})
    first["annotations"] = [
        {"result": [{"from_name": "concept", "value": {"choices": ["T0"]}}], "updated_at": "2026-01-01"},
        {"result": [{"from_name": "other", "value": {"text": ["T7"]}}], "updated_at": "2026-01-02"},
        {"result": [{"from_name": "concept", "value": {"choices": ["T6"]}}], "was_cancelled": True},
    ]
    [found] = read_export(exported([first], tmp_path / "e.json"))
    assert (found.state, found.concept, found.at) == ("corrected", "T7", "2026-01-02")


def test_a_task_that_nobody_looked_at_is_no_decision(tmp_path: Path) -> None:
    assert list(read_export(exported(tasks(TAGS, {}), tmp_path / "e.json"))) == []
