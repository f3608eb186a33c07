"""The pictures of the README: ``python tools/pictures.py`` writes docs/report.png and docs/review.png.

It runs the bundled experiment and reviews a small filing, and takes a picture of each page in Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIZE = {"width": 1360, "height": 860}
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]

FILING = """<html><body><h2>Consolidated balance sheet of Example Corporation</h2><p>In millions</p>
<table><tr><td></td><td>2024</td><td>2023</td></tr>
<tr><td>Cash and cash equivalents</td><td>1,204</td><td>1,117</td></tr>
<tr><td>Accounts receivable, net</td><td>2,318</td><td>2,207</td></tr>
<tr><td>Inventories</td><td>1,845</td><td>1,911</td></tr>
<tr><td>Property, plant and equipment, net</td><td>6,420</td><td>6,187</td></tr>
<tr><td>Goodwill</td><td>3,056</td><td>3,056</td></tr>
<tr><td>Deferred income taxes</td><td>412</td><td>388</td></tr>
<tr><td>Total assets</td><td>15,255</td><td>14,866</td></tr>
<tr><td>Accounts payable</td><td>1,377</td><td>1,402</td></tr>
<tr><td>Long-term debt, less current portion</td><td>4,250</td><td>4,500</td></tr>
<tr><td>Total liabilities</td><td>8,114</td><td>8,230</td></tr></table>
<p>On March 3, 2024, the Company issued $750 million of senior notes that bear interest at 4.25% and are due
in 2031. Interest expense was $182 million in 2024. The effective tax rate was 21.4%, and unrecognized tax
benefits were $96 million. The Company repurchased 3.2 million shares for $240 million.</p>
<table><tr><td>Segment</td><td>Revenue</td><td>Operating income</td></tr>
<tr><td>Instruments</td><td>5,210</td><td>884</td></tr><tr><td>Services</td><td>2,977</td><td>431</td></tr>
<tr><td>Total</td><td>8,187</td><td>1,315</td></tr></table></body></html>"""


def abduce(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "abduce.cli.main", *map(str, arguments)]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def main() -> None:
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        sys.exit("pictures: there is no Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        abduce("eval", "finance-no-model", "--out", folder / "run")
        abduce("report", folder / "run", "--html", folder / "report.html")
        (folder / "filing.htm").write_text(FILING, encoding="utf-8")
        abduce("review", folder / "filing.htm", "--out", folder / "review.html")
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        page = browser.new_page(viewport=SIZE | {"height": 1280})
        page.goto((folder / "report.html").as_uri())
        page.locator("figure svg").first.wait_for()
        page.screenshot(path=ROOT / "docs" / "report.png")
        page.set_viewport_size(SIZE)
        page.goto(f"{(folder / 'review.html').as_uri()}#order=place")
        page.locator(".panel .candidates").wait_for()
        for key in "aaaa":  # four accepted
            page.keyboard.press(key)
            page.wait_for_timeout(300)
        page.wait_for_timeout(500)
        page.screenshot(path=ROOT / "docs" / "review.png")
        browser.close()


if __name__ == "__main__":
    main()
