"""Operators of the user's classes run as converted code."""
import contextlib
import math
import operator

import numpy as np
import pytest

import reactant
from tests.frontends.agreement import agree


class Vector:
    """Every method does what only converted code can: decides at run time, or calls `math`."""

    __array_ufunc__ = None

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y) if isinstance(other, Vector) else NotImplemented

    def __radd__(self, other):
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, other):
        return self.x * other.x + self.y * other.y if isinstance(other, Vector) else Vector(self.x * other,
                                                                                           self.y * other)

    __rmul__ = __mul__

    def __matmul__(self, other):
        made = np.zeros((2, 2))
        made[0, 0], made[1, 1] = self.x * other.x, self.y * other.y
        return made

    def __pow__(self, power):
        return Vector(math.pow(self.x, power), math.pow(self.y, power))

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __invert__(self):
        return Vector(self.y, self.x)

    def __sub__(self, other):
        return self + -other

    def __isub__(self, other):
        if other.x > 0:
            self.x -= other.x
        self.y -= other.y
        return self

    def __abs__(self):
        return math.sqrt(self * self)

    def __float__(self):
        return math.hypot(self.x, self.y)

    def __len__(self):
        return 2

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y

    def __lt__(self, other):
        if self.x < other.x:
            return True
        return self.x == other.x and self.y < other.y

    def __contains__(self, value):
        if value == self.x:
            return True
        return value == self.y

    def __enter__(self):
        self.before, self.x = self.x, math.sqrt(self.x)
        return self

    def __exit__(self, *error):
        self.x = self.before


def arithmetic(a, b):
    p, q = Vector(a, b), Vector(b, a)
    r = 2.0 * p + q * 3.0 - p
    r -= q
    r += p
    s = np.float64(2.0) * p + a * p + np.array([1.0, 2.0])[0] * ~q
    m = p @ q
    m[0, 1] = 7
    return r.x, r.y, s.x, s.y, m, (p**2.0).y, sum([p, q, r]).x, operator.add(p, q).x, p * q


def comparisons(a, b):
    p, q = Vector(a, b), Vector(b, a)
    return p < q, p > q, p == q, p != q, a in p, a + 1 in p, p == 3 if False else 0, 1 if p < q else 2


def builtins_and_contexts(a, b):
    p = Vector(a, b)
    with p as inside:
        root = inside.x
    with restored(p) as twice:
        p.x = 9.0
    return abs(p), float(p), len(p), root, p.x, twice


@contextlib.contextmanager
def restored(p):
    before = p.x
    held = np.zeros(2)
    held[1] = 2 * p.x
    try:
        yield held
    finally:
        p.x = before


@pytest.mark.parametrize("function", [arithmetic, comparisons, builtins_and_contexts])
@pytest.mark.parametrize("arguments", [(2.0, 3.0), (3.0, 3.0), (3.0, 2.0)])
def test_methods_of_operators(function, arguments):
    assert reactant.verify(function, *arguments, rtol=1e-12)


class Silent:
    pass


class Above(Vector):
    def __radd__(self, other):
        return "the subclass first"


REFUSALS = [lambda v: v + Silent(), lambda v: Silent() * Silent(), lambda v: v < Silent(), lambda v: -Silent(),
            lambda v: v @ 3, lambda v: 3 / v, lambda v: v + Above(1, 2), lambda v: v != Silent(),
            lambda v: Silent() == Silent(), lambda v: Silent() < 2]


@pytest.mark.parametrize("operation", REFUSALS)
def test_protocol_and_errors_are_pythons(operation):
    def outcome(run):
        try:
            return run(lambda a: operation(Vector(a, a)))(2.0)
        except Exception as error:
            return type(error), str(error).split("\n  --> ")[0]

    assert outcome(reactant.jit) == outcome(lambda f: f)


class Shown:
    """NumPy's numbers make an array of it."""

    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, 2.0])

    def __radd__(self, other):
        return "the object"


def test_numbers_of_numpy_and_what_is_an_array():
    assert isinstance(np.float64(1.0) + Shown(), np.ndarray) and 1.0 + Shown() == "the object"
    with pytest.raises(reactant.ReactantError, match="would make an array"):
        reactant.jit(lambda x: x[0] + Shown())(np.ones(2))
    assert reactant.jit(lambda x: float(x[0]) + Shown())(np.ones(2)) == "the object"


def test_arrays_do_not_take_objects_apart():
    class Plain:
        def __rmul__(self, other):
            return other

    with pytest.raises(reactant.UnsupportedError, match="array of objects"):
        reactant.jit(lambda x: x * Plain())(np.ones(3))


class Stock:
    """Something to take from, while there is something."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count


class Budget(Stock):
    def __bool__(self):
        return self.count > 0 and self.count < 100

    __len__ = None


def taken(x, kind):
    stock, iterations = kind(0), 0
    for value in x:
        if value > 0.5:
            stock.count += 1
    empty = not stock
    while stock:
        if x[iterations] > 0.25:
            iterations += 1
        stock.count -= 1
    return iterations, empty, 1 if stock or x[0] > 0.5 else 2, 3 if stock and x[1] > 0.5 else 4


@pytest.mark.parametrize("kind", [Stock, Budget])
@pytest.mark.parametrize("seed", range(3))
def test_the_truth_of_objects(kind, seed):
    x = np.random.default_rng(seed).random(20) * (seed > 0)
    assert reactant.jit(taken)(x, kind) == taken(x, kind)


def test_what_truth_must_be():
    class Wrong:
        def __init__(self, x):
            self.x = x

        def __bool__(self):
            return self.x[0] > 0

    def program(x):
        return 1 if Wrong(x) else 2

    for each in (program, reactant.jit(program)):
        with pytest.raises(TypeError, match="__bool__ should return bool, returned numpy.bool"):
            each(np.ones(2))


class Said:
    def __init__(self, x):
        self.x = x

    def __bool__(self):
        return bool(self.x > 1)


def truths(x):
    one, other = Said(x[0]), Said(x[1])
    return any([one, other]), all((one, other)), bool(one), any([None, one]), all([one, x[1] > 0])


def test_truths_of_objects():
    agree(truths, [(np.array(v),) for v in ([0.5, 2.0], [2.0, 3.0], [0.5, 0.5])])
