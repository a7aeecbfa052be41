"""`match` over values known only at run time, and over what is known, against plain Python."""
from __future__ import annotations

import ast
import itertools

import numpy as np
import pytest

from reactant.frontends.matching import MatchLowering
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


@pytest.mark.parametrize("text, stays", [("case 0 | 1: pass", False), ("case (a, b): pass", True),
                                         ("case [0] | 1: pass", True), ("case int(): pass", True),
                                         ("case -1.5: pass", False), ("case {}: pass", True)])
def test_which_become_branches(text, stays):
    tree = MatchLowering(itertools.count()).visit(ast.parse(f"match s:\n    {text}"))
    assert any(isinstance(n, ast.Match) for n in ast.walk(tree)) is stays
