"""Results of which only run-time values tell the size: arrays that are selected, lists that grow under conditions."""
from __future__ import annotations

import jax
import numpy as np
import pytest

import reactant
from tests.oracle import check

RANDOM = np.random.default_rng(8)
XS = [RANDOM.normal(size=20), np.abs(RANDOM.normal(size=20)), -np.abs(RANDOM.normal(size=20))]
SQUARE = RANDOM.normal(size=(20, 20))

ARRAYS = [
    lambda x: x[x > 0], lambda x: x[x.sum() > 0], lambda x: (x[:np.sum(x > 0)], x[np.sum(x > 0):][::-1]),
    lambda x: np.nonzero(x > 0), lambda x: np.unique(np.round(x)), lambda x: {"a": x[x > 0] * 2, "n": np.sum(x > 0)},
    lambda x: (SQUARE[x > 0], SQUARE[:, x > 0].T, SQUARE[np.ix_(x > 0, x < 1)]), lambda x: np.zeros(np.sum(x > 0)),
    lambda x: np.concatenate([x[x > 0], x[x <= 0]]), lambda x: x[x > 99], lambda x: np.cumsum(x[x > 0]) > 1,
    lambda x: [x[x > k] for k in range(3)], lambda x: None if x[0] > 0 else x[x < 1]]


@pytest.mark.parametrize("number", range(len(ARRAYS)))
def test_arrays(number):
    for x in XS:
        check(ARRAYS[number], x, sized_results=True)


def peaks(x):
    found, values, names = [], [-1.0], []
    for i in range(1, len(x) - 1):
        if x[i] > x[i - 1] and x[i] > x[i + 1]:
            found.append(i)
            values.append(float(x[i]))
            names.append(("peak", [i, x[i]], x[i] > 1))
    return found, values, names, len(found)


def halvings(x):
    s, steps = abs(float(x[0])), []
    while s > 0.01:
        s = s / 2
        steps.append(s)
    return steps, np.array(steps)


@pytest.mark.parametrize("function", [peaks, halvings])
def test_lists(function):
    compiled = reactant.jit(function, sized_results=True)
    for x in XS:
        assert repr(compiled(x)) == repr(function(x)) if function is peaks else True
        check(function, x, sized_results=True)


class Finder:
    def __init__(self):
        self.found, self.places = np.zeros(1), []

    def run(self, x, notes):
        self.found, notes["places"] = x[x > 0], np.flatnonzero(x > 0)
        return self.found.sum()


def test_what_objects_and_dicts_hold_then():
    for x in XS:
        mine, theirs, notes, wanted = Finder(), Finder(), {}, {}
        np.testing.assert_allclose(reactant.jit(mine.run, sized_results=True)(x, notes), theirs.run(x, wanted))
        np.testing.assert_array_equal(mine.found, theirs.found)
        np.testing.assert_array_equal(notes["places"], wanted["places"])


def test_views_and_shared_results():
    def parts(x):
        n = np.sum(x > 0)
        y = x.copy()
        head, hits = y[:n], []
        for v in x:
            if v > 0:
                hits.append(v)
        return x[:n], x[n:], y, head, hits, {"again": hits}

    mine, theirs = XS[0].copy(), XS[0].copy()
    for run, x in ((reactant.jit(parts, sized_results=True), mine), (parts, theirs)):
        first, rest, y, head, hits, more = run(x)
        first[...], rest[...], head[...] = 7, 8, 9
        assert (y[:len(head)] == 9).all() and more["again"] is hits and head.flags.writeable
    np.testing.assert_array_equal(mine, theirs)


def test_on_a_device():
    found = reactant.jit(ARRAYS[0], sized_results=True)(reactant.array(XS[0]))
    assert type(found) is reactant.DeviceArray
    np.testing.assert_array_equal(np.asarray(found), XS[0][XS[0] > 0])


@pytest.mark.parametrize("use", [
    lambda f, x: jax.jit(reactant.jit(f, sized_results=True))(x), lambda f, x: reactant.vmap(f)(x[None]),
    lambda f, x: reactant.grad(f)(x),
    lambda f, x: reactant.export(f, x)])
def test_where_sizes_must_be_known(use):
    with pytest.raises(reactant.UnsupportedError, match="run-time|size depends"):
        use(lambda x: x[x > 0], XS[0])


@pytest.mark.parametrize("function", [ARRAYS[0], peaks])
def test_unless_asked_for(function):
    with pytest.raises(reactant.UnsupportedError, match="returns an array whose size depends on run-time values"):
        reactant.jit(function)(XS[0])


def test_lists_of_arrays_are_refused():
    def rows(x):
        found = []
        for v in x:
            if v > 0:
                found.append(x * v)
        return found
    with pytest.raises(reactant.UnsupportedError, match=r"(?s)test_sized_results.py.*np.array\(items\)"):
        reactant.jit(rows, sized_results=True)(XS[0])


@pytest.mark.parametrize("shape", [(50,), (7, 9), (3, 4, 5), (0,), (4, 0)])
@pytest.mark.parametrize("function", [
    lambda a: np.nonzero(a > 0), lambda a: np.flatnonzero(a > 0), lambda a: np.argwhere(a > 0), np.argwhere,
    lambda a: np.nonzero(a > 0)[0] + 1, lambda a: (a[a > 0], np.flatnonzero(a > 0)), lambda a: np.nonzero(a.T > 0),
    lambda a: np.where(a > 0)[::-1], lambda a: np.flatnonzero(a > 0)[1:-1], lambda a: np.flatnonzero(a > 0)[::-1],
    lambda a: {"where": np.nonzero(a > 0), "rows": np.argwhere(a > 0).T}])
def test_places(function, shape):
    """Indices of what is true are NumPy's own of the mask; what is made of them is what it was."""
    a = np.random.default_rng(0).standard_normal(shape)
    got, wanted = (jax.tree.leaves(f(a)) for f in (reactant.jit(function, sized_results=True), function))
    assert [(x.shape, x.dtype) for x in got] == [(x.shape, x.dtype) for x in wanted]
    for x, y in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(x, y)


def test_places_need_no_array_of_all_of_them():
    lowered = reactant.jit(lambda a: (np.nonzero(a > 0), np.argwhere(a > 0)), sized_results=True).lower(np.ones((5, 6)))
    assert "iota" not in lowered.as_text()


def test_each_has_places_of_its_own():
    function = reactant.jit(lambda a: (np.nonzero(a > 0)[0], np.nonzero(a > 0)[0]), sized_results=True)
    for a in (np.ones(5), np.ones((5, 6))):
        one, other = function(a)
        one[:] = 99
        np.testing.assert_array_equal(other, np.nonzero(a)[0])


def test_places_in_a_jax_program_are_refused():
    function = reactant.jit(lambda a: np.flatnonzero(a > 0), sized_results=True)
    with pytest.raises(reactant.UnsupportedError, match="run-time size inside a JAX program"):
        jax.jit(function)(np.ones(5))
