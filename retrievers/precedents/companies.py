"""Companies by name: one number for all spellings of a company, found without a scan."""

from __future__ import annotations

from collections.abc import Mapping

from .loci import company_key, spellings


class Companies:
    """Companies by key; spellings of the same company share a number.

    A key is looked up under every spelling that may have been entered, so time does not grow with the number
    of companies.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._places: dict[str, int] = {}
        self._after_the: dict[str, str] = {}
        self._missed: set[str] = set()

    def code(self, name: str | None) -> int:
        """The number of a company; a new company is added."""
        key = company_key(name or "")
        number = self._numbers.get(key)
        if number is None:
            known = self.find(name)
            number = known if known >= 0 else len(self._numbers)
            self._enter(key, number)
        return number

    def entered(self) -> dict[str, int]:
        """Every key with its number, in order of entry."""
        return {key: self._numbers[key] for key in sorted(self._places, key=self._places.__getitem__)}

    def enter_all(self, numbers: Mapping[str, int]) -> None:
        """Add keys with their numbers, as returned by :meth:`entered`."""
        for key, number in numbers.items():
            self._enter(key, number)

    def unite(self, name: str, other: str) -> None:
        """Treat two names as the same company, even if they look different (a ticker and a name). Call it
        before numbers are used, because those of ``other`` change.
        """
        number, was, key = self.code(name), self.code(other), company_key(other)
        self._numbers = {k: number if n == was else n for k, n in self._numbers.items()}
        self._enter(key, number)

    def _enter(self, key: str, number: int) -> None:
        self._numbers[key] = number
        self._places.setdefault(key, len(self._places))
        self._after_the.setdefault(key[:5], key)
        self._missed.clear()

    @property
    def unknown(self) -> int:
        """The number of precedents without a company name; -2 if there are none."""
        return self._numbers.get("", -2)

    @property
    def named(self) -> bool:
        """Whether any company is named."""
        return any(self._numbers)

    def find(self, name: str | None) -> int:
        """The number of a company, or -1 if no precedent is of it or the name is empty. If several match, the
        first entered.
        """
        key = company_key(name or "")
        if not key or key in self._missed:
            return -1
        if key in self._numbers:
            return self._numbers[key]
        known = [k for k in spellings(key) if k in self._numbers]
        if len(key) == 8 and key.startswith("THE") and (first := self._after_the.get(key[3:])) is not None:
            known.append(first)
        if not known:
            self._missed.add(key)
            return -1
        return self._numbers[min(known, key=self._places.__getitem__)]
