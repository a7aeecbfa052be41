"""Expressions whose exact zeros, signs, non-numbers or branches one wrong rounding would change, and operands on which
it does. `TABLE` names them; NumPy's own result is the reference."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SINGLE, DOUBLE = np.finfo(np.float32), np.finfo(np.float64)
Operands = Callable[[Any], tuple[np.ndarray, ...]]
"""From the limits of a dtype (`np.finfo`) to arrays of it."""


@dataclass(frozen=True)
class Entry:
    """`ulps`: how far the result may be from NumPy's; `near`: or by so many of its dtype's eps, where what cancels are
    functions that no two libraries round alike; `each`: it works number by number, so that it can be asked about
    longer arrays, numbers, elements in a loop; `smooth`: all its derivatives are finite; `plain`: only + - * /, for
    kernels; `zeros`: whether the signs of zeros are NumPy's, else why not."""

    function: Callable
    operands: Operands
    ulps: float = 0
    near: float = 0
    each: bool = True
    smooth: bool = False
    plain: bool = False
    zeros: str = ""
    limits: tuple[Any, ...] = (DOUBLE, SINGLE)


TABLE: dict[str, Entry] = {}


def family(title: str, operands: Operands, entries: dict[str, Callable], **facts: Any) -> None:
    for name, function in entries.items():
        assert f"{title}: {name}" not in TABLE
        TABLE[f"{title}: {name}"] = Entry(function, operands, **facts)


def of(*lists: Any) -> Operands:
    return lambda limits: tuple(np.array(each, limits.dtype) for each in lists)


def scaled(operands: Operands, *factors: float) -> Operands:
    """The operands, and multiples of them: the second is so many times the first."""
    return lambda limits: tuple(limits.dtype.type(factor) * each
                                for factor in factors for each in operands(limits))


SOME = [0.1, 0.3, 1.7, -2.3, 49.7, 1e-3, -7.1]
OTHER = [0.7, -1.1, 3.3, 0.9, 0.11, 5e2, 1.3]
TIMES = [0.0, 0.25, 0.5, 1.0, 0.125, 1.0, 0.0]
PAIR = of(SOME, SOME)
VECTORS = scaled(of(SOME, OTHER), 1, 2)
"""(a, b) and (2 a, 2 b)."""


# ---- differences of equal products ---------------------------------------------------------------------------------

family("products", of(SOME, SOME, OTHER), {
    "squares": lambda x, y, z: x * x - y * y,
    "commuted": lambda x, y, z: x * z - z * y,
    "cubes": lambda x, y, z: x * x * x - y * y * y,
    "factored": lambda x, y, z: (x + z) * (y - z) - (y * y - z * z),
    "multiples": lambda x, y, z: x * 0.1 - y * 0.1,
    "sum of opposite": lambda x, y, z: x * z + (-y) * z,
    "binomial": lambda x, y, z: x * x - 2 * x * y + y * y,
    "square of sum": lambda x, y, z: (x + z) * (x + z) - (x * x + 2 * x * z + z * z),
    "two by two": lambda x, y, z: (x * z + y * y) - (y * z + x * x),
    "quotients": lambda x, y, z: x * z / y - z * y / x,
    "distributed": lambda x, y, z: x * (y + z) - (x * y + x * z),
    "relative": lambda x, y, z: 1 - x * z / (y * z),
    "one sum": lambda x, y, z: x * 0.1 + z * 0.1,
    "factor in common": lambda x, y, z: x * z + y * z,
}, smooth=True, plain=True)
family("products", of(SOME, SOME, OTHER), {
    "powers": lambda x, y, z: x**2 - y**2,
    "divided": lambda x, y, z: x / 3 - y / 3,
    "stored": lambda x, y, z: np.stack([x * z, y * z])[0] - np.stack([x * z, y * z])[1],
    "chosen": lambda x, y, z: np.where(x > 0, x * z, x / 3) - np.where(y > 0, y * z, y / 3),
    "complex": lambda x, y, z: ((x + 1j * z) * (y - 1j * z) - (y - 1j * z) * (x + 1j * z)).real,
}, smooth=True)
family("products", of(SOME, SOME, OTHER), {
    "power of 3": lambda x, y, z: x**3 - y**3, "power of 1.5": lambda x, y, z: abs(x)**1.5 - abs(y)**1.5,
}, ulps=0)
family("products", of(SOME, SOME, OTHER), {
    "root": lambda x, y, z: np.sqrt(x * x - y * y),
    "root of factors": lambda x, y, z: np.sqrt((x - y) * (x + y)),
    "sign": lambda x, y, z: np.sign(x * z - z * y),
    "is zero": lambda x, y, z: x * z - z * y == 0,
    "arccos": lambda x, y, z: np.arccos(x * y / (np.sqrt(x * x) * np.sqrt(y * y))),
    "arccosh": lambda x, y, z: np.arccosh(x * z / (y * z)),
    "logarithm": lambda x, y, z: np.log(x * z - z * y),
    "quotient": lambda x, y, z: (x * z - z * y) / (x * x - y * y),
    "reciprocal": lambda x, y, z: 1 / (x * z - z * y),
})

# ---- quadratic equations -------------------------------------------------------------------------------------------

DOUBLE_ROOTS = of([1.0, 2.0, 3.0, 1.0, 0.1, 4.0, 7.0], [2.0, 4.0, 6.0, 0.2, 0.2, 8.2, 1.4],
                  [1.0, 2.0, 3.0, 0.01, 0.1, 4.2025, 0.07])
family("quadratic", DOUBLE_ROOTS, {
    "discriminant": lambda a, b, c: b * b - 4 * a * c,
    "half": lambda a, b, c: (b / 2) * (b / 2) - a * c,
    "vertex": lambda a, b, c: c - b * b / (4 * a),
    "value at vertex": lambda a, b, c: (a * (-b / (2 * a)) + b) * (-b / (2 * a)) + c,
}, smooth=True, plain=True)
family("quadratic", DOUBLE_ROOTS, {
    "root": lambda a, b, c: (-b + np.sqrt(b * b - 4 * a * c)) / (2 * a),
    "stable root": lambda a, b, c: 2 * c / (-b - np.copysign(np.sqrt(b * b - 4 * a * c), b)),
    "number of roots": lambda a, b, c: np.where(b * b - 4 * a * c > 0, 2, np.where(b * b - 4 * a * c == 0, 1, 0)),
    "guarded": lambda a, b, c: np.where(b * b - 4 * a * c >= 0, np.sqrt(np.maximum(b * b - 4 * a * c, 0)), -1.0),
})

# ---- geometry ------------------------------------------------------------------------------------------------------

family("parallel", VECTORS, {
    "determinant": lambda a, b, c, d: a * d - b * c,
    "subtracted from zero": lambda a, b, c, d: 0 - (a * d - b * c),
    "area": lambda a, b, c, d: 0.5 * (a * d - c * b),
    "shoelace": lambda a, b, c, d: (a * d - b * c) + (c * b - d * a) + (a * b - b * a),
    "weight": lambda a, b, c, d: (a * d - b * c) / (a * a + b * b),
    "incircle": lambda a, b, c, d: (a * a + b * b) * (a * d - b * c) - (c * c + d * d) * (b * c - a * d),
}, smooth=True, plain=True)
family("parallel", VECTORS, {
    "side": lambda a, b, c, d: np.sign(a * d - b * c),
    "left": lambda a, b, c, d: a * d - b * c > 0,
    "collinear": lambda a, b, c, d: a * d == b * c,
    "root": lambda a, b, c, d: np.sqrt(a * d - b * c),
    "intersection": lambda a, b, c, d: (a - c) / (a * d - b * c),
    "is outside": lambda a, b, c, d: np.where(a * d - b * c < 0, -1.0, np.where(a * d - b * c > 0, 1.0, 0.0)),
    "cauchy-schwarz": lambda a, b, c, d: (a * a + b * b) * (c * c + d * d) - (a * c + b * d) * (a * c + b * d),
})
family("parallel", VECTORS, {
    "angle": lambda a, b, c, d: np.arctan2(a * d - b * c, a * c + b * d),
    "sine": lambda a, b, c, d: np.arcsin((a * d - b * c) / (np.sqrt(a * a + b * b) * np.sqrt(c * c + d * d))),
}, ulps=4)


def rows(*operands: np.ndarray) -> np.ndarray:
    return np.stack(operands, axis=-1)


family("cross", VECTORS, {
    "plane": lambda a, b, c, d: np.linalg.det(np.stack([rows(a, b), rows(c, d)], axis=-2)),
    "space": lambda a, b, c, d: np.cross(rows(a, b, a * b), rows(c, d, 2 * (a * b))),
    "norm": lambda a, b, c, d: np.sqrt((np.cross(rows(a, b, a), rows(c, d, c))**2).sum(-1)),
    "triple": lambda a, b, c, d: (np.cross(rows(a, b, a), rows(c, d, c)) * rows(a, a, a)).sum(-1),
}, each=False, ulps=1)
ORIENTATION = of([0.5, 12.0, 24.0, 0.1, 0.1, 1.0, 3.0], [0.5, 12.0, 24.0, 0.1, 0.3, 1.0, 3.0],
                 [12.0, 24.0, 0.5, 0.3, 0.1, 2.0, 5.0], [12.0, 24.0, 0.5, 0.3, 0.3, 4.0, 7.0],
                 [24.0, 0.5, 12.0, 0.7, 0.1, 3.0, 7.0], [24.0, 0.5, 12.0, 0.7, 0.9, 7.0, 9.0])
family("orientation", ORIENTATION, {
    "moved": lambda ax, ay, bx, by, cx, cy: (bx - ax) * (cy - ay) - (by - ay) * (cx - ax),
    "expanded": lambda ax, ay, bx, by, cx, cy: ax * by - ay * bx + bx * cy - by * cx + cx * ay - cy * ax,
}, smooth=True, plain=True)
family("orientation", ORIENTATION, {
    "barycentric": lambda ax, ay, bx, by, cx, cy:
        ((by - cy) * (ax - cx) + (cx - bx) * (ay - cy)) / ((bx - ax) * (bx - ax) + (by - ay) * (by - ay)),
    "iterations": lambda ax, ay, bx, by, cx, cy: np.sign((bx - ax) * (cy - ay) - (by - ay) * (cx - ax)),
    "inside": lambda ax, ay, bx, by, cx, cy: ((bx - ax) * (cy - ay) >= (by - ay) * (cx - ax))
        & ((cx - bx) * (ay - by) >= (cy - by) * (ax - bx)),
    "crossing": lambda ax, ay, bx, by, cx, cy: np.where(ay != by, (cy - ay) * (bx - ax) / (by - ay) + ax > cx, False),
    "polygon": lambda ax, ay, bx, by, cx, cy: np.stack([ax, bx, cx]).T[0, 0] * ay - ay * ax + (bx * cy - cy * bx),
}, each=False)
family("triangle", of([1.0, 3.0, 0.1, 0.7, 2.5, 1e-3, 7.0], [2.0, 4.0, 0.2, 1.1, 0.5, 2e-3, 24.0]), {
    "heron": lambda a, b: heron(a, b, a + b),
    "heron of squares": lambda a, b: np.sqrt(4 * a * a * b * b - (a * a + b * b - (a + b) * (a + b))**2) / 4,
    "kahan": lambda a, b: np.sqrt(((a + b) + (b + (a - b))) * ((a + b) - ((a + b) - b)) * (a - (b - a + b - b))),
    "right angle": lambda a, b: np.sqrt(a * a + b * b) * np.sqrt(a * a + b * b) - a * a - b * b,
    "third": lambda a, b: np.sqrt(a * a + b * b - 2 * a * b),
})
family("triangle", of([1.0, 3.0, 0.1, 0.7, 2.5, 1e-3, 7.0], [2.0, 4.0, 0.2, 1.1, 0.5, 2e-3, 24.0]), {
    "law of cosines": lambda a, b: np.arccos((a * a + b * b - (a + b) * (a + b)) / (2 * a * b)),
    "folded": lambda a, b: np.arccos((a * a + b * b - (a - b) * (a - b)) / (2 * a * b)),
    "arcsine": lambda a, b: np.arcsin(a * b / (b * a)),
    "clipped": lambda a, b: np.arccos(np.clip((a * a + b * b - (a - b) * (a - b)) / (2 * a * b), -1, 1)),
    "sphere": lambda a, b: np.arcsin(np.sqrt(np.sin((a - a) / 2)**2 + np.cos(a) * np.cos(a) * np.sin((b - b) / 2)**2)),
    "atanh": lambda a, b: np.arctanh(a / a) + np.arctanh(-b / b),
    "acosh": lambda a, b: np.arccosh((a + b) / (b + a)),
    "one minus cosine": lambda a, b: np.sqrt(1 - np.cos(a - a)**2),
    "hypotenuse": lambda a, b: np.hypot(a, b) - np.hypot(b, a),
}, ulps=4)


def heron(a, b, c):
    s = (a + b + c) / 2
    return np.sqrt(s * (s - a) * (s - b) * (s - c))


TANGENT = of([3.0, 0.6, 5.0, 1.3, 0.1, 8.0, 15.0], [4.0, 0.8, 12.0, 0.0, 0.0, 15.0, 8.0],
             [5.0, 1.0, 13.0, 1.3, 0.1, 17.0, 17.0])
family("tangent", TANGENT, {
    "distance": lambda x, y, r: x * x + y * y - r * r,
    "ray": lambda x, y, r: (x * x + y * y) * (x * x + y * y) - (x * x + y * y) * (r * r),
    "power of point": lambda x, y, r: (x - r) * (x + r) + y * y,
}, smooth=True, plain=True)
family("tangent", TANGENT, {
    "root": lambda x, y, r: np.sqrt(r * r - x * x - y * y),
    "chord": lambda x, y, r: 2 * np.sqrt(r * r - (x * x + y * y)),
    "hit": lambda x, y, r: x * x + y * y <= r * r,
    "height": lambda x, y, r: np.sqrt(np.maximum(r * r - x * x, 0)) - y,
    "side": lambda x, y, r: np.sign(x * x + y * y - r * r),
    "norm": lambda x, y, r: np.sqrt(x * x + y * y) - r,
    "circles": lambda x, y, r: np.sqrt((r * r - x * x) * (r * r - x * x) - y * y * (y * y)),
})
family("rotation", of(SOME, OTHER, [0.6, 0.8, 0.28, 0.0, 1.0, -0.6, -0.28], [0.8, 0.6, 0.96, 1.0, 0.0, 0.8, 0.96]), {
    "of its direction": lambda x, y, c, s: (x * c) * s - (x * s) * c,
    "there and back": lambda x, y, c, s: (x * c - y * s) * c + (x * s + y * c) * s - x * (c * c + s * s),
    "of multiples": lambda x, y, c, s: ((2 * x) * c - (2 * y) * s) - 2 * (x * c - y * s),
    "reflected": lambda x, y, c, s: (x * c - y * s) - (c * x - s * y),
    "quaternion": lambda x, y, c, s: x * y - y * x + c * s - s * c,
}, smooth=True, plain=True)

# ---- interpolation and polynomials ---------------------------------------------------------------------------------

family("interpolation", of(SOME, OTHER, TIMES), {
    "linear": lambda a, b, t: a + t * (b - a) - a,
    "two products": lambda a, b, t: (1 - t) * a + t * b,
    "equal ends": lambda a, b, t: (1 - t) * a + t * a - a,
    "at the end": lambda a, b, t: (a + 1 * (b - a)) - b,
    "bilinear": lambda a, b, t: (1 - t) * ((1 - t) * a + t * b) + t * ((1 - t) * b + t * a),
    "smooth step": lambda a, b, t: t * t * (3 - 2 * t) - t * t * t * (t * (t * 6 - 15) + 10),
    "bezier": lambda a, b, t: (1 - t) * (1 - t) * a + 2 * t * (1 - t) * b + t * t * a,
    "hermite": lambda a, b, t: (2 * t * t * t - 3 * t * t + 1) * a + (3 * t * t - 2 * t * t * t) * b,
    "inverse": lambda a, b, t: ((a + t * (b - a)) - a) / (b - a) - t,
}, smooth=True, plain=True)
NODES = of([0.0, 1.0, 3.0, 3.5, 7.0], [1.0, -2.0, 0.5, 0.1, 1e3])
family("interpolation", NODES, {
    "at nodes": lambda x, y: np.interp(x, x, y) - y,
    "between": lambda x, y: np.interp((x[1:] + x[:-1]) / 2, x, y),
    "outside": lambda x, y: np.interp(x * 2 - 5, x, y),
}, each=False, ulps=2)
ROOTS = of([1.0, 2.0, 3.0, 0.1, -1.0, 1.1, 0.0])
family("polynomial", ROOTS, {
    "horner": lambda x: ((x - 6) * x + 11) * x - 6,
    "powers": lambda x: x * x * x - 6 * (x * x) + 11 * x - 6,
    "square": lambda x: x * x - 2.2 * x + 1.21,
    "chebyshev": lambda x: (4 * x * x - 3) * x - (4 * (x * x * x) - 3 * x),
    "factors": lambda x: (x - 1) * (x - 2) * (x - 3) * (x - 1.1),
    "rational": lambda x: (x * x - 1) / (x - 1),
    "continued": lambda x: 1 / (x - 1 / (x - 1 / x)),
}, plain=True)
family("polynomial", ROOTS, {
    "polyval": lambda x: np.polyval([1.0, -6.0, 11.0, -6.0], x),
    "poly1d": lambda x: np.poly1d([1.0, -3.0, 2.0])(x),
    "double root": lambda x: np.polyval([1.0, -2.2, 1.21], x),
    "sign": lambda x: np.sign(np.polyval([1.0, -6.0, 11.0, -6.0], x)),
    "derivative": lambda x: np.polyval(np.polyder([1.0, -3.0, 3.0, -1.0]), x),
})

# ---- sums that keep what is lost -----------------------------------------------------------------------------------

PARTS = of(SOME, [1e8, -1e-9, 3.3e5, 1e-12, 0.1, -49.7, 7.1])


def two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def split(a, factor):
    t = factor * a
    high = t - (t - a)
    return high, a - high


def two_product(a, b, factor):
    p = a * b
    (ah, al), (bh, bl) = split(a, factor), split(b, factor)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def compensated(x):
    total, lost = x[0] * 0, x[0] * 0
    for i in range(len(x)):
        y = x[i] - lost
        t = total + y
        lost = (t - total) - y
        total = t
    return total


def neumaier(x):
    total, lost = x[0] * 0, x[0] * 0
    for i in range(len(x)):
        t = total + x[i]
        if abs(total) >= abs(x[i]):
            lost += (total - t) + x[i]
        else:
            lost += (x[i] - t) + total
        total = t
    return total + lost


def doubled_product(a, b, factor):
    p, e = two_product(a, b, factor)
    s, f = two_sum(p, a)
    return s + (f + e)


family("compensated", PARTS, {
    "two sum": lambda a, b: two_sum(a, b)[1],
    "fast two sum": lambda a, b: b - ((a + b) - a),
    "two difference": lambda a, b: (a - ((a - b) + (a - (a - b)))) + ((a - (a - b)) - b),
    "constant": lambda a, b: two_sum(a, 0.1)[1],
    "constants": lambda a, b: two_sum(two_sum(a, 1e8)[0], -1e8)[1],
    "sum of three": lambda a, b: ((a + b) + 1e8) - 1e8,
}, plain=True)
family("compensated", PARTS, {
    "split": lambda a, b: split(a, 134217729.0)[1],
    "two product": lambda a, b: two_product(a, b, 134217729.0)[1],
    "square": lambda a, b: two_product(a, a, 134217729.0)[1],
    "product by a constant": lambda a, b: two_product(a, 0.1, 134217729.0)[1],
    "double double": lambda a, b: doubled_product(a, b, 134217729.0),
}, plain=True, limits=(DOUBLE,))
family("compensated single", PARTS, {
    "split": lambda a, b: split(a, 4097.0)[1],
    "two product": lambda a, b: two_product(a, b, 4097.0)[1],
    "double double": lambda a, b: doubled_product(a, b, 4097.0),
}, plain=True, limits=(SINGLE,))
family("compensated", PARTS, {
    "kahan": lambda a, b: compensated(b), "neumaier": lambda a, b: neumaier(b),
    "dot": lambda a, b: compensated(a * b),
}, each=False)
