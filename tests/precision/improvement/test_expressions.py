"""Expressions as data: one object for equal ones, their text, their values."""
from fractions import Fraction

import numpy as np
import pytest

from reactant.precision.improvement import expressions
from reactant.precision.improvement.expressions import leaf, made, number
from reactant.precision.improvement.identities import parsed

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
X, Y = leaf(0), leaf(1)


def test_equal_expressions_are_one_object():
    assert made("add", X, number(1)) is made("add", leaf(0), number(Fraction(1)))
    assert made("add", X, Y) is not made("add", Y, X)


def test_parts_come_once_and_operands_first():
    square = made("multiply", X, X)
    root = made("add", square, made("sqrt", square))
    found = expressions.nodes(root)
    assert len(found) == len(set(found)) == 4 and found[-1] is root
    assert expressions.leaves(root, Y) == [0, 1]
    assert expressions.replaced(root, {square: Y}) is made("add", Y, made("sqrt", Y))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("text", ["x0 - (x1 - x0)", "(x0 + x1) * x0", "exp(x0) / (x1 * x0)", "log1p(-x0)",
                                  "(x0 ** x1) ** x0"])
def test_texts(text):
    """What is shown means what it was made of."""
    root = parsed(text, ("x0", "x1"))
    assert parsed(str(root), ("x0", "x1")) is root


def test_float32_constants_are_rounded_once():
    """A tie of float32 plus less than a half of float64's last place."""
    value = Fraction(1) + Fraction(1, 2**24) + Fraction(1, 2**60)
    assert np.float32(float(value)) == 1 and expressions.constant(value, F32) == np.float32(1 + 2.0**-23)
    assert expressions.constant(Fraction(10)**400, F64) == np.inf


def test_values_and_costs():
    root = parsed("sqrt(x + 1) - sqrt(x)", "x")
    given = np.array([0.0, 1.0, 1e15, -3.0])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(expressions.in_floats(root, [given], F64)[root],
                                      np.sqrt(given + 1) - np.sqrt(given))
    assert 0 < expressions.cost(root, F32) < expressions.cost(root, F64)
