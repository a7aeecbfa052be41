"""scipy.fft as numpy.fft."""
from __future__ import annotations

import numpy as np
import pytest
import scipy.fft

from reactant.frontends.scipy import transforms
from tests.oracle import check

X = np.random.default_rng(0).normal(size=(4, 6))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", transforms.NAMES)
def test_transforms(name):
    function = getattr(scipy.fft, name)

    def f(x):
        if name.endswith(("2", "n")):
            return (function(x), function(x, (3, 8)), function(x, norm="ortho"),
                    function(x, axes=(1, 0), norm="forward"), function(x, s=(4,), axes=[0], workers=1))
        return (function(x), function(x, 9), function(x, axis=0, norm="ortho"), function(x, n=3, overwrite_x=False))
    complex_input = name not in ("rfft", "rfft2", "rfftn", "ihfft")
    check(f, X + 1j * X[::-1] if complex_input else X, rtol=1e-10, atol=1e-12)
    check(lambda x: function(x), X.astype(np.float32), rtol=2e-4, atol=1e-5)


def test_known_arrays_and_helpers_stay_scipys():
    def f(x):
        return x * scipy.fft.fftfreq(6) + scipy.fft.fft(np.arange(6.0)).real + scipy.fft.next_fast_len(5)
    check(f, X[0])


def test_a_plan_is_refused():
    check(lambda x: scipy.fft.fft(x, plan=3), X)
