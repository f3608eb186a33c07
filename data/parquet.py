"""Rows of Parquet files and Hugging Face data sets, in the form of JSONL lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from ..retrievers.errors import InputError, MissingExtra
from ..retrievers.files import Row
from ..retrievers.outside import check_regular


def read_parquet(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield (row number from 1, row) of a Parquet file.

    Raises:
        InputError: it is missing or not Parquet.
    """
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as e:
        raise MissingExtra("pyarrow", "dev") from e
    check_regular(path)
    number = 0
    try:
        with parquet.ParquetFile(path) as stream:
            for batch in stream.iter_batches(4096):
                for row in batch.to_pylist():
                    number += 1
                    yield number, plain_row(row)
    except (pyarrow.ArrowException, OSError, MemoryError, ValueError) as e:
        raise InputError(f"is not a readable Parquet file ({e})", file=path) from e


def plain_row(row: Mapping[str, Any]) -> Row:
    """A row with JSON values only."""
    return {str(name): _json_value(value) for name, value in row.items()}


def _json_value(value: Any) -> Any:
    """Dates, decimals and the like become texts; NaN, bytes and pictures become None."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return plain_row(value)
    if isinstance(value, list | tuple):
        return [_json_value(v) for v in value]
    if isinstance(value, date | time | timedelta | Decimal | UUID):
        return str(value)
    return None
