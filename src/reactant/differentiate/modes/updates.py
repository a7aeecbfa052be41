"""Updates that add to what is there, `x[window] += y`, as one linear op; also where they add in a part of the window
that a mask gives, `x[k:, k:] -= y`.

By the rules of its parts the adjoint of x would be cleared in the window and then get back what was there: two writes,
for nothing. As a whole, the adjoint of x is that of the result, untouched, and y's is its window.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxlib.mlir import ir

from reactant.differentiate.declare import zeros
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import shape_of
from reactant.support.records import dataclass

DEEP = 8
"""How many sums behind an update are looked through."""


@dataclass(frozen=True)
class Term:
    """A value that an update adds to the window (or subtracts), where `masks` are what is said beside them."""

    value: ir.Value
    negative: bool
    masks: tuple[tuple[ir.Value, bool], ...] = ()

    def cotangent(self, window: ir.Value, known: Callable[[ir.Value], ir.Value]) -> ir.Value:
        """Its cotangent, from that of the window. `known`: the masks as values of the sweep."""
        found = window
        for mask, added in self.masks:
            found = ops.reshape(found, shape_of(mask)) if shape_of(mask) else found
            branches = (found, zeros(found)) if added else (zeros(found), found)
            found = ops.select(known(mask), *branches)
        found = ops.reshape(found, shape_of(self.value))
        return ops.negate(found) if self.negative else found


def added(op: ir.Operation) -> list[Term] | None:
    """What a `dynamic_update_slice` adds to the window that it writes; None where it does something else."""
    if op.name != "stablehlo.dynamic_update_slice":
        return None
    found = list(_terms(op.operands[1], False, DEEP, op))
    own = [term for term in found if _is_window(term.value, op)]
    if len(own) != 1 or own[0].negative or own[0].masks:
        return None
    return [term for term in found if term is not own[0]]


def _terms(value: ir.Value, negative: bool, left: int, update: ir.Operation) -> Iterator[Term]:
    """The terms of a sum that is made in the block of an update; reshapes in between are looked through. (The sweep
    over a loop body or branch has cotangents of what it reads from outside: of a sum that it reads, not of the terms.)
    """
    made = ops.maker(value)
    if made is not None and made.block == update.block and left:
        if made.name == "stablehlo.reshape":
            yield from _terms(made.operands[0], negative, left - 1, update)
            return
        if made.name in ("stablehlo.add", "stablehlo.subtract"):
            yield from _terms(made.operands[0], negative, left - 1, update)
            yield from _terms(made.operands[1], negative ^ (made.name == "stablehlo.subtract"), left - 1, update)
            return
        if made.name == "stablehlo.select" and (found := _masked(made, negative, left - 1, update)) is not None:
            yield from found
            return
    yield Term(value, negative)


def _masked(choice: ir.Operation, negative: bool, left: int, update: ir.Operation) -> list[Term] | None:
    """The terms of a choice between the window as it is and a sum with it: the window, and the others masked."""
    mask, *branches = choice.operands
    for chosen, kept in ((0, 1), (1, 0)):
        rest = list(_terms(branches[kept], negative, left, update))
        if len(rest) != 1 or rest[0].masks or not _is_window(rest[0].value, update):
            continue
        terms = list(_terms(branches[chosen], negative, left, update))
        own = next((t for t in terms if t.value == rest[0].value and t.negative == negative and not t.masks), None)
        if own is not None:
            return [own, *(Term(t.value, t.negative, ((mask, not chosen), *t.masks)) for t in terms if t is not own)]
    return None


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
