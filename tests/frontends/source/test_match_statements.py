"""`match` over values known only at run time, and over what is known, against plain Python."""
from __future__ import annotations

import ast
import collections
import dataclasses
import itertools
from typing import NamedTuple

import numpy as np
import pytest

from reactant.frontends.source.match_statements import MatchLowering
from tests.frontends.agreement import agree

OPS = np.array([0, 1, 2, 3, 4, 7, 1, 9])


def machine(ops):
    total = 1
    for op in ops:
        match op:
            case 0:
                total = total + 1
            case 1 | 2:
                total = total * 2
            case n if n > 6:
                total = total - n
            case _:
                total = -total
    return total


def returned(x):
    match x.sum() > 20:
        case True:
            return x * 2
        case _:
            pass
    match int(x[0]):
        case 0 if x[1] > 0:
            return x + 1
        case other:
            return x * other


def truths(x, limit):
    match x > limit:
        case True:
            r = 1.0
        case False:
            r = -1.0
        case _:
            r = 0.0
    if (x < 3.0) is True:
        r += 10.0
    if (x < 3.0) is not False:
        r += 100.0
    return r if (np.float64(x) > 0) is True else r + 1000.0     # NumPy's truths are no truths of Python's


def by_name(x, mode):
    match mode:
        case "sum":
            return x.sum()
        case "max" | "greatest":
            return x.max()
        case None:
            return x.min()
    return x.mean()


def structure(x):
    match (x.sum(), {"kind": 3}, x.shape):
        case (total, {"kind": 3}, [n]) if n > 2:
            return total * n
        case _:
            return 0


def test_programs():
    agree(machine, [(OPS,), (OPS[::-1].copy(),)])
    agree(structure, [(OPS,)])
    agree(by_name, [(OPS, m) for m in ("sum", "greatest", None, "other")])


def test_truths_of_python_that_only_the_run_knows():
    agree(truths, [(x, 1.0) for x in (-2.0, 2.0, 4.0)])


def test_early_returns():
    agree(returned, [(OPS,), (OPS * 0 + 1,), (OPS * 0 + 2,)])


@pytest.mark.parametrize("text", ["case 0 | 1: pass", "case (a, b): pass", "case [0] | 1: pass", "case int(): pass",
                                  "case -1.5: pass", "case {}: pass", "case {'a': [*_], **rest} if rest: pass"])
def test_all_become_branches(text):
    tree = MatchLowering(itertools.count()).visit(ast.parse(f"match s:\n    {text}"))
    assert not any(isinstance(n, ast.Match) for n in ast.walk(tree))


# ---- patterns that look into their subjects ---------------------------------------------------------------------

class Shape:
    __match_args__ = ("size", "name")

    def __init__(self, size, name):
        self.size, self.name, self.asked = size, name, 0

    @property
    def area(self):
        self.asked += 1
        return self.size * self.size


@dataclasses.dataclass
class Point:
    a: float
    b: int = 2


class Pair(NamedTuple):
    u: float
    v: float


def described(subject):
    match subject:
        case Shape(size, "square"):
            return size * size
        case Shape(size=s, name="round") if s > 1:
            return 3 * s
        case Shape():
            return subject.size
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


def what_may_be_none(x):
    found = Point(x[0]) if x[0] > 1 else None
    match found:
        case Point(v):
            kind = v * 1.0
        case None:
            kind = -1.0
    return kind, described(None if x[0] > 1 else 3), described(Shape(x[1], "round" if x[0] > 1 else "square"))


def of_every_kind(x):
    return [described(s) for s in (Shape(x[0], "square"), Shape(x[0], "round"), Shape(x[0], "dot"), [x[0], x[1]],
                                   (x[0], 2), {"w": x[0], "k": 1}, "text", x[0], float(x[0]), x, b"ab", {"k": 2})]


def elements(x):
    match x[0], x[1]:
        case (0.5, y):
            r = y * 1.0
        case (a, b) if a > b:
            r = a * 1.0
        case _:
            r = -1.0 * x[2]
    match list(x):
        case [a, *rest] if a > 1:
            return r, rest[0], len(rest)
        case [a, *middle, b]:
            return r, a + b, len(middle)


def grown(x):
    out = [v for v in x if v > 0.6]
    match out:
        case []:
            return x[0] * 0
        case [a]:
            return a
        case [_, *rest]:
            return -rest[0]


def alternatives(x):
    match Point(x[0]):
        case Point(0.5):
            r = x[1]
        case Point(a=v, b=2) | Point(v, 3):
            r = v
    match Pair(x[0], x[1]):
        case Pair(u, v) if u > v:
            return r, u
        case (u, v):
            return r, v * 2


def nested(x):
    match {"a": {"b": x[0]}, "c": [x[1], {"d": 3}]}:
        case {"a": {"b": 0.5}}:
            return x[2]
        case {"c": [q, {"d": k}], **rest}:
            return q + k + len(rest)


def in_loops(x):
    total = 0.0
    for v in x:
        match v:
            case float() if v > 1:
                total += v
            case 0.5:
                total -= x[0]
            case _:
                continue
    match collections.deque([x[0]]), range(3), "ab":
        case [_], [_, *k], [*_]:
            return total
        case [q], [_, *k], str():
            return total + q + len(k)


def suspended(x):
    def parts():
        for v in (x[0], [1, 2.0], {"a": 1}):
            match v:
                case [a, b]:
                    yield a + b
                case {"a": q}:
                    yield q
                case z:
                    yield z
    return list(parts())


def property_once(x):
    shape = Shape(x[0], "square")
    match shape:
        case Shape(area=a) if a > 1:
            return a, shape.asked
    return x[1], shape.asked


def too_many(x):
    match Point(x[0]):
        case Point(1, 2, 3):
            return 1


STRUCTURES = [what_may_be_none, of_every_kind, elements, grown, alternatives, nested, in_loops, suspended,
              property_once, too_many]


@pytest.mark.parametrize("program", STRUCTURES)
def test_structures(program):
    agree(program, [(np.array(x),) for x in ([2.0, 0.5, 0.7], [0.5, 2.0, 0.7], [0.1, 0.2, 0.3], [0.7, 0.5, 1.7])])
