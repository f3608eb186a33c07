"""A scripted language model and a small corpus with known rankings."""

from __future__ import annotations

import json
import re
import threading
from types import SimpleNamespace

import dspy
import pytest
from abduce.retrievers.base import Ranking
from abduce.retrievers.corpus import Corpus, Passage
from abduce.signatures.types import Question


class ScriptedLM(dspy.BaseLM):
    """Answers by what it is asked: ``replies`` maps a stage to a value, or to a function of the prompt.

    A stage is told by the instructions. The reply is given as JSON; a text that is given as it is may be
    unparseable. Every prompt is kept in ``prompts`` as (stage, text, keyword arguments).
    """

    STAGES = (
        ("formulate", "Plan what to look up before a decision"),
        ("rewrite", "Turn a working hypothesis into"),
        ("paraphrase", "exactly three search queries that ask for the same"),
        ("hyde", "Write one paragraph as it could stand in a textbook"),
        ("tentative_answer", "this one document points to"),
        ("document_judge", "enough relevant information to support this answer"),
        ("propose", "has no answer options"),
        ("judge", "Judge what a set of retrieved documents is worth"),
        ("answer", "Answer the multiple-choice question"),
    )

    def __init__(self, logprobs=None, **replies):
        super().__init__("scripted", "chat", 0.0, 1000, cache=False)
        self.replies = replies
        self.logprobs = logprobs
        self.prompts = []
        self._lock = threading.Lock()

    def forward(self, prompt=None, messages=None, **kwargs):
        text = "\n".join(m["content"] for m in messages)
        stage = next(name for name, words in self.STAGES if words in " ".join(text.split()))
        with self._lock:
            self.prompts.append((stage, text, kwargs))
        reply = self.replies[stage]
        if callable(reply):
            reply = reply(messages[-1]["content"])
        body = reply if isinstance(reply, str) else json.dumps(reply)
        content = f"[[ ## answer ## ]]\n{body}\n\n[[ ## completed ## ]]"
        choice = SimpleNamespace(message=SimpleNamespace(content=content), finish_reason="stop")
        if kwargs.get("logprobs"):
            choice.logprobs = self.logprobs(messages[-1]["content"]) if self.logprobs else None
        return SimpleNamespace(choices=[choice], usage={}, model="scripted")

    async def aforward(self, prompt=None, messages=None, **kwargs):
        return self.forward(prompt, messages, **kwargs)

    def of(self, stage):
        return [text for name, text, _ in self.prompts if name == stage]

    def stages(self):
        return [name for name, _, _ in self.prompts]

    def copy(self, **kwargs):
        return self


class TableRetriever:
    """Returns what its table says for a query, p1, p2, ... in order for any other."""

    def __init__(self, ids, table=None):
        self.ids = list(ids)
        self.table = dict(table or {})
        self.asked = []

    def search(self, queries, k, where=None):
        self.asked += [(q, k) for q in queries]
        return [Ranking.of(self.table.get(q, self.ids)[:k]) for q in queries]

    def __deepcopy__(self, memo):
        return self


def field(prompt, name):
    """The value of an input field in a rendered prompt."""
    found = re.findall(rf"\[\[ ## {name} ## \]\]\n(.*?)(?=\n\n\[\[ ##|\n\nRespond|\Z)", prompt, re.DOTALL)
    return found[-1] if found else None


@pytest.fixture
def scripted():
    return ScriptedLM


@pytest.fixture
def using():
    """DSPy's settings for a scripted model: replies are parsed once, without a second adapter."""
    adapter = dspy.ChatAdapter(use_json_adapter_fallback=False)
    return lambda lm: dspy.context(lm=lm, adapter=adapter)


@pytest.fixture
def read():
    return field


@pytest.fixture
def table_retriever():
    return TableRetriever


@pytest.fixture
def passages():
    return Corpus([Passage(f"p{i:03d}", f"Title {i}", f"Sentence number {i}.") for i in range(1, 201)])


@pytest.fixture
def question():
    return Question(
        question_id="q",
        text="A child has a fever. Which drug is best?",
        options={"A": "Aspirin", "B": "Ibuprofen", "C": "Morphine", "D": "Insulin"},
    )


ANSWER = {"step_by_step_thinking": "because", "answer_choice": "B"}
STATE = {
    "discriminating_features": ["age under twelve"],
    "brief_reasoning": "Reye syndrome rules aspirin out",
    "confirming_evidence": ["antipyretic of choice in children"],
    "working_hypothesis": "B",
}
QUERIES = {"support": "s", "distinction": "d", "key_features": "k"}


@pytest.fixture
def replies():
    """A valid reply for every stage."""
    return {
        "answer": dict(ANSWER),
        "formulate": dict(STATE),
        "rewrite": dict(QUERIES),
        "paraphrase": {"query_1": "x", "query_2": "y", "query_3": "z"},
        "hyde": {"passage": "Ibuprofen lowers fever."},
        "tentative_answer": {"answer_choice": "B"},
        "document_judge": {"supported": "Yes"},
        "propose": {"answers": ["Ibuprofen", "Aspirin", "ibuprofen", "Rest"]},
        "judge": {"selected_answer": "B", "label": "Entailed"},
    }
