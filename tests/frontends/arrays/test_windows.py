"""sliding_window_view."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.oracle import check

X, M = np.arange(200.0), np.arange(30).reshape(5, 6)


def windows(*args, **options):
    return np.lib.stride_tricks.sliding_window_view(*args, **options)


@pytest.mark.parametrize("f, a", [
    (lambda x: windows(x, 3), X), (lambda x: windows(x, 65), X), (lambda x: windows(x, 200), X),
    (lambda m: windows(m, (2, 3)), M), (lambda m: windows(m, 2, 1), M), (lambda m: windows(m, (2, 2), (0, 0)), M),
    (lambda m: windows(m, (3, 2), (1, 0)), M), (lambda m: windows(m[::-1].T, 2, axis=-1), M),
    (lambda m: windows(m, (2, 3, 4)), M), (lambda m: windows(m, 9, 1), M), (lambda m: windows(m, -1, 1), M),
    (lambda m: windows(m, (2, 2), (0,)), M), (lambda m: windows(m, 2, 7), M)])
def test_windows(f, a):
    check(lambda a: f(a) + 0, a)


def test_it_is_a_read_only_view():
    def seen(x):
        view = windows(x, 3)
        x[2] = 100.0
        return view.mean(axis=-1)
    check(seen, X)

    def write(x):
        windows(x, 3)[0] = 1.0
    check(write, X)


def test_writeable_windows_are_copies_that_nobody_writes_unseen():
    check(lambda x: windows(x, 3, writeable=True).sum(axis=-1), X)

    def write(x):
        view = windows(x, 3, writeable=True)
        view[0, 0] = 1.0
        return x + 0
    with pytest.raises(reactant.ReactantError, match="is a copy in compiled code"):
        reactant.jit(write)(X)
