"""`ufunc.reduceat` of known segments: equal blocks, blocks with a last one of its own, any lengths; few operations."""
import numpy as np
import pytest

import reactant
from tests.frontends.numpy.tables import check_table

SEGMENTS = {
    "equal": np.arange(0, 120, 10), "shorter last": np.arange(0, 120, 7), "longer last": np.arange(0, 60, 5),
    "from within": np.arange(4, 100, 8), "of one": np.arange(0, 40), "one number each": np.arange(120),
    "any": np.sort(np.random.default_rng(1).choice(120, 50, replace=False)),
    "back and forth": np.random.default_rng(2).integers(0, 120, 45), "one long": np.r_[np.arange(50), 119],
}


@pytest.mark.slow
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum, np.logical_or, np.fmax],
                         ids=lambda u: u.__name__)
def test_any_segments(ufunc):
    x = np.random.default_rng(0).uniform(0.5, 1.5, (120, 3))
    x[17, 1] = np.nan
    check_table([lambda x, at=at: (ufunc.reduceat(x, at), ufunc.reduceat(x.T, at, axis=1))
                 for at in SEGMENTS.values()], x)


@pytest.mark.parametrize("dtype", ["bool", "u1", "i8", "f4", "c16"])
def test_dtypes(dtype):
    x = (np.random.default_rng(0).random(120) * 100).astype(dtype)
    check_table([lambda x, at=at: np.add.reduceat(x, at) for at in SEGMENTS.values()], x, rtol=1e-5)


@pytest.mark.parametrize("segments", ["equal", "shorter last", "any", "one long"])
def test_derivative(segments):
    at = SEGMENTS[segments]

    def f(x):
        return np.sum(np.add.reduceat(x * x, at) ** 2)
    x = np.random.default_rng(0).random(120)
    sums = np.add.reduceat(x * x, at)
    lengths = np.diff([*at, 120])
    wanted = np.zeros(120)
    wanted[at[0]:] = 4 * x[at[0]:] * np.repeat(sums, lengths)
    np.testing.assert_allclose(reactant.grad(f)(x), wanted, rtol=1e-12)


@pytest.mark.parametrize("step", [8, "uneven"])
def test_the_program_does_not_grow_with_the_segments(step):
    def operations(n):
        starts = np.arange(0, n, 8) if step == 8 else np.sort(
            np.random.default_rng(0).choice(n, n // 8, replace=False)).tolist()
        if step == 8:
            return sum(reactant.jit(lambda x: np.add.reduceat(x, np.arange(0, n, 8))).lower(
                np.ones(n)).operations().values())
        return sum(reactant.jit(lambda x: np.add.reduceat(x, np.array(starts))).lower(np.ones(n)).operations().values())
    assert operations(4096) < 2 * operations(512) + 20
