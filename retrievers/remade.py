"""Objects that are shared when a program is copied, and pickled as what their constructor was given."""

from __future__ import annotations

from functools import partial
from typing import Any, Self


class Remade:
    """A base of what holds locks, indexes or loaded models and never changes.

    A deep copy is the object itself: DSPy's optimizers copy programs. A pickle holds the constructor's
    arguments; what the constructor makes of them is made anew on loading.
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
