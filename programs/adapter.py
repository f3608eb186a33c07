"""How a signature becomes messages and a reply becomes fields: strict JSON, nothing repaired.

DSPy's JSON adapter rebuilds the answer's schema and the system message on every call, shows the schema as
an escaped string, and repairs replies that are not JSON. This one builds both once a signature, shows the
schema as it goes over the wire, and accepts a reply only if it is complete JSON of the right types. What it
forgives is harmless: a ``<think>`` block or prose before the object, a code fence around it, keys that no
field has, a number where a text is wanted.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Annotated, Any
from weakref import WeakKeyDictionary

import dspy
import pydantic
from dspy.utils.exceptions import AdapterParseError

_FENCE = re.compile(r"^```[a-zA-Z]*\s*\n?(.*?)\n?```$", re.DOTALL)
_THOUGHT = "</think>"


@dataclass(frozen=True)
class _Shape:
    """What does not change between two calls of one signature."""

    response_format: dict[str, Any]
    inputs: tuple[str, ...]
    types: dict[str, pydantic.TypeAdapter[Any]]
    system: str
    requirement: str


class StrictJSON(dspy.JSONAdapter):
    """A JSON adapter that keeps what it derives from a signature, and that never repairs a reply.

    Constraints of output fields reach the wire also where they stand on the field itself
    (``Annotated[str, StringConstraints(max_length=400)]``). Safe to share between threads.
    """

    def __init__(self) -> None:
        super().__init__(use_native_function_calling=False)
        self._shapes: WeakKeyDictionary[type[dspy.Signature], _Shape] = WeakKeyDictionary()

    def __deepcopy__(self, memo: dict[int, Any]) -> StrictJSON:
        return self

    def _shape(self, signature: type[dspy.Signature]) -> _Shape:
        shape = self._shapes.get(signature)
        if shape is None:
            fields: dict[str, Any] = {
                name: Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
                for name, info in signature.output_fields.items()
            }
            format_ = answer_format(signature.__name__, fields)
            parts = [
                self.format_field_description(signature),
                _structure(signature, format_["json_schema"]["schema"]),
                self.format_task_description(signature),
            ]
            named = ", ".join(f"`{name}`" for name in fields)
            shape = _Shape(
                response_format=format_,
                inputs=tuple(signature.input_fields),
                types={name: pydantic.TypeAdapter(type_) for name, type_ in fields.items()},
                system="\n\n".join(parts),
                requirement=f"Respond with one JSON object that follows the schema: {named}.",
            )
            self._shapes[signature] = shape
        return shape

    def _prepare_response_format(
        self, lm: dspy.BaseLM, lm_kwargs: dict[str, Any], signature: type[dspy.Signature]
    ) -> None:
        if "response_format" not in lm.supported_params:
            return
        strict = lm.supports_response_schema
        lm_kwargs["response_format"] = (
            self._shape(signature).response_format if strict else {"type": "json_object"}
        )

    def format_system_message(self, signature: type[dspy.Signature]) -> str:
        return self._shape(signature).system

    def format_user_message_content(
        self,
        signature: type[dspy.Signature],
        inputs: dict[str, Any],
        prefix: str = "",
        suffix: str = "",
        main_request: bool = False,
    ) -> str:
        shape = self._shape(signature)
        given = [(name, inputs[name]) for name in shape.inputs if name in inputs]
        if not all(isinstance(value, str) for _, value in given):
            text: str = super().format_user_message_content(signature, inputs, prefix, suffix, main_request)
            return text
        parts = [prefix, *(f"[[ ## {name} ## ]]\n{value}" for name, value in given)]
        if main_request:
            parts.append(shape.requirement)
        return "\n\n".join([*parts, suffix]).strip()

    def user_message_output_requirements(self, signature: type[dspy.Signature]) -> str:
        return self._shape(signature).requirement

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """The fields of a reply.

        Raises:
            AdapterParseError: not complete JSON, a field missing or of the wrong type, or thinking in it.
        """
        try:
            found = json_object(completion)
            types = self._shape(signature).types
            missing = [name for name in types if name not in found]
            if missing:
                raise ValueError(f"no field {', '.join(missing)}")
            return {name: _typed(found[name], type_, name) for name, type_ in types.items()}
        except ValueError as error:
            raise AdapterParseError(
                adapter_name="StrictJSON", signature=signature, lm_response=completion, message=str(error)
            ) from None


def json_object(reply: str) -> dict[str, Any]:
    """The JSON object of a reply, after what a model may put around it.

    Raises:
        ValueError: there is none, it is incomplete, or thinking is left inside.
    """
    text = reply.rsplit(_THOUGHT, 1)[-1].strip() if _THOUGHT in reply else reply.strip()
    if "<think>" in text:
        raise ValueError("the reply ends in the middle of its thinking")
    fenced = _FENCE.match(text)
    if fenced:
        text = fenced.group(1).strip()
    start = text.find("{")
    if start < 0:
        raise ValueError("the reply is empty" if not text else "the reply holds no JSON object")
    try:
        found, _ = json.JSONDecoder(strict=False).raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise ValueError(f"the reply is not complete JSON: {error.msg} at character {error.pos}") from None
    return dict(found)


def answer_format(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The ``response_format`` that asks for an object with exactly these typed fields.

    Every property is required and no other is allowed, at every level, as strict servers want it.
    """
    typed: dict[str, Any] = {field: (type_, ...) for field, type_ in fields.items()}
    model = pydantic.create_model(f"{name}Answer", __config__=pydantic.ConfigDict(extra="forbid"), **typed)
    schema = _closed(model.model_json_schema())
    return {"type": "json_schema", "json_schema": {"name": f"{name}Answer", "schema": schema, "strict": True}}


def _structure(signature: type[dspy.Signature], schema: dict[str, Any]) -> str:
    """The shape of both sides of the conversation; the schema is the one on the wire, written once."""
    inputs = "\n\n".join(f"[[ ## {name} ## ]]\n{{{name}}}" for name in signature.input_fields)
    written = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    parts = (
        "The input has this structure:",
        inputs,
        "The output is one JSON object of this schema:",
        written,
    )
    return "\n\n".join(parts)


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {
        key: {name: _closed(part) for name, part in value.items()}
        if key in ("properties", "$defs") and isinstance(value, dict)
        else _closed(value)
        for key, value in schema.items()
        if key not in ("title", "default")
    }
    if closed.get("type") == "object":
        if isinstance(closed.get("additionalProperties"), dict):
            raise TypeError("an answer with free keys has no strict schema: declare its fields")
        closed["properties"] = closed.get("properties", {})
        closed["required"] = list(closed["properties"])
        closed["additionalProperties"] = False
    return closed


def _typed(value: Any, type_: pydantic.TypeAdapter[Any], name: str) -> Any:
    candidates = [value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        candidates.append(str(value))
    elif isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            candidates.append(json.loads(value))
        except json.JSONDecodeError:
            candidates = [value]
    failure: pydantic.ValidationError | None = None
    for candidate in candidates:
        try:
            return type_.validate_python(candidate)
        except pydantic.ValidationError as error:
            failure = failure or error
    assert failure is not None
    first = failure.errors(include_url=False, include_input=False)[0]
    place = ".".join([name, *(str(part) for part in first["loc"])])
    raise ValueError(f"{place}: {first['msg']}")
