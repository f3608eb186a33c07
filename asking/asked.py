"""A question: text, options and, if known, the right answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..data.questions import gold_key, options_by_letter
from ..retrievers.errors import InputError
from ..signatures.options import option_problem
from ..signatures.types import Question


def as_question(question: str | Question, options: Mapping[str, str] | Sequence[str] = ()) -> Question:
    """Make a question from its text and options.

    Raises:
        InputError: it is empty, has one option or more than ten, an empty option, or a duplicate option.
    """
    if isinstance(question, Question):
        if options:
            raise InputError("a whole question brings its own options", field="options")
        text, options = question.text, question.options
    else:
        text = question
    if not text.strip():
        raise InputError("the question is empty", field="question")
    try:
        keyed = options if isinstance(options, Mapping) else options_by_letter(options)
    except ValueError as e:
        raise InputError(str(e), field="options") from e
    if keyed and (problem := option_problem(keyed)):
        raise InputError(problem, field="options")
    if isinstance(question, Question):
        return question
    return Question(question_id="question", text=text, options={k: t.strip() for k, t in keyed.items()})


def right_option(question: Question, gold: str | None) -> str | None:
    """The key of the option that a gold answer names.

    Raises:
        InputError: it names no option.
    """
    if gold is None:
        return None
    key = gold_key(gold, question.options)
    if key is None:
        raise InputError(f"{gold!r} is none of the options {list(question.options.values())}", field="gold")
    return key
