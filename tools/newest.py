"""Install the newest versions that pyproject.toml allows beside the locked ones, and say what they break.

Prints which packages differ from ``requirements.lock`` and the tests that fail with them. Never fails.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from requirements import ROOT, requirements

FOLDER = ROOT / "build" / "newest"
MINUTES = 8
"""How long installing and testing may take, each."""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60 * MINUTES, cwd=ROOT, check=False
    )


def main() -> None:
    python = str(FOLDER / "bin" / "python")
    run(sys.executable, "-m", "venv", "--clear", str(FOLDER))
    pip = (python, "-m", "pip", "install", "-qq")
    wheel = next((ROOT / "build" / "wheel").glob("*.whl"))
    for given in (requirements("dev"), ["--no-deps", *requirements("nodeps"), str(wheel)]):
        done = run(*pip, *given)
        if done.returncode:
            print(f"newest versions: cannot be installed together: {done.stderr.strip().splitlines()[-1:]}")
            return
    newest = set(run(python, str(Path(__file__).parent / "requirements.py"), "frozen").stdout.split())
    locked = set((ROOT / "requirements.lock").read_text(encoding="utf-8").split())
    changed = sorted(newest - locked)
    print(f"newest versions: {len(changed)} differ from requirements.lock {' '.join(changed)}")
    if not changed:
        return
    done = run(python, "-m", "pytest", "tests", "-q", "-n", "2", "-m", "not live", "--no-header")
    print("\n".join(line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))))
    print(f"newest versions: the tests {'fail' if done.returncode else 'pass'} with them")


if __name__ == "__main__":
    try:
        main()
    except (subprocess.TimeoutExpired, StopIteration, OSError) as e:
        print(f"newest versions: not tried: {e}")
