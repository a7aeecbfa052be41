"""Arrays of run-time size as variables of loops and branches, compiled against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError
from tests.oracle import check

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=20)
GRAPH = RANDOM.random((15, 15)) < .12


def levels(graph, start):
    """Breadth first: the frontier is another array in each iteration."""
    n = len(graph)
    distance, index = np.full(n, -1), np.arange(n)
    distance[start] = 0
    seen = index == start
    frontier, d = index[seen], 0
    while frontier.size > 0:
        d += 1
        new = graph[frontier].any(axis=0) & ~seen
        seen |= new
        frontier = index[new]
        distance[frontier] = d
    return distance, d


def selected(x, k):
    """Quickselect: one of two parts, of run-time size, in each iteration."""
    while True:
        pivot = x[0]
        low, high = x[x < pivot], x[x > pivot]
        if k < len(low):
            x = low
        elif k < len(x) - len(high):
            return pivot
        else:
            k -= len(x) - len(high)
            x = high


def roots(a):
    """Newton's method on those elements that have not converged."""
    r, active, iterations = np.ones_like(a), np.arange(a.size), 0
    for _ in range(50):
        iterations += 1
        s = r[active]
        excess = s * s - a[active]
        s = s - excess / (2 * s)
        r[active] = s
        active = active[np.abs(excess) > 1e-10]
        if active.size == 0:
            break
    return r, iterations


def escapes(c, iterations):
    """Mandelbrot's iteration on the points that are left, in arrays that shrink together."""
    place, left = np.arange(c.size), np.zeros(c.size, c.dtype)
    count = np.zeros(c.size, int)
    for i in range(iterations):
        if not len(left):
            break
        left = left * left + c
        out = abs(left) > 2
        count[place[out]] = i + 1
        np.logical_not(out, out)
        left, place, c = left[out], place[out], c[out]
    return count, left.sum(), len(place)


def trimmed(rows):
    k = 0
    while rows.shape[0] > 4:
        d = ((rows - rows.mean(axis=0)) ** 2).sum(axis=1)
        rows, k = rows[d < d.max()], k + 1
    return rows.mean(axis=0), k


def of_different_sizes(x, y):
    """Two arrays that shrink differently."""
    for _ in range(6):
        x, y = x[x > x.min()], y[1:][y[1:] > -1]
    return x.sum(), y.sum(), len(x), len(y)


def on_either_path(x, least):
    if x.sum() > least:
        y = x[x > least]
    else:
        y = x[x < -least]
    if x[0] > 0:
        x = x[:int(abs(x[1]) * 4) + 2]
    z = x
    if x[-1] > 5:
        z = x[:0]
    return y.sum(), (y * 2).max(initial=-9), len(y), x.sum(), z.size


def writes_through_views(x):
    v = x[:int(abs(x[0]) * 3) + 6]
    for _ in range(5):
        v = v[1:]
        v += 1
    return v.sum()


def without_iterations(x):
    y = x[x > 0]
    for _ in range(int(x[0] > 100)):
        y = y[y > 1]
    return y.sum(), y.size


def in_a_list(x):
    parts = []
    for _ in range(3):
        x = x[x > x.mean()]
        parts.append(x)
    return sum(p.sum() for p in parts)


def in_containers(x):
    state = (x, 1.), [x[:5]], {"q": x}
    items = [x, x * 2]
    for i in range(7):
        (v, total), few, rest = state
        items[i % 2] = items[i % 2][items[i % 2] > items[i % 2].min()]
        state = ((v[v > v.min()], total + v.sum()), [few[0][few[0] < 3] * 1.1],
                 {"q": rest["q"][rest["q"] != rest["q"].max()]})
    return state[0][0].sum(), state[0][1], state[1][0].sum(), state[2]["q"].size, items[0].sum(), items[1].size


def swapped_in_tuples(x):
    a = x, x[x > 0]
    for i in range(7):
        a = (a[1], a[0]) if a[0].sum() > i else (a[0][a[0] > -1], a[1])
    return a[0].sum(), a[1].size


def whole_again(x, iterations):
    y, total = x[x > 0], 0.
    for i in range(iterations):
        total += y.sum() * i
        y = x
    return total, y.sum(), y.size


def inner_loops(x, least):
    total = 0.
    for _ in range(6):
        y = x
        for j in range(6):
            y = y[y > .1 * j]
            if y.size < least:
                break
        total += y.sum()
        x = x[1:]
    return total


def distinct(x):
    out, k = np.zeros(10, int), 0
    while x.size:
        out[k], x = x[0], x[x != x[0]]
        k += 1
    return out, k


@pytest.mark.sampled(4)
@pytest.mark.parametrize("program, arguments", [
    (levels, (GRAPH, 0)), (levels, (GRAPH.T, 3)), (selected, (X, 0)), (selected, (X, 7)), (selected, (X, 19)),
    (roots, (np.abs(X) + .5,)), *[(escapes, (X + 1j * X[::-1], iterations)) for iterations in (0, 1, 2, 3, 6, 20)],
    (escapes, (np.full(4, 9.), 30)), (trimmed, (RANDOM.random((20, 3)),)), (of_different_sizes, (X, X[::2])),
    *[(on_either_path, (s * X, .3)) for s in (1, -1)], (writes_through_views, (X,)), (without_iterations, (X,)),
    (without_iterations, (X + 200,)), (in_a_list, (X,)), (in_containers, (X,)),
    *[(whole_again, (X, np.int64(n))) for n in (0, 6)], (swapped_in_tuples, (X,)),
    (inner_loops, (X, 3)), (distinct, (RANDOM.integers(0, 9, 20),)),
    (distinct, (np.zeros(0, int),)),
], ids=lambda p: getattr(p, "__name__", None))
def test_arrays_shrink(program, arguments):
    check(program, *arguments)


def test_arrays_that_shrink_together_share_their_extents():
    text = reactant.code_hlo(escapes, X, 20)
    assert "gather" not in text.split("stablehlo.while")[1]      # nothing is moved into place


def test_a_iteration_does_not_read_what_the_last_one_left_without_a_type():
    def spoiled(x):
        y, total = np.zeros(4), 0.
        for i in range(20):
            total += y.sum()
            if x[i] > 0:
                y = np.ones(3)
        return total

    def bound_in_time(x):
        y, total = np.zeros(4), 0.
        for i in range(20):
            y = np.full(2, x[i])
            total += y.sum()
            if x[i] > 0:
                y = np.ones(3)
        return total

    with pytest.raises(ControlFlowError, match="'y' has no single type after an `if`"):
        reactant.jit(spoiled)(X)
    check(bound_in_time, X)


def test_arrays_of_other_ranks_are_no_one_array():
    """What an internal `zip` said was raised as if the function had raised it."""
    def rows_or_row(x, n):
        v = np.ones((4, 3))[n:]
        while x[0] > n:
            n += 1
            v = x[:n]
        return v.sum()

    with pytest.raises(ControlFlowError, match="'v' changes its type in a loop"):
        reactant.jit(rows_or_row)(X, np.int64(0))
