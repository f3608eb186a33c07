"""How answers to questions are recorded and scored: the runner's codec for the RAG family.

A record holds ``answer`` (a key, "" where none came, null where none was asked for), ``answer_text``,
``options`` (only proposed ones), ``ranking`` (ids of the context, in order), ``plan`` (HCQR's state and
queries), ``utility`` (a list, one entry a judge: name, label, given, selected, consistent, and ``error``
where it could not be asked), ``covered`` (option key -> whether a passage of the context holds every token
of its text), ``incomplete`` (some judge could not be asked) and the ``trace``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...data.questions import same_answer
from ...programs.rag.context import Passages
from ...retrievers.tokenize import tok_set
from ...signatures.types import UtilityLabel

LABEL_MEASURES = {
    "Entailed": UtilityLabel.ENTAILED,
    "Useful": UtilityLabel.USEFUL,
    "Not Useful": UtilityLabel.NOT_USEFUL,
}
GOLD_TOKENS = "GoldTok"
EXACT = "Exact"
COUNTED = (
    "left_out",
    "dropped_replies",
    "direct_fallback",
    "cut_queries",
    "answer_off_options",
    "no_candidates",
    "main_rag_no_logprobs",
    "main_rag_unjudged",
    "lexical_hyde",
    "judge_llm_calls",
    "judge_inconsistent",
    "judge_failed",
)
"""Counters of the trace that the table of costs shows where they are not 0."""


class QuestionCodec:
    """``Acc``: the chosen option is the gold one; of a question without options, the answer is the gold text
    after normalisation, and ``Exact``: letter for letter. ``DUR`` and the labels: of the first judge; all 0
    where it gave no valid label. ``GoldTok``: some passage of the context holds every token of the gold
    option.

    Args:
        passages: texts by id; without them, ``GoldTok`` is not recorded.
    """

    name = "question"
    measures: Sequence[str] = ("Acc", EXACT, "DUR", *LABEL_MEASURES, GOLD_TOKENS)

    def __init__(self, passages: Passages | None = None) -> None:
        self.passages = passages

    def encode(self, prediction: Any) -> dict[str, Any]:
        trace = prediction.trace
        counters, notes = trace.counters, trace.notes
        ids = list(prediction.ranking.ids)
        own = [c for c in trace.calls if c.stage != "judge"]
        cost = {
            "llm_calls": counters["llm_calls"],
            "retrievals": counters["retrievals"],
            "prompt_tokens": sum(c.prompt_tokens for c in own),
            "completion_tokens": sum(c.completion_tokens for c in own),
            "documents": len(ids),
            "context_tokens": notes.get("context_tokens", 0),
        } | {name: counters[name] for name in COUNTED}
        if notes.get("overlap") is not None:
            cost["overlap"] = notes["overlap"]
        covered = None
        if self.passages is not None and ids:
            covered = covered_options(prediction.options, ids, self.passages)
        record = trace.toDict()
        record["final"] = None
        return {
            "answer": prediction.answer if trace.settings.get("answer", True) else None,
            "answer_text": prediction.answer_text,
            "options": notes.get("proposed_options"),
            "ranking": {"ids": ids},
            "plan": notes.get("plan"),
            "utility": notes.get("judges", []),
            "covered": covered,
            "incomplete": counters["judge_failed"] > 0,
            "trace": record,
            "cost": cost,
        }

    def score(self, record: Mapping[str, Any], gold: Any) -> dict[str, float]:
        values: dict[str, float] = {}
        if record["answer"] is not None:
            proposed = record["options"] is not None
            text, key = str(record["answer_text"]), record["answer"]
            values["Acc"] = float(same_answer(text, str(gold)) if proposed else key == gold)
            if proposed:
                values[EXACT] = float(text.strip() == str(gold).strip())
        judged = next(iter(record["utility"]), None)
        if judged is not None:
            label = judged["label"]
            values |= {name: float(label == meant) for name, meant in LABEL_MEASURES.items()}
            values["DUR"] = values["Entailed"] + values["Useful"]
        if record["covered"] is not None and gold in record["covered"]:
            values[GOLD_TOKENS] = float(record["covered"][gold])
        return values


def covered_options(options: Mapping[str, str], ids: Sequence[str], passages: Passages) -> dict[str, bool]:
    """For each option, whether a passage contains every token (``tok``) of its text, in title or content.

    An option without tokens is in no passage.
    """
    held = [tok_set(f"{p.title} {p.content}") for p in (passages[id_] for id_ in ids)]
    wanted = {key: tok_set(text) for key, text in options.items()}
    return {key: bool(tokens) and any(tokens <= h for h in held) for key, tokens in wanted.items()}
