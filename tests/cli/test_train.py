"""``abduce train``: a folder, or one line that says why not."""

import json

from made_tagged import write_tagged


def test_a_model_is_trained_once_and_not_overwritten(cli, tmp_path):
    facts, taxonomy = write_tagged(tmp_path, companies=2)
    out = tmp_path / "model"
    done = cli("train", str(facts), "--taxonomy", str(taxonomy), "--out", str(out), "--no-keep-folds")
    assert done.code == 0
    assert "24 facts" in done.out
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    assert manifest["parameters"]["folds"] == 0
    assert sorted(g for fold in manifest["parameters"]["groups"] for g in fold) == ["00COMPAN", "01COMPAN"]
    again = cli("train", str(facts), "--taxonomy", str(taxonomy), "--out", str(out))
    assert again.code == 2
    assert "exists already" in again.err


def test_what_cannot_be_learned_from_is_one_line(cli, tmp_path):
    facts, taxonomy = write_tagged(tmp_path, companies=1)
    out = tmp_path / "model"
    for args, said in (
        ((str(tmp_path / "none.jsonl"), "--taxonomy", str(taxonomy)), "no such file"),
        ((str(facts), "--taxonomy", "no-such-release"), "no taxonomy"),
        ((str(taxonomy), "--taxonomy", str(taxonomy)), "fact_id"),
    ):
        done = cli("train", *args, "--out", str(out))
        assert done.code == 2
        assert said in done.err
        assert done.err.count("\n") == 1
        assert not out.exists()
