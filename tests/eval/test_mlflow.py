"""MLflow's automatic logging of DSPy keeps working around the runner (skipped where MLflow is missing)."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dspy
import pytest
from abduce.data.example import Example
from abduce.eval.experiments.evaluate import evaluate
from abduce.lm import load
from abduce.programs import FHS, FHSConfig
from abduce.programs.running import fan_out
from abduce.retrievers.base import Ranking
from dspy.utils import DummyLM
from openai_stub import Stub, content_for

mlflow = pytest.importorskip("mlflow")
pytest.importorskip("mlflow.dspy")


class Guess(dspy.Module):
    """Ranks what two model calls name, made at the same time as all programs make theirs."""

    def __init__(self) -> None:
        super().__init__()
        self.guess = dspy.Predict("text -> concept")

    def forward(self, text: str) -> dspy.Prediction:
        calls = [partial(self.guess, text=text, config={"rollout_id": j, "temperature": 1.0}) for j in (1, 2)]
        return dspy.Prediction(ranking=Ranking.of(list({r.concept: 1 for r in fan_out(calls)})))


@pytest.fixture
def autolog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MLFLOW_ENABLE_ASYNC_TRACE_LOGGING", "false")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    mlflow.set_experiment("abduce")
    mlflow.dspy.autolog()
    yield
    mlflow.dspy.autolog(disable=True)
    mlflow.set_tracking_uri(None)


@pytest.mark.usefixtures("autolog")
@pytest.mark.parametrize("concurrency", [1, 3])
def test_every_example_is_one_trace_with_all_its_model_calls(concurrency: int) -> None:
    examples = [Example(f"e{i}", {"text": f"t{i}"}, "A") for i in range(5)]
    lm = DummyLM({f"t{i}": {"concept": "A" if i else "B"} for i in range(5)})
    with dspy.context(lm=lm):
        run = evaluate({"guess": Guess()}, examples, concurrency=concurrency)
    assert run.summary()["rows"][0]["R@1"] == 0.8
    traces = mlflow.search_traces(return_type="list")
    roots = [t.data.spans[0] for t in traces]
    assert sorted(r.inputs["text"] for r in roots) == [e.inputs["text"] for e in examples]
    for trace in traces:
        kinds = [span.span_type for span in trace.data.spans]
        assert kinds.count("CHAT_MODEL") == 2


@pytest.mark.usefixtures("autolog")
@pytest.mark.parametrize("awaited", [False, True])
def test_a_program_is_one_trace_with_all_its_model_calls(
    awaited: bool, tiny_index: Any, schema: Any, table_fact: Any
) -> None:
    program = FHS(tiny_index, schema, FHSConfig(J=2))
    with Stub() as stub, load({"kind": "vllm", "base_url": stub.url}, cache=False) as models:
        stub.then = lambda body: content_for(body).replace("stub answer", "debt due within one year")
        with models.context():
            prediction = asyncio.run(program.acall(fact=table_fact)) if awaited else program(fact=table_fact)
    (trace,) = mlflow.search_traces(return_type="list")
    kinds = [span.span_type for span in trace.data.spans]
    assert kinds.count("CHAT_MODEL") == len(prediction.trace.calls) == 4
    assert trace.data.spans[0].name == "FHS.forward"
    assert "Ranking" in str(trace.data.spans[0].outputs) or "ranking" in str(trace.data.spans[0].outputs)
