"""Arguments of a launch, as far as compilation sees them: which memory, where in it, which numbers are known.

They are hashable: together with the launch they are the key under which a kernel is compiled. The ways in turn them
into operands of the kernel's LLVM function through an `Operands`.
"""
from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import field
from typing import Any

import ml_dtypes
import numpy as np

from reactant.errors import ReactantError
from reactant.kernels.form.record import Buffer, Field, Scalar
from reactant.kernels.llvm_ir.cleanup import Wrapper, quoted
from reactant.support.records import dataclass


class KernelArgumentError(ReactantError, TypeError):
    """An argument of a launch that the kernel's signature does not take."""

    code = "kernel-argument"
    hint = "Give what the kernel declares; docs/kernels.md says what arguments may be."


@dataclass(frozen=True)
class ArrayArgument:
    """An array: `buffer` is its place among the launch's buffers, `offset` and `strides` are bytes.

    moving: place among the launch's scalars of a further offset known only at run time. gaps: the caller's array has
    another memory layout than the buffer, so that only kernels that know strides may have it. element: it is the one
    struct at `offset`, given by its address.
    """

    buffer: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype
    writeable: bool = True
    moving: int | None = None
    gaps: bool = False
    element: bool = False

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie one after the other, row-major."""
        expected = self.dtype.itemsize
        for n, s in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if n != 1 and s != expected:
                return 0 in self.shape
            expected *= n
        return True

    def stand_in(self) -> np.ndarray:
        """An ndarray of this type and layout whose elements must not be touched."""
        return np.lib.stride_tricks.as_strided(np.empty(1, self.dtype), self.shape, self.strides,
                                               writeable=self.writeable)


@dataclass(frozen=True)
class NumberArgument:
    """A number: `value` when it is known, else `scalar` is its place among the launch's scalars.

    python: it is a Python number, whose type adapts to the kernel's signature.
    """

    dtype: np.dtype
    value: Any = None
    scalar: int | None = None
    python: bool = False

    def __hash__(self) -> int:
        return hash((self.dtype, _bits(self), self.scalar, self.python))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumberArgument) and (self.dtype, self.scalar, self.python) \
            == (other.dtype, other.scalar, other.python) and _bits(self) == _bits(other)

    def as_numpy(self) -> Any:
        """A number of this type: its value where it is known."""
        value = 0 if self.value is None else self.value
        if self.python:
            return {"b": bool, "i": int, "u": int, "f": float, "c": complex}[self.dtype.kind](value)
        return self.dtype.type(value)


def _bits(number: NumberArgument) -> bytes | None:
    """-0.0 and 0.0 differ, and NaN is itself."""
    return None if number.value is None else np.asarray(number.value).tobytes()


@dataclass(frozen=True)
class BytesArgument:
    """A struct or record given by value, with known content."""

    dtype: np.dtype
    content: bytes


@dataclass(frozen=True)
class RecordArgument:
    """A struct given by value, some of whose numbers are known only at run time: (offset in bytes, number)."""

    dtype: np.dtype
    members: tuple[tuple[int, NumberArgument], ...]


@dataclass(frozen=True)
class RowsArgument:
    """Arrays whose addresses a kernel finds in memory (`float **`): the buffer of these, and the rows."""

    table: int
    rows: tuple[ArrayArgument, ...]


@dataclass(frozen=True)
class TupleArgument:
    """A tuple of arguments; `kind` is its type where it has names."""

    items: tuple[Argument, ...]
    kind: type = tuple


Argument = ArrayArgument | NumberArgument | BytesArgument | RecordArgument | RowsArgument | TupleArgument


def leaves(arguments: tuple[Argument, ...]) -> Iterator[Argument]:
    """The arguments with tuples opened."""
    for argument in arguments:
        if isinstance(argument, TupleArgument):
            yield from leaves(argument.items)
        else:
            yield argument


def structs(arguments: tuple[Argument, ...]) -> tuple[int, ...]:
    """Which of the leaves are structs given by value."""
    return tuple(k for k, a in enumerate(leaves(arguments)) if isinstance(a, (BytesArgument, RecordArgument)))


def replaced(arguments: tuple[Argument, ...], others: Iterator[Argument]) -> tuple[Argument, ...]:
    """The arguments with other leaves."""
    return tuple(TupleArgument(replaced(a.items, others), a.kind) if isinstance(a, TupleArgument) else next(others)
                 for a in arguments)


# ---- dtypes ----------------------------------------------------------------------------------------------------

LLVM_TYPES = {"b1": "i8", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u1": "i8", "u2": "i16", "u4": "i32",
              "u8": "i64", "f2": "half", "f4": "float", "f8": "double"}


def llvm_type(dtype: np.dtype) -> str:
    """The LLVM type of a number in memory."""
    if dtype == ml_dtypes.bfloat16:
        return "bfloat"
    if (name := f"{dtype.kind}{dtype.itemsize}") not in LLVM_TYPES:
        raise KernelArgumentError(f"Numbers of dtype {dtype} cannot be arguments of kernels.")
    return LLVM_TYPES[name]


def plain(dtype: np.dtype) -> tuple[np.dtype, int]:
    """(the record's dtype, how many of it make one element) for memory of `dtype`."""
    dtype = np.dtype(dtype)
    if dtype == ml_dtypes.bfloat16:
        return dtype, 1
    if dtype.kind in "bu":
        return np.dtype(f"i{dtype.itemsize}"), 1
    if dtype.kind == "c":
        return np.dtype(f"f{dtype.itemsize // 2}"), 2
    if dtype.kind == "V":
        members = members_of(dtype)
        kinds = {m.dtype for m in members}
        if len(kinds) == 1 and sum(m.dtype.itemsize * m.count for m in members) == dtype.itemsize \
                and (kind := kinds.pop()).kind in "biufc" and kind.itemsize <= 16:
            one, count = plain(kind)
            return one, count * (dtype.itemsize // kind.itemsize)
        unit = math.gcd(8, dtype.itemsize, *(n for m in members for n in (m.offset, m.dtype.itemsize)))
        return np.dtype(f"i{unit if members else 1}"), dtype.itemsize // (unit if members else 1)
    if dtype.kind in "if" and dtype.itemsize <= 8:
        return dtype, 1
    raise KernelArgumentError(f"Arrays of dtype {dtype} cannot be arguments of kernels.")


def members_of(dtype: np.dtype, offset: int = 0, name: str = "") -> tuple[Field, ...]:
    """The numbers of a struct, those of structs in it included."""
    found: list[Field] = []
    for key in dtype.names or ():
        kind, place = (dtype.fields or {})[key][:2]
        base, count = kind.base, math.prod(kind.shape)
        label = f"{name}.{key}" if name else key
        if base.names is None:
            found.append(Field(label, offset + place, base, count))
        else:
            found += [m for k in range(count) for m in members_of(base, offset + place + k * base.itemsize, label)]
    return tuple(found)


def constant_text(value: Any, dtype: np.dtype) -> str:
    """A known number as an LLVM constant with its type."""
    kind = llvm_type(dtype)
    if kind.startswith("i"):
        return f"{kind} {int(value)}"
    if kind in ("half", "bfloat"):
        bits = int(np.asarray(value, dtype).view(np.uint16))
        return f"{kind} 0x{'H' if kind == 'half' else 'R'}{bits:04X}"
    number = float(np.asarray(value).astype(dtype))
    return f"{kind} 0x{struct.unpack('>Q', struct.pack('>d', number))[0]:016X}"


# ---- operands --------------------------------------------------------------------------------------------------

@dataclass
class Operands:
    """Builds the call of a kernel: the entry's parameters are the launch's buffers and scalars, in that order."""

    wrapper: Wrapper
    buffers: tuple[Buffer, ...]
    scalars: tuple[Scalar, ...]
    _count: int = field(default=0)

    def __post_init__(self) -> None:
        for buffer in self.buffers:
            size = max(buffer.elements, 1) * buffer.dtype.itemsize
            self.wrapper.parameters.append((f"ptr noalias noundef nonnull align {buffer.dtype.itemsize} "
                                            f"dereferenceable({size})", buffer.name))
        for scalar in self.scalars:
            self.wrapper.parameters.append((f"{llvm_type(scalar.dtype)} noundef", scalar.name))

    def name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def line(self, text: str) -> str:
        """Add an instruction, return the name of its value."""
        name = self.name()
        self.wrapper.lines.append(f"{name} = {text}")
        return name

    def pointer(self, array: ArrayArgument) -> str:
        """The address of the array's first element."""
        base = f"%{quoted(self.buffers[array.buffer].name)}"
        if array.moving is not None:
            base = self.line(f"getelementptr i8, ptr {base}, i64 %{quoted(self.scalars[array.moving].name)}")
        return self.line(f"getelementptr i8, ptr {base}, i64 {array.offset}") if array.offset else base

    def table(self, rows: RowsArgument) -> str:
        """The address of the addresses of rows."""
        return f"%{quoted(self.buffers[rows.table].name)}"

    def number(self, number: NumberArgument, dtype: np.dtype | None = None) -> str:
        """"type value" of a number that is not complex, converted to `dtype` as NumPy converts."""
        dtype = number.dtype if dtype is None else np.dtype(dtype)
        if number.scalar is None:
            return constant_text(np.asarray(number.value).astype(dtype), dtype)
        value = f"%{quoted(self.scalars[number.scalar].name)}"
        return f"{llvm_type(dtype)} {self.converted(value, number.dtype, dtype)}"

    def converted(self, value: str, source: np.dtype, target: np.dtype) -> str:
        """A run-time number converted between dtypes."""
        a, b = llvm_type(source), llvm_type(target)
        floats = (source.kind in "fV", target.kind in "fV")
        if target.kind == "b" and source.kind != "b":
            zero = "0.0" if floats[0] else "0"
            flag = self.line(f"{'fcmp une' if floats[0] else 'icmp ne'} {a} {value}, {zero}")
            return self.line(f"zext i1 {flag} to i8")
        if a == b:
            return value
        unsigned = source.kind in "bu"
        wider = source.itemsize < target.itemsize
        operation = {(True, True): "fpext" if wider else "fptrunc", (False, True): "uitofp" if unsigned else "sitofp",
                     (True, False): "fptoui" if target.kind == "u" else "fptosi",
                     (False, False): ("zext" if unsigned else "sext") if wider else "trunc"}[floats]
        return self.line(f"{operation} {a} {value} to {b}")

    def bytes(self, argument: BytesArgument) -> str:
        """The address of a copy of a struct."""
        content = argument.content
        where = self.line(f"alloca [{len(content)} x i8], align 16")
        text = "".join(f"\\{b:02X}" for b in content)
        self.wrapper.lines.append(f'store [{len(content)} x i8] c"{text}", ptr {where}, align 16')
        return where

    def record(self, argument: RecordArgument) -> str:
        """The address of a struct some of whose numbers are known only at run time."""
        where = self.line(f"alloca [{argument.dtype.itemsize} x i8], align 16")
        self.wrapper.lines.append(f"store [{argument.dtype.itemsize} x i8] zeroinitializer, ptr {where}")
        for offset, value in argument.members:
            place = self.line(f"getelementptr i8, ptr {where}, i64 {offset}")
            self.wrapper.lines.append(f"store {self.number(value)}, ptr {place}, align 1")
        return where
