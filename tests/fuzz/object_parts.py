"""What short programs about objects are made of: for each ingredient its classes and functions, its objects, what is
done with them, what can be asked and read of them, and what a program gives of them at its end."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Part:
    text: str                           # classes and functions
    setup: tuple[str, ...]              # at the beginning of `f`
    does: tuple[str, ...]               # statements: {s} a number, {c} a test, {o} one of its objects
    tests: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    objects: tuple[str, ...] = ("",)
    argument: str = ""                  # what the last argument may be, which takes the place of the first object


STATE = Part(
    text='''
class Tally:
    total = 0
    seen = []

    def __init__(self, v):
        self.v, self.n, self.log = v, 0, []

    @property
    def level(self):
        return self.v * 2

    @level.setter
    def level(self, new):
        if new > 1:
            self.n += 1
        self.v = new / 2

    @property
    def high(self):
        if self.v > 1:
            return True
        return self.n > 2

    def step(self, by):
        if by > 0:
            self.n += 1
            self.v += by
            return self
        self.v = self.v - 1
        return self

    def clear(self):
        self.v, self.n = 0.0, 0

    def count(self, values):
        for v in values:
            if v > self.v:
                self.n += 1
            elif v < -self.v:
                return -1
        return self.n

    def has(self):
        return hasattr(self, "extra")

    @staticmethod
    def half(v):
        if v > 1:
            return v / 2
        return v

    @classmethod
    def made(cls, v):
        if v > 0:
            return cls(v)
        return cls(0.5)
''',
    setup=('tally = Tally(x[0])', 'other = Tally(0.5)'),
    does=('{o}.n += 1', '{o}.v = {s}', '{o}.level = {s}', '{o}.level += {s}', '{o}.step({s})',
     '{o}.step({s}).step(1)', '{o}.clear()', 't = t + {o}.level', 'k = {o}.count(x)', '{o} = Tally.made({s})',
     '{o}.v = Tally.half({s})', '{o} = {o}.step({s})', 'tally, other = other, tally', 'tally = other',
     '{o} = Tally({s})', '{o}.total += 1', '{o}.total = {o}.n', '{o}.log.append({s})', '{o}.log = [{s}]',
     "setattr({o}, 'v', {s})", "t = getattr({o}, 'v')", '{o}.v, {o}.n = {s}, 2', '{o}.extra = {s}',
     "t = getattr({o}, 'extra', 0.5)", 'k = 1 if {o}.has() else 2', "{o}.__dict__['v'] = {s}",
     "t = vars({o})['v']", 'm = {o}.step\nm({s})', 'q = {o} if {c} else other\nq.n += 2',
     '{o}.v = other.v if {c} else tally.v', 'del {o}.log[:]', '{o}.other = other\n{o}.other.v += 1',
     '{o}.step = 3', "object.__setattr__({o}, 'v', {s})", 't = type({o})(1.5).v', '{o}.n = {o}.high + 1',
     '{o}.v **= 2', '{o}.n = int({s})', '{o}.n = {o}.n + {s}', '{o}.v = None', '{o}.flag = {c}'),
    tests=('{o}.n > 1', '{o}.high', '{o}.v > {s}', 'tally is other', '{o}.log', '{o}.v is None',
     "hasattr({o}, 'extra')", 'isinstance({o}, Tally)', 'tally == other', 'len({o}.log) > 1', '{o}.total'),
    reads=('{o}.n', '{o}.v', '{o}.level', '{o}.total', 'len({o}.log)', 'Tally.half({o}.v)'),
    results=('tally', 'other', 'tally.n', 'other.v', '[tally, other]', 'tally is other', 'tally.__dict__'),
    objects=('tally', 'other', 'tally'),
    argument='Tally(1.5)')

SLOTS = Part(
    text='''
class Point:
    __slots__ = ("x", "y", "hits")

    def __init__(self, x, y=0.0):
        self.x, self.y, self.hits = x, y, 0

    def moved(self, by):
        if by > 1:
            return Point(self.x + by, self.y)
        self.hits += 1
        return self

    def swap(self):
        self.x, self.y = self.y, self.x


class Named(Point):
    def __init__(self, x, name):
        super().__init__(x)
        self.name = name
''',
    setup=('spot = Point(x[1])', 'far = Point(2.0, x[2])'),
    does=('{o}.x = {s}', '{o}.y += {s}', '{o}.swap()', '{o} = {o}.moved({s})', '{o}.moved({s}).hits += 1',
     'spot, far = far, spot', '{o}.hits = {o}.hits + 1', '{o} = Point({s})', "{o} = Named({s}, 'a')",
     '{o}.x, {o}.y = {o}.y, {s}', 'spots = [spot, far]\nspots[p[0] % 2].x = {s}', '{o}.z = 1',
     'far = spot if {c} else far',
     'spots = [spot, far]\nfor q in spots:\n    if q.x > {s}:\n        q.hits += 1', 'del {o}.hits',
     'q = copy.copy({o})\nq.x = 5.0\n{o}.y += q.x'),
    tests=('{o}.x > {o}.y', 'spot is far', '{o}.hits', '{o}.x < {s}'),
    reads=('{o}.x', '{o}.y', '{o}.hits'),
    results=('spot', 'far.x', 'far.hits', 'spot.y', 'far'),
    objects=('spot', 'far'),
    argument='Point(0.5, 2.5)')

SHAPES = Part(
    text='''
class Base:
    kind = "base"
    weight = 1

    def __init__(self, size):
        self.size = size

    def area(self):
        return self.size * self.weight

    def grow(self, by):
        self.size += by
        return self.area()

    def named(self):
        return self.kind


class Square(Base):
    kind = "square"

    def area(self):
        if self.size > 1:
            return super().area() * self.size
        return super().area()


class Round(Base):
    weight = 3

    def __init__(self, size, scale=1.0):
        super().__init__(size)
        if size > 1:
            self.scale = 2 * scale
        else:
            self.scale = scale

    def grow(self, by):
        if by < 0:
            return 0.0
        return super().grow(by * self.scale) + 1


class Both(Square, Round):
    pass
''',
    setup=('one = Square(x[0])', 'two = Round(x[1])'),
    does=('t = {o}.area()', 't = {o}.grow({s})', '{o}.size = {s}', '{o}.weight = 2', '{o}.weight += 1',
     'one = Square({s})', 'two = Round({s})', 'one = Both({s})',
     'shapes = [one, two]\nt = sum(s.area() for s in shapes)',
     'shapes = [one, two]\nt = shapes[p[0] % 2].area()', 'q = one if {c} else two\nt = q.area()',
     'q = one if {c} else two\nq.size = {s}', 't = Base.area({o})', 't = Base.grow(one, {s})',
     'shapes = [one, two]\nfor s in shapes:\n    if isinstance(s, Square):\n        s.size += 1',
     't = max(one, two, key=lambda s: s.size).area()', 'one, two = two, one', "{o}.kind = 'new'",
     'k = len({o}.named())', 'two.scale *= 2', 'two.scale += {s}', 'q = two if {c} else one\nname = q.kind',
     'k = len((one if {c} else two).named())', '{o}.area = lambda: 2.0', 't = super(Square, one).area()'),
    tests=('{o}.area() > 1', '{o}.size > {s}', 'isinstance({o}, Round)', "{o}.kind == 'square'",
     'type(one) is type(two)', "{o}.named() == 'base'"),
    reads=('{o}.area()', '{o}.size', '{o}.weight', 'Base.area({o})'),
    results=('one.size', 'two.area()', 'one', 'two', 'one.kind', 'one.weight'),
    objects=('one', 'two'),
    argument='Square(1.25)')

VECTOR = Part(
    text='''
class Vec:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __add__(self, other):
        if isinstance(other, Vec):
            return Vec(self.a + other.a, self.b + other.b)
        if isinstance(other, str):
            return NotImplemented
        return Vec(self.a + other, self.b)

    def __radd__(self, other):
        return Vec(other + self.a, self.b + 1)

    def __iadd__(self, other):
        self.a += other
        return self

    def __mul__(self, by):
        return Vec(self.a * by, self.b * by)

    def __neg__(self):
        return Vec(-self.a, -self.b)

    def __abs__(self):
        if self.a < 0:
            return -self.a
        return self.a

    def __eq__(self, other):
        if not isinstance(other, Vec):
            return NotImplemented
        return self.a == other.a and self.b == other.b

    def __hash__(self):
        return 7

    def __lt__(self, other):
        if self.a == other.a:
            return self.b < other.b
        return self.a < other.a

    def __bool__(self):
        return bool(self.a > 0)

    def __len__(self):
        return 2

    def __getitem__(self, i):
        if i == 0:
            return self.a
        if i == 1:
            return self.b
        raise IndexError(i)

    def __setitem__(self, i, v):
        if i == 0:
            self.a = v
        else:
            self.b = v

    def __iter__(self):
        yield self.a
        yield self.b

    def __contains__(self, v):
        return v == self.a or v == self.b

    def __call__(self, v):
        if v > 1:
            self.b = v
        return self.a * v

    def __float__(self):
        return float(self.a)

    def __int__(self):
        return 3

    def __index__(self):
        return 1

    def __array__(self, dtype=None, copy=None):
        return np.array([self.a, self.b])

    def __getattr__(self, name):
        if name == "norm":
            return self.a * self.a + self.b
        raise AttributeError(name)
''',
    setup=('u = Vec(x[0], 0.5)', 'w = Vec(1.5, x[1])'),
    does=('u = u + w', 'u = u + {s}', 'u = {s} + u', 'u += {s}', 'q = u\nq += {s}', 'u = u * {s}', 'u = -u',
     't = abs({o})', 't = {o}[0]', 't = {o}[p[0] % 2]', '{o}[0] = {s}', '{o}[p[0] % 2] = {s}',
     '{o}[1] += {s}', 'a, b_ = {o}\nt = a - b_', 't = sum({o})', 't = max(u, w).a', 't = min([u, w]).b',
     'u, w = sorted([u, w])', 't = {o}({s})', 't = {o}.norm', 't = {o}.missing', 't = float({o})',
     'k = len({o})', 't = np.array({o}).sum()', 't = np.asarray({o})[0]', 't = sum([u, w], u).a',
     't = sum([u, w]).b', 'u = u if {c} else w', 'if {o}:\n    {o}.b += 1', '{o}.a = {s}', 't = x[{o}]',
     'for v in {o}:\n    t = t + v', 'for j, v in enumerate({o}):\n    if v > {s}:\n        k += j',
     't = [*{o}, {s}][1]', 'u, w = w, u', 'k = int({o})', 'known = {{u: 1}}\nk = known.get(w, 2)',
     'k = [u, w].index(w)', 'k = [u, w, u].count(w)', 't = (u and w).a', 't = (u or w).b',
     't = {o} if {c} else {s}\nt = t * 1', 'u = Vec(*w)', 't = tuple({o})[1]', 'u.a, u.b = w',
     "t = getattr({o}, 'none', 1.0)", "t = dict(zip('ab', {o}))['b']", "u = u + 'a'", 'u[2]',
     't = list(map(abs, [u, w]))[0]', 't = functools.reduce(lambda a, b: a + b, [u, w, u]).a',
     't = np.dot({o}, [1.0, 2.0])', 't = np.sum({o})', 'k = list({o}).index({o}.b)', 't = next(iter({o}))'),
    tests=('u == w', 'u < w', 'u > w', '{o}', 'not {o}', '{s} in {o}', 'u != w', '{o} == 3', 'len({o}) > 1',
     'u is w', 'u in [w]', 'any({o})', 'all(v > 0 for v in {o})', 'u and w', 'sorted([u, w])[0] is u'),
    reads=('{o}.a', '{o}[1]', 'abs({o})', '{o}({s})', '{o}.norm', 'sum({o})', '(u + w).b'),
    results=('u.a', 'u.b', 'w.a', 'u == w', 'u < w', 'u is w', 'bool(u)', 'list(u)', 'np.asarray(u)'),
    objects=('u', 'w'))

RECORDS = Part(
    text='''
@dataclass
class Item:
    v: float
    n: int = 0
    tags: list = field(default_factory=list)
    twice: float = field(init=False, default=0.0, compare=False)

    def __post_init__(self):
        if self.v > 1:
            self.n = 5
        self.twice = self.v * 2

    def use(self, by):
        if self.n > 0:
            self.n -= 1
            self.v = self.v + by
            return True
        return False


@dataclass(frozen=True, order=True)
class Key:
    a: float
    b: int = 1

    @property
    def both(self):
        return self.a + self.b

    def next(self):
        if self.a > 1:
            return replace(self, b=self.b + 1)
        return Key(self.a + 1, self.b)


@dataclass
class Sub(Item):
    more: float = 1.5
''',
    setup=('item = Item(x[0])', 'sub = Sub(x[1], 2)', 'key = Key(x[2])', 'lock = Key(1.0, 2)'),
    does=('{o}.v = {s}', '{o}.n += 1', '{o}.use({s})', 'item = Item({s})', 'item = Item({s}, k)',
     '{o} = replace({o}, v={s})', '{o} = replace({o}, n=k)', '{o}.tags.append({s})',
     '{o}.tags = {o}.tags + [{s}]', 'sub.more += {s}', 'key = key.next()', 'key = Key({s})',
     'key = replace(key, a={s})', 'key, lock = lock, key', 'key.a = {s}', 't = max(key, lock).a',
     't = sorted([key, lock, Key(0.5)])[1].a', "t = asdict({o})['v']", 't = astuple(key)[0]',
     'k = len(fields({o}))', 'known = {{lock: 1.0}}\nt = known.get(key, 0.5)', 'item = sub if {c} else item',
     'key = lock if {c} else key', 'items = [item, sub]\nitems[p[0] % 2].v += {s}',
     'items = [item, sub]\nfor q in items:\n    if q.use({s}):\n        k += 1',
     'items = [Item(v) for v in x]\nt = max(items, key=lambda q: q.v).twice', 'item.twice = {s}',
     'items = [Item(v) for v in x[:3]]\nitems.sort(key=lambda q: -q.v)\nt = items[0].v', 't = key.both',
     'item, sub = sub, item', 'q = copy.deepcopy({o})\nq.tags.append(1.0)\nq.v = 9.0',
     'q = copy.copy({o})\nq.tags.append({s})\nq.n = 9', 'keys = [Key(v) for v in x]\nt = min(keys).a',
     'keys = [Key(v, j) for j, v in enumerate(x)]\nk = keys.index(max(keys))', '{o}.__post_init__()',
     'item = Sub(v={s}, more=2.0)', 'k = int(key == lock) + k', "t = vars({o})['v']"),
    tests=('item == sub', 'key < lock', 'key == lock', '{o}.n > 1', '{o}.tags', 'key >= Key({s}, 1)',
     'key in [lock]', 'item == Item({s})', 'item is sub', 'key != lock', '{o}.use({s})', 'is_dataclass(item)',
     'key in {{lock}}'),
    reads=('{o}.v', '{o}.n', '{o}.twice', 'key.a', 'key.b', 'len({o}.tags)', 'key.both'),
    results=('item', 'sub', 'key', 'lock', 'item == sub', 'key < lock', 'item.tags', 'sub.v', 'asdict(item)'),
    objects=('item', 'sub'),
    argument='Item(0.25, 3)')
