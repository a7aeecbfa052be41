"""Functions of numbers that float32 does not reach."""
import numpy as np
import pytest

import reactant
from tests.precision.scaled.test_numbers import SCALED, X, Y, right


@pytest.mark.parametrize("name", ["exp", *(pytest.param(n, marks=pytest.mark.slow) for n in (
    "log", "small", "large", "whole"))])
def test_functions(name):
    t = np.array([-700.0, 1.0, 600.0])
    given, program, bits = {
        "exp": (t, lambda x: np.exp(x), 36),            # times their condition, which is |x|
        "log": (np.array([1e60, 1 + 2.0**-30, 1e-40, 0.0]), lambda x: np.log(x[:1] * x[:1]), 44),
        "small": (Y, lambda y: np.sin(y) + np.tanh(y) + np.expm1(y) + np.arctan(y), 44),
        "large": (X, lambda x: np.tanh(x) + np.arctan(x) + np.cbrt(x) * 1e-20, 44),
        "whole": (np.array([1e60, 2.5, -3.5, -1e-60]), lambda x: np.floor(x[:1]) + np.ceil(x[:1]), 44)}[name]
    right(reactant.jit(program, floats=SCALED)(given), program(given), bits)


@pytest.mark.slow
def test_what_has_no_value_beyond_the_range_is_an_error():
    with pytest.raises(FloatingPointError, match="sine"):
        reactant.jit(lambda x: np.sin(x), floats=SCALED)(X)
