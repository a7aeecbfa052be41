"""Which ops a foreign pass (MLIR's CSE) has touched: what rules have to look at again.

Ops are compared by what they use: an op whose operands changed, whatever reads it, and the producers and other readers
of what an erased op had used (a rule that wants a single reader may fire there now).
"""
from __future__ import annotations

from collections.abc import Container, Iterator

from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.rewrite.driver import Memory

MERGE = "func.func(cse)"


def merge_equal(module: ir.Module, memory: Memory, names: Container[str]) -> list[ir.Operation]:
    """Merge equal ops and drop dead ones; gives the ops called `names` to look at again, and what reads them."""
    before = modules.bytecode(module)
    modules.run_passes(module, MERGE)
    if modules.bytecode(module) == before:    # as nearly always: then the ops need not be looked through
        return []
    return touched(module.operation, memory, names)


def touched(root: ir.Operation, memory: Memory, names: Container[str]) -> list[ir.Operation]:
    """The ops to look at again after a pass that redirects uses and erases ops, nothing else. The memory forgets what
    does not hold any more."""
    memory.listed = None
    others: dict[int, ir.Operation | None] = {}
    found = memory.list(root, others)
    values = found.keys() | others.keys()
    seen = memory.seen
    changed: dict[int, ir.Operation] = {}
    for address, op in found.items():
        record = seen.get(address)
        if record is None:
            if op.name in names:
                changed[address] = op
        elif not values.issuperset(record[5]):      # an equal value stands for one that is gone
            changed[address] = op
            del seen[address]
    for op in list(changed.values()):
        changed.update(_readers(op, 2))
    erased = [address for address in seen if address not in found]
    for place in {place for address in erased for place in seen[address][5]}:
        owner = found.get(place) or others.get(place)
        if owner is not None:
            changed[hash(owner.results[0])] = owner
            changed.update(_readers(owner, 1))
    for address in [*erased, *(address for address in memory.owners if address not in values)]:
        memory.erased(address)
    return list(changed.values())


def _readers(op: ir.Operation, depth: int) -> Iterator[tuple[int, ir.Operation]]:
    """The ops that read the results of `op`, and their readers in turn."""
    for result in op.results:
        for use in result.uses:
            reader = use.owner.operation
            if not len(reader.results):
                continue
            yield hash(reader.results[0]), reader
            if depth > 1:
                yield from _readers(reader, depth - 1)
