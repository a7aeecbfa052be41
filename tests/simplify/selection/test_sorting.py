"""What is left of programs with sorts: the sorts, merges and reductions that a person would write."""
import numpy as np
import pytest

from reactant.ir import ops
from reactant.simplify.selection.sorting import loosely
from tests.simplify.test_goals import short, simplified

N = 20


def sort(x, comparator=loosely):
    return ops.sort([x], 0, comparator)[0]


def argsort(x, comparator=loosely):
    return ops.sort([x, ops.iota((N,), np.int32, 0)], 0, comparator)[1]


def take(x, places):
    places = ops.select(ops.compare(places, 0, "LT"), ops.add(places, N), places)
    return ops.gather(x, ops.reshape(places, (N, 1)), offset_dims=[], collapsed_slice_dims=[0], start_index_map=[0],
                      index_vector_dim=1, slice_sizes=[1])


def first(x):
    return ops.slice(x, (0,), (1,))


PROGRAMS = {
    "sorted twice": (lambda a: sort(sort(a(N))), {"sort": 1}),
    "keys and places": (lambda a: [v := a(N), sort(v), argsort(v)], {"sort": 1, "iota": 1}),
    "taken in order": (lambda a: take(v := a(N), argsort(v)), {"sort": 1}),
    "ranks": (lambda a: argsort(argsort(a(N)), "LT"), {"sort": 1, "iota": 1, "scatter": 1}),
    "least": (lambda a: first(sort(a(N))), {"sort": 0, "reduce": 2}),
    "greatest": (lambda a: ops.slice(sort(a(N)), (N - 1,), (N,)), {"sort": 0, "reduce": 1}),
    "sum": (lambda a: ops.reduce(sort(a(N)), 0.0, (0,), "add"), {"sort": 0, "reduce": 1}),
    "one element": (lambda a: sort(a(1)), {"sort": 0}),
    "counted up": (lambda a: ops.sort([ops.iota((N,), np.int32, 0), a(N)], 0)[1], {"sort": 0}),
    "payload unread": (lambda a: ops.sort([a(N), a(N)], 0)[0], {"sort": 1}),
    "descending": (lambda a: ops.reverse(sort(ops.reverse(a(N, dtype="int32"), (0,)), "LT"), (0,)),
                   {"sort": 1, "reverse": 0}),
    "two orders stay": (lambda a: [v := a(N), sort(v), sort(v, "GT")], {"sort": 2}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_sorts(name):
    builder, wanted = PROGRAMS[name]
    counts = short(simplified(builder))
    assert {op: counts.get(op, 0) for op in wanted} == wanted, counts
