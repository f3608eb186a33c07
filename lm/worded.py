"""Replies without text: what stands in its place."""

from __future__ import annotations

import json
from dataclasses import replace

from dspy import lm15


def with_text(response: lm15.Response) -> lm15.Response:
    """A reply with empty content whose object is in a tool call, or is the whole reasoning (put there by the
    server's parser): the object becomes its text.
    """
    if (response.text or "").strip():
        return response
    for part in response.message.parts:
        if isinstance(part, lm15.ToolCallPart) and part.input:
            return _saying(response, json.dumps(part.input))
        if isinstance(part, lm15.ThinkingPart) and response.finish_reason != "length":
            text = part.text.strip().removeprefix("```json").strip("`").strip()
            if text.startswith("{") and text.endswith("}"):
                return _saying(response, text)
    return response


def _saying(response: lm15.Response, text: str) -> lm15.Response:
    message = lm15.Message(role="assistant", parts=(lm15.TextPart(text=text),))
    finish = "stop" if response.finish_reason == "tool_call" else response.finish_reason
    return replace(response, message=message, finish_reason=finish)


def elsewhere(response: lm15.Response) -> str:
    """Where the words of a reply without text are, and which setting helps; empty if it has text."""
    if (response.text or "").strip():
        return ""
    for part in response.message.parts:
        if isinstance(part, lm15.ThinkingPart):
            return (
                "its words stand in reasoning_content: raise max_tokens, set thinking = false, or serve "
                "without a reasoning parser"
            )
        if isinstance(part, lm15.RefusalPart):
            return f"the model refuses: {part.text[:200]}"
        if isinstance(part, lm15.ToolCallPart):
            return "it holds a tool call without arguments"
    return "the server's filter held it back" if response.finish_reason == "content_filter" else ""
