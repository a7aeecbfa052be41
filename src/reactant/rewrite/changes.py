"""Which ops a foreign pass (MLIR's CSE) has touched: what rules have to look at again.

Ops are compared by what they use: an op whose operands changed, whatever reads it, and the producers and other readers
of what an erased op had used (a rule that wants a single reader may fire there now).
"""
from __future__ import annotations

from collections.abc import Iterator

from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.rewrite.driver import Memory
from reactant.rewrite.site import inside

Uses = dict[int, tuple[int, ...]]
"""By the address of an op's first result: the addresses of what it uses, those of its regions' terminators included."""


MERGE = "func.func(cse)"


def merge_equal(module: ir.Module, memory: Memory) -> list[ir.Operation]:
    """Merge equal ops and drop dead ones; gives the ops to look at again."""
    copy = module.operation.clone(ip=False)     # not into what is being built
    before = modules.bytecode(copy)
    modules.run_passes(copy, MERGE)
    if modules.bytecode(copy) == before:    # as nearly always: then the ops need not be looked through
        return []
    using = uses(module.operation)
    modules.run_passes(module, MERGE)
    memory.clear()
    return touched(module.operation, using)


def uses(root: ir.Operation) -> Uses:
    """What every op in `root` uses now."""
    return {hash(op.results[0]): _used_by(op) for op in inside(root) if len(op.results)}


def _used_by(op: ir.Operation) -> tuple[int, ...]:
    found = [hash(value) for value in op.operands]
    for region in op.regions:
        for block in region:
            found += [hash(value) for value in block.operations[len(block.operations) - 1].operands]
    return tuple(found)


def touched(root: ir.Operation, before: Uses) -> list[ir.Operation]:
    """The ops to look at again, given `uses(root)` from before the pass."""
    live: dict[int, ir.Value] = {}
    changed: dict[int, ir.Operation] = {}
    left = dict(before)
    for op in inside(root):
        results = list(op.results)
        if not results:
            continue
        key = hash(results[0])
        if left.pop(key, None) != _used_by(op):
            changed[key] = op
        for result in results:
            live[hash(result)] = result
    for op in list(changed.values()):
        changed.update(_readers(op, 2))
    for used in {value for erased in left.values() for value in erased if value in live}:
        owner = live[used].owner.operation
        changed[hash(owner.results[0])] = owner
        changed.update(_readers(owner, 1))
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
