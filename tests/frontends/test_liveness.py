"""Which names functions inside of functions mean: their own, or those of the function around them."""
import ast

import pytest

from reactant.frontends.liveness import free_names

FREE = {
    "def f(a, b=c, *d, **e): return a + g": {"c", "g"},
    "def f():\n x = 1\n return x + y": {"y"},
    "def f():\n nonlocal x\n x = 1": {"x"},
    "def f():\n def g():\n  nonlocal x\n  x = y\n x = 0": {"y"},
    "def f():\n def g():\n  nonlocal x\n  x = y\n y = 0": {"x"},
    "def f():\n for i, (j, k) in p: q[i] = j": {"p", "q"},
    "def f():\n return [x for x in x] + [y for x in z]": {"x", "y", "z"},
    "def f():\n return [(w := x) for x in z] + w": {"z"},
    "lambda a, b=b: a + b + c": {"b", "c"},
    "lambda: (lambda a: a + b)(a)": {"a", "b"},
    "def f():\n import m.n as o, p.q\n with r as s: pass\n return m, o, p, s": {"m", "r"},
    "def f():\n try: pass\n except E as error: return error": {"E"},
    "def f(x: T) -> U:\n match x:\n  case [y, *z]: return y, z, v": {"T", "U", "v"},
    "@d\ndef f():\n class C(B):\n  a = b\n return C": {"d", "B", "a", "b"},
}


@pytest.mark.parametrize("source", FREE)
def test_free_names(source):
    statement = ast.parse(source).body[0]
    assert free_names(statement.value if isinstance(statement, ast.Expr) else statement) == FREE[source]
