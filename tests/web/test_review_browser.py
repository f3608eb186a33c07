"""The review page in a browser: keys, votes, undo, saving, search, screen readers, hostile documents."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from abduce.retrievers.bm25 import BM25Retriever
from abduce.tagging.decisions import Decision, latest
from abduce.tagging.review.journal import Journal, read_journal
from abduce.tagging.review.served import ServedReview
from abduce.tagging.review.sheet import review_html
from abduce.tagging.tagger import Tagger
from made_filing import page as filing
from made_review import ROWS, filing_tags, made_tags, made_taxonomy
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror=\"window.hit=1\"><a href='javascript:window.hit=2'>x</a>"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedReview]:
    tags, path = filing_tags(tmp_path)
    with (
        Journal(tmp_path / "j.jsonl") as journal,
        ServedReview(tags, path, journal, tmp_path / "o.csv") as one,
    ):
        yield one


def journal_of(served: ServedReview) -> dict[str, Decision]:
    return latest(read_journal(served.journal.path))


def fact_of(page: Any) -> str:
    return str(page.locator(".panel h2").first.inner_text())


def wait_saved(page: Any) -> None:
    expect(page.locator("[role=status]")).to_contain_text("saved at the server")


def wait_decided(page: Any, count: int, of: int = 12) -> None:
    expect(page.locator("header")).to_contain_text(f"{count} of {of} facts decided")


def test_the_document_is_on_the_left_with_every_fact_marked(served: ServedReview, watched: Any) -> None:
    page = watched.open(served.server.url)
    assert page.locator("#document td.f").count() == 12
    assert page.locator("#document td").filter(has_text="Goodwill").count() == 1
    assert page.locator("#document td.number").all_inner_texts() == ["2024", "2023"]
    assert page.locator("#document .current").count() == 1
    page.locator("#document td.f", has_text="133").click()
    assert fact_of(page).startswith("133")


def test_the_keyboard_alone_decides_and_everything_is_saved(served: ServedReview, watched: Any) -> None:
    page = watched.open(served.server.url, "order=place")
    expect(page.locator("#document .current")).to_have_count(1)
    page.keyboard.press("a")
    wait_decided(page, 1)
    page.keyboard.press("r")
    wait_decided(page, 2)
    page.keyboard.press("2")
    page.keyboard.press("n")
    page.keyboard.press("f")
    page.keyboard.press("m")
    page.keyboard.type("look again")
    page.keyboard.press("Enter")
    wait_saved(page)
    ids = [tag.fact.fact_id for tag in served.tags]
    found = journal_of(served)
    assert [found[i].state for i in ids[:2]] == ["accepted", "rejected"]
    assert found[ids[0]].concept == served.tags[0].concept
    assert (found[ids[2]].state, found[ids[2]].concept) == ("corrected", served.tags[2].ranking.ids[1])
    assert (found[ids[4]].flag, found[ids[4]].note) == (True, "look again")
    page.keyboard.press("u")
    page.keyboard.press("u")
    page.keyboard.press("u")
    wait_saved(page)
    wait_decided(page, 2, 12)
    assert journal_of(served)[ids[2]].state in ("open", "suggested")


def test_no_key_is_lost_or_meant_for_another_fact_however_fast_one_types(
    served: ServedReview, watched: Any
) -> None:
    page = watched.open(served.server.url, "order=place")
    page.evaluate(
        """async (keys) => {
            for (const key of keys) {
                dispatchEvent(new KeyboardEvent("keydown", { key }));
                await Promise.resolve();
            }
        }""",
        ["a", "r", "2", "n", "f", "m"],
    )
    assert page.evaluate("document.activeElement.tagName") == "INPUT"
    page.keyboard.type("look")
    page.keyboard.press("Enter")
    wait_decided(page, 3)
    wait_saved(page)
    ids = [tag.fact.fact_id for tag in served.tags]
    found = journal_of(served)
    assert [found[i].state for i in ids[:3]] == ["accepted", "rejected", "corrected"]
    assert (found[ids[4]].flag, found[ids[4]].note) == (True, "look")


def test_what_could_not_be_saved_goes_with_the_next_decision(served: ServedReview, watched: Any) -> None:
    page = watched.open(served.server.url, "order=place")
    page.route("**/decisions", lambda route: route.abort(), times=1)
    page.keyboard.press("a")
    expect(page.locator("[role=status]")).to_contain_text("NOT SAVED")
    page.keyboard.press("r")
    wait_saved(page)
    found = journal_of(served)
    assert [found[tag.fact.fact_id].state for tag in served.tags[:2]] == ["accepted", "rejected"]
    watched.problems.remove("Failed to load resource: net::ERR_FAILED")


def test_a_correction_votes_at_once_for_what_is_like_it(served: ServedReview, watched: Any) -> None:
    page = watched.open(served.server.url, "order=place")
    second = served.tags[1].fact
    page.keyboard.press("3")
    expect(page).to_have_url(re.compile(second.fact_id))
    chosen = served.tags[0].ranking.ids[2]
    assert page.locator(".candidates .mono").first.inner_text() == chosen
    assert "you said so of 1 like it" in page.locator(".candidates li").first.inner_text()
    wait_saved(page)
    assert (journal_of(served)[second.fact_id].state, journal_of(served)[second.fact_id].concept) == (
        "suggested",
        chosen,
    )


def test_the_same_for_the_rows_alike_and_back(served: ServedReview, watched: Any) -> None:
    page = watched.open(served.server.url, "order=place")
    expect(page.locator("#document .current")).to_have_count(1)
    page.keyboard.press("s")
    wait_decided(page, 2, 12)
    page.keyboard.press("u")
    wait_decided(page, 0, 12)
    assert "0 of 12 facts decided" in page.locator("header").inner_text()


def test_the_taxonomy_is_searched_as_one_types(served: ServedReview, watched: Any) -> None:
    page = watched.open(served.server.url, "order=place")
    page.keyboard.press("/")
    page.locator("[role=combobox]").wait_for()
    page.keyboard.type("income ta")
    page.locator("[role=option]").first.wait_for()
    assert page.locator("[role=option] .mono").first.inner_text() == "T9"
    page.keyboard.press("Enter")
    wait_saved(page)
    assert journal_of(served)[served.tags[0].fact.fact_id].concept == "T9"


def test_a_second_visit_goes_on_where_the_first_ended(served: ServedReview, watched: Any) -> None:
    page = watched.open(served.server.url, "order=place")
    page.keyboard.press("a")
    wait_saved(page)
    page = watched.open(served.server.url, "order=place&show=all&fact=" + served.tags[0].fact.fact_id)
    page.reload()
    page.wait_for_selector(".review")
    assert "1 of 12 facts decided" in page.locator("header").inner_text()
    assert page.locator(".panel .chip").first.inner_text() == "accepted"


def test_a_window_that_was_opened_before_is_told(served: ServedReview, watched: Any) -> None:
    page = watched.open(served.server.url, "order=place")
    other = page.context.new_page()
    other.goto(served.server.url)
    other.wait_for_selector(".review")
    page.keyboard.press("a")
    expect(page.locator("[role=status]")).to_contain_text("NOT SAVED")
    assert "opened again in another window" in page.locator("[role=status]").inner_text()
    assert journal_of(served) == {}
    watched.problems.remove("Failed to load resource: the server responded with a status of 409 (Conflict)")


def test_a_page_in_a_file_keeps_decisions_in_the_browser_and_writes_them(
    tmp_path: Path, watched: Any
) -> None:
    tags, path = filing_tags(tmp_path)
    (tmp_path / "p.html").write_text(review_html(tags, path), encoding="utf-8")
    page = watched.open(tmp_path / "p.html", "order=place")
    page.keyboard.press("a")
    page.keyboard.press("r")
    expect(page.locator("[role=status]")).to_contain_text("kept in this browser")
    page.reload()
    page.wait_for_selector(".review")
    assert "2 of 12 facts decided" in page.locator("header").inner_text()
    with page.expect_download() as download:
        page.get_by_role("button", name="Write decisions to a file").click()
    download.value.save_as(tmp_path / "d.jsonl")
    states = {d.fact_id: d.state for d in read_journal(tmp_path / "d.jsonl")}
    assert [states[t.fact.fact_id] for t in tags[:2]] == ["accepted", "rejected"]


def test_all_that_is_sure_enough_is_accepted_where_a_calibration_holds(tmp_path: Path, watched: Any) -> None:
    tags = made_tags([["T0"], ["T0"], ["T1"], ["T1"]], [0.95, 0.4, 0.9, 0.89])
    (tmp_path / "p.html").write_text(review_html(tags, None), encoding="utf-8")
    page = watched.open(tmp_path / "p.html")
    assert "(2)" in page.get_by_role("button", name="Accept all at 95%").inner_text()
    page.keyboard.press("b")
    wait_decided(page, 2, 4)
    without = made_tags([["T0"], ["T0"]])
    (tmp_path / "q.html").write_text(review_html(without, None), encoding="utf-8")
    assert watched.open(tmp_path / "q.html").get_by_role("button", name="Accept all at 95%").is_disabled()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screen_readers_find_no_serious_fault(served: ServedReview, watched: Any, scheme: Any) -> None:
    watched.page.emulate_media(color_scheme=scheme)
    page = watched.open(served.server.url, "order=place")
    assert watched.axe() == []
    page.keyboard.press("/")
    page.keyboard.type("debt")
    page.locator("[role=option]").first.wait_for()
    assert watched.axe() == []


def test_hostile_documents_are_shown_as_they_stand(tmp_path: Path, watched: Any) -> None:
    page_text = (
        f"<p>Debt of 77 million {HOSTILE.replace('<', '&lt;')}</p><script>window.hit=3</script>"
        "<iframe src='http://example.invalid/'></iframe>"
        "<img src='http://example.invalid/x.png' onerror='window.hit=4'>"
        "<p style='background:url(http://example.invalid/y)'>Owed: <a href='javascript:window.hit=5'>88</a> "
        "<svg onload='window.hit=6'></svg></p><object data='http://example.invalid/z'></object>"
        "<form action='http://example.invalid'><input name=q></form>"
        "<meta http-equiv='refresh' content='0;url=http://example.invalid/'>"
    )
    tags, path = filing_tags(tmp_path, lambda text: f"{text} {HOSTILE}", page_text)
    said = [Decision(tags[0].fact.fact_id, "corrected", HOSTILE, note=HOSTILE)]
    (tmp_path / "p.html").write_text(review_html(tags, path, said), encoding="utf-8")
    for settings in ("order=place&show=all", f"find={HOSTILE}", f"fact={tags[0].fact.fact_id}&show=all"):
        page = watched.open(tmp_path / "p.html", settings)
        page.wait_for_timeout(300)
        assert page.evaluate("window.hit") is None
        assert (
            page.locator("#document")
            .locator("script, iframe, img, a, svg, object, form, input, style")
            .count()
            == 0
        )
        assert page.locator("img, iframe, object, embed, a[href^='javascript'], form").count() == 0
    assert "88" in page.locator("#document").inner_text()
    assert HOSTILE in page.locator("#document").inner_text()
    assert HOSTILE in page.locator(".panel").inner_text()


@pytest.mark.parametrize("at_server", [False, True])
def test_a_hostile_file_name_is_shown_as_it_stands(tmp_path: Path, watched: Any, at_server: bool) -> None:
    name = "a\"><img src=x onerror='window.hit=1'>&lt;"
    path = tmp_path / f"{name}.htm"
    path.write_text(filing(2024, ROWS, tagged=False), encoding="utf-8")
    with Tagger(made_taxonomy()) as tagger:
        tags = tagger.tag(path)
    (tmp_path / "p.html").write_text(review_html(tags, path), encoding="utf-8")
    with Journal(tmp_path / f"{name}.jsonl") as journal, ServedReview(tags, path, journal) as one:
        page = watched.open(one.server.url if at_server else tmp_path / "p.html")
        assert page.locator("h1").inner_text() == name
        assert page.title() == f"Review of {name}"
        assert page.evaluate("window.hit") is None
        assert page.locator("img").count() == 0


SEARCHES = (
    "cash",
    "restricted cash",
    "debt current",
    "income tax expense",
    "monetaryItemType debt",
    "Deferred taxes!",
)


def test_the_page_ranks_as_the_retriever_does(tmp_path: Path, watched: Any) -> None:
    retriever = BM25Retriever(made_taxonomy())
    (tmp_path / "p.html").write_text(review_html(made_tags([["T0"]]), None), encoding="utf-8")
    page = watched.open(tmp_path / "p.html")
    for query, ranking in zip(SEARCHES, retriever.search(list(SEARCHES), 12), strict=True):
        page.keyboard.press("/")
        page.locator("[role=combobox]").fill(f"{query} ")
        page.wait_for_timeout(150)
        found = [hit.id for hit in ranking if hit.components["bm25"] > 0]
        assert page.locator("[role=option] .mono").all_inner_texts() == found, query
        page.keyboard.press("Escape")
