"""Make the bundled indexes of already-tagged facts: ``python tools/bundle_precedents.py DATA``.

Of finance the facts of the split ``prior``, of clinical those of ``train`` and ``dev``. The test split is not
read. An index holds loci and what stands around a mention, no source contexts.
"""

from __future__ import annotations

import sys
from itertools import chain

from abduce.data.domains import DOMAINS
from abduce.data.folder import DataFolder
from abduce.retrievers.precedents.index import Precedents
from abduce.retrievers.precedents.stored import write_precedents
from abduce.tagging.calibration import precedents_fingerprint
from abduce.tagging.precedents import domain_precedents, read_precedents
from abduce.tagging.same_filing import filings_of


def main(data: str) -> None:
    full, own = DataFolder.find(data), DataFolder.find()
    for domain in DOMAINS.values():
        source = domain_precedents(full, domain)
        assert source is not None, f"{data} has no facts of {domain.name}"
        files = [list(read_precedents(path, source.contexts, domain)) for path in source.paths]
        tagged = list(chain.from_iterable(files))
        taxonomy = own.taxonomy(domain, whole=True)
        about = f"{len(tagged):,} facts of {domain.name} {' and '.join(domain.precedents)}"
        folder = own.root / domain.name / "precedents"
        which = (taxonomy.name, taxonomy.content_hash)
        made = precedents_fingerprint(source)
        write_precedents(Precedents(tagged), filings_of(tagged), folder, which, about, made, overwrite=True)
        (folder / "__init__.py").write_text('"""Data files only."""\n')
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{folder}: {about}, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:2])
