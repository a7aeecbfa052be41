"""Calls in their order: what `native.straight` has found, run."""
import numpy as np
import pytest

import reactant
from reactant.native.steps import LEAST_FILLED, _copy, seen


def test_bytes_seen_otherwise():
    x = np.arange(6.0)
    assert seen(x, (6,), x.dtype) is x
    assert seen(x, (2, 3), x.dtype).base is x and seen(x, (3,), np.dtype(complex)).tolist() == [1j, 2 + 3j, 4 + 5j]


@pytest.mark.parametrize("array", [np.arange(5.0), np.broadcast_to(np.ones(1), LEAST_FILLED // 8),
                                   np.arange(LEAST_FILLED // 8)])
def test_copies_are_writable(array):
    made = _copy(array, np.empty)
    assert made.flags.writeable and made.flags.c_contiguous
    np.testing.assert_array_equal(made, array)


def test_what_is_written_over_is_told():
    def f(x):
        x += 1
        return x * 2
    straight = reactant.jit(f).lower(np.ones(10)).compile().executable.straight
    if straight is None:
        pytest.skip("it is XLA's on this machine")
    assert straight.wanted and {o.argument for o in straight.over} <= {0, None}
    x = np.ones(10)
    results = straight([x])
    assert x.tolist() == [1.0] * 10 and any(r.tolist() == [4.0] * 10 for r in results)
