"""Ten programs in float64x2 beside mpmath: how many of 106 bits are right?

    python benchmarks/precision_mpmath.py [--only NAME ...] [--limbs float64x2]

Each is written once, for NumPy's functions and for those of arrays of mpmath's numbers with 60 digits. Results of limbs
are rounded to float64; what is left of them is the result of a second call, which subtracts the first one. Right bits
are those of the worst element, relative to the largest of the result.
"""
from __future__ import annotations

import argparse
import math
from types import SimpleNamespace

import mpmath
import numpy as np

import reactant

DIGITS = 60
EXACT = SimpleNamespace(**{name: np.frompyfunc(getattr(mpmath, name), 1, 1)
                           for name in ("exp", "log", "sin", "cos", "sqrt")})
"""Functions of arrays of mpmath's numbers."""


def horner(m, x):
    """exp(x) by its Taylor polynomial."""
    total = x * 0 + 1
    for k in range(40, 0, -1):
        total = total * x / k + 1
    return total


def kepler(m, x):
    """Eccentric anomalies by Newton's method."""
    place = x + m.sin(x) / 4
    for _ in range(7):
        place = place - (place - m.sin(place) / 4 - x) / (1 - m.cos(place) / 4)
    return place


def mean_of_two(m, x):
    """Complete elliptic integrals by the arithmetic-geometric mean."""
    a, b = x * 0 + 1, m.sqrt(1 - x * x / 8)
    for _ in range(8):
        a, b = (a + b) / 2, m.sqrt(a * b)
    return 1 / a


def pendulum(m, x):
    """Large swings by Runge and Kutta."""
    angle, speed, step = x, x * 0, 1 / 16
    for _ in range(20):
        a1, s1 = speed, -m.sin(angle)
        a2, s2 = speed + step / 2 * s1, -m.sin(angle + step / 2 * a1)
        a3, s3 = speed + step / 2 * s2, -m.sin(angle + step / 2 * a2)
        a4, s4 = speed + step * s3, -m.sin(angle + step * a3)
        angle, speed = angle + step / 6 * (a1 + 2 * a2 + 2 * a3 + a4), speed + step / 6 * (s1 + 2 * s2 + 2 * s3 + s4)
    return angle


def softmax(m, x):
    """Weights that add to one."""
    weights = m.exp(x - x[0])
    return weights / weights.sum()


def variance(m, x):
    """Of numbers far from zero."""
    x = x + 1024
    apart = x - x.sum() / len(x)
    return (apart * apart).sum() / len(x) + x * 0


def tridiagonal(m, x):
    """-u'' + u = f by elimination."""
    pivots, right = [x[0] * 0 + 3], [x[0]]
    for k in range(1, len(x)):
        pivots.append(3 - 1 / pivots[-1])
        right.append(x[k] + right[-1] / pivots[-2])
    place = right[-1] / pivots[-1]
    found = place
    for k in range(len(x) - 2, -1, -1):
        place = (right[k] + place) / pivots[k]
        found = found + place * place
    return found + x * 0


def entropy(m, x):
    """Of a distribution."""
    weights = (x * x + 1) / (x * x + 1).sum()
    return -(weights * m.log(weights)).sum() + x * 0


def stars(m, x):
    """Three bodies in a plane, by leapfrog."""
    px, py, vx, vy = x[:3] * 2, x[3:6] * 2 + 1, x[6:9] / 4, x[9:12] / 4
    for _ in range(6):
        dx, dy = px[None, :] - px[:, None], py[None, :] - py[:, None]
        square = dx * dx + dy * dy + 1 / 16
        pull = 1 / (square * m.sqrt(square))
        vx, vy = vx + (pull * dx).sum(1) / 32, vy + (pull * dy).sum(1) / 32
        px, py = px + vx / 32, py + vy / 32
    return px + py


def product(m, x):
    """Of a Cauchy matrix with itself, and its trace."""
    a = 1 / (x[:, None] + x[None, :])
    return (a @ a).sum(0) + (a * a.T).sum() / 8


PROGRAMS = {f.__name__: f for f in (horner, kepler, mean_of_two, pendulum, softmax, variance, tridiagonal, entropy,
                                    stars, product)}


def measure(name: str, limbs: str = "float64x2") -> float:
    """Right bits of the worst element."""
    program, x = PROGRAMS[name], np.random.default_rng(0).uniform(0.25, 1.75, 12)
    floats = {"float64": limbs}
    first = np.asarray(reactant.jit(lambda x: program(np, x), floats=floats)(x))
    rest = np.asarray(reactant.jit(lambda x, first: program(np, x) - first, floats=floats)(x, first))
    with mpmath.workdps(DIGITS):
        wanted = program(EXACT, np.array([mpmath.mpf(float(each)) for each in x], object))
        found = [mpmath.mpf(float(a)) + mpmath.mpf(float(b)) for a, b in zip(first, rest, strict=True)]
        largest = max(abs(each) for each in wanted)
        wrong = max(abs(a - b) for a, b in zip(found, wanted, strict=True)) / largest
        return math.inf if wrong == 0 else float(-mpmath.log(wrong, 2))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(PROGRAMS), choices=PROGRAMS, metavar="NAME")
    parser.add_argument("--limbs", default="float64x2")
    told = parser.parse_args()
    for each in told.only:
        print(f"{each:12s} {measure(each, told.limbs):6.1f} bits", flush=True)
