"""Estimated flops and bytes of one run of a module, from shapes alone.

Counted as if nothing were fused: every operation reads its operands and writes its results once. Loops count with their
trip count where it is known (else once), conditionals with their dearest branch, calls with their callee. Flops follow
XLA's convention: one per element of an elementwise result, two per multiply-add of a product, 5 n log2 n for an FFT.
"""
from __future__ import annotations

from collections.abc import Iterable
from math import log2

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.ir import attributes as attr
from reactant.ir import modules
from reactant.ir.induction import trips
from reactant.ir.ops import target_of
from reactant.ir.types import dtype_of, shape_and_dtype, size
from reactant.support.records import dataclass

FREE = {"stablehlo.constant", "stablehlo.reshape", "stablehlo.return", "func.return", "stablehlo.tuple",
        "stablehlo.get_tuple_element", "stablehlo.optimization_barrier", "stablehlo.iota", "stablehlo.bitcast_convert"}
"""Ops that cost neither flops nor bytes: no data moves, or it is made where it is used."""
MOVES = {"stablehlo.transpose", "stablehlo.broadcast_in_dim", "stablehlo.slice", "stablehlo.concatenate",
         "stablehlo.pad", "stablehlo.reverse", "stablehlo.gather", "stablehlo.dynamic_slice",
         "stablehlo.dynamic_update_slice", "stablehlo.convert", "stablehlo.copy", "stablehlo.real", "stablehlo.imag",
         "stablehlo.complex"}
"""Ops that move data without arithmetic."""


@dataclass
class Cost:
    flops: float = 0.0
    bytes: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.flops + other.flops, self.bytes + other.bytes)

    def times(self, count: float) -> Cost:
        return Cost(self.flops * count, self.bytes * count)


def estimate(module: ir.Module) -> dict[str, float]:
    """`{"flops": ..., "bytes": ...}` of one run of `@main`."""
    functions = modules.functions(module)
    total = _of_region(functions["main"].regions[0], functions)
    return {"flops": total.flops, "bytes": total.bytes}


def _of_region(region: ir.Region, functions: dict[str, ir.Operation]) -> Cost:
    total = Cost()
    for block in region.blocks:
        for op in block.operations:
            total = total + of_operation(op.operation, functions)
    return total


def of_operation(op: ir.Operation, functions: dict[str, ir.Operation] | None = None) -> Cost:
    """The cost of one op, its regions included."""
    functions = functions or {}
    name = op.name
    if name in FREE:
        return Cost()
    if name == "stablehlo.while":
        iteration = _of_region(op.regions[0], functions) + _of_region(op.regions[1], functions)
        count = trips(op)
        return iteration.times(count.most if count is not None and count.exact else 1)
    if name == "sdy.manual_computation":        # what one device does
        return _of_region(op.regions[0], functions)
    if name in ("stablehlo.if", "stablehlo.case"):
        branches = [_of_region(r, functions) for r in op.regions]
        return max(branches, key=lambda c: (c.flops + c.bytes), default=Cost())
    if name == "func.call":
        callee = functions.get(op.attributes["callee"].value)
        return Cost() if callee is None else _of_region(callee.regions[0], functions)
    return Cost(_flops(op), _bytes(op))


def _tensors(values: Iterable[ir.Value]) -> list[tuple[tuple[int, ...], np.dtype]]:
    return [shape_and_dtype(v.type) for v in values if isinstance(v.type, ir.RankedTensorType)]


def _elements(values: Iterable[ir.Value]) -> int:
    return sum(size(shape) for shape, _ in _tensors(values))


def _nbytes(values: Iterable[ir.Value]) -> float:
    return float(sum(size(shape) * dtype.itemsize for shape, dtype in _tensors(values)))


def _bytes(op: ir.Operation) -> float:
    if op.name in ("stablehlo.slice", "stablehlo.dynamic_slice", "stablehlo.gather"):
        return 2 * _nbytes(op.results)
    if op.name == "stablehlo.dynamic_update_slice":
        return 2 * _nbytes([op.operands[1]])
    if op.name == "stablehlo.scatter":
        updates = op.operands[len(op.operands) - len(op.results):]
        return 3 * _nbytes(updates)
    return _nbytes(op.operands) + _nbytes(op.results)


def _flops(op: ir.Operation) -> float:
    if op.name in MOVES:
        return 0.0
    if op.name in ("stablehlo.dot_general", "stablehlo.dot"):
        return 2.0 * _elements(op.results) * _contracted(op)
    if op.name == "stablehlo.convolution":
        kernel = shape_and_dtype(op.operands[1].type)[0]
        numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
        return 2.0 * _elements(op.results) * size(kernel) / max(1, kernel[numbers.kernel_output_feature_dimension])
    if op.name in ("stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.map", "stablehlo.scatter",
                   "stablehlo.select_and_scatter"):
        return _per_element(op) * _applications(op)
    if op.name == "stablehlo.sort":
        count = _elements(op.operands[:1])
        return float(count * max(1.0, log2(max(count, 2))))
    if op.name == "stablehlo.fft":
        count = _elements(op.results)
        return 5.0 * count * log2(max(size(attr.decode(op.attributes["fft_length"])), 2))
    if op.name == "stablehlo.cholesky":
        n = shape_and_dtype(op.results[0].type)[0][-1]
        return _elements(op.results) * n / 3
    if op.name == "stablehlo.triangular_solve":
        n = shape_and_dtype(op.operands[0].type)[0][-1]
        return float(_elements(op.results) * n)
    if op.name == "stablehlo.abs" and dtype_of(op.operands[0]).kind == "c":
        return float(ABSOLUTE * _elements(op.results))
    if op.name == "chlo.top_k":
        return float(_elements(op.operands) * max(1.0, log2(max(attr.decode(op.attributes["k"]), 2))))
    if op.name == "stablehlo.custom_call":
        return _library_flops(op)
    return float(_elements(op.results))


ABSOLUTE = 8
"""Flops of |z|: the larger part, the quotient of both, its square and one, the root, a product; zero and infinity."""
LAPACK = {"getrf": 2 / 3, "potrf": 1 / 3, "geqrf": 4 / 3, "orgqr": 4 / 3, "ungqr": 4 / 3, "syevd": 9, "heevd": 9,
          "gesdd": 20, "geev": 25}
"""Flops of LAPACK's factorizations over side^3 (rows times columns times the smaller of the two)."""


def _library_flops(op: ir.Operation) -> float:
    """Of a custom call: a LAPACK routine's, for others one per element made."""
    name = target_of(op)
    routine = name[len("lapack_x"):].removesuffix("_ffi") if name.startswith("lapack_") else ""
    if routine == "trsm":
        return float(_elements(op.results) * shape_and_dtype(op.operands[0].type)[0][-1])
    if routine == "gtsv":
        return 6.0 * _elements(op.results[3:4])
    if routine not in LAPACK:
        return float(_elements(op.results))
    shape = shape_and_dtype(op.operands[0].type)[0]
    return LAPACK[routine] * size(shape) * min(shape[-2:])


def _contracted(op: ir.Operation) -> int:
    """Elements summed for each result element of a product."""
    left, right = (size(shape_and_dtype(v.type)[0]) for v in op.operands)
    result = _elements(op.results)
    if not (left and right and result):
        return 0
    shape = shape_and_dtype(op.operands[0].type)[0]
    if op.name == "stablehlo.dot":
        return shape[-1] if shape else 1
    from jaxlib.mlir.dialects import stablehlo
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    return size([shape[d] for d in numbers.lhs_contracting_dimensions])


def _per_element(op: ir.Operation) -> float:
    """Arithmetic ops in a scalar body."""
    block = op.regions[0].blocks[0]
    return float(sum(o.operation.name not in FREE and o.operation.name not in MOVES for o in block.operations)) or 1.0


def _applications(op: ir.Operation) -> float:
    """How often a body runs."""
    count = len(op.results)
    if op.name == "stablehlo.reduce":
        return float(_elements(op.operands[:1]) - _elements(op.results[:1]))
    if op.name == "stablehlo.reduce_window":
        window = attr.decode(op.attributes["window_dimensions"])
        return float(_elements(op.results[:1]) * max(0, size(window) - 1))
    if op.name == "stablehlo.scatter":
        return float(_elements(op.operands[len(op.operands) - count:][:1]))
    return float(_elements(op.results[:1]))
