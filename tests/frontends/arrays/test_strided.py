"""as_strided: random strides over random arrays and views, read and written."""
from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import reactant
from reactant.errors import UnsupportedError
from tests.oracle import check


def random_view(rng):
    """(shape of the array, a cut of it, shape and element strides of the view)."""
    shape = tuple(int(n) for n in rng.integers(1, 7, rng.integers(1, 4)))
    own = [int(np.prod(shape[d + 1:])) for d in range(len(shape))]
    starts = [int(rng.integers(0, n)) if rng.random() < 0.3 else 0 for n in shape]
    low = high = sum(a * s for a, s in zip(starts, own, strict=True))
    counts, steps = [], []
    for _ in range(rng.integers(1, 5)):
        step, count = int(rng.choice([*own, 0, 1, -1])) * int(rng.integers(1, 3)), int(rng.integers(1, 5))
        reach = (count - 1) * step
        if low + min(reach, 0) >= 0 and high + max(reach, 0) < np.prod(shape):
            low, high = low + min(reach, 0), high + max(reach, 0)
            counts.append(count)
            steps.append(step)
    return shape, tuple(slice(a, None) for a in starts), counts, steps


@pytest.mark.parametrize("seed", range(25))
def test_reads(seed):
    rng = np.random.default_rng(seed)
    shape, cut, counts, steps = random_view(rng)

    def f(x):
        v = as_strided(x[cut], counts, [8 * s for s in steps], writeable=False)
        return v + 0, v.sum()
    check(f, rng.random(shape))


@pytest.mark.parametrize("seed", range(25, 37))
def test_writes(seed):
    rng = np.random.default_rng(seed)
    shape, cut, counts, steps = random_view(rng)
    x = rng.random(shape)

    def f(x):
        v = as_strided(x[cut], counts, [8 * s for s in steps])
        v[...] = v * 2 + 1
        return x
    index = as_strided(np.arange(x.size).reshape(shape)[cut], counts, [8 * s for s in steps])
    if np.unique(index).size == index.size:
        check(f, x)
    else:
        with pytest.raises(UnsupportedError, match="overlap"):
            reactant.jit(f)(x)


def test_windows_and_blocks_are_slices_and_reshapes():
    def windows(x):
        return as_strided(x, (6, 4, 3, 3), (64, 8, 64, 8)).sum(axis=(2, 3))

    def blocks(x):
        return as_strided(x, (4, 2, 2, 4), (128, 32, 64, 8)).mean(axis=(1, 3))
    x = np.random.default_rng(0).random((8, 8))
    for f in (windows, blocks):
        check(f, x)
        assert "gather" not in reactant.code_hlo(f, x)


def test_other_dtypes_layouts_and_empty_views():
    check(lambda x: as_strided(x, (3, 2), (2, 4)) * 2, np.arange(8, dtype=np.int16))
    check(lambda x: as_strided(x, (0, 2), (8, 8)) * 2, np.arange(8.0))
    check(lambda x: as_strided(np.asfortranarray(x), (3, 2), (8, 16), writeable=False) * 2,
          np.arange(12.0).reshape(3, 4))


@pytest.mark.parametrize("shape, strides, text", [((9,), (8,), "outside"), ((2,), (-8,), "outside"),
                                                  ((-1,), (8,), "negative"), ((2, 2), (8,), "mismatch"),
                                                  ((2,), (3,), "element size")])
def test_what_is_refused(shape, strides, text):
    with pytest.raises((ValueError, UnsupportedError), match=text):
        reactant.jit(lambda x: as_strided(x, shape, strides) + 0)(np.arange(8.0))
