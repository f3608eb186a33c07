"""A local server for one page: only on 127.0.0.1, behind a token, closed to scripts of other sites.

The token is in the address, so no other program or user can guess it. A request must name this host, which
DNS rebinding would not. A request that changes something must come from the page itself.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from .guard import HEADERS, MAX_BODY, is_from_elsewhere, is_own_host, same_token

LOG = logging.getLogger("abduce.web")


@dataclass(frozen=True)
class Reply:
    """The response to a request: text, type and status."""

    text: str
    kind: str = "text/plain"
    status: int = 200


Get = Callable[[], Reply]
Post = Callable[[bytes, Mapping[str, str]], Reply]
"""Is given the body and the headers, their names in lower case."""


class PageServer:
    """Serves the results of ``get`` and ``post`` by name; ``get[""]`` is the page.

    It is a context manager and serves from a separate thread until exit.

    Args:
        get, post: the handlers, by the part of the address after the token.
        port: the port; 0: any free port.

    Raises:
        OSError: the port is taken.
    """

    def __init__(self, get: Mapping[str, Get], post: Mapping[str, Post] | None = None, port: int = 0) -> None:
        self.token = secrets.token_urlsafe(24)
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(get, post or {}, self.token))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The address to open."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    def __enter__(self) -> PageServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(get: Mapping[str, Get], post: Mapping[str, Post], token: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "abduce", ""
        timeout = 60

        def do_GET(self) -> None:
            name = self._name()
            if name is not None:
                found = get.get(name)
                self._answer(found() if found is not None else Reply("no such page", status=404))

        def do_POST(self) -> None:
            name = self._name()
            if name is None:
                return
            headers = {k.lower(): v for k, v in self.headers.items()}
            size = headers.get("content-length", "")
            if headers.get("origin") != f"http://{headers['host']}":
                self._answer(Reply("not from this page", status=403))
            elif name not in post:
                self._answer(Reply("no such page", status=404))
            elif headers.get("content-type", "").partition(";")[0] != "application/json":
                self._answer(Reply("not JSON", status=415))
            elif not size.isascii() or not size.isdigit() or int(size) > MAX_BODY:
                self._answer(Reply(f"give a body of at most {MAX_BODY:,} bytes", status=413))
            else:
                self._answer(post[name](self.rfile.read(int(size)), headers))

        def _name(self) -> str | None:
            """The requested name after the token; None if the request was refused."""
            port = int(self.server.server_address[1])  # type: ignore[index]
            origin = self.headers.get("Origin")
            host = self.headers.get("Host", "")
            given, _, name = self.path.partition("?")[0].removeprefix("/").partition("/")
            if not is_own_host(host, port):
                self._answer(Reply("another host", status=421))
            elif is_from_elsewhere(origin, host):
                self._answer(Reply("another site", status=403))
            elif not same_token(given, token):
                self._answer(Reply("no such page", status=404))
            else:
                return name
            return None

        def _answer(self, reply: Reply) -> None:
            body = reply.text.encode("utf-8")
            self.close_connection = reply.status >= 400  # what it sent may be left unread
            self.send_response(reply.status)
            for header, value in HEADERS.items():
                self.send_header(header, value)
            self.send_header("Content-Type", f"{reply.kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            LOG.debug(format.replace(token, "TOKEN"), *(str(a).replace(token, "TOKEN") for a in args))

    return Handler
