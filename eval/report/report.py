"""The output of ``abduce eval`` and ``abduce report``: tables, in order, and written files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...retrievers.errors import InputError
from ...retrievers.files import make_folder, write_text
from ..metrics import measure as measure_named
from ..runs.folder import RunFolder
from ..runs.plain_codec import PlainCodec
from ..runs.row import Codec
from ..runs.run import Run
from ..tables import Table
from .breakdown import against, breakdown, cost_table, failure_table, group_fields, headline, referenced
from .parts import parts_apart

Analysis = Callable[[Run], Iterable[Table]]


@dataclass(frozen=True)
class Kind:
    """The runs of one codec: how they are scored again, and their additional tables (``analyses``;
    ``at_once``: those that the run shows too).
    """

    codec: Codec
    analyses: Sequence[Analysis] = ()
    at_once: Sequence[Analysis] = ()


def kind_of(codec: str, measures: Sequence[str] = ()) -> Kind | None:
    """The kind of a codec's name; None for an unknown one (its values stay as scored).

    Args:
        codec: the name in ``run.json``.
        measures: all requested measures.

    Raises:
        InputError: an unknown measure, or one that this kind of run does not have.
    """
    try:
        if codec == "taxonomy":
            from ..runs.taxonomy_codec import TaxonomyCodec
            from .fhs import fhs_tables

            return Kind(TaxonomyCodec(measures), (fhs_tables,))
        if codec == "question":
            from ..runs.question_codec import QuestionCodec
            from .questions import question_tables

            asked = QuestionCodec()
            if strange := [m for m in measures if m not in asked.measures]:
                raise ValueError(f"{strange[0]!r} is a measure of rankings, and no passage is judged here")
            return Kind(asked, (question_tables,), (question_tables,))
        if codec == "plain":
            for name in measures:
                measure_named(name)
            return Kind(PlainCodec(measures) if measures else PlainCodec())
    except ValueError as e:
        raise InputError(str(e), field="measure") from e
    return None


FORMATS: Mapping[str, tuple[str, Callable[[Table], str]]] = {
    "markdown": ("md", Table.markdown),
    "latex": ("tex", Table.latex),
    "csv": ("csv", Table.csv),
}
"""What a table can be written as: the file's ending and the rendering."""


def load_run(folder: str | Path, measures: Sequence[str] = ()) -> Run:
    """A run folder, scored again, with further ``measures`` if given.

    Raises:
        InputError: see :meth:`Run.load` and :func:`kind_of`.
    """
    manifest = RunFolder(folder).manifest()
    if manifest is None:
        return Run.load(folder)
    kind = kind_of(manifest["codec"], [*manifest["measures"], *measures])
    return Run.load(folder, None if kind is None else kind.codec)


def result_tables(run: Run, *, baseline: str | None = None, intervals: bool = False) -> list[Table]:
    """The tables at the end of a run: results of the whole and of its parts, the kind's immediate tables,
    failures.

    Raises:
        InputError: no such baseline.
    """
    tables = [one.table(baseline, intervals=intervals) for one in (run, *parts_apart(run))]
    kind = kind_of(run.codec)
    for analysis in () if kind is None else kind.at_once:
        tables += analysis(run)
    failures = failure_table(run)
    return tables if failures is None else [*tables, failures]


def report_tables(
    run: Run,
    *,
    baseline: str | None = None,
    by: Sequence[str] | None = None,
    measure: str | None = None,
    intervals: bool = False,
) -> list[Table]:
    """The tables of a report, in order: results (of the whole and its parts), differences to the baseline,
    breakdowns, cost, analyses of its kind, failures.

    Args:
        run: the run.
        baseline: the row that others are compared with; default the run's own, if any.
        by: fields to break down by; default every field that splits the examples.
        measure: the measure of the breakdowns; default the headline and those with a reference by group.
        intervals: show 95% intervals in the table of results.

    Raises:
        InputError: an unknown baseline, field or measure.
    """
    baseline = baseline or run.baseline
    methods = {row.settings.get("method") for row in run.rows} - {row.name for row in run.rows}
    if (
        baseline is not None and baseline in methods
    ):  # several models have such a row, and no single one is the baseline
        run, baseline = replace(run, declared={**run.declared, "baseline": baseline}), run.baseline
    tables = [one.table(baseline, intervals=intervals) for one in (run, *parts_apart(run))]
    if baseline is not None and len(run.rows) > 1:
        tables.append(against(run, baseline))
    for field in group_fields(run) if by is None else by:
        shown = [measure] if measure else dict.fromkeys([headline(run), *referenced(run, field)])
        tables += [breakdown(run, field, m) for m in shown]
    if any(row.costs for row in run.rows):
        tables.append(cost_table(run))
    kind = kind_of(run.codec)
    for analysis in () if kind is None else kind.analyses:
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
