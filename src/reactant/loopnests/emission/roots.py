"""Steps of a block, and the values that they are for: data that plans are made of (`plan`)."""
from __future__ import annotations

from dataclasses import field
from typing import Any

from reactant.loopnests.analysis.graph import Block, Node, Shape, decoded
from reactant.loopnests.emission.affine import Affine
from reactant.support.records import dataclass


@dataclass(eq=False)
class Root:
    """A value that is computed for its own sake. `shape` is what its loops run over; `place` where an element of them
    is written (in the target), `reads` the kept values and their indices, in terms of the loops' symbols d0, d1...; an
    index of None is all of the value."""

    node: Node
    kind: str
    shape: Shape
    flat: bool = False
    reads: list[tuple[Node, Any]] = field(default_factory=list)
    place: Affine | None = None
    starts: tuple[Affine, ...] | None = None
    expense: float = 1.0
    bounds: frozenset[str] = frozenset()
    """Symbols of run-time places at which its loops are cut."""
    needed: Node | None = None
    """A mask of a kept value: where it is false, nobody needs the element (`demand`)."""
    rests: Any = None
    """Of a step that runs over a list: what the value is where the mask is false, a number or a value in memory."""

    @property
    def reduced(self) -> tuple[int, ...]:
        """Dimensions of `shape` that a reduction sums over."""
        return tuple(decoded(self.node, "dimensions")) if self.kind == "reduce" else ()


@dataclass(eq=False)
class Step:
    """One nest of loops with its roots, or one other op."""

    roots: list[Root]
    shape: Shape = ()
    listed: Node | None = None
    """The mask over whose places its loops go (`listed`),"""
    listed_of: Node | None = None
    """and the one of which that is a part, where it is made in this block."""
    dense: bool = False
    """Whether the loops may go over all places as well."""

    @property
    def kind(self) -> str:
        """nest, scalar or op"""
        first = self.roots[0].kind
        return "nest" if first in ("map", "reduce", "update") else first


@dataclass(eq=False)
class Plan:
    """A block's steps in order."""

    block: Block
    kept: set[Node]
    steps: list[Step]
    reads_at_end: set[Node]
    offsets: dict[Step, dict[Node, tuple[int, int] | None] | None] = field(default_factory=dict)
    """What `tiles` has found out about steps: each begins chains of its own, and is looked at for all before it."""
