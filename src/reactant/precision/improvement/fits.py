"""Polynomials that take the place of functions of one value on a range, and expressions that are made of them.

A function that is only asked on a range needs no reduction of its argument and no table: a power of the distance from a
point times a truncated Chebyshev series is as accurate, and costs a product and a sum per term. Source: J. C. Mason and
D. C. Handscomb, "Chebyshev Polynomials", 2003, section 6.3; J.-M. Muller, "Elementary Functions", 3rd edition, 2016,
chapter 3.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from reactant.precision.improvement import truth
from reactant.precision.improvement.expressions import (
    Array,
    Expression,
    constant,
    cost,
    in_floats,
    leaf,
    leaves,
    made,
    nodes,
    number,
    replaced,
)
from reactant.precision.improvement.extra import mpmath
from reactant.precision.improvement.guards import Guard, together
from reactant.precision.improvement.series import horner, leading_power, times_power

NODES, DIGITS = 40, 500
"""Points that functions are looked at, and binary digits of their values."""
MOST_TERMS, MOST_DEGREE, LARGEST = 21, 4, 1e30
SHORT = 4
"""Terms of a polynomial that are added one after the other."""
LEAST_COST, SAVING = 0.8, 0.7
"""Nanoseconds of a function below which no polynomial is looked for, and the part of its cost that one may have."""
WIDER, MOST_CORNERS = 1.3, 6
"""By what a sampled range is extended, and the number of leaves up to which its extremes are looked for at corners."""


class Fit(NamedTuple):
    """A polynomial in leaf 0, and where it may stand for the function."""

    polynomial: Expression
    low: float
    high: float


# ---- expressions of polynomials ------------------------------------------------------------------------------------

def specialised(root: Expression, given: Sequence[Array], low: Sequence[float], high: Sequence[float],
                dtype: np.dtype, digits: int) -> tuple[Expression, tuple[Guard, ...]] | None:
    """An expression with polynomials for its costly functions of one value; None where there are none.

    given: samples of the leaves, low, high: their ranges. digits: binary ones that each polynomial keeps."""
    values = _samples(root, given, low, high, dtype)
    guards: list[Guard] = []
    new: dict[Expression, Expression] = {}

    def of(node: Expression) -> Expression:
        if node not in new:
            found = _fitted(node, values, dtype, digits)
            if found is None:
                new[node] = made(node.name, *map(of, node.operands)) if node.operands else node
            else:
                fit, inner = found
                inside = of(inner)
                guards.append(Guard(inside, fit.low, fit.high))
                new[node] = replaced(fit.polynomial, {leaf(0): inside})
        return new[node]

    found = of(root)
    return (found, together(guards)) if guards else None


def of_a_quotient(root: Expression, given: Sequence[Array], low: Sequence[float], high: Sequence[float],
                  dtype: np.dtype, digits: int) -> tuple[Expression, tuple[Guard, ...]] | None:
    """A homogeneous function of two leaves as a power of the first, which is positive, times a polynomial in how large
    the other one is beside it: f(x, y) = x**n f(1, y / x). None where it is no such function."""
    used = leaves(root)
    if len(used) != 2 or cost(root, dtype) < LEAST_COST:
        return None
    for first, second in (used, used[::-1]):
        if not 0 < low[first] <= high[first] < np.inf:
            continue
        power = _degree(root, leaf(first), leaf(second))
        if power is None:
            return None
        ends = [each / low[first] for each in (low[second], high[second])]
        function = replaced(root, {leaf(first): number(1), leaf(second): leaf(0)})
        fit = _polynomial(function, min(0.0, *ends), max(0.0, *ends), True, dtype, digits)
        if fit is not None:
            x, y = leaf(first), leaf(second)
            found = times_power(replaced(fit.polynomial, {leaf(0): made("divide", y, x)}), x, power)
            bound = max(map(abs, (low[second], high[second])))
            even = fit.low == -fit.high
            return found, (Guard(x, low[first], np.inf),
                           Guard(y, -bound if even else low[second], bound if even else high[second]))
    return None


def _degree(root: Expression, x: Expression, y: Expression) -> int | None:
    """The n of f(t x, t y) = t**n f(x, y); None where there is none."""
    mp, order = mpmath().mp, nodes(root)

    def at(a: Any, b: Any) -> Any:
        given = [mp.zero] * (1 + max(x.value, y.value))
        given[x.value], given[y.value] = a, b
        return truth.of_numbers(order, given)

    with mp.workprec(DIGITS):
        found: set[int] = set()
        for a, b in ((3, mp.mpf(1) / 7), (mp.mpf(5) / 3, mp.mpf(1) / 11)):
            before, after = at(a, b), at(2 * a, 2 * b)
            if before is None or after is None or before == 0 or after == 0:
                return None
            slope = mp.log(abs(after / before), 2)
            found.add(int(mp.nint(slope)))
            if abs(slope - mp.nint(slope)) > mp.mpf(2)**-200:
                return None
    return found.pop() if len(found) == 1 and max(map(abs, found)) <= MOST_DEGREE else None


def _samples(root: Expression, given: Sequence[Array], low: Sequence[float], high: Sequence[float],
             dtype: np.dtype) -> dict[Expression, Array]:
    """Values of all parts on the samples, and where leaves are at the ends of their ranges."""
    rows = [np.asarray(each, np.float64) for each in given]
    used = leaves(root)
    if len(used) <= MOST_CORNERS:
        corners = np.array(list(product(*((low[k], high[k]) if k in used else (rows[k][0],)
                                          for k in range(len(rows))))), np.float64).T
        rows = [np.concatenate(each) for each in zip(rows, corners, strict=True)]
    return in_floats(root, rows, np.dtype(np.float64))


def _fitted(node: Expression, values: dict[Expression, Array], dtype: np.dtype, digits: int
            ) -> tuple[Fit, Expression] | None:
    """A polynomial for a part that costs more, and the part it is a polynomial of: the innermost one that there is."""
    if not node.operands or cost(node, dtype) < LEAST_COST:
        return None
    for inner in _pivots(node):
        function = replaced(node, {inner: leaf(0)})
        price = cost(function, dtype)
        seen = np.atleast_1d(values[inner])
        if price < LEAST_COST or not np.isfinite(seen).all():
            continue
        found = _polynomial(function, float(seen.min()), float(seen.max()), inner.name == "leaf", dtype, digits)
        if found is not None and cost(found.polynomial, dtype) <= SAVING * price:
            return found, inner
    return None


def _pivots(root: Expression) -> Iterator[Expression]:
    """The parts that an expression is a function of, each alone; leaves first."""
    for node in nodes(root)[:-1]:
        if node.name != "number" and leaves(node) == leaves(root) and not leaves(replaced(root, {node: number(0)})):
            yield node


# ---- polynomials ---------------------------------------------------------------------------------------------------

@lru_cache(maxsize=512)
def _polynomial(root: Expression, low: float, high: float, exact: bool, dtype: np.dtype, digits: int) -> Fit | None:
    """Of a function of leaf 0 that is seen from low to high, in all places or (not `exact`) in some."""
    mp, order = mpmath().mp, nodes(root)
    if max(abs(low), abs(high)) > LARGEST:
        return None

    def value(x: Any) -> Any:
        found = truth.of_numbers(order, [x])
        return found if found is not None and mp.isfinite(found) else None

    with mp.workprec(DIGITS):
        for centre, bounds in _centres(value, low, high, exact):
            found = _series(value, centre, *bounds, digits)
            if found is not None and all(abs(each) < LARGEST for each in found[1]):
                power, coefficients, squared, (least, most) = found
                x = leaf(0) if centre == 0 else made("subtract", leaf(0), number(centre))
                rounded = [_rounded(each, dtype) for each in coefficients]
                polynomial = times_power(_summed(rounded, made("multiply", x, x) if squared else x), x, power)
                return Fit(polynomial, least, most)
    return None


def _summed(coefficients: Sequence[Fraction], at: Expression) -> Expression:
    """c0 + c1 at + c2 at**2 + ...: even and odd terms apart where there are many, so that not each operation waits for
    the one before (Estrin's scheme; Knuth, volume 2, section 4.6.4)."""
    if len(coefficients) <= SHORT:
        return horner(coefficients, at)
    even, odd = (_summed(coefficients[k::2], made("multiply", at, at)) for k in (0, 1))
    return made("add", even, made("multiply", at, odd))


def _centres(value: Callable[[Any], Any], low: float, high: float, exact: bool
             ) -> Iterator[tuple[float, tuple[float, float]]]:
    """Points to develop at, with the bounds for each: zeros of the function where there are any, else the middle."""
    if not exact:
        low, high = _extended(low, high), _extended(high, low)
    most = max(abs(low), abs(high))
    if low <= 0 <= high or min(abs(low), abs(high)) < 0.25 * most:
        yield 0.0, (min(low, 0.0), max(high, 0.0))
    if low < 1 < high and value(mpmath().mp.one) == 0:
        yield 1.0, (low, high)
    if low < high and 0 < low * high:
        yield float(np.float16((low + high) / 2)) if 1e-4 < most < 6e4 else (low + high) / 2, (low, high)


def _extended(end: float, other: float) -> float:
    """One end of a range, further away from the other one, but not to the other side of 0."""
    further = other + WIDER * (end - other)
    return further if further * end > 0 else end / 2


def _series(value: Callable[[Any], Any], centre: float, low: float, high: float, digits: int
            ) -> tuple[int, list[Any], bool, tuple[float, float]] | None:
    """The power and the coefficients of (x - centre), whether those are of its square, and where they hold; None where
    it takes too many."""
    mp = mpmath().mp
    below, above = mp.mpf(low) - centre, mp.mpf(high) - centre
    power = leading_power(lambda t: value(centre + t), 1 if above > 0 else -1)
    if power is None:
        return None

    def reduced(t: Any) -> Any:
        found = value(centre + t)
        return None if found is None else found / t**power

    size = max(abs(below), abs(above))
    squared = _is_even(reduced, size)
    ends = (mp.zero, size * size) if squared else (below, above)
    coefficients = _chebyshev((lambda s: reduced(mp.sqrt(s))) if squared else reduced, *ends, digits)
    if coefficients is None:
        return None
    bounds = (float(centre - size), float(centre + size)) if squared else (low, high)
    return power, coefficients, squared, bounds


def _is_even(function: Callable[[Any], Any], size: Any) -> bool:
    for part in (0.31, 0.77, 0.98):
        right, left = function(size * part), function(-size * part)
        if right is None or left is None or abs(right - left) > abs(right) * mpmath().mp.mpf(2)**-200:
            return False
    return True


def _chebyshev(function: Callable[[Any], Any], low: Any, high: Any, digits: int) -> list[Any] | None:
    """Coefficients of powers of a truncated Chebyshev series, whose relative error is below the wanted digits."""
    mp = mpmath().mp
    middle, half = (low + high) / 2, (high - low) / 2
    if half == 0:
        return None
    angles = [mp.pi * (k + mp.mpf(1) / 2) / NODES for k in range(NODES)]
    values = [function(middle + half * mp.cos(each)) for each in angles]
    if any(each is None for each in values):
        return None
    least = min(abs(each) for each in values)
    series = [2 * mp.fsum(v * mp.cos(k * a) for v, a in zip(values, angles, strict=True)) / NODES
              for k in range(NODES)]
    series[0] /= 2
    terms = next((k for k in range(1, MOST_TERMS + 1)
                  if mp.fsum(abs(each) for each in series[k:]) <= least * mp.mpf(2)**-(digits + 2)), None)
    return None if terms is None else _as_powers(series[:terms], middle, half)


def _as_powers(series: Sequence[Any], middle: Any, half: Any) -> list[Any]:
    """Coefficients of 1, x, x^2, ... of a sum of Chebyshev polynomials of (x - middle) / half."""
    mp = mpmath().mp
    before, now = [mp.one], [-middle / half, 1 / half]
    found = [mp.zero] * len(series)
    for k, factor in enumerate(series):
        for power, each in enumerate(before):
            found[power] += factor * each
        after = [mp.zero] * (len(now) + 1)
        for power, each in enumerate(now):
            after[power] -= 2 * middle / half * each
            after[power + 1] += 2 / half * each
        for power, each in enumerate(before):
            after[power] -= each
        before, now = now, after
        if k == len(series) - 1:
            break
    return found


def _rounded(value: Any, dtype: np.dtype) -> Fraction:
    """The float nearest to a coefficient, as a fraction."""
    near = Fraction(float(value))
    return Fraction(float(constant(near, dtype)))
