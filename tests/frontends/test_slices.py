"""Slices that run-time values choose, or that loops move, against plain Python."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError
from tests.oracle import check


def _window(x, c):
    part = slice(0, 3) if c > 0 else slice(1, 4)
    return x[part] * 2


def _ends(x, c):
    if c > 2:
        s, t = slice(None, 3), slice(1, None)
    elif c > 0:
        s, t = slice(1, 5), slice(2, None)
    else:
        s, t = slice(0, -1), slice(3, None)
    x[s] += 1
    return x[s].sum(), x[s].size, x[t].max()


def _keys(x, c):
    key = (slice(0, 2), 0) if c > 0 else (slice(1, 3), 1)
    inner = {"in": slice(1, -1)} if c > 0 else {"in": slice(2, -2)}
    y = np.zeros((4, 3))
    y[key] = x[:2]
    return y, x[inner["in"]].max()


@pytest.mark.parametrize("program", [_window, _ends, _keys])
@pytest.mark.parametrize("c", [1.0, -1.0, 3.0])
def test_slices_are_chosen(program, c):
    check(program, np.arange(6.0) - 2.5, c)


@pytest.mark.parametrize("c", [1.0, -9.0, 30.0])
def test_slices_are_carried_by_loops(c):
    def moved(x, c):
        part, total = slice(0, 2), 0.0
        for i in range(10):
            total += x[part].sum() * i
            part = slice(part.start + (i % 2), part.stop + (i % 2))
        part = slice(2)
        while x[part].sum() < c and part.stop < len(x):
            part = slice(part.stop - 1, part.stop + 2)
        return total, part.stop

    check(moved, np.arange(6.0) - 2.5, c)
    check(moved, np.arange(9), c, unroll_limit=0)


def test_slices_that_differ_otherwise_are_refused():
    for one, other in ((slice(None, None, -1), slice(None)), (slice(1, 4), slice(1, None))):
        with pytest.raises(ControlFlowError, match="^The two sides .* slices of different steps, or with and without"):
            reactant.jit(lambda x, c, one=one, other=other: x[one if c > 0 else other])(np.arange(6.0), 1.0)
