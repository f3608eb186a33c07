"""Texts from outside cannot steer a terminal."""

from __future__ import annotations

import io
import json

import pytest
from abduce.cli.terminal import Console
from command_line import cli
from rich.table import Table

EVIL = "\x1b]0;owned\x07\x1b[31mred\x9b2J\r\u202eabc\ud800"
STEERING = ("\x1b", "\x07", "\x9b", "\r", "\u202e", "\ud800")


def test_nothing_that_is_printed_on_the_console_steers_it():
    out = io.StringIO()
    console = Console(file=out, width=80)
    table = Table(title=EVIL)
    table.add_column(EVIL)
    table.add_row(EVIL)
    for what in (EVIL, table):
        console.print(what, markup=False)
    console.print(EVIL, markup=False, highlight=False, soft_wrap=True)
    assert not any(mark in out.getvalue() for mark in STEERING)
    assert "abc" in out.getvalue()


def test_what_rich_draws_itself_stays():
    out = io.StringIO()
    Console(file=out, force_terminal=True, color_system="standard").print("[bold]x[/bold]")
    assert "\x1b[1m" in out.getvalue()


@pytest.mark.parametrize("more", [[], ["--explain", f"f{EVIL[:-1]}"]])
def test_ids_values_and_file_names_reach_no_terminal_raw(tmp_path, more):
    evil = EVIL[:-1]
    name = "\x1b[31mfacts.jsonl"
    fact = {"fact_id": f"f{evil}", "value": evil, "datatype": evil, "context_id": "c", "row_header": evil}
    (tmp_path / name).write_text(json.dumps({**fact, "modality": "table"}) + "\n")
    context = {"context_id": "c", "source_context": f"{evil} 1", "modality": "table"}
    (tmp_path / "contexts.jsonl").write_text(json.dumps(context) + "\n")
    (tmp_path / "concepts.jsonl").write_text(
        json.dumps({"id": f"A{evil}", "label": evil, "datatype": "t"}) + "\n"
    )
    arguments = [
        "tag",
        str(tmp_path / name),
        "--taxonomy",
        str(tmp_path / "concepts.jsonl"),
        "--program",
        "locus",
    ]
    result = cli(*arguments, *more)
    assert result.code in (0, 2)
    assert not any(mark in result.said for mark in STEERING[:-1])
    missing = cli("tag", str(tmp_path / f"no{evil}.htm"))
    assert not any(mark in missing.err for mark in STEERING[:-1])
