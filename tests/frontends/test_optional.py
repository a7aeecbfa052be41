"""Variables that are None on some paths: `is None` is decided at run time, and readers check that there is a value."""
import numpy as np
import pytest

import reactant

X = np.sin(np.arange(9.0) * 3) * 2


def smallest_positive(x, n):
    best = where = None
    for i in range(len(x)):
        if x[i] > 0 and (best is None or x[i] < best):
            best, where = x[i], i
    if best is None:
        return -1.0, -1
    return best, where


def run_time_count(x, n):
    best = None
    for i in range(n):
        if best is None or x[i % 9] > best:
            best = x[i % 9]
    return 0.0 if best is None else best + 1


def in_while(x, n):
    last = None
    i = 0
    while i < n:
        if last is not None:
            x[i] += last
        last = x[i] * 0.5
        i += 1
    return x


def arrays(x, n):
    previous = None
    total = 0.0
    for i in range(30):
        row = x * i
        if row[i % 9] > 1:
            if previous is not None:
                total += np.abs(row - previous).max()
            previous = row
    return total + (np.zeros(9) if previous is None else previous)


def first_above(x, t):
    for i in range(9):
        if x[i] > t:
            return i
    return None


def of_a_helper(x, n):
    k = first_above(x, n * 0.25)
    if k is None:
        return -1
    return k * 2


def pairs(x, n):
    found = None
    for i in range(9):
        for j in range(9):
            if x[i] + x[j] > n and found is None:
                found = (i, j)
    if found is None:
        return 99
    a, b = found
    return a * 10 + b


def as_an_index(x, n):
    done = np.zeros(9, bool)
    for _ in range(4):
        k = None
        for i in range(9):
            if not done[i] and (k is None or x[i] < x[k]):
                k = i
        done[k] = True
        x[k] += n
    return x


class Tracker:
    def __init__(self):
        self.best, self.count = None, 0

    def see(self, v):
        self.count += 1
        if self.best is None or v > self.best:
            self.best = v


def attributes(x, n):
    t = Tracker()
    for i in range(20):
        if x[i % 9] > n - 2:
            t.see(x[i % 9] * i)
    return (0.0 if t.best is None else t.best), t.count


def written_through(x, n):
    v = None
    if x[0] >= n:
        v = x * 2
    if v is not None:
        v[1] = 7
        x += v
    return x


def used_where_none(x, n):
    best = None
    for i in range(9):
        if x[i] > n:
            best = x[i]
    return best + 1


@pytest.mark.parametrize("function", [smallest_positive, run_time_count, in_while, arrays, of_a_helper, pairs,
                                      as_an_index, attributes, written_through, used_where_none],
                         ids=lambda f: f.__name__)
def test_as_numpy(function):
    compiled = reactant.jit(function)
    for n in (0, 1, 8):
        for x in (X, -np.abs(X), np.zeros(9)):
            mine, theirs = x.copy(), x.copy()
            try:
                expected = function(mine, np.int64(n))
            except TypeError:
                with pytest.raises(TypeError, match="None is used"):
                    compiled(theirs, np.int64(n))
                continue
            got = compiled(theirs, np.int64(n))
            for a, b in zip(np.atleast_1d(expected), np.atleast_1d(got), strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-12)
            np.testing.assert_allclose(theirs, mine, rtol=1e-12)


def test_none_is_no_result():
    def positive(x):
        return x if x > 0 else None
    compiled = reactant.jit(positive)
    assert compiled(2.0) == 2.0
    with pytest.raises(reactant.UnsupportedError, match="returns None here"):
        compiled(-2.0)


def test_truth_of_what_may_be_none():
    def f(x):
        best = None
        if x[0] > 0:
            best = x[0]
        return 1 if best else 2
    with pytest.raises(reactant.ControlFlowError, match="ask `is None`"):
        reactant.jit(f)(X)
