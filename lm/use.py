"""Models for the duration of a command: opened from an ``[lm]`` table, used, metered, closed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..programs.stages import FACT_STAGES
from .meter import Meter
from .profiles import ModelProfiles

if TYPE_CHECKING:
    from .models import Models


@contextmanager
def models_for(
    table: Mapping[str, Any],
    needed_by: str | None,
    *,
    cache: bool = True,
    file: str | Path | None = None,
    probe: Iterable[str] = FACT_STAGES,
) -> Iterator[Models | None]:
    """The models of an ``[lm]`` table in the block's DSPy context; None if nothing needs one.

    Args:
        table: the ``[lm]`` table; empty: none was given.
        needed_by: what calls a model (``the row 'FHS'``), or None.
        cache: False (``--no-cache``).
        file: the table's file, for error messages.
        probe: the stages whose servers are checked at the start.

    Raises:
        NoModel: a model is needed and the table names none.
        InputError: the table is wrong (even if nothing needs it), or its address accepts no connection.
    """
    with open_models(table, needed_by, cache=cache, file=file, probe=probe) as models:
        if models is None:
            yield None
            return
        with models.context():
            yield models


@contextmanager
def open_models(
    table: Mapping[str, Any],
    needed_by: str | None,
    *,
    cache: bool = True,
    file: str | Path | None = None,
    probe: Iterable[str] = FACT_STAGES,
) -> Iterator[Models | None]:
    """Like :func:`models_for`, but leaves the caller's DSPy context unchanged."""
    profiles = ModelProfiles.read(table, file=file)
    if needed_by is None:
        yield None
        return
    from ..programs.calls import NoModel
    from . import load

    if profiles.default.profile.kind == "none" and not profiles.stages:
        raise NoModel(needed_by)
    with load(profiles, cache=cache) as models:
        with models.context():
            models.refuse_if_away(probe, needed_by)
        yield models


def meter_line(meter: Meter) -> str:
    """The cost of a run's model calls in one line; empty if there were none."""
    total = meter.total
    if not total.calls:
        return ""
    share = total.cached_tokens / max(1, total.prompt_tokens)
    known = f" ({share:.0%} known to the server)" if share else ""
    parts = [
        f"{total.calls:,} model calls ({total.cache_hits:,} from the cache)",
        f"{total.prompt_tokens:,} prompt tokens{known}",
        f"{total.completion_tokens:,} completion tokens",
    ]
    told = {"retries": total.retries, "dropped replies": total.dropped, "failed": total.failed}
    parts += [f"{count:,} {what}" for what, count in told.items() if count]
    if total.faults:
        parts.append("faults: " + ", ".join(f"{kind} {n:,}" for kind, n in total.faults.most_common()))
    return "; ".join(parts)
