"""Which ops of a module the loop nests can be made of."""
from __future__ import annotations

from functools import cache

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir.types import dtype_of, shape_and_dtype, shape_of, size
from reactant.loopnests.emission import by_columns, numbers
from reactant.loopnests.emission.factorizations import is_small
from reactant.loopnests.emission.scans import is_scan

MOVES = {"broadcast_in_dim", "reshape", "transpose", "slice", "reverse", "pad", "concatenate", "dynamic_slice",
         "gather", "iota", "constant", "dynamic_update_slice"}
SMALL_PRODUCT, SMALL_COMPLEX_PRODUCT = 1 << 15, 1 << 12
"""Multiplications of a product that loops do as well as XLA's library (complex ones of 24 x 24: 15 us and 9)."""
NARROW, SHALLOW = 4, 8
"""Rows or columns, and elements summed, up to which they do at any size."""
PIECES = 64
"""Operands of a concatenation: each element is chosen from all of them."""


def compiles(op: ir.Operation) -> bool:
    """Whether an op, its regions included, has a form as loops."""
    kind = op.name.removeprefix("stablehlo.")
    if not all(_held(v.type) for v in op.operands) or not all(_held(v.type) for v in op.results):
        return False
    if kind in ("while", "if", "case"):
        return all(compiles(inner.operation) for region in op.regions for block in region for inner in block.operations
                   if inner.operation.name != "stablehlo.return")
    if kind == "reduce_precision":
        bits = {4: (8, 23), 8: (11, 52)}.get(dtype_of(op.results[0]).itemsize)
        return dtype_of(op.results[0]).kind == "f" and bits == tuple(
            attr.decode(op.attributes[n]) for n in ("exponent_bits", "mantissa_bits"))
    if kind == "concatenate" and len(op.operands) > PIECES:
        return False
    if kind in MOVES:
        return kind != "iota" or dtype_of(op.results[0]).kind != "c"
    if kind == "reduce":
        return _scalar_body(op)
    if kind == "reduce_window":
        return is_scan(op) and _scalar_body(op)
    if kind == "scatter":
        return len(op.results) == 1 and _scalar_body(op)
    if kind == "dot_general":
        return product_is_small(op)
    if kind == "custom_call":
        return is_small(op) or by_columns.possible(op)
    return _elementwise(op, kind)


@cache
def _held(type_: ir.Type) -> bool:
    """Whether loops can hold values of a type."""
    if not isinstance(type_, ir.RankedTensorType) or not ir.RankedTensorType(type_).has_static_shape:
        return False
    shape, dtype = shape_and_dtype(type_)
    return dtype in numbers.DTYPES and size(shape) > 0


def _elementwise(op: ir.Operation, kind: str) -> bool:
    if len(op.results) != 1 or not numbers.supported(
            kind, tuple([dtype_of(o) for o in op.operands]), dtype_of(op.results[0])):
        return False
    return kind != "compare" or "compare_type" not in op.attributes \
        or attr.decode(op.attributes["compare_type"]) != "TOTALORDER"


def _scalar_body(op: ir.Operation) -> bool:
    for inner in op.regions[0].blocks[0].operations:
        name = inner.operation.name
        if name in ("stablehlo.return", "stablehlo.constant"):
            continue
        if not _elementwise(inner.operation, name.removeprefix("stablehlo.")):
            return False
    return True


def product_is_small(op: ir.Operation) -> bool:
    """Whether a product is small or narrow enough that loops do it as well as the library."""
    _, rows, columns, depth = product_extents(op)
    most = SMALL_COMPLEX_PRODUCT if dtype_of(op.results[0]).kind == "c" else SMALL_PRODUCT
    return min(rows, columns) <= NARROW or depth <= SHALLOW or rows * columns * depth <= most


def product_extents(op: ir.Operation) -> tuple[int, int, int, int]:
    """(batch, rows, columns, contracted) of a dot_general."""
    dims = attr.decode(op.attributes["dot_dimension_numbers"])
    left, right = (shape_of(v) for v in op.operands)
    batch = size([left[d] for d in dims.batching_dims[0]])
    depth = size([left[d] for d in dims.contracting_dims[0]])
    rows = size([n for d, n in enumerate(left) if d not in (*dims.batching_dims[0], *dims.contracting_dims[0])])
    columns = size([n for d, n in enumerate(right) if d not in (*dims.batching_dims[1], *dims.contracting_dims[1])])
    return batch, rows, columns, depth
