"""Fourier transforms."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import shape_and_dtype, size
from reactant.precision import transforms
from reactant.precision.conversion import Conversion, declare
from reactant.precision.values import WideComplex, conjugate
from reactant.precision.wide import Wide


@declare("fft")
def fft(c: Conversion, op: ir.Operation, x: Wide | WideComplex) -> Wide | WideComplex | None:
    """Dimension by dimension; of real numbers what is not redundant. Empty arrays stay as they are."""
    kind = attr.enumerator(op.attributes["fft_type"])
    lengths = tuple(attr.decode(op.attributes["fft_length"]))
    shape = shape_and_dtype(op.results[0].type)[0]
    if not size(shape) or not size(x.shape) or c.is_coarse:
        return None
    last = len(shape) - 1
    others = range(last - len(lengths) + 1, last)
    if kind == "RFFT":
        found = _along(x, last, False).each(
            lambda limb: ops.slice(limb, [0] * len(shape), (*x.shape[:-1], shape[-1])))
        for d in others:
            found = _along(found, d, False)
        return found
    if kind == "IRFFT":
        for d in others:
            x = _along(x, d, True)
        assert isinstance(x, WideComplex)
        return _along(_whole(x, lengths[-1]), last, True).re
    for d in (*others, last):
        x = _along(x, d, kind == "IFFT")
    return x


def _along(x: Wide | WideComplex, dimension: int, inverse: bool) -> WideComplex:
    """The transform of one dimension."""
    shape = x.shape
    order = [*(d for d in range(len(shape)) if d != dimension), dimension]
    moved = tuple(shape[d] for d in order)
    back = sorted(range(len(shape)), key=order.__getitem__)
    rows = x.each(lambda limb: ops.reshape(ops.transpose(limb, order), (size(moved[:-1]), moved[-1])))
    return transforms.transform(rows, inverse).each(lambda limb: ops.transpose(ops.reshape(limb, moved), back))


def _whole(x: WideComplex, n: int) -> WideComplex:
    """All numbers of a transform of n real ones, of which the first half is told: the others are conjugates. The
    first, and the middle one of an even number, are taken as real."""
    *lead, told = x.shape

    def cut(v: WideComplex, start: int, stop: int) -> WideComplex:
        return v.each(lambda limb: ops.slice(limb, (*[0] * len(lead), start), (*lead, stop)))
    x = cut(x, 0, min(told, n // 2 + 1))
    real = [0, n // 2] if n % 2 == 0 else [0]
    place = ops.iota(x.shape, "int32", len(lead))
    alone = ops.compare(place, ops.splat(real[0], place), "EQ")
    for k in real[1:]:
        alone = ops.or_(alone, ops.compare(place, ops.splat(k, place), "EQ"))
    x = WideComplex(x.re, x.im.each(lambda limb: ops.select(alone, ops.splat(0.0, limb), limb)))
    mirrored = conjugate(cut(x, 1, (n + 1) // 2)).each(lambda limb: ops.reverse(limb, (len(lead),)))
    others = iter(mirrored.limbs)
    return x.each(lambda limb: ops.concatenate([limb, next(others)], len(lead)))
