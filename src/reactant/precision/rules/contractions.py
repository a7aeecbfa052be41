"""Products of matrices, and convolutions as such."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, is_complex, shape_and_dtype, size
from reactant.precision import contraction, entries
from reactant.precision.conversion import Conversion, declare
from reactant.precision.values import Value, WideComplex
from reactant.precision.wide import Wide


@declare("dot_general")
def dot_general(c: Conversion, op: ir.Operation, x: Value, y: Value) -> Value:
    """By slices, or as sums of all products where there are few."""
    numbers = attr.decode(op.attributes["dot_dimension_numbers"])
    shape, dtype = shape_and_dtype(op.results[0].type)
    left = _arranged(_wide(c, x), numbers.batching_dims[0], numbers.contracting_dims[0], last=True)
    right = _arranged(_wide(c, y), numbers.batching_dims[1], numbers.contracting_dims[1], last=False)
    found = contraction.product(left, right).each(lambda limb: ops.reshape(limb, shape))
    if dtype in (c.source, c.complex):
        return found
    if isinstance(found, Wide) and not is_complex(dtype):
        return entries.narrowed(found, dtype)
    raise c.refusal(op, f"a product of them of {dtype} numbers has no form")


def _wide(c: Conversion, x: Value) -> Wide | WideComplex:
    if not isinstance(x, ir.Value):
        return x
    if is_complex(dtype_of(x)):
        return WideComplex(*(entries.split(part, c.limb, c.count) for part in (ops.real(x), ops.imag(x))))
    return entries.split(x, c.limb, c.count) if dtype_of(x).kind not in "biu" else \
        entries.from_integer(x, c.limb, c.count)


def _arranged(x: Wide | WideComplex, batch: tuple[int, ...], summed: tuple[int, ...], last: bool) -> Wide | WideComplex:
    """As (batch, free, summed), or (batch, summed, free)."""
    shape = x.shape
    free = tuple(d for d in range(len(shape)) if d not in (*batch, *summed))
    order = (*batch, *free, *summed) if last else (*batch, *summed, *free)
    extents = [size([shape[d] for d in dims]) for dims in ((batch, free, summed) if last else (batch, summed, free))]
    return x.each(lambda limb: ops.reshape(ops.transpose(limb, order), extents))
