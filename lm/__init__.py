"""The language-model layer: profiles, the served engine, decoding by stage, cache, meter, checks.

``abduce.lm.load({"kind": "vllm", "base_url": "http://localhost:8000/v1"})`` returns a
:class:`~abduce.lm.models.Models`; ``with models.context(): program(fact=fact)`` runs a program with it.
Importing this package is fast: DSPy is imported when a model is built.
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
    """The models of an ``[lm]`` table (TOML as a mapping), ready for programs.

    Args:
        settings: the ``[lm]`` table with its ``[lm.STAGE]`` tables; None or ``{"kind": "none"}`` is a profile
            without a model. Programs that need a model then refuse to run.
        cache: False (``--no-cache``): the response cache is neither read nor written.
        cache_dir: the folder of stored replies; default ``$ABDUCE_CACHE`` or ``~/.cache/abduce/lm``.
        file: the table's file, for error messages.

    Raises:
        InputError: an unknown key or a wrong value.
    """
    from .models import Models

    profiles = (
        settings if isinstance(settings, ModelProfiles) else ModelProfiles.read(settings or {}, file=file)
    )
    return Models.build(profiles, cache=cache, cache_dir=cache_dir)
