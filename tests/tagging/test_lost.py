"""A model that is of no use is seen: on the tags, and in how the command ends."""

from __future__ import annotations

import json

import pytest
from abduce import Tagger
from command_line import cli
from openai_stub import Stub, completion


@pytest.fixture
def useless(tmp_path):
    """A server whose replies are empty, a taxonomy and two facts."""
    with Stub() as server:
        server.then = lambda body: completion(body, None)
        concepts = [{"id": i, "label": i, "datatype": "t"} for i in ("Assets", "Cash")]
        fact = {"value": "1", "datatype": "t", "context_id": "c", "row_header": "Cash", "modality": "table"}
        facts = [{"fact_id": f"f{n}", **fact} for n in range(2)]
        contexts = [{"context_id": "c", "source_context": "Cash 1 Assets 1", "modality": "table"}]
        for name, lines in (
            ("concepts.jsonl", concepts),
            ("facts.jsonl", facts),
            ("contexts.jsonl", contexts),
        ):
            (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        (tmp_path / "lm.toml").write_text(f'[lm]\nkind = "vllm"\nbase_url = "{server.url}"\n')
        yield tmp_path


def test_every_tag_says_that_its_model_was_no_use(useless):
    options = {"program": "FHS", "lm": useless / "lm.toml", "cache": False}
    with Tagger(useless / "concepts.jsonl", **options) as tagger:
        tags = tagger.tag(useless / "facts.jsonl")
        assert [tag.lost for tag in tags] == [True, True]
        assert len(tags.lost) == 2
        assert tags.unusable == 1.0
        assert "dropped replies" in tagger.cost
    with Tagger(useless / "concepts.jsonl", program="locus") as tagger:
        tags = tagger.tag(useless / "facts.jsonl")
        assert (tags.lost, tags.unusable, tagger.cost) == ([], 0.0, "")


@pytest.mark.parametrize(("more", "code"), [([], 1), (["--allow-fallback"], 0)])
def test_the_command_leaves_with_1_unless_fall_backs_are_allowed(useless, more, code):
    out = useless / "tags.csv"
    command = [
        "tag",
        str(useless / "facts.jsonl"),
        "--taxonomy",
        str(useless / "concepts.jsonl"),
        "--program",
    ]
    command += ["FHS", "--lm", str(useless / "lm.toml"), "--no-cache", "--out", str(out), *more]
    result = cli(*command)
    assert result.code == code
    assert "2 of 2 facts fell back" in result.err
    assert "dropped replies" in result.err
    assert out.exists()
