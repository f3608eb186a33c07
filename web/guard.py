"""Rules for every server of abduce: headers, the largest body, and which requests it accepts."""

from __future__ import annotations

import hmac

MAX_BODY = 8 * 1024 * 1024
"""Bytes that a request may bring."""

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def same_token(given: str, token: str) -> bool:
    """Whether two tokens are the same, in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def is_own_host(host: str, port: int) -> bool:
    """Whether a request names this machine. After DNS rebinding it names another host."""
    return host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}")


def is_from_elsewhere(origin: str | None, host: str) -> bool:
    """Whether the browser says that the request comes from another site's script."""
    return origin is not None and origin != f"http://{host}"
