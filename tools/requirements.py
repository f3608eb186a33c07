"""Print the requirements of this project for pip: ``core``, ``dev``, or ``nodeps``.

``dev`` holds what tests need, with torch pinned (an unpinned one brings gigabytes of GPU libraries);
``nodeps`` what must come without its own dependencies.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(which: str) -> None:
    with (ROOT / "pyproject.toml").open("rb") as stream:
        raw = tomllib.load(stream)
    project, tool = raw["project"], raw["tool"]["abduce"]
    print("\n".join({"core": project["dependencies"], **tool, "dev": _dev(project, tool)}[which]))


def _dev(project: dict, tool: dict) -> list[str]:
    extras = project["optional-dependencies"]
    return [*extras["dev"], *tool["test-extras"]]


if __name__ == "__main__":
    main(sys.argv[1])
