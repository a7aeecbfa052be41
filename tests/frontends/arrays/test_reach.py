"""What can be reached from variables and functions: how often a list is, and which arrays."""
import functools

import numpy as np
import pytest

from reactant.frontends.arrays.reach import REACH, parts_of_object, reachable, reachable_storages
from reactant.frontends.arrays.tensor import Tensor
from reactant.frontends.session.trace import tracing
from reactant.ir.context import building


class Held:
    def __init__(self, x):
        self.x = x


def test_how_often_a_list_is_reached():
    row = [1]
    seen, times = reachable([[row, row], {"a": Held(row)}])
    assert times[id(row)] == 3 and id(row) in seen
    deep = row
    for _ in range(REACH + 3):
        deep = [deep]
    assert id(row) not in reachable([deep])[0]


def test_what_functions_hold():
    row, other = [1], [2]

    def function(default=other):
        return row, default
    assert id(row) in reachable([function])[0] and id(other) not in reachable([function])[0]
    assert id(other) in reachable([function], everywhere=True)[0]
    assert id(row) in reachable([functools.partial(function, row)], everywhere=True)[0]
    assert parts_of_object(function) == [row] and parts_of_object({"a": 1, "b": 2}) == [1, 2]
    assert parts_of_object(np.ones(2)) == []


@pytest.fixture
def arrays():
    with building(), tracing() as trace:
        yield [Tensor.of_value(trace.add_argument((3,), np.dtype(float))) for _ in range(3)]


def test_the_memories_that_functions_reach(arrays):
    first, second, third = arrays
    held, view = Held({"a": [second]}), first[1:]

    def function():
        return held, view
    assert reachable_storages([function]) == [second.storage, first.storage] and third is arrays[2]
