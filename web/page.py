"""One self-contained HTML page: a built script, its styles and its escaped data, with a strict policy.

Text from outside (cells, labels, file names, replies of a model) is only in the data, as JSON without any
``<``. The script shows it as text. The page's policy allows no loading from anywhere.
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
    """JSON for a script element: ``<``, ``>`` and ``&`` are escaped. Half surrogate pairs, which UTF-8 cannot
    represent, become ``?``.

    Raises:
        TypeError: a part has no JSON form.
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

    Nothing is loaded from anywhere, and only this script runs. A ``served`` page may also talk to its server.
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
        app: the page's script.
        title: the page's title; any text.
        data: the JSON that the script reads first.
        packs: data that the script unpacks when needed, by name (letters, digits, hyphens): :func:`packed`
            values.
        served: whether the page may send requests to its server.

    Raises:
        ValueError: a pack's name has other characters.
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
