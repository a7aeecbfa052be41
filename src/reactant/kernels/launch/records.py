"""Arrays of structs whose members are of several types, as an array for each member.

In memory they are rows of the smallest piece (`Buffer.fields`), which is what native code reads. A tensor program of
them would be one of bits, which nobody fuses or differentiates: `pointers` gives every member a memory of its own where
all accesses say which member they mean, and `joined` makes the tensor program of rows from that of members.
"""
from __future__ import annotations

from dataclasses import replace

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.types import tensor_type
from reactant.kernels.form.record import Buffer, KernelRecord
from reactant.kernels.launch.rows import as_pieces, taken
from reactant.kernels.lockstep.tensors import Parameter, Raised


def without_fields(record: KernelRecord) -> KernelRecord:
    """The record as its memory is."""
    return replace(record, parameters=tuple(
        replace(p, fields=()) if isinstance(p, Buffer) else p for p in record.parameters))


def has_fields(record: KernelRecord) -> bool:
    return any(b.fields for b in record.buffers)


def row_of(buffer: Buffer) -> int:
    """Bytes of a struct."""
    return buffer.shape[-1] * buffer.dtype.itemsize


# ---- the tensor program ----------------------------------------------------------------------------------------

def joined(raised: Raised, record: KernelRecord) -> Raised:
    """The tensor program of the record's own memory, from that of members: members are taken out of the rows before,
    and put in afterwards."""
    with building():
        inner = modules.function(raised.module)
        parameters, kept = [], []      # for each parameter of the record: the numbers of those that it became
        place = 0
        for p in record.parameters:
            count = len(p.fields) if isinstance(p, Buffer) and p.fields else 1
            kept.append(range(place, place + count))
            place += count
            parameters.append(_parameter(p, raised, kept[-1]))
        results = [k for k, p in enumerate(parameters) if p.written]
        inputs = [tensor_type(p.shape, p.dtype) for p in parameters]
        made = ir.Module.create()
        with ir.InsertionPoint(made.body):
            kind = ir.FunctionType.get(inputs, [inputs[k] for k in results])
            function = ops.create("func.func", [], [], {"sym_name": attr.string("main"),
                                                        "function_type": ir.TypeAttr.get(kind)}, regions=1)
        block = function.regions[0].blocks.append(*inputs, arg_locs=[ir.Location.current] * len(inputs))
        with ir.InsertionPoint(block):
            given: list[ir.Value] = []
            for p, value, numbers in zip(record.parameters, block.arguments, kept, strict=True):
                given += _members(value, p, raised, numbers) if isinstance(p, Buffer) and p.fields else [value]
            body = inner.regions[0].blocks[0]
            mapping = dict(zip(body.arguments, given, strict=True))
            *operations, end = [op.operation for op in body.operations]
            for op in operations:
                modules.clone_with(op, mapping)
            news = dict(zip(raised.results, (mapping.get(v, v) for v in end.operands), strict=True))
            finals = []
            for k in results:
                p, numbers = record.parameters[k], kept[k]
                finals.append(_rows(block.arguments[k], p, {n - numbers[0]: news[n] for n in numbers if n in news})
                              if _of_fields(p) else news[numbers[0]])
            ops.create("func.return", [], finals)
        return Raised(made, tuple(parameters), tuple(results), raised.notes)


def _of_fields(parameter: object) -> bool:
    return isinstance(parameter, Buffer) and bool(parameter.fields)


def _parameter(p: object, raised: Raised, numbers: range) -> Parameter:
    if isinstance(p, Buffer) and p.fields:
        return Parameter(p.name, p.dtype, p.shape, True, any(raised.parameters[n].written for n in numbers))
    return raised.parameters[numbers[0]]


def _members(rows: ir.Value, buffer: Buffer, raised: Raised, numbers: range) -> list[ir.Value]:
    """The arrays of members, in the shapes that the tensor program has."""
    found = []
    for number, member in zip(numbers, buffer.fields, strict=True):
        wanted = raised.parameters[number]
        found.append(ops.reshape(taken(rows, buffer.dtype, member.offset, member.dtype, member.count), wanted.shape))
    return found


def _rows(old: ir.Value, p: object, news: dict[int, ir.Value]) -> ir.Value:
    """Rows with new numbers for some members."""
    assert isinstance(p, Buffer)
    outer, unit = p.shape[:-1], p.dtype
    columns: list[ir.Value] = []
    at = 0
    order = sorted(range(len(p.fields)), key=lambda k: p.fields[k].offset)

    def old_until(end: int) -> None:
        if end > at:
            columns.append(taken(old, unit, at, unit, (end - at) // unit.itemsize))
    for k in order:
        member = p.fields[k]
        if k in news:
            old_until(member.offset)
            value = ops.reshape(news[k], (*outer, member.count))
            columns.append(as_pieces(value, unit, outer))
            at = member.offset + member.dtype.itemsize * member.count
    old_until(row_of(p))
    return columns[0] if len(columns) == 1 else ops.concatenate(columns, len(outer))
