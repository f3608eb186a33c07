"""Options that several commands have, and those of a user's own program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..retrievers.errors import InputError

if TYPE_CHECKING:
    from ..programs.spec import Spec


ProgramOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="An option of your own program (package.module:Class); the value is TOML or a text.",
    ),
]

DataOption = Annotated[
    str | None, typer.Option(help="Data folder; default $ABDUCE_DATA, else the bundled data.")
]


def with_options(program: str | None, words: Sequence[str]) -> str | Spec | None:
    """A program with options (each ``NAME=VALUE``), or only its name if there are none.

    Args:
        program: a row's name, or ``package.module:Class``.

    Raises:
        InputError: no program, or an unknown one.
    """
    if not words:
        return program
    if program is None:
        raise InputError("is for a program that is named: give --program", field="--program-option")
    from ..data.build.index import parse_settings
    from ..programs.presets import spec_named

    values = parse_settings(words, "--program-option")
    try:
        return spec_named(program).changed({f"options.{k}": v for k, v in values.items()})
    except ValueError as e:
        raise e if isinstance(e, InputError) else InputError(str(e), field="program") from e
