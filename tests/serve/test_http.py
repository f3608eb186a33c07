"""The service over HTTP, without a socket: answers, limits, and what is refused."""

import base64
import csv
import json
import logging
import threading
import time

import pytest
from abduce.cli.notes import show_log
from abduce.retrievers.errors import InputError
from abduce.retrievers.files import csv_cell
from abduce.serve.http import make_app
from abduce.serve.limits import Address, Limits
from abduce.serve.refusal import refusal_of
from abduce.serve.turns import Turn, Turns
from abduce.tagging.tags_file import COLUMNS
from starlette.testclient import TestClient

TOKEN = "0123456789abcdef"


def client_of(service, token="", address=None):
    app = make_app(service, address or Address(token=token))
    return TestClient(app, base_url="http://127.0.0.1:8765", raise_server_exceptions=False)


@pytest.fixture(scope="module")
def client(make_service):
    with client_of(make_service()) as client:
        yield client


def document(text, name="sheet.csv"):
    return {"document": {"name": name, "content": text}}


def test_a_document_gets_the_tags_of_the_command_line(client, cli, files, sheet, tmp_path):
    path, out = tmp_path / "sheet.csv", tmp_path / "tags.csv"
    path.write_text(sheet)
    program = ("--taxonomy", files / "concepts.jsonl", "--program", "locus")
    assert cli("tag", path, *program, "--out", out, "--top", "3").code == 0
    with out.open(newline="") as stream:
        written = list(csv.DictReader(stream))
    for sent in (
        document(sheet),
        {"document": {"name": "sheet.csv", "encoding": "base64",
                      "content": base64.b64encode(sheet.encode()).decode()}},
    ):  # fmt: skip
        reply = client.post("/tag", json=sent | {"top": 3}).json()
        said = [{c: csv_cell(row[c]) for c in COLUMNS} for row in reply["tags"]]
        assert said == written
        assert [row["error"] for row in reply["tags"]] == ["", "", ""]
    assert [row["concept"] for row in written] == ["Goodwill", "Cash", "Revenues"]
    assert reply["program"] == "locus"
    assert not any(str(tmp_path) in note for note in reply["notes"])


def test_facts_get_the_tags_of_the_command_line(client, cli, files, folder, tmp_path):
    out = tmp_path / "tags.csv"
    program = ("--taxonomy", files / "concepts.jsonl", "--program", "locus")
    assert cli("tag", folder.file("facts_dev.jsonl"), *program, "--out", out).code == 0
    with out.open(newline="") as stream:
        written = [(r["fact_id"], r["concept"], r["score"]) for r in csv.DictReader(stream)]
    sent = {"facts": folder.facts, "contexts": folder.contexts}
    reply = client.post("/tag", json=sent).json()
    assert [(r["fact_id"], r["concept"], csv_cell(r["score"])) for r in reply["tags"]] == written


def test_words_find_concepts_and_strange_ones_none(client):
    hits = client.post("/search", json={"query": "goodwill", "top": 2}).json()["hits"]
    assert hits[0] == {
        "concept": "Goodwill",
        "label": "Goodwill",
        "definition": "Amount of goodwill.",
        "datatype": "monetaryItemType",
        "score": hits[0]["score"],
    }
    assert len(hits) == 1  # no other concept has the word
    assert client.post("/search", json={"query": "zzqx"}).json()["hits"] == []


def test_a_question_gets_the_answer_of_the_command_line(client, cli, files):
    ran = cli(
        *(
            "ask",
            "Which vitamin prevents scurvy?",
            "--options",
            "B12,C",
            "--corpus",
            files / "passages.jsonl",
        ),
        *("--no-answer", "--json"),
    )
    sent = {"question": "Which vitamin prevents scurvy?", "options": ["B12", "C"]}
    assert client.post("/ask", json=sent).json() == json.loads(ran.out)
    assert client.post("/ask", json=sent | {"options": {"A": "B12", "B": "C"}}).json() == json.loads(ran.out)


def test_it_says_what_runs_and_what_can_be_asked(client):
    health = client.get("/healthz").json()
    assert (health["status"], health["taxonomy"], health["corpus"]) == ("ok", "concepts", "passages")
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths) == {"/tag", "/search", "/ask", "/healthz"}
    assert {"401", "413", "422", "503", "504"} <= set(paths["/tag"]["post"]["responses"])


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/tag", b"{", 400, "not JSON"),
        ("/tag", b"[" * 100_000, 400, "parsing"),
        ("/tag", b"[]", 422, "dictionary"),
        ("/tag", b"{}", 422, "one of document, facts and texts"),
        ("/tag", document("item,2024\nCash,none\n"), 422, "sheet.csv: has no numbers"),
        ("/tag", document("x", "sheet.zip"), 422, "is none of"),
        ("/tag", document("x", "../sheet.csv"), 422, "document.name"),
        ("/tag", document("x", ".."), 422, "no file name"),
        ("/tag", {"document": {"name": "a.xlsx", "content": "?", "encoding": "base64"}}, 422, "base64"),
        ("/tag", {"facts": [{"fact_id": "a"}]}, 422, "facts.jsonl:1: field 'value': is missing"),
        ("/tag", b'{"texts": [{"text": "\\ud800"}]}', 422, "surrogates"),
        ("/tag", b'{"texts": [{"text": "a"}], "\\ud800": 1}', 422, "surrogates"),
        ("/tag", {"facts": [{"fact_id": 10**30}]}, 422, "64-bit"),
        ("/tag", {"texts": [{"id": "a", "value": "x"}]}, 422, "texts.0.text"),
        ("/tag", {"texts": [{"text": "a"}, {"text": ""}]}, 422, "texts.jsonl:2: field 'text': is empty"),
        ("/tag", b"", 422, "has no body"),
        ("/tag", {"facts": []}, 422, "facts"),
        ("/tag", {"facts": [{}], "top": 0}, 422, "top"),
        ("/tag", {"facts": [{}], "kind": 1}, 422, "kind"),
        ("/search", {"query": " "}, 422, "is empty"),
        ("/search", {"query": "x", "datatype": "nonsense"}, 422, "no concept of concepts"),
        ("/search", b'{"query": "\\ud800"}', 422, "surrogates"),
        ("/ask", {"question": "x", "options": ["a"]}, 422, "options"),
        ("/nothing", {}, 404, "Not Found"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(client, path, body, status, words):
    sent = {"content": body} if isinstance(body, bytes) else {"json": body}
    reply = client.post(path, headers={"Content-Type": "application/json"}, **sent)
    assert reply.status_code == status, reply.text
    assert set(reply.json()) == {"error"}
    line = reply.json()["error"]
    assert words in line
    assert "\n" not in line
    assert "Traceback" not in line
    assert "/tmp" not in line


def test_who_may_not_ask_is_refused(make_service):
    with client_of(make_service(), TOKEN) as client:
        assert client.get("/healthz").status_code == 200
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
            reply = client.post("/search", json={"query": "cash"}, headers=headers)
            assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer")
            assert client.get("/openapi.json", headers=headers).status_code == 401
        right = {"Authorization": f"Bearer {TOKEN}"}
        reply = client.post("/search", json={"query": "cash"}, headers=right)
        assert reply.json()["hits"]
        assert reply.headers["x-content-type-options"] == "nosniff"


def test_pages_of_other_sites_are_refused(client):
    assert client.get("/healthz", headers={"Host": "evil.example"}).status_code == 421
    assert client.get("/healthz", headers={"Origin": "http://evil.example"}).status_code == 403
    reply = client.post("/search", content=b'{"query": "cash"}', headers={"Content-Type": "text/plain"})
    assert reply.status_code == 415
    packed = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert client.post("/search", content=b"x", headers=packed).status_code == 415


def test_what_is_too_large_is_refused(make_service, sheet):
    with client_of(make_service(body=500, facts=2)) as client:
        assert client.post("/tag", json=document(sheet)).json() == {
            "error": "3 facts are too many for one request: at most 2"
        }
        reply = client.post("/tag", json=document("x" * 600))
        assert (reply.status_code, reply.headers["connection"]) == (413, "close")

        def parts():
            for _ in range(100):
                yield b" " * 100

        headers = {"Content-Type": "application/json"}
        assert client.post("/tag", content=parts(), headers=headers).status_code == 413


def test_without_a_corpus_no_question_is_answered(make_service):
    with client_of(make_service(corpus=False)) as client:
        reply = client.post("/ask", json={"question": "x"})
        assert reply.status_code == 404
        assert "--corpus" in reply.json()["error"]


class Held:
    """Stands in for what a service does: waits until it is let go."""

    def __init__(self, service):
        self.go, self.begun = threading.Event(), threading.Semaphore(0)
        service.search = self

    def __call__(self, asked, turn):
        with turn:
            self.begun.release()
            self.go.wait(10)
            turn.go_on(1, 1)
            return {"taxonomy": "t", "hits": []}


def test_too_many_are_refused_and_late_ones_told(make_service):
    service = make_service(running=1, waiting=1, seconds=1.0)
    held = Held(service)
    found = []
    with client_of(service) as client:

        def ask():
            found.append(client.post("/search", json={"query": "x"}).status_code)

        first, second = threading.Thread(target=ask), threading.Thread(target=ask)
        first.start()
        assert held.begun.acquire(timeout=5)
        second.start()
        while service.health()["requests"]["waiting"] < 1:
            time.sleep(0.01)
        reply = client.post("/search", json={"query": "x"})
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
        first.join()
        second.join()
        assert found == [504, 504]
        held.go.set()


def test_what_breaks_is_one_line_and_stands_in_the_log(make_service, caplog):
    service = make_service()

    def broken(asked, turn):
        raise KeyError("secret")

    service.search = broken
    with client_of(service) as client:
        reply = client.post("/search", json={"query": "x"})
    assert reply.status_code == 500
    assert "secret" not in reply.text
    assert "secret" in caplog.text


def test_the_command_prints_why_a_request_failed(capsys):
    log = logging.getLogger("abduce")
    before, level = list(log.handlers), log.level
    try:
        show_log(logging.WARNING)
        try:
            raise KeyError("the cause")
        except KeyError as e:
            refusal_of(e)
    finally:
        log.handlers[:] = before
        log.setLevel(level)
    said = capsys.readouterr().err
    assert "note: a request failed" in said
    assert "test_http.py" in said
    assert "KeyError: 'the cause'" in said


def test_turns_are_given_in_order_and_a_long_request_lets_others_in():
    turns, order = Turns(1), []
    long, short = Turn(turns, 10, 100), Turn(turns, 10, 100)

    def other():
        with short:
            order.append("short")

    with long:
        thread = threading.Thread(target=other)
        thread.start()
        while not turns.waiting:
            time.sleep(0.001)
        long._began -= 1  # it has held its place for a second
        long.go_on(1, 2)
        order.append("long")
    thread.join()
    assert order == ["short", "long"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Address("0.0.0.0"), "set a token"),
        (lambda: Address("::"), "set a token"),
        (lambda: Address("example.org"), "set a token"),
        (lambda: Address(token="short"), "at least 16"),
        (lambda: Address("0.0.0.0", token="with blanks in the token"), "without blanks"),
        (lambda: Limits(running=0), "running"),
        (lambda: Limits(seconds=0), "seconds"),
    ],
)
def test_settings_that_would_not_hold_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
    assert Address("0.0.0.0", token=TOKEN).token
