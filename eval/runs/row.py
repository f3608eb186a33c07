"""The runner's inputs: rows (systems), examples, and a codec for one family's records."""

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
        name: its name in the table; unique in the experiment.
        build: ``build(seed)`` returns the program. It is called in the main thread, once per seed, and only
            if work is left. The program must be safe to call from several threads.
        settings: all resolved settings that affect the row's results, as JSON: the method, its parameters,
            the retriever with the taxonomy's fingerprint.
        prompts: the prompt texts, or a hash of them.
        model: the language model and its sampling settings (not its address).
        code: the version of the program's source, see :func:`abduce.eval.runs.code_version.code_version`.
        seeds: the row runs once per seed.
        takes_gold: the program is an oracle and is also given ``gold=``.
        ready: called once before the first example, if work is left; it raises an ``InputError`` if the row
            cannot run (its model server was never started).
        reference: the paper's numbers by measure, shown with the measured ones.
        warm: called with the remaining examples before the first is timed, so that setup (an index) does not
            count in its time.

    ``settings``, ``prompts``, ``model`` and ``code`` form the resume key: results are reused only under the
    same key.
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
        """The content of the resume key; ``data`` is the fingerprint of the data that all examples share."""
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
    """Records and scores the predictions of one family. Called from worker threads.

    ``name`` is stored with the results, so that a report can score them again. ``measures`` are the table's
    columns, in order.
    """

    @property
    def name(self) -> str: ...

    @property
    def measures(self) -> Sequence[str]: ...

    def encode(self, prediction: Any) -> dict[str, Any]:
        """A prediction as JSON (numpy arrays allowed): ``{"ranking": ..., "trace": ...}``.

        ``cost``, if present, holds figures that are averaged per example: ``{"llm_calls": 4, "prompt_tokens":
        9000, "retrievals": 4}``. The names id, seed, x, status, metrics, seconds and error are reserved for
        the runner.
        """
        ...

    def score(self, record: Mapping[str, Any], gold: Any) -> dict[str, float]:
        """The example's values, from the result of :meth:`encode`, new or read from a file.

        A measure that does not apply is left out. Resumed results are scored again, so that a changed measure
        never mixes with old values.
        """
        ...


@dataclass(frozen=True)
class Progress:
    """The progress of a run, over all rows and seeds. ``calls``: model calls in this session."""

    row: str
    seed: int
    rows_done: int
    rows: int
    done: int
    total: int
    resumed: int
    failed: int
    calls: int
