"""The service over HTTP: ``POST /tag``, ``/search``, ``/ask``, ``GET /healthz``, ``/openapi.json``."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import orjson
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from ..asking.answer import Answer
from ..version import __version__
from .gate import Gate, error_body, extra_headers
from .limits import Address
from .messages import AskRequest, ErrorReply, Health, SearchReply, SearchRequest, TagReply, TagRequest
from .refusal import Refusal, refusal_of
from .service import Found, Service
from .turns import Turn

Asked = TypeVar("Asked")

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorReply, "description": why}
    for status, why in {
        401: "no token, or a wrong one",
        408: "the body was too slow",
        413: "the body, or the number of facts, is too large",
        415: "not JSON",
        422: "bad input: what, and where",
        502: "the language model could not be reached, or refused",
        503: "too many requests wait",
        504: "it took too long",
    }.items()
}


def make_app(service: Service, address: Address) -> ASGIApp:
    """The application: a FastAPI behind the gate. When it ends, requests in work are finished and ``service``
    is closed."""
    pool = ThreadPoolExecutor(service.limits.running + service.limits.waiting, "abduce-serve")

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            service.close()

    async def work(do: Callable[[Asked, Turn], Found], asked: Asked) -> Response:
        turn = service.turn()
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(
                pool, contextvars.copy_context().run, lambda: orjson.dumps(do(asked, turn))
            )
        except asyncio.CancelledError:
            turn.given_up = True
            raise
        except Exception as e:  # noqa: BLE001 - every failure becomes one line for whoever asked
            return _refused(refusal_of(e))
        return Response(found, media_type="application/json")

    app = FastAPI(
        title="abduce",
        version=__version__,
        summary="Concepts for facts, and answers with their evidence.",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        responses=ERRORS,
    )

    @app.post("/tag", response_model=TagReply)
    async def tag(asked: TagRequest) -> Response:
        """Tag the facts of a document, facts, or texts."""
        return await work(service.tag, asked)

    @app.post("/search", response_model=SearchReply)
    async def search(asked: SearchRequest) -> Response:
        """Find concepts by words."""
        return await work(service.search, asked)

    @app.post("/ask", response_model=Answer)
    async def ask(asked: AskRequest) -> Response:
        """Answer a question from the corpus, with the passages and what they say of each option."""
        return await work(service.ask, asked)

    @app.get("/healthz", response_model=Health)
    async def healthz() -> Response:
        """What runs here."""
        return Response(orjson.dumps(service.health()), media_type="application/json")

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return _refused(_invalid(error))

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        return _refused(Refusal(error.status_code, " ".join(str(error.detail).split())))

    @app.exception_handler(Exception)
    async def failed(_: Request, error: Exception) -> Response:
        return _refused(refusal_of(error))

    return Gate(app, address, service.limits)


def _refused(refusal: Refusal) -> Response:
    headers = {k.decode(): v.decode() for k, v in extra_headers(refusal)}
    return Response(error_body(refusal), refusal.status, headers, "application/json")


def _invalid(error: RequestValidationError) -> Refusal:
    """What is wrong with a request, the first thing."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return Refusal(400, f"is not JSON: {first.get('ctx', {}).get('error', 'cannot be read')}")
    if first["type"] == "missing" and tuple(first["loc"]) == ("body",):
        return Refusal(422, "has no body: give JSON")
    place = ".".join(str(part) for part in first["loc"] if part != "body")
    message = " ".join(str(first["msg"]).removeprefix("Value error, ").split())
    return Refusal(422, f"field {place!r}: {message}"[:500] if place else message[:500])
