"""Time is divided among what runs at once, and nothing of it is lost."""
import jax
import numpy as np
import pytest

from reactant.profiling import thunks
from reactant.profiling.hlo_costs import Described
from reactant.profiling.records import Work
from reactant.profiling.thunks import Event

KNOWN = {(0, name): Described(name, opcode, "", {}, Work()) for name, opcode in (
    ("a", "fusion"), ("b", "dot"), ("w", "while"), ("c", "call"))}


def events(*rows):
    return [Event(op, "m", 0, 0, float(begin), float(end), "t") for op, begin, end in rows]


@pytest.mark.parametrize("rows, expected", [
    ([("a", 0, 10)], {"a": 10}),
    ([("a", 0, 10), ("b", 4, 8)], {"a": 8, "b": 2}),                            # at once, on two threads
    ([("a", 0, 4), ("a", 6, 8)], {"a": 6}),
    ([("w", 0, 20), ("a", 1, 5), ("b", 5, 9), ("a", 12, 15)], {"w": 9, "a": 7, "b": 4}),    # a loop has what is left
    ([("c", 0, 20), ("w", 2, 10), ("a", 3, 4)], {"c": 12, "w": 7, "a": 1}),
    ([("a", 0, 10), ("b", 0, 10), ("x", 0, 10)], {"a": 10 / 3, "b": 10 / 3, "x": 10 / 3}),
    ([], {}),
])
def test_divided(rows, expected):
    found = thunks.divided(events(*rows), KNOWN)
    assert found == pytest.approx({(0, op): seconds for op, seconds in expected.items()})
    if rows:
        assert sum(found.values()) == pytest.approx(thunks.covered(events(*rows))[2])
    assert sum(thunks.counts(events(*rows)).values()) == len(rows)


def test_recorded_are_thunks_within_runs():
    program = jax.jit(lambda x: jax.numpy.sin(x) @ x).lower(np.ones((50, 50), np.float32)).compile()
    with thunks.recorded() as read:
        for number in range(3):
            with thunks.run_annotated(number):
                program(np.ones((50, 50), np.float32)).block_until_ready()
        found = read()
    assert [told["number"] for _, _, told in found.runs] == [0, 1, 2]
    text = program.as_text()
    for begin, end, _ in found.runs:
        inside = thunks.within(found.events, begin, end)
        assert inside and all(f"%{event.op} = " in text for event in inside)
