"""Which groups of ops pay as native code: a table of what was measured, and the sizes from which it holds.

Times of XLA:CPU over ours (jax 0.10.2, two cores, float64, a million elements unless said): loops over arrays 1.4 (what
XLA fuses in place) to 90 (element by element); sine times cosine 20, powers and arctan2 20, exponentials 1.3 to 5;
softmax of rows of 512 4; sums of rows or columns of an argument 6 to 10; scatter-add 6; gather 1.4 to 8; distances and
their least 5. As fast either way: sums, products and selects of whole arrays, stencils, transposes (XLA fuses them
well), so groups of those alone stay. Slower by ours: products of matrices from about 32 x 32 x 32.
"""
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant.ir.types import shape_of, size
from reactant.loopnests.numbers import EXPENSE

LEAST_ELEMENTS = 4096
"""Elements of the biggest array from which a group without loops is worth a call."""
LEAST_MOVED = 1 << 15
"""Elements from which gathers, scatters, pads and reductions are."""
DEAR = {"stablehlo." + name for name, cost in EXPENSE.items() if cost >= 20}
MOVED = {"stablehlo." + name for name in ("gather", "scatter", "reduce", "reduce_window")}
PIECED = {"stablehlo." + name for name in ("pad", "concatenate", "dynamic_update_slice", "select")}
PRODUCT = "stablehlo.dot_general"


def _elements(op: ir.Operation) -> int:
    values = [*op.results, *op.operands] if op.name in MOVED or op.name == PRODUCT else list(op.results)
    return max((size(shape_of(v)) for v in values), default=0)


def pays(ops: Sequence[ir.Operation], outputs: int) -> bool:
    """Whether a group is worth a native call; `outputs`: big arrays that leave it."""
    if any(op.name == "stablehlo.while" for op in ops):
        return True
    biggest = max((_elements(op) for op in ops), default=0)
    if biggest < LEAST_ELEMENTS:
        return False
    if any(op.name in DEAR and _elements(op) >= LEAST_ELEMENTS for op in ops):
        return True
    if biggest < LEAST_MOVED:
        return False
    if any(op.name in MOVED or op.name == PRODUCT for op in ops if _elements(op) >= LEAST_MOVED):
        return True
    pieced = sum(op.name in PIECED and _elements(op) >= LEAST_MOVED for op in ops)
    return pieced > 1 or outputs > 1 and len(ops) > 4
