"""Answer types that are made at run time, for a schema or a question, and how their answers are pickled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel

Model = TypeVar("Model", bound="Made")


class Made(BaseModel):
    """Base of every answer. An answer whose type no module holds is pickled as the function that makes the
    type, its arguments, and the answer's fields."""

    made_by: ClassVar[tuple[Callable[..., Any], tuple[Any, ...]] | None] = None

    def __reduce__(self) -> Any:
        if self.made_by is None:
            return super().__reduce__()
        return _remade, (*self.made_by, self.__getstate__())


def made(type_: type[Model], by: Callable[..., Any], *args: Any) -> type[Model]:
    """The type, which from now on knows that ``by(*args)`` makes it; both must be picklable."""
    type_.made_by = by, args
    return type_


def _remade(by: Callable[..., type[Made]], args: tuple[Any, ...], state: dict[Any, Any]) -> Made:
    type_ = by(*args)
    answer = type_.__new__(type_)
    answer.__setstate__(state)
    return answer
