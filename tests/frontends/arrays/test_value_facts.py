"""Bounds, distinctness and sameness of run-time integers."""
from __future__ import annotations

import numpy as np
import pytest

from reactant.frontends.arrays import value_facts
from reactant.frontends.arrays.tensor import Tensor
from reactant.frontends.session.trace import tracing
from reactant.ir import ops
from reactant.ir.context import building


@pytest.fixture
def x():
    """A run-time vector of five int64."""
    with building(), tracing() as trace:
        yield trace.add_argument((5,), np.dtype(np.int64))


BOUNDS = [
    (lambda x: x, None), (lambda x: ops.iota((5,), np.int64, 0), (0, 4)),
    (lambda x: ops.constant(np.array([3, -1])), (-1, 3)),
    (lambda x: ops.add(ops.iota((5,), np.int64, 0), 3), (3, 7)),
    (lambda x: ops.multiply(ops.iota((5,), np.int64, 0), -2), (-8, 0)),
    (lambda x: ops.subtract(2, ops.iota((5,), np.int64, 0)), (-2, 2)), (lambda x: ops.clamp(0, x, 3), (0, 3)),
    (lambda x: ops.remainder(x, 4), (-3, 3)), (lambda x: (Tensor.of_value(x) % 4).value(), (0, 3)),
    (lambda x: (Tensor.of_value(x) % Tensor.of_value(x)).value(), None),
    (lambda x: ops.minimum(ops.clamp(0, x, 9), 4), (0, 4)),
    (lambda x: ops.convert(ops.iota((5,), np.int64, 0), np.int8), (0, 4)),
    (lambda x: ops.convert(ops.clamp(0, x, 300), np.int8), None),
    (lambda x: ops.add(ops.convert(ops.constant(np.array([127])), np.int8), 1), None),
    (lambda x: ops.reverse(ops.reshape(ops.iota((5,), np.int64, 0), (5, 1)), [0]), (0, 4)),
    (lambda x: ops.select(ops.compare(x, 0, "GT"), ops.clamp(1, x, 2), ops.splat(7, x)), (1, 7)),
    (lambda x: ops.sort([x, ops.iota((5,), np.int64, 0)], 0)[1], (0, 4)),
    (lambda x: ops.pad(ops.clamp(1, x, 2), 0, [1], [0]), None)]


@pytest.mark.parametrize("number", range(len(BOUNDS)))
def test_bounds(x, number):
    build, expected = BOUNDS[number]
    assert value_facts.bounds(build(x)) == expected


DISTINCT = [
    (lambda x: x, False), (lambda x: ops.iota((5,), np.int64, 0), True),
    (lambda x: ops.iota((5, 2), np.int64, 0), False),
    (lambda x: ops.constant(np.array([3, 1, 2])), True), (lambda x: ops.constant(np.array([3, 1, 3])), False),
    (lambda x: ops.sort([x, ops.iota((5,), np.int64, 0)], 0)[1], True), (lambda x: ops.sort([x], 0)[0], False),
    (lambda x: ops.add(ops.iota((5,), np.int64, 0), 3), True),
    (lambda x: ops.add(ops.iota((5,), np.int64, 0), x), False),
    (lambda x: ops.negate(ops.reverse(ops.iota((5,), np.int64, 0), [0])), True),
    (lambda x: ops.slice(x, [0], [1]), True)]


@pytest.mark.parametrize("number", range(len(DISTINCT)))
def test_distinct(x, number):
    build, expected = DISTINCT[number]
    assert value_facts.distinct(build(x)) == expected


def test_same_and_difference(x):
    def element(k):
        return ops.reshape(ops.slice(x, [k], [k + 1]), ())
    i, j = element(0), element(1)
    assert value_facts.same(ops.add(i, j), ops.add(element(0), element(1)))
    assert not value_facts.same(ops.add(i, j), ops.add(j, j)) and not value_facts.same(i, j)
    assert value_facts.difference(ops.add(i, 3), element(0)) == 3
    assert value_facts.difference(ops.multiply(ops.add(i, 1), 4), ops.multiply(i, 4)) == 4
    assert value_facts.difference(ops.subtract(ops.add(i, j), i), j) == 0
    assert value_facts.difference(i, j) is None and value_facts.difference(7, 5) == 2
