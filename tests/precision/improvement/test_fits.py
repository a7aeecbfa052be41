"""Polynomials in the place of functions of one value."""
import numpy as np
import pytest

from reactant.precision.improvement import fits
from reactant.precision.improvement.expressions import in_floats, leaf, operations
from reactant.precision.improvement.guards import Guard, holding
from reactant.precision.improvement.identities import parsed
from reactant.precision.improvement.truth import bits_of_error, in_reals

F64, F32 = np.dtype(np.float64), np.dtype(np.float32)


def polynomial(text, low, high, dtype=F64, digits=53):
    return fits._polynomial(parsed(text, "x"), low, high, True, dtype, digits)


@pytest.mark.parametrize("text, low, high, dtype", [
    ("exp(x) - 1", 1e-9, 1.0, F64), ("1 - cos(x)", 1e-6, 1.0, F64), ("log(x)", 0.9, 1.1, F64), ("sin(x)", -1, 1, F64),
    ("exp(x)", 2.0, 3.0, F32), ("(exp(x) - 1) / x", -1e-2, -1e-4, F32),
])
def test_a_polynomial_is_as_accurate_as_the_format(text, low, high, dtype):
    found = polynomial(text, low, high, dtype, 24 if dtype == F32 else 53)
    assert found.low <= low and high <= found.high
    x = np.random.default_rng(0).uniform(low, high, 60).astype(dtype)
    real = in_reals(parsed(text, "x"), [x], dtype)[0][parsed(text, "x")]
    assert bits_of_error(in_floats(found.polynomial, [x], dtype)[found.polynomial], real, dtype).max() < 2.5


def test_even_functions_take_half_the_terms():
    assert polynomial("cos(x)", 0.01, 1.0).low == -1.0
    assert len(list(operations(polynomial("cos(x)", 0.01, 1.0).polynomial))) \
        < len(list(operations(polynomial("exp(x)", 0.01, 1.0).polynomial)))


def test_none_where_it_takes_too_many_terms():
    assert polynomial("log(x)", 1e-3, 1e3) is None and polynomial("sqrt(x)", 0.0, 1.0) is None


def test_functions_of_an_inner_value():
    root = parsed("x * x / (exp(x / y) - 1)", "xy")
    given = [np.geomspace(1e-6, 0.5, 40), np.linspace(1, 10, 40)]
    found, guards = fits.specialised(root, given, (1e-6, 1.0), (0.5, 10.0), F64, 53)
    assert [each.of for each in guards] == [parsed("x / y", "xy")] and guards[0].high >= 0.5
    assert not any(each.name == "exponential" for each in operations(found))
    assert holding(guards, given, F64).all()
    assert not holding((Guard(leaf(0), 0.0, 1.0),), [np.array([np.nan, 2.0])], F64).any()


def test_homogeneous_functions_of_two_values():
    root = parsed("sqrt(x * x + y * y) - x", "xy")
    given = [np.linspace(1e3, 5e3, 40), np.geomspace(1e-4, 1e-1, 40)]
    found, guards = fits.of_a_quotient(root, given, (1e3, 1e-4), (5e3, 1e-1), F64, 53)
    assert guards == (Guard(leaf(0), 1e3, np.inf), Guard(leaf(1), -1e-1, 1e-1))
    assert [each.shown("xy") for each in guards] == ["x >= 1e+03", "abs(y) <= 0.1"]
    real = in_reals(root, given, F64)[0][root]
    assert bits_of_error(in_floats(found, given, F64)[found], real, F64).max() < 2.5
    assert fits.of_a_quotient(parsed("sqrt(x * x + y) - x", "xy"), given, (1e3, 1e-4), (5e3, 1e-1), F64, 53) is None
