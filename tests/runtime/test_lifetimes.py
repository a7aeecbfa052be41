"""Compiled programs go with their last user: each holds maps of memory, of which a process has only so many."""
import gc
import weakref
from types import FunctionType

import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.native.steps import Straight
from reactant.runtime import program
from reactant.runtime.direct import Direct

X = np.arange(12.0)


def _sorted(x):
    return np.sort(x * 3.0)[:4] + 1.0


def _recurrence(x):
    out = x.copy()
    for i in range(1, len(x)):
        if out[i] > 2:
            out[i] = out[i - 1] * 0.5 + x[i]
    return out


def _grown(x):
    found = []
    for i in range(len(x)):
        if x[i] > 2:
            found.append(x[i] * 2)
    return sum(found)


def _of_jax(x):
    return jnp.sort(x * 3.0)[:4] + 1.0


def _handled(x):
    try:
        if x[0] > 1:
            raise ValueError("large")
        return x * 2
    except ValueError:
        return x


WAYS = {"numpy": lambda: reactant.jit(_sorted, native="never"), "loop": lambda: reactant.jit(_recurrence),
        "list": lambda: reactant.jit(_grown), "handled": lambda: reactant.jit(_handled, native="never"),
        "jax": lambda: reactant.jit(_of_jax), "vmap": lambda: reactant.vmap(lambda x: x * 2.0)}


@pytest.fixture
def made(monkeypatch):
    """What is compiled while the collector sleeps."""
    alive: weakref.WeakSet = weakref.WeakSet()
    monkeypatch.setattr(program, "_ALIVE", alive)
    gc.collect()
    gc.disable()
    yield alive
    gc.enable()


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_programs_go_with_their_function(way, made):
    function = WAYS[way]()
    function(X)
    assert any(isinstance(p, (program.Program, Direct)) for p in made)
    del function
    assert not len(made)


@pytest.mark.slow
def test_what_runs_without_xla_goes_with_its_function(made):
    others = [x for x in gc.get_objects() if type(x) is Straight]
    function = reactant.jit(_sorted)
    function(X)
    own = [weakref.ref(x) for x in gc.get_objects() if type(x) is Straight and all(x is not y for y in others)]
    del function
    assert len(own) == 1 and own[0]() is None


@pytest.mark.slow
def test_what_cycles_hold_is_collected(made, monkeypatch):
    monkeypatch.setattr(program, "FEW", 5)
    monkeypatch.setattr(program, "_MOST_ALIVE", [5])
    for k in range(12):
        holder = {}
        holder["function"] = reactant.jit(lambda x, k=k, holder=holder: x * (k + 2.0))
        holder["function"](X)
        del holder
        assert len(made) <= 6


def _transform(x):
    """A recursive Fourier transform: many concatenations, in native code."""
    if len(x) == 1:
        return x
    even, odd = _transform(x[::2]), _transform(x[1::2])
    turned = np.exp(-2j * np.pi * np.arange(len(odd)) / len(x)) * odd
    return np.concatenate([even + turned, even - turned])


def _of_lists(x):
    return _grown(x), {"all": [x, (x * 2.0, 3)]}


DERIVED = {"gradient": lambda: reactant.grad(lambda x: _recurrence(x).sum()),
           "jacobian": lambda: reactant.jacobian(lambda x: np.sin(x)), "lists": lambda: reactant.jit(_of_lists),
           "concatenations": lambda: reactant.jit(lambda x: _transform(x[:8] + 0j))}


@pytest.mark.slow
@pytest.mark.parametrize("way", {**WAYS, **DERIVED})
def test_nothing_of_ours_waits_for_the_collector(way):
    """Nothing we make refers to itself: what it holds (arrays, modules) would stay until cycles are collected."""
    make = {**WAYS, **DERIVED}[way]
    make()(X)       # what is made once stays
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        make()(X)
        gc.collect()
        found = {f"{o.__module__}.{o.__qualname__}" if isinstance(o, FunctionType) else f"{type(o).__module__}."
                 f"{type(o).__qualname__}" for o in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not {name for name in found if name.startswith("reactant")}


def test_a_gradient_lets_go_of_its_function():
    def scaled(x):
        return (x * 2.0).sum()
    kept = weakref.ref(scaled)
    reactant.grad(scaled)(X)
    del scaled
    assert kept() is None
