"""One self-contained HTML page: a built script, its styles and its data, escaped, behind a strict policy.

Text from outside (cells, labels, file names, replies of a model) only ever stands in the data, as JSON in
which no ``<`` is left. The script shows it as text. The page's policy lets nothing be loaded from anywhere.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

import orjson

App = Literal["report", "review"]

PACK_LEVEL = 9
"""The gzip level of packs: a page is written once and opened often."""


def json_text(value: Any) -> str:
    """JSON that may stand inside a script element: ``<``, ``>`` and ``&`` are written as escapes. Half
    surrogate pairs, which no UTF-8 file can hold, become ``?``.

    Raises:
        TypeError: something in it has no JSON form.
    """
    return _json(value).decode().translate(_INSIDE)


_INSIDE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def _json(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=_OPTIONS)
    except TypeError as e:
        if "surrogates" not in str(e):
            raise
        return orjson.dumps(_whole(value), option=_OPTIONS)


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_whole(k): _whole(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(v) for v in value]
    return value


def packed(value: Any) -> bytes:
    """A JSON value, gzipped; equal values give equal bytes."""
    return gzip.compress(_json(value), PACK_LEVEL, mtime=0)


@lru_cache(maxsize=8)
def asset(name: str) -> str:
    """A built file of ``web/assets``."""
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")


def policy(script: str, served: bool = False) -> str:
    """The content security policy of a page with this script.

    Nothing is loaded from anywhere; only this very script runs. A ``served`` page may talk to the server
    that it came from.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    rules = [
        "default-src 'none'",
        f"script-src 'sha256-{digest}'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    if served:
        rules.append("connect-src 'self'")
    return "; ".join(rules)


def page(
    app: App, title: str, data: Mapping[str, Any], packs: Mapping[str, bytes], served: bool = False
) -> str:
    """The whole page.

    Args:
        app: which script it runs.
        title: what the browser calls it; any text.
        data: what the script reads first, as JSON.
        packs: what it unpacks when it is needed, by name (letters, digits, hyphens): :func:`packed` values.
        served: whether it may ask the server that it came from.

    Raises:
        ValueError: the name of a pack is no plain name.
    """
    script = asset(f"{app}.js")
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy(script, served))}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="referrer" content="no-referrer">',
        '<link rel="icon" href="data:,">',
        f"<title>{html.escape(_whole(title))}</title>",
        f"<style>{asset('page.css')}</style>",
        "</head>",
        "<body>",
        '<div id="app"><p class="wait">Opening ...</p></div>',
        "<noscript><p>This page needs JavaScript. It loads nothing from anywhere.</p></noscript>",
        f'<script type="application/json" id="data">{json_text(data)}</script>',
    ]
    for name, pack in packs.items():
        if not name.replace("-", "").isalnum() or not name.isascii():
            raise ValueError(f"{name!r} is no name of a pack")
        text = base64.b64encode(pack).decode()
        parts.append(f'<script type="text/plain" id="pack-{name}">{text}</script>')
    parts += [f"<script>{script}</script>", "</body>", "</html>", ""]
    return "\n".join(parts)
