"""Expansions of expressions of one leaf, near 0 and far from it: a power of the leaf times a polynomial.

Coefficients are those of the polynomial through points that are so near to 0 that what follows does not count, computed
with many digits (Newton's divided differences). Source: Abramowitz and Stegun, 25.1 and 25.2.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from reactant.precision.improvement import truth
from reactant.precision.improvement.expressions import Array, Expression, leaf, leaves, made, nodes, number
from reactant.precision.improvement.extra import mpmath

TERMS = (2, 4, 7)
STEP_BITS, DIGITS = 120, 4000
MOST_POWER = 6


def expansions(root: Expression, samples: Array) -> Iterator[Expression]:
    """Polynomials near 0, and in the reciprocal of the leaf; of several lengths."""
    if len(nodes(root)) < 3:
        return
    side = 1 if (samples > 0).all() else -1 if (samples < 0).all() else 0
    small, large = np.nanmin(np.abs(samples)), np.nanmax(np.abs(samples))
    (index,) = leaves(root)
    x = leaf(index)
    for far in (False, True):
        if (far and large < 16) or (not far and small > 0.25):
            continue
        found = _coefficients(root, index, far, side)
        if found is None:
            continue
        power, coefficients = found
        at = made("divide", number(1), x) if far else x
        lengths = sorted({min(length, len(coefficients)) for length in TERMS})
        for length in lengths:
            if any(coefficients[:length]):
                yield times_power(horner(coefficients[:length], at), x, -power if far else power)


def _coefficients(root: Expression, index: int, far: bool, side: int) -> tuple[int, list[Fraction]] | None:
    """The power of the leading term, and the coefficients from it on; None where there is no such expansion.
    side: of which sign the leaf is, 0 for both."""
    mp, order = mpmath().mp, nodes(root)

    def value(t: Any) -> Any:
        given: list[Any] = [None] * (index + 1)
        given[index] = 1 / t if far else t
        found = truth.of_numbers(order, given)
        return found if found is not None and mp.isfinite(found) else None

    with mp.workprec(DIGITS):
        power = leading_power(value, side)
        if power is None:
            return None
        step = mp.ldexp(side or 1, -STEP_BITS)
        count = max(TERMS) + 2
        points = [step * (k + 1) if side else step * (k // 2 + 1) * (1 if k % 2 == 0 else -1) for k in range(count)]
        values = [value(t) for t in points]
        if any(each is None for each in values):
            return None
        table = [v / t**power for v, t in zip(values, points, strict=True)]
        for level in range(1, count):
            for k in range(count - 1, level - 1, -1):
                table[k] = (table[k] - table[k - 1]) / (points[k] - points[k - level])
        found = _expanded(table, points)
        size = max(abs(each) for each in found[:max(TERMS)])
        rounded = [_fraction(each) if abs(each) > size * mp.mpf(2)**-60 else Fraction(0)
                   for each in found[:max(TERMS)]]
    return (power, rounded) if all(abs(each) < 10**9 for each in rounded) else None


def leading_power(value: Callable[[Any], Any], side: int) -> int | None:
    """The power of t that a function is like near 0; None where it is like none."""
    mp = mpmath().mp
    step = mp.ldexp(side or 1, -STEP_BITS)
    first, half = value(step), value(step / 2)
    if first is None or half is None or first == 0 or half == 0:
        return None
    slope = mp.log(abs(first / half), 2)
    power = int(mp.nint(slope))
    return power if abs(slope - power) <= 1e-6 and abs(power) <= MOST_POWER else None


def _expanded(table: list[Any], points: list[Any]) -> list[Any]:
    """Newton's form as coefficients of powers."""
    mp = mpmath().mp
    found = [mp.zero] * len(table)
    for k in range(len(table) - 1, -1, -1):
        moved = [mp.zero, *found[:-1]]
        found = [a - points[k] * b for a, b in zip(moved, found, strict=True)]
        found[0] += table[k]
    return found


def _fraction(value: Any) -> Fraction:
    """A short fraction where the value is one, else the nearest float64."""
    near = Fraction(float(value))
    short = near.limit_denominator(10**6)
    return short if abs(short - near) <= abs(near) * Fraction(1, 2**51) else near


def horner(coefficients: Sequence[Fraction], at: Expression) -> Expression:
    """c0 + at (c1 + at (...)), in the square of `at` where every second is 0."""
    if len(coefficients) > 2 and not any(coefficients[1::2]):
        return horner(coefficients[::2], made("multiply", at, at))
    found = number(coefficients[-1])
    for value in coefficients[-2::-1]:
        product = number(0) if found.name == "number" and found.value == 0 else made("multiply", at, found)
        found = product if value == 0 else number(value) if product.name == "number" else \
            made("add", number(value), product)
    return found


def times_power(found: Expression, x: Expression, power: int) -> Expression:
    """An expression times a whole power of another one."""
    if power == 0:
        return found
    factor = x
    for _ in range(abs(power) - 1):
        factor = made("multiply", factor, x)
    return made("multiply" if power > 0 else "divide", found, factor)
