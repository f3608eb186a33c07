"""``abduce data build codiesp``: the official CodiEsp layout into located English facts."""

from __future__ import annotations

import contextvars
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ....retrievers.errors import InputError
from ....retrievers.files import check_out, read_jsonl
from ..icd10cm.build import jsonl_gz, write_all
from .archive import SPLITS, Annotation, CodiEsp, read_corpus
from .project import AlignedCase, Aligner, Relocation

Method = Literal["alignment", "model"]

NO_ALIGNMENT = "no words of the translation match"
OUTSIDE = "code outside the inventory"


@dataclass(frozen=True)
class CodiespReport:
    """The counts of annotations: ``kept`` by split, by tier and by scope, ``dropped`` by reason."""

    method: str
    annotations: int
    cases: int
    kept: Mapping[str, int]
    tiers: Mapping[str, int]
    scopes: Mapping[str, int]
    dropped: Mapping[str, int]
    files: Sequence[str] = ()

    @property
    def lines(self) -> list[str]:
        """The report as lines of text."""
        kept = ", ".join(f"{split} {n}" for split, n in self.kept.items())
        found = [
            f"CodiEsp: {self.annotations} diagnosis annotations in {self.cases} cases, by {self.method}",
            f"  kept {sum(self.kept.values())}: {kept}",
            "  tiers: " + ", ".join(f"{t} {n}" for t, n in sorted(self.tiers.items())),
            "  found in: " + ", ".join(f"{s} {n}" for s, n in sorted(self.scopes.items())),
        ]
        found += [
            f"  dropped {n}: {reason}" for reason, n in sorted(self.dropped.items(), key=lambda x: -x[1])
        ]
        return found + [f"wrote {f}" for f in self.files]


def build_codiesp(
    archive: str | Path,
    inventory: str | Path,
    out: str | Path,
    method: Method = "alignment",
    lm: Any = None,
    threads: int = 8,
    splits: Sequence[str] = SPLITS,
    progress: Callable[[int, int], None] | None = None,
) -> CodiespReport:
    """Build contexts and facts; all files are written or none.

    Args:
        archive: folder, ``.tar.gz`` or ``.zip`` of the official layout.
        inventory: an ``icd10cm_fy*_taxonomy.jsonl.gz``; only codes of its CodiEsp inventory are kept.
        out: the folder for ``contexts.jsonl.gz``, ``facts_<split>.jsonl.gz`` and a manifest.
        method: ``alignment``: word alignment trained on the archive itself; ``model``: one call per mention
            with an exact-substring check.
        lm: the ``dspy.LM`` of method ``model``; default: DSPy's setting.
        threads: parallel calls.
        splits: the splits to prepare, of those in the archive.
        progress: called with (done, all).

    Raises:
        InputError: a bad archive or inventory; one line.
    """
    out = Path(out)
    check_out(out, folder=True)
    labels = {
        str(r["code"]): str(r["label"])
        for _, r in read_jsonl(inventory)
        if r.get("in_codiesp_inventory", True)
    }
    if not labels:
        raise InputError("holds no code", file=inventory)
    corpus = read_corpus(archive, splits)
    present = {c.split for c in corpus.cases.values()}
    splits = [s for s in splits if s in present]
    wanted = corpus.annotations
    inside = [a for a in wanted if a.code in labels]
    dropped = Counter(corpus.dropped)
    dropped[OUTSIDE] += len(wanted) - len(inside)
    relocated: list[tuple[Annotation, Relocation]] = []
    outcomes = _relocate(corpus, inside, method, lm, threads)
    cases = outcomes.cases
    for i, (annotation, relocation, reason) in enumerate(outcomes.run(), 1):
        if relocation is None:
            dropped[reason] += 1
        else:
            relocated.append((annotation, relocation))
        if progress is not None:
            progress(i, len(inside))
    unique = _once(relocated, dropped)
    rows = {
        split: [_row(a, r, cases[a.case_id], labels) for a, r in unique if a.split == split]
        for split in splits
    }
    contexts = [
        {"case_id": c.case_id, "split": c.split, "text_en": c.text_en, "text_es": c.text_es}
        for c in sorted(corpus.cases.values(), key=lambda c: c.case_id)
        if c.split in splits
    ]
    names = ["contexts.jsonl.gz", *(f"facts_{split}.jsonl.gz" for split in splits), "codiesp_manifest.json"]
    report = CodiespReport(
        method,
        len(wanted) + sum(corpus.dropped.values()),
        len(contexts),
        {split: len(rows[split]) for split in splits},
        Counter(r.tier for _, r in unique),
        Counter(r.scope for _, r in unique),
        {k: n for k, n in dropped.items() if n},
        [str(out / n) for n in names],
    )
    manifest = {k: v for k, v in report.__dict__.items() if k != "files"}
    files = {names[0]: jsonl_gz(contexts)}
    files |= {f"facts_{split}.jsonl.gz": jsonl_gz(rows[split]) for split in splits}
    files[names[-1]] = (json.dumps(manifest, indent=1) + "\n").encode()
    write_all(out, files)
    return report


def build_with(
    archive: str | Path,
    inventory: str | Path,
    out: str | Path,
    method: Method,
    lm: Path | None,
    threads: int,
    progress: Callable[[int, int], None] | None = None,
) -> CodiespReport:
    """:func:`build_codiesp` with the language model of an ``[lm]`` table.

    Args:
        lm: TOML file with an ``[lm]`` table, for method ``model`` only.

    Raises:
        InputError: the table is missing or not needed, or its address accepts no connection.
        dspy.LMError: the model became unreachable; nothing is written. The replies are cached, so the next
            run continues from there.
    """
    if method == "alignment":
        if lm is not None:
            raise InputError("is not used by --method alignment", field="--lm")
        return build_codiesp(archive, inventory, out, method, progress=progress)
    if lm is None:
        raise InputError("--method model needs a file with an [lm] table", field="--lm")
    from ....lm.options import lm_table
    from ....lm.use import models_for

    with models_for(lm_table(lm), "--method model", file=lm, probe=("relocator",)):
        return build_codiesp(archive, inventory, out, method, threads=threads, progress=progress)


@dataclass(frozen=True)
class _Outcomes:
    """Aligned cases, and a run that yields (annotation, relocation or None, reason)."""

    cases: Mapping[str, AlignedCase]
    run: Callable[[], Iterator[tuple[Annotation, Relocation | None, str]]]


def _relocate(
    corpus: CodiEsp, annotations: Sequence[Annotation], method: Method, lm: Any, threads: int
) -> _Outcomes:
    if method == "alignment":
        aligner = Aligner(corpus)

        def by_alignment() -> Iterator[tuple[Annotation, Relocation | None, str]]:
            for annotation in annotations:
                found = aligner.relocate(annotation)
                yield annotation, found, "" if found else NO_ALIGNMENT

        return _Outcomes(aligner.cases, by_alignment)
    if method != "model":
        raise InputError(f"no method {method!r}; there are alignment and model", field="method")
    cases = {id_: AlignedCase.of(case) for id_, case in corpus.cases.items()}

    def by_model() -> Iterator[tuple[Annotation, Relocation | None, str]]:
        import dspy

        from .relocate import Relocator

        relocator = Relocator()
        settings = {"lm": lm} if lm is not None else {}

        def one(annotation: Annotation) -> tuple[Annotation, Relocation | None, str]:
            with dspy.context(**settings):
                attempt = relocator(case=cases[annotation.case_id], annotation=annotation).attempt
            return annotation, attempt.relocation, attempt.reason

        with ThreadPoolExecutor(max_workers=max(threads, 1)) as pool:
            # Each call runs in a copy of the caller's context, where DSPy keeps its settings.
            waiting = [pool.submit(contextvars.copy_context().run, one, a) for a in annotations]
            try:
                for future in waiting:
                    yield future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)  # a server that went away is asked no more

    return _Outcomes(cases, by_model)


def _once(
    relocated: Sequence[tuple[Annotation, Relocation]], dropped: Counter[str]
) -> list[tuple[Annotation, Relocation]]:
    """The first fact of each (case, code, English span); duplicates are counted."""
    seen: set[tuple[str, str, int, int]] = set()
    kept = []
    for annotation, relocation in relocated:
        key = (annotation.case_id, annotation.code, relocation.start, relocation.end)
        if key in seen:
            dropped["same code on the same English span"] += 1
            continue
        seen.add(key)
        kept.append((annotation, relocation))
    return kept


def _row(
    annotation: Annotation, relocation: Relocation, case: AlignedCase, labels: Mapping[str, str]
) -> dict[str, Any]:
    text = case.case.text_en
    sentence = next(
        (s for s in case.en if s[0] <= relocation.start < s[1]), (relocation.start, relocation.end)
    )
    return {
        "fact_id": annotation.fact_id,
        "case_id": annotation.case_id,
        "split": annotation.split,
        "class": "diagnosis",
        "gold_code": annotation.code,
        "gold_label": labels[annotation.code],
        "mention": text[relocation.start : relocation.end],
        "mention_start": relocation.start,
        "mention_end": relocation.end,
        "context_sentence": text[sentence[0] : sentence[1]],
        "relocation_tier": relocation.tier,
        "relocation_scope": relocation.scope,
        "relocation_coverage": relocation.coverage,
        "relocation_density": relocation.density,
        "mention_es": annotation.mention_es,
        "spans_es": [list(s) for s in annotation.spans],
        "discontinuous_es": len(annotation.spans) > 1,
        "source_line": annotation.line,
    }
