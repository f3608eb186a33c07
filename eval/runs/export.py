"""Results for other tools: per-example values as CSV or Parquet, runs and qrels in TREC formats."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ...data.example import Example
from ...retrievers.errors import InputError
from ...retrievers.files import csv_text, make_folder, write_bytes, write_text
from ..metrics import RANKING_MEASURES, grades_of, score_ranking
from .folder import file_name
from .outcome import Outcome, Outcomes
from .run import Run
from .trec import TrecRanking, read_qrels, read_run, write_qrels, write_run


def write_values(run: Run, path: str | Path) -> None:
    """Write one line per row, seed and example: groups, status, measures, costs, seconds.

    Args:
        run: the run.
        path: its ending decides the format: ``.csv`` or ``.parquet``.

    Raises:
        InputError: another ending, or the file cannot be written.
    """
    path = Path(path)
    lines = list(run.values())
    if path.suffix not in (".csv", ".parquet"):
        raise InputError("must end in .csv or .parquet", file=path)
    columns = list(dict.fromkeys(name for line in lines for name in line))
    if path.suffix == ".csv":
        write_text(path, csv_text(columns, ([line.get(name) for name in columns] for line in lines)))
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({name: [line.get(name) for line in lines] for name in columns})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    write_bytes(path, buffer.getvalue())


def write_trec(run: Run, folder: str | Path) -> list[Path]:
    """Write ``qrels.trec`` and one ``ROW.trec`` per row (``ROW.seedN.trec`` with several seeds).

    Raises:
        InputError: a record has no ranking, an id has white space, or a file cannot be written.
    """
    folder = Path(folder)
    make_folder(folder)
    paths = [folder / "qrels.trec"]
    qrels = {e.id: {i: float(g) for i, g in grades_of(e.gold).items()} for e in run.examples}
    write_qrels(paths[0], qrels)
    for row in run.rows:
        rankings: dict[int, dict[str, TrecRanking]] = {seed: {} for seed in row.seeds}
        for record in run.records(row.name):
            if record["status"] != "ok":
                continue
            ranking = record.get("ranking")
            if not isinstance(ranking, Mapping):
                raise InputError(f"row {row.name!r} has no rankings to export")
            ids = ranking["ids"]  # a context of passages has an order and no scores
            scores = ranking.get("scores") or range(len(ids), 0, -1)
            rankings[record["seed"]][record["id"]] = TrecRanking(ids, scores)
        for seed, found in rankings.items():
            name = file_name(row.name) + (f".seed{seed}" if len(row.seeds) > 1 else "")
            paths.append(folder / f"{name}.trec")
            ordered = {e.id: found[e.id] for e in run.examples if e.id in found}
            write_run(paths[-1], ordered, tag=row.name)
    return paths


def read_trec(runs: Sequence[str | Path], qrels: str | Path, more: Sequence[str] = ()) -> Run:
    """A :class:`Run` from TREC run files, one row per file, named by it.

    Every query of the qrels is an example; queries missing in a run score 0. Ids are compared without their
    namespace prefix. ``more`` are measured in addition to R@k and MRR.

    Raises:
        InputError: a missing or malformed file, duplicate file names, or no query with a relevant document.
    """
    measures = tuple(dict.fromkeys((*RANKING_MEASURES, *more)))
    judged = {q: g for q, g in read_qrels(qrels).items() if any(v > 0 for v in g.values())}
    if not judged:
        raise InputError("has no query with a relevant document", file=qrels)
    examples = [Example(q, {}, grades) for q, grades in judged.items()]
    names = [Path(path).name.removesuffix(".gz").removesuffix(".trec") for path in runs]
    if len(set(names)) < len(names):
        raise InputError(f"two run files have the same name: {', '.join(names)}")
    rows = []
    for name, path in zip(names, runs, strict=True):
        found = read_run(path)
        if not found.keys() & judged.keys():
            raise InputError(f"answers none of the queries of {qrels}", file=path)
        outcomes = Outcomes([0], examples)
        for place, (q, grades) in enumerate(judged.items()):
            values = score_ranking(list(found[q].ids) if q in found else [], grades, measures)
            outcomes.put(0, place, Outcome(values, {}, np.nan, None))
        rows.append(outcomes.result(name, measures, {}, {}))
    return Run("", Path(qrels).name, rows, examples)
