"""Hostile tables: the work grows with the table, not with its square, and headers are bounded."""

import sys

import pytest
from abduce.documents import chains, grid, sections
from abduce.documents.grid import GridBuilder
from abduce.documents.headers import locate
from abduce.retrievers.errors import InputError
from made_grid import grid_of


def operations(call):
    """How many Python instructions a call runs."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def read(made):
    return [(p, made.signs(p.cell)) for p in locate(made)]


def wide(n):
    lines = [
        ["Item", *(f"c{i}" for i in range(n))],
        *(["a", *map(str, range(3000, 3000 + n))] for _ in range(3)),
    ]
    return lambda: read(grid_of(lines))


def words(n):
    lines = [[f"alpha {i}", f"beta {i}"] for i in range(n)] + [[f"x{i}", "5"] for i in range(n)]
    return lambda: read(grid_of(lines))


def labels(n):
    lines = [[f"label {i}", ""] for i in range(n)] + [[f"x{i}", "5"] for i in range(n)]
    return lambda: read(grid_of(lines))


def spans(n):
    def call():
        builder = GridBuilder()
        builder.row()
        for i in range(n):
            builder.cell(f"a{i}", rowspan=2)
        builder.row()
        for i in range(n):
            builder.cell(f"{i}")
        read(builder.build())

    return call


@pytest.mark.parametrize("shape", [wide, words, labels, spans])
def test_work_grows_with_the_table(shape):
    assert operations(shape(200)) < 2.5 * operations(shape(100))


@pytest.mark.parametrize("shape", [words, labels])
def test_headers_do_not_grow_with_the_rows_above(shape):
    for place, _ in shape(500)():
        for header in (place.row_header, place.column_header):
            assert len(header.split(" | ")) <= chains.MAX_PARTS
            assert len(header) <= chains.MAX_HEADER
        assert len(place.row_header.split(" | ")) <= sections.MAX_NESTED + 1
    assert place.row_header.endswith("x499")


def test_the_nearest_sections_and_headings_are_kept():
    found = [p for p, _ in labels(20)()]
    assert found[0].row_header == " | ".join([*(f"label {i}" for i in range(12, 20)), "x0"])
    found = [p for p, _ in words(20)()]
    assert found[0].column_header == " | ".join(f"beta {i}" for i in range(8, 20))


def test_long_texts_in_headers_are_cut():
    lines = [["", "w" * 5000], *([f"{'s' * 5000}{i}", ""] for i in range(5)), ["l" * 5000, "5"]]
    (place, _) = read(grid_of(lines))[0]
    assert place.column_header == "w" * chains.MAX_PART
    assert len(place.row_header) <= chains.MAX_HEADER + 3
    assert place.row_header.endswith("l" * chains.MAX_PART)


def test_the_cells_of_a_column_share_their_header():
    made = read(grid_of([["", "a long heading"], ["x", "5"], ["y", "6"]]))
    assert made[0][0].column_header is made[1][0].column_header


def test_places_that_spanning_cells_cover_count_as_cells(monkeypatch):
    monkeypatch.setattr(grid, "MAX_CELLS", 100)

    def build(rows, rowspan):
        builder = GridBuilder()
        for _ in range(rows):
            builder.row()
            for _ in range(4):
                builder.cell("x", rowspan=rowspan)

    build(25, 1)
    with pytest.raises(InputError, match="more than 100 cells"):
        build(25, 65_534)


def test_spans_from_above_move_cells_on_and_never_overlap():
    builder = GridBuilder()
    for cells in (
        [("a", 3, 1), ("b", 1, 2), ("c", 2, 1)],
        [("d", 1, 1), ("e", 2, 2)],
        [("f", 1, 1)],
        [("g", 1, 1)],
    ):
        builder.row()
        for text, rowspan, colspan in cells:
            builder.cell(text, rowspan, colspan)
    made = builder.build()
    assert [[(c.text, c.col) for c in row] for row in made] == [
        [("a", 0), ("b", 1), ("c", 3)],
        [("a", 0), ("d", 1), ("c", 3), ("e", 4)],
        [("a", 0), ("f", 1), ("e", 4)],
        [("g", 0)],
    ]


def test_signs_stand_in_the_row_of_the_value():
    builder = GridBuilder()
    builder.row()
    builder.cell("x")
    builder.cell("$", rowspan=2)
    builder.cell("5")
    builder.cell("%")
    builder.row()
    builder.cell("y")
    builder.cell("6")
    made = builder.build()
    assert [made.signs(p.cell) for p in locate(made)] == [("$", True), ("", False)]
