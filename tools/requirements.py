"""Print the requirements of this project for pip: ``core``, ``dev``, ``nodeps`` or ``frozen``.

``dev`` holds what the library and its tests need, with torch pinned (an unpinned one brings gigabytes of GPU
libraries); ``nodeps`` what must come without its own dependencies; ``frozen`` the versions that are installed
beside the running Python, for ``requirements.lock``.
"""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_LOCKED = {"abduce", "pip", "setuptools", "wheel"}


def requirements(which: str) -> list[str]:
    """The lines of one kind."""
    if which == "frozen":
        return frozen()
    with (ROOT / "pyproject.toml").open("rb") as stream:
        raw = tomllib.load(stream)
    project, tool = raw["project"], raw["tool"]["abduce"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    kinds = {
        "core": project["dependencies"],
        "dev": [*project["dependencies"], *extras["dev"], *tool["test-extras"]],
        "nodeps": tool["nodeps"],
    }
    return list(kinds[which])


def frozen() -> list[str]:
    """``name==version`` of every installed distribution; a build's local version (``+cpu``) is left out."""
    found = {d.metadata["Name"].lower(): d.version.partition("+")[0] for d in distributions()}
    return [f"{name}=={found[name]}" for name in sorted(found) if name not in NOT_LOCKED]


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1])))
