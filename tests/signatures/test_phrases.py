"""The phrase book: conditions of a phrase, dates taken out of headers, bad books."""

import pytest
from abduce.signatures.phrases import PhraseBook, load_phrases, undated

BOOK = """
name = "b"
[[phrase]]
when = ["capital expenditures", "purchases of property"]
near = ["investing", "cash flows"]
unless = ["lease"]
say = "payments to acquire property"
[[phrase]]
when = ["basic"]
datatype = "perShareItemType"
say = "earnings per share basic"
"""


@pytest.fixture
def book():
    return PhraseBook.from_toml(BOOK)


def test_a_phrase_needs_one_when_and_one_near(book):
    assert book.say("Capital expenditures", "INVESTING ACTIVITIES") == ["payments to acquire property"]
    assert book.say("Purchases of properties", "statements of cash flows") == ["payments to acquire property"]
    assert book.say("Capital expenditures", "segments") == []
    assert book.say("Expenditures", "investing") == []  # not all tokens of the phrase


def test_unless_silences_a_phrase_wherever_it_stands(book):
    assert book.say("Capital expenditures under leases", "investing") == []
    assert book.say("Capital expenditures", "investing; lease assets") == []


def test_a_datatype_is_exact(book):
    assert book.say("Basic", "", "perShareItemType") == ["earnings per share basic"]
    assert book.say("Basic", "", "sharesItemType") == []
    assert book.say("Basic", "") == []


def test_the_bundled_book_speaks_the_taxonomy_s_language(us_gaap):
    from abduce.signatures.tokenize import tok_set

    words = set().union(*(tok_set(c.label) | tok_set(c.definition) for c in us_gaap))
    book = load_phrases("us-gaap")
    assert len(book.phrases) > 80
    strange = {t for phrase in book.phrases for t in tok_set(phrase.say)} - words
    assert strange == set()


def test_a_schema_without_a_book_has_an_empty_one():
    assert load_phrases("icd10cm").phrases == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[phrase]]\nwhen = ['x']\n", "say"),
        ("[[phrase]]\nwhen = []\nsay = 'x'\n", "when"),
        ("[[phrase]]\nwhen = ['of the']\nsay = 'x'\n", "no content word"),
        ("[[phrase]]\nwhen = ['x']\nsay = 'x'\nnearby = ['y']\n", "nearby"),
        ("[[phrase\n", "not TOML"),
    ],
)
def test_a_bad_book_is_refused_in_one_line(text, says):
    with pytest.raises(ValueError, match=says) as caught:
        PhraseBook.from_toml(text)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_refused():
    with pytest.raises(ValueError, match="no phrase file"):
        load_phrases("nowhere.toml")


@pytest.mark.parametrize(
    ("header", "left"),
    [
        ("Year Ended December 31, | 2024", ", |"),
        ("Nine Months Ended March 31 | 2025", "|"),
        ("Fair Value as of July 27, 2024 (in millions)", "Fair Value , ( )"),
        ("Level 3", "Level"),
        ("Month-to-date", "Month-to-date"),
    ],
)
def test_undated_takes_out_dates_and_units_only(header, left):
    assert undated(header) == left
