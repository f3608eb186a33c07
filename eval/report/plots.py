"""Plots of a run, as SVG and PNG: R@k curves, cost against quality, bars by group.

matplotlib draws without a display and keeps the caller's settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ...retrievers.errors import MissingExtra
from ...retrievers.files import make_folder, write_bytes
from ..runs.outcome import RowResult
from ..runs.run import Run
from ..stats import Floats
from .breakdown import group_fields, groups_of, headline

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A8A00")
"""Okabe and Ito's colours, told apart by readers of every colour vision."""

_MARKERS = "osD^vPX*"
_LINES = ("-", "--", ":", "-.")
_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "savefig.bbox": "tight",
    "svg.hashsalt": "abduce",
    "svg.fonttype": "none",
}


@contextmanager
def _canvas(width: float, height: float) -> Iterator[tuple[Any, Any]]:
    """A figure and its axes in the style of this module.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as e:
        raise MissingExtra("matplotlib", "report") from e
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height))
        FigureCanvasAgg(figure)
        yield figure, figure.add_subplot()


def _save(figure: Any, folder: Path, name: str) -> list[Path]:
    import io

    paths = []
    for kind, metadata in (("svg", {"Date": None}), ("png", {"Software": "abduce"})):
        data = io.BytesIO()
        figure.savefig(data, format=kind, dpi=160, metadata=metadata)
        paths.append(folder / f"{name}.{kind}")
        write_bytes(paths[-1], data.getvalue())
    return paths


def look(i: int) -> tuple[str, str, str]:
    """Colour, line and marker of the i-th row. After eight rows the colours repeat with another line and
    marker, so that 32 rows all differ.
    """
    again = i // len(COLOURS)
    colour, line = COLOURS[i % len(COLOURS)], _LINES[again % len(_LINES)]
    return colour, line, _MARKERS[(i + 3 * again) % len(_MARKERS)]


def recall_curve(row: RowResult) -> tuple[list[int], list[float]]:
    """R@k of a row at each k. If its reciprocal ranks agree with its R@k (one gold id per example), at every
    k up to the deepest; else at the measured k.
    """
    ks = sorted(int(m[2:]) for m in row.values if re.fullmatch(r"R@\d+", m))
    points = [row.mean(f"R@{k}")[0] for k in ks]
    if ks and "MRR" in row.values:
        rr: Floats = row.values["MRR"][row.done & ~np.isnan(row.values["MRR"])]
        places = np.divide(1.0, rr, out=np.full_like(rr, np.inf), where=rr > 0).round()
        if np.allclose([(places <= k).mean() for k in ks], points):
            every = list(range(1, ks[-1] + 1))
            return every, [float((places <= k).mean()) for k in every]
    return ks, points


def plot_recall(run: Run, folder: Path) -> list[Path]:
    """R@k against k (logarithmic), one line per row, best row first in the legend."""
    curves = [(row.name, i, *recall_curve(row)) for i, row in enumerate(run.rows)]
    curves = [c for c in curves if c[2]]
    if not curves:
        return []
    with _canvas(6.4, 4.2) as (figure, axes):
        for name, i, ks, values in sorted(curves, key=lambda c: -float(np.mean(c[3]))):
            colour, line, marker = look(i)
            shown = marker if len(ks) <= 8 else None
            axes.plot(ks, values, label=name, lw=1.6, color=colour, ls=line, marker=shown, ms=4)
        axes.set_xscale("log")
        ticks = sorted({k for c in curves for k in (1, 10, 50, 200) if k <= c[2][-1]} | {curves[0][2][-1]})
        axes.set_xticks(ticks, [str(t) for t in ticks])
        axes.minorticks_off()
        axes.set_ylim(0, 1.02)
        axes.set_xlabel("k")
        axes.set_ylabel("R@k")
        axes.set_title(_title(run, "recall at depth k"), loc="left")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
        return _save(figure, folder, "recall")


def plot_cost(run: Run, folder: Path, measure: str | None = None) -> list[Path]:
    """Quality with its 95% interval against model calls per example, or seconds if there were no calls."""
    measure = measure or headline(run)
    rows = [row for row in run.rows if measure in row.values and row.done.any()]
    if not rows:
        return []
    called = any(np.nansum(row.costs["llm_calls"]) > 0 for row in rows if "llm_calls" in row.costs)
    spent = [_calls(row) if called else 1000 * float(np.nanmean(row.seconds)) for row in rows]
    found = run.bootstrap.intervals([row.per_example(measure) for row in rows])
    with _canvas(6.4, 4.2) as (figure, axes):
        for i, (row, x, got) in enumerate(zip(rows, spent, found, strict=True)):
            colour, _, marker = look(i)
            axes.errorbar(
                x,
                got.mean,
                _arms([[got.mean - got.low], [got.high - got.mean]]),
                fmt=marker,
                ms=6,
                mfc=colour if i < len(COLOURS) else "white",
                capsize=2.5,
                elinewidth=1,
                color=colour,
                label=row.name,
            )
        axes.set_xlabel("model calls per example" if called else "milliseconds per example (log)")
        if not called and min(spent) > 0:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
        axes.set_ylabel(measure)
        axes.set_ylim(bottom=0)
        axes.set_title(_title(run, f"cost against {measure}"), loc="left")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
        return _save(figure, folder, "cost")


def plot_groups(run: Run, folder: Path, field: str, measure: str | None = None) -> list[Path]:
    """A measure by the values of a field: one cluster of bars per value, one bar per row, 95% intervals."""
    measure = measure or headline(run)
    masks = groups_of(run, field)
    rows = [row for row in run.rows if measure in row.values]
    if not rows:
        return []
    width = 0.84 / len(rows)
    with _canvas(max(6.4, 0.16 * len(rows) * len(masks) + 2.5), 4.2) as (figure, axes):
        for i, row in enumerate(rows):
            split = [np.where(mask, row.per_example(measure), np.nan) for mask in masks.values()]
            found = run.bootstrap.intervals(split)
            means = [0.0 if np.isnan(g.mean) else g.mean for g in found]
            error = _arms([[g.mean - g.low for g in found], [g.high - g.mean for g in found]])
            places = np.arange(len(masks)) - 0.42 + width * (i + 0.5)
            axes.bar(
                places, means, width * 0.92, yerr=error, label=row.name, capsize=1.5,
                color=COLOURS[i % len(COLOURS)], error_kw={"elinewidth": 0.8, "ecolor": "#444444"},
                hatch=("", "//", "xx", "..")[i // len(COLOURS) % 4],
            )  # fmt: skip
        names = [f"{name}\n(n={int(mask.sum()):,})" for name, mask in masks.items()]
        tilted = len(names) > 4 or max(map(len, names)) > 24
        axes.set_xticks(
            range(len(names)), names, rotation=30 if tilted else 0, ha="right" if tilted else "center"
        )
        axes.grid(visible=False, axis="x")
        axes.set_ylim(bottom=0)
        axes.set_ylabel(measure)
        axes.set_title(_title(run, f"{measure} by {field}"), loc="left")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
        return _save(figure, folder, f"by_{re.sub('[^A-Za-z0-9]+', '_', field)}")


def _calls(row: RowResult) -> float:
    calls = row.costs.get("llm_calls")
    return 0.0 if calls is None or np.isnan(calls).all() else float(np.nanmean(calls))


def _arms(error: Sequence[Sequence[float]]) -> Floats:
    """Interval arms for matplotlib: never below 0 after rounding."""
    return np.maximum(np.nan_to_num(np.asarray(error, dtype=np.float64)), 0)


def _title(run: Run, what: str) -> str:
    return f"{run.experiment}: {what}" if run.experiment else what


def write_plots(run: Run, folder: Path, fields: Sequence[str] | None = None) -> list[Path]:
    """Every plot that the run has data for; ``fields``: the breakdowns, default all.

    Raises:
        MissingExtra: matplotlib is not installed.
        InputError: the folder cannot be written to, or an unknown field.
    """
    make_folder(folder)
    paths = plot_recall(run, folder) + plot_cost(run, folder)
    for field in group_fields(run) if fields is None else fields:
        paths += plot_groups(run, folder, field)
    return paths
