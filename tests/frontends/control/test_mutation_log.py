"""Lists, dicts and objects that a loop body or branch makes, changes and drops are its own; those outside are not."""
from __future__ import annotations

import collections

import numpy as np
import pytest

from tests.oracle import check


class Record:
    def __init__(self, first):
        self.values, self.named = [first], {}

    def push(self, value):
        self.values.append(self.values[-1] * 0.5 + value)
        self.named[len(self.values)] = value
        self.last = value


def list_of_a_helper(x):
    def iteration(a, b):
        made = [a, b]
        for i, j in [(0, 1), (1, 2)]:
            made.append(made[i] * 0.5 + made[j])
        return made[-1], made[-2]
    y = x
    for _ in range(40):
        x, y = iteration(x * 0.5, y * 0.5)
    return x, y


def list_of_the_body(x):
    for _ in range(40):
        made = [x, x + 1]
        for i in (0, 1):
            made.append(made[i] + made[i + 1])
        x = made[-1] * 0.1
    return x


def object_of_the_body(x):
    for _ in range(40):
        record = Record(x)
        record.push(x + 1)
        record.push(x * 2)
        x = record.values[-1] * 0.1 + record.last * 0.1 + record.named[2] * 0.01
    return x


def queue_of_the_body(x):
    n = 0
    while n < 30:
        queue = collections.deque(maxlen=2)
        for k in (1, 2, 3):
            queue.append(x * k)
        x = (queue[0] + queue[1]) * 0.1
        n += 1
    return x


def lists_and_dicts(x):
    for _ in range(50):
        rows = []
        for j in range(3):
            rows.append(x * j)
        table = np.array(rows)
        x = table.sum(0) * 0.2
        parts = {k: table[k] for k in range(3)}
        parts[0] = parts[1] + 1
        x = x + parts[0] * 0.01
    return x


def lists_of_branches(x):
    for _ in range(50):
        if x.sum() > 1:
            made = [x, x]
            made[0] = made[0] * 0.5
            made.append(made[0])
            x = made[2]
        else:
            made = [x]
            made.append(x + 1)
            x = made[1]
    return x


def every_method(x):
    def multiples(v):
        for k in range(3):
            yield v * k
    for _ in range(50):
        made = list(multiples(x))
        made.insert(0, x)
        made.pop()
        made.extend([x])
        made.reverse()
        x = sum(made) * 0.1
    return x


@pytest.mark.parametrize("start", [0.7, 0.2])
@pytest.mark.parametrize("f", [list_of_a_helper, list_of_the_body, object_of_the_body, queue_of_the_body,
                               lists_and_dicts, lists_of_branches, every_method], ids=lambda f: f.__name__)
def test_what_a_body_makes_is_its_own(f, start):
    check(f, np.full(3, start), rtol=1e-9)


def nested_lists(x):
    """The inner list is changed first, and only the outer one refers to it."""
    outer = {"inner": [x, x]}
    record = Record(x)
    for _ in range(40):
        outer["inner"][0] = outer["inner"][0] * 0.9
        record.values[0] = record.values[0] + outer["inner"][0]
        record.last = x
    return outer, record.values, record.last


def test_what_is_outside_keeps_its_changes():
    check(nested_lists, np.ones(3), rtol=1e-9)


def test_growing_what_is_outside():
    def f(x):
        outside = {"inner": []}
        while x[0] < 5:
            outside["inner"].append(x)
            x = x + 1
        return outside["inner"][0], outside["inner"][-1], len(outside["inner"])
    check(f, np.ones(3))
