"""Facts of a data set in an unnamed file, with a few bytes of memory per fact."""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from ..retrievers.files import writing
from ..retrievers.lazy import Lazy
from ..signatures.types import Fact, SourceContext
from .example import Example

_BUFFER = 1 << 18


class FactInputs(Mapping[str, Fact]):
    """``{"fact": fact}``, stored as the JSON of the fact's fields and its source context; the fact is rebuilt
    on each access.
    """

    __slots__ = ("context", "fields")

    def __init__(self, fields: str, context: SourceContext) -> None:
        self.fields, self.context = fields, context

    @classmethod
    def of(cls, fact: Fact) -> FactInputs:
        fields = orjson.dumps(fact.model_dump(mode="json", exclude={"context"}, exclude_unset=True))
        return cls(fields.decode(), fact.context)

    def __getitem__(self, name: str) -> Fact:
        if name != "fact":
            raise KeyError(name)
        return Fact.model_validate({**orjson.loads(self.fields), "context": self.context})

    def __iter__(self) -> Iterator[str]:
        return iter(("fact",))

    def __len__(self) -> int:
        return 1


class KeptFacts(Lazy[Example]):
    """Examples with :class:`FactInputs`, read back from the file on access.

    The file has no name and disappears with the process. Reading is safe from several threads.

    Args:
        examples: facts, consumed one at a time.
        contexts: source contexts that stay in memory; those of other facts are stored in the file too.

    Raises:
        InputError: the file cannot be written (a full disk).
    """

    def __init__(self, examples: Iterable[Example], contexts: Mapping[str, SourceContext]) -> None:
        self._contexts = contexts
        self._ends = array("Q")
        folder = Path(tempfile.gettempdir())
        with writing(folder):
            self._file = tempfile.TemporaryFile(buffering=0, dir=folder)  # noqa: SIM115 - as long as this
        waiting, end = bytearray(), 0
        for example in examples:
            line = self._written(example)
            waiting += line
            end += len(line)
            self._ends.append(end)
            if len(waiting) >= _BUFFER:
                self._write(waiting, folder)
        self._write(waiting, folder)

    def _write(self, waiting: bytearray, folder: Path) -> None:
        with writing(folder):
            view = memoryview(bytes(waiting))
            while view:
                view = view[self._file.write(view) :]
        waiting.clear()

    def _written(self, example: Example) -> bytes:
        inputs = example.inputs
        assert isinstance(inputs, FactInputs)
        context = inputs.context
        shared = self._contexts.get(context.context_id) is context
        where: Any = context.context_id if shared else context.model_dump(mode="json")
        return orjson.dumps(
            [example.id, inputs.fields, where, example.gold, example.cluster, example.groups, example.version]
        )

    def __len__(self) -> int:
        return len(self._ends)

    def made(self, place: int) -> Example:
        start, end = (self._ends[place - 1] if place else 0), self._ends[place]
        id_, fields, where, gold, cluster, groups, version = orjson.loads(
            os.pread(self._file.fileno(), end - start, start)
        )
        context = self._contexts[where] if isinstance(where, str) else SourceContext.model_validate(where)
        return Example(id_, FactInputs(fields, context), gold, cluster, groups, version)


class Chosen(Lazy[Example]):
    """Examples of a sequence by position, each optionally changed; none is held in memory."""

    def __init__(
        self,
        examples: Sequence[Example],
        places: Sequence[int],
        change: Callable[[Example], Example] = lambda example: example,
    ) -> None:
        self._examples, self._places, self._change = examples, places, change

    def __len__(self) -> int:
        return len(self._places)

    def made(self, place: int) -> Example:
        return self._change(self._examples[self._places[place]])


class FactsOf(Lazy[Fact]):
    """The facts of examples, each built on access and optionally changed."""

    def __init__(
        self, examples: Sequence[Example], change: Callable[[Fact], Fact] = lambda fact: fact
    ) -> None:
        self._examples, self._change = examples, change

    def __len__(self) -> int:
        return len(self._examples)

    def made(self, place: int) -> Fact:
        return self._change(self._examples[place].inputs["fact"])
