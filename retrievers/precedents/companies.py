"""Companies by their names: one number for all spellings of one, looked up without a scan."""

from __future__ import annotations

from collections.abc import Mapping

from .loci import company_key, spellings


class Companies:
    """Companies by key; spellings of the same company share a number.

    A key is looked up under every spelling that it may have been entered by, so that neither entering nor
    finding takes longer where there are more companies.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._places: dict[str, int] = {}
        self._after_the: dict[str, str] = {}
        self._missed: set[str] = set()

    def code(self, name: str | None) -> int:
        """The number of a company, which is entered where it is new."""
        key = company_key(name or "")
        number = self._numbers.get(key)
        if number is None:
            known = self.find(name)
            number = known if known >= 0 else len(self._numbers)
            self._enter(key, number)
        return number

    def entered(self) -> dict[str, int]:
        """Every key with its number, in the order that they were entered."""
        return {key: self._numbers[key] for key in sorted(self._places, key=self._places.__getitem__)}

    def enter_all(self, numbers: Mapping[str, int]) -> None:
        """Enter keys with their numbers, as :meth:`entered` gives them."""
        for key, number in numbers.items():
            self._enter(key, number)

    def unite(self, name: str, other: str) -> None:
        """Take two names for the same company, whatever they look like (a ticker and a name). Do it before
        numbers are given out: those of ``other`` change."""
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
        """The number of those that do not say whose they are; -2 where there are none."""
        return self._numbers.get("", -2)

    @property
    def named(self) -> bool:
        """Whether any says whose it is."""
        return any(self._numbers)

    def find(self, name: str | None) -> int:
        """The number of a company, or -1 where no precedent is of it or there is no name. Of several that it
        may be, it is the one entered first."""
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
