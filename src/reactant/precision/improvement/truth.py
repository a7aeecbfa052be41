"""What expressions of floats are in real numbers, and how many bits a float is away from that.

Values are computed with more and more digits until a result rounded to the float format no longer changes (the method
of Panchekha and others, "Automatically improving accuracy for floating point expressions", PLDI 2015, section 4.1); a
zero is only believed with more digits than the exponents of the format could hide.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from reactant.precision.improvement.expressions import Array, Expression, nodes
from reactant.precision.improvement.extra import mpmath

LARGEST_ARGUMENT = 1e7
"""Of exp and its kin: beyond it results leave every float format."""
DIGITS = (128, 256, 1024, 2400)
"""Binary digits that are tried: twice the exponents of float64 and its digits are fewer than the last."""


class Undefined(ArithmeticError):
    """There is no real number: a root of a negative one, a division by zero."""


def _operation_table() -> dict[str, Callable[..., Any]]:
    mp = mpmath().mp

    def positive(x: Any) -> Any:
        if not x > 0:
            raise Undefined
        return x

    def exponential(x: Any) -> Any:
        if abs(x) > LARGEST_ARGUMENT:
            return mp.inf if x > 0 else mp.zero
        return mp.exp(x)

    def power(x: Any, y: Any) -> Any:
        if x == 0:
            if y < 0:
                raise Undefined
            return mp.one if y == 0 else mp.zero
        if x < 0 and not mp.isint(y):
            raise Undefined
        size = exponential(y * mp.log(abs(x))) if not (mp.isint(y) and abs(y) < 64) else abs(x) ** int(y)
        return -size if x < 0 and int(y) % 2 else size

    def divide(x: Any, y: Any) -> Any:
        if y == 0:
            raise Undefined
        return x / y

    def root(x: Any) -> Any:
        if x < 0:
            raise Undefined
        return mp.sqrt(x)

    def within(function: Callable, least: float, most: float) -> Callable:
        def bounded(x: Any) -> Any:
            if not least <= x <= most:
                raise Undefined
            return function(x)
        return bounded

    def inside(function: Callable) -> Callable:
        return lambda x: function(x) if abs(x) < 1 else divide(mp.one, mp.zero)

    return {
        "add": lambda x, y: x + y, "subtract": lambda x, y: x - y, "multiply": lambda x, y: x * y, "divide": divide,
        "negate": lambda x: -x, "abs": abs, "sqrt": root, "rsqrt": lambda x: divide(mp.one, root(x)),
        "cbrt": lambda x: mp.cbrt(x) if x >= 0 else -mp.cbrt(-x),
        "exponential": exponential,
        "exponential_minus_one": lambda x: mp.expm1(x) if abs(x) <= LARGEST_ARGUMENT else exponential(x) - 1,
        "log": lambda x: mp.log(positive(x)), "log_plus_one": lambda x: mp.log1p(x) if x > -1 else positive(x - x),
        "logistic": lambda x: 1 / (1 + exponential(-x)), "sine": mp.sin, "cosine": mp.cos, "tan": mp.tan,
        "tanh": lambda x: mp.tanh(x) if abs(x) <= LARGEST_ARGUMENT else mp.sign(x), "power": power,
        "atan2": mp.atan2,
        "sinh": lambda x: mp.sinh(x) if abs(x) <= LARGEST_ARGUMENT else mp.sign(x) * mp.inf,
        "cosh": lambda x: mp.cosh(x) if abs(x) <= LARGEST_ARGUMENT else mp.inf,
        "asin": within(mp.asin, -1, 1), "acos": within(mp.acos, -1, 1), "atan": mp.atan, "asinh": mp.asinh,
        "acosh": within(mp.acosh, 1, np.inf), "atanh": inside(mp.atanh),
    }


_OPERATIONS: dict[str, Callable[..., Any]] = {}


def exactly(name: str, operands: Sequence[Any]) -> Any:
    """An operation on mpmath's numbers, with the digits they are set to; None where there is no real result."""
    if not _OPERATIONS:
        _OPERATIONS.update(_operation_table())
    if any(each is None for each in operands):
        return None
    try:
        found = _OPERATIONS[name](*operands)
    except (Undefined, ArithmeticError, ValueError, OverflowError, MemoryError):
        return None
    return None if found != found else found


def at(order: Sequence[Expression], given: Sequence[float]) -> dict[Expression, Any]:
    """The values of all parts, in the digits that mpmath is set to; None where there is none."""
    mp = mpmath().mp
    return _of_parts(order, [mp.mpf(float(value)) if np.isfinite(value) else None for value in given])


def of_numbers(order: Sequence[Expression], given: Sequence[Any]) -> Any:
    """The value of the last part for mpmath's numbers as leaves; None where there is none."""
    return _of_parts(order, given)[order[-1]]


def _of_parts(order: Sequence[Expression], given: Sequence[Any]) -> dict[Expression, Any]:
    found: dict[Expression, Any] = {}
    for node in order:
        if node.name == "leaf":
            found[node] = given[node.value]
        elif node.name == "number":
            found[node] = exact(node.value)
        else:
            found[node] = exactly(node.name, [found[each] for each in node.operands])
    return found


def exact(value: Fraction) -> Any:
    """A fraction as mpmath's number."""
    mp = mpmath().mp
    return mp.mpf(value.numerator) / value.denominator


def in_reals(root: Expression, given: Sequence[Array], dtype: np.dtype) -> tuple[dict[Expression, Array], list[int]]:
    """For each part the nearest floats to its real values, NaN where there are none or they could not be found; and how
    many binary digits each sample took."""
    mp, order = mpmath().mp, nodes(root)
    count = len(np.asarray(given[0])) if len(given) else 1
    found = {node: np.full(count, np.nan, dtype) for node in order}
    needed = []
    for k in range(count):
        row = [values[k] for values in given]
        before: list[Any] = []
        for digits in DIGITS:
            with mp.workprec(digits):
                values = at(order, row)
                rounded = [nearest(values[node], dtype) for node in order]
            settled = bool(before) and all(a == b or a != a and b != b for a, b in zip(before, rounded, strict=True))
            if settled and not any(values[node] == 0 for node in order if node.operands):
                break
            before = rounded
        needed.append(digits)
        for node, value in zip(order, rounded, strict=True):
            found[node][k] = value
    return found, needed


def rounded_at(root: Expression, given: Sequence[float], digits: int, dtype: np.dtype) -> Any:
    """The nearest float to what an expression is when all of it is computed with so many binary digits."""
    with mpmath().mp.workprec(digits):
        return nearest(at(nodes(root), given)[root], dtype)


def nearest(value: Any, dtype: np.dtype) -> Any:
    """The float nearest to one of mpmath's numbers; NaN for None."""
    if value is None:
        return dtype.type(np.nan)
    if not mpmath().mp.isfinite(value) or value == 0:
        return dtype.type(float(value))
    sign, mantissa, exponent, bits = value._mpf_
    if exponent + bits > 1100:
        return dtype.type(-np.inf if sign else np.inf)
    if exponent + bits < -1100:
        return dtype.type(0.0)
    if dtype == np.float64:
        return np.float64(float(value)) if exponent + bits > -1020 else np.float64(_subnormal(value))
    with np.errstate(over="ignore"):
        return _rounded_to(value, dtype)


def _subnormal(value: Any) -> float:
    """Below the normal numbers there are fewer digits: whole multiples of the least one."""
    mp = mpmath().mp
    return float(mp.nint(mp.ldexp(value, 1074))) * 2.0**-1074


def _rounded_to(value: Any, dtype: np.dtype) -> Any:
    """By way of float64, rounded to odd there, so that it is rounded once."""
    near = float(value)
    if abs(near) < 2.0**-1000:
        return dtype.type(0.0)
    rest = value - near
    if rest != 0 and not np.float64(near).view(np.int64) & 1:
        near = float(np.nextafter(near, np.inf if rest > 0 else -np.inf))
    return dtype.type(near)


def bits_of_error(values: Array, truth: Array, dtype: np.dtype) -> Array:
    """The binary logarithm of how many floats lie between: 0 for the nearest one, all bits of the format where one of
    both is NaN. Source: Panchekha and others, section 2.1."""
    most = 8.0 * dtype.itemsize
    values = np.asarray(values, dtype)
    between = np.abs(ordinal(values) - ordinal(truth)) if dtype.itemsize < 8 else _apart(values, truth)
    found = np.log2(between.astype(np.float64) + 1.0)
    both = np.isnan(values) & np.isnan(truth)
    return np.where(both, 0.0, np.where(np.isnan(values) | np.isnan(truth), most, found))


def ordinal(x: Array) -> Array:
    """Floats as integers in the same order."""
    whole = x.view(np.int64 if x.dtype.itemsize == 8 else np.int32).astype(np.int64)
    return np.where(whole < 0, np.int64(np.iinfo(np.int64 if x.dtype.itemsize == 8 else np.int32).min) - whole, whole)


def _apart(a: Array, b: Array) -> Array:
    """The distance of int64s, whose difference may not be one."""
    x, y = ordinal(a).astype(np.float64), ordinal(np.asarray(b)).astype(np.float64)
    near = np.abs(ordinal(a) - ordinal(np.asarray(b)))
    return np.where(np.abs(x - y) < 2.0**62, near.astype(np.float64), np.abs(x - y))
