"""What tests of several folders share: scripted models, small inventories, the bundled data.

Test modules cannot import from here (every file is imported by its path), so classes come as fixtures.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace

import command_line
import dspy
import pytest
from abduce.data.domains import FINANCE
from abduce.data.folder import DataFolder
from abduce.retrievers.base import Ranking
from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.dimensions import load_schema
from abduce.signatures.types import Concept
from hypothesis import settings
from made_facts import cell, mention

# A slow machine fails no property: examples are counted, never timed.
settings.register_profile("abduce", deadline=None)
settings.load_profile("abduce")

pytest_plugins = ("clinical_release", "qa_data")

os.environ.setdefault("ABDUCE_INDEXES", str(Path(tempfile.gettempdir()) / "abduce-test-indexes"))

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT / ".." / "shared" / "data"

STAGES = {
    "generator": "State one reading of the located value",
    "table": "against readings of several values of one table",
    "verifier": "You check candidate",
    "selector": "from a ranked list of candidates",
    "letter": "from candidates that are marked with letters",
    "varied": "Several samples of this description are drawn",
    "diverse": "several different readings of",
    "directed": "four complete readings of",
    "describe": "describe what the located value means",
    "decompose": "into four search queries",
    "critique": "No search result is shown",
    "feedback": "with the help of what it retrieved",
    "revise": "You revise one dimension of a reading",
}
"""How the evidence-to-taxonomy predictors are told apart: by words of their instructions."""


class Asked(SimpleNamespace):
    """One request: ``stage``, ``prompt`` (all messages), ``user`` (the last one), ``config``, ``sample``."""

    def field(self, name):
        """The value of an input field as the prompt shows it."""
        mark = rf"\[\[ ## {name} ## \]\]\n(.*?)(?=\n\n\[\[ ##|\n\nRespond|\Z)"
        found = re.findall(mark, self.user, re.DOTALL)
        return found[-1] if found else None


class ScriptedLM(dspy.BaseLM):
    """Answers by what it is asked, safely under threads, and keeps every request in ``asked``.

    ``replies`` maps a stage to the answer as a dict, to a raw text (which need not parse), or to a
    function of the :class:`Asked` request. ``asked[i].sample`` is the number of the sample, from 0, and
    100 more where the request is a retry. The one-call arms (``diverse``, ``directed``) repeat what
    ``describe`` says where they are not given. ``logprobs`` is a function of the request and the content:
    what a server gives that is asked for log-probabilities.
    """

    def __init__(self, logprobs=None, **replies):
        super().__init__("scripted", "chat", 0.0, 1000, cache=False)
        self.replies = replies
        self.logprobs = logprobs
        self.asked = []
        self._lock = threading.Lock()

    def forward(self, prompt=None, messages=None, **kwargs):
        text = "\n".join(m["content"] for m in messages)
        words = " ".join(text.split())
        stage = next(name for name, phrase in STAGES.items() if phrase in words)
        rollout = kwargs.get("rollout_id")
        request = Asked(
            stage=stage,
            prompt=text,
            user=messages[-1]["content"],
            config=kwargs,
            sample=0 if rollout is None else rollout - 1,
        )
        with self._lock:
            self.asked.append(request)
        repeated = stage in ("diverse", "directed") and stage not in self.replies
        made = {"letter": "A", "table": table_verdicts} | self.replies
        reply = made["describe" if repeated else stage]
        if callable(reply):
            reply = reply(request)
        if repeated:
            said = reply["description"]
            respects = ("family", "period", "qualifier_and_aggregation", "scope")
            reply = {"descriptions": [said] * 4} if stage == "diverse" else dict.fromkeys(respects, said)
        if isinstance(reply, Exception):
            raise reply
        body = reply if isinstance(reply, str) else json.dumps(reply)
        chat = "[[ ## answer ## ]]" in text
        if stage == "letter":
            content = body
        else:
            content = (
                f"[[ ## answer ## ]]\n{body}\n\n[[ ## completed ## ]]" if chat else f'{{"answer": {body}}}'
            )
        choice = SimpleNamespace(message=SimpleNamespace(content=content), finish_reason="stop")
        if kwargs.get("logprobs"):
            choice.logprobs = self.logprobs(request, content) if self.logprobs else None
        return SimpleNamespace(choices=[choice], usage={}, model="scripted")

    async def aforward(self, prompt=None, messages=None, **kwargs):
        return self.forward(prompt, messages, **kwargs)

    def of(self, stage):
        """The requests of one stage."""
        return [a for a in self.asked if a.stage == stage]

    def stages(self):
        """How often each stage was asked."""
        return {name: n for name in STAGES if (n := len(self.of(name)))}

    def copy(self, **kwargs):
        return self


def table_verdicts(asked, of=lambda row, reading, candidate: "nsnsns"):
    """An answer to the verifier of whole tables: ``of(row, reading, candidate)`` for each, as texts."""
    found = {}
    for row in asked.field("rows").split("\n\n"):
        head, *readings = re.split(r"\nreading \d+:\n", row)
        candidates = re.findall(r"^\d+\. (\S+)", head.split("candidates:\n")[1], re.MULTILINE)
        found[head.split("\n")[0]] = [of(head, reading, c) for reading in readings for c in candidates]
    return found


class TableRetriever:
    """Answers a query by the first of its table's keys that the query contains, else by ``default``.

    It keeps every (query, k, filter) in ``asked``. Rankings are lists of ids, best first.
    """

    def __init__(self, taxonomy, table=None, default=()):
        self.taxonomy = taxonomy
        self.table = dict(table or {})
        self.default = list(default)
        self.asked = []

    def search(self, queries, k, where=None):
        self.asked += list(zip(queries, [k] * len(queries), where or [None] * len(queries), strict=True))
        found = [next((ids for key, ids in self.table.items() if key in q), self.default) for q in queries]
        return [Ranking.of(ids[:k]) for ids in found]

    def __deepcopy__(self, memo):
        return self


def hypothesis_reply(query="q", **values):
    """A generator's answer over the US-GAAP dimensions; what is not given is UNRESOLVED."""
    names = ("Family", "Role", "Event", "Qualifier", "Scope", "Temporal")
    return {name: values.get(name, "UNRESOLVED") for name in names} | {"retrieval_query": query}


def tiny_taxonomy():
    """Twelve concepts of two datatypes, with category profiles that differ."""
    rows = [
        ("Cash", "Cash", "Amount of cash on hand.", "monetaryItemType"),
        ("DebtCurrent", "Debt, Current", "Amount of debt due within one year.", "monetaryItemType"),
        ("DebtNoncurrent", "Debt, Noncurrent", "Amount of debt due after one year.", "monetaryItemType"),
        ("Goodwill", "Goodwill", "Amount of goodwill.", "monetaryItemType"),
        ("InventoryNet", "Inventory, Net", "Amount after reserves of inventory.", "monetaryItemType"),
        ("LeaseExpense", "Lease, Expense", "Amount of lease expense.", "monetaryItemType"),
        ("Revenues", "Revenues", "Amount of revenue recognised.", "monetaryItemType"),
        ("TaxExpense", "Income Tax Expense", "Amount of income tax expense.", "monetaryItemType"),
        ("TaxDeferred", "Deferred Tax Asset", "Amount of deferred tax asset.", "monetaryItemType"),
        ("DebtRate", "Debt, Interest Rate", "Rate of interest on debt.", "percentItemType"),
        ("TaxRate", "Effective Tax Rate", "Rate of income tax.", "percentItemType"),
        ("LeaseRate", "Lease, Discount Rate", "Rate that discounts lease payments.", "percentItemType"),
    ]
    return Taxonomy(
        [Concept(id=i, label=label, definition=text, datatype=kind) for i, label, text, kind in rows], "tiny"
    )


@pytest.fixture
def scripted():
    """The class of scripted models."""
    return ScriptedLM


@pytest.fixture
def using():
    """``with using(lm):`` DSPy's settings for a scripted model; a reply is parsed by one adapter only."""
    adapter = dspy.ChatAdapter(use_json_adapter_fallback=False)
    return lambda lm: dspy.context(lm=lm, adapter=adapter)


@pytest.fixture
def table_retriever():
    """The class of retrievers that answer by a table."""
    return TableRetriever


@pytest.fixture
def judge_table():
    """Makes the answer to a verifier of whole tables."""
    return table_verdicts


@pytest.fixture
def reply():
    """Makes a generator's answer."""
    return hypothesis_reply


@pytest.fixture(scope="session")
def schema():
    """The US-GAAP dimensions."""
    return load_schema("us-gaap")


@pytest.fixture(scope="session")
def tiny():
    """A taxonomy of twelve concepts."""
    return tiny_taxonomy()


@pytest.fixture(scope="session")
def tiny_index(tiny):
    return BM25Retriever(tiny)


@pytest.fixture(scope="session")
def bundled():
    """The data folder inside the package, whatever ``ABDUCE_DATA`` says."""
    folder = DataFolder.find()
    return folder if folder.bundled else DataFolder(Path(str(_bundled_root())), bundled=True)


def _bundled_root():
    from importlib import resources

    return resources.files("abduce.data") / "bundled"


@pytest.fixture(scope="session")
def us_gaap(bundled):
    """The whole US-GAAP inventory (17,388 concepts)."""
    return bundled.taxonomy(FINANCE)


@pytest.fixture(scope="session")
def us_gaap_index(us_gaap):
    return BM25Retriever(us_gaap)


@pytest.fixture(scope="session")
def dev_facts(bundled):
    """The bundled facts as examples."""
    return bundled.facts(FINANCE, "dev")


@pytest.fixture(scope="session")
def shared_data():
    """The project's full data folder beside the repository; a test that asks for it is skipped without it."""
    if not SHARED.is_dir():
        pytest.skip("needs ../shared/data")
    return SHARED.resolve()


@pytest.fixture(scope="session")
def root():
    """The repository."""
    return ROOT


@pytest.fixture
def table_fact():
    """A cell of a small balance sheet."""
    table = "<table><tr><td></td><td>2024</td></tr><tr><td>Debt | Long-term</td><td>1,204</td></tr></table>"
    return cell("t1", "Debt | Long-term", value="1,204", text=table, context_id="c1")


@pytest.fixture
def text_fact():
    """A mention in a sentence."""
    text = "At year end the company owed $75 million under its term loan."
    return mention("x1", text, "75", context_id="c2", datatype="monetaryItemType")


@pytest.fixture(name="cli")
def _cli():
    """``cli("tag", "facts.jsonl")`` runs the command line in this process; see :mod:`command_line`."""
    return command_line.cli


CONCEPTS = [
    {"id": "us-gaap:Goodwill", "label": "Goodwill", "definition": "Amount.", "datatype": "monetaryItemType"},
    {"id": "us-gaap:Cash", "label": "Cash", "definition": "Cash on hand.", "datatype": "monetaryItemType"},
    {"id": "us-gaap:DebtRate", "label": "Debt, Rate", "definition": "", "datatype": "percentItemType"},
]
CONTEXTS = [
    {"context_id": "c1", "source_context": "<table><tr><td>Goodwill</td><td>1,204</td></tr></table>"},
    {"context_id": "c2", "source_context": "We hold 75 million of cash.", "modality": "text"},
]
FACTS = [
    {
        "fact_id": "f1",
        "context_id": "c1",
        "value": "1,204",
        "datatype": "monetaryItemType",
        "row_header": "Goodwill",
        "column_header": "2024",
        "gold": "us-gaap:Goodwill",
    },
    {
        "fact_id": "f2",
        "context_id": "c2",
        "value": "75",
        "datatype": "us-gaap:monetaryItemType",
        "mention_start": 8,
        "mention_end": 10,
        "gold": "Cash",
    },
]


class Folder(SimpleNamespace):
    """A data folder with three concepts and two facts; ``concepts``, ``contexts`` and ``facts`` are rows."""

    def write(self):
        folder = self.path / "finance"
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in (
            ("concepts.jsonl", self.concepts),
            ("contexts.jsonl", self.contexts),
            ("facts_dev.jsonl", self.facts),
        ):
            lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
            (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return self

    def file(self, name):
        return self.path / "finance" / name


@pytest.fixture
def folder(tmp_path):
    """A small sound data folder; change its rows and ``write()`` it again."""
    rows = {"concepts": CONCEPTS, "contexts": CONTEXTS, "facts": FACTS}
    return Folder(path=tmp_path / "data", **{k: [dict(r) for r in v] for k, v in rows.items()}).write()
