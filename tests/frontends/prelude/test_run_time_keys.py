"""Dicts and sets with keys only known at run time, against plain Python."""
from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest

import reactant
from tests.frontends.agreement import agree

CASES = [(np.array(x),) for x in ([.5, .3, .7, .1, .2, .9], [.1, .2, .05, .3, .15, .01], [.45, .1, .62, .8, .9, .3],
                                  [-.5, .9, .95, .1, .41, .39])]


def uses_set(u):
    seen = set()
    c = 0
    for x in u:
        k = int(x * 3)
        if k in seen:
            c += 1
        else:
            seen.add(k)
    return (c, len(seen))


def dict_count(u):
    count = {}
    for x in u:
        k = int(x * 3)
        count[k] = count.get(k, 0) + 1
    return (max(count.values()), len(count))


def dict_count_long(u):
    u = np.tile(u, 20)
    count = {}
    for x in u:
        k = int(x * 3)
        if k not in count:
            count[k] = 0
        count[k] += 1
    return (max(count.values()), len(count), sum((v * k for k, v in count.items())))


def set_long(u):
    u = np.tile(u, 20)
    seen = set()
    for x in u:
        seen.add(int(x * 7))
    return (len(seen), sum(seen), 3 in seen, max(seen), min(seen))


def dict_acc(u):
    d = dict()
    for i in range(60):
        k = int(u[i % 6] * 5)
        if k in d:
            d[k] += u[i * 2 % 6]
        else:
            d[k] = u[i % 6]
    s = 0.0
    for k, v in d.items():
        s += k * v
    return (s, len(d))


def while_set(u):
    seen = set()
    n = int(u[5] * 10)
    c = 0
    while n not in seen and c < 50:
        seen.add(n)
        n = (n * 7 + 3) % 31
        c += 1
    return (c, n, len(seen))


def counter2(u):
    c = Counter()
    for x in u:
        c[int(x * 3)] += 1
    return (c[0], c[7], len(c))


def defaultd(u):
    d = defaultdict(float)
    for i, x in enumerate(u):
        d[int(x * 3)] += x * i
    return (d[0], len(d), sum(d.values()))


def set_of(u):
    return (len(set((u * 3).astype(int).tolist())), len(set(u.tolist())))


def set_comp(u):
    s = {int(x * 4) for x in u}
    return (sum(s), len(s), sorted(s)[0], 2 in s)


def dict_comp(u):
    d = {int(x * 4): x for x in u}
    return (len(d), sum(d.values()), d.get(1, -1.0))


def tuple_keys(u):
    dok = {}
    for i in range(12):
        a, b = (int(u[i % 6] * 3), int(u[(i * 5 + 1) % 6] * 3))
        dok[a, b] = dok.get((a, b), 0.0) + u[i % 6]
    return (len(dok), sum(v * v for v in dok.values()))


def visited_bfs(u):
    seen = {0}
    q = [0]
    order = []
    while q:
        i = q.pop(0)
        order.append(i)
        for j in range(6):
            if u[i] > u[j] and j not in seen:
                seen.add(j)
                q.append(j)
    return (len(order), sum(order))


def memo_rt(u):
    memo = {}

    def f(n):
        if n in memo:
            return memo[n]
        r = n * 2 + u[0]
        memo[n] = r
        return r
    return (sum(f(int(x * 3)) for x in u), len(memo))


def remove_(u):
    s = set()
    for x in u:
        s.add(int(x * 9))
    for x in u[:2]:
        s.discard(int(x * 9))
    t = {int(u[0] * 9), 100}
    return (len(s), 100 in t, len(t), s.isdisjoint(t), sum(s))


def pop_(u):
    d = {}
    for x in u:
        d[int(x * 5)] = x
    a = d.pop(int(u[0] * 5))
    b = d.pop(77, -1.0)
    return (a, b, len(d), sum(d.values()))


def keyerr(u):
    d = {}
    for x in u:
        d[int(x * 5)] = x
    return d[int(u[0] * 50)]


def mixed(u):
    cfg = {}
    cfg['scale'] = u[0]
    seen = set()
    for x in u:
        seen.add(int(x * 3))
        cfg['scale'] = cfg['scale'] * 0.5 + x
    return (cfg['scale'], len(seen), 'scale' in cfg)


def returns_known(u):
    seen = set()
    out = {}
    for x in u:
        seen.add(int(x * 3))
    out['n'] = len(seen)
    out['s'] = u.sum()
    return out


def types(u):
    s = set()
    d = {}
    s.add(int(u[0] * 3))
    d[int(u[1] * 3)] = 1.0
    return (isinstance(s, set), isinstance(d, dict), type(d) is dict, bool(s), not d, len(d) == 1)


def setop(u):
    a = {int(x * 4) for x in u[:3]}
    b = {int(x * 4) for x in u[3:]}
    return (len(a | b), len(a & b), len(a - b), a == b, a <= b)


def setop2(u):
    a = {int(x * 4) for x in u[:3]}
    b = {int(x * 4) for x in u[3:]}
    c = a
    c |= b
    return (len(a), c is a, a != b, a < b, a > b, len(a.copy()), a >= b, b.issubset(a))


def float_keys(u):
    d = {}
    for x in np.tile(u, 3):
        d[x] = d.get(x, 0) + 1
    return (len(d), max(d.values()), max(d))


def dedupe(u):
    seen = set()
    out = []
    for x in np.tile(u, 3):
        if x not in seen:
            seen.add(x)
            out.append(x)
    return (len(out), sum(out))


def two_sum(u):
    a = (u * 10).astype(int)
    pos = {}
    for i, x in enumerate(a):
        if 10 - x in pos:
            return (pos[10 - x], i)
        pos[x] = i
    return (-1, -1)


def lru_sim(u):
    cache = OrderedDict()
    hits = 0
    for x in np.tile(u, 4):
        k = int(x * 6)
        if k in cache:
            hits += 1
            cache.move_to_end(k)
        else:
            cache[k] = 1
            if len(cache) > 3:
                cache.popitem(last=False)
    return hits


def collatz_max(u):
    seen = {}
    best = 0
    for x in u:
        n = int(x * 20) + 1
        c = 0
        while n != 1 and c < 200:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            c += 1
        seen[int(x * 20) + 1] = c
        best = max(best, c)
    return (best, len(seen))


def dict_eq(u):
    a = {}
    b = {}
    for x in u:
        a[int(x * 4)] = 1
    for x in u[::-1]:
        b[int(x * 4)] = 1
    r = a == b
    b[77] = 2
    return (r, a == b, a != b, a == {}, 77 in b)


def nested_fn(u):

    def add(d, k, v):
        d[k] = d.get(k, 0.0) + v
    d = {}
    for x in u:
        add(d, int(x * 3), x)

    class C:

        def __init__(s):
            s.seen = set()
            s.n = 0

        def see(s, k):
            if k in s.seen:
                s.n += 1
            s.seen.add(k)
    c = C()
    for x in u:
        c.see(int(x * 3))
    return (len(d), c.n, len(c.seen), d.get(0, -1.0))


def early(u):
    seen = set()
    for i, x in enumerate(u):
        k = int(x * 3)
        if k in seen:
            return i
        seen.add(k)
    return -1


def memo_grid(u):
    n = int(u[0] * 4) + 2
    memo = {}
    for i in range(1, 12):
        memo[i * n % 7] = memo.get((i - 1) * n % 7, 0.0) + u[i % 6]
    return (memo[0], len(memo))


def sparse_mv(u):
    dok = {}
    for i in range(10):
        dok[int(u[i % 6] * 4), int(u[(i + 1) % 6] * 4)] = u[i % 6]
    y = np.zeros(5)
    for (i, j), v in dok.items():
        y[i] += v * u[j % 6]
    return y


def del_(u):
    d = {}
    for x in u:
        d[int(x * 5)] = x
    del d[int(u[0] * 5)]
    return (len(d), int(u[0] * 5) in d)


def mixed_types(u):
    s = set()
    for x in u:
        s.add(int(x * 3))
    s.add(0.5)
    return (len(s), 0.5 in s)


def default_list(u):
    d = defaultdict(list)
    for i, x in enumerate(u):
        d[int(x * 3)].append(i)
    return [len(d[k]) for k in range(3)]


def iter_set(u):
    s = {int(x * 4) for x in u}
    t = 0
    for k in s:
        t += k
    return t


def text(u):
    a = {int(x * 4) for x in u[:3]}
    return f'{a}'


def popped(u):
    a = {int(x * 4) for x in u[:3]}
    return a.pop()


def ordered_counters(u):
    return Counter(int(x * 4) for x in u) < Counter([1, 1])


def set_methods(u):
    a, b, known = {int(x * 4) for x in u[:3]}, {int(x * 4) for x in u[3:]}, frozenset([0, 1, 2])
    c, d, e = a.copy(), set(a), frozenset(b)
    c &= b
    d ^= b
    b.update([7], (8, int(u[0] * 4)))
    b.difference_update({8})
    parts = (a ^ b, a.union([1], b), a.union(), a.intersection(b, [0, 1]), a.difference([1], b), set.union(a, b),
             known | a, known & a, known - a, a - known, c, d, e, e | a, a.symmetric_difference([1]))
    return ([len(part) for part in parts], [sum(part) for part in parts], a == known, known == a, a <= known, known > a,
            e == set(e), bool(a & b), bool(a - a), isinstance(e, frozenset), a.issuperset([1]), a.isdisjoint([5, 6]))


def without_order(u):
    a = {int(x * 9) for x in u}
    return (sum(v * 2 for v in a), sum(1 for v in a if v > 2), any(v > 4 for v in a), all(v < 7 for v in a),
            max(v % 5 for v in a), len({v // 2 for v in a}), sum({v * v for v in a if v % 2}), max(v - 3 for v in a),
            min(a, key=lambda v: -v), max(a, key=lambda v: v / 2), sum(map(abs, a)))


def cleared(u):
    total = 0
    seen = set()
    for i in range(40):
        seen.add(int(u[i % 6] * 9) + i % 2)
        if len(seen) > 4:
            total += len(seen) * 100
            seen.clear()
    return total, len(seen)


def views(u):
    d, e = {}, {}
    for x in u:
        d[int(x * 5)] = x
    for x in u:
        e[int(x * 4)] = x
    both = d.keys() & e.keys()
    return (len(both), sum(d.keys() | e.keys()), sum(d.keys() - e.keys()), d.keys() == e.keys(), d.keys() <= set(d),
            d.keys().isdisjoint(e), max(d.items(), key=lambda pair: pair[1])[0], len(d.items()), d.items() == d.items(),
            dict(d) == d, dict(d.items()) == d, sum(v for _, v in d.items()), len({v: k for k, v in d.items()}),
            sum({k: v * 2 for k, v in d.items()}.values()), len(d | e), sum((d | e).values()), [2] == list(d)[:0])


def counters(u):
    a, b = Counter(int(x * 4) for x in u), Counter(int(x * 2) for x in u)
    parts = (a + b, a - b, a | b, a & b, +a, -a)
    c = a.copy()
    c.subtract(b)
    return [len(p) for p in parts], [sum(p.values()) for p in parts], c[0], c[1], sum(c.values())


def moved(u):
    d = OrderedDict()
    for x in u:
        d[int(x * 5)] = x
    same = d.copy()
    d.move_to_end(int(u[1] * 5), last=False)
    first = d.popitem(last=False)
    d[first[0]] = first[1]
    return first, d == same, dict(d) == dict(same), d == dict(same)


def unhashable(u):
    a = {int(x * 4) for x in u}
    return [1] in a


def no_set(u):
    a = {int(x * 4) for x in u}
    try:
        return a | [1, 2]
    except TypeError:
        return a == [1, 2]


def looped(u):
    d = {}
    for x in u:
        d[int(x * 5)] = x
    total = 0.0
    for k in d:
        total += k
    for k in d.keys():
        total += d[k] * k
    return total, sum(k * 2 for k in d), [k for k in d][0]


def without_a_loop(u):
    d = {}
    d[int(u[0] * 4)] = u[1]
    d[int(u[2] * 4)] = 2.0
    if u[1] > 0.5:
        d[int(u[1] * 4)] = u[3]
    return len(d), sum(d.values()), d.get(int(u[2] * 4)), [k for k in d][0], d.pop(int(u[0] * 4)), len(d)


def few_iterations(u):
    places, counts, sums, pairs = {}, Counter(), defaultdict(float), {}
    for i, v in enumerate(u[:3]):
        places[int(v * 4)] = i
        counts[int(v * 4)] += 1
        sums[int(v * 2)] += v
        pairs[i // 2, int(v * 2)] = pairs.get((i // 2, int(v * 2)), 0) + 1
    merged = counts | {9: 1.0}
    return ([len(d) for d in (places, counts, sums, pairs, merged)], sum(places.values()), max(counts, key=counts.get),
            list(sums.items())[0], sum(pairs.values()), type(merged).__name__)


def ties(u):
    return min({int(x * 9) for x in u}, key=lambda v: v // 4)


def test_which_of_several_with_one_key_is_refused_when_the_program_runs():
    compiled = reactant.jit(ties)
    with pytest.raises(reactant.UnsupportedError, match="Members of a set have the same key"):
        compiled(CASES[0][0])
    assert compiled(np.array([.1, .5, .9, .5, .5, .5])) == 0


def fromkeys(u):
    a = {}
    a[int(u[0] * 4)] = 1
    return len(a.fromkeys([1, 2]))


@pytest.mark.parametrize("program", [
    uses_set, dict_count, dict_count_long, set_long, dict_acc, while_set, counter2, defaultd, set_of, set_comp,
    dict_comp, tuple_keys, visited_bfs, memo_rt, remove_, pop_, keyerr, mixed, returns_known, types, setop, setop2,
    float_keys, dedupe, two_sum, lru_sim, collatz_max, dict_eq, nested_fn, early, memo_grid, sparse_mv, del_,
    mixed_types, set_methods, without_order, cleared, views, counters, moved, unhashable, no_set, looped,
    without_a_loop, few_iterations],
    ids=lambda f: f.__name__)
def test_as_python(program):
    agree(program, CASES)


@pytest.mark.parametrize("program, words", [
    (default_list, "no lists"), (iter_set, "order of a set"), (text, "of keys only known at run time"),
    (popped, "set.pop"), (ordered_counters, "Counter.__lt__"), (fromkeys, "dict.fromkeys")])
def test_refusals(program, words):
    with pytest.raises(reactant.ConcreteValueNeeded, match="is no key of a dict and no member of a set") as caught:
        reactant.jit(program)(*CASES[0])
    assert any(words in note for note in caught.value.__notes__)


def known_keys_beside(x):
    seen, counts, sums, given = set(), Counter(), defaultdict(float), Counter({"a": 2, "b": 3})
    counts["all"] += 3
    sums["all"] += x[0]
    for v in x:
        seen.add(int(v * 3))
        counts["all"] += 1
        sums["all"] += v
    given["a"] += 1
    copied = sums.copy()
    copied["new"] += len(seen)
    return counts, sums, given, copied, OrderedDict(a=x[0]), defaultdict(int, {1: 2})[1]


def test_results_of_known_keys_keep_their_types():
    agree(known_keys_beside, CASES)
    found = reactant.jit(known_keys_beside)(*CASES[0])
    assert [type(each) for each in found[:5]] == [Counter, defaultdict, Counter, defaultdict, OrderedDict]
    assert found[1].default_factory is float and dict(found[2]) == {"a": 3, "b": 3}
