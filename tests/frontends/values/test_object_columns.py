"""Objects of which only run-time values tell which one it is: attributes set through them are those of the objects."""
from dataclasses import dataclass

import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError
from tests.frontends.agreement import agree

X = np.array([0.9, 0.2, 0.7, 0.4, 0.65, 0.3, 0.8, 0.1])


class Particle:
    def __init__(self, x, v):
        self.x, self.v, self.hits = x, v, 0

    def kick(self, by):
        self.v = self.v + by
        self.hits += 1
        return self

    @property
    def energy(self):
        return 0.5 * self.v**2

    @energy.setter
    def energy(self, energy):
        self.v = np.sqrt(2 * energy)


def made(x, count=4):
    return [Particle(x[i], x[i + 1]) for i in range(count)]


def shown(parts):
    return [(p.x, p.v, p.hits) for p in parts]


# ---- attributes -------------------------------------------------------------------------------------------------

def set_and_changed(x, k):
    parts = made(x)
    parts[k].x = 3.0
    parts[k - 1].v += x[0]
    parts[k].kick(0.5).kick(x[1])
    parts[k].energy = 8.0
    return shown(parts), parts[k].energy


def pair(x, i, j):
    parts = made(x)
    a, b = parts[i], parts[j]
    a.v, b.v = b.v, a.v
    a.x += 1
    b.x *= 2
    parts[2].hits = 7
    return shown(parts), a.x, b.x, a.v, a.hits, b.hits


def earliest_event_first(x):
    parts = made(x)
    for _ in range(60):
        first = parts[int(np.argmin(np.array([p.x for p in parts])))]
        first.kick(0.01)
        first.x += first.v
    return shown(parts)


def until(x):
    parts, iterations = made(x, 7), 0
    while True:
        k = int(np.argmax(np.array([p.x for p in parts])))
        if parts[k].x < 0.1:
            break
        parts[k].x *= 0.5
        iterations += 1
    return shown(parts), iterations


def under_conditions(x, k):
    parts = made(x)
    one = parts[k]
    if x[0] > 0.5:
        one.x = 50.0
        parts[1].v = 2.0
    else:
        parts[k - 1].x = -50.0
    return shown(parts), one.x, one.v


def many(x, k):
    parts = [Particle(x[i % 8] * i, 1.0) for i in range(60)]
    for i in range(40):
        parts[(k * i) % 60].x -= i
    return shown(parts)


def by_key(x, k):
    parts = {3: Particle(x[0], 1.0), 5: Particle(x[1], 2.0)}
    parts[k + 3].x += 4.0
    return shown(parts.values())


class Cell:
    def __init__(self, n):
        self.data, self.count, self.name = np.zeros(n), 0, f"cell {n}"

    def add(self, value):
        self.data[self.count] = value
        self.count += 1


def arrays(x, k):
    cells = [Cell(n) for n in (8, 8, 8)]
    for i in range(len(x)):
        cells[int(x[i] * 7) % 3].add(x[i])
    cells[k].data = cells[k].data + 1
    cells[k - 1].data[2] = 5.0
    return [(c.data, c.count) for c in cells]


@dataclass
class Point:
    x: float
    y: float


class Body:
    def __init__(self, x):
        self.at, self.tag, self.alive = Point(x, x + 1), None, True


def nested(x, k):
    bodies = [Body(x[i]) for i in range(3)]
    one = bodies[k]
    one.at.x = 4.0
    place = one.at
    place.y += 2.0
    one.alive = not one.alive
    one.tag = 3
    return [(b.at.x, b.at.y, b.alive) for b in bodies], place.x


def given(parts, k, shift):
    parts[k].x += shift
    one = parts[k]
    one.v = one.x * 2
    return one.hits


# ---- which one it is ---------------------------------------------------------------------------------------------

def told(x, i, j):
    parts = made(x)
    a, b = parts[i], parts[j]
    return a is b, a is not parts[1], a == b, a != parts[2], a in parts, b in parts[:2], parts.index(a)


def in_one_place_twice(x, k):
    a, b = Particle(x[0], 1.0), Particle(x[1], 2.0)
    parts = [a, a, b]
    parts[k].x = 5.0
    return a.x, b.x, parts[k] is a


def of_several_lists(x, i, j):
    parts = made(x)
    others = [parts[i], parts[3], parts[j]]
    others[j].x = 11.0
    others[0].v = 12.0
    return shown(parts), shown(others)


def exchanged(x, i, j):
    parts = made(x)
    parts[i], parts[j] = parts[j], parts[i]
    return shown(parts)


def taken_out(x, k):
    parts = made(x)
    last = parts.pop(k)
    last.x = 9.0
    parts.remove(parts[k - 2])
    return shown(parts), last.x


# ---- in a run-time order --------------------------------------------------------------------------------------

def in_order(x):
    parts = made(x)
    best = max(parts, key=lambda p: p.v)
    parts.sort(key=lambda p: p.x)
    parts[0].x = -10.0
    best.hits = 3
    for i in range(30):
        parts[i % 4].v += 0.1
    return shown(parts), best.x


def generations(x):
    parts = made(x, 6)
    for _ in range(5):
        for p in parts:
            p.kick(-((p.x - 0.3)**2))
        parts.sort(key=lambda p: p.v, reverse=True)
        parts = parts[:3]
        parts = parts + [Particle(0.5 * (parts[i].x + parts[i - 1].x), 0.0) for i in range(3)]
    return shown(parts)


def made_in_the_loop(x):
    total = 0.0
    for i in range(30):
        parts = made(x)
        parts[int(np.argmax(np.array([p.x for p in parts])))].x = 5.0 + i
        parts.sort(key=lambda p: p.v)
        total += parts[0].x + sum(p.x for p in parts)
    return total


PROGRAMS = [
    (set_and_changed, 1), (set_and_changed, 3), (pair, 1, 2), (pair, 2, 2), (pair, 0, 1), (earliest_event_first,),
    (until,), (under_conditions, 1), (under_conditions, 2), (many, 7), (by_key, 0), (by_key, 2), (arrays, 1),
    (nested, 2), (told, 1, 2), (told, 3, 3), (in_one_place_twice, 1), (in_one_place_twice, 2),
    (of_several_lists, 0, 1), (of_several_lists, 3, 2), (exchanged, 1, 3), (exchanged, 2, 2), (taken_out, 1),
    (in_order,), (generations,), (made_in_the_loop,)]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: "-".join([p[0].__name__, *map(str, p[1:])]))
def test_programs(program):
    function, *places = program
    agree(function, [(X, *map(np.int64, places))])


def test_objects_that_are_arguments():
    theirs, mine = made(X), made(X)
    given(theirs, 2, 0.5)
    reactant.jit(given)(mine, np.int64(2), 0.5)
    assert np.allclose(shown(mine), shown(theirs))


def test_gradients():
    def loss(x, k):
        parts = made(x)
        parts[k].x *= 3
        parts[k - 1].kick(parts[k].x)
        return sum(p.x * p.v for p in parts)
    grad = reactant.grad(loss)(X, np.int64(2))
    steps = [(loss(X + e, 2) - loss(X - e, 2)) / 2e-6 for e in 1e-6 * np.eye(8)]
    assert np.allclose(grad, steps, atol=1e-6)


# ---- refused -----------------------------------------------------------------------------------------------------

def attributes_as_a_dict(x, k):
    parts = made(x)
    vars(parts[k])["x"] = 1.0
    return shown(parts)


def deleted(x, k):
    parts = made(x)
    del parts[k].hits
    return [hasattr(p, "hits") for p in parts]


def a_new_attribute(x, k):
    parts = made(x)
    parts[k].extra = 1.0
    return [getattr(p, "extra", 0.0) for p in parts]


@pytest.mark.parametrize("function", [attributes_as_a_dict, deleted, a_new_attribute])
def test_refused(function):
    with pytest.raises(ControlFlowError, match=function.__name__):
        reactant.jit(function)(X, np.int64(1))


# ---- attributes in slots ----------------------------------------------------------------------------------------

class Dual:
    __slots__ = ("d", "v")

    def __init__(self, v, d=1.0):
        self.v, self.d = v, d

    def __mul__(self, other):
        return Dual(self.v * other.v, self.v * other.d + self.d * other.v)

    def __neg__(self):
        return Dual(-self.v, -self.d)


class Longer(Dual):
    """One attribute in a slot of the class, one of a base, one in `__dict__`."""

    __slots__ = ("__dict__", "length")

    def __init__(self, v):
        super().__init__(v)
        self.length, self.name = v * 2, 1.5


@dataclass(slots=True)
class Mass:
    at: np.ndarray
    mass: float
    turned: int = 0

    def __post_init__(self):
        if self.mass < 0.25:
            self.mass, self.turned = 1 - self.mass, 1

    def push(self, by):
        self.at += by / self.mass
        self.turned += 1


@dataclass(slots=True, frozen=True)
class Sums:
    total: float
    count: float = 0.0

    def with_one(self, x):
        return Sums(self.total + x, self.count + 1)


def slots_of_one_or_another(x):
    a = Dual(x[0])
    b = -a if x[1] < 0.5 else a * a
    for v in x:
        if v > 0.5:
            a = Dual(v, a.d + 1)
        else:
            a.d *= 2
    c = Longer(x[0]) if x[2] > 0.5 else Longer(x[1])
    if x[3] > 0.5:
        c.name = x[3]
        c.length = x[4]
    return a.v, a.d, b.v, b.d, c.v, c.length, c.name


def bodies_that_the_run_chooses(x):
    bodies = [Mass(np.zeros(2), v) for v in x]
    heaviest = None
    for v in x:
        chosen = bodies[int(v * len(bodies))]
        chosen.push(v)
        if heaviest is None or chosen.mass > heaviest.mass:
            heaviest = chosen
    heaviest.mass = x[0]
    return [(b.at, b.mass, b.turned) for b in bodies]


def frozen_ones_that_follow(x):
    sums = Sums(0.0)
    for v in x:
        if v > 0.5:
            sums = sums.with_one(v)
        elif v < 0.2:
            sums = Sums(sums.total, sums.count - 1)
    return sums.total, sums.count


@pytest.mark.parametrize("function", [slots_of_one_or_another, bodies_that_the_run_chooses, frozen_ones_that_follow])
@pytest.mark.parametrize("x", [X, 1 - X, np.tile(X, 12)])
def test_attributes_in_slots(function, x):
    agree(function, [(x,)])


def test_subclasses_are_not_told_of_the_class_that_objects_begin_with():
    told = []

    @dataclass(slots=True)
    class Told:
        x: float

        def __init_subclass__(cls):
            told.append(cls)

        def __post_init__(self):
            self.x = -self.x if self.x < 0 else self.x

    told.clear()
    assert reactant.jit(lambda x: type(Told(x[0])) is Told and Told(x[0]).x)(-X) == X[0]
    assert not told
