"""Misspelled words of a mention."""

import pytest
from abduce.programs.misspelled import AnyWord, Speller

KNOWN = {"pneumonia", "hypertension", "hypotension", "appendiciti", "ileum", "diarrhea", "cesarean"}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("pnuemonia", "pneumonia"),
        ("acute Pnemonia, left", "acute pneumonia, left"),
        ("hypertention", "hypertension"),
        ("diarhea", "diarrhea"),
        ("appendicitis", "appendicitis"),  # known as it is counted: without its last letter
        ("ilium", "ilium"),  # short words differ by a letter where both are right
        ("xneumonia", "xneumonia"),  # the first letter is right
        ("pneumothorax", "pneumothorax"),
        ("", ""),
    ],
)
def test_an_unknown_word_is_the_known_word_one_slip_away(written, read):
    assert Speller(KNOWN).correct(written) == read


def test_two_words_as_near_leave_it_as_it_is():
    assert Speller({"planter", "plantar"}).correct("plantor") == "plantor"


def test_where_every_word_is_known_nothing_is_misspelled():
    assert Speller(AnyWord()).correct("pnuemonia") == "pnuemonia"
