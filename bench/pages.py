"""The pages: sizes, and what a browser makes of 3,000 facts and of 71,704 codes."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from abduce.data.domains import CLINICAL, FINANCE
from abduce.data.example import Example
from abduce.data.folder import DataFolder
from abduce.eval.report.page import report_html
from abduce.eval.report.sources import Sources
from abduce.eval.runs.row import Row
from abduce.eval.runs.run import Run
from abduce.eval.runs.runner import run
from abduce.eval.runs.taxonomy_codec import TaxonomyCodec
from abduce.programs.fusion import final_ranking, fuse
from abduce.programs.serialize import Serializer
from abduce.programs.trace import Judged, Query, Trace
from abduce.retrievers.base import Ranking
from abduce.retrievers.taxonomy import Taxonomy
from abduce.signatures.types import Fact, Hypothesis, Judgement, Verdict
from abduce.tagging.review.sheet import review_html
from abduce.tagging.tag import Tag
from abduce.tagging.tags import Tags
from abduce.web.page import asset

FACTS, ROWS, KEPT = 3000, 10, 40
DIMENSIONS = ("Family", "Role", "Event", "Qualifier", "Scope", "Temporal")
TYPED = "acute respiratory failure with hypoxia"

SCROLL = """async () => {
  const box = document.getElementById('document');
  const gaps = [];
  let last = performance.now();
  const end = last + 3000;
  await new Promise((done) => {
    const step = (now) => {
      gaps.push(now - last);
      last = now;
      box.scrollTop += 120;
      if (now < end) requestAnimationFrame(step); else done();
    };
    requestAnimationFrame(step);
  });
  return gaps.slice(1);
}"""

TYPE = """async (text) => {
  const input = document.querySelector('[role=combobox]');
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  const times = [];
  for (let i = 1; i <= text.length; i++) {
    const begun = performance.now();
    const drawn = new Promise((done) => {
      const watch = new MutationObserver(() => { watch.disconnect(); done(); });
      const all = { subtree: true, childList: true, attributes: true, characterData: true };
      watch.observe(document.querySelector('.search'), all);
      // Where a letter changes nothing that is shown, the second frame ends the wait.
      requestAnimationFrame(() => requestAnimationFrame(() => { watch.disconnect(); done(); }));
    });
    set.call(input, text.slice(0, i));
    input.dispatchEvent(new Event('input', { bubbles: true }));
    await drawn;
    times.push(performance.now() - begun);
  }
  return times;
}"""


def measure(data: Path) -> dict[str, Any]:
    """Needs Chromium; the report's traces are made up over real facts and concepts."""
    folder = DataFolder(data)
    found: dict[str, Any] = {
        f"{name}_kB": round(len(asset(name).encode()) / 1000)
        for name in ("report.js", "review.js", "page.css")
    }
    facts = [e.inputs["fact"] for split in ("test", "dev", "cases") for e in folder.facts(FINANCE, split)]
    facts = list({f.fact_id: f for f in [*facts, *_more(folder, FACTS - len(facts))]}.values())[:FACTS]
    taxonomy = folder.taxonomy(FINANCE)
    with tempfile.TemporaryDirectory() as name:
        there = Path(name)
        begun = time.perf_counter()
        made = _made_run(facts, taxonomy, there / "run")
        sources = Sources({f.fact_id: f for f in facts}, taxonomy=taxonomy)
        begun = time.perf_counter()
        html = report_html(made, sources)
        found["report_seconds"] = round(time.perf_counter() - begun, 1)
        found["report_MB"] = round(len(html.encode()) / 1e6, 1)
        found["report_of"] = f"{len(facts)} facts x {ROWS} rows"
        (there / "report.html").write_text(html, encoding="utf-8")
        (there / "review.html").write_text(_review(facts, taxonomy), encoding="utf-8")
        (there / "codes.html").write_text(
            _review(facts[:50], folder.taxonomy(CLINICAL, whole=True)), encoding="utf-8"
        )
        found["review_MB"] = round((there / "review.html").stat().st_size / 1e6, 1)
        found |= _in_browser(there)
    return found


def _more(folder: DataFolder, wanted: int) -> list[Fact]:
    return [e.inputs["fact"] for e in folder.facts(FINANCE, "prior", [])[: max(wanted * 2, 0)]]


def _made_run(facts: list[Fact], taxonomy: Taxonomy, out: Path) -> Run:
    rng = np.random.default_rng(0)
    concepts = list(taxonomy)
    ids = [c.id for c in concepts]
    words = [w for c in concepts[:4000] for w in c.definition.split()]
    judgements = np.array([Judgement.SUPPORT, Judgement.NO_SUPPORT, Judgement.ABSTAIN])

    def judged(six: Any) -> dict[str, Judgement]:
        return dict(zip(DIMENSIONS, six, strict=True))

    def text(n: int) -> str:
        return " ".join(words[i] for i in rng.integers(0, len(words), n))

    def program(fact: Fact) -> Any:
        import dspy

        trace = Trace(settings={"K": 200, "kappa": 60.0, "beta": 0.6})
        trace.hypotheses = [
            Hypothesis(values={d: text(3) for d in DIMENSIONS}, retrieval_query=text(18)) for _ in range(2)
        ]
        pool = [ids[i] for i in rng.choice(len(ids), KEPT, replace=False)]
        for j in range(2):
            for form in ("label", "definition"):
                ranking = Ranking.of(pool[:30], sorted(rng.random(30) * 20, reverse=True))
                trace.retrieved([Query(text(14), form, j)], [ranking])
        trace.pool = fuse(trace.rankings)
        trace.judged = [
            Judged(j, pool[:10], [Verdict(c, judged(rng.choice(judgements, 6))) for c in pool[:10]])
            for j in range(2)
        ]
        final = final_ranking(trace.pool, {c: float(rng.random()) for c in pool[:10]}, 0.6)
        return dspy.Prediction(ranking=final, trace=trace)

    groups = [{"modality": f.modality, "datatype": f.datatype or "none"} for f in facts]
    examples = [
        Example(f.fact_id, {"fact": f}, ids[int(rng.integers(len(ids)))], f.context.context_id, g)
        for f, g in zip(facts, groups, strict=True)
    ]
    rows = [Row(f"row {i}", lambda seed: program) for i in range(ROWS)]
    run(rows, examples, codec=TaxonomyCodec(), out=out, experiment="bench", baseline="row 0")
    return Run.load(out)


def _review(facts: list[Fact], taxonomy: Taxonomy) -> str:
    rng = np.random.default_rng(1)
    ids = [c.id for c in taxonomy]
    tags = [
        Tag(
            f,
            Ranking.of([ids[i] for i in rng.choice(len(ids), 20, replace=False)]),
            confidence=float(rng.random()),
        )
        for f in facts
    ]
    return review_html(Tags(tuple(tags), taxonomy, "bench", Serializer(), "bench"), None)


def _in_browser(there: Path) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    found: dict[str, Any] = {}
    with sync_playwright() as playwright:
        place = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=place, args=["--no-sandbox", "--disable-gpu"])
        for name, ready in (("report", "main .rows .item"), ("review", ".panel .candidates")):
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            begun = time.perf_counter()
            page.goto((there / f"{name}.html").as_uri())
            page.wait_for_selector(ready)
            found[f"{name}_open_seconds"] = round(time.perf_counter() - begun, 2)
            if name == "review":
                page.wait_for_timeout(2500)  # the taxonomy's index is made in the meantime
                gaps = page.evaluate(SCROLL)
                found["scroll_worst_frame_ms"] = round(max(gaps), 1)
                found["scroll_median_frame_ms"] = round(float(np.median(gaps)), 1)
            page.close()
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto((there / "codes.html").as_uri())
        page.wait_for_selector(".panel .candidates")
        page.keyboard.press("/")
        page.wait_for_selector("[role=combobox][placeholder^=words]")
        times = page.evaluate(TYPE, TYPED)
        found["keystroke_worst_ms"] = round(max(times), 1)
        found["keystroke_median_ms"] = round(float(np.median(times)), 1)
        browser.close()
    return found
