"""What puts a page together: escaping, the policy, packs."""

import base64
import gzip
import hashlib
import json
import re
from typing import Any

import pytest
from abduce.web.page import asset, json_text, packed, page, policy
from hypothesis import given
from hypothesis import strategies as st

TEXTS = st.text() | st.sampled_from(["</script>", "<!--", "<script>", "]]>", "\u2028", "\ud800", "&lt;"])


def data_of(html: str) -> Any:
    [text] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(text)


@given(st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS), max_size=4))
def test_whatever_stands_in_the_data_comes_back_and_is_no_markup(value: dict[str, Any]) -> None:
    text = json_text(value)
    assert not re.search("[<>&\u2028\u2029]", text)
    clean = json.loads(json.dumps(value).encode("utf-8", "replace"))
    if not re.search(r"\\ud[89a-f]", json.dumps(value)):
        assert json.loads(text) == clean


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    assert json.loads(json_text({"a\ud800": ["\udfff"]})) == {"a?": ["?"]}


def test_the_policy_lets_this_script_run_and_nothing_in() -> None:
    html = page("report", "<b>title", {"a": 1}, {})
    [said] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    rules = dict(r.split(" ", 1) for r in said.replace("&#x27;", "'").split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "connect-src" not in rules
    digest = base64.b64encode(hashlib.sha256(asset("report.js").encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert "connect-src 'self'" in policy("x", served=True)
    assert "<title>&lt;b&gt;title</title>" in html
    assert html.count(asset("report.js")) == 1


def test_built_scripts_end_no_element_and_load_nothing() -> None:
    for name in ("report.js", "review.js"):
        assert not re.search(r"</script|<!--", asset(name), re.IGNORECASE)
        assert not re.search(r"\beval\(|new Function\(|importScripts", asset(name))
    assert not re.search(r"@import|url\((?!data:)|</style", asset("page.css"))


def test_packs_are_gzipped_json_and_equal_for_equal_values() -> None:
    value = {"a": ["</script>", 1, None]}
    assert packed(value) == packed(value)
    assert json.loads(gzip.decompress(packed(value))) == value
    html = page("review", "t", {}, {"details-0": packed(value)})
    [text] = re.findall(r'id="pack-details-0">([^<]*)<', html)
    assert json.loads(gzip.decompress(base64.b64decode(text))) == value
    with pytest.raises(ValueError, match="no name of a pack"):
        page("review", "t", {}, {'"><script>': b""})


def test_the_data_of_a_page_is_what_was_given() -> None:
    given_ = {"text": "</script><script>alert(1)</script>"}
    assert data_of(page("report", "t", given_, {})) == given_
