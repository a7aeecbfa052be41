"""Programs as textbooks have them, that once were refused, unrolled by accident or wrong."""
import functools
import math
import operator

import numpy as np
import pytest

import reactant


class Polynomial:
    """Coefficients from the lowest power; arithmetic by operators."""

    def __init__(self, coefficients):
        self.coefficients = np.asarray(coefficients)

    def __add__(self, other):
        size = max(len(self), len(other))
        made = np.zeros(size, dtype=np.result_type(self.coefficients, other.coefficients))
        made[:len(self)] += self.coefficients
        made[:len(other)] += other.coefficients
        return Polynomial(made)

    def __mul__(self, other):
        if isinstance(other, Polynomial):
            return Polynomial(np.convolve(self.coefficients, other.coefficients))
        return Polynomial(self.coefficients * other)

    __rmul__ = __mul__

    def __neg__(self):
        return -1 * self

    def __sub__(self, other):
        return self + -other

    def __pow__(self, power):
        return functools.reduce(operator.mul, [self] * power)

    def __call__(self, x):
        value = 0
        for c in reversed(self.coefficients):
            value = value * x + c
        return value

    def __len__(self):
        return len(self.coefficients)

    def derivative(self):
        return Polynomial(self.coefficients[1:] * np.arange(1, len(self)))


def root_of_composed(a, b):
    p, q = Polynomial(a), Polynomial(b)
    r = 2 * (p * q - q)**2 + p
    x = 0.5
    for _ in range(8):
        x = x - r(x) / r.derivative()(x)
    return r.coefficients, x


@pytest.mark.parametrize("a, b", [([1.5, -2.0, 3.0, 0.5], [2.0, 1.0]), ([1, 2, 3], [0, 1])])
def test_operator_overloading(agree, a, b):
    agree(root_of_composed, lambda: (np.array(a), np.array(b)))


def quasi_newton(x, iterations):
    """BFGS with backtracking; the loop leaves early, and the search in it is a loop of unknown length."""
    def f(x):
        return np.sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)

    def slope(x):
        d = np.zeros_like(x)
        d[:-1] += -400 * x[:-1] * (x[1:] - x[:-1]**2) - 2 * (1 - x[:-1])
        d[1:] += 200 * (x[1:] - x[:-1]**2)
        return d

    inverse, gradient, k = np.eye(len(x)), slope(x), 0
    for k in range(iterations):  # noqa: B007
        if np.linalg.norm(gradient) < 1e-6:
            break
        p, a = -inverse @ gradient, 1.0
        while f(x + a * p) > f(x) + 1e-4 * a * gradient @ p:
            a *= 0.5
            if a < 1e-10:
                break
        s = a * p
        after = slope(x + s)
        y = after - gradient
        if (ys := y @ s) > 1e-12:
            left = np.eye(len(x)) - np.outer(s, y) / ys
            inverse = left @ inverse @ left.T + np.outer(s, s) / ys
        x, gradient = x + s, after
    return x, k


def test_loop_in_loop_stays_small():
    assert reactant.verify(quasi_newton, np.zeros(3), 60, rtol=1e-6)
    assert sum(reactant.jit(quasi_newton).lower(np.zeros(3), 60).operations().values()) < 300


def shortest_paths(lengths, source):
    """Dijkstra on a dense matrix."""
    n = len(lengths)
    distance, before, done = np.full(n, np.inf), np.full(n, -1), np.zeros(n, dtype=bool)
    distance[source] = 0
    for _ in range(n):
        masked = np.where(done, np.inf, distance)
        u = int(np.argmin(masked))
        if not np.isfinite(masked[u]):
            break
        done[u] = True
        for v in range(n):
            if not done[v] and (through := distance[u] + lengths[u, v]) < distance[v]:
                distance[v], before[v] = through, u
    return distance, before


@pytest.mark.parametrize("n", [5, 12])
def test_shortest_paths(agree, random, n):
    lengths = np.where(random.random((n, n)) < 0.4, random.random((n, n)), np.inf)
    agree(shortest_paths, lambda: (lengths.copy(), 0))


def heap_sort(a):
    def sift(root, last):
        while (child := 2 * root + 1) <= last:
            if child + 1 <= last and a[child] < a[child + 1]:
                child += 1
            if a[root] >= a[child]:
                break
            a[root], a[child] = a[child], a[root]
            root = child

    for start in range((len(a) - 2) // 2, -1, -1):
        sift(start, len(a) - 1)
    for end in range(len(a) - 1, 0, -1):
        a[0], a[end] = a[end], a[0]
        sift(0, end - 1)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("n", [2, 9, 30])
def test_heap_sort(agree, random, n):
    values = random.integers(0, 50, n)
    agree(heap_sort, lambda: (values.copy(),))


def option_price(spot, strike, rate, volatility, time):
    """Black and Scholes, with Python's math."""
    def cumulative(x):
        return 0.5 * (1 + math.erf(x / math.sqrt(2)))

    d1 = (math.log(spot / strike) + (rate + volatility**2 / 2) * time) / (volatility * math.sqrt(time))
    d2 = d1 - volatility * math.sqrt(time)
    call = spot * cumulative(d1) - strike * math.exp(-rate * time) * cumulative(d2)
    return call, call - spot + strike * math.exp(-rate * time), cumulative(d1)


def test_option_price(agree):
    agree(option_price, lambda: (100.0, 95.0, 0.03, 0.2, 0.75))


@pytest.mark.slow
def test_scipy_statistics(random):
    stats = pytest.importorskip("scipy.stats")
    values = np.abs(random.standard_normal(20)) + 0.1

    def summary(x):
        return stats.skew(x), stats.kurtosis(x), stats.gmean(x), stats.zscore(x)

    assert reactant.verify(summary, values, rtol=1e-9)
