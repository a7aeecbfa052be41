"""Kinds of containers that are not Python's plain ones: dicts in an order of their own, with default values, whose keys
are attributes; lists with methods; namespaces."""
import types
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest

import reactant
from tests.frontends.agreement import agree

X = np.array([1.0, 2.0])


class Attributes(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


class Dotted(dict):
    def __getattr__(self, name):
        return self[name]

    __setattr__ = dict.__setitem__


class Numbers(list):
    def total(self):
        return sum(self)

    def __add__(self, other):
        return Numbers(a + b for a, b in zip(self, other, strict=True))


def ordered(x):
    d = OrderedDict(a=x * 1.0, b=x + 1)
    if x.sum() > 0:
        d["c"] = x * 2
        d["a"] = d["a"] + 1
    else:
        d["c"] = x * 3
    for _ in range(30):
        d["a"] = d["a"] * 0.9 + d["b"]
    d.move_to_end("a")
    return d, list(d)


def defaults(x):
    d = defaultdict(lambda: np.zeros(2))
    lists = defaultdict(list)
    for i in range(40):
        d["sum"] += x
        if x[0] > i:
            d["some"][1] += i
        else:
            d["some"][0] += i
        lists[i % 2].append(x[0] * i)
    return dict(d), lists


def dotted(x):
    s = Dotted(a=x, b=x[0])
    for _ in range(20):
        s.a = s.a * 1.5
        s.b += s.a[1]
        s.c = 1.0 if s.b > 100 else 2.0
    return dict(s)


def numbers(x):
    v = Numbers([x[0], x[1]])
    for _ in range(20):
        v[0] = v[0] + v[1] * 0.5
    return v.total(), v + Numbers([1.0, x[0]])


def namespace(x):
    s = types.SimpleNamespace(u=x, b=0.5, history=[])
    while s.b < 5:
        s.b, s.u = s.b + abs(x.sum()), s.u * 2
        s.history.append(s.b)
    if s.b > 6:
        s.u = s.u + 1
    return s.u, s.b, len(s.history)


@pytest.mark.parametrize("program", [ordered, defaults, dotted, numbers, namespace], ids=lambda p: p.__name__)
def test_made_in_the_function(program):
    agree(program, [(X,), (-X - 1,)])


def changed(d):
    d["a"] = d["a"] + 1
    d["n"] = d["a"] * 2
    for _ in range(10):
        d["a"] = d["a"] * 0.5
    return type(d)((k, v) for k, v in d.items())


def moved(d):
    d.move_to_end("a")
    d["z"] = d["a"] * 2


def filled(d):
    d["a"].append(d["b"].sum())
    d["new"].append(2 * d["b"])
    return d


def counted(c):
    c["a"] += 1
    c["z"] += 2


def grown(numbers):
    numbers[0] = numbers[0] * 2
    numbers.append(numbers[1] + 1)
    return numbers


def stepped(s):
    s.a += 1
    s.b = s.a.sum()
    while s.b < 100:
        s.b *= 2
    if s.b > 110:
        s.a = s.a * 2
    return s


@pytest.mark.parametrize("program, given", [
    (changed, OrderedDict(a=X, b=X)), (changed, Attributes(a=X)), (moved, OrderedDict(a=X, b=X)),
    (filled, defaultdict(list, a=[1.0], b=X)), (counted, Counter(a=1, b=2)), (counted, Counter(a=1.5)),
    (grown, Numbers([X, X + 1])), (stepped, types.SimpleNamespace(a=X, b=0.0))],
    ids=lambda x: getattr(x, "__name__", type(x).__name__))
def test_given_and_changed(program, given):
    assert reactant.verify(program, given)


class Layer:
    def __init__(self, weights):
        self.known, self.cache = OrderedDict(w=weights), {"z": [[]]}

    def forward(self, x):
        self.cache["z"][0].append(x @ self.known["w"])
        return self.cache["z"][0][-1]


def test_gradients_of_what_keeps_lists_in_dicts_of_objects():
    gradient = reactant.grad(lambda w: np.sum(Layer(w).forward(X) ** 2))(np.eye(2))
    assert np.allclose(gradient, 2 * np.outer(X, X))
