"""What short programs about objects in containers are made of: sequences of the user's, named tuples, enumerations,
lists and dicts of objects, patterns (see `object_parts`)."""
from __future__ import annotations

from tests.fuzz.object_parts import Part

ROW = Part(
    text='''
class Row:
    def __init__(self, items):
        self.items, self.at, self.reads = items, 0, 0

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        self.reads += 1
        return self.items[i]

    def __setitem__(self, i, v):
        if v > 1:
            self.items[i] = v
        else:
            self.items[i] = 1.0

    def __delitem__(self, i):
        del self.items[i]

    def __contains__(self, v):
        for e in self.items:
            if e == v:
                return True
        return False

    def __reversed__(self):
        return iter(self.items[::-1])

    def __missing__(self, key):
        return 0


class Walk:
    def __init__(self, values, limit):
        self.values, self.limit, self.at = values, limit, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= len(self.values):
            raise StopIteration
        v = self.values[self.at]
        self.at += 1
        if v > self.limit:
            raise StopIteration
        return v
''',
    setup=('row = Row([x[0], x[1], 2.0])', 'walk = Walk(x, 1)'),
    does=('row[0] = {s}', 'row[p[0] % 3] = {s}', 'row[-1] += {s}', 't = row[p[0] % 3]',
     'for v in row:\n    t = t + v', 'for v in reversed(row):\n    t = t * 0.5 + v', 'k = len(row)',
     'del row[0]', 'row.items.append({s})', 't = row[1:][0]', 'row = Row([{s}, {s}])',
     'for v in row:\n    if v > {s}:\n        break\n    k += 1', 'a, b_, c_ = row\nt = c_', 't = sum(row)',
     't = max(row)', 't = list(row)[-1]', 't = row[9]', 'for v in walk:\n    t = t + v',
     't = next(walk, 0.5)', 't = next(walk)', 'walk = Walk(x, {s})', 't = sum(walk)', 'k = len(list(walk))',
     'for v in Walk(x, {s}):\n    k += 1', 'walk.at = 0', 'walk.limit = {s}',
     'for a, b_ in zip(walk, row):\n    t = t + a * b_', 'for j, v in enumerate(Walk(x, {s})):\n    k = j',
     't = max(Walk(x, 5))', 't = min(Walk(x, {s}), default=3.0)', 'row.at += 1', 'walk.at += 1',
     'a, *rest = Walk(x, 9)\nt = a + len(rest)', 'row.items = [{s}] + row.items', 't = row.items[row.at % 3]',
     't = [v for v in walk if v > {s}][0]', 'iter_ = iter(row)\nt = next(iter_)',
     'for v in iter(row):\n    k += 1'),
    tests=('{s} in row', 'row', 'len(row) > 2', 'walk.at > 2', 'row[0] > {s}', 'any(v > 1 for v in row)',
     'walk.at < len(x)'),
    reads=('row[0]', 'row[-1]', 'len(row)', 'walk.at', 'row.reads', 'sum(row)'),
    results=('row.items', 'walk.at', 'row.reads', 'len(row)', 'row', 'list(row)'),
    objects=('row',),
    argument='Row([1.0, 0.5, 2.5])')

TUPLES = Part(
    text='''
class Pair(NamedTuple):
    a: float
    b: int = 2

    def total(self):
        if self.a > 1:
            return self.a + self.b
        return self.b

    def up(self):
        return self._replace(b=self.b + 1)


Plain = collections.namedtuple("Plain", "u v", defaults=[1.0])


class Tone(enum.Enum):
    LOW = 1
    MID = 2
    HIGH = 3

    @property
    def loud(self):
        return self is Tone.HIGH

    def next(self):
        if self is Tone.LOW:
            return Tone.MID
        return Tone.HIGH


class Code(enum.IntEnum):
    OK = 0
    BAD = 4


class Bits(enum.Flag):
    A = 1
    B = 2
    C = 4


def tone_of(v):
    if v > 1:
        return Tone.HIGH
    if v > 0:
        return Tone.MID
    return Tone.LOW


def first(pair, v):
    if v > pair.a:
        return pair
    return Pair(v)
''',
    setup=('pair = Pair(x[0])', 'plain = Plain(0.5)', 'tone = Tone.LOW', 'code = Code.OK', 'bits = Bits.A'),
    does=('pair = pair._replace(a={s})', 'pair = pair._replace(b=k)', 'pair = pair.up()', 'pair = Pair({s})',
     'pair = Pair({s}, 7)', 't = pair.total()', 'a, b_ = pair\nt = a * b_', 'pair = first(pair, {s})',
     'plain = plain._replace(u={s})', 'plain = Plain({s}, v=2.0)', 'plain = Plain._make([{s}, 1.5])',
     'pair = Pair(*plain)', 't = pair[0]', 't = plain[p[0] % 2]', "t = pair._asdict()['a']", 't = max(plain)',
     't = sum(plain)', 'tone = tone_of({s})', 'tone = tone.next()', 'tone = Tone.HIGH if {c} else tone',
     'code = Code.BAD if {c} else Code.OK', 'k = tone.value', 'k = k + code', 'k = code + 1',
     'names = {{Tone.LOW: 1.0, Tone.MID: 2.0, Tone.HIGH: 3.0}}\nt = names[tone]', 'tone = Tone(k % 3 + 1)',
     'tone = Tone(p[0] % 3 + 1)', "tone = Tone['MID']",
     'for q in Tone:\n    if q is tone:\n        break\n    k += 1', 'k = list(Tone).index(tone)',
     'bits = bits | Bits.B', 'bits |= Bits.C if {c} else Bits.B', 'bits ^= Bits.A', 'k = bits.value',
     'k = len(tone.name)', 'pairs = [Pair(v, j) for j, v in enumerate(x)]\npair = max(pairs)',
     'pairs = [Pair(v, j) for j, v in enumerate(x)]\nt = pairs[p[0]].b',
     'pairs = sorted([Pair(v) for v in x[:3]], key=lambda q: q.a)\nt = pairs[0].a',
     'pair = pair if {c} else Pair(0.25)', 'pair.a = 1',
     'counts = dict.fromkeys(Tone, 0)\nfor v in x:\n    counts[tone_of(v)] += 1\nk = counts[Tone.MID]',
     'pair = pair + (1,)', "t = pair._fields.index('b')",
     'counts = collections.Counter(tone_of(v) for v in x)\nk = counts[Tone.LOW]', 'k = code.value'),
    tests=('tone is Tone.HIGH', 'tone == Tone.MID', 'tone in (Tone.LOW, Tone.MID)', 'tone.loud', 'code == Code.BAD',
     'code', 'code > 2', 'pair > (1, 2)', 'pair == Pair(x[0])', 'bits & Bits.B', 'Bits.B in bits',
     'pair == plain', 'isinstance(pair, tuple)', '{s} in pair'),
    reads=('pair.a', 'pair.b', 'plain.u', 'plain.v', 'tone.value', 'code', 'pair.total()', 'bits.value',
     'len(tone.name)'),
    results=('pair', 'plain', 'tone', 'code', 'tone.value', 'pair.a', 'tuple(pair)', 'bits.value', 'tone.name',
     'pair == plain'))

GROUPS = Part(
    text='''
class Cell:
    made = 0

    def __init__(self, v, near=None):
        self.v, self.near, self.n = v, near, 0
        self.inner = [v, 0.0]

    def push(self, by):
        self.inner[0] += by
        if self.near is not None and by > 0:
            self.near.v += by
        return self.inner

    def last(self):
        cell = self
        while cell.near is not None:
            cell = cell.near
        return cell


def pick(cells, v):
    for cell in cells:
        if cell.v > v:
            return cell
    return cells[-1]


def find(cells, v):
    for cell in cells:
        if cell.v > v:
            return cell


def trade(a, b):
    a.v, b.v = b.v, a.v


def renew(cells, j, v):
    if v > 1:
        cells[j] = Cell(v)
    else:
        cells[j].v = v
''',
    setup=('cells = [Cell(x[0]), Cell(x[1]), Cell(2.0)]', 'cell = cells[0]',
     "named = {'a': cells[1], 'b': Cell(0.5)}"),
    does=('{o}.v = {s}', '{o}.n += 1', '{o}.push({s})', 'cell = {o}', 'cell = pick(cells, {s})',
     'pick(cells, {s}).n += 1', 'q = find(cells, {s})\nif q is not None:\n    q.v += 1',
     'find(cells, {s}).v = 1.0', 'trade({o}, {o})', 'renew(cells, 1, {s})', 'renew(cells, p[0] % 3, {s})',
     'cells[0], cells[2] = cells[2], cells[0]', 'cells[p[0] % 3] = {o}', 'cells[1] = Cell({s})',
     'cells.append(Cell({s}))', 'cells.pop()', 'cells.sort(key=lambda q: q.v)',
     'cells = sorted(cells, key=lambda q: -q.v)', 'cells = [q for q in cells if q.v > {s}]',
     'cells = cells[::-1]', 'cells.reverse()', "named['a'] = {o}", "named['c'] = {o}",
     "named['a' if {c} else 'b'].v += {s}", 'for q in cells:\n    if q.v > {s}:\n        q.n += 1',
     'for q in named.values():\n    q.v = q.v * 0.5',
     'for name, q in named.items():\n    if q.v > {s}:\n        q.n = len(name)', '{o}.near = {o}',
     '{o}.near = Cell({s})', '{o}.near = None', 'if {o}.near is not None:\n    {o}.near.v += 1',
     'best = None\nfor q in cells:\n    if best is None or q.v > best.v:\n        best = q\nbest.n += 1',
     'cell = max(cells, key=lambda q: q.v)', 'min(cells, key=lambda q: q.v).v = {s}',
     'q = copy.copy({o})\nq.v = {s}\nq.inner[1] = 4.0', 'q = copy.deepcopy({o})\nq.inner[1] = 4.0\nt = q.v',
     '{o}.inner = [{s}, 1.0]', '{o}.inner[1] = {s}', 'inner = {o}.push({s})\ninner[1] += 1',
     'k = cells.index({o})', 'cells.remove({o})', 'same = [cell] * 2\nsame[0].v = {s}',
     'cell, cells[1] = cells[1], cell', 'a, *rest = cells\na.v = {s}\nrest[0].v = 1.0',
     'q = {o} if {c} else {o}\nq.v = {s}', 'q = {o} if {c} else Cell(1.0)\nq.v = {s}\ncell = q',
     'q = cell if {c} else None\nif q:\n    q.n = 9', '(cell if {c} else cells[2]).n += 1',
     '{o}.last().v = {s}', 't = sum(q.v for q in cells)', 'k = sum(q.n for q in cells)',
     "cell = named.get('c', cell)", "cell = named.setdefault('c', cell)",
     'pair = (cell, cells[1])\npair[k % 2].v = {s}', "named.pop('c', None)", "del named['b']",
     'grid = [[Cell(v) for v in x[:2]] for _ in range(2)]\n'
     'grid[1][p[0] % 2].v = {s}\n'
     't = sum(q.v for r in grid for q in r)',
     'stack = [cell]\n'
     'while stack:\n'
     '    q = stack.pop()\n'
     '    q.n += 1\n'
     '    if q.n < 3 and q.v > {s}:\n'
     '        stack.append(q)'),
    tests=('{o} is {o}', '{o} in cells', '{o}.v > {s}', '{o}.near is None', '{o}.n > 1', 'cell is cells[-1]',
     'any(q.v > {s} for q in cells)', 'find(cells, {s}) is None', "'c' in named", 'len(cells) > 2'),
    reads=('{o}.v', '{o}.n', '{o}.inner[0]', 'pick(cells, 0.5).v', 'len(cells)', 'cell.inner[1]'),
    results=('[q.v for q in cells]', '[q.n for q in cells]', '[q.inner for q in cells]', 'cell.v', 'cell is cells[0]',
     'cells', 'cell', 'named', '[q.v for q in named.values()]'),
    objects=('cell', 'cells[0]', 'cells[p[0] % 3]', 'cells[-1]', "named['a']", 'cell'))

MATCHES = Part(
    text='''
class Shape:
    __match_args__ = ("size", "name")

    def __init__(self, size, name):
        self.size, self.name = size, name


def area(shape):
    match shape:
        case Shape(size, "square"):
            return size * size
        case Shape(size=s, name="round") if s > 1:
            return 3 * s
        case Shape():
            return shape.size
        case [a, b]:
            return a * b
        case {"w": w, **rest}:
            return w + len(rest)
        case int() | float() as number:
            return number + 0.5
        case None:
            return -1.0
        case _:
            return 0.0


def sign(v):
    match v:
        case 0:
            return 0
        case _ if v > 0:
            return 1
        case _:
            return -1
''',
    setup=("shape = Shape(x[0], 'square')", 'point = (x[1], 1.0)', "conf = {'w': x[2], 'h': 1}"),
    does=('t = area({o})', 't = area({s})', 't = area(None if {c} else {s})', "shape.name = 'round'",
     "shape.name = 'round' if {c} else 'square'", "shape = Shape({s}, 'dot')", 'shape.size = {s}',
     'point = ({s}, k)', "conf['w'] = {s}", "conf['q'] = 1", 't = sign({s})', 't = area([t, {s}])',
     "t = area('text')",
     'match point:\n'
     '    case (0.0, y_):\n'
     '        t = y_\n'
     '    case (a, b_) if a > b_:\n'
     '        t = a\n'
     '    case _:\n'
     '        k += 1',
     'match k:\n'
     '    case 0 | 1:\n'
     '        t = t + 1\n'
     '    case 2:\n'
     '        shape.size += 1\n'
     '    case _:\n'
     '        k = 0',
     'match [*x[:3]]:\n'
     '    case [a, *rest] if a > {s}:\n'
     '        t = rest[0]\n'
     '    case [a, *_]:\n'
     '        t = a',
     'match {c}, t > 1:\n'
     '    case True, False:\n'
     '        k += 1\n'
     '    case (False, _):\n'
     '        k += 2\n'
     '    case _:\n'
     '        k += 3',
     'match p[0]:\n'
     '    case 0:\n'
     '        t = 1.0\n'
     '    case 1:\n'
     '        t = 2.0\n'
     '    case q:\n'
     '        t = q * 1.0',
     'match conf:\n'
     "    case {{'w': w, 'q': _}} if w > {s}:\n"
     '        t = w\n'
     "    case {{'h': 1}}:\n"
     "        conf['h'] = 2\n"
     '    case _:\n'
     '        k += 1',
     "match shape.name:\n    case 'round':\n        t = t + 1\n    case 'square' | 'dot':\n        t = t - 1",
     'match int({s}):\n    case 1:\n        k = 7\n    case 0:\n        k = 8',
     'match shape:\n'
     '    case Shape(size=1.5):\n'
     '        k = 3\n'
     '    case Shape(size=v, name=w):\n'
     '        t = v\n'
     '        k = len(w)'),
    tests=('area({o}) > 1', "shape.name == 'round'", 'point > (1.0, 2.0)', "'q' in conf", 'sign({s}) == 1'),
    reads=('shape.size', 'point[0]', "conf['w']", 'area({o})', 'sign(t)'),
    results=('shape', 'point', 'conf', 'shape.size', 'shape.name', 'area(shape)'),
    objects=('shape', 'point', 'conf'),
    argument="Shape(0.75, 'round')")
