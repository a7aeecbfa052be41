"""Which ops a foreign pass (MLIR's CSE) has touched: what rules have to look at again.

Ops are compared by what they use: an op whose operands changed, whatever reads it, and the producers and other readers
of what an erased op had used (a rule that wants a single reader may fire there now).
"""
from __future__ import annotations

from collections.abc import Container, Iterator

from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.rewrite.driver import Memory, used

MERGE = "func.func(cse)"


def merge_equal(module: ir.Module, memory: Memory, names: Container[str]) -> list[ir.Operation]:
    """Merge equal ops and drop dead ones; gives the ops called `names` to look at again, and what reads them."""
    copy = module.operation.clone(ip=False)     # not into what is being built
    before = modules.bytecode(copy)
    modules.run_passes(copy, MERGE)
    if modules.bytecode(copy) == before:    # as nearly always: then the ops need not be looked through
        return []
    modules.run_passes(module, MERGE)
    return touched(module.operation, memory, names)


def touched(root: ir.Operation, memory: Memory, names: Container[str]) -> list[ir.Operation]:
    """The ops to look at again after a pass that redirects uses and erases ops, nothing else. The memory forgets what
    does not hold any more."""
    memory.listed = None
    live: dict[int, ir.Operation] = {}
    changed: dict[int, ir.Operation] = {}
    for address, op in memory.list(root).items():
        live[address] = op
        results = op.results
        for number in range(1, len(results)):
            live[hash(results[number])] = op
        seen = memory.seen.get(address)
        if seen is None:
            if op.name in names:
                changed[address] = op
        elif seen[5] != used(op, op.operands):
            changed[address] = op
            del memory.seen[address]
    for op in list(changed.values()):
        changed.update(_readers(op, 2))
    erased = [address for address in memory.seen if address not in live]
    for place in {place for address in erased for place in memory.seen[address][5] if place in live}:
        owner = live[place]
        changed[hash(owner.results[0])] = owner
        changed.update(_readers(owner, 1))
    for address in [*erased, *(address for address in memory.owners if address not in live)]:
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
