"""Programs as an acceptance tester writes them: state, searches with None, views, exceptions; compared with NumPy."""

import copy

import numpy as np
import pytest

import reactant

R = np.random.default_rng(5)
P = []


def prog(*arguments):
    def noted(function):
        P.append((function, arguments))
        return function

    return noted


@prog(np.array([1, 3, 4, 1, 2, 3, 2, 1]), np.array([3, 4, 1, 2, 1, 3]))
def lcs(a, b):
    t = np.zeros((len(a) + 1, len(b) + 1), int)
    for i in range(len(a)):
        for j in range(len(b)):
            t[i + 1, j + 1] = t[i, j] + 1 if a[i] == b[j] else max(t[i, j + 1], t[i + 1, j])
    return t[-1, -1], t


@prog(np.array([[0, 4, 0, 0, 8.0], [4, 0, 8, 0, 11], [0, 8, 0, 7, 0], [0, 0, 7, 0, 9], [8, 11, 0, 9, 0]]), 0)
def dijkstra(w, s):
    n = len(w)
    d = np.full(n, np.inf)
    d[s] = 0
    done = np.zeros(n, bool)
    for _ in range(n):
        u = None
        for v in range(n):
            if not done[v] and (u is None or d[v] < d[u]):
                u = v
        done[u] = True
        for v in range(n):
            if w[u, v] > 0 and d[u] + w[u, v] < d[v]:
                d[v] = d[u] + w[u, v]
    return d


@prog(R.normal(size=12))
def shell(x):
    gap = len(x) // 2
    while gap:
        for i in range(gap, len(x)):
            t = x[i]
            j = i
            while j >= gap and x[j - gap] > t:
                x[j] = x[j - gap]
                j -= gap
            x[j] = t
        gap //= 2
    return x


@prog(R.normal(size=(9, 7)))
def median3(im):
    out = im.copy()
    for i in range(1, im.shape[0] - 1):
        for j in range(1, im.shape[1] - 1):
            out[i, j] = np.median(im[i - 1 : i + 2, j - 1 : j + 2])
    return out


@prog(R.normal(size=8), 0.3)
def negative_stride(x, p):
    v = x[::-2]
    w = x[1::3]
    if x[0] > p:
        v += 1
    else:
        w *= -1
    v[::-1][0] = w.sum() if p > x.mean() else 3
    return v * 1, w * 1


@prog(np.array(3.0), np.zeros((0, 3)))
def empties(a, e):
    a += 1
    s = e.sum(0)
    m = e.max(initial=-1.0)
    b = np.concatenate([e, np.ones((2, 3))])
    return a * 2, s, m, b, e.T.shape[0]


@prog(np.array([1 + 2j, -1j, 3]), 1e-3)
def newton(z, tol):
    for _ in range(60):
        step = (z**3 - 1) / (3 * z**2)
        z = z - step
        if np.abs(step).max() < tol:
            break
    return z, np.angle(z)


class Stack:
    def __init__(self, n):
        self.data = np.zeros(n)
        self.top = 0

    def push(self, v):
        if self.top >= len(self.data):
            raise OverflowError("full")
        self.data[self.top] = v
        self.top += 1

    def pop(self):
        if self.top == 0:
            raise IndexError("empty")
        self.top -= 1
        return self.data[self.top]


@prog(np.array([1, 2, 0, 3, 0, 0, 5.0]))
def machine(t):
    s = Stack(8)
    total = 0.0
    for v in t:
        if v > 0:
            s.push(v)
        else:
            total += s.pop()
    return total, s.data, s.top


@prog(np.array([1, 0, 0, 3.0]))
def machine_fails(t):
    return machine(t)


@prog(R.normal(size=10))
def kadane(x):
    best = None
    cur = 0.0
    lo = hi = start = 0
    for i, v in enumerate(x):
        if cur <= 0:
            cur = v
            start = i
        else:
            cur += v
        if best is None or cur > best:
            best, lo, hi = cur, start, i
    return best, lo, hi


@prog(R.normal(size=(4, 4)))
def givens(a):
    q = np.eye(4)
    for j in range(4):
        for i in range(3, j, -1):
            r = np.hypot(a[i - 1, j], a[i, j])
            if r == 0:
                continue
            c, s = a[i - 1, j] / r, -a[i, j] / r
            g = np.array([[c, -s], [s, c]])
            a[i - 1 : i + 1] = g @ a[i - 1 : i + 1]
            q[:, i - 1 : i + 1] = q[:, i - 1 : i + 1] @ g.T
    return q, a


@prog(R.normal(size=6), R.normal(size=6))
def overlapping(x, y):
    x[1:] = x[:-1]
    x[:-1] += x[1:]
    y[::2], y[1::2] = y[1::2], y[::2].copy()
    return x + y


@prog(np.arange(24.0).reshape(4, 6))
def gens(a):
    def windows(x, k):
        for i in range(len(x) - k + 1):
            yield i, x[i : i + k]

    return np.array([w.mean() + i for i, w in windows(a[0], 3)]), sum(r.max() for r in a)


@prog(R.normal(size=5), 3)
def closures(x, k):
    count = 0
    acc = []

    def visit(f):
        nonlocal count
        count += 1
        acc.append(f(x))
        return acc[-1]

    for j in range(k):
        visit(lambda v, j=j: np.roll(v, j) * (1 if v[j] > 0 else -1))
    return count, np.stack(acc)


@prog(R.integers(0, 2, size=(6, 6)))
def life(g):
    for _ in range(4):
        n = sum(np.roll(g, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        g = ((n == 3) | ((g == 1) & (n == 2))).astype(g.dtype)
    return g, g.sum()


@prog(R.integers(0, 5, size=(5, 5)))
def flood(im):
    c = im[2, 2]
    seen = np.zeros(im.shape, bool)
    stack = np.zeros((60, 2), int)
    top = 1
    stack[0] = (2, 2)
    while top > 0:
        top -= 1
        i, j = stack[top]
        if seen[i, j] or abs(im[i, j] - c) > 1:
            continue
        seen[i, j] = True
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            a, b = i + di, j + dj
            if 0 <= a < 5 and 0 <= b < 5:
                stack[top] = (a, b)
                top += 1
    return seen


@prog(R.normal(size=7), R.normal(size=5))
def dtw(a, b):
    t = np.full((8, 6), np.inf)
    t[0, 0] = 0
    for i in range(1, 8):
        for j in range(1, 6):
            t[i, j] = abs(a[i - 1] - b[j - 1]) + min(t[i - 1, j], t[i, j - 1], t[i - 1, j - 1])
    return t[-1, -1]


@prog(R.normal(size=20))
def ema_state(x):
    st = {"m": None, "n": 0, "hist": np.zeros(20)}
    for i, v in enumerate(x):
        st["m"] = v if st["m"] is None else 0.9 * st["m"] + 0.1 * v
        st["n"] += 1
        st["hist"][i] = st["m"]
    return st["m"], st["n"], st["hist"]


@prog(np.array([[2.0, 1], [1, 3]]), 1e-10)
def power(a, tol):
    v = np.ones(2)
    lam = None
    while True:
        w = a @ v
        new = np.linalg.norm(w)
        v = w / new
        if lam is not None and abs(new - lam) < tol:
            break
        lam = new
    return new, v


@prog(np.array([5, 3, 8, 1, 9, 2.0]), 4.0)
def asserts(x, m):
    assert x.max() > m, "low"
    for v in x:
        if v > 2 * m:
            raise ValueError("too big")
    return x / m


@prog(R.normal(size=(3, 5)), np.array([True, False, True]))
def masks(a, k):
    a[k] = 0
    a[:, a[1] > 0] *= 2
    b = np.where(k[:, None], a, -a)
    return a, b, (a[~k] ** 2).sum(), np.count_nonzero(a > 0)


@prog(R.normal(size=6))
def recursion(x):
    def q(lo, hi, depth):
        if depth == 0 or hi - lo < 2:
            return x[lo:hi].sum()
        mid = (lo + hi) // 2
        return max(q(lo, mid, depth - 1), q(mid, hi, depth - 1))

    return q(0, 6, 3)


@prog(np.arange(10), np.array([2, 2, 5]))
def ints(x, i):
    np.add.at(x, i, 10)
    x >>= 1
    y = x.astype(np.int8) * np.int8(20)
    return x, y, x[i] // 3, -7 // x[1:], x % -3


@prog(R.normal(size=(2, 3, 4)))
def shapes(a):
    b = a.transpose(2, 0, 1)[::-1, :, ::2]
    b[0] = 7
    c = a.reshape(6, 4)
    c[c < 0] = 0
    a.T[1, 1] += 1
    return a, b * 1, np.moveaxis(a, 0, -1).shape[2], c.diagonal()


@prog(R.normal(size=8))
def first_bad(x):
    def check(v):
        for i in range(len(v)):
            if v[i] > 1.0:
                return i
        return None

    bad = check(x)
    if bad is not None:
        x[bad] = 0
        bad2 = check(x)
    else:
        bad2 = None
    return x, -1 if bad is None else bad, -1 if bad2 is None else bad2


@prog(R.normal(size=9), 0.1)
def best_pair(x, d):
    pair = None
    for i in range(8):
        for j in range(i + 1, 9):
            gap = abs(x[i] - x[j])
            if pair is None or gap < pair[2]:
                pair = (i, j, gap)
    i, j, gap = pair
    return i + j, gap


@prog(R.normal(size=(6, 2)))
def hull(p):
    order = np.lexsort((p[:, 1], p[:, 0]))
    q = p[order]
    h = np.zeros((7, 2))
    k = 0
    for i in range(6):
        while (
            k >= 2
            and (h[k - 1, 0] - h[k - 2, 0]) * (q[i, 1] - h[k - 2, 1])
            - (h[k - 1, 1] - h[k - 2, 1]) * (q[i, 0] - h[k - 2, 0])
            <= 0
        ):
            k -= 1
        h[k] = q[i]
        k += 1
    h[k:] = 0
    return h, k


@pytest.mark.parametrize("function, arguments", P, ids=[f.__name__ for f, _ in P])
def test_as_numpy(function, arguments):
    report = reactant.verify(function, *copy.deepcopy(arguments), rtol=1e-9, atol=1e-12)
    assert not report.differences, str(report)


def element_of_a_scalar(x):
    x[0, 3][...] = 1
    return x


def test_scalars_have_no_items():
    with pytest.raises(TypeError, match="'numpy.float64' object does not support item assignment"):
        reactant.jit(element_of_a_scalar)(np.zeros((2, 4)))
