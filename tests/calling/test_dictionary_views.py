"""Views of dictionaries, static special methods and weak dictionaries in what a compiled function is given or names."""
import weakref
from collections import OrderedDict

import numpy as np
import pytest

import reactant


class Fields:
    def __init__(self, kind, view):
        self.kinds = kind(height=np.arange(3.0), speed=np.ones(2))
        self.names = getattr(self.kinds, view)()


def total(fields):
    return sum(fields.kinds[name].sum() for name in fields.names)


def of_values(fields):
    fields.kinds["speed"] += 1
    return sum(value.sum() for value in fields.names)


def of_items(fields):
    return [value * len(name) for name, value in fields.names]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", [dict, OrderedDict])
@pytest.mark.parametrize(("view", "function"), [("keys", total), ("values", of_values), ("items", of_items)])
def test_views_are_of_their_dictionaries(kind, view, function):
    plain, ours = Fields(kind, view), Fields(kind, view)
    expected, found = function(plain), reactant.jit(function)(ours)
    for one, other in zip(np.atleast_1d(expected) if view != "items" else expected,
                          np.atleast_1d(found) if view != "items" else found, strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(plain.kinds["speed"], ours.kinds["speed"])
    again = reactant.jit(function)
    assert np.allclose(np.sum(again(Fields(kind, view))[0] if view == "items" else again(Fields(kind, view))),
                       np.sum(expected[0] if view == "items" else expected))


def test_a_view_alone():
    assert reactant.jit(lambda keys, x: x * len(keys))({"a": 1, "b": 2}.keys(), np.ones(2)).tolist() == [2.0, 2.0]


class Place:
    @staticmethod
    def __getitem__(key):
        return key

    @classmethod
    def __contains__(cls, key):
        return key == 3


def test_static_special_methods():
    at = Place()

    def inner(u):
        u = u.copy()
        u[at[1:-1, 1:]] *= 2
        return u
    u = np.arange(12.0).reshape(3, 4)
    assert np.array_equal(reactant.jit(inner)(u), inner(u))


class Screen:
    def __init__(self):
        self.listeners = weakref.WeakKeyDictionary()
        self.gain = 2.0


SCREEN = Screen()


def test_weak_dictionaries_in_globals():
    assert reactant.jit(lambda u: SCREEN.gain * u)(np.ones(2)).tolist() == [2.0, 2.0]


def test_names_that_a_target_has_twice():
    rows = [("a", 1, 2, 3), ("b", 4, 5, 6)]

    def scaled(u):
        if any(x < 0 for _, x, _, _ in rows):
            return u
        return u * sum(_ for _, _ in [(1, 2), (3, 4)])
    assert reactant.jit(scaled)(np.ones(2)).tolist() == [6.0, 6.0]
