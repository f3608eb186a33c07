"""The language-model layer: profiles, the served engine, decoding by stage, cache, meter, checks.

``abduce.lm.load({"kind": "vllm", "base_url": "http://localhost:8000/v1"})`` gives a
:class:`~abduce.lm.models.Models`; ``with models.context(): program(fact=fact)`` runs a program on
it. Importing this package is light: DSPy is imported when a model is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .profiles import ModelProfiles, Profile, Serve, StageProfile

if TYPE_CHECKING:
    from .models import Models

__all__ = ["Profile", "ModelProfiles", "Serve", "StageProfile", "load"]


def load(
    settings: Mapping[str, Any] | ModelProfiles | None = None,
    *,
    cache: bool = True,
    cache_dir: str | Path | None = None,
    file: str | Path | None = None,
) -> Models:
    """The models of an ``[lm]`` table (TOML as a mapping), ready to run programs on.

    Args:
        settings: the ``[lm]`` table with its ``[lm.STAGE]`` tables; None or ``{"kind": "none"}`` is a
            profile without a model, on which programs that need one refuse.
        cache: False is ``--no-cache``: nothing is read from or written to the response cache.
        cache_dir: where replies are kept; default ``$ABDUCE_CACHE`` or ``~/.cache/abduce/lm``.
        file: the file the table came from, for error messages.

    Raises:
        InputError: a key or value that no profile has.
    """
    from .models import Models

    profiles = (
        settings if isinstance(settings, ModelProfiles) else ModelProfiles.read(settings or {}, file=file)
    )
    return Models.build(profiles, cache=cache, cache_dir=cache_dir)
