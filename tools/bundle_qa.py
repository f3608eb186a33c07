"""Writes data/bundled/qa from a data folder: ``python tools/bundle_qa.py DATA/qa``.

60 MMLU-Med dev and validation questions (those that do not overlap with the test questions, spread over the
subjects) and 3,000 passages: what BM25 finds for them, filled up evenly over the corpus.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import defaultdict
from pathlib import Path

from abduce.retrievers.bm25 import BM25Retriever
from abduce.retrievers.corpus import Corpus

QUESTIONS, PASSAGES, DEPTH = 60, 3000, 40
OUT = Path(__file__).parents[1] / "data" / "bundled" / "qa"


def read(path: Path) -> list[dict[str, object]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def write(path: Path, rows: list[dict[str, object]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def main(source: Path) -> None:
    by_subject: dict[str, list[dict[str, object]]] = defaultdict(list)
    for row in read(source / "mmlu_med_devval.jsonl.gz"):
        if not row.pop("overlaps_test"):
            by_subject[str(row["subject"])].append(row)
    chosen: list[dict[str, object]] = []
    while len(chosen) < QUESTIONS:
        for rows in by_subject.values():
            if rows and len(chosen) < QUESTIONS:
                chosen.append(rows.pop(0))
    chosen.sort(key=lambda row: str(row["id"]))
    passages = {str(row["id"]): row for row in read(source / "medical_corpus.jsonl.gz")}
    retriever = BM25Retriever(Corpus.load(source / "medical_corpus.jsonl.gz"), w_cov=0.0)
    queries = [str(q["question"]) for q in chosen]
    for q in chosen:
        options = q["options"]
        assert isinstance(options, dict)
        queries += [f"{q['question']} {' '.join(options.values())}", *options.values()]
    rankings = retriever.search(queries, DEPTH)
    wanted: dict[str, None] = {}
    for rank in range(DEPTH):
        for ranking in rankings:
            if rank < len(ranking) and len(wanted) < PASSAGES * 4 // 5:
                wanted.setdefault(ranking.ids[rank])
    rest = [id_ for id_ in sorted(passages) if id_ not in wanted]
    step = len(rest) / (PASSAGES - len(wanted))
    wanted |= dict.fromkeys(rest[int(i * step)] for i in range(PASSAGES - len(wanted)))
    OUT.mkdir(parents=True, exist_ok=True)
    write(OUT / "mmlu_med_devval.jsonl.gz", chosen)
    write(OUT / "medical_corpus.jsonl.gz", [passages[id_] for id_ in sorted(wanted)])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
