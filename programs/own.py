"""Methods of anybody's: ``package.module:Class`` in place of a method's name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar, get_type_hints

from ..retrievers.base import Ranking
from ..retrievers.registry import outside_class
from .trace import Trace

T = TypeVar("T")


@lru_cache(maxsize=64)
def own_class(name: str, base: type[T]) -> type[T]:
    """The class of a method that stands outside of abduce.

    Args:
        name: ``package.module:Class``.
        base: what it must be a subclass of.

    Raises:
        InputError: no such module or class.
        ValueError: it is no subclass.
    """
    found = outside_class(name, "program")
    if not (isinstance(found, type) and issubclass(found, base)):
        raise ValueError(f"{name} is no subclass of {base.__module__}.{base.__name__}")
    return found


def ranked(prediction: Any) -> Any:
    """A prediction, if it is one of a program: with ``ranking`` and ``trace``.

    Raises:
        TypeError: it is something else.
    """
    for name, type_ in (("ranking", Ranking), ("trace", Trace)):
        if not isinstance(getattr(prediction, name, None), type_):
            kind = type(prediction).__name__
            raise TypeError(f"the program gave a {kind} without {name}: end with self.answer(ranking, trace)")
    return prediction


def config_class(cls: type[Any]) -> Any:
    """What the class annotates its ``config`` with."""
    return get_type_hints(cls)["config"]


def arguments(
    cls: type[Any], parts: Mapping[str, Callable[[], Any]], options: Mapping[str, Any]
) -> dict[str, Any]:
    """What the class's constructor is called with: the parts that it names, and all options.

    ``parts`` give a value each; one is asked only where the constructor names it. Where a constructor passes
    ``**kwargs`` on, the names of its base class count too.

    Raises:
        ValueError: an option that it does not name, or that is a part.
    """
    names: set[str] = set()
    for one in cls.__mro__:
        if "__init__" not in vars(one):
            continue
        accepted = inspect.signature(vars(one)["__init__"]).parameters.values()
        names |= {p.name for p in accepted if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)} - {"self"}
        if not any(p.kind is p.VAR_KEYWORD for p in accepted):
            break
    for option in options:
        if option not in names or option in parts:
            own = ", ".join(sorted(names - parts.keys())) or "none"
            raise ValueError(f"{cls.__name__} has no option {option!r}; it has: {own}")
    return {name: part() for name, part in parts.items() if name in names} | dict(options)
