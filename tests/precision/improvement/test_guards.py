"""Where a form may stand for an expression."""
import numpy as np

import reactant
from reactant.precision.improvement.expressions import leaf
from reactant.precision.improvement.guards import Guard, of_leaves, together
from reactant.precision.improvement.identities import parsed
from reactant.precision.improvement.recipe import Form, Recipe
from reactant.precision.improvement.regimes import whole


def test_of_one_value_once():
    both = together([Guard(leaf(0), -1.0, 2.0), Guard(leaf(1), 0.0, 1.0), Guard(leaf(0), 0.0, 3.0)])
    assert both == of_leaves((0.0, 0.0), (2.0, 1.0))
    assert [each.shown("xy") for each in both] == ["0 <= x <= 2", "0 <= y <= 1"]
    assert Guard(leaf(0), -2.0, 2.0).shown("x") == "abs(x) <= 2"


def test_of_inner_values_by_element():
    expression, wrong = parsed("exp(x / y) * x", "xy"), parsed("x / y + 1000", "xy")    # so wrong that it shows
    form = Form(whole(wrong), "float64", (Guard(parsed("x / y", "xy"), -0.5, 0.5), Guard(leaf(1), 0.0, 9.0)))
    improved = reactant.jit(lambda x, y: np.exp(x / y) * x, cache=False,
                            improvements=Recipe({(expression, "float64"): form}))
    y = np.array([2.0, 2.0, 2.0, 10.0, np.nan, 0.0])
    x = np.array([1.0, 3.0, np.nan, 1.0, 1.0, 0.0])
    plain = np.asarray(reactant.jit(lambda x, y: np.exp(x / y) * x)(x, y))
    got = np.asarray(improved(x, y))
    assert got[0] == 1000.5
    np.testing.assert_array_equal(got[1:], plain[1:])
    np.testing.assert_array_equal(improved(x[:1], y[:1]), [1000.5])
