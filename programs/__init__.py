"""The methods, one ``dspy.Module`` per file, over signatures and retrievers.

Names are imported on first use (``from abduce.programs import FHS``), because importing DSPy takes
more than a second.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "ContextJudge": "rag.judge",
    "HCQR": "rag.hcqr",
    "HCQRConfig": "rag.config",
    "HyDE": "rag.hyde",
    "MainRAG": "rag.main_rag",
    "NoRAG": "rag.base",
    "RerankRAG": "rag.rerank",
    "Rewriting": "rag.rewriting",
    "RulePlanner": "rag.hcqr_rules",
    "SimpleRAG": "rag.base",
    "Decomposed": "decomposed",
    "Direct": "direct",
    "FHS": "fhs",
    "FHSConfig": "config",
    "FHSSeq": "fhs_seq",
    "LMGenerator": "generate",
    "LMVerifier": "verify",
    "Locus": "locus",
    "Parallel": "parallel",
    "PhraseGenerator": "generate",
    "Refine": "refine",
    "RuleGenerator": "generate",
    "PrecedentVote": "precedents",
    "Selector": "select",
    "SymbolicVerifier": "verify",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
