"""One fact or question of a data set with its gold answer, and fingerprints of what results depend on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Example:
    """One fact or question.

    Args:
        id: unique in the example set.
        inputs: the program's keyword arguments, ``{"fact": fact}`` or ``{"question": question}``.
        gold: the right id (or ids); only oracles see it.
        cluster: the unit that intervals resample: the source context's id, or the question's text. Empty: the
            example is a separate unit.
        groups: fields for breakdowns in the report (modality, datatype, subject ...).
        version: the fingerprint of inputs and gold, if already known; computed otherwise.
    """

    id: str
    inputs: Mapping[str, Any]
    gold: Any
    cluster: str = ""
    groups: Mapping[str, str] = field(default_factory=dict)
    version: str = ""

    def fingerprint(self) -> str:
        return self.version or fingerprint([dict(self.inputs), self.gold])


def _as_json(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | set | frozenset):
        return sorted(value) if not isinstance(value, tuple) else list(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def fingerprint(value: Any) -> str:
    """32 hexadecimal digits of a JSON-able value (also pydantic models, tuples, sets and arrays); the order
    of keys does not matter.

    Raises:
        TypeError: a part has no JSON form.
    """
    text = orjson.dumps(value, default=_as_json, option=_OPTIONS)
    return hashlib.blake2b(text, digest_size=16).hexdigest()
