"""Make data/bundled/clinical: the inventory in compact form and whole cases of the development split.

    python tools/bundle_clinical.py RELEASE_FOLDER DATA/clinical

RELEASE_FOLDER holds the official ICD-10-CM files, DATA/clinical contexts and facts (docs/data.md).
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from abduce.data.build.icd10cm.build import build_icd10cm, jsonl_gz, with_profiles, write_all
from abduce.data.icd10cm import compact_row
from abduce.retrievers.files import read_jsonl

FACTS = 300
TARGET = Path(__file__).resolve().parents[1] / "data" / "bundled" / "clinical"


def main(release: str, data: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        build_icd10cm(release, 2018, folder)
        name = "icd10cm_fy2018_taxonomy.jsonl.gz"
        rows = [row for _, row in read_jsonl(Path(folder) / name)]
    wanted = [compact_row(row) for row in rows]
    facts, cases = [], set()
    for _, fact in read_jsonl(Path(data) / "facts_dev.jsonl.gz"):
        if len(facts) >= FACTS and fact["case_id"] not in cases:
            break
        cases.add(fact["case_id"])
        facts.append({k: v for k, v in fact.items() if k != "context_sentence"})
    contexts = [
        {"case_id": c["case_id"], "split": c["split"], "text_en": c["text_en"]}
        for _, c in read_jsonl(Path(data) / "contexts.jsonl.gz")
        if c["case_id"] in cases
    ]
    write_all(
        TARGET,
        {
            **with_profiles(wanted),
            "facts_dev.jsonl.gz": jsonl_gz(facts),
            "contexts.jsonl.gz": jsonl_gz(contexts),
        },
    )
    print(json.dumps({"codes": len(wanted), "facts": len(facts), "cases": len(contexts)}))


if __name__ == "__main__":
    main(*sys.argv[1:3])
