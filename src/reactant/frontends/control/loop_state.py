"""What is known of a loop while it is traced: the state that the files about one kind of carried value share.

`loops.Loop` drives it: attempt after attempt until what is carried no longer changes.
"""
from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from jaxlib.mlir import ir

from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.storage_aliasing import Stood
from reactant.frontends.arrays.tensor import Tensor
from reactant.frontends.control.carriers import Carrier
from reactant.frontends.control.demands import Demands
from reactant.frontends.control.loop_carried import Carried, Slot
from reactant.frontends.control.snapshots import Variables
from reactant.frontends.control.trees import Kind, Tree
from reactant.frontends.session.trace import Region, Trace


class LoopState:
    """A loop while it is traced."""

    # -- what it is made of

    trace: Trace
    functions: list[FunctionType]
    """The functions that its variables are cells of."""
    variables: Variables
    flags: tuple[str, ...]
    """Variables that say whether a `break` or `return` has happened; an iteration begins while none is set."""
    count: Any
    """The trip count of a `for`: an integer, a traced one, or None for a `while`."""
    count_value: Any
    start: int
    """The first index."""
    test: Callable[[], Any] | None
    first: Any
    """The outcome of a `while`'s test before the loop."""
    rebound: tuple[str, ...]
    """Variables that the body binds anew."""
    policy: str
    """How reverse mode keeps the loop."""

    # -- what surrounds it

    outer: ir.Block
    before: dict[str, Any]
    """What the variables hold before the loop."""
    entries: dict[str, Tree]
    """The same as trees, in the form in which they are carried."""
    owned: dict[str, bool]
    lent: Any
    """Arrays that only the loop around knows, besides."""
    given: set[Storage]
    """Arrays that loops inside may have written in place."""

    # -- what this attempt carries

    block: ir.Block
    body_region: Region
    slots: list[Slot]
    counter: Slot | None
    guard: Slot | None
    """Whether no check has failed in the iterations before."""
    carried: dict[str, Carried]
    storages: list[Storage]
    """Arrays that are carried by their storage."""
    storage_slots: dict[Storage, Slot]
    presumed: list[tuple[Storage, Stood]]
    """Storages that must turn out not to be written."""
    touched: set[Storage]
    """Arrays from before the loop that the body reaches by other ways than the variables that are carried by value."""
    arrays: Any
    """`loop_arrays.LoopArrays`: which arrays the variables are bound to after an iteration."""
    ran: ir.Value | bool
    """Whether there was an iteration."""

    # -- what attempts have shown

    demands: Demands
    attempts: int
    """How many there have been."""
    extents: Any
    """`sized_arrays.Extents`."""
    expected: list[Storage]
    """Arrays that are taken to be written, from when the loop was traced before."""
    test_in_body: bool
    """Whether the test of a `while` stands at the end of its body."""
    needs_guard: bool
    waits: bool
    """Whether values from earlier iterations are waited for."""

    # -- lists

    growth: Any
    lists: Carrier
    array_lists: dict[str, Any]
    array_places: dict[str, Any]

    def slot(self, init: ir.Value) -> Slot:
        """A new carried value that begins as `init`."""
        raise NotImplementedError

    def begin_again(self) -> None:
        """Forget what attempts have shown."""
        raise NotImplementedError

    def first_kinds(self, name: str, rebound: bool) -> list[Kind | None]:
        """The kinds of a variable's leaves before anything is known."""
        raise NotImplementedError

    def at_start(self, name: str, position: int, leaf: Tree, kind: Kind, value: ir.Value) -> Tensor:
        """A leaf of a variable at the start of an iteration."""
        raise NotImplementedError
