"""Objects that are shared when a program is copied, and pickled as their constructor's arguments."""

from __future__ import annotations

from functools import partial
from typing import Any, Self


class Remade:
    """A base for immutable objects with locks, indexes or loaded models.

    A deep copy is the object itself, because DSPy's optimizers copy programs. A pickle holds the
    constructor's arguments; loading runs the constructor again.
    """

    _given: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls)
        made._given = args, kwargs
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        args, kwargs = self._given
        return partial(type(self), *args, **kwargs), ()
