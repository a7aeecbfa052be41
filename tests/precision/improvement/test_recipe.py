"""Forms in the place of expressions."""
import numpy as np
import pytest

import reactant
from reactant.precision.improvement.expressions import leaf, made, number
from reactant.precision.improvement.guards import of_leaves
from reactant.precision.improvement.identities import parsed
from reactant.precision.improvement.recipe import Form, Recipe
from reactant.precision.improvement.regimes import Piecewise, whole

UNIT = of_leaves([0.0], [1.0])


@pytest.mark.parametrize("ranges", [(), UNIT])
@pytest.mark.parametrize("precision", ["float64", "float32", "float64x2"])
def test_forms_where_they_belong(ranges, precision):
    def f(x):
        return np.log(1 - np.sqrt(x)) + np.log(1 - np.sqrt(x)).sum()

    x = np.array([1e-20, 0.25, 1.0, 4.0, np.nan, np.inf])
    expression = parsed("log(1 - sqrt(x))", "x")
    pieces = whole(expression if precision == "float64x2" else parsed("log1p(-sqrt(x))", "x"))
    recipe = Recipe({(expression, "float64"): Form(pieces, precision, ranges)})
    # the sum of all is NaN: what is asked is each element
    got = np.asarray(reactant.jit(lambda x: np.log(1 - np.sqrt(x)), improvements=recipe, cache=False)(x))
    with np.errstate(all="ignore"):
        assert np.isclose(got[0], -1e-10, rtol=1e-6) and got[1] == pytest.approx(np.log(0.5), rel=1e-6)
        assert got[2] == -np.inf and np.isnan(got[3:]).all()
    with pytest.raises(reactant.UnsupportedError, match="made for other arguments") as caught:
        reactant.jit(lambda x: np.log(2 - x), improvements=recipe, cache=False)(x)
    assert caught.value.code == "improved-for-others"


def test_outside_of_the_ranges_nothing_changes():
    expression = parsed("exp(x) * x", "x")
    wrong = made("add", leaf(0), number(1000))      # so wrong that it shows
    recipe = Recipe({(expression, "float64"): Form(whole(wrong), "float64", UNIT)})
    x = np.array([-1.0, 0.5, 1.5, np.nan])
    got = reactant.jit(lambda x: np.exp(x) * x, improvements=recipe, cache=False)(x)
    plain = reactant.jit(lambda x: np.exp(x) * x)(x)
    assert got[1] == 1000.5
    np.testing.assert_array_equal(got[[0, 2, 3]], plain[[0, 2, 3]])


def test_empty_arrays():
    recipe = Recipe({(parsed("x + 1", "x"), "float64"): Form(whole(leaf(0)), "float64", UNIT)})
    got = reactant.jit(lambda x: x + 1, improvements=recipe, cache=False)(np.zeros((0, 3)))
    assert got.shape == (0, 3) and got.dtype == np.float64


def test_pieces_in_a_program():
    expression = parsed("exp(x) * x", "x")
    pieces = Piecewise(0, (0.0, 1.0), (number(-1), leaf(0), parsed("x + 5", "x")))
    recipe = Recipe({(expression, "float64"): Form(pieces, "float64")})
    x = np.array([-3.0, -0.0, 0.5, 1.0, 7.0])
    got = reactant.jit(lambda x: np.exp(x) * x, improvements=recipe, cache=False)(x)
    assert got.tolist() == pieces.in_floats([x], x.dtype).tolist() == [-1, 0, 0.5, 6, 12]
