"""What a plain script's functions take, and what they are called with."""
import sys
import time

import numpy as np

from reactant.profiling import plain
from reactant.profiling.plain import Recorder


def outer(x, *more, scale=2, **named):
    for _ in range(3):
        inner(x)
    time.sleep(0.02)
    return scale


def inner(x):
    x += 1
    time.sleep(0.005)


def recursive(n):
    return n if n == 0 else recursive(n - 1)


def made(k):
    def closure(x):
        return x * k
    return closure


class Thing:
    def __init__(self):
        self.u = np.zeros(3)

    def method(self, by):
        self.u += by

    @staticmethod
    def still(x):
        return x


def watched(run):
    with Recorder() as recorder:
        run()
    assert sys.getprofile() is None
    return {called.name: called for called in recorder.found.values()}


def test_times_calls_and_arguments():
    x = np.zeros(4)
    found = watched(lambda: outer(x, 1, 2, scale=5, other="a"))
    a, b = found["outer"], found["inner"]
    assert (a.calls, b.calls) == (1, 3) and b.seconds >= 0.015 and a.seconds >= b.seconds + 0.02
    assert a.own < a.seconds - 0.014 and b.within == {"outer"} and a.within == set()
    (given, named), = a.arguments
    assert given[1:] == (1, 2) and named == {"scale": 5, "other": "a"} and given[0].tolist() == [0.0] * 4
    assert [args[0][0] for args, _ in b.arguments] == [0.0, 1.0], "as they were when the call began"
    assert a.function is outer and a.place.endswith(f"test_plain.py:{outer.__code__.co_firstlineno}")


def test_recursion_counts_once():
    called = watched(lambda: recursive(5))["recursive"]
    assert called.calls == 6 and called.seconds < 0.01 and len(called.arguments) == 1


def test_closures_and_methods_are_found():
    thing, function = Thing(), made(3)
    found = watched(lambda: (function(2.0), thing.method(1.0), Thing.still(4)))
    assert found["made.<locals>.closure"].function is function
    assert found["Thing.method"].function is Thing.method and found["Thing.still"].function is Thing.still
    (own, by), _ = found["Thing.method"].arguments[0]
    assert own.u.tolist() == [0.0] * 3 and thing.u.tolist() == [1.0] * 3 and by == 1.0


def test_what_is_not_the_users_own_and_what_is_too_big(monkeypatch):
    def generator():
        yield from range(3)
    assert watched(lambda: (list(generator()), np.median(np.ones(5)))) == {}
    monkeypatch.setattr(plain, "MOST_BYTES", 100)
    called = watched(lambda: inner(np.zeros(50)))["inner"]
    assert called.arguments == [] and "MB" in called.why_not
    called = watched(lambda: outer(np.zeros(2), (i for i in ())))["outer"]
    assert called.arguments == [] and "cannot be copied" in called.why_not


def test_an_error_leaves_no_hook():
    try:
        with Recorder() as recorder:
            recursive("a")
    except TypeError:
        pass
    assert sys.getprofile() is None and next(iter(recorder.found.values())).active == 0
