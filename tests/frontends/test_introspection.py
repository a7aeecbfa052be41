"""What values say of themselves (`hasattr`, `isinstance`, `type`, attributes): as those that they stand for."""
from __future__ import annotations

import dataclasses
import functools
import numbers
import operator
import typing
from collections import abc

import numpy as np
import pytest

import reactant
from tests.frontends.agreement import agree

X = np.array([0.5, 0.3, 0.7, 0.1, 0.2, 0.9])
CASES = [(X,), (X[::-1] * 0.3,), (X - 0.45,)]


@typing.runtime_checkable
class Shaped(typing.Protocol):
    shape: tuple


@typing.runtime_checkable
class Appending(typing.Protocol):
    def append(self, item): ...


KINDS = (abc.Sized, abc.Iterable, abc.Container, abc.Sequence, abc.MutableSequence, abc.Hashable, abc.Callable,
         abc.Collection, abc.Mapping, numbers.Number, numbers.Real, numbers.Integral, numbers.Complex, Shaped,
         Appending, np.generic, np.number, np.bool_, np.ndarray, int, float, complex, bool, list, tuple, object,
         (int, float), typing.SupportsFloat, typing.SupportsIndex)
NAMES = ("shape", "__len__", "__iter__", "__array__", "is_integer", "tolist", "real", "value", "kind", "storage",
         "steps", "known", "frame", "rows", "append", "count", "__array_interface__", "T")


def kinds_of(x):
    positive = [v for v in x if v > 0.25]
    values = (x, x[0], float(x[0]), int(x[0] * 10), complex(x[0], 1), x[0] > 0.3, bool(x[0] > 0.3), x[:0],
              x.astype(np.float32)[1], x.astype(np.int8)[1], x.reshape(2, 3), x[x > 0.3], positive)
    return [[isinstance(v, kind) for kind in KINDS] for v in values]


def attributes_of(x):
    positive = [v for v in x if v > 0.25]
    values = (x, x[0], float(x[0]), int(x[0] * 10), x[0] > 0.3, x[:0], x[x > 0.3], positive)
    return [[hasattr(v, name) for name in NAMES] + [callable(v), type(v) is float, v.__class__ is list] for v in values]


def numbers_or_arrays(x):
    def size(v):
        return len(v) if hasattr(v, "__len__") else 1

    def norm(v):
        return np.sqrt(sum(a * a for a in v)) if isinstance(v, abc.Iterable) else abs(v)
    y = x * 2
    return ([size(v) for v in (x, x[0], x.sum(), float(x[1]))], [norm(v) for v in (x, x[0], float(x[1]), x.mean())],
            y.value if hasattr(y, "value") else y, getattr(y, "kind", 3.0))


def attribute_that_is_not_there(x):
    try:
        return (x * 2).storage
    except AttributeError:
        return x.sum()


@functools.singledispatch
def described(value):
    return 1


@described.register
def _(value: float):
    return 2


@described.register
def _(value: np.ndarray):
    return 3


@described.register(int)
def _(value):
    return 4


def dispatched(x):
    maybe = None
    if x[0] > 0.4:
        maybe = x[1]
    return [described(v) for v in (x, x[0], float(x[0]), int(x[0]), x[0] > 1, x[x > 0.2], [x[0]], maybe)]


@pytest.mark.parametrize("program", [kinds_of, attributes_of, numbers_or_arrays, attribute_that_is_not_there,
                                     dispatched], ids=lambda f: f.__name__)
def test_as_python(program):
    agree(program, CASES)


def reads_value(x):
    return (x * 2).value


def sets_kind(x):
    y = x * 2
    y.kind = 3
    return y


@pytest.mark.parametrize("program", [reads_value, sets_kind])
def test_names_of_ours_are_no_attributes(program):
    with pytest.raises(AttributeError, match="'numpy.ndarray' object has no attribute '(value|kind)'"):
        reactant.jit(program)(X)


class First:
    number, text, content, each, known, possible = 1.0, "a", 3.0, 4.0, 5.0, 6.0

    def has(self, x):
        return x * 2


class Second:
    number, text, content, each, known, possible = 10.0, "b", 30.0, 40.0, 50.0, 60.0

    def has(self, x):
        return x * 3


def one_of_two_classes(x):
    kind = First if x[0] > 0.4 else Second
    return (kind.number + kind.content + kind.each + kind.known + kind.possible, kind.text == "a", callable(kind),
            isinstance(kind, type), kind.has(None, 2.0), hasattr(kind, "has"), hasattr(kind, "objects"))


def test_attributes_of_one_of_several():
    agree(one_of_two_classes, CASES)


@dataclasses.dataclass(order=True)
class Ranked:
    cost: float
    name: object = 0
    note: float = dataclasses.field(default=0.0, compare=False)


@dataclasses.dataclass(frozen=True)
class Point:
    x: float
    y: float = 1.0


def dataclasses_compared(x):
    ranked = [Ranked(v, k) for k, v in enumerate(x)]
    one, other = Point(x[0]), Point(x[0], x[1])
    return (max(ranked).name, min(ranked).cost, [r.name for r in sorted(ranked)], Ranked(x[0]) < Ranked(x[1]),
            Ranked(x[0]) >= Ranked(x[0], note=3.0), Ranked(x[1], 1) in ranked, one == other, one != Point(x[0]),
            one == 3, Ranked(one, 1) == Ranked(Point(x[2]), 1), (one, 1) == (Point(x[0]), 1))


@functools.total_ordering
class Level:
    def __init__(self, height):
        self.height = height

    def __lt__(self, other):
        return self.height < other.height

    def __eq__(self, other):
        return self.height == other.height


def totally_ordered(x):
    one, other = Level(float(x[0])), Level(float(x[1]))
    return one < other, one >= other, one > other, one <= other, one == other, one != other


def functions_of_operators(x):
    items = [x[0], 2.0]
    operator.delitem(items, 0)
    return (operator.contains([x[0], 2], x[1]), operator.truth(x[0] > 0.4), operator.not_(x[0] > 0.4), items,
            operator.is_(x, x), operator.is_not(x, None), operator.attrgetter("T")(x), operator.itemgetter(1)(x))


@pytest.mark.parametrize("program", [dataclasses_compared, totally_ordered, functions_of_operators])
def test_comparisons(program):
    agree(program, [*CASES, (np.zeros(6),)])


def bases(x):
    part, whole, made = x[1:], x.reshape(2, 3), np.zeros(3)
    inner = made[1:]
    copied = part if part.base is None else part.copy()
    copied += 1
    return (part.base is x, part[::2].base is x, whole.T.base is x, inner.base is made, inner.base is x,
            x.copy().base is None, x.copy()[1:].base is None, (x + 1).base is None, inner.base.size, copied,
            x.squeeze() is x, x[:1].squeeze() is x)


def test_bases_of_views():
    agree(bases, CASES)
