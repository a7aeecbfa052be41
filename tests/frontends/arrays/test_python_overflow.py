"""Run-time Python integers are exact, or raise where 64 bits are not enough."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

import reactant
from reactant.frontends.arrays import python_numbers, python_overflow
from reactant.frontends.arrays.tensor import Tensor
from tests.oracle import check

RANDOM = np.random.default_rng(5)
NUMBERS = np.array([0, 1, -1, 2, 3, -7, 62, 63, 64, 2**31, 2**32 - 1, -2**32, 3037000499, 3037000500, 2**62, -2**62,
                    2**63 - 1, -2**63, 1442695040888963407])
BINARY = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
          "floordiv": lambda x, y: x // y, "lshift": lambda x, y: x << y, "pow": lambda x, y: x ** y}


@pytest.mark.parametrize("kind", BINARY)
def test_operators_are_exact_or_raise(kind):
    operate = BINARY[kind]
    program = reactant.jit(lambda x, y: operate(int(x), int(y)))
    for x, y in itertools.product(NUMBERS[:: 1 if kind == "mul" else 2], NUMBERS):
        if kind in ("lshift", "pow") and not 0 <= y <= 64:
            continue
        try:
            plain = operate(int(x), int(y))
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                program(x, y)
            continue
        if -2**63 <= plain < 2**63:
            assert program(x, y) == plain, (x, y)
        else:
            with pytest.raises(OverflowError, match="more than 64 bits"):
                program(x, y)


@pytest.mark.parametrize("constant", [2, -3, 1000003, 2**31, -2**62, 2**63 - 1, -2**63])
def test_operators_with_a_constant(constant):
    programs = [reactant.jit(f) for f in (lambda x: int(x) + constant, lambda x: constant - int(x),
                                          lambda x: int(x) * constant, lambda x: -int(x), lambda x: abs(int(x)))]
    for program, x in itertools.product(programs, NUMBERS):
        plain = program.function(x)
        if -2**63 <= plain < 2**63:
            assert program(x) == plain, x
        else:
            with pytest.raises(OverflowError, match="more than 64 bits"):
                program(x)


def growing(x):
    h = 7
    for v in x:
        h = h * 31 + int(v)
    return h


def fibonacci(n):
    a, b = 0, 1
    for _ in range(int(n)):
        a, b = b, a + b
    return a


def hashed(x):
    h = 2166136261
    for v in x:
        h = ((h ^ int(v)) * 16777619) & 0xFFFFFFFF
    return h


def generated(x):
    s, out = int(x[0]), np.zeros(50)
    for i in range(50):
        s = (s * 1103515245 + 12345) % 2**31
        out[i] = s / 2**31
    return out


def power(x):
    base, exponent, result = int(x[0]), int(x[1]), 1
    while exponent > 0:
        if exponent & 1:
            result = result * base % 1000003
        base = base * base % 1000003
        exponent >>= 1
    return result, pow(int(x[0]), int(x[1]), 1000003), pow(-int(x[2]), int(x[1]), -13), pow(int(x[0]), 0, 1)


def wide_constants(x):
    h = int(x[0])
    for i in range(5):
        h = ((h * 31) & (2**64 - 1)) + int(x[i])
    return h, h < 2**70, -2**65 < h, h == 2**64, h % 2**64, (2**80 - 1) & h, float(h) * 2**70


@pytest.mark.parametrize("program", [hashed, generated, power, wide_constants])
def test_programs_that_stay_small(program):
    check(program, RANDOM.integers(1, 1000, 40))


def test_loops_that_leave_64_bits():
    x = RANDOM.integers(1, 1000, 40)
    check(growing, x[:11])
    check(fibonacci, np.int64(91))
    for program, argument in ((growing, x), (fibonacci, np.int64(92))):
        with pytest.raises(OverflowError, match="more than 64 bits") as caught:
            reactant.jit(program)(argument)
        assert "test_python_overflow.py" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "uint64",
                                   "bool"])
def test_conversions(dtype):
    x = np.array([0, 1, 100]).astype(dtype)
    check(lambda x: [int(v) * 3 - 1 for v in x], x)
    if dtype == "uint64":
        with pytest.raises(OverflowError):
            reactant.jit(lambda v: int(v))(np.uint64(2**63))
    if dtype == "float64":
        for value in (np.nan, np.inf, -np.inf, 1e19, -2.0**62):
            with pytest.raises(ValueError, match="cannot convert"):
                reactant.jit(lambda v: int(v))(np.float64(value))


def test_indices_and_counters_need_no_checks(monkeypatch):
    def program(x, k):
        total = 0
        for i in range(len(x)):
            total += i * 3 + int(k[i] > 0)
            x[(i * 7 + 1) % len(x)] = total - 1
        return total

    x, k = np.zeros(500), RANDOM.integers(-3, 3, 500)
    monkeypatch.setattr(python_overflow, "require", lambda ok: pytest.fail("a check"))
    check(program, x, k)


def test_bounds_of_bitwise_operators_hold():
    def within(bounds):
        made = Tensor.__new__(Tensor)
        made.dtype, made.interval = np.dtype(np.int64), bounds
        return made

    ranges = [(0, 5), (-3, 6), (7, 9), (-9, -2), (0, 0), (3, 16)]
    for ufunc, operate in ((np.bitwise_and, int.__and__), (np.bitwise_or, int.__or__), (np.bitwise_xor, int.__xor__),
                           (np.left_shift, int.__lshift__), (np.right_shift, int.__rshift__)):
        for a, b in itertools.product(ranges, ranges):
            if "shift" in ufunc.__name__ and b[0] < 0:
                continue
            if (found := python_numbers._interval(ufunc, within(a), within(b))) is not None:
                every = [operate(p, q) for p in range(a[0], a[1] + 1) for q in range(b[0], b[1] + 1)]
                assert found[0] <= min(every) and max(every) <= found[1], (ufunc, a, b)


def test_bits_of_integers():
    program = reactant.jit(lambda x: (int(x).bit_count(), int(x).bit_length(), (int(x) > 2).bit_count()))
    for x in NUMBERS:
        assert program(x) == program.function(x), x
    check(lambda x: x[3].bit_count(), NUMBERS)
    with pytest.raises(AttributeError, match="bit_length"):
        reactant.jit(lambda x: float(x).bit_length())(1.5)


# ---- narrower dtypes -------------------------------------------------------------------------------------------------

def _stored(v, n, x):
    v[1] = n
    return v


def _stored_in_a_loop(v, n, x):
    for k in range(len(v)):
        v[k] = x
    return v


def _at_places(v, n, x):
    v[[0, 2]] = n
    return v


def _in_place(v, n, x):
    v += n
    return v


NARROW = [lambda v, n, x: v < n, lambda v, n, x: n >= v, lambda v, n, x: np.not_equal(v, n), lambda v, n, x: v[0] > n,
          lambda v, n, x: v + n, lambda v, n, x: np.maximum(v, n), lambda v, n, x: np.clip(v, 0, n),
          lambda v, n, x: np.clip(v, n, None), lambda v, n, x: np.searchsorted(v, n), _stored, _stored_in_a_loop,
          _at_places, _in_place, lambda v, n, x: np.array([n, n], v.dtype),
          lambda v, n, x: np.array([x[()], n], v.dtype) if v.dtype.kind == "i" else 0]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint32", "int32", "uint64"])
def test_numbers_beyond_narrow_dtypes(dtype):
    """Compared as they are; elsewhere NumPy's OverflowError. (They wrapped around.)"""
    programs = [reactant.jit(lambda v, x, f=f: f(v, int(x), x)) for f in NARROW]
    for number in (300, -1, 70000, 2**40, 5, 127, 128, -300):
        for program in programs:
            values = np.arange(1, 100, 25).astype(dtype)
            try:
                plain = program.function(values.copy(), np.int64(number))
            except OverflowError:
                with pytest.raises(OverflowError, match="out of bounds"):
                    program(values, np.int64(number))
                continue
            found = program(values, np.int64(number))
            assert found.dtype == plain.dtype if isinstance(plain, np.ndarray) else found == plain
            np.testing.assert_array_equal(found, plain)


@pytest.mark.parametrize("dtype, number, error", [
    ("int32", np.nan, ValueError), ("int16", np.inf, OverflowError), ("int64", 2.0**63, OverflowError),
    ("int64", -2.0**63, None), ("int8", -128.9, None), ("int8", 128.0, OverflowError),
    ("int32", 2.0**31, OverflowError)])
def test_floats_in_signed_integers(dtype, number, error):
    def keep(v, x):
        v[1] = x
        return v
    program = reactant.jit(keep)
    if error is not None:
        for run in (program, keep):
            with pytest.raises(error):
                run(np.ones(3, dtype), np.float64(number))
    else:
        np.testing.assert_array_equal(program(np.ones(3, dtype), np.float64(number)), keep(
            np.ones(3, dtype), np.float64(number)))


def test_what_is_known_to_fit_is_not_checked():
    def count(v, x):
        for k in range(len(v)):
            v[k] = k
            v[k] += len(x[x > 0])
        return v + np.count_nonzero(x > 0)
    assert reactant.jit(count).lower(np.zeros(100, np.int16), np.ones(100)).traced.flags is None


@pytest.mark.parametrize("source", ["int8", "uint8", "int16", "uint32", "int64", "uint64", "float32", "complex64"])
@pytest.mark.parametrize("number", [3, 200, -1])
@pytest.mark.filterwarnings("ignore:Casting complex", "ignore:invalid value", "ignore:overflow")
def test_scalars_stored_in_arrays_of_other_integers(source, number):
    """Where the element's dtype cannot hold the bounds of the array's, storing any number said that it overflows."""
    def stored(x, w):
        w[0] = x[0]
        return w
    x = np.array([number]).astype(source)
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint64", "int64"):
        check(stored, x, np.zeros(2, dtype))


def test_a_truth_stored_among_integers():
    def stored(x, w):
        w[0] = bool(x[0])
        return w
    check(stored, np.array([3]), np.zeros(2, np.int8))
