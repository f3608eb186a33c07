"""One document per billable ICD-10-CM code, from the release files (paper: A.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...icd10cm_fields import DOCUMENTED, INDEX_FIELDS, documentation
from .alphabetic import IndexPath
from .tabular import Node, OrderedCode

Row = dict[str, Any]


@dataclass
class Tree:
    """The nodes of a release year, and its billable codes that are 7th-character extensions.

    ``bases`` maps a billable code to the node with its notes: itself, or for a code with a 7th character, the
    node without it.
    """

    nodes: dict[str, Node]
    bases: dict[str, str]
    labels: Mapping[str, str]
    extensions: dict[str, list[str]] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)

    def path(self, id_: str) -> list[Node]:
        """The node and its ancestors, chapter first."""
        found: list[Node] = []
        at: str | None = id_
        while at is not None:
            found.append(self.nodes[at])
            at = self.nodes[at].parent
        return found[::-1]

    def seventh(self, base: str) -> dict[str, str]:
        """The 7th characters of a node: its own or its nearest ancestor's."""
        for node in reversed(self.path(base)):
            if node.seventh:
                return node.seventh
        return {}

    def billable_under(self, id_: str) -> list[str]:
        """The billable codes at or below a node, ascending."""
        found: list[str] = []
        waiting = [id_]
        while waiting:
            at = waiting.pop()
            found += [at] if self.bases.get(at) == at else self.extensions.get(at, [])
            waiting += self.children.get(at, [])
        return sorted(set(found))


def build_tree(tabular: Mapping[str, Node], order: Sequence[OrderedCode], labels: Mapping[str, str]) -> Tree:
    """Fit the tabular list to the codes of the year.

    A node that the order file no longer lists is dropped. A node that the order file adds is placed below its
    longest prefix. Labels are the official ones of the code and order files.

    Args:
        tabular: the nodes of the tabular list of this year or of the nearest earlier one.
        order: the order file of the year.
        labels: code to official label, from the code file.
    """
    listed = {o.code for o in order}
    nodes = {k: n for k, n in tabular.items() if n.kind != "code" or k in listed}
    bases: dict[str, str] = {}
    for entry in order:
        if entry.code not in nodes:
            base = _longest_prefix(entry.code, nodes)
            if (
                entry.billable
                and len(entry.code) == 8
                and base is not None
                and _is_extension(entry, base, nodes)
            ):
                bases[entry.code] = base
                continue
            parent = base if base is not None else _section_of(entry.code, nodes)
            nodes[entry.code] = Node(entry.code, "code", parent, entry.label)
        nodes[entry.code].label = labels.get(entry.code) or entry.label
        if entry.billable:
            bases[entry.code] = entry.code
    tree = Tree(nodes, bases, labels)
    for code, base in bases.items():
        if code != base:
            tree.extensions.setdefault(base, []).append(code)
    for node in nodes.values():
        if node.parent is not None:
            tree.children.setdefault(node.parent, []).append(node.id)
    return tree


def _longest_prefix(code: str, nodes: Mapping[str, Node]) -> str | None:
    for n in range(len(code) - 1, 2, -1):
        if n != 4 and code[:n] in nodes:
            return code[:n]
    return None


def _is_extension(entry: OrderedCode, base: str, nodes: Mapping[str, Node]) -> bool:
    """Whether the last character is a declared 7th one and all characters before it are the placeholder X."""
    between = entry.code[len(base) : 7].replace(".", "")
    at: str | None = base
    while at is not None:
        if nodes[at].seventh:
            return not between.strip("X") and entry.code[-1] in nodes[at].seventh
        at = nodes[at].parent
    return False


def _section_of(code: str, nodes: Mapping[str, Node]) -> str | None:
    """The section whose range covers a category, if no listed node is a prefix of it."""
    return next(
        (k for k, n in nodes.items() if n.kind == "section" and n.shown[:3] <= code[:3] <= n.shown[-3:]),
        None,
    )


@dataclass(frozen=True)
class Resolved:
    """An index path and the billable codes of its printed code.

    ``how`` is ``exact``, ``seventh_char`` (printed without the 7th character), ``category`` (printed
    with a code that is not billable) or ``unresolved``.
    """

    path: IndexPath
    how: str
    codes: tuple[str, ...]


def resolve(path: IndexPath, tree: Tree) -> Resolved:
    """The billable codes of an index path."""
    printed = path.code.strip().rstrip("-").rstrip(".")
    if tree.bases.get(printed) is not None:
        return Resolved(path, "exact", (printed,))
    if printed not in tree.nodes:
        return Resolved(path, "unresolved", ())
    if printed in tree.extensions:
        return Resolved(path, "seventh_char", tuple(tree.extensions[printed]))
    under = tuple(tree.billable_under(printed))
    return Resolved(path, "category" if under else "unresolved", under)


def index_terms(paths: Iterable[IndexPath], tree: Tree) -> dict[tuple[str, str], list[str]]:
    """Paths by (index source or ``alphabetic base``, billable code), each once, in index order.

    Only exact and 7th-character resolutions count; a path to a category does not say which of its codes is
    meant.
    """
    table: dict[tuple[str, str], dict[str, None]] = {}
    for path in paths:
        found = resolve(path, tree)
        if found.how not in ("exact", "seventh_char"):
            continue
        source = path.source
        if found.how == "seventh_char" and source == "alphabetic":
            source = "alphabetic base"
        text = path.path + (" [manifestation]" if path.manifestation else "")
        for code in found.codes:
            table.setdefault((source, code), {})[text] = None
    return {key: list(texts) for key, texts in table.items()}


def build_rows(
    tree: Tree,
    order: Sequence[OrderedCode],
    paths: Iterable[IndexPath],
    added: set[str] | None = None,
    indexes: Sequence[str] = DOCUMENTED,
) -> Iterator[Row]:
    """One row per billable code, in the order of the order file.

    Args:
        tree: the result of :func:`build_tree`.
        order: the order file (short titles).
        paths: every index path.
        added: the codes that the year added. All others were billable the year before too; this intersection
            is what the paper keeps for CodiEsp. None: unknown, all are kept.
        indexes: the index sources in ``documentation``.
    """
    terms = index_terms(paths, tree)
    for entry in order:
        if not entry.billable:
            continue
        code, base = entry.code, tree.bases[entry.code]
        path = tree.path(base)
        extended = code != base
        notes = path[-1].notes
        seventh = tree.seventh(base) if extended else {}
        titles = [n.label for n in path] + ([tree.labels.get(code, entry.label)] if extended else [])
        row: Row = {
            "code": code,
            "code_nodot": code.replace(".", ""),
            "label": tree.labels.get(code, entry.label),
            "short_label": entry.short,
            "billable": True,
            "in_codiesp_inventory": added is None or code not in added,
            "chapter": path[0].id.removeprefix("chapter "),
            "section": next((n.shown for n in path if n.kind == "section"), ""),
            "category": code[:3],
            "parent": base if extended else (path[-2].id if path[-2].kind == "code" else None),
            "tabular_node": base,
            "path_codes": [n.shown.removeprefix("chapter ") for n in path] + ([code] if extended else []),
            "path_text": " > ".join(titles),
            "inclusion_terms": [] if extended else list(notes.get("inclusionTerm", ())),
            "inclusion_terms_base": list(notes.get("inclusionTerm", ())) if extended else [],
            "include_notes_inherited": [
                {"from": n.shown, "note": t} for n in path for t in n.notes.get("includes", ())
            ],
            "seventh_character": {"char": code[-1], "meaning": seventh[code[-1]]} if extended else None,
            "excludes1": _excludes(path, "excludes1"),
            "excludes2": _excludes(path, "excludes2"),
            "chapter_excludes1": list(path[0].notes.get("excludes1", ())),
            "chapter_excludes2": list(path[0].notes.get("excludes2", ())),
            "index_terms_seventh_char_base": terms.get(("alphabetic base", code), []),
        }
        row |= {name: terms.get((source, code), []) for source, name in INDEX_FIELDS.items()}
        row["documentation"] = documentation(row, indexes)
        yield row


def _excludes(path: Sequence[Node], kind: str) -> list[str]:
    """``NODE: note`` from the section down; notes of chapters are separate fields."""
    return [f"{n.shown}: {t}" for n in path if n.kind != "chapter" for t in n.notes.get(kind, ())]
