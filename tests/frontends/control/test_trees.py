"""Values as trees: taken apart, asked, and made again."""
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

from reactant.frontends.arrays.tensor import Tensor
from reactant.frontends.control.snapshots import capture, rebuilt, with_leaves
from reactant.frontends.control.trees import ABSENT, Held, Known
from reactant.frontends.session.trace import tracing
from reactant.ir.context import building


@dataclass
class Point:
    x: object
    y: object


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


Pair = namedtuple("Pair", "first second")


@pytest.fixture
def array():
    """A run-time vector of three floats."""
    with building(), tracing() as trace:
        yield Tensor.of_value(trace.add_argument((3,), np.dtype(float)))


VALUES = {"list": lambda x: [1, x, "text"], "tuple": lambda x: (x, (2.5, None)), "named tuple": lambda x: Pair(x, [x]),
          "dict": lambda x: {"b": x, 3: {"c": 1}}, "object": lambda x: Point(x, Point(1, 2)),
          "slots": lambda x: Slotted([x], 0), "number": lambda x: 7, "array": lambda x: x, "none": lambda x: None}


def plain(value):
    """What a value holds, to be compared."""
    if isinstance(value, (Point, Slotted)):
        return type(value), [plain(getattr(value, n)) for n in (("x", "y") if isinstance(value, Point) else ("a", "b"))]
    if isinstance(value, dict):
        return [(key, plain(held)) for key, held in value.items()]
    return (type(value), list(map(plain, value))) if isinstance(value, (list, tuple)) else id(value)


@pytest.mark.parametrize("name", VALUES)
def test_a_value_is_taken_apart_and_made_again(name, array):
    value = VALUES[name](array)
    tree = capture(value)
    made = with_leaves(tree, iter([leaf.object for leaf in tree.leaves()]))
    assert plain(made) == plain(value) and (made is value) == (tree.kind == "")
    assert tree.object is value and tree.alike(capture(made))
    found = list(tree.arrays())
    assert len(found) == (name not in ("number", "none")) and all(each is array for each in found)
    assert [node.original for node in tree.nodes()][:1] == ([value] if tree.kind else [])
    unchanged = with_leaves(tree, iter([0] * 9), same={id(node) for node in tree.nodes()})
    assert unchanged is value if tree.kind else unchanged == 0


def test_what_trees_have_in_common(array):
    one, other = capture([array, 1]), capture([array, 2.0])
    assert one.alike(other) and not one.alike(capture((array, 1))) and not one.alike(capture([array]))
    held, known = one.children
    assert isinstance(held, Held) and isinstance(known, Known) and held.alike(known) and not held.alike(ABSENT)
    assert known.is_(known.value) and not held.is_(array) and held.array is array and known.array is None
    assert list(ABSENT.leaves()) == [ABSENT] and not list(ABSENT.nodes()) and capture(ABSENT) is ABSENT
    assert rebuilt(one, [1, 2]) == [1, 2]


def test_a_container_that_holds_itself(array):
    rows = [array]
    rows.append(rows)
    tree = capture(rows)
    assert [type(leaf) for leaf in tree.leaves()] == [Held, Known] and tree.children[1].is_(rows)
