"""Generators that are closed before their end, and the stacks of `contextlib.ExitStack`: what their ends change."""
import contextlib

import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError, ReactantError, UnsupportedError
from tests.frontends.agreement import agree

X = np.array([0.3, 0.5, 0.7])


def echo(log):
    try:
        for v in (1.0, 2.0, 3.0):
            log.append(v)
            yield v
    finally:
        log.append(-1.0)


def left_at_a_known_place(x):
    log = []
    if x[0] > 0:
        for v in echo(log):
            if v > 1.5:
                break
        x = x * len(log)
    return x, sum(log)


def tried_twice(x):
    """The loop is traced as one first, and left in the middle of the generator."""
    log, total = [], 0.0
    for k in range(60):
        for v in echo(log):
            total += [1.0, 2.0, "a"][k % 2] * v * x[0]
    return total, len(log), sum(log)


@pytest.mark.parametrize("program", [left_at_a_known_place, tried_twice])
def test_ends_of_generators(program):
    agree(program, [(X,)])


def left_by_the_run(x):
    log = [0.0, 0.0]
    for v in counted(log):
        if v > x[0]:
            break
    return log


def counted(log):
    for v in (1.0, 2.0, 3.0):
        try:
            yield v
        finally:
            log[1] += v


def any_of_them(x):
    log = [0.0, 0.0]
    return any(v > x[0] for v in counted(log)), log


@pytest.mark.parametrize("program", [left_by_the_run, any_of_them])
def test_where_only_the_run_knows_the_place_it_is_refused(program):
    """The `finally` was left out."""
    with pytest.raises(UnsupportedError, match="has a `yield` in a `try` or `with`"):
        reactant.jit(program)(X)


def closed_in_a_branch(x):
    log = []
    values = echo(log)
    next(values)
    if x[0] > 0:
        values.close()
    return sum(log)


def test_a_generator_from_before_is_not_closed_in_a_branch():
    with pytest.raises(ControlFlowError, match="An iterator that was made before"):
        reactant.jit(closed_in_a_branch)(X)


class Scope:
    def __init__(self, swallow=False):
        self.swallow, self.depth, self.left = swallow, 0.0, 0.0

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, kind, error, trace):
        self.left += self.depth
        return self.swallow


class Counting(Scope):
    def __exit__(self, kind, error, trace):
        self.left += self.depth


def stacked(x, n):
    scope, calls = Counting(), np.zeros(2)

    def note(k, *, by=1.0):
        calls[k] += by

    for _ in range(n[0]):
        with contextlib.ExitStack() as stack:
            stack.enter_context(scope).depth += x[0]
            stack.callback(note, 1, by=2.0)
            stack.push(lambda kind, error, trace: note(0))
            kept = stack.pop_all()
        kept.close()
    return scope.depth, scope.left, calls


def test_stacks_in_loops():
    """What leaving changed was lost after the first iteration."""
    agree(stacked, [(X, np.array([n])) for n in (1, 2, 5)])


def pushed(x):
    scope = Counting()
    for _ in range(3):
        with contextlib.ExitStack() as stack:
            stack.push(scope)
            scope.depth += x[0]
    return scope.left, scope.depth


def test_managers_that_are_not_entered():
    agree(pushed, [(X,)])


def risky(v):
    if v > 1:
        raise ValueError("big")
    return v


def swallowed(x):
    scope = Scope(True)
    with contextlib.ExitStack() as stack:
        stack.enter_context(scope)
        return risky(x[0])


def test_exceptions_of_the_run_that_a_stack_may_end_are_refused():
    with pytest.raises(ReactantError, match="It is only known at run time whether an exception is raised inside this "
                                            "`with`"):
        reactant.jit(swallowed)(X)
