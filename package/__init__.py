"""abduce: retrieval-ready queries from explicit hypotheses about what the evidence means.

The names that most users need are here. They are imported on first use, so ``import abduce`` is fast. The
parts are separate packages, lowest first: ``abduce.signatures`` (what a model call asks, and its typed
answer), ``abduce.retrievers`` (query to ranking), ``abduce.documents`` (files to facts), ``abduce.programs``
(the methods, as ``dspy.Module``), ``abduce.lm`` (served models), ``abduce.data``, ``abduce.tagging``,
``abduce.asking``, ``abduce.eval`` and ``abduce.cli``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .version import __version__ as __version__

if TYPE_CHECKING:
    from .asking.answer import Answer
    from .asking.asker import Asker
    from .documents.read import read_document
    from .eval.experiments.evaluate import evaluate
    from .programs.fhs import FHS
    from .programs.rag.hcqr import HCQR
    from .retrievers.errors import InputError
    from .retrievers.taxonomy import Taxonomy
    from .signatures.types import Fact
    from .tagging.tag import Tag
    from .tagging.tagger import Tagger
    from .tagging.tags import Tags

__all__ = [
    "FHS",
    "HCQR",
    "Answer",
    "Asker",
    "Fact",
    "InputError",
    "Tag",
    "Tagger",
    "Tags",
    "Taxonomy",
    "evaluate",
    "read_document",
]

_PLACES = {
    "Answer": "asking.answer",
    "Asker": "asking.asker",
    "FHS": "programs.fhs",
    "Fact": "signatures.types",
    "HCQR": "programs.rag.hcqr",
    "InputError": "retrievers.errors",
    "Tag": "tagging.tag",
    "Tagger": "tagging.tagger",
    "Tags": "tagging.tags",
    "Taxonomy": "retrievers.taxonomy",
    "evaluate": "eval.experiments.evaluate",
    "read_document": "documents.read",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{_PLACES[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
