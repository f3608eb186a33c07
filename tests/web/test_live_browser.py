"""The page of a run that goes on."""

from pathlib import Path
from typing import Any

import pytest
from abduce.data.folder import DataFolder
from abduce.eval.report.live import LiveReport
from abduce.eval.runs.runner import run
from made_runs import CODEC, examples, row
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def made(folder: Path, rows: int, n: int = 12) -> None:
    run([row(f"row {i}") for i in range(rows)], examples(n), codec=CODEC, out=folder, experiment="going on")


def test_an_open_page_follows_the_run_and_keeps_its_place(tmp_path: Path, watched: Any) -> None:
    with LiveReport(tmp_path / "r", DataFolder.find(), every=0.2) as live:
        page = watched.page
        watched.home = live.server.url
        page.goto(live.server.url)
        expect(page.get_by_text("has not written anything yet")).to_be_visible()
        made(tmp_path / "r", 1)
        expect(page.get_by_role("button", name="row 0")).to_be_visible(timeout=15_000)
        page.get_by_role("button", name="same").click()
        made(tmp_path / "r", 2)
        expect(page.get_by_role("button", name="row 1")).to_be_visible(timeout=15_000)
        assert "change=same" in page.url
    expect(page.get_by_role("button", name="row 1")).to_be_visible()
    watched.problems = [p for p in watched.problems if "ERR_CONNECTION_REFUSED" not in p]


def test_the_last_page_is_that_of_the_finished_run(tmp_path: Path, watched: Any) -> None:
    made(tmp_path / "r", 1)
    with LiveReport(tmp_path / "r", DataFolder.find(), every=1.0) as live:
        page = watched.open(live.server.url)
        expect(page.get_by_role("button", name="row 0")).to_be_visible(timeout=15_000)
        page.wait_for_timeout(2500)  # it has asked once which version it shows
        made(tmp_path / "r", 3)
    expect(page.get_by_role("button", name="row 2")).to_be_visible()
    watched.problems = [p for p in watched.problems if "ERR_CONNECTION_REFUSED" not in p]


def test_a_hostile_folder_name_is_shown_as_it_stands(tmp_path: Path, watched: Any) -> None:
    folder = tmp_path / "a\"><img src=x onerror='window.hit=1'>&lt;"
    made(folder, 1)
    with LiveReport(folder, DataFolder.find(), every=0.2) as live:
        live.update()
        page = watched.open(live.server.url)
        expect(page.get_by_role("button", name="row 0")).to_be_visible(timeout=15_000)
        assert page.evaluate("window.hit") is None
        assert page.locator("img").count() == 0


def test_it_needs_a_run_folder(cli: Any) -> None:
    ran = cli("eval", "finance-no-model", "--limit", "2", "--watch")
    assert (ran.code, "name it with --out" in ran.err) == (2, True)
