"""Which way a launch runs faster, by measured rates.

A tensor program is fused with what is around it, simplified and differentiated with it: native code has to be clearly
better. Two kinds of kernels are: loops in which every thread turns as often as its own data ask, for as many turns as
the longest (rows of a sparse matrix), and halos that a simplified program still puts together piece by piece.

The rates come from `benchmarks/kernels.py` and single launches of its kernels (two cores, jax 0.10.2). Tensor / native,
milliseconds: hotspot with a shared halo 23/4, sparse product 6/2; heat 2-D 2/4, WENO5 1.3/7, Mandelbrot 1.5/11, n-body
1.0/1.7, convolution 9/16, tiled product 3/13, deposit 2/11, k-means 1.0/1.7. Kernels that were not looked at for this:
tridiagonal systems 7/17, sparse products of longer rows 6/1.4, scatter of elements 2/13, rows of softmax 12/11.
"""
from __future__ import annotations

from functools import cache

from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.ir.induction import trips
from reactant.ir.types import shape_of, size
from reactant.kernels.bases import constant_of
from reactant.kernels.form import kernel_of
from reactant.kernels.record import KernelRecord
from reactant.rewrite import RuleSet, registry

ELEMENT = 0.03e-9
"""Seconds for one element of an op that is fused with others."""
PER_ELEMENT = {
    "dynamic_update_slice": 1.2e-9, "gather": 1e-9, "transpose": 0.3e-9, "pad": 0.3e-9, "concatenate": 0.1e-9,
    "sort": 20e-9, "exponential": 2e-9, "log": 2e-9, "power": 5e-9, "sine": 4e-9, "cosine": 4e-9, "tanh": 3e-9,
    "atan2": 6e-9, "divide": 0.2e-9, "sqrt": 0.2e-9, "remainder": 0.5e-9,
}
FREE = {"constant", "reshape", "iota", "broadcast_in_dim", "slice", "return", "bitcast_convert", "convert"}
SCATTERED = 4e-9
"""Seconds for one element of a scatter's updates."""
PRODUCT = 0.05e-9
"""For one multiplication of a matrix product."""
IN_A_LOOP = 0.2e-6
"""For one op of one turn of a loop, whatever its size."""
NATIVE_OPERATION, NATIVE_DIVERGENT = 0.06e-9, 0.15e-9
"""For one operation of one thread; inside a loop whose turns are not the same for all threads."""
NATIVE_ATOMIC, NATIVE_FUNCTION = 8e-9, 3e-9
"""For an atomic operation; for an exponential or the like."""
CHEAP_MATHEMATICS = {"math.sqrt", "math.absf", "math.absi", "math.fma", "math.floor", "math.ceil", "math.copysign"}
UNKNOWN_TURNS = 64
DIVERGENT = 2
"""Turns of the longest thread over those of the average one."""
MARGIN = 2
"""Native code has to be this much faster: it is a wall to fusion and differentiation."""
LEAST = 1e-3
"""Seconds below which nothing is worth a wall."""
MOST_OPERATIONS = 4000
"""Tensor programs with more operations take too long to compile."""
ROUNDS = 8


def reason_for_native(record: KernelRecord, structured: ir.Module, raised: ir.Module) -> str | None:
    """Why native code is the better choice; None where the tensor program is."""
    operations = modules.size(raised)
    if operations > MOST_OPERATIONS:
        return f"as a tensor program it would have {operations} operations"
    native = native_seconds(record, structured)
    if tensor_seconds(raised) <= max(MARGIN * native, LEAST):
        return None     # and it is to become simpler yet
    tensor = tensor_seconds(simplified(raised))
    if tensor <= max(MARGIN * native, LEAST):
        return None
    return f"estimated at {1e3 * tensor:.3g} ms as a tensor program, {1e3 * native:.3g} ms natively"


# ---- tensor programs -------------------------------------------------------------------------------------------

@cache
def _rules() -> RuleSet:
    import reactant.simplify  # noqa: F401 - declares the rules
    return RuleSet(tuple(rule for family in registry.families() if not family.startswith("target")
                         for rule in registry.rules(family) if rule.changes is None and rule.assumes is None))


def simplified(module: ir.Module) -> ir.Module:
    """A copy as the optimiser will make it, roughly."""
    made = modules.clone(module)
    for _ in range(ROUNDS):
        modules.run_passes(made, "func.func(cse)")
        if not _rules().apply(made.operation):
            break
    return made


def tensor_seconds(module: ir.Module) -> float:
    """An estimate for a module's main."""
    return _of_block(modules.function(module).regions[0].blocks[0], inside=False)


def _of_block(block: ir.Block, inside: bool) -> float:
    total = 0.0
    for each in block.operations:
        op = each.operation
        if op.name == "stablehlo.while":
            total += _turns_of(op) * sum(_of_block(region.blocks[0], True) for region in op.regions)
        elif op.name in ("stablehlo.if", "stablehlo.case"):
            total += max(_of_block(region.blocks[0], inside) for region in op.regions)
        else:
            total += _of_operation(op, inside) + (IN_A_LOOP if inside else 0.0)
    return total


def _of_operation(op: ir.Operation, inside: bool) -> float:
    name = op.name.removeprefix("stablehlo.")
    if not len(op.results) or name in FREE or not isinstance(op.results[0].type, ir.RankedTensorType):
        return 0.0
    elements = size(shape_of(op.results[0]))
    if name == "dynamic_update_slice" and (inside or _in_place(op.operands[0])):
        return PER_ELEMENT["concatenate"] * size(shape_of(op.operands[1]))
    if name == "reduce":
        return ELEMENT * size(shape_of(op.operands[0]))
    if name == "scatter":
        return SCATTERED * size(shape_of(op.operands[-1]))
    if name == "dot_general":
        left = size(shape_of(op.operands[0])) * size(shape_of(op.operands[1]))
        return PRODUCT * (left * max(elements, 1)) ** 0.5       # exact where nothing is a batch
    return PER_ELEMENT.get(name, ELEMENT) * elements


def _in_place(array: ir.Value) -> bool:
    """Whether an array that is updated is in memory already, or has to be copied on the native way too."""
    if isinstance(array.owner, ir.Block):
        return True
    return array.owner.name == "stablehlo.dynamic_update_slice" and sum(1 for _ in array.uses) == 1


def _turns_of(loop: ir.Operation) -> float:
    """Turns of a loop; where data decide, it goes on until the last of many threads is done."""
    known = trips(loop)
    return UNKNOWN_TURNS * DIVERGENT if known is None else known.most


# ---- native code -----------------------------------------------------------------------------------------------

def native_seconds(record: KernelRecord, structured: ir.Module) -> float:
    """An estimate for the kernel, thread by thread."""
    return record.threads * _of_thread(kernel_of(structured), 1, NATIVE_OPERATION)


def _of_thread(op: ir.Operation, turns: int, each: float) -> float:
    """Seconds of what one thread executes."""
    total = 0.0
    for region in op.regions:
        for block in region:
            for inner in block.operations:
                kind = inner.operation
                if "atomic" in kind.name:
                    total += turns * NATIVE_ATOMIC
                elif kind.name.startswith("math.") and kind.name not in CHEAP_MATHEMATICS:
                    total += turns * NATIVE_FUNCTION
                elif kind.name != "arith.constant":
                    total += turns * each
                if len(kind.regions):
                    own = _turns(kind)
                    total += _of_thread(kind, turns * (UNKNOWN_TURNS if own is None else own),
                                        NATIVE_DIVERGENT if own is None else each)
    return total


def _turns(op: ir.Operation) -> int | None:
    """Turns of a loop, 1 for other ops; None where they depend on data."""
    if op.name == "scf.while":
        return None
    if op.name != "scf.for":
        return 1
    low, high, step = (constant_of(v) for v in list(op.operands)[:3])
    if low is None or high is None or not step:
        return None
    return max(0, -(-(high - low) // step))
