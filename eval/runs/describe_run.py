"""What a run folder says of its run, so that a report can be read from it without the experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...data.example import Example
from ...data.folder import Fingerprint
from ...retrievers.files import replacing, write_text
from .folder import RunFolder, file_name
from .log import dumps
from .row import Codec, Row


def describe_run(
    folder: RunFolder,
    rows: Sequence[tuple[Row, str]],
    examples: Sequence[Example],
    codec: Codec,
    names: Mapping[str, str | None],
    resolved: str,
) -> None:
    """Write the examples, the resolved experiment and the manifest.

    Args:
        folder: where to.
        rows: the rows with their resume keys.
        examples: what is run.
        codec: of the family.
        names: the experiment, the data and the baseline, for the manifest.
        resolved: the text of ``resolved.toml``; empty: none.
    """
    if resolved:
        write_text(folder.path / "resolved.toml", resolved)
    printed = Fingerprint()
    with replacing(folder.path / "examples.jsonl") as stream:
        for e in examples:
            gold = sorted(e.gold) if isinstance(e.gold, set | frozenset) else e.gold
            about = {"id": e.id, "x": e.fingerprint(), "gold": gold}
            line = dumps({**about, "cluster": e.cluster, "groups": dict(e.groups)})
            printed.update(line)
            stream.write(line)
    listed = [
        {
            "row": row.name,
            "file": f"rows/{file_name(row.name)}.log",
            "key": key,
            "seeds": list(row.seeds),
            "reference": dict(row.reference),
        }
        for row, key in rows
    ]
    measured = {"codec": codec.name, "measures": list(codec.measures), "examples": printed.digits}
    folder.write_manifest({**names, **measured, "rows": listed})
