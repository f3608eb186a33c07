"""Measurements: ``python bench/run.py [SECTION ...]`` writes ``build/bench.json``, one object a section.

A section is a module beside this file with ``measure(data) -> dict``; sections that are not asked for keep
what an earlier run measured. Data comes from ``$ABDUCE_DATA`` or ``../shared/data``.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "build" / "bench.json"


def main(wanted: list[str]) -> int:
    sections = sorted(p.stem for p in HERE.glob("*.py") if p.stem != "run" and not p.stem.startswith("_"))
    for name in wanted:
        if name not in sections:
            print(f"bench: no section {name!r}; there are {', '.join(sections)}", file=sys.stderr)
            return 2
    data = Path(os.environ.get("ABDUCE_DATA") or HERE.parent / ".." / "shared" / "data")
    if not data.is_dir():
        print("bench: no data folder; set ABDUCE_DATA", file=sys.stderr)
        return 2
    results = json.loads(OUT.read_text()) if OUT.exists() else {}
    results["machine"] = {
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "load_at_start": os.getloadavg()[0],
    }
    for name in wanted or sections:
        results[name] = importlib.import_module(name).measure(data)
        OUT.parent.mkdir(parents=True, exist_ok=True)
        OUT.write_text(json.dumps(results, indent=1) + "\n")
        print(f"{name}:")
        for key, value in results[name].items():
            print(f"  {key:<32}{json.dumps(value)}")
    print(f"written to {OUT.relative_to(HERE.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
