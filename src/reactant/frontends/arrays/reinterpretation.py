"""The bytes of an array read otherwise: `ndarray.view(dtype)`, `packbits`, `unpackbits`."""
from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays import view_steps
from reactant.frontends.arrays.implements import implements
from reactant.frontends.arrays.tensor import Tensor, check_dtype, wrap
from reactant.frontends.arrays.ufuncs import cast
from reactant.frontends.session.dispatch import means
from reactant.ir import ops
from reactant.ir.types import Shape, dtype_of, real_dtype, shape_of
from reactant.support.records import dataclass


def reinterpreted(value: ir.Value, dtype: np.dtype) -> ir.Value:
    """The same bytes as elements of `dtype`; where widths differ the last dimension grows or shrinks."""
    old = dtype_of(value)
    if old == dtype:
        return value
    if old.kind == "c":
        parts = [ops.reshape(p, (*shape_of(p), 1)) for p in (ops.real(value), ops.imag(value))]
        return reinterpreted(_merged(ops.concatenate(parts, len(shape_of(value)))), dtype)
    if dtype.kind == "c":
        halves = _split(reinterpreted(value, real_dtype(dtype)), 2)
        last = len(shape_of(halves)) - 1
        whole = shape_of(halves)
        real, imag = (ops.reshape(ops.slice(halves, [0] * last + [k], [*whole[:-1], k + 1]), whole[:-1])
                      for k in (0, 1))
        return ops.complex(real, imag)
    if "b" in (old.kind, dtype.kind):
        return _through_bytes(value, old, dtype)
    if old.itemsize == dtype.itemsize:
        return ops.bitcast_convert(value, dtype)
    if old.itemsize > dtype.itemsize:
        return _merged(ops.bitcast_convert(value, dtype))
    return ops.bitcast_convert(_split(value, dtype.itemsize // old.itemsize), dtype)


def _through_bytes(value: ir.Value, old: np.dtype, dtype: np.dtype) -> ir.Value:
    """bool is stored as bytes 0 and 1."""
    if old.kind == "b":
        return reinterpreted(ops.convert(value, np.uint8), dtype)
    return cast(reinterpreted(value, np.dtype(np.uint8)), dtype)


def _merged(value: ir.Value) -> ir.Value:
    *lead, n, k = shape_of(value)
    return ops.reshape(value, (*lead, n * k))


def _split(value: ir.Value, k: int) -> ir.Value:
    *lead, n = shape_of(value)
    return ops.reshape(value, (*lead, n // k, k))


@dataclass(frozen=True)
class ReinterpretStep(view_steps.Step):
    """`.view(dtype)`."""

    old: np.dtype
    dtype: np.dtype
    shape: Shape

    def read(self, parent: ir.Value) -> ir.Value:
        return reinterpreted(parent, self.dtype)

    def write(self, parent: ir.Value, new: ir.Value, whole: Shape) -> ir.Value:
        return reinterpreted(new, self.old)

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        return parent.view(self.dtype)

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        if not strides:
            return strides
        return (*(s * self.old.itemsize // self.dtype.itemsize for s in strides[:-1]), strides[-1])


@means("bytes_as")
def view(a: Tensor, dtype: object = None, type: object = None) -> Tensor:  # noqa: A002 - NumPy's name
    """`ndarray.view(dtype)`: an alias of the same memory."""
    if inspect.isclass(dtype) and issubclass(dtype, np.ndarray):
        dtype, type = None, dtype
    if type not in (None, np.ndarray):
        raise UnsupportedError(f"ndarray.view of the class {type.__name__} is not supported in compiled code.",
                               hint="View it as np.ndarray.", code="array-subclass")
    if dtype is None or np.dtype(dtype) == a.dtype:
        return a.view(view_steps.ReshapeStep(a.shape, a.strides_))
    dtype = np.dtype(dtype)
    check_dtype(dtype)
    if dtype.itemsize == a.itemsize:
        return a.view(ReinterpretStep(a.dtype, dtype, a.shape), dtype=dtype)
    if not a.shape:
        raise ValueError("Changing the dtype of a 0d array is only supported if the itemsize is unchanged")
    if a.strides_[-1] != 1 and a.size > 1:
        raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
    if a.shape[-1] * a.itemsize % dtype.itemsize:
        raise ValueError("When changing to a larger dtype, its size must be a divisor of the total size in bytes of "
                         "the last axis of the array.")
    shape = (*a.shape[:-1], a.shape[-1] * a.itemsize // dtype.itemsize)
    return a.view(ReinterpretStep(a.dtype, dtype, shape), dtype=dtype)


# ---- bits ------------------------------------------------------------------------------------------------------

@implements(np.packbits)
def packbits(a: object, /, axis: int | None = None, bitorder: str = "big") -> Tensor:
    """Eight nonzero tests a byte, the last byte filled up with zeros."""
    a, axis = _bit_arguments(a, axis, bitorder)
    if a.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    bits = cast(cast(np.moveaxis(a, axis, -1).value(), np.dtype(bool)), np.dtype(np.uint8))
    *lead, n = shape_of(bits)
    padded = ops.pad(bits, 0, [0] * (len(lead) + 1), [0] * len(lead) + [-n % 8])
    groups = _split(padded, 8)
    shifts = ops.broadcast_in_dim(ops.constant(_shifts(bitorder)), shape_of(groups), [len(lead) + 1])
    packed = ops.reduce(ops.shift_left(groups, shifts), 0, [len(lead) + 1], "or")
    return np.moveaxis(Tensor.of_value(packed), -1, axis).copy()


@implements(np.unpackbits)
def unpackbits(a: object, /, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Tensor:
    a, axis = _bit_arguments(a, axis, bitorder)
    if a.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    value = np.moveaxis(a, axis, -1).value()
    shape = (*shape_of(value), 8)
    spread = ops.broadcast_in_dim(value, shape, range(len(shape) - 1))
    shifts = ops.broadcast_in_dim(ops.constant(_shifts(bitorder)), shape, [len(shape) - 1])
    bits = _merged(ops.and_(ops.shift_right_logical(spread, shifts), 1))
    *lead, n = shape_of(bits)
    wanted = n if count is None else n + count if count < 0 else count
    bits = ops.slice(bits, [0] * (len(lead) + 1), [*lead, min(n, wanted)])
    bits = ops.pad(bits, 0, [0] * (len(lead) + 1), [0] * len(lead) + [max(wanted - n, 0)])
    return np.moveaxis(Tensor.of_value(bits), -1, axis).copy()


def _bit_arguments(a: object, axis: int | None, bitorder: str) -> tuple[Any, int]:
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    a = wrap(a)
    if axis is None or not a.shape:
        return np.ravel(a), 0
    return a, np.lib.array_utils.normalize_axis_index(axis, a.ndim)


def _shifts(bitorder: str) -> np.ndarray:
    return np.arange(7, -1, -1, dtype=np.uint8) if bitorder == "big" else np.arange(8, dtype=np.uint8)
