"""The page of a run in a browser: what it shows, addresses, keys, screen readers, hostile texts."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from abduce.eval.report.page import report_html
from abduce.eval.runs.joining import joined
from made_questions import question_run
from made_report import made_run

pytestmark = pytest.mark.browser

HOSTILE = (
    '</script><img src=x onerror="window.hit=1"><a href="javascript:window.hit=2">x</a><svg onload=hit()>&lt;'
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    run, sources = made_run(folder / "r", 40)
    (folder / "p.html").write_text(report_html(run, sources), encoding="utf-8")
    return folder / "p.html"


def test_it_opens_on_what_changed(made: Path, watched: Any) -> None:
    page = watched.open(made)
    assert page.locator("h2").all_inner_texts()[:2] == ["What changed", "Facts"]
    assert (
        page.get_by_text("better against base by MRR").inner_text().startswith("better against base by MRR: ")
    )
    row = page.locator("table.data tbody tr").nth(1)
    assert row.locator("th").inner_text().startswith("better")
    page.locator("figure svg").first.wait_for()
    assert page.locator("figure svg").count() >= 3


def test_filters_are_in_the_address_and_a_link_leads_back(made: Path, watched: Any) -> None:
    page = watched.open(made)
    page.get_by_role("button", name="harmed").click()
    harmed = page.get_by_role("status").inner_text()
    page.locator("label", has_text="kind").locator("select").select_option("odd")
    page.get_by_placeholder("words of a locus").fill("receivables")
    shown = page.get_by_role("status").inner_text()
    address = page.url.partition("#")[2]
    assert "change=harmed" in address
    assert "by.kind=odd" in address
    again = watched.open(made, address)
    assert again.get_by_role("status").inner_text() == shown != harmed
    again.get_by_role("button", name="Clear filters").click()
    assert again.get_by_role("status").inner_text() == "40 facts of 40"


def test_a_fact_lights_its_cell_and_shows_two_rows_side_by_side(made: Path, watched: Any) -> None:
    page = watched.open(made, "id=f1")
    assert page.locator("td.lit").all_inner_texts() == ["200"]
    assert page.locator("section.side h3").all_inner_texts() == ["base", "better"]
    better = page.locator("section.side").nth(1)
    assert better.locator("table.grid-verdicts").first.locator("tbody tr").count() == 3
    assert better.locator("table.grid-verdicts tbody tr").first.locator("td").all_inner_texts() == [
        "+\nsupport",
        "−\nno support",
        "·\nabstain",
    ]
    assert better.locator("tr.gold").first.locator(".mono").inner_text().startswith("Concept1")
    page.get_by_label("Left").select_option("better")
    assert page.locator("section.side h3").all_inner_texts() == ["better"]
    assert "b=better" in page.url


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("questions")
    run, sources = question_run(folder / "r")
    (folder / "p.html").write_text(report_html(run, sources), encoding="utf-8")
    return folder / "p.html"


def test_a_question_shows_plan_queries_passages_and_judges_of_two_rows(questions: Path, watched: Any) -> None:
    page = watched.open(questions, "id=q1")
    assert page.get_by_text("Which is it in case 1?").is_visible()
    assert page.locator("li.is-gold").inner_text() == "A cholera (gold)"
    sides = page.locator("section.side")
    assert sides.locator("h3").all_inner_texts() == ["base", "planned"]
    base, planned = sides.nth(0).inner_text(), sides.nth(1).inner_text()
    assert "Answer B measles, wrong" in base
    assert "Judge first: Not Useful" in base
    assert "Plan" not in base
    assert "Answer A cholera, right" in planned
    assert "Judge first: Entailed (context alone supports A)" in planned
    assert "Judge second: no label OSError: it is gone" in planned
    pairs = sides.nth(1).locator("dl").all_inner_texts()
    assert [text.split("\n") for text in pairs] == [
        ["working hypothesis", "it is cholera", "confirming evidence", "rice water"],
        ["confirm", "watery stools", "refute", "rash"],
    ]
    assert "A for [2] Passage 1 of (model)" in planned
    passages = sides.nth(1).locator("ol > li")
    assert [" ".join(text.split()) for text in passages.all_inner_texts()] == [
        "p0 Title 0 confirm #1",
        "p1 Title 1 cited confirm #2",
        "p2 Title 2 confirm #3",
    ]
    assert passages.evaluate_all("all => all.map(li => li.className)") == ["", "good-box", ""]
    passages.nth(1).locator("summary").click()
    assert passages.nth(1).locator(".passage").inner_text() == "Passage 1 of cholera."
    page.get_by_label("Left").select_option("planned")
    page.get_by_label("Right").select_option("base")
    assert sides.locator("h3").all_inner_texts() == ["planned", "base"]
    assert watched.axe() == []


def test_a_failed_example_says_why(made: Path, watched: Any) -> None:
    page = watched.open(made, "id=f39")
    assert page.locator(".bad-box").inner_text() == "RuntimeError: no reply"


def test_the_keyboard_walks_through_the_filtered_facts(made: Path, watched: Any) -> None:
    page = watched.open(made, "by.kind=odd&order=data&id=f1")
    page.locator("section.side").first.wait_for()
    page.keyboard.press("j")
    page.wait_for_function("location.hash.includes('id=f3')")
    page.keyboard.press("k")
    page.wait_for_function("location.hash.includes('id=f1') && !location.hash.includes('id=f1_')")
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="What changed").wait_for()
    assert page.get_by_role("heading", name="What changed").is_visible()


def test_an_id_that_is_not_there_is_said(made: Path, watched: Any) -> None:
    page = watched.open(made, "id=gone")
    assert page.get_by_text("No example gone in this run.").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("settings", ["", "id=f1"])
def test_screen_readers_find_no_serious_fault(made: Path, watched: Any, settings: str, scheme: Any) -> None:
    watched.page.emulate_media(color_scheme=scheme)
    page = watched.open(made, settings)
    page.locator("section.side, figure svg").first.wait_for()
    assert watched.axe() == []


def test_it_prints(made: Path, watched: Any) -> None:
    page = watched.open(made)
    page.locator("figure svg").first.wait_for()
    page.emulate_media(media="print")
    assert not page.get_by_role("button", name="harmed").is_visible()
    assert page.get_by_role("heading", name="What changed").is_visible()
    assert len(page.pdf()) > 10_000


def test_two_runs_say_what_the_change_did(tmp_path: Path, watched: Any) -> None:
    before, sources = made_run(tmp_path / "before")
    after, _ = made_run(tmp_path / "after")
    both = report_html(joined([before, after]), sources)
    (tmp_path / "p.html").write_text(both, encoding="utf-8")
    page = watched.open(tmp_path / "p.html")
    assert page.get_by_text("better (after) minus better (before)").is_visible()
    assert "0 facts helped" in page.get_by_text("by MRR:").inner_text()


def test_hostile_questions_are_shown_as_they_stand(tmp_path: Path, watched: Any) -> None:
    run, sources = question_run(tmp_path / "r", say=lambda text: f"{text} {HOSTILE}")
    (tmp_path / "p.html").write_text(report_html(run, sources), encoding="utf-8")
    for settings in ("", "id=q1"):
        page = watched.open(tmp_path / "p.html", settings)
        page.locator("section.side, figure svg").first.wait_for()
        assert HOSTILE in page.locator("body").inner_text()
        assert page.evaluate("window.hit") is None
        assert page.locator("img, a[href^='javascript'], iframe, object, embed, form").count() == 0


def test_hostile_texts_are_shown_as_they_stand(tmp_path: Path, watched: Any) -> None:
    run, sources = made_run(
        tmp_path / "r", say=lambda text: f"{text} {HOSTILE}", names=("base", f"b{HOSTILE}")
    )
    (tmp_path / "p.html").write_text(report_html(run, sources), encoding="utf-8")
    for settings in ("", "id=f1", "id=f7", f"find={quote(HOSTILE)}", f"id={quote(HOSTILE)}"):
        page = watched.open(tmp_path / "p.html", settings)
        page.wait_for_timeout(300)
        assert HOSTILE in page.locator("body").inner_text()
        assert page.evaluate("window.hit") is None
        assert page.locator("img, a[href^='javascript']").count() == 0
        assert page.locator("iframe, object, embed, form").count() == 0


def test_hostile_folder_names_are_shown_as_they_stand(tmp_path: Path, watched: Any) -> None:
    name = "a\"><img src=x onerror='window.hit=1'>&lt;"
    before, sources = made_run(tmp_path / name)
    after, _ = made_run(tmp_path / "after")
    both = report_html(joined([before, after]), sources)
    (tmp_path / "p.html").write_text(both, encoding="utf-8")
    page = watched.open(tmp_path / "p.html")
    assert name in page.locator("main").inner_text()
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0
