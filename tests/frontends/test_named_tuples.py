"""Named tuples whose classes hold attributes beside the items, or want other arguments than those."""
import collections

import numpy as np
import pytest
from scipy import linalg, special

import reactant


class Fit(collections.namedtuple("Fit", "slope offset")):
    def __new__(cls, slope, offset, *, error):
        made = super().__new__(cls, slope, offset)
        made.error = error
        return made


def fitted(x, y):
    slope = (x * y).sum() / (x * x).sum()
    return Fit(slope, y.mean() - slope * x.mean(), error=np.abs(y - slope * x).max())


def chosen(x, y):
    if x[0] > y[0]:
        made = Fit(x[0], y[1], error=x[2] - y[2])
    else:
        made = Fit(y[0], x[1], error=y[2] + x[2])
    return made


@pytest.mark.parametrize("function", [fitted, chosen])
def test_results_keep_their_attributes(function):
    x, y = np.arange(1.0, 5.0), np.array([2.0, 1.0, 4.0, 3.0])
    for a, b in ((x, y), (y, x)):
        made, wanted = reactant.jit(function)(a, b), function(a, b)
        assert type(made) is Fit
        np.testing.assert_allclose([*made, made.error], [*wanted, wanted.error])


def test_arguments_bring_their_attributes():
    fit = Fit(np.arange(3.0), 2.0, error=np.ones(3))
    np.testing.assert_allclose(reactant.jit(lambda f: f.slope * f.offset + f.error)(fit), np.arange(3.0) * 2 + 1)


def test_rank_of_known_matrices():
    matrix = np.vander(np.arange(5.0), 3)

    def f(y):
        x, _, rank, _ = linalg.lstsq(np.vander(np.arange(5.0), 3), y)
        return x * rank
    y = np.array([1.0, 3, 2, 5, 4])
    np.testing.assert_allclose(reactant.jit(f)(y), linalg.lstsq(matrix, y)[0] * 3)


def test_generalised_ufuncs_of_others_are_refused():
    if not hasattr(special, "sph_harm_y"):
        pytest.skip("SciPy before 1.15")
    with pytest.raises(reactant.errors.UnsupportedError, match="not supported in compiled code"):
        reactant.jit(lambda x: special.sph_harm_y(2, 1, x, x))(np.ones(3))
