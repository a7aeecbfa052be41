"""Arithmetic of Python numbers known only at run time follows Python."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.oracle import check

FLOATS = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b, "floor": lambda a, b: a // b, "modulo": lambda a, b: a % b,
    "divmod": lambda a, b: divmod(a, b), "negative": lambda a, b: -a, "positive": lambda a, b: +a,
    "absolute": lambda a, b: abs(a), "less": lambda a, b: a < b, "equal": lambda a, b: a == b,
    "with int": lambda a, b: (2 * a, a + 1, 3 - a, a / 2, 1 / b), "with bool": lambda a, b: a * True,
    "with complex": lambda a, b: a * 1j, "square": lambda a, b: a ** 2, "cube": lambda a, b: a ** 3,
    "power": lambda a, b: abs(a) ** b, "base": lambda a, b: 2 ** a, "round": lambda a, b: round(a, 1),
    "parts": lambda a, b: (a.real, a.imag),
}
INTEGERS = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b, "floor": lambda a, b: a // b, "modulo": lambda a, b: a % b,
    "divmod": lambda a, b: divmod(a, b), "negative": lambda a, b: -a, "invert": lambda a, b: ~a,
    "absolute": lambda a, b: abs(a), "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "shift": lambda a, b: (a << 2, a >> 1), "power": lambda a, b: a ** 3, "negative power": lambda a, b: b ** -2,
    "with float": lambda a, b: (a + 0.5, 0.5 * b), "with bool": lambda a, b: a + True, "less": lambda a, b: a < b,
}


@pytest.mark.parametrize("pair", [(2.5, -1.5), (-7.0, 2.0), (0.1, 0.3)], ids=str)
@pytest.mark.parametrize("name", FLOATS)
def test_floats(name, pair):
    check(FLOATS[name], *pair)


@pytest.mark.parametrize("pair", [(7, 3), (-7, 3), (7, -3), (-7, -3)], ids=str)
@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name, pair):
    check(INTEGERS[name], *pair, traced_argnames=("a", "b"))


def test_complex():
    check(lambda a, b: (a + b, a - b, a * b, a / b, -a, abs(a), a == b, a * 2, a ** 2, a.real, a.imag, a.conjugate()),
          1.5 - 2j, 0.5 + 1j, rtol=1e-14)


@pytest.mark.parametrize("function", [lambda a, b: a / b, lambda a, b: a // b, lambda a, b: a % b,
                                      lambda a, b: divmod(a, b), lambda a, b: b ** -1, lambda a, b: b ** -a])
def test_division_by_zero_raises(function):
    check(function, 1.0, 0.0)


@pytest.mark.parametrize("function", [lambda a, b: a / b, lambda a, b: a // b, lambda a, b: a % b])
def test_integer_division_by_zero_raises(function):
    check(function, 1, 0, traced_argnames=("a", "b"))


@pytest.mark.parametrize("function", [lambda a, b: a ** b, lambda a, b: a ** 0.5])
def test_negative_number_to_a_fractional_power_raises(function):
    with pytest.raises(reactant.errors.ReactantError, match="(?s)complex in Python.*use np.power, which gives NaN"):
        reactant.jit(function)(-8.0, 1 / 3)


def test_negative_number_to_a_whole_power():
    check(lambda a, b: a ** b, -8.0, 3.0)


def test_integer_to_a_negative_power_raises():
    power = reactant.jit(lambda a, b: a ** b, traced_argnames=("a", "b"))
    assert power(2, 5) == 32
    with pytest.raises(reactant.errors.ReactantError, match="Make the base or the exponent a float"):
        power(2, -1)


def test_numbers_are_weak_beside_arrays():
    check(lambda x, a: (x * a, a + x, x ** a, np.add(x, a), np.float32(2) * a), np.ones(3, np.float32), 2.5)
    check(lambda x, n: (x * n, n + x, x // n), np.ones(3, np.int8), 3, traced_argnames=("n",))


def test_bool_arithmetic_is_integer():
    check(lambda a, b: ((a > 1) + (b > 1), -(a > 1), (a > 1) & (b > 1), (a > 1) | True, (a > 1) * 2.5), 2.0, 0.5)


def test_methods_of_python_numbers_give_python_numbers():
    found = reactant.jit(lambda b, c: (b.is_integer(), b.conjugate(), c.conjugate(), np.float32(b).is_integer()))(
        2.5, 1 + 2j)
    assert found == (False, 2.5, 1 - 2j, False)
    assert [type(x) for x in found] == [bool, float, complex, bool]


@pytest.mark.filterwarnings("ignore:Casting complex")
def test_numbers_of_complex_scalars():
    """NumPy's scalars lose their imaginary part, with a warning."""
    check(lambda z: (int(z[1]), float(z[2])), np.arange(3) * (2 + 1j))
    with pytest.raises(TypeError, match="not 'complex'"):
        reactant.jit(lambda z: int(complex(z[0])))(np.arange(3) * 1j)


def elements(x, p):
    c, k = x.item(0), 1
    if p > 0:
        k = x.item(1)
    return -c, c ** 2, c * 200, k * 100, [v + 250 for v in x.tolist()], np.zeros(3) + c


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint64", "uint16", "int32"])
def test_elements_are_python_integers(dtype):
    """They kept the array's dtype: -c of uint8 was 136, and an `if` between one and another int did not compile."""
    for p in (0.0, 1.0):
        check(elements, np.array([120, 100, 3]).astype(dtype), p)


@pytest.mark.parametrize("program", [
    lambda x: complex(x[0]) < complex(x[1]), lambda x: max([complex(x[0]), complex(x[1])]),
    lambda x: sorted((x + 0j).tolist()), lambda x: 2 >= complex(x[0])])
def test_complex_numbers_of_python_have_no_order(program):
    """They had NumPy's."""
    with pytest.raises(TypeError, match="not supported between instances of"):
        reactant.jit(program)(np.ones(3))


def test_complex_numbers_of_numpy_have_one():
    check(lambda x: (x[0] + 0j < x[1] + 1j, sorted(x + 1j), max(x + 1j), complex(x[0]) == complex(x[1])),
          np.arange(3.0))


@pytest.mark.parametrize("native", ["always", "never"])
def test_half_a_power_of_numbers_is_no_root(native):
    """Of arrays it is: of -0.0 that is -0.0, of -inf NaN."""
    def powers(x):
        return x**0.5, x**np.float64(0.5)

    compiled = reactant.jit(powers, native=native)
    for value in (-0.0, -np.inf, 0.0, np.inf, 2.25):
        for x in (value, np.float64(value), np.float32(value), np.array(value), np.array([value])):
            with np.errstate(invalid="ignore"):
                wanted = powers(x)
            for got, each in zip(compiled(x), wanted, strict=True):
                np.testing.assert_array_equal(got, each)
                assert np.signbit(got) == np.signbit(each) or np.isnan(each)
