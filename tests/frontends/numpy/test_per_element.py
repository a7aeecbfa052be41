"""np.vectorize and np.apply_along_axis: Python functions of elements and rows, as loops."""
from __future__ import annotations

import math

import numpy as np
import pytest

import reactant
from tests.frontends.agreement import agree

X = np.random.default_rng(0).standard_normal((5, 8))


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def rule(a, b, scale=2.0):
    if a > b:
        return a - b
    return a * b * scale


@pytest.mark.parametrize("program", [
    lambda x: np.vectorize(rule)(x, x[0]),
    lambda x: np.vectorize(rule)(x, 0.5, scale=x[:, :1]),
    lambda x: np.vectorize(math.erf)(x / 2),
    lambda x: np.vectorize(lambda v: v * 2)(x.astype(np.float32)),     # the dtype is that of NumPy's scalars
    lambda x: np.vectorize(lambda v, w: v + w)((x * 9).astype(np.int8), 2),
    lambda x: np.vectorize(lambda v: v / 3)((x * 9).astype(np.float16)),
    lambda x: np.vectorize(lambda v: (v * 2, v > 0, int(v)))(x),
    lambda x: np.vectorize(rule, excluded={1})(x[0], 0.1),
    lambda x: np.vectorize(lambda v: v * 2, otypes=[np.float32])(x),
    lambda x: np.vectorize(lambda v: v * 2, otypes=[float])(x[:0]),
    lambda x: np.vectorize(lambda v, w: v @ w, signature="(n),(n)->()")(x, x[0]),
    lambda x: np.vectorize(lambda v: np.sort(v)[::-1], signature="(n)->(n)")(x),
    lambda x: np.vectorize(lambda v: v + 1)(x[0, 0]),
    lambda x: np.vectorize(lambda v: v + 1)(x[:0]),
    lambda x: np.apply_along_axis(lambda row: row[row > 0].sum(), 1, x),
    lambda x: np.apply_along_axis(np.outer, 0, x, np.arange(3.0)),
])
def test_calls_agree_with_numpy(program):
    agree(program, [(X,)])


def test_whole_numbers():
    agree(lambda n: np.vectorize(collatz)(n), [(np.arange(1, 40),)])


def test_many_calls_are_a_loop():
    lowered = reactant.jit(lambda x: np.vectorize(rule)(x, 0.5)).lower(np.ones(100_000))
    assert sum(lowered.operations(optimized=False).values()) < 200
    lowered = reactant.jit(lambda x: np.apply_along_axis(lambda r: np.sort(r)[3], 1, x)).lower(np.ones((9000, 8)))
    assert sum(lowered.operations(optimized=False).values()) < 200
