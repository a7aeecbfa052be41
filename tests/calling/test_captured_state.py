"""What a function changes outside itself: honoured where it is bound to it, refused where it would happen once."""
from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

X = np.ones(3)


class Filter:
    """Remembers what went through it."""

    def __init__(self):
        self.state, self.iterations = np.arange(3.0), 0

    def replaced(self, x, scale=2.0):
        self.iterations += 1
        self.state = self.state * scale + x
        return self.state.sum()

    def updated(self, x):
        self.state += x
        return self.state.sum()

    def __call__(self, x):
        return self.replaced(x)


def agree(make):
    """Three calls of what `make` makes of an object, plain and compiled: results and the object."""
    plain, mine = Filter(), Filter()
    wanted, compiled = make(plain), reactant.jit(make(mine))
    for _ in range(3):
        assert compiled(X) == wanted(X)
        assert mine.iterations == plain.iterations
        np.testing.assert_array_equal(mine.state, plain.state)


@pytest.mark.parametrize("make", [
    lambda f: f.replaced, lambda f: f.updated, lambda f: f, lambda f: functools.partial(Filter.replaced, f),
    lambda f: functools.partial(f.replaced, scale=3.0),
])
def test_of_methods_partials_and_callables(make):
    agree(make)


def test_arrays_of_a_partial_are_read_at_each_call():
    weights = np.arange(3.0)
    compiled = reactant.jit(functools.partial(np.multiply, weights))
    of_python = reactant.jit(functools.partial(lambda w, x, n: w * x ** n, weights, n=2))
    for _ in range(2):
        np.testing.assert_array_equal(of_python(X * 3), weights * 9)
        weights += 1
    assert of_python.cache_size() == 1
    of_python.clear_cache()
    assert of_python.cache_size() == 0
    assert compiled(X).shape == (3,)


def test_lower_and_verify_of_a_method():
    mine = Filter()
    assert "multiply" in reactant.jit(mine.replaced).lower(X).as_text()
    assert reactant.verify(mine.replaced, X)
    assert mine.iterations == 0
    np.testing.assert_array_equal(mine.state, np.arange(3.0))


def test_inside_compiled_functions_and_derivatives():
    mine = Filter()
    method = reactant.jit(mine.updated)

    def twice(x):
        return reactant.jit(lambda v: (v * mine.state).sum())(x) * 2

    assert reactant.jit(twice)(X) == 2 * mine.state.sum()
    np.testing.assert_array_equal(reactant.grad(lambda x: (x * x * mine.state).sum())(X), 2 * mine.state)
    assert method(X) == mine.state.sum()


# ---- closures and globals --------------------------------------------------------------------------------------------

STATE = {"sum": np.zeros(3), "iterations": 0}
TOTAL = np.zeros(3)


def of_global(x):
    global TOTAL
    TOTAL = TOTAL + x
    return TOTAL


def of_entry(x):
    STATE["iterations"] += 1
    STATE["sum"] = STATE["sum"] + x
    return STATE["sum"]


def through_another(x):
    return of_entry(x) * 2


@pytest.mark.parametrize("function, name", [(of_global, "TOTAL"), (of_entry, r"STATE\['sum'\]"),
                                            (through_another, r"STATE\['sum'\]")])
def test_of_globals(function, name):
    for _ in range(2):
        with pytest.raises(reactant.ConstantWriteError, match=f"gives '{name}', which was made outside"):
            reactant.jit(function)(X)
        assert type(TOTAL) is np.ndarray and type(STATE["sum"]) is np.ndarray and STATE["iterations"] == 0


def test_of_closures():
    held, mean = Filter(), 0.0

    def by_object(x):
        return held.replaced(x)

    def by_name(x):
        nonlocal mean
        mean = 0.9 * mean + x.mean()
        return mean

    for function, name in ((by_object, "held.state"), (by_name, "mean")):
        with pytest.raises(reactant.ConstantWriteError, match=name):
            reactant.jit(function)(X)
    assert mean == 0.0 and held.iterations == 0


class Totals:
    """No methods."""
    total = 0.0


LOG, LAST = [], {}


def of_class(x):
    for v in x:
        Totals.total += v
    return x


def of_class_in_a_branch(x):
    if x[0] > 0:
        Totals.total = x.sum()
    return x


def of_texts(x):
    LOG.append(f"loss {x.sum():.3f}")
    return x


def of_texts_inside(x):
    LAST["x"] = (1, [str(x[0])])
    return x


@pytest.mark.parametrize("function, name, line", [
    (of_class, "Totals.total", r"Totals.total \+= v"), (of_class_in_a_branch, "Totals.total", r"Totals.total = x"),
    (of_texts, r"LOG\[0\]", r"LOG.append"), (of_texts_inside, r"LAST\['x'\]", r"LAST\[.x.\] ="),
    (through_another, r"STATE\['sum'\]", r'STATE\["sum"\] = STATE'), (of_global, "TOTAL", "TOTAL = TOTAL")])
def test_the_error_names_the_line_of_the_change(function, name, line):
    with pytest.raises(reactant.ConstantWriteError, match=f"(?s)gives '{name}'.*test_captured_state.py.*{line}"):
        reactant.jit(function)(X)
    assert Totals.total == 0.0 and not LOG and not LAST


def test_what_is_allowed():
    """Counting traces, caches that fill, what the function made itself."""
    counted, cache = [0], {}

    def function(x):
        counted[0] += 1
        if "grid" not in cache:
            cache["grid"] = np.arange(3.0)
        inner = {"sum": x}

        def add(y):
            inner["sum"] = inner["sum"] + y

        add(cache["grid"])
        return inner["sum"]

    compiled = reactant.jit(function)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), X + np.arange(3.0))
    assert counted == [1]


@pytest.mark.parametrize("function", [lambda x: f"{x.sum():.3f}", lambda x: {"text": [str(x), x]}])
def test_of_texts_made_of_values(function):
    with pytest.raises(reactant.ConcreteValueNeeded, match="format them after the call"):
        reactant.jit(function)(X)
    assert reactant.jit(lambda x: (f"{x.shape}", x))(X)[0] == "(3,)"


# ---- attributes that compiled code cannot take -----------------------------------------------------------------------

class Labelled:
    def __init__(self, *names):
        self.names, self.seen, self.rows = np.array(names), set(names), [np.array(names)]
        self.state = np.arange(3.0)

    def step(self, x):
        self.state = self.state + x
        return self.state.sum()

    def count(self, x):
        return x * len(self.names)

    def known(self, x):
        return x if "a" in self.seen else -x

    def kind(self, x):
        return x * self.names.size

    def compared(self, x):
        return x if self.seen == 3 else -x

    def power(self, x):
        return 2 ** self.seen * x


def test_unused_attributes_stay_what_they_are():
    compiled = reactant.jit(Labelled.step)
    for one in (Labelled("a", "b"), Labelled("c", "d"), Labelled("e")):
        before = one.names, one.seen, one.rows
        assert [compiled(one, X), compiled(one, X)] == [6.0, 9.0]
        assert all(a is b for a, b in zip(before, (one.names, one.seen, one.rows), strict=True))
    assert compiled.cache_size() == 1


@pytest.mark.parametrize("name, message", [("count", "dtype <U1 cannot be compiled"), ("known", "type set is neither"),
                                           ("kind", "dtype <U1 cannot be compiled"),
                                           ("compared", "type set is neither"), ("power", "type set is neither")])
def test_used_ones_are_refused(name, message):
    with pytest.raises(reactant.UnsupportedError, match=message):
        reactant.jit(getattr(Labelled("a"), name))(X)


# ---- methods of JAX --------------------------------------------------------------------------------------------------

activated = None        # defined later


class Layer:
    def __init__(self):
        self.weights = np.arange(3.0)

    def apply(self, x):
        return activated(self.weights * x)


def test_methods_that_call_jax_functions_defined_later(monkeypatch):
    method = reactant.jit(Layer().apply)
    monkeypatch.setitem(globals(), "activated", jnp.tanh)
    assert isinstance(method(X), jax.Array)
    assert "tanh" in method.lower(X).as_text()


def numbers():
    k = 0.0
    while True:
        k += 1
        yield k


@pytest.mark.filterwarnings("ignore:Python iterable type")
@pytest.mark.parametrize("make", [lambda: iter([1.0, 2.0, 3.0]), lambda: itertools.count(1.0), numbers,
                                  lambda: itertools.cycle([1.0, 2.0]), lambda: map(float, range(9))])
def test_iterators_from_outside_would_advance_once(make):
    outside = make()
    for function, args in [(lambda x: x * next(outside), (X,)), (lambda x: [x * v for v in outside][0], (X,)),
                           (lambda x, it: x * next(it), (X, outside)),
                           (lambda x: list(zip(x, outside, strict=False)), (X,))]:
        with pytest.raises(reactant.UnsupportedError, match="(?s)once, while it is compiled.*test_captured_state.py"):
            reactant.jit(function)(*args)
    assert next(outside) == next(make())

    def inside(x):
        own = make()
        return x * next(own) + next(own)
    assert (reactant.jit(inside)(X) == inside(X)).all()


class PerClass:
    """A descriptor that counts how often it is asked."""

    asked = 0

    def __get__(self, instance, owner):
        PerClass.asked += 1
        raise RuntimeError("not yet")


class Holder:
    table = PerClass()
    scale = 2.0


def test_descriptors_of_classes_are_not_asked():
    assert (reactant.jit(lambda x: x * Holder.scale)(X) == 2).all()
    assert PerClass.asked == 0
