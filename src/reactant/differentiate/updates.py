"""Updates that add to what is there, `x[window] += y`, as one linear op.

By the rules of its parts the adjoint of x would be cleared in the window and then get back what was there: two writes,
for nothing. As a whole, the adjoint of x is that of the result, untouched, and y's is its window.
"""
from __future__ import annotations

from collections.abc import Iterator

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import shape_of
from reactant.records import dataclass

DEEP = 8
"""How many sums behind an update are looked through."""


@dataclass(frozen=True)
class Term:
    """A value that an update adds to the window (or subtracts)."""

    value: ir.Value
    negative: bool

    def cotangent(self, window: ir.Value) -> ir.Value:
        """Its cotangent, from that of the window."""
        found = ops.reshape(window, shape_of(self.value))
        return ops.negate(found) if self.negative else found


def added(op: ir.Operation) -> list[Term] | None:
    """What a `dynamic_update_slice` adds to the window that it writes; None where it does something else."""
    if op.name != "stablehlo.dynamic_update_slice":
        return None
    found = list(_terms(op.operands[1], False, DEEP, op.block))
    own = [term for term in found if _is_window(term.value, op)]
    if len(own) != 1 or own[0].negative:
        return None
    return [term for term in found if term is not own[0]]


def _terms(value: ir.Value, negative: bool, left: int, block: ir.Block) -> Iterator[Term]:
    """The terms of a sum that is made in `block`; reshapes in between are looked through. (The sweep over a loop body
    or branch has cotangents of what it reads from outside: of a sum that it reads, not of the terms.)"""
    made = ops.maker(value)
    if made is not None and made.block == block and left:
        if made.name == "stablehlo.reshape":
            yield from _terms(made.operands[0], negative, left - 1, block)
            return
        if made.name in ("stablehlo.add", "stablehlo.subtract"):
            yield from _terms(made.operands[0], negative, left - 1, block)
            yield from _terms(made.operands[1], negative ^ (made.name == "stablehlo.subtract"), left - 1, block)
            return
    yield Term(value, negative)


def _is_window(value: ir.Value, update: ir.Operation) -> bool:
    """Whether a value is what the array holds in the window of an update."""
    if isinstance(value.owner, ir.Block):
        return False
    made, starts = value.owner.operation, list(update.operands)[2:]
    if made.name not in ("stablehlo.slice", "stablehlo.dynamic_slice") or made.operands[0] != update.operands[0] \
            or shape_of(value) != shape_of(update.operands[1]):
        return False
    if made.name == "stablehlo.dynamic_slice":
        return all(_same(a, b) for a, b in zip(list(made.operands)[1:], starts, strict=True))
    if any(n != 1 for n in attr.decode(made.attributes["strides"])):
        return False
    places, extents = attr.decode(made.attributes["start_indices"]), shape_of(update.operands[1])
    known = [ops.constant_value(start) for start in starts]
    return all(k is not None and min(max(int(k), 0), n - e) == place for k, place, n, e in
               zip(known, places, shape_of(update.operands[0]), extents, strict=True))


def _same(a: ir.Value, b: ir.Value) -> bool:
    """Whether two starts are the same number."""
    if a == b:
        return True
    known = ops.constant_value(a), ops.constant_value(b)
    return known[0] is not None and known[1] is not None and int(known[0]) == int(known[1])
