"""Calling ufuncs: promotion, broadcasting, result kinds, `out=`, `where=`, casting, memory layout."""
from __future__ import annotations

import enum

import numpy as np
import pytest

import reactant
from tests.frontends.numpy import samples
from tests.frontends.numpy.tables import check_table
from tests.oracle import check

NUMBERS = {"bool": True, "int": 3, "float": 2.5, "complex": 1 + 2j}
SCALARS = [np.float32(1.5), np.float64(2.5), np.int8(3), np.uint64(7), np.complex64(1j), np.bool_(True),
           np.float16(0.5)]
X = np.arange(12.0).reshape(3, 4)


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_python_numbers_are_weak(number):
    """NEP 50: a Python number takes the array's dtype, or its kind's default."""
    arrays = [samples.ordinary(d, 3) for d in samples.ALL]
    check_table([lambda *a: [x + number for x in a], lambda *a: [number * x for x in a],
                 lambda *a: [np.true_divide(x, number) for x in a], lambda *a: [np.maximum(x, number) for x in a],
                 lambda *a: [x == number for x in a]], *arrays, rtol=1e-6)


@pytest.mark.slow
def test_numpy_scalars_are_strong():
    arrays = [samples.ordinary(d, 3) for d in samples.ALL]
    check_table([lambda *a, s=s: [x + s for x in a] for s in SCALARS], *arrays, rtol=1e-6)


class Metres(float):
    pass


class Count(int):
    pass


class Level(enum.IntEnum):
    HIGH = 2


class Constant(float, enum.Enum):
    HALF = 0.5


@pytest.mark.slow
@pytest.mark.parametrize("number", [Metres(2.5), Count(3), Level.HIGH, Constant.HALF], ids=repr)
def test_numbers_of_types_made_of_pythons_are_strong(number):
    """int8 + IntEnum was int8; other such numbers raised."""
    arrays = [samples.ordinary(d, 3) for d in samples.ALL]
    check_table([lambda *a: [x + number for x in a], lambda *a: [number * x for x in a],
                 lambda *a: [np.where(x > 0, number, x) for x in a], lambda *a: [x[0] * number for x in a],
                 lambda *a: [np.array([number, x[0]]) for x in a], lambda *a: np.clip(a[0], number, None)],
                *arrays, rtol=1e-6)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("pair", [(a, b) for a in samples.ALL for b in samples.ALL if a < b], ids="".join)
def test_mixed_dtypes(pair):
    a, b = (samples.ordinary(d, 4) for d in pair)
    with np.errstate(all="ignore"):
        expected = [a + b, np.true_divide(a, np.where(b == 0, 1, b)), a < b]
    found = reactant.jit(lambda a, b: [a + b, np.true_divide(a, np.where(b == 0, 1, b)), a < b])(a, b)
    for e, f in zip(expected, found, strict=True):
        assert e.dtype == f.dtype
        np.testing.assert_allclose(f, e, rtol=1e-2 if e.dtype == np.float16 else 1e-6)


@pytest.mark.parametrize("number", [300, -1, 2**40])
def test_integers_out_of_bounds_raise(number):
    with pytest.raises(OverflowError, match="out of bounds for uint8"):
        reactant.jit(lambda x: x + number)(np.arange(3, dtype=np.uint8))


def test_broadcasting():
    column, number, empty = np.arange(3.0)[:, None], np.array(2.0), np.zeros((0, 4))
    check_table([lambda x, c, n, e: x + c, lambda x, c, n, e: c - x[0], lambda x, c, n, e: x * n,
                 lambda x, c, n, e: e + x[0], lambda x, c, n, e: e + c[:0], lambda x, c, n, e: x[:, None] + c,
                 lambda x, c, n, e: np.add(x, [1, 2, 3, 4]), lambda x, c, n, e: x + x[:2]], X, column, number, empty)


def test_result_kinds():
    """All-0-d operands give a scalar, which is immutable and copies; anything else gives an array."""
    found = check(lambda x, n: (x[0, 0] + 1, n + n, np.sin(n), x[0, :1] + 1, np.add(n, 1), -n, n == 2, np.divmod(n, 2)),
                  X, np.array(2.0))
    assert [type(f) for f in found[:3]] == [np.float64, np.float64, np.float64]
    assert type(found[6]) is np.bool_


def test_scalars_do_not_alias():
    def step(x):
        first = x[0]
        x[0] = 7
        first += 1
        return first, x
    check(step, np.arange(3.0))


def test_out():
    def step(x, y, narrow, whole):
        same = np.add(x, 1, out=y)
        np.multiply(x, 2, out=narrow)
        np.floor(x, whole)
        np.add(y, y.T[0, 0], y)
        return same is y, np.divmod(x, 3, out=(y, narrow))[0] is y
    check(step, X, np.zeros((3, 4)), np.zeros((3, 4), np.float32), np.zeros((3, 4)))


def test_out_is_a_view():
    def step(x):
        np.sqrt(x[::2], out=x[::-2])
        np.add(x[:, 0], 1, out=x[:, 1])
    check(step, X + 1)


OUT_ERRORS = {
    "casting": lambda x, i: np.add(x, 0.5, out=i), "shape": lambda x, i: np.add(x, 1, out=x[:2]),
    "too small": lambda x, i: np.add(x, x, out=x[0]), "in place": lambda x, i: i.__iadd__(0.5),
    "divide": lambda x, i: i.__itruediv__(2), "unsafe dtype": lambda x, i: np.add(x, x, dtype=int),
    "bool minus": lambda x, i: (x > 0) - (x > 1), "bool negative": lambda x, i: -(x > 0),
    "bitwise of floats": lambda x, i: x & x, "shift of floats": lambda x, i: x << 1,
    "invert of floats": lambda x, i: ~x,
    "floor of complex": lambda x, i: np.floor(x * 1j), "operands": lambda x, i: x + x[:2],
    "remainder of complex": lambda x, i: (x * 1j) % 2, "gcd of floats": lambda x, i: np.gcd(x, x),
    "equiv": lambda x, i: np.add(x, i, casting="equiv"), "uint64 shift": lambda x, i: i.astype(np.uint64) << i,
}


@pytest.mark.parametrize("name", OUT_ERRORS)
def test_errors_are_numpys(name):
    check(OUT_ERRORS[name], X, np.arange(12).reshape(3, 4))


def test_where():
    def step(x, mask, y):
        np.sqrt(x, out=y, where=mask)
        z = np.add(x, 1, where=mask, out=np.zeros(x.shape))
        np.add(y, 100, out=y, where=mask[:1])
        np.negative(y, out=y, where=False)
        return z
    check(step, X, X % 3 == 0, np.full((3, 4), -1.0))


def test_dtype_and_casting():
    i = np.arange(6)
    check_table([lambda x, i: np.add(i, i, dtype=np.float32), lambda x, i: np.add(x, x, dtype=np.complex64),
                 lambda x, i: np.add(x, x, dtype=int, casting="unsafe"), lambda x, i: np.sqrt(i, dtype=np.float32),
                 lambda x, i: np.power(i, 2.0), lambda x, i: np.true_divide(i, 2, dtype=np.float32)], X, i)


def test_python_operators():
    check_table([lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y, lambda x, y: x // y,
                 lambda x, y: x % y, lambda x, y: x ** 2, lambda x, y: 2 ** x, lambda x, y: divmod(x, y),
                 lambda x, y: divmod(7, y), lambda x, y: -x, lambda x, y: +x, lambda x, y: abs(-x),
                 lambda x, y: [1, 2, 3, 4] * y, lambda x, y: x < y, lambda x, y: x <= y, lambda x, y: x > y,
                 lambda x, y: x >= y, lambda x, y: x == y, lambda x, y: x != y, lambda x, y: x == None,  # noqa: E711
                 lambda x, y: (x > 1) & (y > 2), lambda x, y: (x > 1) | (y > 2), lambda x, y: (x > 1) ^ (y > 2),
                 lambda x, y: ~(x > 1)], X, X[::-1] + 1)


def test_integer_operators():
    x, y = samples.pairs("i")
    y = np.where(y == 0, 1, y)
    check_table([lambda x, y: x // y, lambda x, y: x % y, lambda x, y: x & y, lambda x, y: x | y, lambda x, y: x ^ y,
                 lambda x, y: ~x, lambda x, y: x << 3, lambda x, y: x >> 2, lambda x, y: x >> 40, lambda x, y: x << 40,
                 lambda x, y: x / y, lambda x, y: x * y, lambda x, y: abs(x)], x, y)


@pytest.mark.slow
def test_astype():
    arrays = [samples.ordinary(d, 6) for d in samples.ALL]
    for target in samples.ALL:
        check_table([lambda *a, t=target: [x.astype(t) for x in a if t in "FD" or x.dtype.kind != "c"]], *arrays)


def test_floats_wrap_into_narrow_integers():
    """C converts through a wider integer; so does the compiled program."""
    x = np.array([300.7, -1.5, 70000.0, -129.0])
    check(lambda x: [x.astype(t) for t in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64)], x)


def test_results_keep_the_layout_of_the_operands():
    """`order="K"`: a view of the result is a view exactly where NumPy's is."""
    def step(x):
        y = x.T + 1
        y.ravel(order="K")[0] = 100
        z = np.asfortranarray(x) * 2
        flat = z.reshape(-1)
        flat[1] = -5
        return y, z, y.flags.f_contiguous, z.flags.f_contiguous
    check(step, X)


def test_constants_outside_are_not_written():
    fixed = np.zeros(3)
    with pytest.raises(ValueError, match="was made outside the function"):
        reactant.jit(lambda x: np.add(x, 1, out=fixed))(np.ones(3))


def test_signature_argument_is_refused():
    with pytest.raises(NotImplementedError, match="argument 'signature' is not supported in compiled code"):
        reactant.jit(lambda x: np.add(x, x, signature="dd->d"))(np.ones(3))


def test_where_leaves_zeros_in_new_arrays_of_known_numbers():
    """NumPy leaves whatever memory held there."""
    def f(x):
        known = np.array([1.0, 4.0, 9.0, 16.0])
        first, second = np.modf(known + 0.5, where=known > 4)
        return x + np.sqrt(known, where=known > 2), first, second
    rooted, first, second = reactant.jit(f)(np.zeros(4))
    np.testing.assert_array_equal(rooted, [0, 2, 3, 4])
    np.testing.assert_array_equal(first, [0, 0, 0.5, 0.5])
    np.testing.assert_array_equal(second, [0, 0, 9, 16])


def _added_in_place(a):
    b = a[0]
    b += a


def _stored(a):
    a[:] = np.ones(2)


MESSAGES = [lambda a: a + np.ones(4), lambda a: a < np.ones(4), lambda a: np.where(a > 0, np.ones(4), 1), _stored,
            lambda a: np.clip(a, np.ones(4), 2), lambda a: a.T + a, _added_in_place, lambda a: a.reshape(4, 2),
            lambda a: a.reshape(4, -1), lambda a: np.broadcast_to(a, (2, 2)), lambda a: np.full(2, a),
            lambda a: a + None, lambda a: max(a)]


@pytest.mark.parametrize("function", MESSAGES)
def test_messages_are_numpys(function):
    def outcome(run):
        try:
            return run(function)(np.ones((2, 3)))
        except Exception as error:
            return type(error), str(error).split("\n  --> ")[0]

    assert outcome(reactant.jit) == outcome(lambda f: f)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 2.0, np.int64(2), True])
def test_powers_of_truths(exponent):
    assert reactant.verify(lambda a: a**exponent, np.array([True, False]))
    assert reactant.verify(lambda a: a[0]**exponent, np.array([True, False]))
