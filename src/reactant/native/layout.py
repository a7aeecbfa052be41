"""How MLIR values look in LLVM IR: a value is a tuple of LLVM operands, its *parts*.

A number has one part; a complex number two (real, imaginary); a memref its pointer (the offset folded in), then its
run-time sizes, then its run-time strides (in checked code its `bounds` come behind the pointer). `index` is i64, `i1`
is i8 in memory, `bf16` is carried as the i16 of its bits.
"""
from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from reactant.native import bounds
from reactant.native.refusals import refused
from reactant.support.records import dataclass

_SCALARS = {"f64": "double", "f32": "float", "f16": "half", "bf16": "i16", "index": "i64"}
_BYTES = {"double": 8, "float": 4, "half": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "i128": 16, "ptr": 8}
_DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "index": np.int64,
           "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
           "complex<f32>": np.complex64, "complex<f64>": np.complex128}
DYNAMIC = ir.ShapedType.get_dynamic_size()
DYNAMIC_STRIDE = ir.ShapedType.get_dynamic_stride_or_offset()


@cache
def scalar(type_: ir.Type) -> str:
    """The LLVM type of a number in a register."""
    text = str(type_)
    if text in _SCALARS:
        return _SCALARS[text]
    if text[0] == "i" and text[1:].isdigit():
        return text
    raise refused(f"has no numbers of type {text}")


@cache
def in_memory(type_: ir.Type) -> str:
    """The LLVM type of a number in memory."""
    text = scalar(type_)
    if text != "i1" and text not in _BYTES:
        raise refused(f"has no memory of {text} numbers")
    return "i8" if text == "i1" else text


def nbytes(llvm_type: str) -> int:
    """Bytes of a number in memory."""
    return _BYTES[llvm_type]


@cache
def dtype_of(type_: ir.Type) -> np.dtype:
    """The NumPy dtype whose memory holds numbers of this type. Raises `UnsupportedError` where there is none."""
    text = str(type_)
    if text not in _DTYPES:
        raise refused(f"takes no arguments of type {text}")
    return np.dtype(_DTYPES[text])


@dataclass(frozen=True)
class MemoryLayout:
    """Shape and strides (in elements) of a memref type; None is a run-time number."""

    element: ir.Type
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    is_complex: bool

    @property
    def unknown_sizes(self) -> int:
        return sum(s is None for s in self.shape)

    @property
    def number(self) -> ir.Type:
        """The type of the real numbers stored."""
        return ir.ComplexType(self.element).element_type if self.is_complex else self.element


@cache
def memory(type_: ir.Type) -> MemoryLayout:
    """The layout of a memref type."""
    kind = ir.MemRefType(type_)
    strides, _ = kind.get_strides_and_offset()
    return MemoryLayout(kind.element_type, tuple(None if s == DYNAMIC else s for s in kind.shape),
                        tuple(None if s == DYNAMIC_STRIDE else s for s in strides),
                        is_complex(kind.element_type))


@cache
def is_memref(type_: ir.Type) -> bool:
    return str(type_).startswith("memref<")


@cache
def is_complex(type_: ir.Type) -> bool:
    return str(type_).startswith("complex<")


def parts(type_: ir.Type) -> tuple[str, ...]:
    """The LLVM types of a value's parts."""
    return _parts(type_, bounds.active())


@cache
def _parts(type_: ir.Type, checked: bool) -> tuple[str, ...]:
    if is_memref(type_):
        layout = memory(type_)
        unknown = layout.unknown_sizes + sum(s is None for s in layout.strides)
        return ("ptr", *(bounds.PARTS if checked else ()), *["i64"] * unknown)
    if is_complex(type_):
        return (scalar(ir.ComplexType(type_).element_type),) * 2
    return (scalar(type_),)


@dataclass(frozen=True)
class Memory:
    """A memref value: where it is, its sizes, strides and (in checked code) bounds as LLVM operands."""

    layout: MemoryLayout
    pointer: str
    sizes: tuple[str, ...]
    strides: tuple[str, ...]
    bounds: tuple[str, ...] = ()


def memory_of(type_: ir.Type, operands: tuple[str, ...]) -> Memory:
    """Read the parts of a memref."""
    layout = memory(type_)
    first = 1 + len(bounds.PARTS) * bounds.active()
    rest = iter(operands[first:])
    sizes = tuple(next(rest) if s is None else str(s) for s in layout.shape)
    strides = tuple(next(rest) if s is None else str(s) for s in layout.strides)
    return Memory(layout, operands[0], sizes, strides, operands[1:first])


def parts_of(type_: ir.Type, pointer: str, sizes: tuple[str, ...], strides: tuple[str, ...],
             limits: tuple[str, ...]) -> tuple[str, ...]:
    """The parts of a memref of this type. limits: its bounds, in checked code."""
    layout = memory(type_)
    return (pointer, *limits, *(v for v, s in zip(sizes, layout.shape, strict=True) if s is None),
            *(v for v, s in zip(strides, layout.strides, strict=True) if s is None))
