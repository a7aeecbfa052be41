"""File and line of locations of every kind."""
import pytest
from jaxlib.mlir import ir

from reactant.ir.context import building
from reactant.ir.locations import file_and_line, with_names

FILE = ir.Location.file
CASES = {
    "file": lambda: FILE("a.py", 3, 1), "name": lambda: ir.Location.name("f", FILE("a.py", 3, 1)),
    "callee": lambda: ir.Location.callsite(FILE("a.py", 3, 1), [FILE("b.py", 9, 1)]),
    "caller": lambda: ir.Location.callsite(ir.Location.name("f"), [FILE("a.py", 3, 1)]),
    "fused": lambda: ir.Location.fused([ir.Location.unknown(), ir.Location.name("f", FILE("a.py", 3, 1))]),
}


@pytest.mark.parametrize("name", CASES)
def test_file_and_line(name):
    with building():
        assert file_and_line(CASES[name]()) == ("a.py", 3)


def test_nothing_known():
    with building():
        assert file_and_line(ir.Location.unknown()) is None
        assert file_and_line(ir.Location.name("f")) is None


NAMED = 'loc("add"("f"("a.py":3:1)))'
WITH_NAMES = {"file": NAMED, "name": 'loc("f"("a.py":3:1))', "two": NAMED, "unknown": "loc(unknown)"}


@pytest.mark.parametrize("name", WITH_NAMES)
def test_with_names(name):
    cases = {**CASES, "unknown": ir.Location.unknown,
             "two": lambda: ir.Location.fused([FILE("a.py", 3, 1), FILE("a.py", 5, 1)])}
    with building():
        assert str(with_names(cases[name](), "add", "f")) == WITH_NAMES[name]
