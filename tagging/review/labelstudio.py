"""Label Studio: import tasks with suggestions, and the annotations of its export as decisions.

A task is one fact. ``text`` describes its place in words; value and locus are separate fields. The concept is
a ``Choices`` group of the fact's own candidates (``value="$candidates"``). ``other`` is a text field for any
other concept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any

from ...retrievers.errors import InputError
from ...retrievers.outside import read_json
from ..decisions import DECIDED, Decision
from ..tags import Tags
from ..tags_file import locus_of

CONFIG = """<View>
  <Header value="$value"/>
  <Text name="text" value="$text"/>
  <Choices name="concept" toName="text" value="$candidates" choice="single" layout="vertical"/>
  <TextArea name="other" toName="text" maxSubmissions="1" placeholder="a concept that is not among them"/>
  <Choices name="verdict" toName="text" choice="single" showInline="true">
    <Choice value="none is right"/>
    <Choice value="is no fact"/>
  </Choices>
  <TextArea name="note" toName="text" maxSubmissions="1" placeholder="note"/>
</View>
"""
"""The labelling interface to paste into a project of Label Studio."""

NONE = "none is right"
REJECTED = frozenset({NONE, "is no fact"})
CANDIDATES = 9
AROUND = 400
"""Characters of a text before and after a mention."""


def tasks(tags: Tags, decisions: Mapping[str, Decision]) -> list[dict[str, Any]]:
    """One task per fact: ``data``, the suggestion as a prediction, and the decision as an annotation."""
    made = []
    for tag in tags:
        fact, decision = tag.fact, decisions.get(tag.fact.fact_id)
        candidates = list(tag.ranking.ids[:CANDIDATES])
        suggested = tag.concept
        if decision is not None and decision.concept:
            suggested = decision.concept if decision.state == "suggested" else suggested
            if decision.concept not in candidates:
                candidates.insert(0, decision.concept)
        text = locus_of(fact, tags.serializer)
        if fact.modality == "text" and fact.mention_start is not None and fact.mention_end is not None:
            start, end = max(0, fact.mention_start - AROUND), fact.mention_end + AROUND
            text = fact.context.text[start:end]
        task: dict[str, Any] = {
            "data": {
                "fact_id": fact.fact_id,
                "value": fact.value,
                "text": text or fact.value,
                "datatype": fact.datatype or "",
                "company": fact.company or "",
                "candidates": [{"value": c, "hint": _label(c, tags)} for c in candidates],
            }
        }
        if suggested:
            prediction: dict[str, Any] = {
                "model_version": tags.program,
                "result": [_choice("concept", suggested)],
            }
            if tag.confidence is not None:
                prediction["score"] = round(tag.confidence, 4)
            task["predictions"] = [prediction]
        result = [] if decision is None else _result(decision)
        if result:
            task["annotations"] = [{"result": result}]
        made.append(task)
    return made


def _label(concept: str, tags: Tags) -> str:
    return tags.taxonomy[concept].label if concept in tags.taxonomy else ""


def _choice(name: str, value: str) -> dict[str, Any]:
    return {
        "id": f"{name}-0",
        "from_name": name,
        "to_name": "text",
        "type": "choices",
        "value": {"choices": [value]},
    }


def _result(decision: Decision) -> list[dict[str, Any]]:
    result = []
    if decision.state in DECIDED:
        result.append(_choice("concept", decision.concept))
    elif decision.state == "rejected":
        result.append(_choice("verdict", NONE))
    if decision.note:
        result.append(
            {
                "id": "note-0",
                "from_name": "note",
                "to_name": "text",
                "type": "textarea",
                "value": {"text": [decision.note]},
            }
        )
    return result


MAX_EXPORT = 256 * 2**20
"""Bytes of an export."""


def read_export(path: Path) -> Iterator[Decision]:
    """The decisions of a JSON export of Label Studio: each task's last annotation that was not cancelled.

    Raises:
        InputError: it cannot be read, is not such an export, or a task has no ``fact_id``.
    """
    found = read_json(path, MAX_EXPORT)
    if not isinstance(found, list):
        raise InputError("is no export of Label Studio: not a list of tasks", file=path)
    for number, task in enumerate(found, 1):
        try:
            fact_id = task["data"]["fact_id"]
            suggested = _suggested(task)
            kept = [a for a in task.get("annotations", ()) if not a.get("was_cancelled")]
            if not kept:
                continue
            decision = _decision(fact_id, kept[-1], suggested)
        except (KeyError, TypeError, AttributeError, IndexError) as e:
            raise InputError(f"task {number} is not one of abduce's: {e!r}", file=path) from e
        if decision is not None:
            yield decision


def _suggested(task: Mapping[str, Any]) -> str:
    for prediction in task.get("predictions", ()):
        if isinstance(prediction, Mapping):  # an export may give ids in place of predictions
            return _values(prediction["result"]).get("concept", "")
    return ""


def _values(result: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    values = {}
    for one in result:
        given = one["value"].get("choices") or one["value"].get("text") or [""]
        values[str(one["from_name"])] = unescape(str(given[0] if isinstance(given, list) else given)).strip()
    return values


def _decision(fact_id: str, annotation: Mapping[str, Any], suggested: str) -> Decision | None:
    values = _values(annotation["result"])
    concept = values.get("other") or values.get("concept") or ""
    record: dict[str, Any] = {
        "fact_id": fact_id,
        "note": values.get("note", ""),
        "at": str(annotation.get("updated_at") or annotation.get("created_at") or ""),
    }
    if values.get("verdict") in REJECTED:
        return Decision.of(record | {"state": "rejected"})
    if concept:
        return Decision.of(
            record | {"state": "accepted" if concept == suggested else "corrected", "concept": concept}
        )
    return Decision.of(record) if record["note"] else None
