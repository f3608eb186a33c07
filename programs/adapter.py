"""How a signature becomes messages and a reply becomes fields: strict JSON, nothing repaired.

DSPy's JSON adapter rebuilds the answer's schema and the system message on every call, shows the schema as
an escaped string, and repairs replies that are not JSON. This one builds both once a signature, shows the
schema as it goes over the wire, and accepts a reply only if it holds complete JSON of the right types; of
several objects the last that fits. What it forgives is harmless: thinking, a draft or prose before the
object, a code fence around it, keys that no field has, the schema's name around the fields, the only field's
own keys without it, a number where a text is wanted.
"""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass
from typing import Annotated, Any
from weakref import WeakKeyDictionary

import dspy
import pydantic
from dspy.utils.exceptions import AdapterParseError

from .reply import json_objects, json_value

_MARK = re.compile(r"\[\[\s{0,8}##")


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
        # No input can begin another section: the mark of one is taken apart where it stands in a text.
        parts = [prefix, *(f"[[ ## {name} ## ]]\n{_MARK.sub('[ [ ##', value)}" for name, value in given)]
        if main_request:
            parts.append(shape.requirement)
        return "\n\n".join([*parts, suffix]).strip()

    def user_message_output_requirements(self, signature: type[dspy.Signature]) -> str:
        return self._shape(signature).requirement

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """The fields of a reply: of its last object outside of the thinking that fits the types.

        Where the reply was cut off (``dspy.settings.receipt`` knows), an object counts only if nothing but
        blanks stands before or after it: it may be a draft in the middle of thinking.

        Raises:
            AdapterParseError: no complete object, a field missing or of the wrong type, or only thinking.
        """
        receipt = dspy.settings.get("receipt")
        try:
            found = json_objects(completion)
            if receipt is not None and receipt.cut_off:
                found = [one for one in found if one.alone]
            failure = ValueError("the reply was cut off before its answer was complete")
            for one in reversed(found):
                try:
                    return self._fields(signature, one.value)
                except ValueError as error:
                    failure = error if one is found[-1] else failure
            raise failure
        except ValueError as error:
            raise AdapterParseError(
                adapter_name="StrictJSON", signature=signature, lm_response=completion, message=str(error)
            ) from None

    def _fields(self, signature: type[dspy.Signature], found: dict[str, Any]) -> dict[str, Any]:
        types = self._shape(signature).types
        if len(found) == 1 and not types.keys() & found.keys():
            (inner,) = found.values()
            found = inner if isinstance(inner, dict) else found
        if len(types) == 1 and not types.keys() & found.keys():
            (only,) = types
            try:
                return {only: _typed(found, types[only], only)}
            except ValueError:
                raise ValueError(f"no field {only}") from None
        missing = [name for name in types if name not in found]
        if missing:
            raise ValueError(f"no field {', '.join(missing)}")
        return {name: _typed(found[name], type_, name) for name, type_ in types.items()}


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
            candidates.append(json_value(value))
        except ValueError:
            candidates = [value]
    failure: pydantic.ValidationError | None = None
    for candidate in candidates:
        try:
            return type_.validate_python(candidate)
        except pydantic.ValidationError as error:
            failure = failure or error
    assert failure is not None
    if (trimmed := _without_strangers(value, failure)) is not None:
        return type_.validate_python(trimmed)
    first = failure.errors(include_url=False, include_input=False)[0]
    place = ".".join([name, *(str(part) for part in first["loc"])])
    raise ValueError(f"{place}: {first['msg']}")


def _without_strangers(value: Any, failure: pydantic.ValidationError) -> Any | None:
    """A value without the keys that no field has, where they are all that is wrong with it."""
    problems = failure.errors(include_url=False, include_input=False)
    if not all(problem["type"] == "extra_forbidden" for problem in problems):
        return None
    trimmed = copy.deepcopy(value)
    for problem in problems:
        *path, last = problem["loc"]
        place = trimmed
        for step in path:
            place = place[step]
        del place[last]
    return trimmed
