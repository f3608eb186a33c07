"""Named prompt sets for the question family: other words and order of inputs, the same types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import dspy

from ...signatures.prompting import Prompt, fingerprint, load_prompts

DEFAULT = "default"
"""The set that changes nothing: the signatures as they are written."""


def table_of(signature: Any) -> str:
    """A signature's table in a prompt set: of ``RewriteByHypothesis`` it is ``rewrite_by_hypothesis``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", signature.__name__).lower()


def own_prompts(prompts: str) -> dict[str, Any] | None:
    """What a set of the user's own says, for the resume key; None for the default."""
    if prompts == DEFAULT:
        return None
    return {name: prompt.model_dump(mode="json") for name, prompt in load_prompts(prompts).items()}


def reword(program: dspy.Module, prompts: str) -> None:
    """Give a program's predictors the words of a prompt set. What the set lacks stays as it is.

    Raises:
        ValueError: no such set, none of its tables is a predictor of the program, a table orders or describes
            other inputs than the signature has, or was written for another signature.
    """
    if prompts == DEFAULT:
        return
    tables = load_prompts(prompts)
    known: dict[str, dspy.Predict] = {table_of(p.signature): p for _, p in program.named_predictors()}
    if not tables.keys() & known.keys():
        raise ValueError(f"prompt set {prompts}: none of its tables is one of {', '.join(sorted(known))}")
    for name, predictor in known.items():
        if name in tables:
            predictor.signature = _reworded(predictor.signature, tables[name], f"{prompts}: [{name}]")


def _reworded(signature: Any, prompt: Prompt, where: str) -> Any:
    inputs: Mapping[str, Any] = signature.input_fields
    order = prompt.order or tuple(inputs)
    if set(order) != set(inputs) or len(order) != len(inputs) or not set(prompt.fields) <= set(inputs):
        raise ValueError(f"prompt set {where} must order exactly {sorted(inputs)}")
    if prompt.fingerprint and prompt.fingerprint != fingerprint(
        dict.fromkeys(inputs, ""), signature.output_fields["answer"].annotation
    ):
        raise ValueError(f"prompt set {where} was written for another signature")
    fields: dict[str, Any] = {}
    for name in order:
        told = prompt.fields.get(name) or inputs[name].json_schema_extra["desc"]
        fields[name] = (inputs[name].annotation, dspy.InputField(desc=told))
    fields |= {name: (f.annotation, f) for name, f in signature.output_fields.items()}
    return dspy.make_signature(fields, prompt.instructions.strip(), signature.__name__)
