"""The weight of each similarity of two loci in the vote of precedents."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Weights:
    """The terms of the logarithm of a precedent's vote.

    ``header`` to ``preceding`` and ``mention`` multiply cosines in [0, 1]; ``same_*`` are added where
    the two agree exactly; ``recency`` multiplies the years from ``Precedents.latest`` back (at most 0);
    ``digits`` the difference in the number of digits. ``once`` lets only the best precedent of a source
    context vote for a concept.
    """

    header: float = 0.0
    chain: float = 0.0
    column: float = 0.0
    context: float = 0.0
    preceding: float = 0.0
    mention: float = 0.0
    same_header: float = 0.0
    same_chain: float = 0.0
    same_column: float = 0.0
    same_mention: float = 0.0
    same_company: float = 0.0
    same_value: float = 0.0
    same_period: float = 0.0
    recency: float = 0.0
    digits: float = 0.0
    once: bool = False


TABLE = Weights(
    header=2.8,
    chain=3.2,
    column=2.45,
    context=5.6,
    preceding=3.1,
    same_header=0.45,
    same_chain=0.15,
    same_column=0.85,
    same_company=-0.8,
    same_value=2.1,
    same_period=0.5,
    recency=0.15,
    digits=-0.5,
)
"""Weights of table cells: fitted on filings of the training companies, each company left out in turn."""

TEXT = Weights(
    header=3.8,
    chain=4.4,
    column=1.95,
    context=7.4,
    same_header=0.7,
    same_chain=0.9,
    same_column=-1.0,
    same_company=0.25,
    same_value=3.1,
    digits=-0.25,
    once=True,
)
"""Weights of numbers in running text, fitted in the same way."""

MENTION = Weights(mention=8.0, same_mention=2.0, header=0.5, context=0.5)
"""Weights of worded mentions (clinical): the mention itself decides."""
