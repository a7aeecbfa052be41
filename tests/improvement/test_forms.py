"""The forms of one expression, and where they may be used."""
import numpy as np

from reactant.improvement import forms
from reactant.precision.improvement.expressions import leaf
from reactant.precision.improvement.guards import of_leaves
from reactant.precision.improvement.identities import parsed
from reactant.precision.improvement.recording import Profile
from reactant.precision.improvement.regimes import whole

F64, F32 = np.dtype(np.float64), np.dtype(np.float32)
SEEN = np.geomspace(1e-12, 1e-2, 50)
RANGES = of_leaves([1e-12], [1e-2])


def test_samples_anywhere_are_all_kinds_of_floats():
    for dtype in (F64, F32):
        given = forms.anywhere(2, dtype)
        assert all(each.dtype == dtype for each in given) and len({len(each) for each in given}) == 1
        for each in given:
            assert np.isnan(each).any() and np.isinf(each).any() and (each == 0).any()
            assert (np.abs(each[np.isfinite(each)]) > 1e30).any()


def test_a_form_that_loses_nothing_needs_no_guard():
    root = parsed("log(1 - x)", "x")
    assert forms.Anywhere(root, F64, [SEEN]).where(whole(parsed("log1p(-x)", "x")), (), RANGES) == ()


def test_a_form_that_is_right_near_zero_alone_is_guarded():
    root = parsed("log(1 - x)", "x")
    assert forms.Anywhere(root, F64, [SEEN]).where(whole(parsed("-x - x * x / 2", "x")), (), RANGES) == RANGES


def test_a_guard_of_one_leaf_is_enough():
    root = parsed("x * (sqrt(1 + y) - 1)", "xy")
    ranges = of_leaves((0.1, 1e-8), (1.0, 1e-4))
    test = forms.Anywhere(root, F64, [SEEN * 10, SEEN])
    found = test.where(whole(parsed("x * (y / (sqrt(1 + y) + 1))", "xy")), (), ranges)
    assert [each.of for each in found] == [leaf(1)]


def test_what_was_not_seen_is_computed_as_it_was_written():
    """Every form has a guard for each value."""
    root = parsed("x * (sqrt(1 + y) - 1)", "xy")
    for dtype in (F64, F32):
        x, y = (SEEN * 10).astype(dtype), SEEN.astype(dtype)
        ends = [[each[k] for each in (x, y)] for k in (0, -1)]
        found = forms.found_for(root, dtype, Profile((x, y), *(np.array(each) for each in ends)), 50.0)
        assert len(found.options) > 1
        for each in found.options[1:]:
            guarded = {guard.of for guard in each.form.where}
            assert {leaf(0), leaf(1)} <= guarded


def test_options_begin_with_the_expression_as_it_is():
    x = np.geomspace(1e-12, 1e-2, 50)
    root = parsed("log(1 - x)", "x")
    found = forms.found_for(root, F64, Profile((x,), x[:1], x[-1:]), 50.0)
    first, *others = found.options
    assert first.form is None and first.bits > 15
    assert min(each.bits for each in others) < 1 and found.key == (root, "float64")
