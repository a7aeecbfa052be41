"""Arithmetic of run-time Python numbers among themselves: Python's rules, not NumPy's.

`int / int` is float, `bool + bool` is int, division by zero raises ZeroDivisionError (after the call, since it is only
known then). Where Python's result type would depend on the values (a negative number to a fractional power is complex,
an int to a negative power is float) the compiled program raises. Two differences are documented: Python's unbounded
integers are 64-bit here, and the compiled program raises where a result needs more; and a float power that overflows is
inf instead of OverflowError.
Known integer bounds (`Tensor.interval`) are carried along, so that index checks can be decided while tracing.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ReactantError
from reactant.frontends.arrays import python_overflow
from reactant.frontends.arrays.casting import cast
from reactant.frontends.arrays.elementwise import loop
from reactant.frontends.arrays.promotion import PYTHON_DTYPES, python_type
from reactant.frontends.arrays.tensor import PYTHON, Tensor, is_tensor, python_number
from reactant.frontends.arrays.tensor_methods import COMPARISONS
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops

_RANK = {bool: 0, int: 1, float: 2, complex: 3}
_DIVISIONS = {np.divide, np.floor_divide, np.remainder}
_BITWISE = {np.bitwise_and, np.bitwise_or, np.bitwise_xor}


def is_python(x: object) -> bool:
    """A Python number, known now or at run time."""
    return x.kind == PYTHON if is_tensor(x) else (isinstance(x, (bool, int, float, complex))
                                                       and not isinstance(x, np.generic))


def both_python(x: object, y: object) -> bool:
    return is_python(x) and is_python(y)


def _type(x: object) -> type:
    if is_tensor(x):
        return python_type(x.dtype)
    return next(kind for kind in _RANK if isinstance(x, kind))      # members of `IntEnum` are numbers, too


def _value(x: object, dtype: np.dtype) -> ir.Value:
    return cast(x.value(), dtype) if is_tensor(x) else ops.constant(x, dtype)


def _result_type(ufunc: np.ufunc, x: object, y: object) -> type:
    widest = max(_type(x), _type(y), key=_RANK.__getitem__)
    if ufunc in _BITWISE and widest is bool:
        return bool
    if widest is bool:
        widest = int
    if ufunc is np.divide and widest is int:
        return float
    if ufunc is np.power and widest is int and not (not is_tensor(y) and y >= 0):
        if not is_tensor(y) or (y.interval and y.interval[1] < 0):
            return float
    return widest


_SIGNS = {np.less: "<", np.less_equal: "<=", np.greater: ">", np.greater_equal: ">="}


def require_order(ufunc: np.ufunc, x: object, y: object) -> None:
    """Python's complex numbers have none."""
    kinds = _type(x), _type(y)
    if ufunc in _SIGNS and complex in kinds:
        raise TypeError(f"'{_SIGNS[ufunc]}' not supported between instances of '{kinds[0].__name__}' and "
                        f"'{kinds[1].__name__}'")


def binary(ufunc: np.ufunc, x: object, y: object) -> Any:
    """An operator between two Python numbers, at least one of them known only at run time."""
    integers = _RANK[max(_type(x), _type(y), key=_RANK.__getitem__)] <= 1
    if integers and (python_overflow.is_wide(x) or python_overflow.is_wide(y)):
        return _with_wide(ufunc, x, y)
    if ufunc in COMPARISONS.values():
        require_order(ufunc, x, y)
        if (decided := _decided(ufunc, bounds(x), bounds(y))) is not None:
            return decided
        dtype = PYTHON_DTYPES[max(_type(x), _type(y), key=_RANK.__getitem__)]
        return python_number(loop(ufunc)([_value(x, dtype), _value(y, dtype)], (dtype, dtype, np.dtype(bool))))
    kind = _result_type(ufunc, x, y)
    dtype = PYTHON_DTYPES[kind]
    if ufunc in _DIVISIONS:
        _check_divisor(ufunc, y)
    if ufunc is np.power:
        _check_power(x, y, kind)
    left, right = _value(x, dtype), _value(y, dtype)
    result = loop(ufunc)([left, right], (dtype,) * 3)
    if kind is not int:
        return python_number(result)
    python_overflow.require_exact(ufunc, bounds(x), bounds(y), left, right, result)
    return python_number(result, interval=_interval(ufunc, x, y))


def _with_wide(ufunc: np.ufunc, x: Any, y: Any) -> Any:
    """A run-time integer and one, known now, of more than 64 bits."""
    if ufunc in COMPARISONS.values():
        return _decided(ufunc, *(bounds(v) or python_overflow.ALL for v in (x, y)))
    if is_tensor(y) and ufunc is np.bitwise_and:
        x, y = y, x
    if is_tensor(y):
        raise OverflowError(python_overflow.ADVICE)
    narrow = python_overflow.narrowed(ufunc, _value(x, PYTHON_DTYPES[int]), y)
    return x if narrow is None else binary(ufunc, x, narrow)


def unary(ufunc: np.ufunc, x: Tensor) -> Any:
    """`-x`, `+x`, `abs(x)`, `~x` of a Python number."""
    dtype = PYTHON_DTYPES[int] if x.dtype == bool else x.dtype
    out = np.dtype(np.float64) if dtype.kind == "c" and ufunc is np.absolute else dtype
    interval = None
    if x.interval is not None and ufunc in (np.negative, np.absolute):
        low, high = x.interval
        interval = (-high, -low) if ufunc is np.negative else (max(low, -high, 0), max(high, -low))
    value = _value(x, dtype)
    if dtype.kind == "i" and ufunc in (np.negative, np.absolute):
        python_overflow.require_negatable(x.interval, value)
    return python_number(loop(ufunc)([value], (dtype, out)), interval=interval)


def power_modulo(x: object, y: object, modulus: object) -> Any:
    """`pow(x, y, modulus)` of Python integers: by squaring, so that no power is larger than the square of the modulus.

    Raises when run: `ValueError` for a modulus of 0, `ReactantError` for a negative exponent, `OverflowError` for a
    modulus of 2**31.5 and more.
    """
    if any(_type(v) not in (int, bool) for v in (x, y, modulus)) or not all(map(is_python, (x, y, modulus))):
        raise TypeError("pow() 3rd argument not allowed unless all arguments are integers")
    integer, trace = PYTHON_DTYPES[int], current_trace()
    base, exponent, m = (_value(v, integer) for v in (x, y, modulus))
    trace.check(ops.compare(m, 0, "NE"), lambda: ValueError("pow() 3rd argument cannot be 0"))
    trace.check(ops.compare(exponent, 0, "GE"), lambda: ReactantError(
        "pow() with a negative exponent and a modulus is not supported in compiled code.",
        hint="Compute the inverse before the call, or make the arguments static (static_argnames=...).",
        code="type-depends-on-values"))
    python_overflow.require(ops.compare(ops.abs(m), python_overflow.ROOT, "LE"))
    remainder = _remainder(m)
    start = remainder(ops.constant(1, integer)), remainder(base), exponent

    def iteration(made: ir.Value, square: ir.Value, left: ir.Value) -> tuple[ir.Value, ...]:
        odd = ops.compare(ops.and_(left, 1), 1, "EQ")
        return (ops.select(odd, remainder(ops.multiply(made, square)), made), remainder(ops.multiply(square, square)),
                ops.shift_right_arithmetic(left, 1))

    made = ops.while_(start, lambda made, square, left: ops.compare(left, 0, "GT"), iteration)[0]
    return python_number(made)


def _remainder(m: ir.Value) -> Callable[[ir.Value], ir.Value]:
    return lambda v: loop(np.remainder)([v, m], (PYTHON_DTYPES[int],) * 3)


def _check_divisor(ufunc: np.ufunc, divisor: object) -> None:
    if not is_tensor(divisor):
        if divisor == 0:
            raise ZeroDivisionError("division by zero")
        return
    if divisor.interval is not None and not divisor.interval[0] <= 0 <= divisor.interval[1]:
        return
    text = {np.floor_divide: "integer division or modulo by zero", np.remainder: "integer modulo by zero"}.get(
        ufunc, "division by zero") if divisor.dtype.kind in "bi" else "division by zero"
    current_trace().check(ops.compare(divisor.value(), 0, "NE"), lambda: ZeroDivisionError(text))


def _check_power(x: Any, y: Any, kind: type) -> None:
    """Require what keeps the result's type: see the module. Nothing is checked that is known to hold."""
    if kind is complex:
        return
    low = found[0] if (found := bounds(y)) else y if isinstance(y, float) and not is_tensor(y) else None
    trace = current_trace()
    if kind is int:
        if low is None or low < 0:
            trace.check(ops.compare(_value(y, PYTHON_DTYPES[int]), 0, "GE"), lambda: ReactantError(
                "An int to the power of a negative int is a float in Python, and the type of a compiled result "
                "cannot depend on values.", hint="Make the base or the exponent a float.",
                code="type-depends-on-values"))
        return
    base, exponent = _value(x, PYTHON_DTYPES[float]), _value(y, PYTHON_DTYPES[float])
    if low is None or low < 0:
        ok = ops.or_(ops.compare(base, 0, "NE"), ops.compare(exponent, 0, "GE"))
        trace.check(ok, lambda: ZeroDivisionError("0.0 cannot be raised to a negative power"))
    whole = _type(y) is not float or (not is_tensor(y) and y == int(y))
    if not whole and not (not is_tensor(x) and x >= 0):
        fits = ops.compare(exponent, ops.round_nearest_even(exponent), "EQ")
        negative = ops.and_(ops.compare(base, 0, "LT"), ops.is_finite(base))
        trace.check(ops.or_(ops.not_(negative), fits), lambda: ReactantError(
            "A negative float to a fractional power is complex in Python, and the type of a compiled result cannot "
            "depend on values.", hint="Make the base complex, or use np.power, which gives NaN.",
            code="type-depends-on-values"))


def bounds(x: object) -> tuple[int, int] | None:
    """Known inclusive bounds of an integer."""
    if is_tensor(x):
        return (0, 1) if x.interval is None and x.dtype == bool else x.interval
    return (int(x), int(x)) if isinstance(x, (int, np.integer)) else None


def _decided(ufunc: np.ufunc, a: tuple[int, int] | None, b: tuple[int, int] | None) -> bool | None:
    """The outcome of a comparison that the bounds of its operands decide."""
    if a is None or b is None:
        return None
    corners = {bool(ufunc(p, q)) for p in a for q in b}
    if ufunc in (np.equal, np.not_equal):
        apart = a[1] < b[0] or b[1] < a[0]
        return corners.pop() if apart or a[0] == a[1] == b[0] == b[1] else None
    return corners.pop() if len(corners) == 1 else None


def _interval(ufunc: np.ufunc, x: object, y: object) -> tuple[int, int] | None:
    """Interval arithmetic on integers; None when unknown or beyond 62 bits."""
    a, b = bounds(x), bounds(y)
    if a is None or b is None:
        if ufunc is np.remainder and b is not None and b[0] > 0:
            return (0, b[1] - 1)
        known = a or b
        return (0, known[1]) if ufunc is np.bitwise_and and known is not None and known[0] >= 0 else None
    if ufunc is np.add:
        found = (a[0] + b[0], a[1] + b[1])
    elif ufunc is np.subtract:
        found = (a[0] - b[1], a[1] - b[0])
    elif ufunc is np.multiply:
        corners = [p * q for p in a for q in b]
        found = (min(corners), max(corners))
    elif ufunc is np.floor_divide and b[0] > 0:
        corners = [p // q for p in a for q in b]
        found = (min(corners), max(corners))
    elif ufunc is np.remainder and b[0] > 0:
        found = a if a[0] >= 0 and a[1] < b[0] else (0, b[1] - 1)
    elif ufunc is np.bitwise_and and max(a[0], b[0]) >= 0:
        found = (0, min(end[1] for end in (a, b) if end[0] >= 0))
    elif ufunc in (np.bitwise_or, np.bitwise_xor) and min(a[0], b[0]) >= 0:
        found = (0, (1 << max(a[1], b[1]).bit_length()) - 1)
    elif ufunc in (np.left_shift, np.right_shift) and 0 <= b[0] and b[1] < 64:
        corners = [p << q if ufunc is np.left_shift else p >> q for p in a for q in b]
        found = (min(corners), max(corners))
    else:
        return None
    return found if -2**62 < found[0] and found[1] < 2**62 else None


def to_python(result: Any) -> Any:
    """A scalar as a number of Python's."""
    return Tensor.of_value(result.value(), PYTHON) if is_tensor(result) else result.item()
