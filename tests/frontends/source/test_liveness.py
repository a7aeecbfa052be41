"""Which names functions inside of functions mean: their own, or those of the function around them."""
import ast
import inspect

import pytest

from reactant.frontends.source.jumps import children
from reactant.frontends.source.liveness import Binding, free_names, reads

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
    "@d\ndef f():\n class C(B):\n  a = b\n return C": {"d", "B", "a", "b"},
}


@pytest.mark.parametrize("source", FREE)
def test_free_names(source):
    statement = ast.parse(source).body[0]
    assert free_names(statement.value if isinstance(statement, ast.Expr) else statement) == FREE[source]


@pytest.mark.parametrize("source", ["[x for x in (x, y)]", "{x for x in (x, y)}", "{x: 1 for x in (x, y)}",
                                    "(x for x in (x, y))"])
def test_what_a_comprehension_runs_over_is_read_outside(source):
    """Its own variable may have that name: `[o.x for o in (a, o)]`."""
    assert reads([ast.parse(source)]) == {"x", "y"}


UNSURE = {
    "def f(a):\n if a: x = 1\n return x": {"x"},
    "def f(a):\n if a: x = 1\n else: x = 2\n return x": set(),
    "def f(a):\n if a: x = 1\n else: return 3\n return x": set(),
    "def f(a):\n for i in a: x = i\n return x + i": {"x", "i"},
    "def f(a):\n for i in a:\n  x = i\n  y = x": set(),
    "def f(a):\n while (w := a): x = w\n x += 1": {"x"},
    "def f(a):\n try: x = a\n except E: y = x\n else: z = x\n return x": {"x"},
    "def f(a):\n try: x = a\n except E: return 0\n finally: y = 1\n return x + y": set(),
    "def f(a):\n with a as b: x = b\n return x + (v := 1) + v": set(),
}


@pytest.mark.parametrize("source", UNSURE)
def test_names_that_may_be_unbound(source):
    function = ast.parse(source).body[0]
    Binding(function)
    assert {n.id for n in ast.walk(function) if getattr(n, "unsure", False)} == UNSURE[source]


def test_work_follows_the_size_of_the_program_not_its_depth():
    """Functions in functions, as control flow becomes them: each level was looked at twice by the one around it."""
    depth = 18
    lines = ["def f0(a):"] + [f"{'  ' * k}x{k} = a\n{'  ' * k}def f{k}(b=a):" for k in range(1, depth)]
    tree = ast.parse("\n".join(lines) + f"\n{'  ' * depth}return x1 + y")
    assert free_names(tree.body[0]) == {"y"}


def test_children_are_those_of_ast_but_for_contexts_and_operators():
    tree = ast.parse(inspect.getsource(inspect))
    for node in ast.walk(tree):
        every = [n for n in ast.iter_child_nodes(node)
                 if not isinstance(n, (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop))]
        assert children(node) == every
