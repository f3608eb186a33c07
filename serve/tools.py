"""The service as tools of the Model Context Protocol (MCP)."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

import anyio
import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field, ValidationError

from ..asking.answer import Answer
from ..signatures.toml import one_line
from ..version import __version__
from .messages import AskRequest, SearchReply, SearchRequest, TagReply, TagRequest
from .refusal import Refusal, refusal_of
from .service import Found, Service
from .turns import Turn, late

Asked = TypeVar("Asked", bound=BaseModel)

Top = Annotated[int, Field(ge=1, le=200, description="How many concepts.")]
Company = Annotated[str, Field(max_length=500, description="Whose document it is, where it is known.")]

ENDINGS = {"csv": "csv", "markdown": "md", "html": "htm"}


def make_tools(service: Service) -> MCPServer:
    """The server of the tools; ``ask`` is one of them where there is a corpus."""
    taxonomy = service.tagger.taxonomy.name
    server = MCPServer(
        "abduce",
        instructions=f"Finds the concepts of {taxonomy} that facts in tables and texts stand for.",
        version=__version__,
        log_level="CRITICAL",  # what is logged, abduce logs itself
    )

    async def work(do: Callable[[Asked, Turn], Found], kind: type[Asked], **given: Any) -> Found:
        try:
            asked = kind(**given)
        except ValidationError as e:
            raise ToolError(one_line(e)) from None
        turn = service.turn()
        try:
            if len(asked.model_dump_json()) > service.limits.body:
                raise Refusal(413, f"the arguments may have {service.limits.body:,} bytes")
            with anyio.fail_after(service.limits.seconds):
                return await anyio.to_thread.run_sync(do, asked, turn, abandon_on_cancel=True)
        except TimeoutError:
            raise ToolError(str(late())) from None
        except Exception as e:  # noqa: BLE001 - every failure becomes one line for whoever asked
            raise ToolError(str(refusal_of(e))) from None
        finally:
            turn.given_up = True

    @server.tool()
    async def tag_text(
        text: Annotated[str, Field(min_length=1, description="A passage.")],
        whole: Annotated[
            bool, Field(description="Tag the passage as a whole, not each number in it.")
        ] = False,
        company: Company = "",
        top: Top = 5,
    ) -> TagReply:
        """Tag each number in a passage, or the passage as a whole, with its concept."""
        given = (
            {"texts": [{"id": "text", "text": text}]}
            if whole
            else {"document": {"name": "text.txt", "content": text}}
        )
        found = await work(service.tag, TagRequest, **given, company=company or None, top=top)
        return TagReply.model_validate(found)

    @server.tool()
    async def tag_table(
        table: Annotated[str, Field(min_length=1, description="A table with its headers.")],
        format: Annotated[
            Literal["csv", "markdown", "html"], Field(description="How it is written.")
        ] = "csv",
        company: Company = "",
        top: Top = 5,
    ) -> TagReply:
        """Tag every value of a table with its concept."""
        document = {"name": f"table.{ENDINGS[format]}", "content": table}
        found = await work(service.tag, TagRequest, document=document, company=company or None, top=top)
        return TagReply.model_validate(found)

    @server.tool()
    async def find_concept(
        query: Annotated[str, Field(min_length=1, max_length=20_000, description="Words.")],
        datatype: Annotated[str, Field(description="Only concepts of this datatype.")] = "",
        top: Top = 5,
    ) -> SearchReply:
        """Find concepts by words of their labels and definitions."""
        found = await work(service.search, SearchRequest, query=query, datatype=datatype or None, top=top)
        return SearchReply.model_validate(found)

    if service.asker is not None:

        @server.tool()
        async def ask(
            question: Annotated[str, Field(min_length=1, max_length=20_000)],
            options: Annotated[list[str], Field(description="Two to ten answers to choose from.")] = [],  # noqa: B006
        ) -> Answer:
            """Answer a question from the corpus, with the passages and what they say of each option."""
            found = await work(service.ask, AskRequest, question=question, options=options)
            return Answer.model_validate(found)

    return server


def run_tools(service: Service) -> None:
    """Serve the tools on standard input and output until the input ends, or SIGTERM or SIGINT comes."""

    def end(*_: object) -> None:
        service.close()
        os._exit(0)  # a thread that waits for the next line of input would hold up any other end

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        anyio.run(make_tools(service).run_stdio_async)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        service.close()
