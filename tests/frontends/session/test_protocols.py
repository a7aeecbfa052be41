"""Iteration by methods of the user's classes: what they change, and where it is only known at run time where they
end."""
from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

from tests.frontends.agreement import agree
from tests.oracle import check

CASES = [(np.array(x),) for x in ([2.0, 0.5, 0.7], [0.5, 2.0, 0.7], [0.1, 0.2, 0.3])]


class Row:
    """Only `__getitem__`, which changes something."""

    def __init__(self, items):
        self.items, self.reads = items, 0

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        self.reads += 1
        if self.reads > 2:
            self.items[0] = self.items[0] * 2
        return self.items[i]


class Walk:
    """An iterator; with a limit, it is only known at run time where it ends."""

    def __init__(self, values, limit=None):
        self.values, self.limit, self.at = values, limit, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= len(self.values):
            raise StopIteration
        v = self.values[self.at]
        self.at += 1
        if self.limit is not None and v > self.limit:
            raise StopIteration
        return v


class Iterable:
    def __init__(self, values):
        self.values, self.begun = values, 0

    def __iter__(self):
        self.begun += 1
        return iter(self.values)


def row_of(x):
    return Row([x[0], x[1], 2.0])


def unpacked(x):
    row = row_of(x)
    a, *b = row
    return a, b, [*row, 1], (lambda *v: v[0])(*row), row.reads


TAKEN = {
    "list": lambda x, row: list(row), "sum": lambda x, row: sum(row), "max": lambda x, row: max(row),
    "in": lambda x, row: x[0] in row, "not in": lambda x, row: x[0] + 9 in row,
    "reversed": lambda x, row: [v for v in reversed(row)], "zip": lambda x, row: list(zip(row, x, strict=True)),
    "enumerate": lambda x, row: list(enumerate(row)), "map": lambda x, row: list(map(lambda v: v * 2, row)),
    "any": lambda x, row: any(v > 1 for v in row), "all": lambda x, row: all(v > 0 for v in row),
    "tuple": lambda x, row: tuple(row), "dict": lambda x, row: dict(enumerate(row)),
    "reduce": lambda x, row: functools.reduce(lambda a, b: a + b, row),
    "accumulate": lambda x, row: list(itertools.accumulate(row)),
    "chain": lambda x, row: list(itertools.chain(row, [1.0])), "next": lambda x, row: next(iter(row)),
    "product": lambda x, row: [a * b for a, b in itertools.product(row, row)],
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_they_change_is_seen(name):
    def program(x):
        row = row_of(x)
        found = TAKEN[name](x, row)
        return found, row.reads, row.items

    def in_a_branch(x):
        row, found = row_of(x), 0
        if x[0] > 0.4:
            TAKEN[name](x, row)
        else:
            found = 1
        return found, row.reads, row.items
    agree(program, CASES)
    agree(in_a_branch, CASES)


def left_where_the_run_says(x):
    row, k = row_of(x), 0
    for v in row:
        if v > 1:
            break
        k += 1
    else:
        k += 100
    return k, row.reads, row.items


def in_branches(x):
    walk, iterable, row = Walk(x), Iterable(x), row_of(x)
    first, largest, there = x[0] * 0, x[0] * 0, False
    if x[0] > 0.4:
        first, *_ = row
        largest = max(walk)
        there = x[1] in iterable
    return first, largest, there, walk.at, iterable.begun, row.reads, row.items


def where_it_ends(x):
    walk, total = Walk(x, 1), x[0] * 0
    for v in walk:
        total += v
    return total, walk.at


def where_it_ends_in_a_branch(x):
    k = 0
    if x[0] > 0.3:
        for _ in Walk(x, 1):
            k += 1
    return k


def two_ways_out(x):
    walk, seen, last = Walk(x, 1), 0, x[0] * 0
    for k, v in enumerate(x):
        for w in walk:
            seen += 1
            if w > 0.15:
                last = w
                break
            if w < 0.05:
                return x[1], 0, k
        else:
            seen += 10
        last += v
    return last, seen, walk.at


def folds_where_it_ends(x):
    half = [v for v in Walk(x, 1) if v > 0.15]
    return (sum(Walk(x, 1), x[0] * 0), any(v > 0.6 for v in Walk(x, 1)), all(v < 0.6 for v in Walk(x, 1)),
            len(list(Walk(x, 1))), len(half), 0.2 in Walk(x, 1))


def with_defaults(x):
    walk = Walk(x, 1)
    return next(walk, x[0] * 0 + 5.0), next(walk, x[0] * 0 + 6.0), walk.at


def without_a_default(x):
    walk = Walk(x, 1)
    return next(walk), next(walk)


def caught(x):
    walk, k = Walk(x, 1), 0
    while True:
        try:
            next(walk)
        except StopIteration:
            break
        k += 1
    return k, walk.at


PROGRAMS = [unpacked, left_where_the_run_says, in_branches, where_it_ends, where_it_ends_in_a_branch, two_ways_out,
            folds_where_it_ends, with_defaults, without_a_default, caught]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    agree(program, CASES)


class Signal:
    """An array with a name; it is one to NumPy."""

    def __init__(self, samples):
        self.samples = samples

    def __array__(self, dtype=None, copy=None):
        made = self.samples if self.samples[0] > 0 else -self.samples
        return made if dtype is None else made.astype(dtype)


def of_signals(x):
    a, b = Signal(x), Signal(np.ones(3))
    total = 0.0
    for k in range(60):
        total += np.asarray(a)[k % 3]
    y = np.zeros(3)
    y[:] = a
    y += b
    return (np.asarray(a) + 1, np.sum(a), x + a, x * b, np.array(a, np.float32), np.dot(a, b), np.concatenate([a, x]),
            np.linalg.norm(a), np.stack([a, b]), np.interp(0.5, [0, 1, 2], a), total, y)


@pytest.mark.parametrize("sign", [1, -1])
def test_arrays_of_classes(sign):
    """NumPy's words for it were: object __array__ method not producing an array."""
    check(of_signals, sign * np.array([0.5, -2.0, 3.0]))
