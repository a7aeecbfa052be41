"""What takes two seconds is said once, on standard error."""
from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import reactant
from reactant.support import progress


def test_a_step_is_said_once_after_two_seconds():
    with progress.step("doing something"):
        now = time.monotonic()
        assert mine(now + 1) == []
        assert mine(now + 3) == ["reactant: doing something (3 s so far)"]
        assert mine(now + 9) == []
    assert threading.get_ident() not in progress._STEPS


def mine(now):
    """Of this thread: others may compile."""
    steps = progress._STEPS[threading.get_ident()]
    kept, said = dict(progress._STEPS), []
    try:
        for thread in kept:
            if kept[thread] is not steps:
                progress._STEPS.pop(thread)
        said = progress.due(now)
    finally:
        progress._STEPS.update(kept)
    return said


def test_steps_within_others():
    with progress.step("outer"):
        with progress.step("inner"):
            now = time.monotonic()
            assert [text.split(" (")[0] for text in mine(now + 2.1)] == ["reactant: outer", "reactant: inner"]
        with progress.step("next"):
            assert [text.split(" (")[0] for text in mine(now + 2.2)] == ["reactant: next"]


def test_loops_are_named_by_their_lines():
    with progress.step("tracing 'f'"), progress.unrolling(mine.__code__) as outer:
        outer.iterations = 3
        with progress.unrolling(test_steps_within_others.__code__) as inner:
            inner.iterations = 500
            (text,) = mine(time.monotonic() + 2.3)
    line = test_steps_within_others.__code__.co_firstlineno
    assert text == (f"reactant: tracing 'f', unrolling the loop in line {line} of test_progress.py: 500 copies (2 s so "
                    "far)")


def test_it_can_be_silenced(monkeypatch):
    monkeypatch.setenv("REACTANT_PROGRESS", "0")
    with progress.step("doing something"):
        assert threading.get_ident() not in progress._STEPS


def of_texts(x):
    total = 0.0
    for k in range(1, 250):
        total = total + x[:k].prod() * len(str(k))
    return total


def rolled(x):
    for _ in range(50):
        x = np.sin(x) @ x
    return x


def over_pairs(x):
    total = 0.0
    for k, name in {k: f"n{k}" for k in range(1, 250)}.items():
        total = total + x[:k].prod() * len(name)
    return total


def while_known(x):
    k = 0
    while k < 240:
        k += 1
        x = x + np.ones(k).sum()
    return x


@pytest.mark.slow
@pytest.mark.parametrize("function", [of_texts, over_pairs, while_known])
def test_unrolled_loops_are_named(function, monkeypatch):
    found = []

    class Told(progress.Repeated):
        @property
        def iterations(self):
            return self.count

        @iterations.setter
        def iterations(self, count):
            self.count = count
            if count == 200:
                found.extend(mine(time.monotonic() + 3))

    monkeypatch.setattr(progress, "Repeated", Told)
    reactant.jit(function)(np.ones(300))
    first = function.__code__.co_firstlineno
    texts = [f"tracing {function.__name__!r}, unrolling the loop in line {line} of test_progress.py: 200 copies"
             for line in range(first, first + 5)]
    assert any(text in found[0] for text in texts), found


def test_compilations_say_what_goes_on(monkeypatch, capsys):
    monkeypatch.setattr(progress, "AFTER", 1e-4)
    monkeypatch.setattr(progress, "PERIOD", 1e-3)
    reactant.jit(rolled, native="never")(np.eye(3))
    said = capsys.readouterr().err
    for text in ("tracing 'rolled'", "simplifying the program of 'rolled'", "XLA compiles 'rolled'"):
        assert said.count(text) <= 1
    assert "XLA compiles 'rolled'" in said      # in the others the thread that says it may be asleep


def test_fast_ones_say_nothing(capsys):
    reactant.jit(lambda x: x * 3 + 1)(np.ones(3))
    assert "reactant:" not in capsys.readouterr().err
