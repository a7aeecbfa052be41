"""Loops over generators whose elements depend on conditions only known at run time, against plain Python."""
from __future__ import annotations

import ast
import textwrap

import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError, ReactantError
from reactant.frontends.source.generators import is_pushable
from tests.frontends.agreement import agree

CASES = [(np.array(x),) for x in ([2.0, 0.5, 0.7], [0.5, 2.0, 0.7], [0.1, 0.2, 0.31])]


def positive(values):
    for v in values:
        if v > 0.3:
            yield v


def until(values, limit):
    total = 0.0
    for v in values:
        total += v
        if total > limit:
            return
        yield total


def nested(values):
    yield 0.5
    yield from positive(values)
    if values[0] > 1:
        yield 2.0


def natural(start=0):
    while True:
        yield start
        start += 1


def paired(values, limit):
    before = None
    for v in values:
        if before is not None and v > limit:
            yield before, v
        before = v


class Tree:
    def __init__(self, v, left=None, right=None):
        self.v, self.left, self.right = v, left, right
    def __iter__(self):
        if self.left is not None:
            yield from self.left
        yield self.v
        if self.right is not None:
            yield from self.right


def summed(x):
    t = 0.0
    for v in positive(x):
        t += v
    return t


def left(x):
    k = 0
    for v in positive(x):
        if v > 0.6:
            break
        k += 1
    else:
        k += 10
    return k


def folds(x):
    return (sum(positive(x)), len(list(positive(x))), max(positive(x)), any(v > 1 for v in positive(x)),
            all(v < 1 for v in positive(x)))


def returned_inside(x):
    for v in until(x, 1.0):
        if v > 0.6:
            return v
    return -1.0


def delegating(x):
    return sum(nested(x)), sorted(nested(x))[0]


def endless(x):
    k = 0
    for v in natural():
        if v > 2 or x[v] > 0.6:
            break
        k += v
    return k


def pairs(x):
    t = 0.0
    for a, b in paired(x, 0.4):
        t = t + a*b
    return t


def tree(x):
    tree = Tree(x[0], Tree(x[1]), Tree(x[2], Tree(0.5)))
    t = 0.0
    for v in tree:
        t = t * 0.5 + v
    return t, sum(tree), list(tree), x[1] in tree


def appended(x):
    out = []
    for v in positive(x):
        out.append(v * 2)
    return len(out), sum(out)


def filtered(x):
    out = [v * 2 for v in positive(x) if v < 1]
    return len(out), sum(out)


def used_up(x):
    g = positive(x)
    s = 0
    for v in g:
        s += v
    return s, sum(g)


def in_loops(x):
    s = 0.0
    for i in range(30):
        for v in positive(x * i * 0.1):
            s += v
            if s > 50:
                break
        if s > 80:
            return s, i
    return s, -1


def a_closure(x):
    s = []
    def gen():
        for v in x:
            if v > 0.3:
                s.append(v)
                yield v
                s.append(0.0)
    t = 0.0
    for v in gen():
        t += v
        if v > 0.6:
            break
    return t, len(s)


def long(x):
    t = 0.0
    for v in positive(np.concatenate([x]*40)):
        t = t * 0.99 + v
    return t


def in_a_branch(x):
    k, last = 0, None
    if x[0] > 0.4:
        for v in positive(x):
            k += 1
            last = v
    return k, last


PROGRAMS = [summed, left, folds, returned_inside, delegating, endless, pairs, tree,
            appended, filtered, used_up, in_loops, a_closure, long, in_a_branch]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    agree(program, CASES)


def test_they_are_loops():
    lowered = reactant.jit(long).lower(np.ones(50))
    assert lowered.operations(optimized=False)["stablehlo.while"] == 1


def one_by_one(x):
    numbers, t = natural(1), 0.0
    for v in x:
        t += v * next(numbers)
    for v, k in zip(x, natural(), strict=False):
        t += v * k
    return t


def test_elements_that_are_taken_one_by_one():
    agree(one_by_one, CASES)


def left_and_used_again(x):
    numbers = positive(x)
    for v in numbers:
        if v > 0.6:
            break
    return sum(numbers)


def made_before_a_branch(x):
    numbers, total = positive(x), 0.0
    if x[0] > 1:
        total = sum(numbers)
    return total


def test_where_they_stand():
    with pytest.raises(ControlFlowError, match="Where this iterator stands is known only at run time"):
        reactant.jit(left_and_used_again)(*CASES[0])
    with pytest.raises(ControlFlowError, match="made before a branch or loop"):
        reactant.jit(made_before_a_branch)(*CASES[0])


def an_error_of_the_body(x):
    def guarded():
        for v in x:
            try:
                if v > 0.3:
                    yield v
            except ValueError:
                yield -1.0
    return sum(guarded())


def test_handlers_around_a_yield_do_not_see_the_body():
    with pytest.raises(ReactantError):
        reactant.jit(an_error_of_the_body)(*CASES[0])


@pytest.mark.parametrize(("text", "fits"), [
    ("if x: yield x", True), ("while x: yield", True), ("for v in x:\n    if v: yield from v", True),
    ("for v in x: yield v", True), ("yield x", False), ("yield from x", True),
    ("if x: y = yield x", False), ("if (yield x): pass", False),
    ("if x: yield x\nreturn 3", False), ("if x: yield (yield x)", False), ("with x:\n    if x: yield x", False),
    ("if x: yield lambda: (yield)", True)])
def test_which_are_run_by_loops(text, fits):
    function = ast.parse(f"def f(x):\n{textwrap.indent(text, '    ')}").body[0]
    assert is_pushable(function) is fits
