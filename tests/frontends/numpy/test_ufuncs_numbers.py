"""Python integers beside arrays whose dtype cannot hold them."""
from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import check

COMPARE = [lambda x, n: x > n, lambda x, n: x <= n, lambda x, n: x == n, lambda x, n: n != x, lambda x, n: n < x]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("dtype", [np.uint64, np.int8, np.uint8, np.int64])
@pytest.mark.parametrize("number", [-1, 300, 2**70, -2**70, 5])
def test_comparisons_are_exact(dtype, number):
    for compare in COMPARE:
        check(compare, np.arange(4).astype(dtype), number)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_arithmetic_raises(dtype):
    check(lambda x, n: x + n, np.arange(4).astype(dtype), 300)
