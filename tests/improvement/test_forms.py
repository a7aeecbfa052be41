"""The forms of one expression, and where they may be used."""
import numpy as np

from reactant.improvement import forms
from reactant.precision.improvement.identities import parsed
from reactant.precision.improvement.recording import Profile
from reactant.precision.improvement.regimes import whole

F64, F32 = np.dtype(np.float64), np.dtype(np.float32)
RANGES = ((1e-12, 1e-2),)


def test_samples_anywhere_are_all_kinds_of_floats():
    for dtype in (F64, F32):
        given = forms.anywhere(2, dtype)
        assert all(each.dtype == dtype for each in given) and len({len(each) for each in given}) == 1
        for each in given:
            assert np.isnan(each).any() and np.isinf(each).any() and (each == 0).any()
            assert (np.abs(each[np.isfinite(each)]) > 1e30).any()


def test_a_form_that_loses_nothing_needs_no_guard():
    root = parsed("log(1 - x)", "x")
    assert forms._guard(root, whole(parsed("log1p(-x)", "x")), F64, RANGES) is None


def test_a_form_that_is_right_near_zero_alone_is_guarded():
    root = parsed("log(1 - x)", "x")
    assert forms._guard(root, whole(parsed("-x - x * x / 2", "x")), F64, RANGES) == RANGES


def test_options_begin_with_the_expression_as_it_is():
    x = np.geomspace(1e-12, 1e-2, 50)
    root = parsed("log(1 - x)", "x")
    found = forms.found_for(root, F64, Profile((x,), x[:1], x[-1:]), 50.0)
    first, *others = found.options
    assert first.form is None and first.bits > 15
    assert min(each.bits for each in others) < 1 and found.key == (root, "float64")
