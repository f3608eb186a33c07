"""The results of a run: per-example values by row, their summary, tables and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from ...data.example import Example
from ...data.folder import bytes_fingerprint
from ...retrievers.errors import InputError
from ...retrievers.files import read_toml
from ...retrievers.outside import read_bytes
from ..stats import ClusterBootstrap, holm, paired_counts
from ..tables import Mark, Table, TableCell, Value
from .comparison import NO_CONTEXTS, Comparison
from .folder import RunFolder
from .log import read_latest, read_lines, readable
from .outcome import Outcomes, RowResult, read_outcome
from .row import Codec

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05
"""The family-wise level of the marks in tables."""


MAX_EXAMPLES = 1 << 31
"""Bytes of ``examples.jsonl``."""

MANY = 0.1
"""The share of examples that fell back above which a row is marked."""


@dataclass(eq=False)
class Run:
    """The results of a run.

    ``resumed``: how many of its (row, seed, example) units an earlier session finished. ``sources``: for rows
    from another folder (:func:`joined`), the folder and the name there. ``codec``: how its records are
    written. ``notes``: lines below its table. ``declared``: the rows that its experiment declares for a
    purpose (``baseline``, ``no_rag``), as in the file; with several models, each has such a row.
    """

    experiment: str
    data: str
    rows: Sequence[RowResult]
    examples: Sequence[Example]
    baseline: str | None = None
    folder: Path | None = None
    resumed: int = 0
    sources: Mapping[str, tuple[Path, str]] = field(default_factory=dict)
    codec: str = ""
    notes: Sequence[str] = ()
    declared: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path, codec: Codec | None = None) -> Run:
        """Read a run folder, finished or not.

        Args:
            path: the folder given by ``--out``.
            codec: scores the records again; None uses the stored values.

        Raises:
            InputError: it is not a run folder, has another version, or is damaged.
        """
        folder = RunFolder(path)
        manifest = folder.manifest()
        if manifest is None:
            raise InputError("is not a run folder (it has no run.json)", file=folder.path)
        examples = _read_examples(folder.path / "examples.jsonl", manifest["examples"])
        places = {e.id: i for i, e in enumerate(examples)}
        measures = manifest["measures"] if codec is None else codec.measures
        rows = []
        for entry in manifest["rows"]:
            file, settings = folder.row_path(entry["row"]), {}
            seeds, outcomes = entry["seeds"], Outcomes(entry["seeds"], examples)
            if file.exists():
                lines = read_lines(file, head_only=codec is None)
                settings = next(lines, {}).get("settings", {})
                with readable(file):
                    for r in lines:
                        place = places.get(r["id"])
                        if place is not None and examples[place].version == r["x"] and r["seed"] in seeds:
                            outcomes.put(r["seed"], place, read_outcome(r, examples[place].gold, codec))
            rows.append(outcomes.result(entry["row"], measures, entry["reference"], settings))
        return cls(
            manifest["experiment"],
            manifest["data"],
            rows,
            examples,
            manifest["baseline"],
            folder.path,
            codec=manifest["codec"],
            declared=_declared(folder.path / "resolved.toml"),
        )

    def __getitem__(self, row: str) -> RowResult:
        for result in self.rows:
            if result.name == row:
                return result
        raise InputError(f"no row {row!r}; there are {', '.join(r.name for r in self.rows)}", field="row")

    @cached_property
    def measures(self) -> list[str]:
        """Every measure of any row, in table order."""
        return list(dict.fromkeys(m for row in self.rows for m in row.values))

    @cached_property
    def bootstrap(self) -> ClusterBootstrap:
        """The resampling of source contexts that every interval of this run shares."""
        return ClusterBootstrap(e.cluster or f"\0{e.id}" for e in self.examples)

    def summary(self) -> dict[str, Any]:
        """``{"experiment", "data", "rows": [{"row", "n", "failed", "R@1", ..., "intervals", "cost"}]}``.

        ``n`` is the number of examples. ``failed`` and ``fell_back`` (examples with an unusable reply of the
        model) count over seeds. ``cost`` holds means per example. Nothing depends on the clock or on the
        order in which examples finish.
        """
        rows = []
        for row in self.rows:
            entry: dict[str, Any] = {
                "row": row.name,
                "n": int(row.done.any(axis=0).sum()),
                "failed": int(row.failed.sum()),
            }
            if row.fell_back:
                entry["fell_back"] = row.fell_back
            means = {m: row.mean(m) for m in row.values}
            entry |= {m: mean for m, (mean, _) in means.items()}
            intervals = self.bootstrap.intervals([row.per_example(m) for m in row.values])
            entry["intervals"] = {m: [i.low, i.high] for m, i in zip(row.values, intervals, strict=True)}
            entry["seeds"] = list(row.seeds)
            if len(row.seeds) > 1:
                entry["sd"] = {m: sd for m, (_, sd) in means.items()}
            if row.costs:
                entry["cost"] = {c: float(np.nanmean(v)) for c, v in row.costs.items()}
            if row.reference:
                entry["reference"] = dict(row.reference)
            rows.append(entry)
        return {"experiment": self.experiment, "data": self.data, "rows": rows}

    def compare(self, a: str, b: str, measures: Sequence[str] | None = None) -> Comparison:
        """Row ``a`` minus row ``b``, paired by example, resampling source contexts.

        Args:
            measures: the measures; default all that both rows have.

        Raises:
            InputError: an unknown row or measure.
        """
        first, second = self[a], self[b]
        shared = [m for m in first.values if m in second.values]
        missing = [m for m in measures or () if m not in shared]
        if missing or not shared:
            raise InputError(f"{a!r} and {b!r} do not share {', '.join(missing) or 'a measure'}")
        differences, counts = {}, {}
        for m in measures or shared:
            x, y = first.per_example(m), second.per_example(m)
            [differences[m]] = self.bootstrap.differences(x, y)
            known = ~(np.isnan(x) | np.isnan(y))
            if np.isin(x[known], (0, 1)).all() and np.isin(y[known], (0, 1)).all():
                counts[m] = paired_counts(x[known].tolist(), y[known].tolist())
        return Comparison(a, b, differences, counts)

    def marks(self, baseline: str) -> dict[str, dict[str, Mark]]:
        """By measure and row: ``+`` or ``-`` if the row differs from the baseline at the level ``ALPHA``
        after Holm's correction across rows.
        """
        others = [row.name for row in self.rows if row.name != baseline]
        found = {name: self.compare(name, baseline) for name in others}
        marks: dict[str, dict[str, Mark]] = {}
        for m in self[baseline].values:
            have = {name: c for name, c in found.items() if m in c.differences}
            adjusted = holm({name: c.differences[m].p for name, c in have.items()})
            marks[m] = {
                name: ("+" if c.differences[m].mean > 0 else "-") if adjusted[name] < ALPHA else ""
                for name, c in have.items()
            }
        return marks

    def table(self, baseline: str | None = None, intervals: bool = False, best: bool = True) -> Table:
        """The run in the form of the paper's table; notebooks display it.

        Args:
            baseline: the row that marks refer to; default the run's own.
            intervals: show each value's 95% interval.
            best: set the best value of each column in bold.

        Raises:
            InputError: the baseline is not a row of this run.
        """
        summary = self.summary()["rows"]
        baseline = baseline or self.baseline
        marks = self.marks(baseline) if baseline else {}
        problems = [
            (title, key)
            for title, key in (("failed", "failed"), ("fell back", "fell_back"))
            if any(entry.get(key) for entry in summary)
        ]
        top = {m: max((e[m] for e in summary if m in e), default=0.0) for m in self.measures}
        body: list[list[Value]] = []
        for entry in summary:
            line: list[Value] = [entry["row"], entry["n"], *(entry.get(key, 0) for _, key in problems)]
            for m in self.measures:
                reference = entry.get("reference", {}).get(m)
                if m not in entry:
                    line.append(None if reference is None else TableCell(None, reference=reference))
                    continue
                low, high = entry["intervals"][m] if intervals else (None, None)
                is_best = best and len(summary) > 1 and entry[m] == top[m] and top[m] > 0
                sd, mark = entry.get("sd", {}).get(m), marks.get(m, {}).get(entry["row"], "")
                line.append(
                    TableCell(
                        entry[m], low=low, high=high, sd=sd, reference=reference, mark=mark, best=is_best
                    )
                )
            body.append(line)
        columns = ["row", "n", *(title for title, _ in problems), *self.measures]
        title = ", ".join(t for t in (self.experiment, self.data) if t)
        return Table(columns, body, title, self._notes(summary, baseline, intervals, bool(marks)))

    def _notes(
        self,
        summary: Sequence[Mapping[str, Any]],
        baseline: str | None,
        intervals: bool,
        marked: bool,
    ) -> list[str]:
        notes = []
        if any(set(entry.get("reference", ())) & set(self.measures) for entry in summary):
            notes.append("In parentheses: the paper's value.")
        if intervals:
            notes.append("In brackets: 95% intervals, resampling source contexts.")
        if any("sd" in entry for entry in summary):
            notes.append("±: standard deviation over seeds.")
        if marked:
            notes.append(
                f"▲ ▼: differs from {baseline} (p < .05 by resampling source contexts, Holm over rows)."
            )
        if (intervals or marked) and self.bootstrap.n_clusters < 2:
            notes.append(NO_CONTEXTS)
        missing = sum(int((~row.done).sum()) for row in self.rows)
        if missing:
            notes.append(
                f"Unfinished: {missing:,} of {sum(row.done.size for row in self.rows):,} are not done."
            )
        if any(entry["failed"] for entry in summary):
            notes.append("Failures count as wrong.")
        notes += [
            f"{row.name}: {row.fell_back / row.done.sum():.0%} fell back because replies were no use; "
            "these are not the method's figures (--retry-failed asks again)."
            for row in self.rows
            if row.fell_back > MANY * row.done.sum()
        ]
        return notes

    @property
    def unusable(self) -> bool:
        """Whether every example of every row failed or fell back."""
        return all(row.unusable == 1.0 for row in self.rows)

    def __repr__(self) -> str:
        return (
            f"<Run of {len(self.rows)} rows on {len(self.examples):,} examples: {', '.join(self.measures)}>"
        )

    def _repr_html_(self) -> str:
        return self.table().html()

    def to_json(self) -> str:
        """One JSON object: the rows' names, the measures, and :meth:`values`."""
        rows = [row.name for row in self.rows]
        whole = {"rows": rows, "measures": list(self.measures), "values": list(self.values())}
        return orjson.dumps(whole, option=orjson.OPT_SERIALIZE_NUMPY).decode()

    def values(self) -> Iterator[dict[str, Any]]:
        """One flat dict per row, seed and example: row, seed, id, cluster, groups, status, measures, costs,
        seconds.
        """
        for row in self.rows:
            for s, seed in enumerate(row.seeds):
                for i, example in enumerate(self.examples):
                    if not row.done[s, i]:
                        continue
                    yield {
                        "row": row.name,
                        "seed": seed,
                        "id": example.id,
                        "cluster": example.cluster,
                        **example.groups,
                        "status": "failed" if row.failed[s, i] else "ok",
                        **{m: _known(v[s, i]) for m, v in row.values.items()},
                        **{c: _known(v[s, i]) for c, v in row.costs.items()},
                        "seconds": _known(row.seconds[s, i]),
                    }

    def to_pandas(self) -> pd.DataFrame:
        """:meth:`values` as a data frame."""
        import pandas as pd

        return pd.DataFrame.from_records(list(self.values()))

    def records(self, row: str) -> Iterable[dict[str, Any]]:
        """The whole records of a row (ranking, trace): the latest of each seed and example of this run.

        Raises:
            InputError: no such row, or the run kept no records (no folder, and not ``keep=True``).
        """
        result = self[row]
        folder, name = self.sources.get(row, (self.folder, row))
        if folder is not None:
            versions = {e.id: e.fingerprint() for e in self.examples}
            return read_latest(
                RunFolder(folder).row_path(name),
                lambda r: r["seed"] in result.seeds and versions.get(r["id"]) == r["x"],
            )
        if not result.lines:
            raise InputError("this run kept no records: give it a folder, or keep=True")
        return (orjson.loads(line) for line in result.lines)


def _declared(path: Path) -> dict[str, str]:
    """The rows that a resolved experiment declares for a purpose; empty if the run has no such file."""
    if not path.is_file():
        return {}
    table = read_toml(path)
    return {key: value for key in ("baseline", "no_rag") if isinstance(value := table.get(key), str)}


def _read_examples(path: Path, printed: str) -> list[Example]:
    text = read_bytes(path, MAX_EXAMPLES)
    if bytes_fingerprint(text) != printed:
        raise InputError("is damaged, or not of this run: run.json has another hash of it", file=path)
    with readable(path):
        read = map(orjson.loads, text.splitlines())
        return [Example(e["id"], {}, e["gold"], e["cluster"], e["groups"], e["x"]) for e in read]


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
