"""What XLA:CPU computes again and again.

XLA fuses all element-wise operations before a concatenation into it. Elsewhere it computes a value that is used twice
once; there, once for each way from it to what is put together. Two results of one step that both go into the next one
double the ways in every step: `a, b = (a + b) / 2, (a - b) / 2` of 5 rows of 2,000 float64, 40 times, then stacked,
takes 83 us up to the sum of the rows, and 172,000 stacked; 160 times on single numbers, it is not compiled in minutes.
The same behind what is reversed: `v = sin(v) * v[::-1]` ten times, thrice differentiated, is not compiled in minutes.
"""
from __future__ import annotations

from collections.abc import Iterable

from jaxlib.mlir import ir

from reactant.ir import ops, types

CONCATENATE, REVERSE = "stablehlo.concatenate", "stablehlo.reverse"
STORED = {"stablehlo." + name for name in (
    "exponential", "exponential_minus_one", "log", "log_plus_one", "sine", "cosine", "tan", "tanh", "logistic", "power",
    "atan2", "sqrt", "rsqrt", "cbrt")} | {op for op in ops.ELEMENTWISE if op.startswith("chlo.")}
"""What XLA computes once where it is used twice, for being dear."""
FUSED = ops.ELEMENTWISE - STORED | {"stablehlo." + name for name in (
    "broadcast_in_dim", "reshape", "slice", "transpose", "reverse", "dynamic_slice", "concatenate")}
MOST = 1e12
"""Ways that are counted."""
EACH = 0.012
"""ns of an operation on a number (the example's 20 steps take 210 us, 25 take 1,000 to 4,900)."""
STORING, KERNEL, CLEARLY = 0.3, 300, 4
"""ns of an operation on a number, and of an operation, where nothing is fused, and how many times as long fusions have
to take for a program to be compiled without: 40 steps of the example take 94 to 170 ms with fusions and 0.4 without,
on rows of 100,000 numbers 5 s and 60 ms; a lattice of 96 x 96, estimated at 1.8 and 2.2 ms, 0.3 and 1.2."""


def nanoseconds(operations: Iterable[ir.Operation]) -> float:
    """About how long XLA computes what it has computed already, for the concatenations and reversals among operations,
    which come in the order of the program."""
    ways: dict[ir.Value, float] = {}
    total, own = 0.0, 0
    for op in operations:
        if op.name not in FUSED:
            continue
        found = [ways.get(value, 0.0) for value in op.operands]
        if op.name == "stablehlo.select":
            found = [max(found[0], found[1] + found[2])]        # what a condition reads is often what it chooses from
        if op.name in (CONCATENATE, REVERSE):
            total += EACH * sum(max(count - own, 0.0) * types.size(types.shape_of(value))
                                for count, value in zip(found, op.operands, strict=True))
        if op.name != CONCATENATE:
            ways[op.results[0]] = min(1 + sum(found), MOST)     # what is put together is stored
            own += 1
    return total


def is_better_apart(operations: list[ir.Operation]) -> bool:
    """Whether XLA is faster where each operation is a kernel of its own."""
    repeated = nanoseconds(operations)
    return repeated > 0 and repeated > CLEARLY * sum(
        KERNEL + STORING * types.size(types.shape_of(op.results[0])) for op in operations)
