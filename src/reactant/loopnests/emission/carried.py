"""What loops carry: values, arrays in rows that are kept (`rows`), masks whose places are listed (`listed`)."""
from __future__ import annotations

from dataclasses import field

from reactant.loopnests.analysis.graph import Node
from reactant.loopnests.emission.elements import Buffer
from reactant.loopnests.emission.numbers import Number
from reactant.support.records import dataclass


@dataclass(eq=False)
class Slot:
    """A value carried by a loop."""

    argument: Node
    init: Node
    returned: Node
    result: Node
    condition_argument: Node
    invariant: bool = False
    rotates: bool = False
    buffer: Buffer | None = None


def slots_of(node: Node) -> list[Slot]:
    """What a loop carries."""
    condition, body = node.blocks
    return [Slot(a, i, r, out, c, invariant=r is a) for a, i, r, out, c in
            zip(body.arguments, node.operands, body.returned, node.results, condition.arguments, strict=True)]


def step_of(slot: Slot) -> int | None:
    """The number a slot grows by every iteration."""
    made = slot.returned
    if slot.init.shape or slot.init.dtype.kind not in "iu" or made.kind not in ("add", "subtract"):
        return None
    left, right = made.operands
    if made.kind == "add" and right is slot.argument:
        left, right = right, left
    if left is not slot.argument or right.splat is None:
        return None
    return int(right.splat) if made.kind == "add" else -int(right.splat)


@dataclass(eq=False)
class Rows:
    """Numbers of the carried values: the array, the rows it is kept in, and the counter that says which row it is."""

    array: int
    kept: int
    counter: int
    memory: Buffer | None = None


@dataclass(eq=False)
class Listing:
    """The places where a mask is true, in order, and how many they are."""

    places: Buffer
    count: Buffer
    dead: set[Node] = field(default_factory=set)
    """Values that nobody needs elsewhere,"""
    known: dict[Node, Number] = field(default_factory=dict)
    """and what others certainly are there."""
