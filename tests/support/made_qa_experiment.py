"""A small experiment over questions, and its run."""

from __future__ import annotations

from pathlib import Path

from abduce.eval.experiments.evaluate import evaluate
from abduce.eval.experiments.files import parse_experiment
from abduce.eval.report.report import result_tables

ROWS = """
[[row]]
name = "No-RAG (CoT)"
program = "No-RAG (CoT)"
[[row]]
name = "Simple RAG"
program = "Simple RAG"
set = { B_max = 2 }
[[row]]
name = "HCQR"
program = "HCQR"
set = { per_query = 1 }
[[row]]
name = "- q1"
base = "HCQR"
set = { drop = "q1" }
"""


def text(models="", judges="", rows=ROWS, more=""):
    return f"""
family = "qa"
name = "tiny"
questions = ["mmlu-med-dev"]
baseline = "Simple RAG"
no_rag = "No-RAG (CoT)"
notes = ["A note."]
{more}
[retriever]
kind = "bm25"
{models}
{judges}
{rows}
"""


def served(model, name="", key="judge"):
    head = f'name = "{name}"\n' if name else ""
    return f'{head}lm = {{ kind = "vllm", model = "stub-model", base_url = "{model.url}" }}\n'


def run(toml, folder, **options):
    """The run, and what is shown of it."""
    experiment = parse_experiment(toml, Path("tiny.toml"))
    result = evaluate(experiment, data=str(folder), cache=False, concurrency=4, **options)
    return result, "\n".join([*map(str, result_tables(result)), *result.notes])


def lm(model):
    return {"kind": "vllm", "model": "stub-model", "base_url": model.url}
