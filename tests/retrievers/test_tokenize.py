from __future__ import annotations

import re

import pytest
from abduce.retrievers.errors import InputError
from abduce.retrievers.tokenize import (
    FUNCTION_WORDS,
    lucene_porter,
    tok,
    tok_set,
    tokenizer_hash,
    tokenizer_named,
)
from abduce.signatures.letters import tidy
from hypothesis import given
from hypothesis import strategies as st


def test_a_camel_case_name_gives_itself_and_its_words() -> None:
    assert tok("AssetsHeldForSale") == ["assetsheldforsale", "asset", "held", "sale"]
    assert tok("assets held for sale") == ["asset", "held", "sale", "asset", "held", "sale"]
    assert {"asset", "held", "sale"} <= tok_set("AssetsHeldForSale") & tok_set("assets held for sale")


@pytest.mark.parametrize(
    ("word", "token"),
    [
        ("policies", "policy"),
        ("ties", "tie"),
        ("dies", "die"),
        ("gas", "gas"),
        ("taxes", "taxe"),
        ("loss", "loss"),
    ],
)
def test_the_light_plural_rule(word: str, token: str) -> None:
    # "ies" needs more than 4 letters and "s" more than 3; a final "ss" stays.
    assert tok(word) == [token, token]


def test_acronyms_digits_and_underscores_split() -> None:
    assert tok("XBRLTaxes") == ["xbrltaxe", "xbrl", "taxe"]
    assert tok("us-gaap_Item9") == ["us", "gaap", "item9", "us", "gaap", "item9"]
    assert tok("Type2Diabetes") == ["type2diabete", "type2", "diabete"]


def slow_tok(text: str) -> list[str]:
    """Runs of the visible text, then those of its camel-case split, each normalised."""
    text = tidy(text)
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    tokens = []
    for word in re.findall(r"[^\W_]+", text) + re.findall(r"[^\W_]+", spaced):
        word = word.lower()
        if word in FUNCTION_WORDS:
            continue
        if len(word) > 4 and word.endswith("ies"):
            word = word[:-3] + "y"
        elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
            word = word[:-1]
        tokens.append(word)
    return tokens


@given(st.one_of(st.text(), st.text("aAsSiIeE9 _-.éßİ", max_size=40)))
def test_equals_its_definition_on_any_text(text: str) -> None:
    assert tok(text) == slow_tok(text)


def test_lucene_porter() -> None:
    pytest.importorskip("Stemmer")
    tokenize = lucene_porter()
    assert tokenize("The caresses of ponies, a RELATIONAL I.V. will be") == ["caress", "poni", "relat", "i.v"]
    assert tokenize("IL-2 1,234.5 3.X don't x.5") == ["il", "2", "1,234.5", "3", "x", "don't", "x", "5"]


def test_tokenizers_have_names_and_distinct_hashes() -> None:
    assert tokenizer_named("tok") is tok
    with pytest.raises(InputError, match="there are lucene-porter, stem, "):
        tokenizer_named("nosuch")
    assert tokenizer_hash(tok) != tokenizer_hash(str.split)
