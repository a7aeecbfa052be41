"""Memory over the run of a program."""
import numpy as np

import reactant
from reactant.explanation import memory
from reactant.explanation.memory import Moment
from reactant.ir.context import building


def products(a, b):
    c = a @ b
    d = c @ b
    return d.sum()


def test_what_is_held_when():
    lowered = reactant.jit(products).lower(np.ones((50, 50)), np.ones((50, 50)))
    with building():
        found = memory.moments(lowered.module)
    first, second = [m for m in found if m.operation == "dot_general"]
    assert (first.bytes, second.bytes) == (3 * 20000, 4 * 20000) and second.line.endswith(
        f":{products.__code__.co_firstlineno + 2}")
    assert max(m.bytes for m in found) == second.bytes


def test_the_chart_is_a_text_too():
    made = memory.chart([Moment("add", "a.py:3", 1500.0), Moment("sub<", "", 3e6)])
    assert "at most 3MB, while sub&lt; runs" in made and "<svg" in made and 'role="img"' in made
    assert "<li>1.5kB while add (line 3) runs</li>" in made
    assert "Nothing is held" in memory.chart([]) == memory.chart([Moment("add", "", 0.0)])
