"""Shared memory that is set, and set again under a condition, is set once, to what the condition chooses.

    tile[t] = 0; if (i < n) tile[t] = x[i];     ->      tile[t] = i < n ? x[i] : 0;

So both ways of staging a tile with an edge become the same tensor program. `join_guards` comes before: nested
conditions are one, `if (a) if (b) ...` with the indices that b takes in between.
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir.context import building
from reactant.kernels.form.form import kernel_of

ACCESSES = frozenset(("memref.load", "memref.store", "memref.atomic_rmw", "memref.generic_atomic_rmw"))
INDICES = frozenset(f"arith.{name}" for name in (
    "constant", "addi", "subi", "muli", "andi", "ori", "xori", "cmpi", "select", "index_cast", "extsi", "extui",
    "trunci"))
"""What may be computed whether or not it is needed."""


def join_guards(module: ir.Module) -> ir.Module:
    """Change the module's kernel: MLIR's clean-up joins conditions with nothing in between."""
    def visit(op: ir.Operation) -> ir.WalkResult:
        inside = [o.operation for o in op.regions[0].blocks[0].operations] if op.name == "scf.if" else []
        if len(inside) > 2 and inside[-2].name == "scf.if" and all(o.name in INDICES for o in inside[:-2]):
            for index in inside[:-2]:
                index.move_before(op)
        return ir.WalkResult.ADVANCE
    kernel_of(module).walk(visit, ir.WalkOrder.POST_ORDER)
    return module


def choose_stores(module: ir.Module) -> ir.Module:
    """Change the module's kernel."""
    with building():
        if "gpu.address_space<workgroup>" in str(module):
            _block(kernel_of(module).regions[0].blocks[0])
    return module


def _block(block: ir.Block) -> None:
    last: dict[ir.Value, ir.Operation] = {}         # the store that a memory's element has, not looked at since
    for op in [o.operation for o in block.operations]:
        for region in op.regions:
            for inner in region.blocks:
                _block(inner)
        if op.name == "memref.store":
            last[op.operands[1]] = op
            continue
        touched, meets = _touched(op)
        if op.name == "scf.if" and not meets and (again := _stored_again(op, last)) is not None:
            memory = again.operands[1]
            last[memory] = _chosen(op, last[memory], again)
            touched.discard(memory)
        last = {} if meets else {memory: store for memory, store in last.items() if memory not in touched}


def _touched(op: ir.Operation) -> tuple[set[ir.Value], bool]:
    """The memories that an op accesses, and whether threads meet in it."""
    memories: set[ir.Value] = set()
    meets = False

    def visit(inner: ir.Operation) -> ir.WalkResult:
        nonlocal meets
        if inner.name in ACCESSES:
            memories.update(v for v in inner.operands if isinstance(v.type, ir.MemRefType))
        meets = meets or inner.name in ("gpu.barrier", "gpu.shuffle", "func.call", "cf.assert")
        return ir.WalkResult.ADVANCE
    op.walk(visit)
    return memories, meets


def _stored_again(op: ir.Operation, last: dict[ir.Value, ir.Operation]) -> ir.Operation | None:
    """The store of an `if` without results into the element of shared memory that was just set, where it is its only
    access to that memory."""
    if len(op.results) or any(len(inner.operations) > 1 for inner in op.regions[1].blocks):
        return None
    inside = [o.operation for o in op.regions[0].blocks[0].operations]
    for store in inside:
        if store.name != "memref.store" or "workgroup" not in str(store.operands[1].type):
            continue
        memory, index = store.operands[1], store.operands[2]
        others = [o for o in inside if o != store and memory in _touched(o)[0]]
        if memory in last and last[memory].operands[2] == index and not others:
            return store
    return None


def _chosen(op: ir.Operation, before: ir.Operation, again: ir.Operation) -> ir.Operation:
    """One store of what the `if`, now with a result, gives; it stands in the place of the three."""
    value, memory, index = again.operands
    with ir.InsertionPoint(op), op.location:
        chosen = ir.Operation.create("scf.if", [value.type], [op.operands[0]], regions=2)
        then, other = (ir.Block.create_at_start(region, []) for region in chosen.regions)
        for inner in list(op.regions[0].blocks[0].operations)[:-1]:
            then.append(inner)
        with ir.InsertionPoint(then):
            ir.Operation.create("scf.yield", [], [value])
        with ir.InsertionPoint(other):
            ir.Operation.create("scf.yield", [], [before.operands[0]])
    with ir.InsertionPoint(op), again.location:
        store = ir.Operation.create("memref.store", [], [chosen.results[0], memory, index])
    for dead in (again, op, before):
        dead.erase()
    return store
