"""Expressions of a random kernel and where their values are."""
from __future__ import annotations

from dataclasses import dataclass

LIMIT = 4096.0


@dataclass
class Number:
    """An expression and the interval that its value is in."""

    text: str
    low: float
    high: float

    @property
    def bound(self) -> float:
        return max(abs(self.low), abs(self.high))
