"""The server of pages: to one's own browser alone, and a review that it keeps."""

import http.client
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from abduce.tagging.decisions import Decision
from abduce.tagging.review.journal import Journal, read_journal
from abduce.tagging.review.served import ServedReview
from abduce.web.server import PageServer, Reply
from made_review import made_tags


def ask(
    server: PageServer, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    sent = {k.replace("_", "-"): v for k, v in headers.items()}
    connection.request(method, path, body if method == "POST" else None, sent)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, answer.headers


@pytest.fixture
def server() -> Iterator[PageServer]:
    def post(body: bytes, headers: Mapping[str, str]) -> Reply:
        return Reply(f"got {len(body)}")

    with PageServer(
        {"": lambda: Reply("<p>hello", "text/html"), "version": lambda: Reply("1")}, {"save": post}
    ) as s:
        yield s


def own(server: PageServer) -> dict[str, str]:
    return {"Origin": f"http://127.0.0.1:{server.port}", "Content_Type": "application/json"}


def test_the_page_is_behind_its_token_and_in_no_frame(server: PageServer) -> None:
    status, text, headers = ask(server, "GET", f"/{server.token}/")
    assert (status, text) == (200, "<p>hello")
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    for path in (
        "/",
        "/wrong/",
        f"/{server.token[:-1]}/",
        "/é/",
        f"/{server.token}/gone",
        f"/{server.token}/../etc",
    ):
        assert ask(server, "GET", quote(path))[0] == 404


def test_another_host_or_site_gets_nothing(server: PageServer) -> None:
    page = f"/{server.token}/"
    assert ask(server, "GET", page, Host="evil.example")[0] == 421
    assert ask(server, "GET", page, Host=f"evil.example:{server.port}")[0] == 421
    assert ask(server, "GET", page, Origin="http://evil.example")[0] == 403
    assert ask(server, "GET", page, Host=f"localhost:{server.port}")[0] == 200


def test_what_changes_something_must_come_from_the_page(server: PageServer) -> None:
    save = f"/{server.token}/save"
    assert ask(server, "POST", save, b"[]", **own(server))[:2] == (200, "got 2")
    assert ask(server, "POST", save, b"[]", Content_Type="application/json")[0] == 403
    assert ask(server, "POST", save, b"[]", **own(server) | {"Origin": "null"})[0] == 403
    assert ask(server, "POST", save, b"[]", **own(server) | {"Content_Type": "text/plain"})[0] == 415
    assert ask(server, "POST", save, b"[]", **own(server) | {"Content_Length": "99999999"})[0] == 413
    assert ask(server, "POST", save, b"[]", **own(server) | {"Content_Length": "x"})[0] == 413
    assert ask(server, "POST", "/wrong/save", b"[]", **own(server))[0] == 404
    assert ask(server, "PUT", save)[0] == 501


def saved(review: ServedReview, decisions: Any, session: str = "1") -> tuple[int, str, Any]:
    path, headers = f"/{review.server.token}/decisions", own(review.server)
    return ask(review.server, "POST", path, json.dumps(decisions).encode(), **headers, X_Session=session)


def test_a_decision_is_on_the_disk_when_the_page_hears_of_it(tmp_path: Path) -> None:
    tags = made_tags([["T0"], ["T1"]])
    accepted = Decision("f0", "accepted", "T0", at="2026-01-01").record()
    with (
        Journal(tmp_path / "j.jsonl") as journal,
        ServedReview(tags, None, journal, tmp_path / "out.csv") as review,
    ):
        assert ask(review.server, "GET", f"/{review.server.token}/")[0] == 200
        assert saved(review, [accepted])[:2] == (200, "saved")
        assert [d.fact_id for d in read_journal(tmp_path / "j.jsonl")] == ["f0"]
        status, text, _ = saved(review, [Decision("gone", "rejected").record()])
        assert (status, "no fact 'gone'" in text) == (400, True)
        for wrong in ({"a": 1}, [1], [{"fact_id": "f0", "state": "x"}], "text"):
            assert saved(review, wrong)[0] == 400
        page = ask(review.server, "GET", f"/{review.server.token}/")[1]
        assert '"concept":"T0"' in page
        assert saved(review, [accepted])[0] == 409  # the page that was opened first may write no more
        assert saved(review, [Decision("f1", "rejected").record()], "2")[0] == 200
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["fact_id", "f0", "f1"]
    assert lines[1].endswith(",accepted,,")
    assert lines[2].endswith(",rejected,,")
