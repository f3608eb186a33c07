"""What the model layer tells of one request while a program waits for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import dspy


class Receipt:
    """Stands in ``dspy.settings`` (``receipt`` and ``usage_tracker``) for the time of one call.

    Any ``dspy.BaseLM`` reports its tokens. abduce's own engine and cache (``abduce.lm``) also report
    attempts on the wire, faults, the reply and how it ended, and what the cache would keep.
    """

    def __init__(self) -> None:
        self.requests = 0
        self.retries = 0
        self.faults: list[str] = []
        self.usage: dict[str, int] = {"prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0}
        self.raw = ""
        self.finish = ""
        self.elsewhere = ""
        self.cache_hit = False
        self._stores: list[Callable[[], None]] = []
        self._outer = dspy.settings.get("usage_tracker")

    @property
    def cut_off(self) -> bool:
        """True where the reply ended because ``max_tokens`` did."""
        return self.finish == "length"

    def sent(self) -> None:
        """An engine sends the request (again)."""
        self.requests += 1

    def faulted(self, kind: str, again: bool) -> None:
        """An attempt failed; ``again`` says that another follows."""
        self.faults.append(kind)
        self.retries += again

    def replied(self, raw: str, finish: str, cached: bool = False, elsewhere: str = "") -> None:
        """The reply's text and why it ended (``stop``, ``length``, ...); ``cached``: nothing was sent;
        ``elsewhere``: where a reply without text has its words, and what helps."""
        self.raw, self.finish, self.cache_hit, self.elsewhere = raw, finish, cached, elsewhere

    def add_usage(self, model: str, usage: Mapping[str, Any]) -> None:
        """DSPy's usage tracker: tokens of a reply that did not come from the cache."""
        details = usage.get("prompt_tokens_details") or {}
        self.usage["prompt_tokens"] += int(usage.get("prompt_tokens") or 0)
        self.usage["completion_tokens"] += int(usage.get("completion_tokens") or 0)
        cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
        self.usage["cached_tokens"] += int(cached or 0)
        if self._outer is not None:
            self._outer.add_usage(model, usage)

    def keep_later(self, store: Callable[[], None]) -> None:
        """A cache would keep the reply: it may once the reply has parsed."""
        self._stores.append(store)

    def keep(self) -> None:
        """The reply is an answer: let the cache have it."""
        for store in self._stores:
            store()
