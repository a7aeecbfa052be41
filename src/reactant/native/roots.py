"""Which objects pointers point into, where a loop hands them on.

    while ..: load a[..]; store b[..]; yield b, a        # a and b change places in every iteration

In an iteration the two are different objects, and neither is a third one: what LLVM cannot see through the phi
instructions. """
from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from jaxlib.mlir import ir

from reactant.native import layout
from reactant.support.records import dataclass


@dataclass
class Exchange:
    """Pointers that change places in a loop: each is one of some objects, no two are the same."""

    objects: frozenset[str]


class Pointers(Protocol):
    """What is known of the pointers of a function that is being written."""

    roots: dict[str, str]
    exchanges: dict[str, Exchange]


def meet(f: Pointers, one: str | None, other: str | None) -> bool:
    """Whether two roots of pointers (None or "": not known) may be the same object."""
    if not one or not other or one == other:
        return True
    exchange = f.exchanges.get(one)
    if exchange is not None and exchange is f.exchanges.get(other):
        return False
    return not _objects(f, one).isdisjoint(_objects(f, other))


def _objects(f: Pointers, root: str) -> frozenset[str]:
    exchange = f.exchanges.get(root)
    return frozenset((root,)) | (exchange.objects if exchange is not None else frozenset())


def note_exchange(f: Pointers, op: ir.Operation, names: Sequence[str], operands: Sequence[str]) -> None:
    """Give the pointers that an `scf.while` carries roots, where it only changes their places. names, operands: the
    parts of what it carries and of what it begins with."""
    before = op.regions[0].blocks[0]
    carried = {k for k, a in enumerate(before.arguments) if "ptr" in layout.parts(a.type)}
    taken = {k: _comes_from(op, k) for k in carried}
    types = [part for a in before.arguments for part in layout.parts(a.type)]
    pointers = [(n, f.roots.get(o)) for n, o, t in zip(names, operands, types, strict=True) if t == "ptr"]
    first = {root for _, root in pointers if root is not None}
    if not carried or set(taken.values()) != carried or len(first) < len(pointers) or _may_be_one(f, list(first)):
        return
    exchange = Exchange(frozenset().union(*(_objects(f, root) for root in first)))
    for name, _ in pointers:
        f.roots[name] = name
        f.exchanges[name] = exchange


def _may_be_one(f: Pointers, roots: list[str]) -> bool:
    return any(meet(f, a, b) for k, a in enumerate(roots) for b in roots[:k])


def _comes_from(op: ir.Operation, position: int) -> int | None:
    """The position in which an iteration of an `scf.while` has what the next one has in a given position."""
    before, after = (region.blocks[0] for region in op.regions)
    given = _argument(after.operations[len(after.operations) - 1].operands[position], after)
    if given is None:
        return None
    return _argument(before.operations[len(before.operations) - 1].operands[1 + given], before)


def _argument(value: ir.Value, block: ir.Block) -> int | None:
    if isinstance(value.owner, ir.Block) and value.owner == block:
        return int(ir.BlockArgument(value).arg_number)
    return None
