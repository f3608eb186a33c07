"""Write a run folder's description, so that a report needs no experiment file."""

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
        folder: the run folder.
        rows: the rows with their resume keys.
        examples: the examples.
        codec: the family's codec.
        names: experiment, data and baseline, for the manifest.
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
