"""One HTTP exchange with a model server: bounded in time and in size, redirected on the same host only, and
ended at once when the connection is closed.

DSPy's transport bounds the wait for the next byte. A server that sends a byte now and then, or never stops
sending, is bounded here.
"""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any
from urllib.parse import urljoin, urlsplit

# By name: this sub-package alone is typed, and a static import would make type checkers take DSPy for it.
_transports: Any = import_module("dspy._vendor.lm15.transports")
StdlibTransport: Any = _transports.StdlibTransport
TransportRequest: Any = _transports.TransportRequest
Unreachable: Any = _transports.TransportError
NoConnection: Any = _transports.ConnectError

MAX_REPLY = 4 * 2**20
"""Bytes of one reply after unpacking; 2,048 tokens with 20 log-probabilities each take about 3 MB."""

MAX_REDIRECTS = 3
_REDIRECTS = (301, 302, 307, 308)


class TooLarge(Exception):
    """A reply of more than ``MAX_REPLY`` bytes, or packed more than once."""


class LeadsElsewhere(Exception):
    """A redirect that is not followed; the text says where it leads, without what may be a secret."""

    def __init__(self, status: int, location: str) -> None:
        self.status = status
        place = bare(location) or "nowhere"
        super().__init__(f"HTTP {status}: the address leads to {place}")


@dataclass(frozen=True)
class Reply:
    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: bytes


class _Timed:
    """A socket whose reply must be over at a moment, whatever arrives until then."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._wait: float | None = None
        self._until, self._left = 0.0, 0

    def begin(self, seconds: float, size: int) -> None:
        """Give the next reply so many seconds and bytes."""
        self._until, self._left = time.monotonic() + seconds, size

    def settimeout(self, seconds: float | None) -> None:
        self._wait = seconds
        self._sock.settimeout(seconds)

    def recv(self, size: int) -> bytes:
        rest = self._until - time.monotonic()
        if rest <= 0:
            raise TimeoutError("the time for a whole reply is over")
        if self._left < 0:
            raise TooLarge
        self._sock.settimeout(rest if self._wait is None else min(self._wait, rest))
        data = self._sock.recv(size)
        self._left -= len(data)
        return data

    def sendall(self, data: bytes) -> None:
        self._sock.sendall(data)

    def fileno(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        self._sock.close()

    def hang_up(self) -> None:
        """Wake whoever waits for a byte."""
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            self._sock.close()  # it was never connected, or is closed already


class Wire(StdlibTransport):
    """DSPy's transport with a deadline and a size for every reply. Safe to use from many threads.

    Args:
        timeout: seconds without a byte that count as stalled.
        deadline: seconds for a whole reply, from the end of the request to its last byte.
        connect: seconds for a connection to be made.
        max_connections: exchanges at the same time; more wait.
        trust_env: use the proxies of the environment.
    """

    def __init__(
        self, *, timeout: float, deadline: float, connect: float = 10.0, max_connections: int = 256,
        trust_env: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            connect_timeout=connect, read_timeout=timeout, write_timeout=min(timeout, 60.0),
            pool_timeout=None, max_connections=max_connections, trust_env=trust_env, user_agent="abduce",
        )  # fmt: skip
        self.deadline = deadline

    def _open(self, *args: Any, **named: Any) -> Any:
        connection = super()._open(*args, **named)
        connection.sock = _Timed(connection.sock)
        return connection

    def _send_request(self, connection: Any, *args: Any, **named: Any) -> None:
        connection.sock.begin(self.deadline, 4 * MAX_REPLY)
        super()._send_request(connection, *args, **named)

    def exchange(self, request: Any) -> Reply:
        """Send a request and read the whole reply.

        Raises:
            Unreachable: no connection, a broken one, or the time is over ("read timed out").
            TooLarge: see there.
            LeadsElsewhere: a redirect to another host, or more than ``MAX_REDIRECTS``.
        """
        for _ in range(MAX_REDIRECTS + 1):
            reply = self._one(request)
            if not 300 <= reply.status < 400:
                return reply
            location = next((v for k, v in reply.headers if k.lower() == "location"), "")
            target = urljoin(request.url, location)
            if reply.status not in _REDIRECTS or not location or not _same_host(request.url, target):
                raise LeadsElsewhere(reply.status, target if location else "")
            request = replace(request, url=target)
        raise LeadsElsewhere(reply.status, target)

    def _one(self, request: Any) -> Reply:
        with self.stream(request) as response:
            if sum(value.count(",") + 1 for value in response.headers_all("content-encoding")) > 1:
                raise TooLarge  # packed twice: a few bytes may become any number
            parts, size = [], 0
            for chunk in response:
                size += len(chunk)
                if size > MAX_REPLY:
                    raise TooLarge
                parts.append(chunk)
            return Reply(response.status, response.reason, response.headers, b"".join(parts))

    def close(self) -> None:
        """Close every connection; who waits on one is woken."""
        for connection in list(self._pool._in_use):
            if isinstance(connection.sock, _Timed):
                connection.sock.hang_up()
        super().close()


def _same_host(old: str, new: str) -> bool:
    """Whether a key may follow a redirect: the same scheme, host and port, or HTTPS on the same host's
    standard port in place of HTTP on its."""
    try:
        a, b = urlsplit(old), urlsplit(new)
        ports = (a.port, b.port)
    except ValueError:
        return False
    if (a.hostname or "") != (b.hostname or "") or b.username or b.password:
        return False
    if a.scheme == b.scheme:
        return ports[0] == ports[1]
    return (a.scheme, b.scheme) == ("http", "https") and ports[0] in (None, 80) and ports[1] in (None, 443)


def bare(url: str) -> str:
    """An address without what may be a secret in it, at most 200 characters."""
    return url.rsplit("@", 1)[-1].split("?", 1)[0].split("#", 1)[0][:200]
