"""Why programs on meshes send what they send: the reason of each collective, in `explain` and as data."""
from __future__ import annotations

import numpy as np
import pytest

import reactant

pytestmark = pytest.mark.devices8


def rows(shape=(64, 16)):
    return reactant.array(np.random.default_rng(0).random(shape), sharding=reactant.mesh(x=8).sharding("x"))


def rolled(u):
    return np.roll(u, 1, 0) + np.roll(u, 2, 0)


def looked_up(u):
    v = u * 2
    return v[(u[:, 0] * 10).astype(int)]


def looped(u):
    for _ in range(300):
        u = u + 0.1 * np.roll(u, 1, 0)
    return u


def summed(u):
    return u - u.sum(0)


def local(u):
    return u * 2


CASES = [(rolled, "collective_permute", "reads elements that other devices own"),
         (looked_up, "all_gather", "'gather' needs all of dimension 0 of an array of shape"),
         (looped, "collective_permute", "reads elements that other devices own"),
         (summed, "all_reduce", "'reduce' combines what each device has computed")]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("program", "kind", "why"), CASES)
def test_reasons(program, kind, why):
    compiled = reactant.jit(program).lower(rows()).compile()
    needed = compiled.executable.needed()
    assert kind in {n.collective.kind for n in needed} <= {kind, "all_reduce"}      # and whether indices are in range
    assert any(why in n.why for n in needed) and all(n.why for n in needed)
    assert sum(n.collective.count * n.collective.total for n in needed) == compiled.traffic().bytes


def test_nothing_moves():
    assert reactant.jit(local).lower(rows()).compile().executable.needed() == []


def test_left_to_xla():
    def printing(u):
        print(u.sum())
        return u
    assert reactant.jit(printing).lower(rows()).compile().executable.needed() == []


def test_explained():
    found = reactant.explain(reactant.jit(summed), rows())
    line = next(line for line in found.lines if line.moved)
    assert line.source == "return u - u.sum(0)" and line.why == ("'reduce' combines what each device has computed",)
    assert "    why:    'reduce' combines" in str(found)
