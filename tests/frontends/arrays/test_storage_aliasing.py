"""Many conditional swaps: arrays that only such names see get one memory each, so programs grow with their source."""
import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError

X = np.array([1.0, -1, 0.5, 2, -0.25])


def steps(count):
    def program(x, p):
        a, b, c = x * 1.0, x + 1.0, x - 1.0
        for i in range(count):
            if a[i % 5] > p:
                a, b = b, a
                b = np.sin(a)
            else:
                b, c = c, b
            a[i % 5] += 0.5
            b[1:3] *= c[0]
        return a, b, c
    return program


def rotated_list(x, p):
    rows = [x * k for k in range(1, 5)]
    for i in range(6):
        if rows[0][i % 5] > rows[1][0] * p:
            rows = rows[1:] + rows[:1]
        else:
            rows[0], rows[2] = rows[2], rows[0]
        rows[1][i % 5] += rows[3][0]
    return rows


def one_memory_for_two_names(x, p):
    a, b = x * 1.0, x + 1.0
    for i in range(3):
        if a[i] > p:
            a = b
        elif b[i] > p:
            b = a
        else:
            a = a + 1
        a[i] += 1
        b[i + 1] *= 2
    return a, b


def seen_by_others(x, p):
    a, b = x * 1.0, x + 1.0
    first, part = a, b[1:3]
    for i in range(3):
        if a[i] > p:
            a, b = b, a
        a[i] += 1
        b[i] -= 2
    return a * 1, b * 1, first * 1, part * 1


def rebound_or_changed(x, p):
    rows = {"a": [x, x * 2], "b": x + 1}
    if x[0] > p:
        rows = {"a": [x + 1, x - 1], "b": x - 5}
    else:
        rows["b"] = x * 5
        rows["a"][1] = x * 7
    return rows["a"][0] * 1, rows["a"][1], rows["b"]


@pytest.mark.parametrize("function", [steps(6), rotated_list, one_memory_for_two_names, seen_by_others,
                                      rebound_or_changed], ids=lambda f: f.__name__)
def test_as_numpy(function):
    compiled = reactant.jit(function)
    for p in (0.3, -0.4, 1.2):
        for a, b in zip(function(X.copy(), p), compiled(X.copy(), p), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12)


def swaps_in_two_loops(x, p):
    a, b, c = x, x * 2.0, np.zeros(5)
    s, t = 0.5, p
    for i in range(9):
        c[1:] += a[:-1] * 0.5
        for j in range(9):
            if not s > 1.5:
                b, c = c, b
                c = np.sin(b)
            else:
                s, t = t, s
                if a[0] + 1.5 > 1 and t > 0:
                    continue
            s, t = t, s
            v = b[1:3]
            v += 1.5
            b[j % 4] += j
        c[i % 4] += i
    return a, b, c, s, t


def test_two_loops_unrolled():
    compiled = reactant.jit(swaps_in_two_loops, optimize=False)
    assert sum(compiled.lower(X, 0.3).operations(optimized=False).values()) < 12_000        # 52,000 once


def test_growth_is_linear():
    counts = [sum(reactant.jit(steps(n), optimize=False).lower(X, 0.3).operations(optimized=False).values())
              for n in (8, 16, 24)]
    assert counts[2] - counts[1] <= 1.3 * (counts[1] - counts[0])


def swaps_seen_by_the_caller(x, p):
    a, b, c = x, x * 2, x + 1
    for i in range(12):
        if a[i % 5] > p:
            a, b = b, a
        b[1:] += 0.5 * a[:-1]
        if b.sum() > c.sum():
            b, c = c, b
        if c[0] > a[0]:
            a, c = c, a
        a *= 0.9
    return a, b, c


def swaps_in_branches(x, p):
    a, b, c = x.copy(), x * 2, x + 1
    for i in range(12):
        for j in range(3):
            if a[i % 5] > p * j:
                a, b = b, a
                if b[0] > c[0]:
                    b, c = c, b
            elif c[1] < p:
                a, b, c = c, a, b
            a[j] += 1
            b[i % 5] -= a[j]
        if c.max() > 2:
            c, a = a, c
    return a, b, c


@pytest.mark.parametrize("function, most", [(swaps_seen_by_the_caller, 200), (swaps_in_branches, 700)])
def test_swapped_names_stay_apart(function, most):
    """Each swap decided by another condition: no two names become one, so that the loop need not be unrolled."""
    compiled = reactant.jit(function)
    operations = compiled.lower(X, 0.3).operations(optimized=False)
    assert operations["stablehlo.while"] == 1
    assert sum(operations.values()) < most          # 1,284 and 12,000 once, and minutes in XLA
    for p in (0.3, -0.4, 1.2):
        mine, theirs = X.copy(), X.copy()
        for a, b in zip(function(mine, p), compiled(theirs, p), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12)
        np.testing.assert_allclose(theirs, mine, rtol=1e-12)


def array_and_its_view(x, p):
    v = x * 1
    w = v[::-1]
    for i in range(200):
        if p > i:
            w, v = v, w
    v += 1
    return w


def two_views(x, p):
    v = x * 1
    w, u = v[1:4], v[2:5]
    for i in range(200):
        if p > i:
            w, u = u, w
    w += 1
    return u


@pytest.mark.parametrize("function", [array_and_its_view, two_views])
def test_swapped_views_of_one_array_are_not_written_unseen(function):
    """Nothing but the two names referred to the array any more, and a write to one was not seen by the other."""
    with pytest.raises(ControlFlowError, match="'[vw]' was bound to one of several arrays"):
        reactant.jit(function)(X, 1.5)


def test_errors_about_results_say_so():
    """They named the line of the call."""
    def program(x, p):
        v, w = x * 1, x * 2
        for i in range(200):
            if p > i:
                w = v
        v += 1
        return w
    with pytest.raises(ControlFlowError, match="'w' was bound to one of several arrays.*\n  note: in what the"):
        reactant.jit(program)(X, 1.5)
