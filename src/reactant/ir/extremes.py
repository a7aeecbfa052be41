"""Reductions to the greatest (least) number that pass NaN over: their regions compare two numbers, and choose."""
from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import product
from typing import Any

CHOICES: dict[str, Callable[..., Any]] = {
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": operator.not_,
    "select": lambda p, x, y: x if p else y}
"""What such a region does beside comparing, by the names of the ops."""
NUMBERS = (1.0, 2.0, math.nan)
"""What compares and chooses its arguments, and knows no number, does with two pairs of numbers the same where they are
ordered alike: a pair of each kind is tried."""


def extreme_of(choose: Callable[[float, float], Any]) -> str | None:
    """"maximum" or "minimum" where `choose` gives that of two numbers, or the one that is a number."""
    chosen = {pair: choose(*pair) for pair in product(NUMBERS, NUMBERS)}
    for kind, better in (("maximum", max), ("minimum", min)):
        if all(_same(found, better((v for v in pair if v == v), default=math.nan)) for pair, found in chosen.items()):
            return kind
    return None


def _same(x: Any, y: float) -> bool:
    return x is not None and bool(x == y or x != x and y != y)
