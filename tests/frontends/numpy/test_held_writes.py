"""Writes to known places wait until somebody has to see them: what is then seen is what NumPy would show."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.oracle import check

X = np.linspace(-1.0, 1.0, 60).reshape(6, 10)


def counts(f, *args):
    return reactant.jit(f).lower(*args).operations(optimized=False)


# ---- what is built ---------------------------------------------------------------------------------------------

def rows_again_and_again(x):
    total = np.zeros((3, 100))
    for k in [0, 1, 2, 1, 0, 2, 2]:
        total[k] += x[k] * (k + 1.0)
    return total


def rows_of_a_larger_array(x):
    total = np.ones((5, 100))
    for k in [1, 2, 1, 4]:
        total[k] += x[k]
    return total


def covered(x):
    x[1, 2:4] = 5.0
    x[1] = x[0]
    x[4:, :3] = 1.0
    x[3:] = 2.0
    return x


def never_read(x):
    work = np.empty((6, 300))
    for k in range(5):
        work[k] = x[k, 0]
    return x[0] * 2


BUILT = {   # program: (shape of the argument, how many updates and concatenations are left)
    rows_again_and_again: ((3, 100), 0, 1),
    rows_of_a_larger_array: ((5, 100), 2, 1),
    covered: ((6, 10), 2, 0),
    never_read: ((6, 10), 0, 0),
}


@pytest.mark.parametrize("program", BUILT, ids=lambda f: f.__name__)
def test_what_is_built(program):
    shape, updates, concatenations = BUILT[program]
    x = np.random.default_rng(0).random(shape)
    check(program, x)
    found = counts(program, x)
    assert found.get("stablehlo.dynamic_update_slice", 0) == updates, found
    assert found.get("stablehlo.concatenate", 0) == concatenations, found


# ---- what is seen ----------------------------------------------------------------------------------------------

def aliases(x, n):
    row, column, flat, back = x[1], x[:, 2], x.reshape(-1), x[::-1]
    x[1] = 3.0
    first = row.sum(), column.sum(), flat[10:14].sum(), back[4] * 1
    row[2:4] = 7.0
    column += 1.0
    back[0, ::3] = -1.0
    return first, x[1] * 2, flat * 1, back[1] - row


def whole_views(x, n):
    x[2] = 1.0
    x.T[3] = 2.0
    x[2, 3:5] = 9.0
    x[...] = x[::-1]
    x[2] += 1.0
    x[:] = x * 2
    x[5, ::-1] = np.arange(10.0)
    return x.T[0] * 1


def gaps(x, n):
    x[::2] = 1.0
    x[1::2] = 2.0
    x[::2] += x[1::2]
    x[0, ::3] = 4.0
    x[0, 1::3] = x[0, ::3][:3]
    x[3:3] = 8.0
    return x[0] * 1


def run_time_places(x, n):
    x[0] = 1.0
    x[n] = 2.0
    x[1] = x[n] + x[0]
    x[n, 3] += 5.0
    x[1, n:] = 0.5
    return x[1] * 1


def branches(x, n):
    x[0] = 1.0
    x[1] = 2.0
    if n > 1:
        x[0] += 5.0
        x[2] = x[0] * x[1]
        made = np.zeros((2, 4))
        made[0] = x[0, :4]
    else:
        x[1] = x[0] + 1.0
        made = np.ones((2, 4))
        made[1] = x[1, :4]
    x[3] = x[0] + x[1]
    made[1] += 2.0
    return made, x[2] * 1, x[3] * 1


def loops(x, n):
    buffer = np.zeros((4, 80))
    buffer[0] = 1.0
    buffer[3] = x[0, 0]
    for i in range(n):
        buffer[1] = buffer[0] + i
        buffer[0] += buffer[3]
        x[0] += buffer[1, :10]
        row = x[1]
        row[:] = x[0] * 0.5
        if x[1, 0] > 2.0:
            x[2] = row
            break
        x[3, 1:3] = row[2:4]
    buffer[2] = buffer[1] - buffer[0]
    return buffer, x[0] * 1


def while_loops(x, n):
    x[5] = 0.0
    while x[5, 0] < n:
        x[5] += 1.0
        x[4] = x[5] * 2.0
        x[4, 0] = x[5, 1]
    return x[4] * 1


def other_names(x, n):
    y = x if n > 2 else x.copy()
    x[0] = 3.0
    y[0] += 1.0
    y[1] = 2.0
    total = x[0] + x[1] + y[0]
    x[1] += 4.0
    return total, y[1] * 1


def exceptions(x, n):
    x[0] = 1.0
    try:
        x[1] = 2.0
        x[2] = np.ones(3)
        x[3] = 9.0
    except ValueError:
        x[4] = x[1] + x[0]
    return x[3] * 1


def copies_and_lists(x, n):
    x[0] = 1.0
    old = x[0].copy()
    kept = [x[0], x[1]]
    x[0] = 2.0
    x[1] += old
    kept[0] *= 3.0
    return kept, old, np.stack([x[0], x[1]])


def parts_of_numbers(x, n):
    z = x + 1j
    z[0] = 2.0
    z[0].real = 4.0
    z[1].imag[2:] = 5.0
    z.imag[1, :2] = 6.0
    return z, z[0] * 1


def bits(x, n):
    x[0] = 1.5
    as_integers = x[0].view(np.int64)
    as_integers += 1
    x[1] = x[0] * 2
    return as_integers * 1, x.view(np.int64)[1] * 1


def small_and_known(x, n):
    table = np.zeros((3, 4))
    table[1] = 5.0
    table[0] = x[0, :4]
    table[2, 1:3] = table[0, :2]
    known = table[1].sum()
    table[1] *= 2.0
    return table, known


def many(x, n):
    line = np.zeros(150)
    for k in range(150):
        line[149 - k] = x[k % 6, k % 10] + (line[150 - k] if k else 0.0)
    return line


def gathered(x, n):
    x[2] = 3.0
    x[[0, 2]] += 1.0
    x[2, x[2] > 3.5] = 0.0
    np.add.at(x, 1, 2.0)
    np.fill_diagonal(x[:3, :3], 8.0)
    x[0].sort()
    return x[2] * 1


PROGRAMS = [aliases, whole_views, gaps, run_time_places, branches, loops, while_loops, other_names, exceptions,
            copies_and_lists, parts_of_numbers, bits, small_and_known, many, gathered]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_is_seen(program):
    for n in (0, 3):
        check(program, X.copy(), np.int64(n), optimize=False)
    check(program, X.copy(), np.int64(3))


def test_arguments_that_share_memory():
    def f(a, b):
        a[0] = 1.0
        b[1] = 2.0
        a[2] = a[0] + 1.0
        return a, b[0] * 1
    plain, compiled = X.copy(), X.copy()
    expected, got = f(plain[:, ::2], plain[3:, 1::2]), reactant.jit(f)(compiled[:, ::2], compiled[3:, 1::2])
    np.testing.assert_array_equal(compiled, plain)
    for a, b in zip(expected, got, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_derivatives_and_batches():
    def f(x):
        work = np.zeros_like(x)
        for k in [0, 1, 0, 2]:
            work[k] += x[k] ** 2
            x[k] = work[k] * 0.5
        return (work * x).sum()

    def by_hand(x):
        work, x = [x[k] * 0 for k in range(6)], [x[k] * 1 for k in range(6)]
        for k in [0, 1, 0, 2]:
            work[k] = work[k] + x[k] ** 2
            x[k] = work[k] * 0.5
        return sum([(w * y).sum() for w, y in zip(work, x, strict=True)])
    np.testing.assert_allclose(reactant.grad(f)(X.copy()), reactant.grad(by_hand)(X.copy()), rtol=1e-12, atol=1e-14)
    many = np.stack([X, X + 1.0, X * 2.0])
    np.testing.assert_allclose(reactant.vmap(f)(many.copy()), [f(x.copy()) for x in many], rtol=1e-12)


# ---- random programs -------------------------------------------------------------------------------------------

def _place(random):
    """A random key of basic indexing into (6, 10), from few, so that places meet again."""
    rows = [0, 1, 2, 5, slice(1, 3), slice(0, 2), slice(3, 6), slice(None), slice(None, None, 2), slice(4, 1, -1)]
    columns = [slice(None)] * 8 + [0, 3, slice(2, 5), slice(None, None, -1), slice(1, 9, 3)]
    return rows[random.integers(len(rows))], columns[random.integers(len(columns))]


def _program(seed):
    """Statements: (what, where, where else, number)."""
    random = np.random.default_rng(seed)
    what = ["set", "set", "add", "add", "from", "from", "twice", "read", "read", "part", "whole", "flip", "if", "loop",
            "place"]
    return [(what[random.integers(len(what))], _place(random), _place(random), float(random.integers(1, 5)))
            for _ in range(14)]


def _run(program, x, n):
    buffer, seen = np.zeros((6, 10)), []
    for what, place, other, number in program:
        a, b = (x, buffer) if number > 2 else (buffer, x)
        if what == "set":
            a[place] = number
        elif what == "add":
            a[place] += number
        elif what == "from":
            a[place] = b[other].sum() + a[place] * 0.5
        elif what == "twice":
            a[place] = b[place] - number
            b[other] *= 0.5
        elif what == "read":
            seen.append(a[place] + 0.0)
        elif what == "part":
            view = np.atleast_1d(a[place])
            view[..., -1:] = number
            view[...] += 1.0
        elif what == "whole":
            a[...] = b * 0.5 + number
        elif what == "flip":
            a.T[::-1][place[1]] += number
        elif what == "if":
            if n > number:
                a[place] = number
                seen_here = b[other].sum()
            else:
                b[other] += 1.0
                seen_here = a[place].sum()
            seen.append(seen_here)
        elif what == "loop":
            for i in range(n):
                a[place] += i
                b[other] = a[other] * 0.5
        else:
            a[n] = b[n] + number
    return buffer, seen


def compare(seed):
    program = _program(seed)
    check(lambda x, n: _run(program, x, n), X.copy(), np.int64(2), rtol=1e-9, atol=1e-12,
          optimize=bool(seed % 2))


@pytest.mark.sampled(100)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    compare(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 500))
def test_many_random_programs(seed):
    compare(seed)
