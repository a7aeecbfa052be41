"""Arguments of a launch checked against, and converted to, the types of a C or C++ signature."""
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np

from reactant.kernels.launch.arguments import (
    Argument,
    ArrayArgument,
    BytesArgument,
    KernelArgumentError,
    NumberArgument,
    Operands,
    RecordArgument,
    RowsArgument,
    TupleArgument,
    constant_text,
)
from reactant.kernels.ways_in.debug_types import CFunction, CType


def fill(function: CFunction, parameters: Sequence[str], arguments: Sequence[Argument], operands: Operands) -> None:
    """The operands of a call of `function`, whose LLVM parameters are `parameters`. Raises `KernelArgumentError`."""
    if len(arguments) != len(function.parameters):
        signature = ", ".join(f"{t} {n}" for t, n in zip(function.parameters, function.names, strict=True))
        raise KernelArgumentError(f"'{function.name}({signature})' takes {len(function.parameters)} "
                                  f"argument{'s' * (len(function.parameters) != 1)}, {len(arguments)} given.")
    if len(parameters) != len(arguments):
        raise KernelArgumentError(f"'{function.name}' takes structs by value, which arrive in pieces on this "
                                  "machine.", hint="Take them by pointer.")
    operands.wrapper.kernel = function.symbol
    for i, (argument, wanted, parameter) in enumerate(zip(arguments, function.parameters, parameters, strict=True)):
        where = f"Argument {i} ('{function.names[i]}') of '{function.name}'"
        operands.wrapper.operands.append(operand(argument, wanted, parameter, operands, where))


def operand(argument: Argument, wanted: CType, parameter: str, operands: Operands, where: str) -> str:
    """"type value" of one argument."""
    if wanted.kind == "pointer":
        return pointer(argument, wanted, operands, where)
    if wanted.kind == "number" and wanted.dtype is not None:
        if not isinstance(argument, NumberArgument):
            raise KernelArgumentError(f"{where} is a number ({wanted}), {described(argument)} given.")
        value = number(argument, wanted.dtype, operands, where)
        return boolean(value, operands) if parameter.strip().startswith("i1 ") or parameter.strip() == "i1" else value
    if wanted.kind == "struct" and "byval" in parameter:
        address = operands.bytes(structure(argument, wanted, where)) if not _runs(argument) \
            else stored(argument, wanted, operands, where)
        alignment = re.search(r"\balign \d+", parameter)
        return f"ptr byval([{wanted.size} x i8]) {alignment[0] if alignment else 'align 1'} {address}"
    raise KernelArgumentError(f"{where} has the type {wanted}, which cannot be given from Python.")


def pointer(argument: Argument, wanted: CType, operands: Operands, where: str) -> str:
    """A pointer to the first element of an array of the right dtype."""
    if isinstance(argument, NumberArgument) and argument.scalar is None and argument.python and argument.value == 0:
        return "ptr null"
    target = wanted.target
    if target is not None and target.kind == "pointer":
        return pointer_table(argument, target, operands, f"{where} is {wanted}")
    if not isinstance(argument, ArrayArgument):
        raise KernelArgumentError(f"{where} is a pointer ({wanted}): it takes an array, {described(argument)} given.")
    if target is not None and not fits(argument.dtype, target):
        expected = target.dtype if target.kind == "number" else target.structured() or target
        raise KernelArgumentError(f"{where} is {wanted}, the array has dtype {argument.dtype}.",
                                  hint=f"Pass an array of {expected}.")
    if argument.gaps:
        raise KernelArgumentError(f"{where} is a pointer, and the array given is not contiguous in memory.",
                                  hint="Pass np.ascontiguousarray(x), or slice the array inside the compiled "
                                       "function.")
    return f"ptr {operands.pointer(argument)}"


def pointer_table(argument: Argument, row: CType, operands: Operands, where: str) -> str:
    """A pointer to the addresses of arrays."""
    if row.target is not None and row.target.kind == "pointer":
        raise KernelArgumentError(f"{where}: rows of rows cannot be given.",
                                  hint="Let the kernel take one array, or rows of numbers, and compute the index.")
    if not isinstance(argument, RowsArgument):
        raise KernelArgumentError(f"{where}: it takes rows, {described(argument)} given.",
                                  hint="Pass a list of arrays of one dtype, or an array of two or more dimensions.")
    for k, one in enumerate(argument.rows):
        if row.target is not None and not fits(one.dtype, row.target):
            raise KernelArgumentError(f"{where}, the array {k} of the list has dtype {one.dtype}.",
                                      hint=f"Pass arrays of {row.target.dtype or row.target}.")
    return f"ptr {operands.table(argument)}"


def fits(dtype: np.dtype, target: CType) -> bool:
    """Whether a pointer to `target` may point to elements of `dtype`."""
    if target.kind in ("void", "other"):
        return True
    if target.kind == "number":
        if target.dtype is not None and target.dtype.itemsize == 1 and "char" in target.name:
            return dtype.itemsize == 1
        return dtype == target.dtype or (target.dtype is not None and dtype.kind == "V" and not dtype.fields)
    element = target.element()
    if dtype.kind == "V":
        return dtype.itemsize == target.size
    if dtype.kind == "c" and element is not None:
        return element.kind == "f" and dtype.itemsize in (target.size, 2 * element.itemsize)
    return element is not None and dtype == element


def number(argument: NumberArgument, wanted: np.dtype, operands: Operands, where: str) -> str:
    """A number converted as C converts, where nothing is lost that the caller meant."""
    if argument.dtype.kind == "c":
        raise KernelArgumentError(f"{where} is a {wanted}, a complex number is given.")
    if argument.scalar is None:
        value = argument.value
        if wanted.kind in "iu" and argument.dtype.kind == "f":
            if not float(value).is_integer():
                raise KernelArgumentError(f"{where} is an integer ({wanted}), {value!r} given.")
            value = int(value)
        if wanted.kind in "iu":
            limits = np.iinfo(wanted)
            if not limits.min <= int(value) <= limits.max:
                raise KernelArgumentError(f"{where} is {wanted}: {int(value)} is out of its range.")
            return constant_text(int(value), wanted)
        return constant_text(np.asarray(value).astype(wanted), wanted)
    if wanted.kind in "iu" and argument.dtype.kind == "f":
        raise KernelArgumentError(f"{where} is an integer ({wanted}), a run-time {argument.dtype} is given.",
                                  hint=f"Convert it: x.astype(np.{wanted}).")
    return operands.number(argument, wanted)


def boolean(value: str, operands: Operands) -> str:
    """An i8 as the i1 that clang passes."""
    text = value.removeprefix("i8 ")
    if text.lstrip("-").isdigit():
        return f"i1 {'true' if int(text) else 'false'}"
    return f"i1 {operands.line(f'icmp ne i8 {text}, 0')}"


def structure(argument: Argument, wanted: CType, where: str) -> BytesArgument:
    """A struct given by value: a structured scalar, a tuple, or a complex number for two floats."""
    if isinstance(argument, BytesArgument):
        _require_size(len(argument.content), wanted, where)
        return argument
    content = bytearray(wanted.size)
    for offset, kind, value, _ in pieces(argument, wanted, where):
        if isinstance(kind, np.dtype):
            known = np.asarray(cast(NumberArgument, value).value).astype(kind).tobytes()
            content[offset:offset + kind.itemsize] = known
    return BytesArgument(np.dtype(f"V{wanted.size}"), bytes(content))


def _require_size(size: int, wanted: CType, where: str) -> None:
    if size != wanted.size:
        raise KernelArgumentError(f"{where} is {wanted} of {wanted.size} bytes, {size} given.")


def stored(argument: Argument, wanted: CType, operands: Operands, where: str) -> str:
    """The address of a struct some of whose members are known only at run time."""
    address = operands.line(f"alloca [{wanted.size} x i8], align 16")
    operands.wrapper.lines.append(f"store [{wanted.size} x i8] zeroinitializer, ptr {address}")
    for offset, kind, value, part in pieces(argument, wanted, where):
        place = operands.line(f"getelementptr i8, ptr {address}, i64 {offset}")
        text = pointer(value, kind, operands, part) if isinstance(kind, CType) else number(
            cast(NumberArgument, value), kind, operands, part)
        operands.wrapper.lines.append(f"store {text}, ptr {place}")
    return address


Piece: TypeAlias = "tuple[int, np.dtype | CType, Argument, str]"
"""(offset, dtype, number, where) of a number in a struct, (offset, pointer type, array, where) of an array."""


def pieces(argument: Argument, wanted: CType, where: str) -> list[Piece]:
    """Of a struct that is given as a tuple, a complex number or a record."""
    if isinstance(argument, RecordArgument):
        _require_size(argument.dtype.itemsize, wanted, where)
        return [(offset, value.dtype, value, where) for offset, value in argument.members]
    if isinstance(argument, NumberArgument) and argument.dtype.kind == "c":
        real = np.dtype(f"f{argument.dtype.itemsize // 2}")
        argument = TupleArgument(tuple(
            NumberArgument(real, None if argument.value is None else part,
                           None if argument.scalar is None else argument.scalar + i)
            for i, part in enumerate((np.real(argument.value or 0), np.imag(argument.value or 0)))))
    if len(wanted.members) == 1 and isinstance(argument, (NumberArgument, ArrayArgument)):    # __half, say
        argument = TupleArgument((argument,))
    if not isinstance(argument, TupleArgument) or len(argument.items) != len(wanted.members):
        members = ", ".join(f"{t} {n}" for n, _, t in wanted.members)
        raise KernelArgumentError(f"{where} is the struct {wanted} ({members}), {described(argument)} given.",
                                  hint="Pass a tuple of its members, or an element of a structured array.")
    return [piece for item, (name, offset, kind) in zip(argument.items, wanted.members, strict=True)
            for piece in member(item, kind, offset, f"{where}, member '{name}'")]


def member(argument: Argument, wanted: CType, offset: int, where: str) -> list[Piece]:
    """`pieces` of a part of a struct that begins at `offset`: a number, an array for a pointer, a struct, or a tuple
    for an array."""
    if wanted.kind == "number" and wanted.dtype is not None and isinstance(argument, NumberArgument):
        return [(offset, wanted.dtype, argument, where)]
    if wanted.kind == "pointer" and isinstance(argument, (ArrayArgument, NumberArgument)):
        return [(offset, wanted, argument, where)]
    if wanted.kind == "struct":
        return [(offset + o, d, v, part) for o, d, v, part in pieces(argument, wanted, where)]
    target = wanted.target
    if wanted.kind == "array" and target is not None and target.size:
        items = _items(argument) if target.kind == "number" else getattr(argument, "items", ())
        if len(items) == wanted.size // target.size:
            return [piece for k, item in enumerate(items)
                    for piece in member(item, target, offset + k * target.size, f"{where}[{k}]")]
        raise KernelArgumentError(f"{where} is an array of {wanted.size // target.size} {target}, "
                                  f"{described(argument)} given.",
                                  hint="Pass a tuple of so many.")
    raise KernelArgumentError(f"{where} is {wanted}, {described(argument)} given.")


def _items(argument: Argument) -> tuple[Argument, ...]:
    """The numbers of a tuple and of the tuples in it."""
    if not isinstance(argument, TupleArgument):
        return (argument,)
    return tuple(item for part in argument.items for item in _items(part))


def _runs(argument: Argument) -> bool:
    """Whether an argument holds what is only known at run time: numbers, addresses."""
    if isinstance(argument, TupleArgument):
        return any(_runs(i) for i in argument.items)
    if isinstance(argument, RecordArgument):
        return any(_runs(value) for _, value in argument.members)
    return isinstance(argument, ArrayArgument) or (isinstance(argument, NumberArgument) and argument.scalar is not None)


def described(argument: Argument) -> str:
    """An argument in words."""
    if isinstance(argument, ArrayArgument):
        return f"an array {argument.dtype}{list(argument.shape)}"
    if isinstance(argument, NumberArgument):
        return f"a {argument.dtype} number" if argument.value is None else f"{argument.value!r}"
    if isinstance(argument, RowsArgument):
        return f"a list of {len(argument.rows)} arrays"
    return "a tuple" if isinstance(argument, TupleArgument) else "a record"
