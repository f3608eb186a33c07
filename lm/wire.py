"""One HTTP exchange with a model server, in a thread or on an event loop. Time and size are limited,
redirects stay on the same host, and it ends at once when the connection is closed.

DSPy's transport limits only the wait for the next byte. This one also limits a server that sends a byte now
and then, or that never stops.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any
from urllib.parse import urljoin, urlsplit

# By name: this sub-package alone is typed, and a static import would make type checkers take DSPy for it.
_transports: Any = import_module("dspy._vendor.lm15.transports")
StdlibTransport: Any = _transports.StdlibTransport
TransportRequest: Any = _transports.TransportRequest
Unreachable: Any = _transports.TransportError
StdlibAsyncTransport: Any = _transports.StdlibAsyncTransport
ReadTimeout: Any = _transports.ReadTimeout
WriteTimeout: Any = _transports.WriteTimeout
NoConnection: Any = _transports.ConnectError

MAX_REPLY = 4 * 2**20
"""Bytes of one reply after unpacking; 2,048 tokens with 20 log-probabilities each take about 3 MB."""

MAX_REDIRECTS = 3
_REDIRECTS = (301, 302, 307, 308)


class TooLarge(Exception):
    """A reply of more than ``MAX_REPLY`` bytes, or compressed more than once."""


class LeadsElsewhere(Exception):
    """A redirect that is not followed; the text names its target without possible secrets."""

    def __init__(self, status: int, location: str) -> None:
        self.status = status
        place = bare(location) or "nowhere"
        super().__init__(f"HTTP {status}: the address leads to {place}")


@dataclass(frozen=True)
class WireReply:
    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: bytes


class _Timed:
    """A socket whose reply must end by a deadline, whatever arrives until then."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._wait: float | None = None
        self._until, self._left = 0.0, 0

    def begin(self, seconds: float, size: int) -> None:
        """Set the limits in seconds and bytes for the next reply."""
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
        """Wake every waiting reader."""
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            self._sock.close()  # it was never connected, or is closed already


class Wire(StdlibTransport):
    """DSPy's transport for threads, with a deadline and a size limit for every reply. Safe to use from many
    threads.

    Args:
        timeout: seconds without a byte after which a reply is stalled.
        deadline: seconds for a whole reply, from the end of the request to its last byte.
        connect: seconds for making a connection.
        max_connections: parallel exchanges; more wait.
        trust_env: use the environment's proxies.
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

    def exchange(self, request: Any) -> WireReply:
        """Send a request and read the whole reply.

        Raises:
            Unreachable: no connection, a broken one, or a timeout ("read timed out").
            TooLarge: see there.
            LeadsElsewhere: a redirect to another host, or more than ``MAX_REDIRECTS``.
        """
        for left in range(MAX_REDIRECTS, -1, -1):
            reply = self._one(request)
            if not 300 <= reply.status < 400:
                break
            request = redirected(request, reply, left)
        return reply

    def _one(self, request: Any) -> WireReply:
        with self.stream(request) as response:
            body = Body(response)
            for chunk in response:
                body.add(chunk)
            return body.reply()

    def close(self) -> None:
        """Close every connection; this wakes waiting readers."""
        for connection in list(self._pool._in_use):
            if isinstance(connection.sock, _Timed):
                connection.sock.hang_up()
        super().close()


class Body:
    """A reply's body as it arrives, at most ``MAX_REPLY`` bytes.

    Raises:
        TooLarge: it is too long, or compressed more than once (a few bytes may expand without limit).
    """

    def __init__(self, response: Any) -> None:
        if sum(value.count(",") + 1 for value in response.headers_all("content-encoding")) > 1:
            raise TooLarge
        self._response = response
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, chunk: bytes) -> None:
        """The next bytes."""
        self._size += len(chunk)
        if self._size > MAX_REPLY:
            raise TooLarge
        self._parts.append(chunk)

    def reply(self) -> WireReply:
        """The whole reply."""
        r = self._response
        return WireReply(r.status, r.reason, r.headers, b"".join(self._parts))


def redirected(request: Any, reply: WireReply, left: int) -> Any:
    """The request to a redirect's target.

    Raises:
        LeadsElsewhere: another host, no target, or no redirect ``left``.
    """
    location = next((v for k, v in reply.headers if k.lower() == "location"), "")
    target = urljoin(request.url, location)
    if reply.status not in _REDIRECTS or not location or not left or not _same_host(request.url, target):
        raise LeadsElsewhere(reply.status, target if location else "")
    return replace(request, url=target)


class _TimedReader:
    """A stream reader whose reply must end by a deadline, whatever arrives until then."""

    def __init__(self, reader: Any, wait: float) -> None:
        self._reader, self._wait = reader, wait
        self._until, self._left = 0.0, 0

    def begin(self, seconds: float, size: int) -> None:
        """Set the limits in seconds and bytes for the next reply."""
        self._until, self._left = time.monotonic() + seconds, size

    async def read(self, size: int) -> bytes:
        if self._left < 0:
            raise TooLarge
        rest = min(self._wait, self._until - time.monotonic())
        try:
            async with asyncio.timeout(rest):
                data: bytes = await self._reader.read(size)
        except TimeoutError:
            raise ReadTimeout("read timed out") from None
        self._left -= len(data)
        return data


class _OneWrite:
    """A stream writer that sends head and body of a request in one write."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        self._parts.append(data)

    async def drain(self) -> None:
        self._writer.write(b"".join(self._parts))
        self._parts.clear()
        await self._writer.drain()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)


class LoopWire(StdlibAsyncTransport):
    """:class:`Wire` for one event loop. A cancelled task closes its connection."""

    def __init__(
        self, *, timeout: float, deadline: float, connect: float = 10.0, max_connections: int = 256,
        trust_env: bool = False,
    ) -> None:  # fmt: skip
        # Times are kept by the reader and by _send_request: DSPy's own take a task per read.
        super().__init__(
            connect_timeout=connect, read_timeout=None, write_timeout=None, pool_timeout=None,
            max_connections=max_connections, trust_env=trust_env, user_agent="abduce",
        )  # fmt: skip
        self.timeout, self.deadline = timeout, deadline

    async def _open(self, *args: Any, **named: Any) -> Any:
        connection = await super()._open(*args, **named)
        connection.reader = _TimedReader(connection.reader, self.timeout)
        connection.writer = _OneWrite(connection.writer)
        return connection

    async def _send_request(self, connection: Any, *args: Any, **named: Any) -> None:
        connection.reader.begin(self.deadline, 4 * MAX_REPLY)
        try:
            async with asyncio.timeout(min(self.timeout, 60.0)):
                await super()._send_request(connection, *args, **named)
        except TimeoutError as error:
            raise WriteTimeout(f"write timed out: {error}") from error

    async def exchange(self, request: Any) -> WireReply:
        """As :meth:`Wire.exchange`."""
        for left in range(MAX_REDIRECTS, -1, -1):
            reply = await self._one(request)
            if not 300 <= reply.status < 400:
                break
            request = redirected(request, reply, left)
        return reply

    async def _one(self, request: Any) -> WireReply:
        async with self.stream(request) as response:
            body = Body(response)
            async for chunk in response:
                body.add(chunk)
            return body.reply()

    def hang_up(self) -> None:
        """Close every connection; call it on its loop, or after the loop has ended."""
        self._closed = True
        idle = [connection for found in self._pool._idle.values() for connection in found]
        for connection in [*idle, *self._pool._in_use]:
            connection.close()
        self._pool._idle.clear()


class LoopWires:
    """A :class:`LoopWire` per event loop. Safe to use from many threads.

    Args:
        settings: the settings of each.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._wires: dict[asyncio.AbstractEventLoop, LoopWire] = {}
        self._lock = threading.Lock()

    def of_loop(self) -> LoopWire:
        """The running loop's wire; those of ended loops are closed."""
        loop = asyncio.get_running_loop()
        wire = self._wires.get(loop)
        if wire is None:
            with self._lock:
                for ended in [other for other in self._wires if other.is_closed()]:
                    self._wires.pop(ended).hang_up()
                wire = self._wires[loop] = LoopWire(**self._settings)
        return wire

    def close(self) -> None:
        """Close every connection of every loop."""
        with self._lock:
            wires, self._wires = self._wires, {}
        for loop, wire in wires.items():
            if loop.is_running():
                loop.call_soon_threadsafe(wire.hang_up)
            else:
                wire.hang_up()


def _same_host(old: str, new: str) -> bool:
    """Whether a key may follow a redirect: the same scheme, host and port, or HTTPS on the same host's
    standard port instead of HTTP on its standard port.
    """
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
    """An address without possible secrets, at most 200 characters."""
    return url.rsplit("@", 1)[-1].split("?", 1)[0].split("#", 1)[0][:200]
