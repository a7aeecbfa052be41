"""What short programs about Python's protocols are made of: context managers, closures, generators, iteration and
exceptions (see `object_parts`)."""
from __future__ import annotations

from tests.fuzz.object_parts import Part

CONTEXTS = Part(
    text='''
class Scope:
    def __init__(self, swallow=False):
        self.swallow, self.depth, self.left, self.caught = swallow, 0, 0, 0

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, kind, error, trace):
        self.depth -= 1
        self.left += 1
        if kind is not None:
            self.caught += 1
        return self.swallow


@contextlib.contextmanager
def lent(scope, v):
    scope.depth += 1
    try:
        yield v * 2
    finally:
        if v > 1:
            scope.left += 1
        scope.depth -= 1


@contextlib.contextmanager
def guarded(scope):
    try:
        yield scope
    except ValueError:
        scope.caught += 10
    else:
        scope.left += 10


def risky(v):
    if v > 1:
        raise ValueError("big")
    return v
''',
    setup=('scope = Scope(n > 2)', 'strict = Scope()'),
    does=('with {o}:\n    t = t + {s}', 'with scope:\n    t = risky({s})', 'with strict:\n    k += 1',
     'with scope as q:\n    if {c}:\n        raise ValueError\n    q.left += 5',
     'with lent({o}, {s}) as q:\n    t = q', 'with guarded({o}):\n    t = risky({s})',
     'with guarded(scope) as q:\n    q.depth += 1\n    risky({s})\n    k += 1',
     'try:\n    with strict:\n        t = risky({s})\nexcept ValueError:\n    k += 3',
     'for j in range(3):\n    with {o}:\n        if x[j] > {s}:\n            break\n        k += 1',
     'for j in range(3):\n    with scope:\n        if {c}:\n            continue\n        t = t + 1',
     'with contextlib.suppress(ValueError):\n    k += 1\n    t = risky({s})\n    k += 1',
     'with contextlib.suppress(KeyError, ZeroDivisionError):\n    t = risky({s})',
     'with scope, strict:\n    t = risky({s})', 'with strict as q, lent(q, {s}) as r:\n    t = t + r',
     'with contextlib.nullcontext({s}) as q:\n    t = q', '{o}.depth += 1', 'scope.swallow = {c}',
     'strict = scope', 'scope = Scope({c})',
     'with contextlib.ExitStack() as stack:\n    stack.enter_context(scope)\n    t = risky({s})',
     'with scope if {c} else strict as q:\n    q.left += 1', 'with scope:\n    k = 10 // int({s})'),
    tests=('{o}.caught > 0', '{o}.left > 2', '{o}.depth', 'scope.swallow'),
    reads=('{o}.left', '{o}.caught', '{o}.depth'),
    results=('scope.left', 'scope.caught', 'strict.left', 'strict.depth', 'strict.caught', 'scope'),
    objects=('scope', 'strict'))

CLOSURES = Part(
    text='''
def counter(start):
    count = start

    def up(v):
        nonlocal count
        if v > 0:
            count += v
        return count

    def reset():
        nonlocal count
        count = 0.0

    return up, reset


def counted(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        return f(*args, **kwargs)
    wrapper.calls = 0
    return wrapper


def clipped(limit):
    def decorate(f):
        @functools.wraps(f)
        def inner(v):
            r = f(v)
            if r > limit:
                return limit
            return r
        return inner
    return decorate


@clipped(2.0)
def doubled(v):
    """Twice."""
    return v * 2


@functools.lru_cache(maxsize=None)
def cached(v):
    if v > 1:
        return v - 1
    return v


@functools.singledispatch
def told(v):
    return 1


@told.register
def _(v: list):
    return 2


def power(v, n=2, *more, scale=1.0, **rest):
    if n == 0:
        return scale
    if v > 0:
        return v * power(v, n - 1, scale=scale)
    return power(v, n - 1, *more, scale=scale) + len(rest) + len(more)


def kept(v, memory=[]):
    memory = memory + [v]
    if v > 1:
        memory.append(1.0)
    return sum(memory)


def default(v, by=None):
    if by is None:
        by = v
    return v + by


def fib(k):
    return k if k < 2 else fib(k - 1) + fib(k - 2)
''',
    setup=('up, reset = counter(0.5)', 'add = functools.partial(power, scale=2.0)', 'made = []'),
    does=('t = up({s})', 'reset()', 'up, reset = counter({s})', 't = add({s}, 2)', 't = doubled({s})',
     't = power({s}, 3, a=1)', 't = kept({s})', 't = default({s})', 't = default({s}, {s})',
     't = default({s}, None if {c} else 1.0)', 'k = fib(n)',
     't = functools.reduce(lambda a, b: a if a > b else a + b, x)', 't = functools.reduce(max, x, {s})',
     'def bump(by):\n    nonlocal t\n    if by > 0:\n        t = t + by\nbump({s})',
     'fs = [lambda v, j=j: v + j for j in range(3)]\nt = fs[k % 3]({s})',
     'fs = [abs, doubled, lambda v: v]\nt = fs[p[0] % 3]({s})', 'g = doubled if {c} else abs\nt = g({s})',
     'k = told([1])', 't = told(t) * {s}', 'g = (lambda v: v + t)\nt = 0.25\nt = g({s})',
     'made.append(lambda v: v + k)\nt = made[0]({s})',
     "ops = {{'a': doubled, 'b': abs}}\nt = ops['a' if {c} else 'b']({s})",
     'g = functools.partial(up)\nt = g({s})', 't = (lambda *v, **w: v[0] + len(w))({s}, a=1)',
     "t = power(*[{s}, 2], **{{'scale': 0.5}})", 'h = counted(doubled)\nt = h({s})\nk = h.calls',
     't = list(map(doubled, x))[2]', 't = sum(filter(lambda v: v > {s}, x))',
     'def inner(v):\n'
     '    if v > 1:\n'
     '        return inner(v - 1) if v < 0 else v\n'
     '    return -v\n'
     't = inner({s})',
     't = cached(2.5)', 'k = len(doubled.__doc__)', 't = (y_ := {s}) + y_',
     'if (y_ := up({s})) > 1:\n    t = y_', 'while (k := k + 1) < 5 and {c}:\n    t = t + 0.5',
     'k = len(doubled.__name__)', 't = operator.itemgetter(1)([t, {s}])', 't = operator.add(t, {s})'),
    tests=('up({s}) > 1', 'doubled({s}) > 1', 'callable(up)', 'made', 'default({s}) > 0', '(z_ := {s}) > 1'),
    reads=('up(0)', 'doubled(t)', 'default(t)', 'fib(4)'),
    results=('up(0)', 'up(1.0)', 'len(made)'))

YIELDS = Part(
    text='''
def positive(values):
    for v in values:
        if v > 0:
            yield v


def paired(values, limit):
    before = None
    for v in values:
        if before is not None and v > limit:
            yield before, v
        before = v


def until(values, limit):
    total = 0.0
    for v in values:
        total += v
        if total > limit:
            return
        yield total


def nested(values):
    yield 0.5
    yield from positive(values)
    if values[0] > 1:
        yield 2.0


def echo(log):
    try:
        for v in (1.0, 2.0, 3.0):
            log.append(v)
            yield v
    finally:
        log.append(-1.0)


def averaged():
    total, count, average = 0.0, 0, None
    while True:
        v = yield average
        total += v
        count += 1
        average = total / count


def natural(start=0):
    while True:
        yield start
        start += 1


class Tree:
    def __init__(self, v, left=None, right=None):
        self.v, self.left, self.right = v, left, right

    def __iter__(self):
        if self.left is not None:
            yield from self.left
        yield self.v
        if self.right is not None:
            yield from self.right

    def insert(self, v):
        if v < self.v:
            if self.left is None:
                self.left = Tree(v)
            else:
                self.left.insert(v)
        elif self.right is None:
            self.right = Tree(v)
        else:
            self.right.insert(v)

    def deep(self):
        left = self.left.deep() if self.left is not None else 0
        right = self.right.deep() if self.right else 0
        return 1 + max(left, right)
''',
    setup=('log = []', 'tree = Tree(0.5, Tree(x[0]))'),
    does=('for v in positive(x):\n    t = t + v',
     'for v in positive(x):\n    if v > {s}:\n        break\n    k += 1', 't = sum(positive(x))',
     'k = len(list(positive(x)))', 't = next(positive(x), -1.0)', 't = next(positive(x))',
     'for a, b_ in paired(x, {s}):\n    t = t + a * b_', 'for v in until(x, {s}):\n    t = t + v',
     't = max(until(x, {s}), default=0.0)', 't = sum(nested(x))', 'for v in nested(x):\n    t = t * 0.5 + v',
     'for v in echo(log):\n    if v > {s}:\n        break\n    t = t + v',
     'for v in echo(log):\n    t = t + v', 'k = len(log)',
     'g = averaged()\nnext(g)\nt = g.send({s})\nt = g.send(1.0)', 'g = natural()\nk = next(g) + next(g)',
     'for v in natural():\n    if v > 3 or x[v] > {s}:\n        break\n    k += v',
     'for v in tree:\n    t = t + v', 't = sum(tree)', 't = list(tree)[0]', 'tree = Tree({s}, None, tree)',
     'tree.insert({s})', 'k = tree.deep()', 'tree.v = {s}', 'tree.left = Tree({s})', 'tree.left = None',
     'tree.left, tree.right = tree.right, tree.left', 'tree = tree.left if {c} else tree',
     'g = positive(x)\nfor v in g:\n    if v > {s}:\n        break\nt = sum(g)',
     'g = (v * 2 for v in x if v > {s})\nt = sum(g) + sum(g)', 'a, *rest = positive(x)\nt = a',
     't = [v for v in until(x, 2)][-1]', 'k = any(v > {s} for v in positive(x))',
     'for j, v in enumerate(positive(x), 1):\n    k += j',
     'for a, b_ in zip(positive(x), natural(k)):\n    t = t + a * b_',
     'd = dict(zip(natural(), x))\nt = d[2]', 't = sorted(positive(x))[0]',
     'for v in reversed(list(until(x, {s}))):\n    t = v', 'g = echo(log)\nt = next(g)\ng.close()',
     't = float(np.fromiter((v for v in x if v > {s}), float).sum())',
     't = max((v for v in x if v > {s}), default=-1.0)'),
    tests=('any(v > {s} for v in x)', 'all(v > 0 for v in positive(x))', 'tree.left is None', 'tree.v > {s}', 'log',
     '{s} in tree', 'next(positive(x), None) is None', 'tree.right'),
    reads=('sum(tree)', 'tree.v', 'len(log)', 'tree.deep()', 'next(positive(x), 0.5)'),
    results=('log', 'list(tree)', 'tree.v', 'tree.deep()', 'len(log)'))

TOOLS = Part(
    text='''
def runs(values):
    found = []
    for key, group in itertools.groupby(values, lambda v: v > 0):
        found.append((key, sum(group)))
    return found
''',
    setup=('acc = 0.0',),
    does=('for v in itertools.takewhile(lambda v: v > {s}, x):\n    t = t + v',
     'for v in itertools.dropwhile(lambda v: v > {s}, x):\n    t = t + v',
     'for v in itertools.accumulate(x):\n    if v > {s}:\n        k += 1',
     't = list(itertools.accumulate(x, max))[3]',
     't = list(itertools.accumulate(x, lambda a, v: a * 0.5 + v, initial={s}))[-1]',
     'for a, b_ in itertools.pairwise(x):\n    if a > b_:\n        k += 1',
     'for a, b_ in itertools.product(x[:2], x[2:4]):\n    t = t + a * b_',
     'for a, b_ in itertools.combinations(x[:3], 2):\n    if a > b_:\n        k += 1',
     'for v in itertools.islice(x, 1, 5, 2):\n    t = t + v',
     'for v in itertools.chain(x[:2], [t, {s}]):\n    t = t * 0.5 + v',
     'for a, b_ in itertools.zip_longest(x, x[:2], fillvalue={s}):\n    t = t + a * b_', 'k = len(runs(x))',
     't = runs(x)[0][1]', 'for key, total in runs(x):\n    if key:\n        t = t + total',
     'for a, b_ in zip(x, x[1:]):\n    if a > b_:\n        break\n    k += 1',
     'for a, b_ in zip(x, p, strict=True):\n    t = t + a * b_',
     'for j, v in enumerate(x, start=k):\n    if v > {s}:\n        k = j\n        break',
     'k = next((j for j, v in enumerate(x) if v > {s}), -1)', 't = max(x, key=lambda v: -abs(v))',
     't = min(x, key=lambda v: (v - {s}) ** 2)', 't = sorted(x, key=abs)[0]',
     't = sorted(x, reverse=True)[1]', 'k = max(range(6), key=lambda j: x[j])',
     'k = min(range(6), key=x.__getitem__)',
     'for v in sorted(x):\n    if v > {s}:\n        t = v\n        break\nelse:\n    t = -1.0',
     'for v in reversed(x):\n    if v < {s}:\n        break\n    k += 1\nelse:\n    k = 50',
     'j = 0\nwhile j < 6:\n    if x[j] > {s}:\n        break\n    j += 1\nelse:\n    k += 100\nt = t + j',
     'first, *middle, last = x\nt = first - last + len(middle)', '(a, b_), c_ = (t, {s}), k\nt = a - b_',
     'a, b_ = (t, k) if {c} else ({s}, 2)\nt, k = a, b_', 'k = any(v > {s} for v in x) + k',
     'k = sum(v > {s} for v in x)', 'k = sum(1 for v in x if v > {s})', 't = [v for v in x if v > {s}][-1]',
     'd = {{j: v for j, v in enumerate(x)}}\nt = max(d, key=d.get)',
     "d = {{'a': t, 'b': {s}}}\nt = max(d.values())",
     "d = {{'a': t, 'b': {s}}}\nname = max(d, key=d.get)\nk = len(name) + (name == 'b')",
     "d = {{'a': t, 'b': {s}}}\nfor key, v in sorted(d.items(), key=lambda q: q[1]):\n    t = t * 0.5 + v",
     't, k = max(zip(x, range(6)))', 'k = itertools.count(k).__next__()',
     'c_ = itertools.cycle([1.0, 2.0])\nfor v in x:\n    t = t + v * next(c_)',
     'it_ = iter(x)\nfor v in it_:\n    if v > {s}:\n        t = next(it_, 0.0)\n        break',
     'it_ = iter(x)\nfor a, b_ in zip(it_, it_):\n    t = t + a * b_',
     'for j in range(5, 0, -2):\n    if x[j] > {s}:\n        continue\n    k += j',
     'for v in map(lambda a, b: a * b, x, p):\n    t = t + v', 't = sum(itertools.compress(x, b))',
     'for a, b_ in itertools.starmap(lambda u, v: (u, v), [(t, 1), ({s}, 2)]):\n    t = t + a * b_',
     'k = [v > {s} for v in x].index(True)', 'k = list(b).count(True)', 't = sum(itertools.repeat({s}, 3))',
     'groups = {{}}\nfor v in x:\n    groups.setdefault(v > {s}, []).append(v)\nk = len(groups)',
     'for lo, hi in itertools.batched(x, 2):\n    t = t + lo * hi',
     'for v in itertools.filterfalse(lambda v: v > {s}, x):\n    k += 1'),
    tests=('any(v > {s} for v in x)', 'all(v < {s} for v in x)', 'max(x) > {s}', 'sorted(x)[0] > {s}',
     'next((v for v in x if v > {s}), None) is None'),
    reads=('max(x)', 'sum(v > 0 for v in x)', 'min(x, key=abs)', 'len([v for v in x if v > {s}])',
     'next((v for v in x if v > 1), 2.0)'))

ERRORS = Part(
    text='''
class Trouble(Exception):
    def __init__(self, v, code=1):
        super().__init__(v)
        self.v, self.code = v, code


class Worse(Trouble):
    pass


def check(v):
    if v > 1.5:
        raise Worse(v, 2)
    if v > 0.5:
        raise Trouble(v)
    return v


def tried(v, log):
    try:
        r = check(v)
    except Worse as e:
        log[0] += 1
        return e.v
    except Trouble:
        log[1] += 1
        r = -1.0
    else:
        r = r + 1
    finally:
        log[2] += 1
    return r


def always(v):
    try:
        if v > 1:
            return 1
        v = v + 1
    finally:
        if v > 1.5:
            return 2
    return 3


def searched(values, limit):
    for j, v in enumerate(values):
        try:
            if v > limit:
                return j
        finally:
            j += 10
    raise LookupError(limit)
''',
    setup=('log = [0, 0, 0]', "d = {'a': x[0]}"),
    does=('t = tried({s}, log)', 'k = always({s})', 'k = searched(x, {s})', 't = check({s})',
     'try:\n    t = check({s})\nexcept Trouble as e:\n    k = e.code',
     'try:\n    t = check({s})\nexcept (ValueError, Worse):\n    k = 9\nfinally:\n    log[0] += 1',
     'try:\n    k = searched(x, {s})\nexcept LookupError:\n    k = -1',
     'for v in x:\n'
     '    try:\n'
     '        t = t + check(v)\n'
     '    except Worse:\n'
     '        break\n'
     '    except Trouble:\n'
     '        continue\n'
     '    else:\n'
     '        k += 1\n'
     '    finally:\n'
     '        log[2] += 1',
     "try:\n    t = d['b']\nexcept KeyError:\n    d['b'] = {s}",
     'try:\n    if {c}:\n        raise Trouble(t)\n    k += 1\nexcept Trouble as e:\n    t = e.v + 1',
     'try:\n    k = 10 // k\nexcept ZeroDivisionError:\n    k = 1',
     'try:\n    k = 6 // p[0]\nexcept ZeroDivisionError:\n    k = 1',
     'try:\n    t = [1.0, {s}][p[0]]\nexcept IndexError:\n    t = 9.0',
     "try:\n    assert {c}, 'no'\nexcept AssertionError:\n    k += 1", 'assert {c}',
     'try:\n'
     '    try:\n'
     '        t = check({s})\n'
     '    except Trouble as e:\n'
     '        raise ValueError(1) from e\n'
     'except ValueError:\n'
     '    k += 5',
     'try:\n'
     '    try:\n'
     '        t = check({s})\n'
     '    finally:\n'
     '        log[1] += 1\n'
     'except Worse:\n'
     '    pass\n'
     'except Trouble:\n'
     '    log[0] = 5',
     'try:\n'
     '    try:\n'
     '        t = check({s})\n'
     '    except Worse:\n'
     '        raise\n'
     '    except Trouble:\n'
     '        k += 2\n'
     'except Trouble as e:\n'
     '    k = e.code + 10',
     'while True:\n    try:\n        t = check(t)\n        break\n    except Trouble:\n        t = t - 0.5',
     'log[0] += 1', "d['a'] = {s}", 'if {c}:\n    raise Trouble(k)',
     "try:\n    t = d['a' if {c} else 'zz']\nexcept KeyError as e:\n    k += 1", "t = d.pop('b', {s})",
     "d.pop('b')", 't = float(math.sqrt({s}))',
     'try:\n    t = math.sqrt({s} - 1)\nexcept ValueError:\n    t = 0.0',
     'try:\n    t = x[p[0] + 3]\nexcept IndexError:\n    t = x[-1]',
     'for j in range(3):\n'
     '    try:\n'
     '        if x[j] > {s}:\n'
     '            raise Worse(j)\n'
     '    except Trouble as e:\n'
     '        k += e.v\n'
     '        break\n'
     'else:\n'
     '    k = 70',
     'log[p[0] % 4] += 1', 't = 1 / k', 't = 1.0 / (k - 1)', "k = int('a' if {c} else '3')",
     'try:\n    k = next(iter([v for v in x if v > {s}]))\nexcept StopIteration:\n    k = 0',
     't = [v for v in x if v > {s}][0]', 't = max(v for v in x if v > {s})',
     'e = Trouble({s})\nif {c}:\n    raise e'),
    tests=('log[0] > 0', 'tried({s}, log) > 1', "'b' in d", 'always({s}) == 2', "d.get('b', 0) > 0", 'sum(log) > 2'),
    reads=('log[0]', 'log[2]', "d['a']", "d.get('b', 0.5)", 'always(t)', 'sum(log)'),
    results=('log', 'd', 'log[1]', 'sorted(d)'),
    objects=('log',))
