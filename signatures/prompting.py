"""Named prompt sets: the text of each predictor's instructions and the order of its parts.

A set is a TOML file, one table per predictor (``prompts/*.toml``, or a path of the user's own). It
changes text and order, never types: a table that names other inputs than the signature has, or that
was written for another fingerprint, is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

import dspy
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .dimensions import DimensionSchema
from .toml import named_text, one_line, parse_toml


class Prompt(BaseModel):
    """One predictor's text.

    Args:
        instructions: the task; ``{evidence}``, ``{concept}`` and ``{dimensions}`` are filled from the
            schema.
        order: the signature's inputs, in the order in which the prompt shows them.
        fields: descriptions of inputs, by name.
        fingerprint: of the signature it was written for; empty: not checked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    instructions: str = Field(min_length=1)
    order: tuple[str, ...] = ()
    fields: Mapping[str, str] = Field(default_factory=dict)
    fingerprint: str = ""


@lru_cache(maxsize=16)
def load_prompts(name: str) -> dict[str, Prompt]:
    """A prompt set by name (``default``, ``paper``) or by the path of a TOML file.

    Raises:
        ValueError: no such set, or a table of it is not a prompt; one line says which.
    """
    text = named_text(name, resources.files(__package__) / "prompts", "prompt set")
    try:
        tables = parse_toml(text)
    except ValueError as e:
        raise ValueError(f"prompt set {name}: {e}") from e
    found = {}
    for key, table in tables.items():
        try:
            found[key] = Prompt.model_validate(table)
        except ValidationError as e:
            raise ValueError(f"prompt set {name}: [{key}] {one_line(e)}") from e
    return found


def fingerprint(inputs: Mapping[str, str], output: type[BaseModel]) -> str:
    """Changes whenever a signature's inputs or the JSON schema of its answer do."""
    shape = {"inputs": sorted(inputs), "answer": output.model_json_schema()}
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:16]


def describe(schema: DimensionSchema) -> str:
    """The schema's dimensions, one line each."""
    return "\n".join(f"- {d.name}: {d.description}" for d in schema.dimensions)


def build_signature(
    name: str,
    inputs: Mapping[str, str],
    output: type[BaseModel],
    prompts: str,
    schema: DimensionSchema | None = None,
    hidden: Collection[str] = (),
) -> type[dspy.Signature]:
    """The signature of predictor ``name``: its typed inputs and one ``answer``, worded by a prompt set.

    Args:
        inputs: input name to its default description; all inputs are texts.
        output: the pydantic type of ``answer``.
        prompts: name or path of the prompt set. A set of the user's own need not have every
            predictor: what it lacks is taken from ``default``.
        schema: fills the placeholders of the instructions; the inputs that it is ``without`` are left out.
        hidden: inputs that this signature leaves out, although the set orders them.

    Raises:
        ValueError: the set has no such predictor, or does not fit the signature.
    """
    prompt = load_prompts(prompts).get(name) or load_prompts("default").get(name)
    if prompt is None:
        raise ValueError(f"prompt set {prompts}: no table [{name}]")
    order = prompt.order or tuple(inputs)
    strangers = (set(order) ^ set(inputs)) | (set(prompt.fields) - set(inputs))
    if strangers or len(set(order)) != len(order):
        raise ValueError(f"prompt set {prompts}: [{name}] must order exactly {sorted(inputs)}")
    if prompt.fingerprint and prompt.fingerprint != fingerprint(inputs, output):
        raise ValueError(f"prompt set {prompts}: [{name}] was written for another signature")
    instructions = prompt.instructions.strip()
    if schema is not None:
        marks = {"{evidence}": schema.evidence, "{concept}": schema.concept, "{dimensions}": describe(schema)}
        for mark, text in marks.items():
            instructions = instructions.replace(mark, text)
    left_out = {*hidden, *(() if schema is None else schema.without)}
    order = tuple(f for f in order if f not in left_out)
    words = {**inputs, **({} if schema is None else schema.fields), **prompt.fields}
    fields: dict[str, Any] = {f: (str, dspy.InputField(desc=words[f])) for f in order}
    fields["answer"] = (output, dspy.OutputField(desc="the answer as JSON"))
    title = "".join(part.capitalize() for part in name.split("_"))
    signature: type[dspy.Signature] = dspy.make_signature(fields, instructions, title)
    return signature
