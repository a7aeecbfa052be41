"""`numpy.fft`: discrete Fourier transforms of any length over any axes.

Transforms over several axes run as one `stablehlo.fft` of up to three dimensions at a time. As in NumPy, single
precision stays single, everything else is computed in double.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays.implements import implements
from reactant.frontends.arrays.tensor import Tensor, is_tensor, wrap
from reactant.frontends.arrays.ufuncs import cast
from reactant.ir import ops
from reactant.ir.types import Shape, dtype_of, real_dtype, shape_of, size

_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


# ---- the transform ---------------------------------------------------------------------------------------------

def _transform(a: Tensor, kind: str, lengths: Sequence[int], axes: Sequence[int], norm: str | None,
               out: Tensor | None = None) -> Tensor:
    """The transform `kind` (FFT, IFFT, RFFT, IRFFT) of `lengths` over distinct `axes`; the real one is the last."""
    for n in lengths:
        if n < 1:
            raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    if norm not in _SWAPPED:
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    if kind == "RFFT" and a.dtype.kind == "c":
        raise TypeError("ufunc 'rfft_n_even' not supported for the input types, and the inputs could not be safely "
                        "coerced to any supported types according to the casting rule ''safe''")
    axes = [np.lib.array_utils.normalize_axis_index(x, a.ndim) for x in axes]
    order = [*(d for d in range(a.ndim) if d not in axes), *axes]
    held = [*lengths[:-1], lengths[-1] // 2 + 1] if kind == "IRFFT" else list(lengths)
    real = np.dtype(np.float32 if a.dtype in (np.float16, np.float32, np.complex64) else np.float64)
    if kind == "IRFFT":
        result = np.result_type(a.real.dtype, 1.0)
    else:
        result = np.result_type(a.dtype, 1j)
    value = _resized(a.value(), dict(zip(axes, held, strict=True)))
    value = ops.transpose(cast(value, real if kind == "RFFT" else np.result_type(real, 1j)), order)
    value = _run(value, kind, lengths)
    value = _scaled(value, kind, int(np.prod(lengths, dtype=np.int64)), norm, np.result_type(a.real.dtype, 1.0))
    return _delivered(cast(ops.transpose(value, tuple(int(d) for d in np.argsort(order))), result), out)


def _resized(value: ir.Value, extents: dict[int, int]) -> ir.Value:
    """Each axis cropped at its end, or filled up with zeros."""
    shape = shape_of(value)
    target = [extents.get(d, n) for d, n in enumerate(shape)]
    value = ops.slice(value, [0] * len(shape), [min(n, t) for n, t in zip(shape, target, strict=True)])
    return ops.pad(value, 0, [0] * len(shape), [max(t - n, 0) for n, t in zip(shape, target, strict=True)])


def _run(value: ir.Value, kind: str, lengths: Sequence[int]) -> ir.Value:
    """The unscaled-forward, scaled-inverse transform over the trailing dimensions, three at most in one op."""
    shape = shape_of(value)
    final = (*shape[:len(shape) - len(lengths)], *_lengths_out(kind, lengths))
    if not size(shape) or not size(final):
        dtype = np.result_type(dtype_of(value), 1j)
        return ops.constant(0, real_dtype(dtype) if kind == "IRFFT" else dtype, final)
    near, far = lengths[-3:], lengths[:-3]
    if kind == "IRFFT":     # the real transform comes last
        return ops.fft(_over_far_axes(value, "IFFT", far, len(near)), kind, near)
    return _over_far_axes(ops.fft(value, kind, near), "FFT" if kind == "RFFT" else kind, far, len(near))


def _lengths_out(kind: str, lengths: Sequence[int]) -> list[int]:
    return [*lengths[:-1], lengths[-1] // 2 + 1] if kind == "RFFT" else list(lengths)


def _over_far_axes(value: ir.Value, kind: str, lengths: Sequence[int], near: int) -> ir.Value:
    """Complex transforms over the dimensions before the `near` last ones, which go in front meanwhile."""
    if not lengths:
        return value
    rank = len(shape_of(value))
    middle = rank - near - len(lengths)
    order = [*range(middle), *range(rank - near, rank), *range(middle, rank - near)]
    moved = _run(ops.transpose(value, order), kind, lengths)
    return ops.transpose(moved, tuple(int(d) for d in np.argsort(order)))


def _scaled(value: ir.Value, kind: str, count: int, norm: str | None, real: np.dtype) -> ir.Value:
    """NumPy's normalisation; StableHLO's is "backward". The factor is rounded to the working precision as NumPy's."""
    inverse = kind in ("IFFT", "IRFFT")
    if norm in (None, "backward") or count == 1:
        return value
    if norm == "ortho":
        factor = float(np.sqrt(count, dtype=real)) if inverse else float(np.reciprocal(np.sqrt(count, dtype=real)))
    else:
        factor = float(count) if inverse else float(np.reciprocal(count, dtype=real))
    return ops.multiply(value, factor)


def _delivered(value: ir.Value, out: Tensor | None) -> Tensor:
    made = Tensor.of_value(value)
    if out is None:
        return made
    if out.shape != made.shape:
        raise ValueError("output array has wrong shape.")
    if not np.can_cast(made.dtype, out.dtype, "same_kind"):
        raise TypeError(f"Cannot cast ufunc 'fft' output from {made.dtype!r} to {out.dtype!r} with casting rule "
                        "'same_kind'")
    out[...] = made
    return out


# ---- one axis --------------------------------------------------------------------------------------------------

def _one_axis(kind: str) -> Callable:
    def transform(a: object, n: int | None = None, axis: int = -1, norm: str | None = None,
                  out: Tensor | None = None) -> Tensor:
        a = wrap(a)
        if n is None:
            n = (a.shape[axis] - 1) * 2 if kind == "IRFFT" else a.shape[axis]
        return _transform(a, kind, [n.__index__()], [axis], norm, out)
    transform.__name__, transform.__doc__ = kind.lower(), f"As `numpy.fft.{kind.lower()}`."
    return transform


fft, ifft, rfft, irfft = (implements(f)(_one_axis(k)) for f, k in (
    (np.fft.fft, "FFT"), (np.fft.ifft, "IFFT"), (np.fft.rfft, "RFFT"), (np.fft.irfft, "IRFFT")))


def _swapped(norm: str | None) -> str:
    if norm not in _SWAPPED:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return _SWAPPED[norm]


@implements(np.fft.hfft)
def hfft(a: object, n: int | None = None, axis: int = -1, norm: str | None = None, out: object = None) -> Tensor:
    """The real transform of a Hermitian-symmetric signal. NumPy ignores `out`, and so does this."""
    return irfft(np.conjugate(wrap(a)), n, axis, norm=_swapped(norm))


@implements(np.fft.ihfft)
def ihfft(a: object, n: int | None = None, axis: int = -1, norm: str | None = None,
          out: Tensor | None = None) -> Tensor:
    found = np.conjugate(rfft(a, n, axis, norm=_swapped(norm)))
    return found if out is None else _delivered(found.value(), out)


# ---- several axes ----------------------------------------------------------------------------------------------

def _lengths_and_axes(a: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None,
                      kind: str) -> tuple[list[int], list[int]]:
    axes = None if axes is None else [x.__index__() for x in axes]
    if s is None:
        axes = list(range(a.ndim)) if axes is None else axes
        lengths = [_extent(a.shape, x) for x in axes]
        if kind == "IRFFT":
            lengths[-1] = (lengths[-1] - 1) * 2
        return lengths, axes
    axes = list(range(-len(s), 0)) if axes is None else axes
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return [a.shape[x] if n is None or n == -1 else n.__index__() for n, x in zip(s, axes, strict=True)], axes


def _extent(shape: Shape, axis: int) -> int:
    if not -len(shape) <= axis < len(shape):
        raise IndexError(f"index {axis} is out of bounds for axis 0 with size {len(shape)}")
    return shape[axis]


def _several_axes(name: str, kind: str, default: tuple[int, ...] | None) -> Callable:
    def transform(a: object, s: Sequence[int] | None = None, axes: Sequence[int] | None = default,
                  norm: str | None = None, out: Tensor | None = None) -> Any:
        a = wrap(a)
        lengths, axes = _lengths_and_axes(a, s, axes, kind)
        if not axes:
            if kind in ("FFT", "IFFT"):
                return a
            raise IndexError("list index out of range")
        if len({x % max(a.ndim, 1) for x in axes}) == len(axes):
            return _transform(a, kind, lengths, axes, norm, out)
        return _one_after_another(a, kind, lengths, axes, norm, out)
    transform.__name__, transform.__doc__ = name, f"As `numpy.fft.{name}`."
    return transform


def _one_after_another(a: Tensor, kind: str, lengths: list[int], axes: list[int], norm: str | None,
                       out: Tensor | None) -> Tensor:
    """An axis given twice is transformed twice."""
    steps = list(zip(lengths, axes, strict=True))
    if kind == "RFFT":
        a = _transform(a, kind, lengths[-1:], axes[-1:], norm)
        steps, kind = steps[:-1], "FFT"
    steps = steps if kind == "IRFFT" else steps[::-1]
    for number, (n, axis) in enumerate(steps):
        last = number == len(steps) - 1
        step = kind if last or kind != "IRFFT" else "IFFT"
        a = _transform(a, step, [n], [axis], norm, out if last else None)
    return a


for _name, _kind in (("fft", "FFT"), ("ifft", "IFFT"), ("rfft", "RFFT"), ("irfft", "IRFFT")):
    implements(getattr(np.fft, _name + "2"))(_several_axes(_name + "2", _kind, (-2, -1)))
    implements(getattr(np.fft, _name + "n"))(_several_axes(_name + "n", _kind, None))


# ---- helpers ---------------------------------------------------------------------------------------------------

def _frequencies(function: Callable) -> Callable:
    def frequencies(n: int, d: object = 1.0, device: object = None) -> Tensor:
        if not is_tensor(d) or d.is_concrete():
            return Tensor.of_array(function(operator.index(n), d.numpy()[()] if is_tensor(d) else d))
        counts = np.round(function(n) * n)     # exact: the integers NumPy divides by n d
        return Tensor.of_array(counts) * (1.0 / (n * d))
    frequencies.__name__, frequencies.__doc__ = function.__name__, f"As `numpy.fft.{function.__name__}`."
    return frequencies


for _function in (np.fft.fftfreq, np.fft.rfftfreq):
    implements(_function, creation=True)(_frequencies(_function))


def _shift(function: Callable, half: Callable[[int], int]) -> None:
    @implements(function)
    def shift(x: object, axes: object = None) -> Tensor:
        x = wrap(x)
        chosen = range(x.ndim) if axes is None else (axes,) if isinstance(axes, (int, np.integer)) else axes
        value = x.value()
        for axis in chosen:
            value = _rolled(value, np.lib.array_utils.normalize_axis_index(axis, x.ndim), half)
        return Tensor.of_value(value)


def _rolled(value: ir.Value, axis: int, half: Callable[[int], int]) -> ir.Value:
    """The part from `half(n)` on comes first."""
    shape = shape_of(value)
    cut = half(shape[axis])
    if not cut:
        return value
    starts = [0] * len(shape)
    front = ops.slice(value, [*starts[:axis], cut, *starts[axis + 1:]], shape)
    back = ops.slice(value, starts, [*shape[:axis], cut, *shape[axis + 1:]])
    return ops.concatenate([front, back], axis)


_shift(np.fft.fftshift, lambda n: n - n // 2)
_shift(np.fft.ifftshift, lambda n: n // 2)
