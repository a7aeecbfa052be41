"""What an expression has computed is told to the trace while its other parts are, and taken back in their order."""
import ast

import pytest

from reactant.frontends.source import conversion
from reactant.frontends.source.operators import ag__
from reactant.frontends.source.temporaries import CELLS, Temporaries
from reactant.support.session import SESSION


def converted(text):
    function = ast.parse(f"def f(g, h, k, x, y):\n    {text}").body[0]
    return ast.unparse(Temporaries(says_cells=False).visit(function).body[0])


TEXTS = [
    ("g(x.a, h(y))", "g(ag__.hold(x.a), ag__.let_go(1, h(y)))"),
    ("x.a + h(y)", "ag__.hold(x.a) + ag__.let_go(1, h(y))"),
    ("(x.a, y.b, h(x), y.c)", "(ag__.hold(x.a), ag__.hold(y.b), ag__.let_go(2, h(x)), y.c)"),
    ("[x.a, *h(y)]", "[ag__.hold(x.a), *ag__.let_go(1, h(y))]"),
    ("{x.a: h(y)}", "{ag__.hold(x.a): ag__.let_go(1, h(y))}"),
    ("x.a[h(y)]", "ag__.hold(x.a)[ag__.let_go(1, h(y))]"),
    ("g(a=x.a, b=h(y))", "g(a=ag__.hold(x.a), b=ag__.let_go(1, h(y)))"),
    ("x.a < h(y)", "ag__.hold(x.a) < ag__.let_go(1, h(y))"),
    ("g(x.a, h(y.b, k(x)))", "g(ag__.hold(x.a), ag__.let_go(1, h(ag__.hold(y.b), ag__.let_go(1, k(x)))))"),
    ("z + h(y)", "ag__.hold(z) + ag__.let_go(1, h(y))"),           # somebody else may bind the global variable
    ("x + h(y)", "x + h(y)"),                                      # x is that, and stays that
    ("g(h(x), y.a)", "g(h(x), y.a)"),                              # nothing runs between
    ("g(1, 'a', h(x))", "g(1, 'a', h(x))"),
    ("ag__.call(ag__.ld(x), h(y))", "ag__.call(ag__.ld(x), h(y))"),
    ("g(x.a, lambda: h(y))", "g(x.a, lambda: h(y))"),
    ("g(x.a, (yield h(y)))", "g(x.a, (yield h(y)))"),              # its frame has it
    ("(x, (x := h(y)))", "(ag__.hold(x), (x := ag__.let_go(1, h(y))))"),
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("text,wanted", TEXTS[:-1], ids=[t for t, _ in TEXTS[:-1]])
def test_what_is_held(text, wanted):
    assert converted(text) == wanted


def test_a_name_that_the_expression_binds_is_held():
    assert converted(TEXTS[-1][0]) == "(ag__.hold(x), ag__.let_go(1, (x := h(y))))"


class Trace:
    def __init__(self):
        self.pending = []


def test_values_are_held_as_long_as_they_wait(monkeypatch):
    trace, seen = Trace(), []
    monkeypatch.setattr(SESSION, "trace", trace)
    names = {"ag__": ag__, "look": lambda x: seen.append([*trace.pending]) or x}
    text = "def program(a, b):\n    return [a.real, look(b.real), [a.imag, look(b.imag)]], look(a.real)"
    tree = ast.fix_missing_locations(Temporaries().visit(ast.parse(text).body[0]))
    exec(compile(ast.Module([tree], []), "<program>", "exec"), names)
    assert names["program"](1 + 2j, 3 + 4j) == ([1.0, 3.0, [2.0, 4.0]], 1.0)
    waited = [[x for x in each if x is not names["look"]] for each in seen]     # a global variable waits, too
    assert waited == [[1.0], [1.0, 3.0, 2.0], [[1.0, 3.0, [2.0, 4.0]]]]
    assert trace.pending == []


def test_functions_say_the_cells_of_their_variables():
    def program(a):
        rows, other = [a], 1

        def add(x):
            rows.append(x)
        return add, other
    code = conversion.convert(program).__code__
    assert CELLS in code.co_varnames and "rows" in code.co_cellvars
    assert "other" not in code.co_cellvars
    assert CELLS not in conversion.convert(looks_at_its_variables).__code__.co_varnames


def looks_at_its_variables(a):
    b = a
    return locals(), b
