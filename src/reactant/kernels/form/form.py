"""The structured form of a kernel: what `counted` leaves, and tensors, the native path and the interpreter read.

One MLIR module with one public `func.func @kernel`, beside it `memref.global`s and private declarations.

    func.func @kernel(%a: memref<?xf32> {reactant.name = "a", ...}, %n: i32 {reactant.name = "n"})
        attributes {gpu.kernel, reactant.grid = array<i64: 4, 1, 1>, reactant.block = array<i64: 32, 1, 1>}

*Function.* It returns nothing and is one thread: launched for every thread of `reactant.block` of every block of
`reactant.grid` (both x, y, z). Its body is one region of structured control flow, one block each.

*Arguments*, one per parameter of the record, in its order. Memory is a flat `memref<?xT>` (row-major, offset 0, the
default memory space); two of them never alias. `reactant.elements` (i64) is the number of T it holds, `reactant.shape`
(array<i64>) the record's shape as a hint, `reactant.dtype` (string) the record's NumPy type, `reactant.constant` (unit)
says that nothing is stored. T is the type of the record unless the kernel looks at the memory otherwise:
    complex numbers   T is the float type; elements 2k and 2k+1 are real and imaginary part (`elements` is doubled)
    booleans          i8
    records, vectors  T is the float type where every access has it, else the integer type of the smallest piece
    reinterpreted     same size: T is the record's type and values pass `arith.bitcast`; other sizes: T is the integer
                      type of the smallest piece, and wider values are put together by shifts (little endian)
so T's size always divides the record's item size or is a multiple of it, and the memory is the same bytes: callers
view, never convert. Scalars are integers (signless) and floats as in the record; booleans are i8.

*Threads.* `gpu.thread_id`, `gpu.block_id` (type index). Sizes of grid and block are constants, and the lane is
arithmetic: no `gpu.block_dim`, `gpu.grid_dim`, `gpu.lane_id`. Warps are 32 consecutive threads of the block, x fastest.

*Memory made by the kernel*, all at the top of the function (static shapes, rank 1):
    shared   `memref.alloca : memref<NxT, #gpu.address_space<workgroup>>`, one per block, uninitialised
    local    `memref.alloca : memref<NxT>`, one per thread, uninitialised
    tables   `memref.get_global` of a constant, initialised `memref.global`
`reactant.shape` on an alloca is the shape in the source, as a hint. Accesses: `memref.load`, `memref.store` (one index,
of type `index`), `memref.atomic_rmw`, `memref.generic_atomic_rmw`; both atomics return the value *before* (as their
lowering to LLVM does).

*Control flow.* `scf.for` (index typed, positive constant step, carried values), `scf.while` (any), `scf.if`,
`scf.index_switch`. No cf but `cf.assert` (of checked launches), no early exit; `scf.execute_region` never.

*Values.* `arith`, `math` on i1, i8, i16, i32, i64 (i128 where such numbers are divided or become floats), f16, bf16,
f32, f64, index. Integers wrap; `overflow<nsw>`/`<nuw>` and `nneg` are promises, as in LLVM. `undef` and `poison` are
zero.

*Between threads.* `gpu.barrier`: every thread of the block that has not returned arrives at some barrier; memory of
the block and global memory agree after it. `gpu.shuffle` of i32, i64, f32, f64: a lane outside the segment keeps its
own value. Everything else is a `func.call` of a private declaration named in `CALLS`; so is mathematics that the math
dialect lacks.

*Locations* are `loc("file":line:column)` of the kernel's source on every op, wherever the LLVM IR has them.
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.errors import ReactantError, Span
from reactant.ir.locations import file_and_line

CALLS = {
    "reactant.barrier.count": "(i32 predicate) -> i32: block barrier; how many threads' predicates are not zero",
    "reactant.barrier.and": "(i32 predicate) -> i32: block barrier; 1 if all predicates are not zero",
    "reactant.barrier.or": "(i32 predicate) -> i32: block barrier; 1 if any predicate is not zero",
    "reactant.barrier.warp": "(i32 mask): barrier of the lanes in mask",
    "reactant.barrier.grid": "(): barrier of all threads of all blocks",
    "reactant.vote.ballot": "(i32 mask, i1) -> i32: bit of each lane in mask whose predicate holds",
    "reactant.vote.any": "(i32 mask, i1) -> i1",
    "reactant.vote.all": "(i32 mask, i1) -> i1",
    "reactant.vote.uni": "(i32 mask, i1) -> i1: all predicates are the same",
    "reactant.match.any.i32": "(i32 mask, i32 value) -> i32: lanes in mask that hold the same value",
    "reactant.match.any.i64": "(i32 mask, i64 value) -> i32",
    "reactant.match.all.i32": "(i32 mask, i32 value) -> i32: mask if all lanes in it hold the same value, else 0",
    "reactant.match.all.i64": "(i32 mask, i64 value) -> i32",
    "reactant.activemask": "() -> i32: the lanes of the warp that are here",
    "lgamma": "(f64) -> f64, C's", "lgammaf": "(f32) -> f32, C's",
    "tgamma": "(f64) -> f64, C's", "tgammaf": "(f32) -> f32, C's",
    "j0": "(f64) -> f64, C's", "j1": "(f64) -> f64, C's", "y0": "(f64) -> f64, C's", "y1": "(f64) -> f64, C's",
    "j0f": "(f32) -> f32, C's", "j1f": "(f32) -> f32, C's", "y0f": "(f32) -> f32, C's", "y1f": "(f32) -> f32, C's",
    "jn": "(i32, f64) -> f64, C's", "yn": "(i32, f64) -> f64, C's",
    "jnf": "(i32, f32) -> f32, C's", "ynf": "(i32, f32) -> f32, C's",
    "nextafter": "(f64, f64) -> f64, C's", "nextafterf": "(f32, f32) -> f32, C's",
    "remainder": "(f64, f64) -> f64, C's", "remainderf": "(f32, f32) -> f32, C's",
    "erfinv": "(f64) -> f64: inverse of erf", "erfinvf": "(f32) -> f32: inverse of erf",
    "erfcinv": "(f64) -> f64: inverse of erfc", "erfcinvf": "(f32) -> f32: inverse of erfc",
    "normcdfinv": "(f64) -> f64: inverse of the normal distribution", "normcdfinvf": "(f32) -> f32",
    "erfcx": "(f64) -> f64: exp(x*x)*erfc(x)", "erfcxf": "(f32) -> f32",
}
"""Functions that `func.call` may name: signature and meaning. Those named `reactant.*` are collective."""

OPERATIONS = frozenset({
    "gpu.thread_id", "gpu.block_id", "gpu.barrier", "gpu.shuffle",
    "memref.alloca", "memref.get_global", "memref.load", "memref.store", "memref.atomic_rmw",
    "memref.generic_atomic_rmw", "memref.atomic_yield", "scf.for", "scf.while", "scf.if", "scf.index_switch",
    "scf.condition", "scf.yield", "func.call", "func.return", "cf.assert",
})
"""Operations of the form besides those of `arith` and `math`."""


def kernel_of(module: ir.Module) -> ir.Operation:
    """The kernel's function."""
    for op in module.body.operations:
        if op.operation.name == "func.func" and op.attributes["sym_name"].value == "kernel":
            return op.operation
    raise ReactantError("The module holds no function @kernel.",
                        hint="The form of kernels is described in docs/kernels.md.", code="not-interpretable")


def launch_of(module: ir.Module) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """(grid, block) of the launch."""
    function = kernel_of(module)
    grid, block = (tuple(int(x) for x in ir.DenseI64ArrayAttr(function.attributes[f"reactant.{name}"]))
                   for name in ("grid", "block"))
    return grid, block  # type: ignore[return-value]


def line_of(op: ir.Operation) -> str:
    """`file:line` of the kernel's source that op came from, or nothing: "-" is MLIR's name for the text it parsed."""
    found = file_and_line(op.location)
    return f"{found[0]}:{found[1]}" if found and found[0] != "-" else ""


def span_of(op: ir.Operation) -> Span | None:
    """The line of the kernel's source that op came from."""
    found = file_and_line(op.location)
    return Span.at(found) if found and found[0] != "-" else None


def violations(module: ir.Module) -> list[str]:
    """What in the module is not of the structured form; empty when it is."""
    found: list[str] = []

    def visit(op: ir.Operation, depth: int) -> None:
        name = op.name
        if name not in OPERATIONS and not name.startswith(("arith.", "math.")):
            found.append(f"{name} {line_of(op)}".strip())
        if name == "memref.alloca" and depth:
            found.append(f"memref.alloca inside {op.parent.name}")
        if name == "func.call" and op.attributes["callee"].value not in CALLS:
            found.append(f"call of {op.attributes['callee'].value} {line_of(op)}".strip())
        for region in op.regions:
            if len(region.blocks) > 1:
                found.append(f"{name} with several blocks")
            for block in region.blocks:
                for inner in block.operations:
                    visit(inner.operation, depth + 1)

    function = kernel_of(module)
    for attribute in ("reactant.grid", "reactant.block"):
        if attribute not in function.attributes:
            found.append(f"no attribute {attribute}")
    if len(function.regions[0].blocks) != 1:
        return [*found, "unstructured control flow"]
    for op in function.regions[0].blocks[0].operations:
        visit(op.operation, 0)
    return found
