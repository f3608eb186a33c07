"""The command, listening on a real socket: slow and huge clients, tokens, workers, and the end."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

PATIENCE = 60


@contextmanager
def listening(files, *more, **environment):
    """The command as a process of its own; its port, and the process."""
    command = [sys.executable, "-m", "abduce.cli.main", "serve", "--port", "0", "--program", "locus"]
    command += ["--taxonomy", files / "concepts.jsonl", "--corpus", files / "passages.jsonl"]
    process = subprocess.Popen(
        [str(c) for c in (*command, *more)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        for line in process.stderr:
            found = re.search(r"listening at http://\S+:(\d+)", line)
            if found:
                yield int(found[1]), process
                break
        else:
            raise AssertionError("it never listened")
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()


def post(port, path, body, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **headers})
    reply = connection.getresponse()
    found = reply.status, json.loads(reply.read())
    connection.close()
    return found


def search(port, **headers):
    return post(port, "/search", {"query": "goodwill"}, **headers)


def read_all(connection):
    connection.settimeout(PATIENCE)
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def big_sheet(rows):
    return "item,2024\n" + "".join(f"Goodwill of branch {i},{i + 7}\n" for i in range(rows))


def test_slow_and_huge_clients_harm_no_other(files):
    with listening(files, "--upload-timeout", "2") as (port, process):
        head = b"POST /search HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % port
        opened = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
        for one in opened[:20]:
            one.sendall(head)  # headers that never end
        for one in opened[20:]:  # bodies that never come
            one.sendall(head + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
        huge = []
        hogs = [
            threading.Thread(
                target=lambda: huge.append(
                    post(port, "/tag", {"document": {"name": "s.csv", "content": big_sheet(500)}})
                )
            )
            for _ in range(3)
        ]
        for hog in hogs:
            hog.start()
        answered = 0
        while any(hog.is_alive() for hog in hogs):
            assert search(port)[0] == 200
            answered += 1
        assert answered > 3
        assert [(status, len(body["tags"])) for status, body in huge] == [(200, 500)] * 3
        ends = [read_all(one) for one in opened]
        assert set(ends[:20]) == {b""}
        assert all(b" 408 " in end and b"had not come" in end for end in ends[20:])
        for one in opened:
            one.close()
        assert search(port)[0] == 200
        assert process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_is_in_work_is_finished_before_the_end(files, number):
    with listening(files) as (port, process):
        search(port)
        found = []
        body = {"document": {"name": "s.csv", "content": big_sheet(500)}}
        asking = threading.Thread(target=lambda: found.append(post(port, "/tag", body)))
        asking.start()
        time.sleep(0.3)
        process.send_signal(number)
        asking.join()
        assert process.wait(PATIENCE) == 0
        assert [status for status, _ in found] == [200]
        with pytest.raises(OSError):
            search(port)


def test_several_processes_answer_behind_one_port_and_a_token(files):
    token = "0123456789abcdef"
    with listening(files, "--workers", "2", "--host", "0.0.0.0", ABDUCE_TOKEN=token) as (port, process):
        assert search(port)[0] == 401
        status, body = search(port, Authorization=f"Bearer {token}")
        assert (status, body["hits"][0]["concept"]) == (200, "Goodwill")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0


def test_what_cannot_be_served_is_one_line(files, cli, monkeypatch):
    monkeypatch.delenv("ABDUCE_TOKEN", raising=False)
    given = ("serve", "--taxonomy", files / "concepts.jsonl", "--corpus", "")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for more, words in (
            (("--host", "0.0.0.0"), "can be reached by others: set a token"),
            (("--host", "203.0.113.7"), "set a token"),
            (("--port", port), f"port {port} is in use"),
            (("--port", 0, "--program", "nonsense"), "nonsense"),
            (("--port", 0, "--program", "FHS"), "language model"),
            (("--port", 0, "--corpus", "nowhere.jsonl"), "nowhere.jsonl"),
            (("--mcp", "--program", "nonsense"), "nonsense"),
        ):
            ran = cli(*given, *more)
            assert ran.code == 2
            assert words in ran.errors[-1]
            assert "Traceback" not in ran.err
