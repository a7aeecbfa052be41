"""Which form where."""
import numpy as np

from reactant.precision.improvement import regimes
from reactant.precision.improvement.candidates import measured
from reactant.precision.improvement.identities import parsed
from reactant.precision.improvement.truth import bits_of_error, in_reals

F64 = np.dtype(np.float64)
FAR = np.geomspace(1e3, 1e15, 40)


def test_ranges_of_a_leaf():
    root, near = parsed("(x - sin(x)) / (x - tan(x))", "x"), parsed("9 / 40 * x * x - 0.5", "x")
    x = np.concatenate([-np.geomspace(1, 1e-9, 60), np.geomspace(1e-9, 1, 60)])
    real = in_reals(root, [x], F64)[0][root]
    found = regimes.best_pieces(root, [measured(each, [x], real, F64) for each in (root, near)], [x], F64)
    assert len(found.bounds) == 2 and found.pieces == (root, near, root)
    assert -0.05 < found.bounds[0] < -1e-4 < 1e-4 < found.bounds[1] < 0.05
    fresh = np.random.default_rng(0).uniform(-1, 1, 100)
    real = in_reals(root, [fresh], F64)[0][root]
    assert bits_of_error(found.in_floats([fresh], F64), real, F64).max() < 22
    assert found.shown(["t"]).count(" if t < ") == 2


def test_one_form_everywhere_has_no_ranges():
    root = parsed("x + 1", "x")
    only = [measured(root, [FAR], FAR + 1, F64)]
    assert regimes.best_pieces(root, only, [FAR], F64) == regimes.whole(root)
