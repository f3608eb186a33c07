"""The tools of the Model Context Protocol, through its own client: in this process, and over a pipe."""

import os
import sys

import anyio
import pytest
from abduce.serve.messages import AskRequest, DocumentIn, SearchRequest, TagRequest
from abduce.serve.tools import make_tools
from mcp import StdioServerParameters
from mcp.client import Client

NAMES = ["tag_text", "tag_table", "find_concept", "ask"]


def asked(server, *calls):
    """The results of some calls, and the tools that there are."""

    async def go():
        async with Client(server) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            return tools, [await client.call_tool(name, given) for name, given in calls]

    return anyio.run(go)


def test_the_tools_answer_as_the_service_does(make_service, sheet):
    service = make_service()
    question = {"question": "Which vitamin prevents scurvy?", "options": ["B12", "C"]}
    text = "At year end goodwill was $75 million."
    names, results = asked(
        make_tools(service),
        ("tag_table", {"table": sheet, "top": 3}),
        ("tag_table", {"table": "| item | 2024 |\n|--|--|\n| Goodwill | 5 |\n", "format": "markdown"}),
        ("tag_text", {"text": text}),
        ("find_concept", {"query": "goodwill"}),
        ("ask", question),
    )
    assert names == NAMES
    table, markdown, passage, found, answer = (r.structured_content for r in results)

    def tag(name, content, top=5):
        given = TagRequest(document=DocumentIn(name=name, content=content), top=top)
        return service.tag(given, service.turn())

    assert table == tag("table.csv", sheet, 3)
    assert [row["concept"] for row in table["tags"]] == ["Goodwill", "Cash", "Revenues"]
    assert markdown["tags"][0]["concept"] == "Goodwill"
    assert passage == tag("text.txt", text)
    assert found == service.search(SearchRequest(query="goodwill", top=5), service.turn())
    assert answer == service.ask(AskRequest(**question), service.turn())


def test_without_a_corpus_there_is_no_ask(make_service):
    names, _ = asked(make_tools(make_service(corpus=False)))
    assert names == NAMES[:-1]


def test_bad_arguments_are_one_line(make_service, sheet):
    _, results = asked(
        make_tools(make_service(facts=2, body=2_000)),
        ("tag_table", {"table": sheet}),
        ("tag_table", {"table": "item,2024\nCash,none\n"}),
        ("tag_text", {"text": "x" * 3_000}),
        ("find_concept", {"query": "cash", "datatype": "nonsense"}),
        ("find_concept", {"query": ""}),
        ("ask", {"question": "x" * 1_000, "options": ["a"]}),
    )
    assert all(r.is_error for r in results)
    lines = [r.content[0].text for r in results]
    wanted = [
        "3 facts are too many",
        "table.csv: has no numbers",
        "2,000 bytes",
        "no concept of",
        "query",
        "options",
    ]
    for line, words in zip(lines, wanted, strict=True):
        assert words in line
        assert "Traceback" not in line
    assert all("\n" not in line for line in lines[:4])


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe of Unix")
def test_the_command_serves_them_over_a_pipe(files):
    command = ["-m", "abduce.cli.main", "serve", "--mcp", "--taxonomy", str(files / "concepts.jsonl")]
    command += ["--program", "locus", "--corpus", str(files / "passages.jsonl")]
    environment = {k: v for k, v in os.environ.items() if k in ("PYTHONPATH", "ABDUCE_INDEXES")}
    server = StdioServerParameters(command=sys.executable, args=command, env=environment)
    names, (found,) = asked(server, ("find_concept", {"query": "goodwill"}))
    assert names == NAMES
    assert found.structured_content["hits"][0]["concept"] == "Goodwill"
