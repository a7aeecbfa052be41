"""Lists that an `if` outside of loops appends to, or takes from, where run-time values decide."""
from dataclasses import dataclass, field

import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError, UnsupportedError
from tests.frontends.agreement import agree

X = np.array([0.9, -0.4, 0.7, 0.2])
CASES = [(X, 0.5), (X, -1.0), (-X, 0.5), (X, 0.8)]


def one_after_the_other(x, t):
    found = [0.5]
    if x[0] > t:
        found.append(x[0])
    if x[1] > t:
        found.append(x[1] * 2)
    else:
        found.append(-1.0)
    if len(found) > 2:
        found.append(5.0)
    return len(found), sum(found), found[-1]


def with_variables(x, t):
    found, n = [1.0, 2.0], 0
    if x[0] > t:
        found.append(x[0])
        n += 1
        y = x * 2
    else:
        y = x + 1
    return len(found), max(found), n, y


def read_and_bound_anew(x, t):
    """It said that y is not bound."""
    found, y = [1.0], x * 2
    if x[0] > t:
        found.append(y[0])
        y = y + 1
        found.append(y.sum())
    y = np.sin(x)
    if y[1] > t:
        y = y[:2]
        found.append(y[1])
    y = len(found)
    return y, sum(found)


@dataclass
class Body:
    x: np.ndarray
    t: float = 0.0
    history: list = field(default_factory=lambda: [0.0])

    def step(self, dt):
        self.x = self.x * 0.5
        self.t += dt
        if self.t > 0.25:
            self.history.append(self.x.sum())


def in_a_method(x, t):
    body = Body(x)
    for _ in range(3):
        body.step(t)
    return body.x, len(body.history), sum(body.history)


def nested_and_in_a_dict(x, t):
    logs = {"up": [1.0]}
    if x[0] > t:
        if x[2] > t:
            logs["up"].append(x[1])
        logs["up"].append(1.0)
    elif x[2] > 0:
        logs["up"].append(2.0)
    return len(logs["up"]), sum(logs["up"])


def in_a_closure(x, t):
    log = [0.0]

    def note(v):
        if v > t:
            log.append(v)
        return v

    return note(x[0]) + note(x[1]), len(log), sum(log)


def taken_from(x, t):
    stack = [1.0, 2.0, 3.0]
    if x[0] > t:
        stack.pop()
    if x[1] > t:
        stack.insert(0, 9.0)
    return len(stack), sum(stack), stack[0]


@pytest.mark.parametrize("program", [one_after_the_other, read_and_bound_anew, with_variables, in_a_method,
                                     nested_and_in_a_dict, in_a_closure, taken_from])
def test_agrees(program):
    agree(program, CASES)


def test_of_two_names():
    def program(x):
        found = []
        other = found
        if x[0] > 0:
            found.append(x[0])
        return len(other)

    with pytest.raises(ControlFlowError, match="changes a list of 0 elements differently"):
        reactant.jit(program)(X)


def test_returned():
    def program(x):
        found = []
        if x[0] > 0:
            found.append(x)
        return found

    with pytest.raises(UnsupportedError, match="returns an array whose size depends on run-time values"):
        reactant.jit(program)(X)


def swapped_unlike(x, y, m):
    box = [m, y]
    if y[0] > 0:
        return x
    if x[-1] > 1:
        if len(box) > 2:
            x = y
    else:
        for _ in x[:3]:
            box[0], box[1] = box[1], box[0]
    return y


def test_an_if_tried_again_has_its_variables():
    """It said that x is not associated with a value."""
    with pytest.raises(ControlFlowError, match="changes a list of 2 elements differently in its branches"):
        reactant.jit(swapped_unlike)(X, X - 1, np.ones((3, 4)))


class Lift:
    def __init__(self, wanted):
        self.wanted, self.floor, self.direction, self.served = wanted, 0, 1, []

    def step(self):
        if self.wanted[self.floor]:
            self.wanted[self.floor] = False
            self.served.append(self.floor)
            return "open"
        ahead = self.wanted[self.floor + 1:] if self.direction > 0 else self.wanted[:self.floor]
        if ahead.any():
            self.floor += self.direction
            return "move"
        if self.wanted.any():
            self.direction = -self.direction
            return "iteration"
        return "idle"


def lift(wanted, floor, steps):
    it = Lift(wanted)
    it.floor = floor
    counts = {"open": 0, "move": 0, "iteration": 0, "idle": 0}
    for _ in range(steps):
        counts[it.step()] += 1
    return counts, it.floor, len(it.served), sum(it.served)


def test_a_list_beside_what_a_branch_around_changes():
    """What is kept of the object's attributes around the inner `if` was taken for a second place of the list."""
    agree(lift, [(np.array([1, 0, 0, 0, 1, 0, 1], bool), 3, 30)])


def returns_early_something_else(x):
    out, t = [0.5], 0.25
    for v in x:
        if v > 0.5:
            return [t, 1.0]
        t = t + 1
        out.append(t)
    out.append(t)
    return [t * 2, len(out) * 1.0, 3.0]


def test_a_value_returned_before_that_is_of_another_structure_is_refused():
    """Zeros were returned for it."""
    with pytest.raises(ControlFlowError):
        reactant.jit(returns_early_something_else)(X)
