"""Options of a user's own program, as words of the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..retrievers.errors import InputError

if TYPE_CHECKING:
    from ..programs.spec import Spec


def with_options(program: str | None, words: Sequence[str]) -> str | Spec | None:
    """A program with options, or its name where there are none.

    Args:
        program: a row's name, or ``package.module:Class``.
        words: each ``NAME=VALUE``; a value that is not JSON is a text.

    Raises:
        InputError: a word of another form, no program, or none of that name.
    """
    if not words:
        return program
    if program is None:
        raise InputError("is for a program that is named: give --program", field="option")
    from ..programs.presets import spec_named

    options = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (equals and name):
            raise InputError(f"{word!r} is not of the form NAME=VALUE", field="option")
        try:
            options[f"options.{name}"] = json.loads(value)
        except ValueError:
            options[f"options.{name}"] = value
    try:
        return spec_named(program).changed(options)
    except ValueError as e:
        raise InputError(str(e), field="program") from e
