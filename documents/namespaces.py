"""The taxonomy of a document's tag, by the namespace of its prefix."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..retrievers.taxonomy import Taxonomy

_SETTER = re.compile(
    r"https?://(?:[\w-]+\.)*(?:fasb\.org|sec\.gov|ifrs\.org|xbrl\.org|xbrl\.us|europa\.eu|frc\.org\.uk"
    r"|edinet-fsa\.go\.jp)(?:[/:]|$)",
    re.IGNORECASE,
)
_UNBOUND = frozenset({"us-gaap", "ifrs-full", "srt", "dei", "ecd", "cyd"})
_YEAR = re.compile(r"[-_. ]?(?:19|20)\d\d.*$")


def is_standard(namespace: str) -> bool:
    """Whether a namespace is of a standard setter's taxonomy rather than a company's extension.

    A prefix that the document does not bind is used as its own namespace.
    """
    return namespace in _UNBOUND or _SETTER.match(namespace) is not None


def namespaces_of(tags: Mapping[str, tuple[str, str]], taxonomy: Taxonomy) -> set[str]:
    """The namespaces of a document's tags that belong to the taxonomy.

    A taxonomy named after its family (``us-gaap-2024``) has the namespaces with that part
    (``http://fasb.org/us-gaap/2024``). Any other has the one of which the tags use most of its concepts, and
    those at least half of whose used concepts it has; never a company's extension beside a standard one.

    Args:
        tags: fact id to (namespace, concept).
        taxonomy: the taxonomy for tagging.
    """
    used: dict[str, set[str]] = defaultdict(set)
    for namespace, concept in tags.values():
        used[namespace].add(concept)
    family = _YEAR.sub("", taxonomy.name).casefold()
    named = {n for n in used if family and family in re.split(r"[/:#]", n.casefold())}
    if named:
        return named
    hits = {n: sum(c in taxonomy for c in concepts) for n, concepts in used.items()}
    main = max(hits, key=lambda n: (hits[n], is_standard(n), n), default="")
    if not hits.get(main):
        return set()
    more = {n for n, concepts in used.items() if 2 * hits[n] >= len(concepts)}
    return {main} | {n for n in more if is_standard(n) or not is_standard(main)}
