"""Tests that assign, where run-time values decide."""
import numpy as np
import pytest

import reactant


def conditions(a):
    total = np.int64(0)
    for x in a:
        if x > 0 and (y := x * 2) > 4:
            total += y
        elif x < -2 or (z := x + 7) > 8:
            total -= x
        else:
            total += 100 * z
    return total


def search(a):
    i, total = 0, np.int64(0)
    while i < len(a) and (v := a[i]) != 3:
        i += 1
        if v < 0:
            continue
        if v > 7:
            break
        total += v
    else:
        total += 1000
    return i, total, v


def sift(a):
    root = 0
    while (child := 2 * root + 1) < len(a):
        if child + 1 < len(a) and a[child] < a[child + 1]:
            child += 1
        if a[root] >= a[child]:
            break
        a[root], a[child] = a[child], a[root]
        root = child
    return root


def returned(a):
    if not (a[0] > 0 and (second := a[1]) > 0):
        return np.int64(0)
    return second


def values(a):
    q = (m := a.max()) if a[0] > 0 else (m := a.min())
    return (q + m, m) if a[1] > 0 else ((k := q) + k, m)


def asserted(a):
    assert a[0] > 0 and (s := a.sum()) > 0, "small"
    assert (t := s * 2) != 4
    return s + t


@pytest.mark.parametrize("a", [[5, 4, 9, 3, 2], [-1, 9, 1, -5, 3], [1, 1, 1, 0, -1], [0, -3, 0, 8, 2]])
@pytest.mark.parametrize("function", [conditions, search, sift, returned, values, asserted])
def test_assignments_in_tests(function, a):
    assert reactant.verify(function, np.array(a))
