"""The HTTP server: uvicorn on a socket of ours, in one process or several, that ends gracefully."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import h11
from starlette.types import ASGIApp
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from ..retrievers.errors import InputError
from .http import make_app
from .limits import Address, Limits
from .service import Service

MAX_HEADERS = 32 * 1024
"""Bytes of the headers of a request."""

SWITCH = 0.001
"""Seconds after which a thread that computes lets others run: what is short is not kept waiting."""


def bound(address: Address) -> socket.socket:
    """A socket that listens at an address.

    Raises:
        InputError: the port is taken or not allowed, or there is no such address.
    """
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(place)
        except OSError:
            made.close()
            raise
    except OSError as e:
        why = {errno.EADDRINUSE: "is in use", errno.EACCES: "is not allowed"}.get(e.errno or 0)
        what = f"port {address.port} {why}" if why else f"cannot listen at {address.host}: {e.strerror or e}"
        raise InputError(what, field="port" if why else "host") from None
    made.listen(1024)  # who asks before the server is ready waits
    made.set_inheritable(True)
    return made


def serve(
    build: Callable[[], Service], address: Address, limits: Limits, on: socket.socket, workers: int = 1
) -> None:
    """Answer until SIGTERM or SIGINT; requests in work are then finished, at most for ``limits.seconds``.

    Args:
        build: makes the service, once in every process; with more than one it must be picklable.
        address, limits: who may ask, and how much.
        on: what :func:`bound` returned.
        workers: processes that answer, at least 1.
    """
    config = Config(
        partial(_app, build, address, limits),
        http=TimelyProtocol,
        ws="none",
        factory=True,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=int(limits.seconds) + 1,
        timeout_worker_healthcheck=120,
        h11_max_incomplete_event_size=MAX_HEADERS,
        workers=workers,
    )
    with on, _quiet_end():
        if workers == 1:
            Server(config).run([on])
        else:
            Multiprocess(config, [on]).run()


def _app(build: Callable[[], Service], address: Address, limits: Limits) -> ASGIApp:
    """Called in the process that answers."""
    sys.setswitchinterval(SWITCH)
    TimelyProtocol.patience = limits.upload
    return make_app(build(), address)


@contextmanager
def _quiet_end() -> Iterator[None]:
    """A signal that ended the server is not raised again afterwards."""
    before = {s: signal.signal(s, lambda *_: None) for s in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class TimelyProtocol(H11Protocol):
    """Ends a connection whose headers do not come in time; uvicorn itself waits for ever."""

    patience = 10.0
    """Seconds."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._have()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._have()
        elif self._late is None:
            self._wait()

    def _wait(self) -> None:
        self._late = self.loop.call_later(self.patience, self._end)

    def _have(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _end(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
