"""A headless Chromium that complains: a page that logs an error, or loads from outside, fails its test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
AXE = Path(__file__).resolve().parents[2] / "web" / "src" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.fail("tests marked browser need Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page and what it must not do: ``problems`` are console errors and what it asked for elsewhere."""

    page: Any
    problems: list[str] = field(default_factory=list)
    home: str = "file:"

    def open(self, place: Path | str, settings: str = "") -> Any:
        """Open a file, or an address, with settings behind #; wait until it is drawn."""
        url = place.as_uri() if isinstance(place, Path) else place
        self.home = url.rsplit("/", 1)[0] if url.startswith("http") else url
        self.page.goto(f"{url}#{settings}")
        self.page.wait_for_selector("main, .review")
        return self.page

    def requested(self, request: Any) -> None:
        url = request.url
        if not url.startswith((self.home, "data:", "blob:", "about:")):
            self.problems.append(f"asked for {url}")

    def axe(self) -> list[str]:
        """Serious and critical faults that axe-core finds."""
        if not AXE.is_file():
            pytest.fail("axe-core is not there: make check-pages installs it")
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run()")["violations"]
        return [
            f"{v['id']}: {n['html'][:120]} {n['any'][0]['message'] if n['any'] else ''}"
            for v in found
            if v["impact"] in ("serious", "critical")
            for n in v["nodes"]
        ]


@pytest.fixture
def watched(chromium: Any) -> Iterator[Watched]:
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    one = Watched(page)
    page.on("console", lambda m: one.problems.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: one.problems.append(str(e)))
    page.on("request", one.requested)
    yield one
    context.close()
    assert one.problems == []
