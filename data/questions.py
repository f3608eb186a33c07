"""Question data sets: multiple-choice or free-form questions with their gold answers.

By name (``medqa``, ``mmlu-med``, ``mmlu-med-dev``) from a data folder, or by path: JSONL, CSV, TSV or
Parquet with ``question``, ``options`` and ``answer``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..retrievers.errors import InputError
from ..retrievers.files import Row, read_rows, refuse_duplicate, require
from ..signatures.options import LETTERS, option_named, option_problem
from ..signatures.types import Question
from .example import Example
from .folder import DataFolder

DATASETS: Mapping[str, str] = {
    "medqa": "medqa_us_test.jsonl.gz",
    "mmlu-med": "mmlu_med_test.jsonl.gz",
    "mmlu-med-dev": "mmlu_med_devval.jsonl.gz",
    "worked-example": "worked_example.jsonl",
}
"""Data sets of a data folder: files of its ``qa`` folder. The worked example always comes with abduce."""

TEST_SETS = ("medqa", "mmlu-med")
"""Nothing is fitted or tuned on these."""
TUNING_SET = "mmlu-med-dev"
"""Where methods are fitted and tuned, without the questions that a test set has too."""

BUNDLED = ("mmlu-med-dev",)
"""Those that come with abduce (a part of each)."""
WORKED_EXAMPLE = "worked-example"

_OPTION_COLUMN = re.compile(rf"(?:(?:option|choice|answer)[ _]?)?([{''.join(LETTERS)}])", re.IGNORECASE)
"""``option_a``, ``Choice B``, ``C``."""
_COMMA = re.compile(r",(?!(?<=\d,)\d)")
"""A comma that does not stand between two digits."""


@dataclass(frozen=True)
class LabelledQuestion:
    """A question with its labels.

    ``gold`` is the key of the right option, the text of a free-form answer, or None. ``cluster`` is the same
    for questions with the same text (MMLU-Med repeats questions across subjects). ``overlaps_test``: the
    question is also in a test set, so nothing is tuned on it.
    """

    question: Question
    gold: str | None
    dataset: str = ""
    overlaps_test: bool = False

    @property
    def cluster(self) -> str:
        return question_cluster(self.question.text)

    def example(self) -> Example:
        """The question as an example for the runner."""
        groups = {"dataset": self.dataset, "subject": self.question.subject or "none"}
        return Example(
            self.question.question_id, {"question": self.question}, self.gold or "", self.cluster, groups
        )


def question_cluster(text: str) -> str:
    """The key of repeated questions: the text without case, spacing and closing punctuation."""
    return " ".join(text.casefold().split()).rstrip(" .?:!\"'")


def read_questions(
    path: str | Path,
    dataset: str | None = None,
    *,
    need_gold: bool = False,
    open_ended: bool = False,
    bad: list[InputError] | None = None,
) -> list[LabelledQuestion]:
    """Questions of a file.

    A row has ``question`` and ``options``: an object (key to text), a list of texts (keys A, B, C ...), a
    text (:func:`options_in`), or columns ``option_a``, ``option_b`` ... (also ``A``, ``B`` ...). ``answer``
    (or ``gold``) is optional: a key, the whole text of an option, or its position in a list, from 0. ``id``,
    ``subject`` and ``dataset`` are optional.

    Args:
        path: JSONL, CSV or TSV (``.gz`` allowed), or Parquet.
        dataset: name of the data set; else what rows say, else the file's name.
        need_gold: a row without an answer is bad.
        open_ended: accept rows without options; their answer is a text.
        bad: if given, bad rows are appended here and skipped.

    Raises:
        InputError: names file, line and field: no question, no options, fewer than two or more than ten
            options, duplicate options, an answer that is not an option, a duplicate id, no rows.
    """
    path = Path(path)
    found: list[LabelledQuestion] = []
    lines: dict[str, int] = {}
    for line, row in _rows(path, bad):
        try:
            item = _question(row, path, line, dataset, need_gold, open_ended)
            refuse_duplicate(lines, item.question.question_id, path, line)
        except InputError as e:
            if bad is None:
                raise
            bad.append(e)
            continue
        found.append(item)
    if not found:
        raise InputError("has no questions", file=path)
    return found


def _rows(path: Path, bad: list[InputError] | None) -> Iterator[tuple[int, Row]]:
    if path.suffix == ".parquet":
        from .parquet import read_parquet

        return read_parquet(path)
    return read_rows(path, bad)


def _question(
    row: Row, path: Path, line: int, dataset: str | None, need_gold: bool, open_ended: bool
) -> LabelledQuestion:
    def fail(message: str, field: str) -> InputError:
        return InputError(message, file=path, line=line, field=field)

    text = require(row, "question", path, line)
    id_ = str(row.get("id") or row.get("question_id") or f"{path.name.split('.')[0]}-{line}")
    try:
        options = read_options(row)
    except ValueError as e:
        raise fail(str(e), "options") from e
    if not options and not open_ended:
        raise fail("the question has no options", "options")
    problem = option_problem(options)
    if options and problem:
        raise fail(problem, "options")
    answer = next((row[k] for k in ("answer", "gold", "answer_key") if row.get(k) not in (None, "")), None)
    if answer is None:
        if need_gold:
            raise fail("is missing", "answer")
        gold = None
    elif options:
        gold = gold_key(answer, options, isinstance(row.get("options"), list))
        if gold is None:
            raise fail(f"{answer!r} is none of the options {list(options)}", "answer")
    else:
        gold = str(answer)
    subject = row.get("subject")
    question = Question(
        question_id=id_, text=text, options=options, subject=str(subject) if subject else None
    )
    name = str(dataset or row.get("dataset") or path.name.split(".")[0])
    return LabelledQuestion(question, gold, name, bool(row.get("overlaps_test")))


def read_options(row: Mapping[str, Any]) -> dict[str, str]:
    """The options of a row, by key; empty if it has none.

    Raises:
        ValueError: they are neither an object, a list of texts nor a text.
    """
    options = row.get("options")
    if isinstance(options, str) and options.strip()[:1] in ("{", "["):
        try:
            options = json.loads(options)
        except json.JSONDecodeError as e:
            raise ValueError(f"is not JSON: {e.msg}") from e
    if options is None or options == "":
        named = {m[1].upper(): row[c] for c in row if (m := _OPTION_COLUMN.fullmatch(c.strip()))}
        return {k: str(named[k]) for k in sorted(named) if named[k] not in (None, "")}
    if isinstance(options, str):
        options = options_in(options)
    if isinstance(options, Mapping):
        pairs = [(str(k), v) for k, v in options.items() if v is not None]
    elif isinstance(options, Sequence):
        pairs = list(options_by_letter(options).items())
    else:
        raise ValueError("must be an object, a list of texts or a text with | between them")
    if not all(isinstance(v, str | int | float) and not isinstance(v, bool) for _, v in pairs):
        raise ValueError("must be texts")
    return {k: str(v) for k, v in pairs}


def options_in(text: str) -> list[str]:
    """The options in a text, split at ``|`` if it has one, else at commas. A comma between two digits belongs
    to a number, unless it is the only kind of comma.

    >>> options_in("1,000 mg, 500 mg")
    ['1,000 mg', '500 mg']
    """
    if "|" in text:
        texts = text.split("|")
    else:
        texts = _COMMA.split(text)
        texts = texts if len(texts) > 1 else text.split(",")
    return [t.strip() for t in texts]


def options_by_letter(texts: Sequence[str]) -> dict[str, str]:
    """Options in order, with the keys A, B, C ...

    Raises:
        ValueError: more than ten.
    """
    if len(texts) > len(LETTERS):
        raise ValueError(f"has {len(texts)} options; two to ten are needed")
    return dict(zip(LETTERS, texts, strict=False))


_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_MARKS = re.compile(r"[^\w\s%+\-./]|[.\-](?!\d)")
"""Punctuation; what tells numbers, doses and signs apart stays."""


def normalised(text: str) -> str:
    """A free-form answer without case, articles, punctuation and extra spacing."""
    return " ".join(_ARTICLES.sub(" ", _MARKS.sub(" ", text.casefold())).split())


def same_answer(given: str, gold: str) -> bool:
    """Whether two free-form answers are the same after :func:`normalised`; an empty one equals none."""
    return bool(normalised(given)) and normalised(given) == normalised(gold)


def gold_key(answer: Any, options: Mapping[str, str], by_place: bool = False) -> str | None:
    """The key of the option that a gold answer names: a key, a whole text, or (``by_place``) a position from
    0. None if it names none.
    """
    if isinstance(answer, bool):
        return None
    if by_place and isinstance(answer, int):
        keys = list(options)
        return keys[answer] if 0 <= answer < len(keys) else None
    wanted = str(answer).strip()
    if wanted in options:
        return wanted
    return option_named(wanted, options) or option_named(wanted, {key: key for key in options})


def named_questions(
    folder: DataFolder,
    names: Iterable[str],
    open_ended: bool = False,
    bad: list[InputError] | None = None,
) -> list[LabelledQuestion]:
    """The questions of several data sets, in order, each with its gold answer.

    Args:
        folder: the folder of the data sets.
        names: names in :data:`DATASETS`, or paths of question files.
        open_ended: accept questions without options; their gold answer is a text.
        bad: if given, bad questions are appended here and skipped.

    Raises:
        InputError: no such data set or file, a bad row, or an id in two data sets.
    """
    found: list[LabelledQuestion] = []
    for name in names:
        if name in DATASETS:
            source = DataFolder.of_package() if name == WORKED_EXAMPLE else folder
            path = source.file("qa", DATASETS[name])
        elif Path(name).suffix:
            path = Path(name)
        else:
            sets = ", ".join(DATASETS)
            raise InputError(f"no question set {name!r}: give the path of a file, or one of {sets}")
        known = name if name in DATASETS else None
        found += read_questions(path, known, need_gold=True, open_ended=open_ended, bad=bad)
    ids = [item.question.question_id for item in found]
    if len(set(ids)) < len(ids):
        twice = next(i for i in ids if ids.count(i) > 1)
        raise InputError(f"the question id {twice!r} is in two of {', '.join(names)}", field="id")
    return found
