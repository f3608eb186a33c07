"""Make the bundled trained models: ``python tools/bundle_models.py DATA [DOMAIN]...``.

They learn from the same tagged facts as the experiments (``facts_prior``; CodiEsp's train and dev mentions),
in the same way, and keep the full towers alone. No fact of a test split takes part.
"""

from __future__ import annotations

import sys

from abduce.data.domains import DOMAINS
from abduce.data.folder import DataFolder
from abduce.data.parts import make_parts
from abduce.tagging.models import TrainedOnce
from abduce.tagging.precedents import domain_precedents


def main(data: str, *names: str) -> None:
    full, own = DataFolder.find(data), DataFolder.find().root
    for name in names or DOMAINS:
        domain = DOMAINS[name]
        source = domain_precedents(full, domain)
        if source is None:
            raise SystemExit(f"{data} has no tagged facts of {name}")
        parts = make_parts(full.taxonomy(domain), domain, {"kind": "bm25"}, precedents=source)
        judged = [e.inputs["fact"] for split in domain.judged for e in full.facts(domain, split)]
        model = TrainedOnce(source, parts, judged, on_note=print)()
        model.without_folds().save(own / name / "model", overwrite=True)
        (own / name / "model" / "__init__.py").write_text('"""Data files only."""\n', "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
