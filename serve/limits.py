"""Where a service listens, and what one request may cost."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from ..retrievers.errors import InputError
from ..web.guard import MAX_BODY

SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Limits:
    """What one request may cost, and how many there may be at once.

    Args:
        body: bytes of a request's body, at least 1.
        facts: facts of one request, at least 1.
        seconds: from the first byte of the body to the answer, above 0.
        upload: seconds in which headers, and then the body, must have arrived, above 0.
        running: requests that are computed at once, at least 1.
        waiting: requests that wait for their turn, at least 0; further ones are refused.

    Raises:
        InputError: one is outside its range.
    """

    body: int = MAX_BODY
    facts: int = 2_000
    seconds: float = 60.0
    upload: float = 10.0
    running: int = 2
    waiting: int = 64

    def __post_init__(self) -> None:
        least = {"body": 1, "facts": 1, "running": 1, "waiting": 0}
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise InputError(f"must be at least {bound}", field=name)
        for name in ("seconds", "upload"):
            if not 0 < getattr(self, name) <= 86_400:
                raise InputError("must be above 0 and at most a day", field=name)


@dataclass(frozen=True)
class Address:
    """Where a service listens, and who may ask.

    Args:
        host: an address or ``localhost``; another than this machine's own needs a token.
        port: 0: any that is free.
        token: what a request must bring (``Authorization: Bearer ...``); empty: nothing.

    Raises:
        InputError: an address of the network without a token, or a token that is short or cannot stand in a
            header.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    token: str = ""

    def __post_init__(self) -> None:
        if self.token and (len(self.token) < SHORTEST_TOKEN or not _is_header(self.token)):
            raise InputError(
                f"must be at least {SHORTEST_TOKEN} printable ASCII characters without blanks", field="token"
            )
        if not self.token and not self.is_loopback:
            raise InputError(
                f"{self.host} can be reached by others: set a token ($ABDUCE_TOKEN, or --token-env NAME) "
                "before it listens there",
                field="host",
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def _is_header(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text
