"""Locate the English translation of a Spanish mention by alignment, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .align import (
    STOP_EN,
    STOP_ES,
    Bead,
    Span,
    WordTable,
    align_sentences,
    sentences_en,
    sentences_es,
    words_of,
)
from .archive import Annotation, Case, CodiEsp

MATCH = 0.2
"""A word pair counts as translated from this score on."""

KEEP = 0.45
"""A projection whose coverage is lower is no relocation; within the whole document :data:`KEEP_DOCUMENT`."""

KEEP_DOCUMENT = 0.75


@dataclass(frozen=True)
class Relocation:
    """The place in an English text that translates a Spanish mention.

    ``scope`` is ``aligned_sentence`` or ``document``. ``coverage`` is the share of the mention's content
    words with a translation inside. ``density`` is the share of the English content words inside that
    translate one of them. ``tier`` is A if both are complete, else B.
    """

    start: int
    end: int
    scope: str
    coverage: float = 1.0
    density: float = 1.0

    @property
    def tier(self) -> str:
        return "A" if self.coverage >= 0.999 and self.density >= 0.999 else "B"


@dataclass(frozen=True)
class AlignedCase:
    """A case with its sentences and their alignment."""

    case: Case
    es: list[Span]
    en: list[Span]
    beads: list[Bead]

    @classmethod
    def of(cls, case: Case) -> AlignedCase:
        es, en = sentences_es(case.text_es), sentences_en(case.text_en)
        beads = align_sentences([case.text_es[a:b] for a, b in es], [case.text_en[a:b] for a, b in en])
        return cls(case, es, en, beads)

    def sentence_es(self, spans: Sequence[Span]) -> str:
        """The Spanish sentences of a mention."""
        return " ".join(self.case.text_es[a:b] for a, b in self.es if any(a < e and s < b for s, e in spans))

    def aligned(self, spans: Sequence[Span]) -> list[int]:
        """Numbers of the English sentences aligned with those of a Spanish mention."""
        touched = {i for i, (a, b) in enumerate(self.es) if any(a < e and s < b for s, e in spans)}
        return sorted({j for left, right in self.beads if touched.intersection(left) for j in right})

    def expected(self, spans: Sequence[Span]) -> float:
        """The expected character offset of the mention in the English text, from its relative position."""
        return spans[0][0] / max(len(self.case.text_es), 1) * len(self.case.text_en)


class Aligner:
    """Relocates mentions by word alignment, trained on the given corpus."""

    def __init__(self, corpus: CodiEsp) -> None:
        self.cases = {id_: AlignedCase.of(case) for id_, case in corpus.cases.items()}
        pairs = [
            (
                [w for i in left for w in words_of(c.case.text_es, *c.es[i]).words],
                [w for j in right for w in words_of(c.case.text_en, *c.en[j]).words],
            )
            for c in self.cases.values()
            for left, right in c.beads
        ]
        self.table = WordTable(pairs)

    def relocate(self, annotation: Annotation) -> Relocation | None:
        """The best window among the aligned sentences, else in the whole document, else None."""
        case = self.cases[annotation.case_id]
        mention = [w for a, b in annotation.spans for w in words_of(case.case.text_es, a, b).words]
        content = [w for w in mention if w not in STOP_ES] or mention
        if not content:
            return None
        near = case.aligned(annotation.spans)
        expected = case.expected(annotation.spans)
        found = self._best(case, near, content, expected, "aligned_sentence")
        if found is not None and found.coverage >= KEEP:
            return found
        wide = [j - 1 for j in near] + [j + 1 for j in near]
        around = [j for j in sorted(set(wide) - set(near)) if 0 <= j < len(case.en)]
        for lines in (around, [j for j in range(len(case.en)) if j not in near]):
            found = self._best(case, lines, content, expected, "document")
            if found is not None and found.coverage >= KEEP_DOCUMENT:
                return found
        return None

    def _best(
        self, case: AlignedCase, lines: Sequence[int], content: Sequence[str], expected: float, scope: str
    ) -> Relocation | None:
        best: tuple[tuple[float, float, float], Relocation] | None = None
        for j in lines:
            for window in self._windows(case.case.text_en, case.en[j], content, scope):
                harmony = 2 * window.coverage * window.density / (window.coverage + window.density)
                key = (
                    round(harmony + 0.35 * window.coverage, 6),
                    -(window.end - window.start),
                    -abs(window.start - expected),
                )
                if best is None or key > best[0]:
                    best = key, window
        return None if best is None else best[1]

    def _windows(self, text: str, line: Span, content: Sequence[str], scope: str) -> list[Relocation]:
        """Every run of words in a sentence that begins and ends with a translated word."""
        english = words_of(text, *line)
        scores = [[self.table(es, en) for en in english.words] for es in content]
        best_of = [max((row[k] for row in scores), default=0.0) for k in range(len(english.words))]
        matched = [
            k
            for k, w in enumerate(english.words)
            if best_of[k] >= MATCH and (w not in STOP_EN or len(content) == 1)
        ]
        found: list[Relocation] = []
        longest = 2 * len(content) + 4
        for i in matched:
            for k in matched:
                if not i <= k < i + longest:
                    continue
                coverage = sum(min(1.0, max(row[i : k + 1]) / 0.5) for row in scores) / len(content)
                inside = [p for p in range(i, k + 1) if english.words[p] not in STOP_EN]
                density = sum(best_of[p] >= MATCH for p in inside) / max(len(inside), 1)
                if coverage > 0 and density > 0:
                    found.append(
                        Relocation(
                            english.spans[i][0],
                            english.spans[k][1],
                            scope,
                            round(coverage, 3),
                            round(density, 3),
                        )
                    )
        return found
