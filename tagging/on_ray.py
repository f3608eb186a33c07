"""Tagging on many machines with Ray Data: files in, Parquet partitions out.

Every file is split into pieces. An actor with its own Tagger tags a piece and writes its partition in one
step. If a piece is tagged again, after a node failed or the job was restarted, existing rows are kept: only
missing or failed rows are tagged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..data.facts import read_facts
from ..retrievers.errors import InputError, MissingExtra
from ..signatures.types import Fact
from .far import Place, find
from .inputs import is_document
from .tagger import Tagger
from .tags import Counts
from .tags_file import COLUMNS

PIECE = 500
"""Facts of a piece, at least: a source context is never cut."""
FAILURES, SETTINGS = "_failures", "_settings.json"
"""What stands beside the partitions. Readers of Parquet folders pass over names that begin so."""
NUMBERS = {
    "score": "float64",
    "margin": "float64",
    "confidence": "float64",
    "mention_start": "int64",
    "scale": "int64",
    "lost": "bool_",
}
"""Columns that hold no text, and their types."""
READER, ACTOR = 0.1, 0.9
"""Processors that Ray sets aside: so a reader and an actor fit on one."""


@dataclass(frozen=True)
class Tagged:
    """The result: the number of ``facts`` with a row; those that ``failed``; those with a ``lost`` part,
    because of an unusable reply; and the unreadable files with reasons.
    """

    facts: int
    failed: int
    lost: int
    unread: Mapping[str, str]

    @property
    def unusable(self) -> float:
        """The share, in [0, 1], of the facts that failed or fell back for their model."""
        return (self.failed + self.lost) / max(1, self.facts)


def tag_on_ray(
    sources: str,
    out: str,
    settings: Mapping[str, Any],
    *,
    top: int = 10,
    actors: int | None = None,
    piece: int = PIECE,
    bars: bool = False,
) -> Tagged:
    """Tag the facts of many files, on the cluster of ``$RAY_ADDRESS`` or on this machine.

    A facts file is split if a fact's tag depends only on its source context (:attr:`.Tagger.splits`). A
    document, or any other file, is one piece. The tags are those of ``Tagger.tag``.

    Args:
        sources: a path or the address of object storage (``s3://...``), with ``*`` or ``**``.
        out: a folder or address that all nodes can reach: a partition per piece, and ``_failures``.
        settings: arguments of :class:`.Tagger`; paths and addresses must be valid on every node.
        top: concepts per fact, at least 1.
        actors: the maximum number of Taggers at once; None: one per processor.
        piece: facts per piece, at least 1.
        bars: show Ray's progress bars.

    Raises:
        InputError: Ray is not installed, no file matches, wrong settings, or ``out`` was made with other
            settings.
    """
    try:
        import ray
        import ray.data
    except ImportError as e:
        raise MissingExtra("ray[data]", "scale") from e
    files = find(sources)
    target = Place.of(out)
    with Tagger(**settings) as tagger:  # refuses wrong settings before anything is started
        size = piece if tagger.splits else None
    _same_settings(target, {"settings": dict(settings), "top": top, "piece": size})
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False)
    actors = actors or max(1, int(ray.cluster_resources().get("CPU", 1)))
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = bars
    context.print_on_execution_start = False
    context.target_max_block_size = 1  # a piece is a block, so that any actor may take it
    rows = [{"source": f} for f in files]
    made = (
        ray.data.from_items(rows, override_num_blocks=min(len(rows), 1000))
        .flat_map(pieces, fn_kwargs={"size": size}, num_cpus=READER)
        .map(
            TagPiece,
            fn_constructor_kwargs={"settings": dict(settings), "out": out, "top": top},
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=actors),
            num_cpus=ACTOR,
        )
    )
    facts = failed = lost = 0
    unread: dict[str, str] = {}
    for row in made.iter_rows():
        facts, failed, lost = facts + row["facts"], failed + row["failed"], lost + row["lost"]
        if row["error"]:
            unread[row["source"]] = row["error"]
    return Tagged(facts, failed, lost, unread)


def _same_settings(target: Place, now: Mapping[str, Any]) -> None:
    """Record the settings of a folder; refuse a folder that was made with others."""
    text = json.dumps(now, indent=1, default=str, sort_keys=True)
    there = target / SETTINGS
    if there.exists():
        if there.read().decode() != text:
            raise InputError("was made with other settings; give another folder", file=str(target))
        return
    there.write(text.encode())


def pieces(row: Mapping[str, Any], size: int | None) -> Iterator[dict[str, Any]]:
    """Split a file: rows of ``source``, ``number`` of the piece, and its ``facts`` as JSON (none: the whole
    file).

    An unreadable file is one piece too; reading it reports the reason.
    """
    source, part, number, last = row["source"], list[str](), 0, ""
    closed: set[int] = set()
    try:
        with Place.of(source).local() as path:
            if size is not None and not is_document(path):
                for example in read_facts(path):
                    fact: Fact = example.inputs["fact"]
                    context = fact.context.context_id
                    if context != last:
                        if fact.modality == "table" and hash(context) in closed:
                            said = f"facts of source context {context!r} stand apart: sort by context_id"
                            raise InputError(said, file=source)
                        closed.add(hash(last))
                        if len(part) >= size:
                            yield {"source": source, "number": number, "facts": part, "error": ""}
                            part, number = [], number + 1
                    part.append(fact.model_dump_json(exclude_unset=True))
                    last = context
    except InputError as e:
        yield {"source": source, "number": number, "facts": part, "error": str(e)}
        return
    yield {"source": source, "number": number, "facts": part, "error": ""}


class TagPiece:
    """One actor: a Tagger and its output folder."""

    def __init__(self, settings: Mapping[str, Any], out: str, top: int) -> None:
        self._tagger, self._out, self._top = Tagger(**settings), Place.of(out), top

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        source, error = row["source"], row["error"]
        name = f"{hashlib.sha256(source.encode()).hexdigest()[:20]}-{row['number']:06d}.parquet"
        counts = Counts()
        try:
            if error:
                raise InputError(error)
            with Place.of(source).local() as path:
                what = [Fact.model_validate_json(text) for text in row["facts"]] or path
                rows = self._tag(source, what, self._out / name, counts)
        except InputError as e:
            error = str(e)
            self._failures(name, [{"source": source, "fact_id": None, "error": error}])
        else:
            self._failures(
                name, [{n: r[n] for n in ("source", "fact_id", "error")} for r in rows if r["error"]]
            )
        return {
            "source": source,
            "facts": counts.facts,
            "failed": counts.failed,
            "lost": counts.lost,
            "error": error,
        }

    def _tag(self, source: str, what: Any, target: Place, counts: Counts) -> list[dict[str, Any]]:
        """Rows of a piece: those already in its partition, and the others, which are tagged now."""
        import pyarrow
        from pyarrow import parquet

        done: dict[str, dict[str, Any]] = {}
        if target.exists():
            table = parquet.read_table(pyarrow.BufferReader(target.read()))
            done = {r["fact_id"]: r for r in table.to_pylist() if not r["error"]}
        tagging = self._tagger.start(what)
        facts = tagging.facts
        left = [f for f in facts if f.fact_id not in done]
        if left:
            again = tagging if len(left) == len(facts) else self._tagger.start(left)
            for tag in again:
                cells = tagging.of.cells(tag, self._top)
                done[tag.fact.fact_id] = {
                    "source": source,
                    **cells,
                    "error": tag.error,
                    "lost": bool(tag.lost),
                }
        rows = [done[f.fact_id] for f in facts]
        if left:
            target.write(_parquet(rows, ("source", *COLUMNS, "error", "lost")))
        counts.facts, counts.failed = len(rows), sum(bool(r["error"]) for r in rows)
        counts.lost = sum(r["lost"] for r in rows)
        return rows

    def _failures(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Write a piece's failures, or delete those of an earlier run."""
        target = self._out / FAILURES / name
        if rows:
            target.write(_parquet(rows, ("source", "fact_id", "error")))
        else:
            target.remove()


def _parquet(rows: list[dict[str, Any]], names: Sequence[str]) -> bytes:
    """Write rows with the same columns and types in every file: texts, except :data:`NUMBERS`."""
    import pyarrow
    from pyarrow import parquet

    kinds = {name: getattr(pyarrow, NUMBERS.get(name, "string"))() for name in names}
    columns = {
        name: pyarrow.array(
            [v if (v := row[name]) is None or name in NUMBERS else str(v) for row in rows], kind
        )
        for name, kind in kinds.items()
    }
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(columns), sink)
    return bytes(sink.getvalue().to_pybytes())
