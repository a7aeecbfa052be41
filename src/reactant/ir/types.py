"""NumPy dtypes and shapes to MLIR types and back, interned."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from reactant.ir.context import building

Shape = tuple[int, ...]

_MAKE = {
    np.dtype(bool): lambda: ir.IntegerType.get_signless(1),
    **{np.dtype(f"int{n}"): (lambda n=n: ir.IntegerType.get_signless(n)) for n in (8, 16, 32, 64)},
    **{np.dtype(f"uint{n}"): (lambda n=n: ir.IntegerType.get_unsigned(n)) for n in (8, 16, 32, 64)},
    np.dtype(ml_dtypes.int4): lambda: ir.IntegerType.get_signless(4),
    np.dtype(ml_dtypes.uint4): lambda: ir.IntegerType.get_unsigned(4),
    np.dtype(np.float16): ir.F16Type.get,
    np.dtype(np.float32): ir.F32Type.get,
    np.dtype(np.float64): ir.F64Type.get,
    np.dtype(ml_dtypes.bfloat16): ir.BF16Type.get,
    np.dtype(ml_dtypes.float8_e4m3fn): ir.Float8E4M3FNType.get,
    np.dtype(ml_dtypes.float8_e5m2): ir.Float8E5M2Type.get,
    np.dtype(np.complex64): lambda: ir.ComplexType.get(ir.F32Type.get()),
    np.dtype(np.complex128): lambda: ir.ComplexType.get(ir.F64Type.get()),
}
_DTYPE_OF_NAME = {
    "i1": np.dtype(bool), **{f"i{n}": np.dtype(f"int{n}") for n in (8, 16, 32, 64)},
    **{f"ui{n}": np.dtype(f"uint{n}") for n in (8, 16, 32, 64)},
    "i4": np.dtype(ml_dtypes.int4), "ui4": np.dtype(ml_dtypes.uint4),
    "f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn), "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "complex<f32>": np.dtype(np.complex64), "complex<f64>": np.dtype(np.complex128),
}


def supported(dtype: np.dtype) -> bool:
    """Whether `dtype` has an MLIR element type (object, datetime, longdouble and strings have none)."""
    return np.dtype(dtype) in _MAKE


@cache
def element_type(dtype: np.dtype) -> ir.Type:
    """The MLIR element type of a NumPy dtype. Raises `KeyError` where `supported` is false."""
    with building():
        return _MAKE[np.dtype(dtype)]()


@cache
def dtype_of_element(element: ir.Type) -> np.dtype:
    """The NumPy dtype of an MLIR element type. Raises `KeyError` for types NumPy cannot hold."""
    return _DTYPE_OF_NAME[str(element)]


@cache
def tensor_type(shape: Shape, dtype: np.dtype) -> ir.Type:
    """`tensor<shape x dtype>`."""
    with building():
        return ir.RankedTensorType.get(list(shape), element_type(np.dtype(dtype)))


@cache
def _unpack(type_: ir.Type) -> tuple[Shape, np.dtype]:
    ranked = ir.RankedTensorType(type_)
    return tuple(ranked.shape), dtype_of_element(ranked.element_type)


_nobody: dict[int, Any] = {}
_owner: Callable[[int], Any] = _nobody.get
"""What defines a value, by its address, while the rewrite engine works: there the types already asked for are kept."""


def know_owners(owners: Mapping[int, Any]) -> None:
    """Let `shape_of` and `dtype_of` keep what they find in the objects of this table, see `creation.know`."""
    global _owner
    _owner = owners.get


def _keep(owner: Any, value: ir.Value) -> tuple[Shape, np.dtype]:
    found = _unpack(value.type)
    try:
        owner.shape_and_dtype = found
    except AttributeError:      # ops of dialects that Python does not know have no place for it
        return found
    return found


def shape_of(value: ir.Value) -> Shape:
    """The static shape of a tensor value."""
    owner = _owner(hash(value))
    if owner is None:
        return _unpack(value.type)[0]
    return (getattr(owner, "shape_and_dtype", None) or _keep(owner, value))[0]


def dtype_of(value: ir.Value) -> np.dtype:
    """The NumPy dtype of a tensor value."""
    owner = _owner(hash(value))
    if owner is None:
        return _unpack(value.type)[1]
    return (getattr(owner, "shape_and_dtype", None) or _keep(owner, value))[1]


def shape_and_dtype(type_: ir.Type) -> tuple[Shape, np.dtype]:
    """Shape and dtype of a ranked tensor type."""
    return _unpack(type_)


def size(shape: Sequence[int]) -> int:
    """Number of elements."""
    total = 1
    for extent in shape:
        total *= extent
    return total


def nbytes(value: ir.Value) -> int:
    """Bytes of a value of ranked tensor type."""
    shape, dtype = shape_and_dtype(value.type)
    return size(shape) * dtype.itemsize


def is_float(dtype: np.dtype) -> bool:
    """Real floating point, ml_dtypes included."""
    return np.dtype(dtype).kind == "f" or np.dtype(dtype) in _ML_FLOATS


def is_half(dtype: np.dtype) -> bool:
    """Real floating point of 16 bits or fewer: a sum of some thousand numbers, each rounded to it, is another number
    than their sum."""
    return np.dtype(dtype).itemsize < 4 and is_float(dtype)


def is_complex(dtype: np.dtype) -> bool:
    return np.dtype(dtype).kind == "c"


def is_integer(dtype: np.dtype) -> bool:
    """Signed or unsigned, not bool."""
    return np.dtype(dtype).kind in "iu"


def real_dtype(dtype: np.dtype) -> np.dtype:
    """complex64 -> float32, complex128 -> float64, others unchanged."""
    return {"complex64": np.dtype(np.float32), "complex128": np.dtype(np.float64)}.get(np.dtype(dtype).name,
                                                                                      np.dtype(dtype))


_ML_FLOATS = {np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)}
