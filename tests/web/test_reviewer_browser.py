"""A simulated reviewer, who knows the right concepts and has nothing but a keyboard."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from abduce.data.domains import FINANCE
from abduce.data.folder import DataFolder
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.tokenize import tok
from abduce.signatures.types import Concept
from abduce.tagging.decisions import DECIDED, latest
from abduce.tagging.review.journal import Journal
from abduce.tagging.review.served import ServedReview
from abduce.tagging.tagger import Tagger
from abduce.tagging.tags import Tags
from made_filing import page as filing
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

LOOKED = 0.25
"""The share of the facts that the reviewer may look at."""
RIGHT = 0.95
KEYS = 1.3
"""Keystrokes per fact looked at, at most, of the median filing. One whose concepts no earlier filing has
needs more, for searching."""
TURNS = 2
"""Turns of nine candidates that the reviewer looks through before searching."""
LETTERS = 24
"""Letters that the reviewer types at most."""


@dataclass
class Reviewer:
    """Presses keys on a page, and counts them."""

    page: Any
    gold: dict[str, str]
    labels: dict[str, str]
    keys: int = 0
    looked: int = 0
    turned: bool = False

    def __post_init__(self) -> None:
        self.common = Counter(word for label in self.labels.values() for word in tok.distinct(label))

    def words(self, concept: str) -> str:
        """What one would type to find a concept: the rarest words of its label first."""
        return " ".join(sorted(tok.distinct(self.labels[concept]), key=lambda w: (self.common[w], w)))

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.keys += 1

    @property
    def fact(self) -> str:
        return str(self.page.locator(".panel p .mono.soft").first.inner_text())

    def offered(self) -> list[str]:
        return list(self.page.locator(".candidates button .mono").all_inner_texts())

    def look(self) -> None:
        """Decide on the fact that is shown."""
        fact = self.fact
        right, self.looked = self.gold[fact], self.looked + 1
        for _ in range(TURNS):
            offered = self.offered()
            if right in offered:
                self.press("a" if offered[0] == right and not self.turned else str(offered.index(right) + 1))
                break
            self.turned = True
            self.press("0")
            self.page.wait_for_timeout(60)
        else:
            self.search(right)
        self.turned = False
        expect(self.page.locator(".panel p .mono.soft").first).not_to_have_text(fact)

    def search(self, right: str) -> None:
        self.press("/")
        self.page.locator("[role=combobox]").wait_for()
        for letter in self.words(right)[:LETTERS]:
            self.press("Space" if letter == " " else letter)
            self.page.wait_for_timeout(40)
            found = self.page.locator("[role=option] .mono").all_inner_texts()
            if right in found[:3]:
                for _ in range(found.index(right)):
                    self.press("ArrowDown")
                self.press("Enter")
                return
        self.press("Escape")
        self.press("r")


def right_share(tags: Tags, served: ServedReview, gold: dict[str, str]) -> float:
    said = latest(served.journal.decisions)
    right = 0
    for tag in tags:
        decision = said.get(tag.fact.fact_id)
        concept = tag.concept
        if decision is not None and decision.state in (*DECIDED, "suggested", "rejected"):
            concept = decision.concept
        right += concept == gold[tag.fact.fact_id]
    return right / len(tags)


def reviewed(tags: Tags, document: Path | None, gold: dict[str, str], folder: Path, watched: Any) -> Reviewer:
    """Let the reviewer work until its looks are used up; what it did."""
    labels = {c.id: c.label for c in tags.taxonomy}
    with Journal(folder / "j.jsonl") as journal, ServedReview(tags, document, journal) as served:
        before = right_share(tags, served, gold)
        reviewer = Reviewer(watched.open(served.server.url), gold, labels)
        while reviewer.looked < int(LOOKED * len(tags)):
            reviewer.look()
        expect(reviewer.page.locator("[role=status]")).to_contain_text("saved at the server")
        after = right_share(tags, served, gold)
    per_fact = reviewer.keys / reviewer.looked
    print(f"{tags.name}: {len(tags)} facts, {before:.3f} right before, {after:.3f} after looking at "
          f"{reviewer.looked}, {per_fact:.2f} keystrokes per fact")  # fmt: skip
    assert after >= RIGHT
    return reviewer


WORDS = "cash debt goodwill land plant stock wages taxes rent fees gold oil gas coal corn wheat salt".split()
NEW = ("Cash and debt, restricted", "Goodwill and land, restricted", "Plant and stock, restricted")
SAID = ("Total cash and debt of the group", "Total goodwill and land of the group", "Total plant and stock")


def test_a_new_year_s_filing_is_right_after_a_quarter_is_looked_at(tmp_path: Path, watched: Any) -> None:
    """Most rows stood in last year's filing; three are new, and their labels are like older ones."""
    old = [f"Total {word} of the group" for word in WORDS]
    labels = [*old, *NEW]
    concepts = [
        Concept(id=f"T{i}", label=label, definition="", datatype="monetaryItemType")
        for i, label in enumerate(labels)
    ]
    (tmp_path / "old.htm").write_text(filing(2023, old, first=5000), encoding="utf-8")
    (tmp_path / "new.htm").write_text(filing(2024, [*old, *SAID]), encoding="utf-8")
    with Tagger(Taxonomy(concepts, "made"), precedents=[tmp_path / "old.htm"]) as tagger:
        tags = tagger.tag(tmp_path / "new.htm", traces=True)
    gold = {tag.fact.fact_id: f"T{(tag.fact.row_index or 1) - 1}" for tag in tags}
    assert sum(tag.concept == gold[tag.fact.fact_id] for tag in tags) / len(tags) < 0.9
    done = reviewed(tags, tmp_path / "new.htm", gold, tmp_path, watched)
    assert done.keys / done.looked <= KEYS


SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
LARGEST = 6
"""So many filings of the test split, the largest, are reviewed."""


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the data folder that lies beside the repository")
def test_held_filings_are_right_after_a_quarter_is_looked_at(tmp_path: Path, watched: Any) -> None:
    per_fact = []
    examples = DataFolder(SHARED).facts(FINANCE, "test")
    with Tagger("us-gaap-2024", "precedents (own)", data=SHARED) as tagger:
        sizes = Counter(e.inputs["fact"].filing_id for e in examples)
        for name, _ in sizes.most_common(LARGEST):
            held = [e for e in examples if e.inputs["fact"].filing_id == name]
            tags = tagger.tag([e.inputs["fact"] for e in held])
            (tmp_path / name).mkdir()
            done = reviewed(tags, None, {e.id: e.gold for e in held}, tmp_path / name, watched)
            per_fact.append(done.keys / done.looked)
    assert median(per_fact) <= KEYS
