"""Models for the time of a command: opened from an ``[lm]`` table, used, told about, closed."""

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
    """The models of an ``[lm]`` table in the DSPy context of the block; None where nothing needs one.

    Args:
        table: the ``[lm]`` table; empty: none was given.
        needed_by: who calls a model (``the row 'FHS'``), or None.
        cache: False is ``--no-cache``.
        file: where the table came from, for error messages.
        probe: the stages whose servers are tried once at the start.

    Raises:
        NoModel: a model is needed and the table names none.
        InputError: the table is wrong (also where nothing needs it), or nobody listens at its address.
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
    """As :func:`models_for`, but the caller's DSPy context stays as it is."""
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
    """What a run's model calls cost, in one line; empty where there were none."""
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
