"""How answer options are shown to a model and how its choice is read back (letters A to J).

A question's own keys may be anything (letters, ``yes``/``no``, numbers). A model always sees one capital
letter an option: the question's own letter where its keys are capital letters, else A, B, C ... in order.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, create_model

from .made import Made, made

LETTERS = string.ascii_uppercase[:10]
"""A question has at most ten options."""


def cut(limit: int) -> BeforeValidator:
    """Cuts a text, or a list, to what the wire's bound allows: a server that does not hold replies to the
    schema may write more, and longer is no reason to lose a reply."""
    return BeforeValidator(lambda value: value[:limit] if isinstance(value, str | list) else value)


NO_OPTION = "none"
"""What a judge answers when a context supports no option."""


def _alone(value: Any) -> Any:
    """The only item of a list."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


Letter = Annotated[
    str,
    Field(max_length=300, description="the capital letter of one option"),
    cut(300),
    BeforeValidator(_alone),
]
"""A chosen option. On the wire it is an enum of the question's letters (:func:`restricted`); a server that
does not hold replies to a schema may spell it in another way (``(b) Insulin``), so any short text is taken
and :meth:`Choices.key` reads it."""

_LEADING = re.compile(
    r"^\W*(?:the\s+)?(?:(?:correct|final|best)\s+)?(?:(?:answer|option|choice)\W*(?:is\W*)?)?"
    r"([A-Za-z])(?=$|\s*[.:)\],]|\s+-|\W*$)",
    re.IGNORECASE,
)
"""A letter at the start of a reply; the letter of ``B-cell`` belongs to a word."""
_SPECIES = re.compile(r"\.\s+[a-z]")
"""What follows the letter in ``C. difficile``: an abbreviated genus, not an option's letter."""


def _normal(text: str) -> str:
    return _spaced(text).casefold().strip(" .\"'")


def _spaced(text: str) -> str:
    return " ".join(text.split())


def option_problem(options: Mapping[str, str]) -> str:
    """What is wrong with the options of a question, or "" where nothing is. Options that differ by case
    (``AA``, ``Aa``, ``aa``) are different options."""
    texts = [_spaced(text) for text in options.values()]
    if not 2 <= len(texts) <= len(LETTERS):
        return f"has {len(texts)} options; two to ten are needed"
    if not all(texts):
        return f"the option {next(k for k, t in options.items() if not t.strip())!r} is empty"
    if len(set(texts)) < len(texts):
        return f"has the option {next(t for t in texts if texts.count(t) > 1)!r} twice"
    return ""


def option_named(text: str, options: Mapping[str, str]) -> str | None:
    """The key of the option whose whole text this is: written exactly so, else the only one that differs by
    no more than case, spacing and closing punctuation."""
    for same in (_spaced, _normal):
        found = [key for key, own in options.items() if same(own) == same(text)]
        if len(found) == 1:
            return found[0]
    return None


class Reply(Made):
    """A typed answer. What a model class says in its docstring is for readers of the code and is kept out of
    the schema that a language model is shown; field descriptions are for the model."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_extra=lambda schema: schema.pop("description", None)
    )


@dataclass(frozen=True)
class Choices:
    """The options of one question under the letters that a model sees."""

    keys: Mapping[str, str]
    """letter -> the question's own key"""
    texts: Mapping[str, str]
    """letter -> option text"""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Choices:
        """Give each option a letter.

        Raises:
            ValueError: more than ten options.
        """
        if len(options) > len(LETTERS):
            raise ValueError(f"{len(options)} options: at most {len(LETTERS)} can be shown")
        own = all(key in LETTERS and len(key) == 1 for key in options)
        letters = list(options) if own else list(LETTERS[: len(options)])
        return cls(
            dict(zip(letters, options, strict=True)), dict(zip(letters, options.values(), strict=True))
        )

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(self.texts)

    def __str__(self) -> str:
        """One option a line, ``A. text``."""
        return "\n".join(f"{letter}. {' '.join(text.split())}" for letter, text in self.texts.items())

    def letter(self, reply: str, *, alone: bool = False) -> str | None:
        """The letter that a reply names: the letter itself, the option's whole text, or its own key.

        Args:
            alone: the reply may hold nothing but the option: what follows a letter must be that option's
                text.
        """
        if reply.strip() in self.texts:
            return reply.strip()
        named = option_named(reply, self.texts) or option_named(reply, self.keys)
        if named is not None:
            return named
        found = _LEADING.match(reply)
        if found is None or (letter := found[1].upper()) not in self.texts:
            return None
        rest, own = reply[found.end() :], _normal(self.texts[letter])
        said = _normal(rest.lstrip(" .:)],-"))
        if said.startswith(own):
            return letter
        return None if _SPECIES.match(rest) or (alone and said) else letter

    def named(self, text: str) -> str | None:
        """The letter of the option whose whole text this is; None where there is none."""
        return option_named(text, self.texts)

    def key(self, reply: str) -> str | None:
        """The question's own key of the option that a reply names; None where it names none."""
        letter = self.letter(reply)
        return None if letter is None else self.keys[letter]

    def letter_of(self, key: str) -> str:
        """The letter under which a key is shown; KeyError for a key that is no option."""
        for letter, own in self.keys.items():
            if own == key:
                return letter
        raise KeyError(key)


@lru_cache(maxsize=256)
def restricted(model: type[Made], field: str, values: tuple[str, ...]) -> type[Made]:
    """The same reply model, whose text field is an enum of ``values`` in the schema that a server gets.

    Parsing is not changed: what comes back is read by :class:`Choices`.
    """
    info = model.model_fields[field]
    narrowed = Field(max_length=300, description=info.description, json_schema_extra={"enum": list(values)})
    fields: dict[str, Any] = {field: (Annotated[str, cut(300), BeforeValidator(_alone)], narrowed)}
    same = create_model(model.__name__, __base__=model, __doc__=model.__doc__, **fields)
    return made(same, restricted, model, field, values)
