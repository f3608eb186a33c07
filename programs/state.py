"""Saved program state that loads only into the signatures it was made for.

DSPy keeps field descriptions by position, so a state loads without complaint into a signature that has
changed since. Every abduce program therefore writes a fingerprint of each predictor's inputs and answer
type, and refuses a state whose fingerprints differ. Only JSON is written and read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, ClassVar

import dspy
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ..signatures.toml import one_line
from .running import Part

FINGERPRINTS = "abduce_fingerprints"

LENGTHS = frozenset({"too_long", "too_short"})
"""Complaints that say nothing against a demonstration: how many verdicts there are differs by call."""


def must_be(name: str, value: object, type_: type) -> None:
    """Raise TypeError where an argument is of another type."""
    if not isinstance(value, type_):
        article = "an" if type_.__name__[0] in "AEIOU" else "a"
        raise TypeError(f"{name} must be {article} {type_.__name__}, got {type(value).__name__}")


def predictor_fingerprint(signature: type[dspy.Signature]) -> str:
    """Changes whenever a signature's input names or the JSON schemas of its outputs do."""
    outputs = {
        name: TypeAdapter(field.annotation).json_schema() for name, field in signature.output_fields.items()
    }
    shape = {"inputs": list(signature.input_fields), "outputs": outputs}
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:16]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Wording(_Strict):
    prefix: str
    description: str


class _Signature(_Strict):
    instructions: str
    fields: list[_Wording]


class _Predictor(_Strict):
    """What a state may say of one predictor. DSPy would set any other key as an attribute, and would send
    all calls to the server that ``lm`` names: a state never chooses one."""

    signature: _Signature
    demos: list[dict[str, Any]] = []
    traces: list[Any] = []
    train: list[Any] = []
    fields: dict[str, Any] = Field(default={}, max_length=0)
    lm: None = None


def _checked(name: str, state: Any, signature: type[dspy.Signature]) -> None:
    """Refuse a predictor's state that is more than words and demonstrations of the right types.

    Raises:
        ValueError: the text says which field.
    """
    if isinstance(state, dict) and state.get("lm") is not None:
        raise ValueError(f"the state of {name!r} names a model (lm): a program state never chooses a server")
    try:
        found = _Predictor.model_validate(state)
    except ValidationError as e:
        raise ValueError(f"the state of {name!r}: {one_line(e)}") from None
    if len(found.signature.fields) != len(signature.fields):
        raise ValueError(
            f"the state of {name!r} words {len(found.signature.fields)} fields, not as many as it has"
        )
    outputs = {n: TypeAdapter(field.annotation) for n, field in signature.output_fields.items()}
    for number, demo in enumerate(found.demos, 1):
        for field, value in demo.items():
            where = f"the state of {name!r}: demonstration {number}: {field}"
            if field in signature.input_fields and not isinstance(value, str):
                raise ValueError(f"{where}: must be a text, not {type(value).__name__}")
            if field in outputs:
                try:
                    outputs[field].validate_python(value)
                except ValidationError as e:
                    if any(error["type"] not in LENGTHS for error in e.errors()):
                        raise ValueError(f"{where}: {one_line(e)}") from None


class Stateful(Part):
    """A module whose saved state carries fingerprints (``program.save("x.json")``, ``program.load``).

    Inputs that ``takes`` names must be of its types.
    """

    takes: ClassVar[Mapping[str, type]] = {}

    def __call__(self, *args: Any, **inputs: Any) -> Any:
        """Run it in this thread.

        Raises:
            TypeError: an input of another type than :attr:`takes` names.
        """
        return super().__call__(**self._named(args, inputs))

    async def acall(self, *args: Any, **inputs: Any) -> Any:
        """Run it on the caller's event loop; raises as calling it does."""
        return await super().acall(**self._named(args, inputs))

    def _named(self, args: tuple[Any, ...], inputs: Mapping[str, Any]) -> dict[str, Any]:
        """All inputs by name, and of the right types."""
        named = {**dict(zip(self.takes, args, strict=False)), **inputs}
        for name, type_ in self.takes.items():
            if name in named:
                must_be(name, named[name], type_)
        return named

    def fingerprints(self) -> dict[str, str]:
        """A fingerprint for each predictor, by its name in the program."""
        return {name: predictor_fingerprint(p.signature) for name, p in self.named_predictors()}

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """DSPy's state of every predictor without its model, and the fingerprints."""
        state: dict[str, Any] = super().dump_state(json_mode)
        for name in self.fingerprints():
            state[name]["lm"] = None
        return {**state, FINGERPRINTS: self.fingerprints()}

    def load_state(self, state: dict[str, Any], **kwargs: Any) -> None:
        """Take over instructions and demonstrations.

        Raises:
            ValueError: it is no state of an abduce program, was made for other predictors, inputs or answer
                types, or holds anything but words and demonstrations of the right types (a model above all);
                nothing is loaded then.
        """
        rest = dict(state)
        saved = rest.pop(FINGERPRINTS, None)
        if not isinstance(saved, dict):
            raise ValueError("the state has no fingerprints: it was not saved by an abduce program")
        own = self.fingerprints()
        if saved.keys() != own.keys():
            strange = sorted(saved.keys() ^ own.keys())
            raise ValueError(f"the state is of another program: it differs in the predictor {strange[0]!r}")
        changed = [name for name in own if own[name] != saved[name]]
        if changed:
            raise ValueError(f"the state was made for another signature of the predictor {changed[0]!r}")
        for name, predictor in self.named_predictors():
            _checked(name, rest.get(name), predictor.signature)
        super().load_state(rest, **kwargs)
