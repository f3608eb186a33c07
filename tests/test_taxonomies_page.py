"""The worked example of docs/taxonomies.md, from a CSV file of 200 rows to an evaluated table."""

from __future__ import annotations

import csv
import json
import re
import shlex
import subprocess

from made_products import ROWS, write_shop


def test_the_worked_example_runs(root, cli, tmp_path, monkeypatch):
    page = (root / "docs" / "taxonomies.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    write_shop(tmp_path)
    for name in ("categories.csv", "products.csv"):
        shown = re.search(rf"`{name}`.*?```\n(.*?)```", page, re.DOTALL)[1].splitlines()
        assert (tmp_path / name).read_text().splitlines()[: len(shown)] == shown
    (experiment,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "mine.toml").write_text(experiment)
    said = {}
    for line in "".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL)).splitlines():
        if line.startswith("abduce "):
            ran = cli(*shlex.split(line)[1:])
            assert ran.code == 0, ran.err
            said[line.split()[1]] = ran.out
        else:
            subprocess.run(["sh", "-c", line], check=True)
    with (tmp_path / "tags.csv").open(newline="") as stream:
        assert len(list(csv.DictReader(stream))) == ROWS // 2
    summary = json.loads((tmp_path / "runs" / "mine" / "summary.json").read_text())
    rows = {row["row"]: row for row in summary["rows"]}
    assert list(rows) == re.findall(r'^name = "(.*)"$', experiment, re.MULTILINE)
    assert all(name in said["eval"] and name in said["report"] for name in rows)
    result = re.search(r"<!-- result -->\n```\n(.*?)```", page, re.DOTALL)[1]
    assert [" ".join(line.split()) for line in result.splitlines()] == [
        " ".join(line.split()) for line in said["eval"].splitlines() if re.match(r"^ (row|\w.* 100 )", line)
    ]
