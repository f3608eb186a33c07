"""What ``abduce report`` shows of a run: its tables, in order, and the files it writes.

Every family adds analyses of its own under its codec's name in :data:`ANALYSES`: functions that take a
:class:`Run` and return tables. They are imported when they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from ...retrievers.errors import InputError
from ...retrievers.files import make_folder, write_text
from ..runs.folder import RunFolder
from ..runs.row import Codec
from ..runs.run import Run
from ..tables import Table
from .breakdown import against, breakdown, cost_table, failure_table, group_fields, headline, referenced
from .parts import parts_apart

Analysis = Callable[[Run], Iterable[Table]]

CODECS: Mapping[str, str] = {
    "taxonomy": "runs.taxonomy_codec:TaxonomyCodec",
    "question": "runs.question_codec:QuestionCodec",
}
"""Where the codec of a name in ``run.json`` lives, as ``module:class`` of this package."""

ANALYSES: Mapping[str, Sequence[str]] = {
    "taxonomy": ("report.fhs:fhs_tables",),
    "question": ("report.questions:question_tables",),
}
"""The analyses of a family by its codec's name, as ``module:function`` of this package."""

FORMATS: Mapping[str, tuple[str, Callable[[Table], str]]] = {
    "markdown": ("md", Table.markdown),
    "latex": ("tex", Table.latex),
    "csv": ("csv", Table.csv),
}
"""What a table can be written as: the file's ending and the rendering."""


def _find(place: str) -> object:
    module, _, name = place.partition(":")
    return getattr(import_module(f"..{module}", __package__), name)


def codec_named(name: str) -> Codec | None:
    """The codec of a family; None for one this version does not know (its values stand as scored)."""
    if name not in CODECS:
        return None
    codec: Codec = _find(CODECS[name])()  # type: ignore[operator]
    return codec


def load_run(folder: str | Path) -> tuple[Run, str]:
    """A run folder, scored anew, and the name of its codec.

    Raises:
        InputError: see :meth:`Run.load`.
    """
    manifest = RunFolder(folder).manifest()
    name = str(manifest["codec"]) if manifest is not None else ""
    return Run.load(folder, codec_named(name)), name


def report_tables(
    run: Run,
    family: str = "",
    *,
    baseline: str | None = None,
    by: Sequence[str] | None = None,
    measure: str | None = None,
    intervals: bool = False,
) -> list[Table]:
    """The tables of a report, in order: results (of the whole, then of the parts that its domain sets
    apart), differences to the baseline, breakdowns, cost, the family's own analyses, failures.

    Args:
        run: what to report on.
        family: the codec's name, whose analyses are added.
        baseline: the row that others are compared with; by default the run's own, else none.
        by: fields to break down by; by default every field that splits the examples.
        measure: the measure of the breakdowns; by default the headline and those that have a
            reference by group.
        intervals: show 95% intervals in the table of results.

    Raises:
        InputError: no such baseline, field or measure.
    """
    baseline = baseline or run.baseline
    tables = [one.table(baseline, intervals=intervals) for one in (run, *parts_apart(run))]
    if baseline is not None and len(run.rows) > 1:
        tables.append(against(run, baseline))
    for field in group_fields(run) if by is None else by:
        shown = [measure] if measure else dict.fromkeys([headline(run), *referenced(run, field)])
        tables += [breakdown(run, field, m) for m in shown]
    if any(row.costs for row in run.rows):
        tables.append(cost_table(run))
    for place in ANALYSES.get(family, ()):
        analysis: Analysis = _find(place)  # type: ignore[assignment]
        tables += analysis(run)
    failures = failure_table(run)
    return tables if failures is None else [*tables, failures]


def write_tables(tables: Sequence[Table], folder: str | Path, formats: Sequence[str] = ()) -> list[Path]:
    """Write the tables: all in one file as Markdown and LaTeX, one file each as CSV.

    Raises:
        InputError: an unknown format, or a file cannot be written.
    """
    folder = Path(folder)
    make_folder(folder)
    paths = []
    for name in formats or FORMATS:
        if name not in FORMATS:
            raise InputError(f"{name!r} is none of {', '.join(FORMATS)}", field="format")
        ending, render = FORMATS[name]
        if name == "csv":
            for i, table in enumerate(tables, 1):
                paths.append(folder / f"table{i:02d}.csv")
                write_text(paths[-1], render(table))
        else:
            paths.append(folder / f"tables.{ending}")
            write_text(paths[-1], "\n".join(map(render, tables)))
    return paths
