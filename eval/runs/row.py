"""What the runner is given: rows (systems), examples, and a codec that knows one family's records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...data.example import Example, fingerprint

Program = Callable[..., Any]
"""A ``dspy.Module``, or anything else that is called with an example's inputs and returns a prediction."""


@dataclass(frozen=True)
class Row:
    """One system of an experiment: one row of its table.

    Args:
        name: as it stands in the table; unique in the experiment.
        build: ``build(seed)`` returns the program. It is called in the main thread, once per seed, and only
            where something is left to do. What it returns must be safe to call from several threads.
        settings: everything that decides the row's results, resolved, as JSON: the method, its
            parameters, the retriever with the taxonomy's fingerprint.
        prompts: the prompt texts, or a hash of them.
        model: the language model and its sampling settings (not its address).
        code: the version of the program's source, see :func:`abduce.eval.runs.code_version.code_version`.
        seeds: the row is run once for each.
        takes_gold: the program is an oracle and is also given ``gold=``.
        ready: called once before the run's first example, where something is left to do; it raises an
            ``InputError`` where the row could not run (its model server was never started).
        reference: the paper's numbers by measure, printed beside the measured ones.
        warm: called with the examples that are left before the first of them is timed, so that what is set up
            once (an index) is not part of that one's time.

    ``settings``, ``prompts``, ``model`` and ``code`` make the resume key: results are reused only under
    the same key.
    """

    name: str
    build: Callable[[int], Program]
    settings: Mapping[str, Any] = field(default_factory=dict)
    prompts: Any = None
    model: Any = None
    code: str = ""
    seeds: Sequence[int] = (0,)
    takes_gold: bool = False
    ready: Callable[[], None] | None = None
    reference: Mapping[str, float] = field(default_factory=dict)
    warm: Callable[[Sequence[Example]], None] | None = None

    def identity(self, data: str) -> dict[str, Any]:
        """What the resume key is made of; ``data`` is the fingerprint of what all examples share."""
        return {
            "settings": dict(self.settings),
            "prompts": self.prompts,
            "model": self.model,
            "code": self.code,
            "data": data,
        }

    def key(self, data: str) -> str:
        """The resume key, 32 hexadecimal digits."""
        return fingerprint(self.identity(data))


class Codec(Protocol):
    """How the predictions of one family are written down and scored. Called from worker threads.

    ``name`` is written beside the results, so that a report can score them again. ``measures`` are the
    names of the table's columns, in their order.
    """

    @property
    def name(self) -> str: ...

    @property
    def measures(self) -> Sequence[str]: ...

    def encode(self, prediction: Any) -> dict[str, Any]:
        """A prediction as JSON (numpy arrays allowed): ``{"ranking": ..., "trace": ...}``.

        ``cost``, where present, holds figures that are averaged per example: ``{"llm_calls": 4,
        "prompt_tokens": 9000, "retrievals": 4}``. The names id, seed, x, status, metrics, seconds and error
        are the runner's own.
        """
        ...

    def score(self, record: Mapping[str, Any], gold: Any) -> dict[str, float]:
        """The example's values, from what :meth:`encode` returned, fresh or read back from a file.

        A measure that does not apply is left out. It is called again when results are resumed, so a
        changed measure never mixes with old values.
        """
        ...


@dataclass(frozen=True)
class Progress:
    """Where a run stands, over all rows and seeds. ``calls``: model calls of this session so far."""

    row: str
    seed: int
    rows_done: int
    rows: int
    done: int
    total: int
    resumed: int
    failed: int
    calls: int
