"""Chunking on sentence ends: no word lost, no passage too long."""

from __future__ import annotations

import pytest
from abduce.data.chunking import chunks
from abduce.signatures.sentences import sentences
from hypothesis import given
from hypothesis import strategies as st

words = st.text('ab. ?!\n)"A', max_size=400)


@given(words, st.integers(50, 120))
def test_no_word_is_lost_and_no_passage_is_too_long(text, target):
    made = chunks(text, target)
    assert " ".join(made).split() == text.split()
    for chunk in made:
        assert chunk == " ".join(chunk.split())
        assert len(chunk) <= target or " " not in chunk


@given(words)
def test_sentences_keep_every_word(text):
    assert [w for s in sentences(text) for w in s.split()] == text.split()


def test_sentences_by_hand():
    text = 'Give 5 mg. Ask Dr. Smith (J. Doe). It rose, e.g. by half! "Why?" No end\n\nNew part'
    assert sentences(text) == [
        "Give 5 mg.", "Ask Dr. Smith (J. Doe).", "It rose, e.g. by half!", '"Why?"', "No end", "New part",
    ]  # fmt: skip


def test_decimals_and_wide_stops():
    assert sentences("A dose of 2.5 mg is enough. 三行。四行。") == [
        "A dose of 2.5 mg is enough.",
        "三行。",
        "四行。",
    ]


def test_passages_end_at_sentence_ends():
    text = " ".join(f"Sentence number {i} has a few words." for i in range(100))
    made = chunks(text, 1000)
    assert all(c.endswith(".") for c in made)
    assert all(900 < len(c) <= 1000 for c in made[:-1])


def test_a_long_sentence_is_cut_between_words():
    made = chunks("word " * 400, 1000)
    assert [len(c) for c in made] == [999, 999]


def test_target_too_small():
    with pytest.raises(ValueError, match="50"):
        chunks("a", 10)
