"""The gate before the service: who may ask, how much, and how fast. An ASGI middleware.

A body is read whole before anything is done with it, so that a slow client holds no place in the line.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..web.guard import HEADERS, is_from_elsewhere, is_own_host, same_token
from .limits import Address, Limits
from .refusal import Refusal
from .turns import late

LOG = logging.getLogger("abduce.serve")

OPEN = ("/healthz",)
"""What may be asked without a token."""


class Gate:
    """Lets requests through to ``app``.

    Args:
        app: what answers.
        address: who may ask.
        limits: how much.
    """

    def __init__(self, app: ASGIApp, address: Address, limits: Limits) -> None:
        self.app, self.address, self.limits = app, address, limits
        self._inside = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sender = _Sender(send)
        room = self.limits.running + self.limits.waiting
        self._inside += 1
        try:
            self._check(scope)
            if self._inside > room:
                raise Refusal(503, "too many requests wait: try again in a second")
            body = await self._body(scope, receive)
            async with asyncio.timeout(self.limits.seconds):
                await self._answered(scope, body, receive, sender)
        except TimeoutError:
            await sender.refuse(late())
        except Refusal as refusal:
            await sender.refuse(refusal)
        except _Gone:
            LOG.debug("a client left before it had an answer")
        finally:
            self._inside -= 1

    async def _answered(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Let the application answer; end it when the client leaves."""
        work = asyncio.ensure_future(self.app(scope, _replayed(body), send))
        left = asyncio.ensure_future(receive())
        try:
            await asyncio.wait({work, left}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise _Gone
            work.result()
        finally:
            for task in (work, left):
                task.cancel()
            await asyncio.gather(work, left, return_exceptions=True)

    def _check(self, scope: Scope) -> None:
        """Refuse who may not ask, and what can be told to be wrong without its body."""
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        host = headers.get("host", "")
        server = scope.get("server")
        port = server[1] if server else 0
        if not self.address.token and not is_own_host(host, port):
            raise Refusal(421, "names another host")
        if is_from_elsewhere(headers.get("origin"), host):
            raise Refusal(403, "comes from the page of another site")
        if self.address.token and scope["path"] not in OPEN:
            kind, _, given = headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not same_token(given.strip(), self.address.token):
                raise Refusal(401, "needs the token of this server: Authorization: Bearer TOKEN")
        if scope["method"] == "POST":
            self._check_body(headers)

    def _check_body(self, headers: Mapping[str, str]) -> None:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" or headers.get("content-encoding", "identity") != "identity":
            raise Refusal(415, "give JSON as it is: Content-Type: application/json")
        size = headers.get("content-length", "0")
        if not size.isascii() or not size.isdigit() or int(size[:20]) > self.limits.body:
            raise self._too_large()

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.limits.upload):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _Gone
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self.limits.body:
                        raise self._too_large()
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise Refusal(408, f"its body had not come after {self.limits.upload:g} seconds") from None

    def _too_large(self) -> Refusal:
        return Refusal(413, f"a body may have {self.limits.body:,} bytes")


class _Gone(Exception):
    """The client left."""


class _Sender:
    """Sends what the application answers, with the headers of every answer; or a refusal, if nothing was
    sent yet."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun = True
            added = [(k.lower().encode(), v.encode()) for k, v in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await self._send(message)

    async def refuse(self, refusal: Refusal) -> None:
        """Answer with an error; the connection is closed, for what it still sends is not read."""
        if self._begun:
            LOG.warning("an answer was broken off: %s", refusal)
            return
        body = error_body(refusal)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        headers += [(b"connection", b"close"), *extra_headers(refusal)]
        await self({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await self({"type": "http.response.body", "body": body})


def error_body(refusal: Refusal) -> bytes:
    """The JSON of a refusal."""
    return orjson.dumps({"error": str(refusal)})


def extra_headers(refusal: Refusal) -> list[tuple[bytes, bytes]]:
    """What HTTP wants to stand beside a status."""
    if refusal.status == 401:
        return [(b"www-authenticate", b"Bearer")]
    return [(b"retry-after", b"1")] if refusal.status == 503 else []


def _replayed(body: bytes) -> Receive:
    """``receive`` of a body that was read."""
    messages: list[Message] = [
        {"type": "http.disconnect"},
        {"type": "http.request", "body": body, "more_body": False},
    ]

    async def again() -> Message:
        return messages.pop() if len(messages) > 1 else messages[0]

    return again
