"""Make the bundled finance data from a full data folder: ``python tools/bundle_finance.py DATA``.

The whole inventory, and whole dev contexts (smallest digest of the id first, at most 40 facts of one)
until there are 300 facts.
"""

import gzip
import hashlib
import json
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent / "data" / "bundled" / "finance"
FACTS = 300


def read(path: Path) -> list[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def write(path: Path, rows: list[dict]) -> None:
    with path.open("wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as stream:
        for row in rows:
            stream.write((json.dumps(row, ensure_ascii=False) + "\n").encode())


def main(data: Path) -> None:
    finance = data / "finance"
    shutil.copyfile(finance / "concepts.jsonl.gz", HERE / "concepts.jsonl.gz")
    facts = read(finance / "facts_dev.jsonl.gz")
    by_context: dict[str, list[dict]] = {}
    for fact in facts:
        by_context.setdefault(fact["context_id"], []).append(fact)
    order = sorted(by_context, key=lambda c: hashlib.sha256(c.encode()).hexdigest())
    chosen: list[str] = []
    count = 0
    for context in order:
        if count >= FACTS:
            break
        if len(by_context[context]) <= 40:
            chosen.append(context)
            count += len(by_context[context])
    kept = [f for f in facts if f["context_id"] in set(chosen)]
    contexts = [c for c in read(finance / "contexts.jsonl.gz") if c["context_id"] in set(chosen)]
    write(HERE / "facts_dev.jsonl.gz", kept)
    write(HERE / "contexts.jsonl.gz", contexts)
    print(f"{len(kept)} facts over {len(contexts)} contexts")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
