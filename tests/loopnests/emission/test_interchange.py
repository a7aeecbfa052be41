"""Recurrences across memory: loops exchanged, some columns side by side, the rest alone."""
import re

import numpy as np
import pytest

import reactant
from reactant.loopnests.emission import interchange
from tests.loopnests.emission.test_control import native_text


def sweep(a, b, c):
    """Forwards and backwards along the last dimension."""
    n = a.shape[-1]
    for k in range(1, n):
        f = a[..., k] / b[..., k - 1]
        b[..., k] -= f * c[..., k - 1]
        a[..., k] += 0.5 * a[..., k - 1]
    for k in range(n - 2, -1, -1):
        c[..., k] = (c[..., k] - a[..., k] * c[..., k + 1]) / b[..., k]
    return c


def part(a, b, c):
    """Some rows only, two arrays, one read at another row."""
    for k in range(1, a.shape[-1]):
        a[1:-1, k] = a[1:-1, k - 1] * 0.9 + b[2:, k] * c[:-2, k]
    return a


SHAPES = [(17, 40), (7, 40), (5, 19, 30), (19, 1, 30)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function", [sweep, part])
def test_recurrences(function, shape):
    if function is part and (len(shape) > 2 or shape[0] < 3):
        pytest.skip("two dimensions")
    random = np.random.default_rng(len(shape))
    arrays = [random.random(shape) + k for k in (0.0, 3.0, 0.0)]
    wanted, got = [a.copy() for a in arrays], [a.copy() for a in arrays]
    function(*wanted)
    reactant.jit(function, native="always")(*got)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)


def test_columns_side_by_side():
    """Whole groups of columns: one loop over lanes in each of the two sweeps."""
    text = native_text(sweep, *(np.ones((2 * interchange.LANES + 1, 80)) for _ in range(3)))
    eight = re.search(rf"(%c\d+) = arith.constant {interchange.LANES} : index", text)
    assert eight and len(re.findall(rf"scf.for %l\d+ = %c\d+ to {eight[1]} step", text)) >= 2
