"""Forms that are found, with their errors on samples."""
import numpy as np
import pytest

from reactant.precision.improvement import regimes, saturation, series
from reactant.precision.improvement.candidates import candidates, measured
from reactant.precision.improvement.expressions import in_floats
from reactant.precision.improvement.identities import parsed
from reactant.precision.improvement.truth import bits_of_error, in_reals

F64 = np.dtype(np.float64)
FAR, SMALL = np.geomspace(1e3, 1e15, 40), np.geomspace(1e-12, 1e-2, 40)


@pytest.mark.parametrize("text, given, before, form", [
    ("sqrt(x + 1) - sqrt(x)", FAR, 20, "1 / (sqrt(x0 + 1) + sqrt(x0))"),
    ("log(1 - x)", SMALL, 18, "log1p(-x0)"),
])
def test_found(text, given, before, form):
    root = parsed(text, "x")
    found = candidates(root, [given], F64)
    real = in_reals(root, [given], F64)[0][root]
    assert measured(root, [given], real, F64).errors.mean() > before
    assert str(found[0].expression) == form and found[0].errors.mean() < 1


def test_classes_have_what_is_equal_and_nothing_else():
    classes, (place, other) = saturation.saturated([parsed("a - a", "a"), parsed("a / a", "a")])
    assert place != other
    values = {form.value for form in classes[place]}, {form.value for form in classes[other]}
    assert 0 in values[0] and 1 not in values[0] and 1 in values[1]


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
