"""Functions of very many loops: those that run once in a call are not written out.

LLVM writes out short loops of known iterations, each up to some hundred instructions, which takes it 20 to 100 ms a
loop; what that saves is nanoseconds in every run of the loop. It pays where the loop runs often: in a loop around it,
or where there is little else. """
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.native.control import ONCE
from reactant.native.parallel import known_trips, work

MUCH, MUCH_REPEATED = 1500, 6000
"""Operations up to which all innermost loops may be written out, and the same of those in loops over several loops (ten
steps of conjugate gradients with 20 unknowns, 53 loops: 2.5 s of LLVM's time and 40 us a run, not written out 0.4 s and
38 us; ten products of 8 x 8 1.1 s and 0.4)."""
MOST, PART = 1200, 150
"""Operations of all iterations above which LLVM writes out but a few iterations, of as many operations."""
LITTLE = 64
"""Operations of all turns up to which a loop is written out in any case: no more code than the loop itself."""
LOOPS = ("scf.for", "scf.parallel", "scf.while")


def note_crowds(function: ir.Operation) -> int:
    """Mark the loops of a function that are not to be written out; the operations that the others become."""
    total = 0
    once: list[ir.Operation] = []
    repeated: list[ir.Operation] = []
    _collect(function, once, repeated, False)
    for loops, much in ((once, MUCH), (repeated, MUCH_REPEATED)):
        sizes = list(map(_written_out, loops))
        innermost = sum(size for op, size in zip(loops, sizes, strict=True) if not _inner(op))
        if innermost <= much:
            total += innermost
        else:
            for op, size in zip(loops, sizes, strict=True):
                if size > LITTLE:
                    op.attributes[ONCE] = ir.UnitAttr.get()
    return total


def _collect(op: ir.Operation, once: list[ir.Operation], repeated: list[ir.Operation], often: bool) -> None:
    inner = _inner(op)
    often = often or op.name in LOOPS and len(inner) > 1        # a nest for one array has one loop in each
    for loop in inner:
        (repeated if often or loop.name == "scf.while" else once).append(loop)
        _collect(loop, once, repeated, often or loop.name == "scf.while")


def _inner(op: ir.Operation) -> list[ir.Operation]:
    """The loops in an op that lie in no other loop in it."""
    found = []
    for region in op.regions:
        for block in region:
            for each in block.operations:
                if each.operation.name in LOOPS:
                    found.append(each.operation)
                elif each.operation.regions:
                    found += _inner(each.operation)
    return found


def _written_out(op: ir.Operation) -> int:
    """Operations that a loop becomes when LLVM writes it out, roughly."""
    trips = known_trips(list(op.operands)[:3]) if op.name == "scf.for" else None
    total = work(op.regions[0]) * (MOST if trips is None else trips)
    return total if total <= MOST else PART
