"""Expansions near 0 and far from it."""
import numpy as np
import pytest

from reactant.precision.improvement import series
from reactant.precision.improvement.expressions import in_floats
from reactant.precision.improvement.identities import parsed
from reactant.precision.improvement.truth import bits_of_error, in_reals

F64 = np.dtype(np.float64)
SMALL = np.geomspace(1e-12, 1e-2, 40)


@pytest.mark.parametrize("text, given, within", [
    ("(x - sin(x)) / (x - tan(x))", SMALL, 2.0), ("1 / x - 1 / tan(x)", SMALL, 2.0),
    ("sqrt(x * x + 1) - x", np.geomspace(1e4, 1e12, 20), 2.0),
])
def test_series(text, given, within):
    root = parsed(text, "x")
    real = in_reals(root, [given], F64)[0][root]
    errors = [bits_of_error(in_floats(each, [given], F64)[each] + 0 * given, real, F64).mean()
              for each in series.expansions(root, given)]
    assert errors and min(errors) < within


def test_no_series_where_there_is_none():
    assert not list(series.expansions(parsed("sqrt(x) + 1", "x"), SMALL))
