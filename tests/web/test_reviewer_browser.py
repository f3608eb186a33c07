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

REVIEWER = """async ({ gold, words, looks }) => {
  const fact = () => document.querySelector('.panel p .mono.soft').textContent;
  const texts = (what) => [...document.querySelectorAll(what)].map((one) => one.textContent);
  const settled = () => new Promise((done) => setTimeout(done));
  let keys = 0, looked = 0;
  const press = async (key) => {
    keys += 1;
    const pressed = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true });
    (document.activeElement ?? document.body).dispatchEvent(pressed);
    await settled();
  };
  const type = async (letter) => {
    keys += 1;
    document.execCommand('insertText', false, letter);
    await settled();
  };
  const search = async (right, typed) => {
    await press('/');
    while (document.activeElement.getAttribute('role') !== 'combobox') await settled();
    for (const letter of typed) {
      await type(letter);
      const place = texts('[role=option] .mono').indexOf(right);
      if (place < 0 || place >= 3) continue;
      for (let i = 0; i < place; i++) await press('ArrowDown');
      return press('Enter');
    }
    await press('Escape');
    await press('r');
  };
  for (; looked < looks; looked++) {
    const here = fact(), right = gold[here];
    let offered = texts('.candidates button .mono');
    if (offered[0] === right) await press('a');
    else {
      if (!offered.includes(right)) {
        await press('0');
        offered = texts('.candidates button .mono');
      }
      if (offered.includes(right)) await press(String(offered.indexOf(right) + 1));
      else await search(right, words[here]);
    }
    if (fact() === here) throw new Error(`${here} is still shown`);
  }
  return { keys, looked };
}"""
"""Looks at so many facts: accepts, or chooses among the candidates, else among nine more; else types until
the right concept is one of the first three that are found. It presses keys on the page, nothing else."""

LETTERS, OF_A_WORD = 24, 3
"""Letters that the reviewer types at most, and of each word."""


@dataclass(frozen=True)
class Done:
    """What a review took."""

    keys: int
    looked: int


def typed(concept: Concept, common: Counter[str]) -> str:
    """What one would type to find a concept: the beginnings of the words of its label, the rarest first."""
    words = sorted(tok.distinct(concept.label), key=lambda w: (common[w], w))
    return " ".join(w[:OF_A_WORD] for w in words)[:LETTERS]


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


def reviewed(tags: Tags, document: Path | None, gold: dict[str, str], folder: Path, watched: Any) -> Done:
    """Let the reviewer work until its looks are used up; what it did."""
    common = Counter(word for c in tags.taxonomy for word in tok.distinct(c.label))
    words = {fact: typed(tags.taxonomy[concept], common) for fact, concept in gold.items()}
    with Journal(folder / "j.jsonl") as journal, ServedReview(tags, document, journal) as served:
        before = right_share(tags, served, gold)
        page = watched.open(served.server.url)
        page.keyboard.press("/")
        page.locator("[role=combobox][placeholder^=words]").wait_for(timeout=60_000)  # the taxonomy is open
        page.keyboard.press("Escape")
        page.wait_for_timeout(500)
        looks = int(LOOKED * len(tags))
        done = Done(**page.evaluate(REVIEWER, {"gold": gold, "words": words, "looks": looks}))
        expect(page.locator("[role=status]")).to_contain_text("saved at the server")
        after = right_share(tags, served, gold)
    print(f"{tags.name}: {len(tags)} facts, {before:.3f} right before, {after:.3f} after looking at "
          f"{done.looked}, {done.keys} keystrokes, {done.keys / done.looked:.2f} per fact")  # fmt: skip
    assert after >= RIGHT
    return done


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
