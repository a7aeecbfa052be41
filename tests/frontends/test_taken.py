"""Objects, lists, dicts and sets that control flow takes, and that are changed afterwards: `worst = p if ... else q`,
`worst.x = 0`, `row = rows[k]` and `row.append(x)`, `best = None` and what a search makes of it."""
import numpy as np
import pytest

import reactant
from reactant.errors import ReactantError
from tests.frontends.agreement import agree

ARGUMENTS = [(np.random.default_rng(seed).standard_normal((12, 3)),) for seed in range(3)]


class Part:
    def __init__(self, x, v):
        self.x, self.v, self.n = np.array(x, float), v, 0

    def cost(self):
        return np.sum(self.x**2)


class Account:
    def __init__(self, balance):
        self.balance, self.log = balance, []

    def deposit(self, amount):
        self.balance += amount
        self.log.append(amount)


class Total:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def add(self, x):
        self.sum += x
        self.count += 1
        return self.sum


class Lower(Total):
    def add(self, x):
        self.sum -= 2 * x
        return -self.sum


class Swarm:
    def __init__(self, parts):
        self.parts, self.best = parts, parts[0]

    def update(self):
        for part in self.parts:
            if part.v < self.best.v:
                self.best = part
        self.best.n += 1
        self.best.v += 1.0


# ---- objects -----------------------------------------------------------------------------------------------------

def the_best_of_a_loop(a):
    ps = [Part(a[i], 1.0) for i in range(4)]
    best = None
    for p in ps:
        if best is None or p.cost() < best.cost():
            best = p
    best.n += 1
    best.v = 2.5
    return [p.n for p in ps], [p.v for p in ps]


def by_an_expression(a):
    p, q = Part(a[0], 1.0), Part(a[1], 2.0)
    w = p if a[0, 0] > a[1, 0] else q
    w.v = w.v * 3
    w.x[0] = 7.0
    return p.v, q.v, p.x, q.x


def by_branches(a):
    p, q = Part(a[0], 1.0), Part(a[1], 2.0)
    if a[0, 0] > a[1, 0]:
        w, z = p, q
    else:
        w, z = q, p
    w.n += 1
    z.v -= 1.5
    return p.v, q.v, p.n, q.n


def carried_by_a_loop(a):
    class Node:         # another class each time
        def __init__(self, key):
            self.key, self.count = key, 0
    nodes = [Node(a[i, 0]) for i in range(5)]
    cur = nodes[0]
    for i in range(len(a)):
        for n in nodes:
            if abs(n.key - a[i, 1]) < abs(cur.key - a[i, 1]):
                cur = n
        cur.count += 1
    return [n.count for n in nodes]


def a_method(a):
    pos, neg = Total(), Total()
    for v in a[:, 0]:
        (pos if v > 0 else neg).add(v)
    return pos.sum, pos.count, neg.sum, neg.count


def a_method_and_an_attribute(a):
    pos, neg = Total(), Total()
    for v in a[:, 0]:
        t = pos if v > 0 else neg
        t.add(v)
        t.count += 1
    return pos.sum, pos.count, neg.sum, neg.count


def none_before(a):
    ps = [Part(a[i], 1.0) for i in range(5)]
    best = None
    for i in range(5):
        if a[i, 0] > 0 and (best is None or a[i, 1] < best.x[1]):
            best = ps[i]
    if best is not None:
        best.n += 1
        best.x *= 2
    return [p.n for p in ps], [p.x for p in ps]


def at_a_break(a):
    pop = [Part(a[i], a[i, 0]**2) for i in range(6)]
    total = sum(p.v for p in pop)
    for t in range(10):
        r = abs(a[t, 1]) % 1.0 * total
        acc = 0.0
        chosen = pop[-1]
        for p in pop:
            acc += p.v
            if acc > r:
                chosen = p
                break
        chosen.n += 1
        chosen.x += 0.1
    return [p.n for p in pop], [p.x for p in pop]


def compared(a):
    swarm = [Part(a[i], 0.0) for i in range(3)]
    gbest = swarm[0]
    for _ in range(3):
        for p in swarm:
            if np.sum(p.x**2) < np.sum(gbest.x**2):
                gbest = p
        for p in swarm:
            if p is not gbest:
                p.x += 0.3 * (gbest.x - p.x)
        gbest.n += 1
        gbest.x *= 0.9
    return [p.x for p in swarm], [p.n for p in swarm]


def of_two_classes(a):
    u, d = Total(), Lower()
    s = 0.0
    for v in a[:, 0]:
        m = u if v > 0 else d
        s += m.add(v)
    return u.sum, d.sum, s


def an_attribute(a):
    s = Swarm([Part(a[i], a[i, 2]) for i in range(4)])
    for _ in range(5):
        s.update()
    return [p.n for p in s.parts], [p.v for p in s.parts], s.best.v


def in_a_while(a):
    p, q = Part(a[0], 1.0), Part(a[1], 2.0)
    while p.n + q.n < 20:
        w = p if p.v < q.v else q
        w.v += abs(a[3, 0]) + 0.1
        w.n += 1
    return p.v, q.v, p.n, q.n


def by_a_function(a):
    ps = [Part(a[i], 0.5) for i in range(3)]
    def pick(x):
        if x > 0.5:
            return ps[0]
        if x > 0:
            return ps[1]
        return ps[2]
    for i in range(len(a)):
        t = pick(a[i, 0])
        t.v += a[i, 1]
        t.x[i % 3] += 1
    return [p.v for p in ps], [p.x for p in ps]


def returned(a):
    ps = [Part(a[i], 0.5) for i in range(3)]
    w = ps[0] if a[0, 0] > 0 else ps[1]
    w.v = 9.0
    return w.v, w.x, w.n


def under_a_key(a):
    d = {"a": Part(a[0], 0.0), "b": Part(a[1], 0.0)}
    key = "a" if a[0, 0] > 0 else "b"
    d[key].v += 1.5
    t = d[key]
    t.n = 3
    return d["a"].v, d["b"].v, d["a"].n, d["b"].n


# ---- lists and dicts -----------------------------------------------------------------------------------------------

def a_list_at_a_place(a):
    bs = [[] for _ in range(5)]
    for i in range(len(a)):
        k = int(abs(a[i, 0]) * 10) % 5
        b = bs[k]
        b.append(a[i, 1])
    return [sum(b) for b in bs], [len(b) for b in bs]


def two_lists(a):
    left, right = [], []
    for i in range(len(a)):
        side = left if a[i, 0] < 0 else right
        side.append(a[i, 1])
    return sum(left), sum(right), len(left)


def lists_under_a_key(a):
    d = {"lo": [], "hi": []}
    for v in a[:, 0]:
        d["lo" if v < 0 else "hi"].append(v)
    return len(d["lo"]), sum(d["hi"])


def a_cell(a):
    grid = [[[] for _ in range(3)] for _ in range(3)]
    for x, y in a[:, :2]:
        cell = grid[int(abs(x) * 3) % 3][int(abs(y) * 3) % 3]
        cell.append(x)
    return [[len(c) for c in r] for r in grid]


def a_row_written(a):
    rows = [[0.0, 1.0, 2.0] for _ in range(4)]
    for i in range(len(a)):
        r = rows[int(abs(a[i, 0]) * 10) % 4]
        r[1] += a[i, 1]
    return rows


def the_list_with_fewest(a):
    bs = [[] for _ in range(3)]
    for i in range(len(a)):
        target = min(bs, key=len)
        target.append(a[i, 0])
    return [sum(b) for b in bs]


def with_lists(a):
    accs = [Account(100.0), Account(50.0)]
    for i in range(len(a)):
        acc = accs[0] if a[i, 0] > 0 else accs[1]
        acc.deposit(a[i, 1])
    return [x.balance for x in accs], [len(x.log) for x in accs], [sum(x.log) for x in accs]


def dicts(a):
    hi, lo = {"s": 0.0, "n": 0}, {"s": 0.0, "n": 0}
    for v in a[:, 0]:
        d = hi if v > 0 else lo
        d["s"] += v
        d["n"] += 1
    return hi["s"], hi["n"], lo["s"], lo["n"]


def the_current_list(a):
    groups = []
    cur = None
    for _ in range(4):
        groups.append([])
    for i in range(len(a)):
        if a[i, 0] > 0 or cur is None:
            cur = groups[i % 4]
        cur.append(a[i, 1])
    return [len(g) for g in groups], [sum(g, 0.0) for g in groups]


def swapped_lists(a):
    src, dst = [a[0, 0], a[1, 0]], [a[2, 0], a[3, 0]]
    for i in range(len(a)):
        if a[i, 1] > 0:
            src, dst = dst, src
        dst[0] = src[1] + 1
        src[1] *= 0.5
    return src, dst


def the_shortest_list(a):
    qs = [[], [], []]
    served = 0.0
    for i in range(len(a)):
        q = min(qs, key=len) if a[i, 0] > 0 else max(qs, key=len)
        if a[i, 1] > -0.5:
            q.append(a[i, 2])
        elif len(q) > 0:
            served += q.pop(0)
    return served, [len(q) for q in qs]


def beside_a_list_bound_anew(a):
    left, right, hist = [], [], [0.0, 0.0, 0.0]
    for i in range(len(a)):
        side = left if a[i, 0] < 0 else right
        side.append(a[i, 1])
        hist = hist[1:] + [a[i, 2]]
    return sum(left), sum(right), hist


def beside_new_ones(a):
    ps = [Part(a[i, 0], 0.0) for i in range(3)]
    best = ps[0]
    for i in range(len(a)):
        cand = Part(a[i, 1], 0.0)
        if cand.x < best.x:
            best = cand
        w = ps[0] if a[i, 1] > 0 else ps[1]
        w.n += 1
    return [p.n for p in ps], best.x


def dicts_in_a_dict(a):
    d = {"x": {"n": 0, "s": 0.0}, "y": {"n": 0, "s": 0.0}}
    for i in range(len(a)):
        e = d["x"] if a[i, 0] > 0 else d["y"]
        e["n"] += 1
        e["s"] += a[i, 1]
    return [d[k]["n"] for k in d], [d[k]["s"] for k in d]


def one_or_two(a):
    ps = [Part(a[i, 0], 0.0) for i in range(3)]
    def pick(k):
        return ps[0] if k > 0 else ps[1]
    for i in range(len(a)):
        p, q = pick(a[i, 0]), pick(a[i, 1])
        if p is q:
            p.n += 10
        p.n, q.n = q.n + 1, p.n
        p.x, q.x = q.x, p.x
    return [p.n for p in ps], [p.x for p in ps]


def elements_of_a_list(a):
    ps = [Part(a[i, 0], 0.0) for i in range(4)]
    front = [ps[0]]
    for i in range(1, 4):
        if ps[i].x > front[-1].x:
            front[-1] = ps[i]
        front[-1].n += 1
    return [p.n for p in ps], front[0].x


def read_and_extended(a):
    xs, ys = [a[0, 0], 1.0], [a[1, 0], 2.0]
    t = xs if a[2, 0] > 0 else ys
    for v in t:
        a[0, 1] += v
    u = [v * 2 for v in t]
    s = sum(t) + max(t) + t[0] + len(t)
    t[1] = 7.0
    t += [3.0]
    return len(xs), sum(xs), len(ys), sum(ys), u, s, t[-1], 7.0 in t


@pytest.mark.sampled(12)
@pytest.mark.parametrize("program", [
    the_best_of_a_loop, by_an_expression, by_branches, carried_by_a_loop, a_method, a_method_and_an_attribute,
    none_before, at_a_break, compared, of_two_classes, an_attribute, in_a_while, by_a_function, returned, under_a_key,
    a_list_at_a_place, two_lists, lists_under_a_key, a_cell, a_row_written, the_list_with_fewest, with_lists, dicts,
    the_current_list, swapped_lists, the_shortest_list, beside_a_list_bound_anew, beside_new_ones, dicts_in_a_dict,
    one_or_two, elements_of_a_list, read_and_extended])
def test_as_python(program):
    agree(program, ARGUMENTS)


# ---- refused -----------------------------------------------------------------------------------------------------

def made_in_a_branch(a):
    p = Part(a[0], 1.0)
    w = p if a[0, 0] > 0 else Part(a[1], 2.0)
    w.v = 3.0
    return p.v, w.v


@pytest.mark.parametrize("program", [made_in_a_branch])
def test_refused(program):
    with pytest.raises(ReactantError, match=program.__name__):
        reactant.jit(program)(*ARGUMENTS[0])


def sets(a):
    low, high = set(), set()
    for i in range(5):
        (high if a[i, 0] > 0 else low).add(i)
    return len(low), len(high)


def test_sets_are_lists_of_keys():
    for arguments in ARGUMENTS:
        assert reactant.jit(sets)(*arguments) == sets(*arguments)
