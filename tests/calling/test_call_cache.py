"""The comparison with the last signature says "the same" for exactly the calls that sign alike."""
from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from types import SimpleNamespace
from typing import NamedTuple

import jax
import numpy as np
import pytest

import reactant
from reactant.calling import signature as sig
from reactant.calling.call_cache import MOST_ALONE, matcher

X, Y = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
FROZEN = np.ones((2, 3))
FROZEN.setflags(write=False)
DEVICE = reactant.array(X)
JAX, OTHER = jax.device_put(X), jax.device_put(X[:1])


class Pair(NamedTuple):
    first: object
    second: object


class Thing:
    def __init__(self, array, **others):
        self.array = array
        vars(self).update(others)


class Slotted:
    __slots__ = ("b", "a")

    def __init__(self, a, b=None):
        self.a = a
        if b is not None:
            self.b = b


class Wide:
    """Many arrays; `again`: the last one is this one; `numbers`: whole ones and others between them."""

    def __init__(self, count, again=None, numbers=False):
        for k in range(count):
            setattr(self, f"field{k}", np.full(2, k))
            if numbers:
                setattr(self, f"size{k}", k)
                setattr(self, f"weight{k}", 0.5 * k)
        if again is not None:
            setattr(self, f"field{count - 1}", getattr(self, f"field{again}"))


EMPTY, THING = [], Thing(X)
OF_OTHERS = {"a": [X, Y], "b": (1, "text")}
CALLS = [
    ((X, Y), {}), ((X, X), {}), ((X,), {}), ((X, Y, 2), {}), ((X, Y, True), {}), ((X, Y, 2.0), {}), ((X, Y, "2"), {}),
    ((X, Y, None), {}), ((X, X.T.copy().T), {}), ((X, Y[:, ::-1]), {}), ((X, FROZEN), {}), ((X, Y.astype(">f8")), {}),
    ((X, Y.astype(np.float32)), {}), ((X, Y[:1]), {}), ((X, Y.view(np.int64)), {}), ((X,), {"b": Y}), ((X,), {"c": Y}),
    ((), {"a": X, "b": Y}), ((X,), {"b": Y, "c": 2}), ((X, 2.0, 2.0), {}), ((X, 2j), {}), ((DEVICE, Y), {}),
    ((DEVICE, DEVICE), {}), ((JAX, Y), {}), ((JAX, JAX), {}), ((JAX,), {"b": DEVICE}), ((OTHER, Y), {}),
    ((DEVICE.T.copy().T, Y), {}),
    ((DEVICE[:, ::-1], Y), {}), ((DEVICE[:1], Y), {}),
    ((JAX.astype("int32"), Y), {}), ((DEVICE,), {"b": JAX}),
    ((X, np.float64(2)), {}), ((X, [Y]), {}), ((X, np.memmap), {}), ((), {}),
    ((X, [X]), {}), (([X, Y],), {}), (([Y, X, Y],), {}), (((X, Y),), {}), (([X, (Y, 2.0)],), {}),
    (([X, [Y, 2.0]],), {}),
    (([],), {}), (([], []), {}), ((EMPTY, EMPTY), {}), (((), ()), {}), ((X, 2), {"b": []}), ((X,), {"b": [X]}),
    (({"a": X, "b": 1},), {}), (({"b": 1, "a": X},), {}), (({"a": X, "b": 2},), {}), (({"a": X, "b": True},), {}),
    (({"a": X, 1: Y},), {}), (({"a": X, True: Y},), {}), (({"a": X, 1.0: Y},), {}), (({},), {}),
    ((OrderedDict(a=X, b=1),), {}), ((defaultdict(list, a=X, b=1),), {}), ((defaultdict(dict, a=X, b=1),), {}),
    ((Pair(X, Y),), {}), ((Pair(X, 1),), {}), ((Pair(X, X),), {}), ((Pair([X], Y),), {}),
    ((Thing(X),), {}), ((Thing(X, b=Y),), {}), ((Thing(X, b=X),), {}), ((Thing(Y, c=Y),), {}), ((Thing([X, Y]),), {}),
    ((Thing(X, b=2.0, c="c", d=None, e=np.sum),), {}), ((Thing(X, b=2j, c="c", d=None, e=np.sum),), {}),
    ((Thing(X, b=2.0, c="d", d=None, e=np.sum),), {}), ((Thing(X, b=2.0, c="c", d=0, e=np.sum),), {}),
    ((Thing(X, b=2.0, c="c", d=None, e=np.max),), {}), ((Thing(X, b={1, 2}),), {}), ((Thing(X, b=deque([1])),), {}),
    ((Thing(X, b=Thing(Y)),), {}), ((Thing(X, b=Thing(X)),), {}), ((Thing(X, b=OF_OTHERS),), {}),
    ((THING, THING), {}), ((THING, Thing(X)), {}), (([THING, THING.array],), {}), ((Slotted(X),), {}),
    ((Slotted(X, Y),), {}), ((Slotted(Y, X),), {}), ((Slotted(X, X),), {}), ((SimpleNamespace(array=X),), {}),
    ((SimpleNamespace(other=X),), {}), ((Wide(40),), {}), ((Wide(40, again=3),), {}), ((Wide(40, again=7),), {}),
    ((Wide(40, numbers=True),), {}), ((Wide(41),), {}), (tuple(map(np.full, [3] * 20, range(20))), {}),
    ((np.float32(2), 1, X), {}), ((np.float64(2), 1, X), {}), ((np.int64(2), 1, X), {}), ((np.bool_(1), 1, X), {}),
    ((slice(0, 2), X), {}), ((slice(0, 3), X), {}), (([X, slice(0, 3)],), {}), ((np.dtype("f4"), X), {}),
    (([DEVICE, Y],), {}), (([JAX, Y],), {}), (([DEVICE, DEVICE],), {}), (([X.T, FROZEN],), {}), (([X, FROZEN],), {}),
    ((X[:, ::2],), {}), ((X[:, ::2].T,), {}), ((X[:0],), {}), ((np.array(2.0),), {}),
]
"""Each is another call, or one of the same signature."""
SIGNED = [i for i, (args, _) in enumerate(CALLS) if any(isinstance(x, reactant.DeviceArray) and x.apart for x in args)]
"""Calls of views on a device, of which only signing tells how their elements lie."""


def signed(args, kwargs):
    flat = sig.Flattener()
    positional = tuple(flat.node(a) for a in args)
    keyword = tuple((n, flat.node(kwargs[n])) for n in sorted(kwargs))
    key = positional, keyword, None, jax.config.jax_enable_x64
    return key, flat.leaves


@pytest.mark.parametrize("made_of", range(len(CALLS)))
def test_matches_are_calls_of_the_same_signature(made_of):
    key, _ = signed(*CALLS[made_of])
    matches = matcher(*key)
    assert (matches is None) == (made_of in SIGNED) and (matches is None or matches(*CALLS[made_of]) is not None)
    for args, kwargs in CALLS if matches else ():
        other, leaves = signed(args, kwargs)
        found = matches(args, kwargs)
        if found is None:
            assert other != key
        else:
            assert other == key and list(map(id, found)) == list(map(id, leaves))


@pytest.mark.parametrize(("args", "flat"), [
    ((X, Y), True), ((X, 2.0, "a", None, True), True), ((DEVICE,), True), ((JAX, Y), True), ((X, [Y]), True),
    ((X, X), True), ((FROZEN,), True), ((np.float32(1),), True), ((X, np.sum), True), ((1,) * (MOST_ALONE + 1), True)])
def test_flat_signatures_have_a_matcher(args, flat):
    assert (matcher(*signed(args, {})[0]) is not None) == flat


def test_the_default_device_is_part_of_it():
    matches = matcher(*signed((X,), {})[0])
    assert matches((X,), {}) is not None
    with jax.default_device(jax.devices()[0]):
        assert matches((X,), {}) is None
    with jax.enable_x64(not jax.config.jax_enable_x64):
        assert matches((X,), {}) is None


def test_64_bits_are_the_users_in_each_call():
    """JAX functions within compute in 32 bits where they are off, also when the first call was in 64."""
    thirds = jax.jit(lambda x: x * jax.numpy.arange(3.0) / 3)

    def program(x):
        return np.sin(x) + thirds(x)

    exact = np.sin(1.0) + np.arange(3) / 3
    for first in (False, True):
        function = reactant.jit(program, frontend="numpy")
        for on in (first, not first, first):
            with jax.enable_x64(on):
                found = function(np.ones(3))
            assert (np.abs(found - exact).max() < 1e-15) == on


def test_calls_that_alternate():
    f = reactant.jit(lambda a, b: (a - b, a is b))
    for args, same in [((X, Y), False), ((X, X), True), ((X, Y), False), ((X.T, Y.T), False), ((X, FROZEN), False)] * 2:
        difference, was_same = f(*args)
        np.testing.assert_array_equal(difference, args[0] - args[1])
        assert was_same == same
    assert f.cache_size() == 4


def test_forgotten_programs_are_not_called():
    scale = 2.0
    f = reactant.jit(lambda x: x * scale)
    np.testing.assert_array_equal(f(X), 2 * X)
    scale = 3.0
    f.clear_cache()
    np.testing.assert_array_equal(f(X), 3 * X)


@pytest.mark.parametrize("function", [
    lambda x: (x + 1, x * 2), lambda x: [x.sum(), (x + 1, ())], lambda x: {"a": x + 1, "b": {}, "c": [None, "text"]},
    lambda x: Pair(x + 1, x.sum(dtype=int)), lambda x: (x + 1,) * 2, lambda x: (y := x + 1, y[0], y.T),
    lambda x: (x, x + 1), lambda x: (x[0], np.arange(3)), lambda x: [float(x.sum()), len(x), x.dtype],
    lambda x: Thing(x + 1).array, lambda x: (Thing(x + 1),), lambda x: None, lambda x: ()])
def test_results_are_what_the_function_returns(function):
    f = reactant.jit(function)
    for _ in range(2):
        ours, numpys = f(X), function(X)
        assert jax.tree.structure(ours) == jax.tree.structure(numpys) or isinstance(numpys[0], Thing)
        for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(numpys), strict=True):
            assert type(one) is type(other)
            if isinstance(other, np.ndarray):
                assert one.dtype == other.dtype and one.flags.writeable
            np.testing.assert_array_equal(getattr(one, "array", one), getattr(other, "array", other))


@pytest.mark.slow
def test_arrays_that_lie_in_another_order():
    """Go to native code as they are, and only those that lie so, are aligned and may be written."""
    def function(x, y, k):
        return x.argmax(axis=0), x + y * k, x.max(axis=1)
    compiled = reactant.jit(function)
    x, y = (np.asfortranarray(np.random.default_rng(k).random((20, 30))) for k in (0, 1))
    odd = np.frombuffer(b"\0" + x.T.tobytes(), np.uint8)[1:].view(np.float64).reshape(30, 20).T
    fixed = x.copy(order="F")
    fixed.flags.writeable = False
    for given in (x, y, x.copy(), odd, x, fixed, x[::-1], x.astype(np.float32, order="F"), x):
        for found, wanted in zip(compiled(given, y, 3), function(given, y, 3), strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert found.flags.f_contiguous == wanted.flags.f_contiguous
    deep = x.reshape(20, 5, 6, order="F").transpose(1, 0, 2)
    twice = reactant.jit(lambda x: x * 2)
    for _ in range(3):
        assert twice(deep).strides == (deep * 2).strides and (twice(deep) == deep * 2).all()
