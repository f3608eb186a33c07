"""Saved program state that loads only into the signatures it was made for.

DSPy keeps field descriptions by position, so a state loads without complaint into a signature that has
changed since. Every abduce program therefore writes a fingerprint of each predictor's inputs and answer
type, and refuses a state whose fingerprints differ. Only JSON is written and read.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import dspy
from pydantic import TypeAdapter

FINGERPRINTS = "abduce_fingerprints"


def predictor_fingerprint(signature: type[dspy.Signature]) -> str:
    """Changes whenever a signature's input names or the JSON schemas of its outputs do."""
    outputs = {
        name: TypeAdapter(field.annotation).json_schema() for name, field in signature.output_fields.items()
    }
    shape = {"inputs": list(signature.input_fields), "outputs": outputs}
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:16]


class Stateful(dspy.Module):
    """A module whose saved state carries fingerprints (``program.save("x.json")``, ``program.load``)."""

    def fingerprints(self) -> dict[str, str]:
        """A fingerprint for each predictor, by its name in the program."""
        return {name: predictor_fingerprint(p.signature) for name, p in self.named_predictors()}

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """DSPy's state of every predictor, and the fingerprints."""
        state: dict[str, Any] = super().dump_state(json_mode)
        return {**state, FINGERPRINTS: self.fingerprints()}

    def load_state(self, state: dict[str, Any], **kwargs: Any) -> None:
        """Take over instructions and demonstrations.

        Raises:
            ValueError: it is no state of an abduce program, or was made for other predictors, inputs or
                answer types; nothing is loaded then.
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
        super().load_state(rest, **kwargs)
