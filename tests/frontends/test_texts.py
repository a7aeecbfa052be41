"""Texts that hold run-time values: what looks into them, or finds something by them, needs them while tracing."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import ConcreteValueNeeded
from tests.oracle import check

X = np.random.default_rng(0).normal(size=400)
ITERATIONS = 300
"""Too many to be unrolled for another reason."""


def part_of_a_text(x):
    weights, total = {"1": .5, "2": .25}, 0.
    for i in range(ITERATIONS):
        total = total * weights.get(str(i)[0], 1.) + x[i]
    return total


def letters(x):
    total = 0.
    for i in range(ITERATIONS):
        for c in str(i):
            total += x[i] * (c == "1")
        total += x[i] * len(list(f"{i:x}")) - ord(str(i % 7))
    return total


def order(x):
    total = 0.
    for i in range(ITERATIONS):
        if str(i) < "2":
            total += np.sin(x[i])
    return total


def keys(x):
    held, total = {f"k{i}": x[i] for i in range(ITERATIONS)}, 0.
    for i in range(100):
        total = total * .5 + np.sin(held.pop(f"k{i}")) * held[f"k{i + 100}"]
        held[f"new{i % 3}"] = total
    return total, len(held)


def members(x):
    found, total = {"a3", "a7"}, 0.
    for i in range(ITERATIONS):
        if f"a{i}" in found:
            total += x[i]
            found.discard(f"a{i}")
    return total, len(found)


def places(x):
    names, total = [f"n{i % 50}" for i in range(60)], 0.
    for i in range(50):
        total = total * .9 + x[names.index(f"n{i}")] * names.count(f"n{i}")
    return total


def attributes(x):
    class Held:
        a3 = 2.

    held, total = Held(), 0.
    for i in range(ITERATIONS):
        if hasattr(held, f"a{i}"):
            total += getattr(held, f"a{i}") * x[i]
        total = np.sin(total) + getattr(held, f"b{i}", .1) * x[i]
        setattr(held, f"c{i % 2}", total)
    return total, held.c0


@pytest.mark.sampled(100)
@pytest.mark.parametrize("program", [part_of_a_text, letters, order, keys, members, places, attributes])
def test_texts_of_a_loops_index_are_known(program):
    check(program, X)


@pytest.mark.parametrize("program", [
    lambda x: {"1": 1.}.get(str(x[0])[0], 2.), lambda x: hasattr(np, f"sin{x[0]}"), lambda x: list(str(x[0])),
    lambda x: {"1": 1.}[f"{x[0]}"], lambda x: f"{x[0]}" < "a", lambda x: {"a"}.add(f"{x[0]}")])
def test_texts_of_data_are_refused(program):
    with pytest.raises(ConcreteValueNeeded, match="A text"):
        reactant.jit(program)(X)
