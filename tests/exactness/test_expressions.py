"""Every expression of the table against NumPy, wherever it may stand: no zero, sign, infinity, NaN or branch that NumPy
does not have."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import reactant
from tests.exactness import extreme_expressions  # noqa: F401  (its part of the table)
from tests.exactness.expressions import TABLE, Entry

LONG = 1001
WITHOUT_DERIVATIVES = {"edge: mantissa"}
CASES = [(name, limits.dtype.name) for name, entry in TABLE.items() for limits in entry.limits]


def given(entry: Entry, dtype: str) -> tuple[np.ndarray, ...]:
    return tuple(entry.operands(np.finfo(dtype)))


def name_of(entry: Entry) -> str:
    return next(name for name, each in TABLE.items() if each is entry)


def numpy_of(function: Callable, *operands: Any) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*(np.array(each) if isinstance(each, np.ndarray) else each for each in operands))


def assert_alike(got: Any, wanted: Any, entry: Entry) -> None:
    """The same zeros, signs, infinities and NaN, and values as near as the entry says."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    if wanted.dtype.kind == "c":
        assert_alike(got.real, wanted.real, entry)
        assert_alike(got.imag, wanted.imag, entry)
        return
    if wanted.dtype.kind != "f":
        np.testing.assert_array_equal(got, wanted)
        return
    with np.errstate(all="ignore"):
        least, eps = np.finfo(wanted.dtype).smallest_subnormal, np.finfo(wanted.dtype).eps
        bad = np.isnan(got) != np.isnan(wanted)
        bad |= np.isinf(got) != np.isinf(wanted)
        near = np.abs(got - wanted) <= max(entry.near * eps, 0) if entry.near else np.zeros(np.shape(got), bool)
        bad |= ((got == 0) != (wanted == 0)) & ~near
        ordered = ~np.isnan(wanted) & ~np.isnan(got)
        bad |= ordered & ~near & (np.signbit(got) != np.signbit(wanted)) & ((wanted != 0) | (not entry.zeros))
        room = entry.ulps * np.maximum(np.spacing(np.abs(wanted)), least)
        bad |= np.isfinite(wanted) & ~near & (got != wanted) & ~(np.abs(got - wanted) <= room)
    if bad.any():
        where = np.argwhere(bad)[:5]
        raise AssertionError(f"{bad.sum()} of {bad.size}: " + "; ".join(
            f"{tuple(map(int, at))}: {got[tuple(at)]!r} for {wanted[tuple(at)]!r}" for at in where))


def few(entry: Entry, operands: tuple[np.ndarray, ...], count: int = 24) -> range:
    """Which elements are asked one by one."""
    length = len(operands[0])
    return range(0, length, max(1, length // count) | 1) if length > count else range(length)


def as_array(entry: Entry, operands: tuple, native: str) -> None:
    assert_alike(reactant.jit(entry.function, native=native)(*operands), numpy_of(entry.function, *operands), entry)


def as_long_array(entry: Entry, operands: tuple, native: str) -> None:
    as_array(entry, tuple(np.resize(each, LONG) for each in operands), native)


def as_numbers(entry: Entry, operands: tuple, native: str) -> None:
    compiled = reactant.jit(entry.function, native=native)
    for k in few(entry, operands):
        numbers = [each[k] for each in operands]
        assert_alike(compiled(*numbers), numpy_of(entry.function, *numbers), entry)


def in_a_loop(entry: Entry, operands: tuple, native: str) -> None:
    function = entry.function
    if entry.each:
        def looped(result, *given):
            for i in range(len(given[0])):
                result[i] = function(*[each[i] for each in given])
            return result
    else:
        def looped(result, *given):
            for i in range(3):
                result[i] = function(*[each + each * (i - i) for each in given])
            return result
    shown = np.asarray(numpy_of(function, *operands))
    result = np.zeros(shown.shape if entry.each else (3, *shown.shape), shown.dtype)
    wanted = numpy_of(looped, result, *operands)
    assert_alike(reactant.jit(looped, native=native, unroll_limit=0)(result, *operands), wanted, entry)


def in_a_branch(entry: Entry, operands: tuple, native: str) -> None:
    function = entry.function

    def branching(chosen, *given):
        result = function(*given)
        if chosen > 0:
            return function(*given)
        return result * 0

    wanted = numpy_of(branching, 1, *operands)
    assert_alike(reactant.jit(branching, native=native)(1, *operands), wanted, entry)


def deciding(entry: Entry, operands: tuple, native: str) -> None:
    function = entry.function

    def decided(*given):
        result = np.real(function(*given))      # NumPy's complex scalars and arrays order NaN differently
        if result > 0:
            return 1
        if result < 0:
            return -1
        return 0 if result == 0 else 2

    def many(*given):
        result = np.real(function(*given))
        return np.where(result > 0, 1, np.where(result < 0, -1, np.where(result == 0, 0, 2)))

    if entry.each and not entry.near:
        compiled = reactant.jit(decided, native=native)
        for k in few(entry, operands, 12):
            numbers = [each[k] for each in operands]
            assert compiled(*numbers) == numpy_of(decided, *numbers), numbers
    if not entry.near:
        np.testing.assert_array_equal(reactant.jit(many, native=native)(*operands), numpy_of(many, *operands))


def mapped(entry: Entry, operands: tuple, native: str) -> None:
    function = entry.function
    if entry.each:
        wanted = np.array([numpy_of(function, *[each[k] for each in operands]) for k in range(len(operands[0]))])
        assert_alike(reactant.vmap(function)(*operands), wanted, entry)
    else:
        wanted = np.stack([numpy_of(function, *operands)] * 3)
        assert_alike(reactant.vmap(function)(*[np.stack([each] * 3) for each in operands]), wanted, entry)


def with_derivatives(entry: Entry, operands: tuple, native: str) -> None:
    def total(*given):
        return np.sum(entry.function(*given))

    wanted = numpy_of(entry.function, *operands)
    if np.asarray(wanted).dtype.kind != "f":
        return
    if name_of(entry) in WITHOUT_DERIVATIVES:
        with pytest.raises(reactant.NotDifferentiable):
            reactant.jvp(entry.function, operands, operands)
        return
    value, _ = reactant.jvp(entry.function, operands, tuple(np.ones_like(each) for each in operands))
    assert_alike(value, wanted, entry)
    gradient = reactant.grad(total, argnums=tuple(range(len(operands))))(*operands)
    assert all(map(np.shape, gradient))
    if entry.smooth:
        assert all(np.isfinite(each).all() for each in gradient)


SETTINGS: dict[str, Callable] = {
    "array": as_array, "long": as_long_array, "numbers": as_numbers, "loop": in_a_loop, "branch": in_a_branch,
    "deciding": deciding, "vmap": mapped, "derivatives": with_derivatives}


ONE_BY_ONE = {"long", "numbers"}
BY_XLA = {"vmap", "derivatives"}
"""Settings that are the same with native code."""
ROWS = [(name, dtype, setting) for name, dtype in CASES for setting in SETTINGS
        if TABLE[name].each or setting not in ONE_BY_ONE]


@pytest.mark.sampled(300)
@pytest.mark.parametrize(("name", "dtype", "setting"), ROWS, ids=map("-".join, ROWS))
def test_table(name, dtype, setting):
    entry = TABLE[name]
    for native in ("never",) if setting in BY_XLA else ("never", "always"):
        SETTINGS[setting](entry, given(entry, dtype), native)
