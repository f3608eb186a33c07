"""``abduce data build icd10cm``: build the inventory from the official release files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ....retrievers.errors import InputError, MissingExtra
from ....retrievers.files import make_folder, read_jsonl, replacing
from ....retrievers.profiles import profile_rows
from ....signatures.dimensions import load_schema
from ...domains import CLINICAL
from ...folder import bytes_fingerprint
from ...icd10cm import concept_of
from ...icd10cm_fields import DOCUMENTED, add_derived
from .addenda import apply_to_index, apply_to_tabular, read_changes
from .alphabetic import SOURCES, IndexPath, read_index
from .compare import Agreement, compare
from .inventory import build_rows, build_tree, resolve
from .release import Release, ReleaseFile, report_years
from .tabular import NOTE_KINDS, read_added, read_codes, read_order, read_tabular


@dataclass(frozen=True)
class BuildReport:
    """What a build read and wrote.

    ``sources`` names the file of each kind. ``agreement`` is filled if another inventory was given to compare
    with; ``only_ours`` and ``only_theirs`` are the codes that the other side lacks.
    """

    year: int
    codes: int
    codiesp: int
    nodes: int
    paths: Mapping[str, int]
    sources: Mapping[str, str]
    notes: Sequence[str] = ()
    agreement: Sequence[Agreement] = field(default_factory=tuple)
    only_ours: Sequence[str] = ()
    only_theirs: Sequence[str] = ()
    files: Sequence[str] = ()

    @property
    def lines(self) -> list[str]:
        """The report as lines of text."""
        found = [
            f"ICD-10-CM {self.year}: {self.codes} billable codes, {self.codiesp} of them for CodiEsp; "
            f"{self.nodes} nodes"
        ]
        found += [f"  {source}: {n} index paths" for source, n in self.paths.items()]
        found += [f"  read {kind}: {name}" for kind, name in self.sources.items()]
        found += [f"  note: {n}" for n in self.notes]
        if self.agreement:
            found.append("agreement, field by field:")
            found += ["  " + a.line for a in self.agreement]
            found.append(f"  codes only here: {len(self.only_ours)}, only there: {len(self.only_theirs)}")
        return found + [f"wrote {f}" for f in self.files]


def build_icd10cm(
    folder: str | Path,
    year: int,
    out: str | Path,
    compare_with: str | Path | None = None,
    addenda: bool = True,
    indexes: Sequence[str] = DOCUMENTED,
) -> BuildReport:
    """Build the inventory of one release year.

    Writes ``icd10cm_fy<year>_taxonomy``, ``_tabular_nodes``, ``_index_paths`` and ``_profiles``
    (``.jsonl.gz``) and a manifest to ``out``: all of them or none.

    Args:
        folder: the release files (see :class:`~abduce.data.build_icd10cm.icd10cm.release.Release`).
        year: the fiscal year. Its code and order files are required. The tabular list and the indexes may be
            of an earlier year; the PDF addenda of the years between are then applied.
        out: the output folder, made if missing.
        compare_with: an inventory in the same format to compare with, field by field.
        addenda: apply the addenda (needs ``pypdf``, extra ``icd10cm``).
        indexes: which indexes the documentation text includes (default: all but the table of drugs).

    Raises:
        InputError: no code file of the year, or a corrupted file.
        MissingExtra: addenda are needed, and ``pypdf`` is not installed.
    """
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise InputError("is a file; give a folder to write to", file=out)
    release = Release(folder)
    codes_file, order_file = release.need("codes", year), release.need("order", year)
    labels, order = read_codes(codes_file), read_order(order_file)
    billable = {o.code for o in order if o.billable}
    if billable != set(labels):
        odd = sorted(billable ^ set(labels))
        raise InputError(
            f"and the code file differ in {len(odd)} billable codes, first {odd[0]}", file=str(order_file)
        )
    used: dict[str, ReleaseFile | None] = {"codes": codes_file, "order": order_file}
    notes: list[str] = []
    tabular_file = release.nearest("tabular", year)
    nodes = read_tabular(tabular_file)
    used["tabular"] = tabular_file
    for change_file in _between(release, "tabular", tabular_file.year, year, addenda, notes):
        missed = apply_to_tabular(nodes, read_changes(change_file))
        used[change_file.kind] = change_file
        if missed:
            notes.append(f"{missed} removals of {change_file} name a note that is not there")
    paths: list[IndexPath] = []
    for kind in SOURCES:
        if not release.years(kind):
            notes.append(f"no {kind} file: its terms are missing")
            continue
        index_file = release.nearest(kind, year)
        used[kind] = index_file
        found = read_index(index_file)
        if kind in ("index", "eindex"):
            for change_file in _between(release, kind, index_file.year, year, addenda, notes):
                found = apply_to_index(found, read_changes(change_file), kind)
                used[change_file.kind] = change_file
        paths += found
    added_file = release.get("codes addenda", year)
    used["codes addenda"] = added_file
    added = read_added(added_file) if added_file is not None else None
    if added is None:
        notes.append("no code addenda of the year: every code counts as one of the CodiEsp inventory")
    tree = build_tree(nodes, order, labels)
    rows = list(build_rows(tree, order, paths, added, indexes))
    add_derived(rows)
    agreement: Sequence[Agreement] = ()
    only_ours: Sequence[str] = ()
    only_theirs: Sequence[str] = ()
    if compare_with is not None:
        agreement, only_ours, only_theirs = compare(rows, (r for _, r in read_jsonl(compare_with)))
    names = _names(year)
    by_source = {name: sum(p.source == name for p in paths) for name in SOURCES.values()}
    report = BuildReport(
        year,
        len(rows),
        sum(r["in_codiesp_inventory"] for r in rows),
        len(tree.nodes),
        by_source,
        report_years(used),
        notes,
        agreement,
        only_ours,
        only_theirs,
        [str(out / name) for name in names],
    )
    manifest = json.dumps(
        {k: v for k, v in asdict(report).items() if k not in ("agreement", "files")}, indent=1
    )
    write_all(
        out,
        {
            **with_profiles(rows, names[0], names[3]),
            names[1]: jsonl_gz(_node_rows(tree)),
            names[2]: jsonl_gz(_path_rows(paths, tree)),
            names[4]: (manifest + "\n").encode(),
        },
    )
    return report


def with_profiles(
    rows: Sequence[Mapping[str, Any]],
    inventory: str = CLINICAL.inventory,
    profiles: str = str(CLINICAL.profiles),
) -> dict[str, bytes]:
    """The inventory's file and that of its category profiles, by these names.

    ``rows`` may be whole or compact, with their derived fields.
    """
    data = jsonl_gz(rows)
    held = profile_rows(load_schema(CLINICAL.schema), map(concept_of, rows), bytes_fingerprint(data))
    return {inventory: data, profiles: jsonl_gz(held)}


def _names(year: int) -> tuple[str, str, str, str, str]:
    stem = f"icd10cm_fy{year}"
    return (
        f"{stem}_taxonomy.jsonl.gz",
        f"{stem}_tabular_nodes.jsonl.gz",
        f"{stem}_index_paths.jsonl.gz",
        f"{stem}_profiles.jsonl.gz",
        f"{stem}_manifest.json",
    )


def _between(
    release: Release, kind: str, base: int, year: int, addenda: bool, notes: list[str]
) -> Iterator[ReleaseFile]:
    """The addenda from the base year to the year, oldest first; missing ones are noted."""
    if base > year:
        notes.append(f"the {kind} file is of {base}, later than {year}: its wording is used as it stands")
    for step in range(base + 1, year + 1):
        found = release.get(f"{kind} changes", step)
        if found is None:
            notes.append(f"no {kind} addenda of {step}: the {kind} file of {base} is used without them")
        elif not addenda:
            notes.append(f"the {kind} addenda of {step} were left out, as asked")
        else:
            yield found


def _node_rows(tree: Any) -> Iterator[dict[str, Any]]:
    for node in tree.nodes.values():
        row: dict[str, Any] = {
            "node": node.shown,
            "kind": node.kind,
            "parent": node.parent and node.parent.removeprefix("section "),
            "label": node.label,
        }
        if node.kind == "code":
            row["billable"] = tree.bases.get(node.id) == node.id
        row |= {k: node.notes[k] for k in NOTE_KINDS if node.notes.get(k)}
        if node.seventh:
            row["sevenChrDef"] = dict(node.seventh)
        yield row


def _path_rows(paths: Iterable[IndexPath], tree: Any) -> Iterator[dict[str, Any]]:
    for path in paths:
        found = resolve(path, tree)
        yield {
            "source": path.source,
            "path": path.path,
            "terms": list(path.terms),
            "nonessential": list(path.nonessential),
            "code_as_printed": path.code,
            "manifestation": path.manifestation,
            "resolution": found.how,
            "n_billable": len(found.codes),
        }


def jsonl_gz(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Rows as gzip-compressed JSON lines; the same rows give the same bytes."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write several files: each is complete before the first appears under its name.

    Raises:
        InputError: the folder cannot be written to.
    """
    make_folder(folder)
    with ExitStack() as parts:
        for name, data in files.items():
            parts.enter_context(replacing(folder / name)).write(data)


__all__ = ["BuildReport", "MissingExtra", "build_icd10cm", "jsonl_gz", "with_profiles", "write_all"]
