"""Mentions of long passages: their contexts, their marks, and what that costs."""

import pytest
from abduce.documents import document as assemble
from abduce.documents.blocks import Paragraph
from abduce.documents.document import MAX_PASSAGE, Document
from abduce.documents.grid import Mark
from abduce.documents.mentions import find_mentions
from hypothesis import given
from hypothesis import strategies as st


def contexts_of(facts):
    return {f.context.context_id: f.context.text for f in facts}


def test_a_long_passage_is_cut_into_windows_that_mentions_share():
    text = " ".join(f"in case {i} we paid $ {i + 1000:,} million" for i in range(4000))
    document = Document("d")
    document.add_blocks([Paragraph(text)])
    assert len(document.facts) == 4000
    texts = contexts_of(document.facts)
    assert len({id(f.context) for f in document.facts}) == len(texts)
    assert sum(map(len, texts.values())) <= 2 * len(text) + MAX_PASSAGE
    assert max(map(len, texts.values())) == MAX_PASSAGE
    for i, fact in enumerate(document.facts):
        found = fact.context.text
        assert found[fact.mention_start : fact.mention_end] == fact.value == f"{i + 1000:,}"
        if 200 < i < 3800:  # not at an end of the passage: it stands in the middle of its window
            assert MAX_PASSAGE // 4 <= fact.mention_start <= 3 * MAX_PASSAGE // 4


@given(
    st.lists(st.sampled_from(["word", "$ 5,000", "$ 1,234,567", "and so on, "]), min_size=1, max_size=60),
    st.integers(20, 60),
)
def test_every_mention_lies_in_its_window(words, size):
    text = " ".join(words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assemble, "MAX_PASSAGE", size)
        document = Document("d")
        document.add_blocks([Paragraph(text)])
    assert [f.value for f in document.facts] == [w.split()[1] for w in words if w.startswith("$")]
    for fact in document.facts:
        assert fact.context.text[fact.mention_start : fact.mention_end] == fact.value
        assert fact.context.text in text


def test_a_tagged_part_longer_than_a_window_stays_whole():
    text = "x" * 30 + "9" * (2 * MAX_PASSAGE) + "x" * 30
    document = Document("d")
    document.add_blocks([Paragraph(text, (Mark("us-gaap:Cash", 30, 30 + 2 * MAX_PASSAGE),))])
    (fact,) = document.facts
    assert fact.value == "9" * (2 * MAX_PASSAGE)


@given(st.lists(st.tuples(st.integers(0, 90), st.integers(1, 20)), max_size=6))
def test_a_number_under_a_mark_is_no_mention_of_its_own(spans):
    text = "paid $1,000 and $22,000,000 or 5% of $300,400 then 77 million x " * 2
    marks = tuple(Mark("us-gaap:Cash", s, min(s + n, len(text))) for s, n in spans)
    found = list(find_mentions(text, marks))
    assert [m.mark for m in found if m.mark] == sorted(marks, key=lambda m: (m.start, m.end))
    bare = list(find_mentions(text))
    free = [m for m in bare if not any(k.start < m.end and m.start < k.end for k in marks)]
    assert [m for m in found if m.mark is None] == free


class Counted(str):
    """A text that counts the characters that are cut out of it."""

    cut = 0

    def __getitem__(self, key):
        part = super().__getitem__(key)
        Counted.cut += len(part)
        return part


class Asked:
    """A mark that counts how often it is looked at."""

    times = 0
    name, unit = "us-gaap:Cash", ""

    def __init__(self, start, end):
        self._span = start, end

    @property
    def start(self):
        Asked.times += 1
        return self._span[0]

    @property
    def end(self):
        Asked.times += 1
        return self._span[1]


def test_marks_and_text_are_looked_at_a_few_times_each():
    n = 2000
    text = Counted(" ".join(f"{i + 10_000} $ 5,000" for i in range(n)))
    marks = tuple(Asked(i * 14, i * 14 + 5) for i in range(n))
    assert len(list(find_mentions(text, marks))) == 2 * n
    assert Asked.times <= 10 * n
    assert Counted.cut <= 600 * n
