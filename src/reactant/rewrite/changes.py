"""Which ops a foreign pass (MLIR's CSE) has touched: what rules have to look at again.

Ops are compared by what they use: one whose operands changed, and what an erased op had used (a rule that wants a
single reader may fire there now).
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.rewrite.driver import Memory

MERGE = "func.func(cse)"


def merge_equal(module: ir.Module, memory: Memory) -> bool:
    """Merge equal ops and drop dead ones; gives whether there were any."""
    before = _size(module)
    modules.run_passes(module, MERGE)
    if not memory.deep and _size(module) == before:     # then the ops need not be looked through
        return False
    return note(module.operation, memory)


def _size(module: ir.Module) -> int:
    """How many ops the functions have, those in regions of others left out: who merges ops drops some."""
    return sum(len(block.operations) for function in module.body for region in function.operation.regions
               for block in region)


def note(root: ir.Operation, memory: Memory) -> bool:
    """Tell the memory what has happened in a pass that redirects uses and erases ops, nothing else; gives whether any
    has gone."""
    memory.listed = None
    memory.clock += 1
    others: dict[int, ir.Operation | None] = {}
    found = memory.list(root, others)
    values = found.keys() | others.keys()
    seen = memory.seen
    for address, op in found.items():
        record = seen.get(address)
        if not values.issuperset(record[5]) if record is not None else len(op.operands):
            memory.changed(op)      # an equal value stands for one that is gone
    erased = [address for address in seen if address not in found]
    for address in erased:
        memory.reread.update((place, memory.clock) for place in seen[address][5])
    gone = [*erased, *(address for known in (memory.owners, memory.unseen) for address in known
                       if address not in values)]
    for address in gone:
        memory.erased(address)
    return bool(gone)
