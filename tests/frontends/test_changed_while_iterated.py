"""Loops over lists that their bodies change: Python goes on with what there is."""
import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError
from reactant.frontends.control.list_refusals import ListError
from tests.oracle import check

X = np.linspace(0.1, 1.0, 40)


def grows(x):
    items, total = [x[i] for i in range(20)], 0.0
    for v in items:
        total += v
        if len(items) < 30:
            items.append(v * 2)
    return total, len(items)


def shrinks(x):
    items, total = [x[i] for i in range(40)], 0.0
    for v in items:
        total += v
        items.pop()
    return total, len(items)


def shrinks_at_the_beginning(x):
    items, total = [x[i] for i in range(40)], 0.0
    for v, w in zip(items, items[1:], strict=False):
        total += v * w
        items.pop(0)
    return total, len(items)


class Held:
    def __init__(self, items):
        self.items = items

    def drop(self):
        self.items.pop()


def shrinks_elsewhere(x):
    held, total = Held([x[i] for i in range(40)]), 0.0
    for v in held.items:
        total += v
        held.drop()
    return total


@pytest.mark.parametrize("program", [grows, shrinks, shrinks_at_the_beginning, shrinks_elsewhere])
def test_as_python(program):
    check(program, X)


def replaces(x):
    items, total, k = [x[i] for i in range(40)], 0.0, 0
    for v in items:
        total += v
        k += 1
        if k < 40:
            items[k] = total
    return total


def test_what_a_staged_loop_cannot_follow_is_refused():
    with pytest.raises(ListError, match="changes while a loop runs over it"):
        reactant.jit(replaces)(X)


def none_after_each_iteration(x, given):
    held = 1 if given[0] else None
    for _ in range(100):
        for _row in x[:3]:
            held = None
        else:
            held = held if not given[1] else 0
    return held, x


def test_what_is_none_after_a_iteration():
    check(none_after_each_iteration, X, np.array([True, True]))


def without_end(x):
    rows, total = [1.0, 2.0], 0.0
    if x[0] > 9:
        for v in rows:
            total = total * 0.5 + v
            rows.append(v)
    return total + x[0]


def test_a_loop_without_end_on_a_path_is_refused():
    """It was traced without end, whichever path the run took."""
    with pytest.raises(ControlFlowError, match="makes the list longer that it runs over"):
        reactant.jit(without_end, max_unroll=100)(X)
