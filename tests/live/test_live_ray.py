"""Tagging on a Ray cluster of two nodes, one of which dies in the middle: nothing lost, nothing doubled."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from abduce.retrievers.errors import InputError
from abduce.tagging.on_ray import FAILURES, tag_on_ray
from abduce.tagging.tagger import Tagger
from openai_stub import Status, Stub

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.live

CONCEPTS = ["Assets", "Liabilities", "Revenues", "Inventory", "Goodwill"]
FACTS = 200


@pytest.fixture
def cluster():
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.second = made.add_node(num_cpus=1)
    made.wait_for_nodes()
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A taxonomy and two files of facts, each fact in a source context of its own."""
    lines = [json.dumps({"id": c, "label": c, "definition": f"all of {c}"}) for c in CONCEPTS]
    (tmp_path / "taxonomy.jsonl").write_text("\n".join(lines))
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        rows = [
            {
                "fact_id": f"{name}{i}",
                "value": str(i),
                "source_context": f"Total {CONCEPTS[i % 5].lower()} of part {i} were {i} dollars.",
                "mention_start": len(f"Total {CONCEPTS[i % 5].lower()} of part {i} were "),
                "mention_end": len(f"Total {CONCEPTS[i % 5].lower()} of part {i} were {i}"),
            }
            for i in range(FACTS // 2)
        ]
        (tmp_path / "in" / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def settings(files: Path, stub: Stub) -> dict[str, Any]:
    return {
        "taxonomy": str(files / "taxonomy.jsonl"),
        "program": "decomposed",
        "lm": {"kind": "openai", "model": "stub-model", "base_url": stub.url},
        "cache": False,
        "concurrency": 1,
    }


def table(out: Path) -> list[dict[str, Any]]:
    from pyarrow import parquet

    return list(parquet.read_table(out).to_pylist())


def tags_there(node: str) -> bool:
    """Whether an actor that tags runs on a node."""
    from ray._private.state import actors

    alive = (a for a in actors().values() if a["State"] == "ALIVE" and "TagPiece" in a["ActorClassName"])
    return any(a["Address"]["NodeID"] == node for a in alive)


def test_a_node_dies_in_the_middle(cluster: Any, files: Path) -> None:
    with Stub() as alone, Tagger(**settings(files, alone)) as tagger:
        expected = {
            row["fact_id"]: row["concept"]
            for name in ("a", "b")
            for row in tagger.tag(files / "in" / f"{name}.jsonl").rows()
        }
        one_pass = len(alone.bodies)
    assert one_pass >= FACTS
    out = files / "out"
    with Stub(latency=0.1) as stub:

        def kill() -> None:
            while not (len(stub.bodies) > FACTS // 10 and tags_there(cluster.second.node_id)):
                time.sleep(0.1)
            cluster.remove_node(cluster.second, allow_graceful=False)

        killer = threading.Thread(target=kill)
        killer.start()
        done = tag_on_ray(str(files / "in" / "*.jsonl"), str(out), settings(files, stub), actors=2, piece=2)
        killer.join()
        calls = len(stub.bodies)
    assert len(cluster.list_all_nodes()) == 1
    rows = table(out)
    assert Counter(r["fact_id"] for r in rows) == Counter(expected.keys())
    assert {r["fact_id"]: r["concept"] for r in rows} == expected
    assert (done.facts, done.failed, done.unread) == (FACTS, 0, {})
    assert calls <= 1.02 * one_pass


def test_what_is_done_is_not_asked_for_again(cluster: Any, files: Path) -> None:
    out, sources = files / "out", str(files / "in" / "*.jsonl")
    broken = files / "in" / "c.jsonl"
    broken.write_text('{"fact_id": "c0"}')
    with Stub() as stub:
        stub.then = lambda body: Status(400) if "part 7 " in json.dumps(body) else "answer"
        done = tag_on_ray(sources, str(out), settings(files, stub), actors=1, piece=50)
        assert (done.facts, done.failed, list(done.unread)) == (FACTS, 2, [str(broken)])
        assert "value" in done.unread[str(broken)]
        failures = table(out / FAILURES)
        assert {(Path(r["source"]).name, r["fact_id"]) for r in failures} == {
            ("a.jsonl", "a7"),
            ("b.jsonl", "b7"),
            ("c.jsonl", None),
        }
        stub.bodies.clear()
        stub.then = "answer"
        broken.unlink()
        done = tag_on_ray(sources, str(out), settings(files, stub), actors=1, piece=50)
        assert (done.facts, done.failed, len(stub.bodies)) == (FACTS, 0, 2)
        assert sorted(r["fact_id"] for r in table(out)) == sorted(f"{n}{i}" for n in "ab" for i in range(100))
        with pytest.raises(InputError, match="other settings"):
            tag_on_ray(sources, str(out), settings(files, stub) | {"program": "locus"}, piece=50)
