"""How a service is made: settings in, a service out, in whichever process answers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..asking.asker import Asker
from ..data.corpora import corpus_file
from ..data.folder import DataFolder
from ..retrievers.errors import InputError
from ..tagging.tagger import Tagger
from .limits import Limits
from .service import Service

CORPUS = "medical"
"""What questions are answered from where no corpus is named and the data folder has this one."""


@dataclass(frozen=True)
class Recipe:
    """The settings of a service; calling it makes the service.

    Args:
        tagger: arguments of :class:`~abduce.tagging.tagger.Tagger`.
        lm: an ``[lm]`` table; None: questions get their evidence only.
        corpus: what questions are answered from; None: :data:`CORPUS`, where there is one; empty: none are.
        asker: further arguments of :class:`~abduce.asking.asker.Asker`.
        data: the data folder; None: ``$ABDUCE_DATA``, else the bundled data.
        limits: what one request may cost.
    """

    tagger: Mapping[str, Any] = field(default_factory=dict)
    lm: Mapping[str, Any] | None = None
    corpus: str | None = None
    asker: Mapping[str, Any] = field(default_factory=dict)
    data: str | None = None
    limits: Limits = field(default_factory=Limits)

    def __call__(self) -> Service:
        """The service, warmed up.

        Raises:
            InputError: whatever is wrong with the settings.
        """
        asker = None
        corpus = self._corpus()
        if corpus:
            asker = Asker(corpus, lm=self.lm, data=self.data, answer=self.lm is not None, **self.asker)
        service = Service(Tagger(lm=self.lm, data=self.data, **self.tagger), asker, self.limits)
        service.warm()
        return service

    def _corpus(self) -> str:
        if self.corpus is not None:
            return self.corpus
        with suppress(InputError):
            if Path(corpus_file(CORPUS, DataFolder.find(self.data))).is_file():
                return CORPUS
        return ""
