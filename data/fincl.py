"""The public FinTagging subset (500 facts) as examples: the benchmark's CSV and its located headers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from ..retrievers.concept_ids import strip_namespace
from ..retrievers.errors import InputError
from ..retrievers.files import read_csv, read_jsonl, require
from ..signatures.types import Fact, SourceContext
from .example import Example


def read_fincl(path: Path, located: Path, bad: list[InputError] | None = None) -> Iterator[Example]:
    """The benchmark's facts.

    Args:
        path: ``FinCL-eval-subset.csv`` (context, category, entity, entity_type, query, answer).
        located: the row and column headers of each fact, by its index in the CSV; a fact that could not be
            located has none. If a mention's place does not hold its value (it was located in another text),
            the only place that does is used, if there is exactly one.
        bad: if given, bad facts are appended here and skipped.

    Raises:
        InputError: names the file, line and field of the error.
    """
    headers = {row["fincl_index"]: row for _, row in read_jsonl(located)}
    for index, (line, row) in enumerate(read_csv(path)):
        try:
            text = require(row, "context", path, line)
            category = require(row, "category", path, line)
            value = require(row, "entity", path, line)
            gold = strip_namespace(require(row, "answer", path, line))
        except InputError as e:
            if bad is None:
                raise
            bad.append(e)
            continue
        where = headers.get(index, {})
        start = where.get("mention_start")
        if start is None or text[start : start + len(value)] != value:
            start = text.index(value) if text.count(value) == 1 else None
        digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        try:
            context = SourceContext.model_validate({"context_id": digest, "text": text, "modality": category})
            fact = Fact.model_validate(
                {
                    "fact_id": f"fincl-{index:03d}",
                    "value": value,
                    "context": context,
                    "modality": category,
                    "datatype": row.get("entity_type") or None,
                    "row_header": where.get("row_header"),
                    "column_header": where.get("column_header"),
                    "mention_start": start if category == "text" else None,
                    "mention_end": start + len(value) if category == "text" and start is not None else None,
                }
            )
        except ValidationError as e:
            problem = InputError.of_validation(e, file=path, line=line)
            if bad is None:
                raise problem from e
            bad.append(problem)
            continue
        groups = {"modality": category, "datatype": fact.datatype or "none"}
        yield Example(fact.fact_id, {"fact": fact}, gold, digest, groups)
