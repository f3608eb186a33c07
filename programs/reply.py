"""The JSON objects in what a model says, apart from what it thinks.

A reply may hold thinking in one of many forms, prose, a code fence, or a draft before the answer. The objects
outside of the thinking are found in one pass; the caller takes the last one that fits its types.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

_TAGS = "think|thinking|thought|thoughts|reason|reasoning|analysis|reflection|scratchpad|seed:think|mm:think"
_CLOSE = (
    rf"</(?:{_TAGS})>|\[/THINK\]|◁/think▷|<\|(?:end_of_thought|END_THINKING)\|>|<unused95>|<channel\|>"
    r"|<\|channel\|>final\b|<\|end\|>|assistantfinal|Here is my response:|\[BEGIN FINAL RESPONSE\]"
)
_OPEN = (
    rf"<(?:{_TAGS})>|\[THINK\]|◁think▷|<\|(?:begin_of_thought|START_THINKING)\|>|<unused94>"
    r"|<\|channel>|<\|channel\|>(?!final\b|commentary\b)"
)
_ENDS = re.compile(_CLOSE, re.IGNORECASE)
_MARKS = re.compile(rf"(?P<close>{_CLOSE})|(?P<open>{_OPEN})|{{(?=\s*[\"}}])", re.IGNORECASE)
_INSIDE = re.compile(r"</?think(?:ing)?>|\[/?THINK\]|◁/?think▷", re.IGNORECASE)
"""Marks that no answer's text holds: an object with one in it was begun in the thinking, or thinks itself."""

_MOST_FAILURES = 1_000
"""Objects of a reply that begin and are none; an error of the decoder costs as much as the text before it."""

_BLANK = re.compile(r"(?:\s|```[a-zA-Z]*|<\|[a-z_]+\|>)*")
"""What may stand around an object without saying anything: white space, a fence, a token of the template."""


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_no_number)


@dataclass(frozen=True)
class ReplyObject:
    """An object of a reply; ``alone``: nothing but blanks stands before it, or nothing but blanks after."""

    value: dict[str, Any]
    alone: bool


def json_objects(reply: str) -> list[ReplyObject]:
    """The complete objects of a reply outside of its thinking, in order; linear in its length.

    Raises:
        ValueError: there is none; the text says what there is instead.
    """
    if reply.lstrip()[:1] == '"':
        reply = _unquoted(reply)
    found: list[tuple[dict[str, Any], bool, int]] = []
    problem = "the reply holds no JSON object" if reply.strip() else "the reply is empty"
    at = visible = spent = failed = 0
    while (mark := _MARKS.search(reply, at)) is not None:
        if mark["close"]:
            # A template may write the opening mark into the prompt: all before this was thinking.
            found.clear()
            at = visible = mark.end()
        elif mark["open"]:
            end = _ENDS.search(reply, mark.end())
            if end is None:
                problem = "the reply ends in the middle of its thinking"
                break
            at = visible = end.end()
        else:
            start = mark.start()
            value, at, why = _object_at(reply, start)
            spent += (len(reply) if "Unterminated" in why else at) - start
            if (inside := _INSIDE.search(reply, start, at)) is not None:
                at, value, why = inside.start(), None, "thinking is left inside the object"
            if value is not None:
                found.append((value, _blank(reply, visible, start), at))
                continue
            problem = why
            failed += 1
            if at >= len(reply.rstrip()) or failed > _MOST_FAILURES or spent > 8 * len(reply) + 10_000:
                break
    if not found:
        raise ValueError(problem)
    return [ReplyObject(v, first or _blank(reply, end, len(reply))) for v, first, end in found]


def json_object(reply: str) -> dict[str, Any]:
    """The last JSON object of a reply.

    Raises:
        ValueError: as :func:`json_objects`.
    """
    return json_objects(reply)[-1].value


def json_value(text: str) -> Any:
    """A JSON text's value; whatever its depth or its numbers, at worst a ValueError."""
    try:
        return json.loads(text, strict=False, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _object_at(text: str, start: int) -> tuple[dict[str, Any] | None, int, str]:
    """The object that begins at ``start`` and where it ends; None, where to go on, and what is wrong."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        why = f"the reply is not complete JSON: {error.msg} at character {error.pos}"
        return None, max(start + 1, error.pos), why
    except RecursionError:
        return None, len(text), "the reply's JSON is nested too deeply"
    except ValueError as error:
        return None, start + 1, f"the reply is not JSON: {error}"
    return dict(value), end, ""


def _blank(text: str, start: int, end: int) -> bool:
    match = _BLANK.match(text, start, end)
    return match is not None and match.end() == end


def _unquoted(reply: str) -> str:
    """A reply that is one JSON string holding the answer's JSON."""
    try:
        inner = json_value(reply.strip())
    except ValueError:
        return reply
    return inner if isinstance(inner, str) else reply
