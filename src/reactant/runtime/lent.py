"""Borrowed arguments of native calls: a call gets the memory around an argument, and where in it the argument starts.

XLA takes 64-byte aligned buffers only, and copies what a native call is to read out of a bigger one. A native call that
says `lent = k` reads its first k operands from given elements on, told by its last operand; so it takes the enclosing
buffer as it is, at any alignment.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func as func_dialect

from reactant.ir import context, modules, ops, types

CALL, CONFIG, LENT = "stablehlo.custom_call", "backend_config", "lent"


def lent_operands(op: ir.Operation) -> int:
    """How many operands of a native call may start anywhere in their memory."""
    if op.name != CALL or CONFIG not in op.attributes or not isinstance(op.attributes[CONFIG], ir.DictAttr):
        return 0
    config = ir.DictAttr(op.attributes[CONFIG])
    return int(ir.IntegerAttr(config[LENT]).value) if LENT in config else 0


def mark(op: ir.Operation, count: int) -> None:
    """Say that a call's first operands may be lent."""
    known = {each.name: each.attr for each in ir.DictAttr(op.attributes[CONFIG])}
    op.attributes[CONFIG] = ir.DictAttr.get({**known, LENT: ir.IntegerAttr.get(ir.IntegerType.get_signless(64), count)})


def with_lent(bytecode: bytes, lengths: dict[int, int], offsets: Sequence[int] | None) -> bytes:
    """The module with some arguments of @main as flat memory around them: argument index -> elements of that memory.

    offsets: the element each of them starts at, in the order of `lengths`; None: a last argument tells them.
    """
    with context.building():
        module = modules.parse(bytecode)
        main = modules.function(module)
        block = main.regions[0].blocks[0]
        old = list(block.arguments)
        inputs = [types.tensor_type((lengths[i],), types.dtype_of(a)) if i in lengths else a.type
                  for i, a in enumerate(old)]
        if offsets is None:
            inputs.append(types.tensor_type((len(lengths),), np.dtype(np.int64)))
        results = list(ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results)
        with ir.InsertionPoint(main), ir.Location.unknown():
            made = func_dialect.FuncOp("main", ir.FunctionType.get(inputs, results))
        new = made.add_entry_block()
        with ir.InsertionPoint(new), ir.Location.unknown():
            _Moved(old, new, lengths, offsets).move(list(block.operations))
        main.erase()
        return modules.bytecode(module)


class _Moved:
    """Copies a function's ops to one whose arguments lie in bigger memory."""

    def __init__(self, old: list[ir.Value], new: ir.Block, lengths: dict[int, int],
                 offsets: Sequence[int] | None) -> None:
        self.arguments = list(new.arguments)
        self.place = {old[index]: k for k, index in enumerate(lengths)}
        self.flat = {old[index]: self.arguments[index] for index in lengths}
        self.offsets = offsets
        self.mapping = {a: self.arguments[i] for i, a in enumerate(old) if a not in self.flat}
        for argument, whole in self.flat.items():
            if any(use.operand_number >= lent_operands(use.owner.operation) for use in argument.uses):
                self.mapping[argument] = self.sliced(argument, whole)

    def start(self, argument: ir.Value) -> ir.Value | int:
        """The element an argument starts at."""
        k = self.place[argument]
        if self.offsets is not None:
            return self.offsets[k]
        return ops.reshape(ops.slice(self.arguments[-1], (k,), (k + 1,)), ())

    def sliced(self, argument: ir.Value, whole: ir.Value) -> ir.Value:
        """The argument cut out of its memory."""
        shape, start = types.shape_of(argument), self.start(argument)
        count = types.size(shape)
        flat = ops.slice(whole, (start,), (start + count,)) if isinstance(start, int) else \
            ops.dynamic_slice(whole, [start], (count,))
        return ops.reshape(flat, shape)

    def move(self, operations: list[ir.Operation]) -> None:
        """Copy all ops; calls that may read their operands in place do."""
        for each in operations:
            op = each.operation
            count = lent_operands(op)
            given = list(op.operands)
            where = [v for v in given[:count] if v in self.flat]
            starts = self.starts(given[:count]) if where else None
            copy = modules.clone_with(op, self.mapping)
            if starts is None:
                continue
            for k, value in enumerate(given[:count]):
                if value in self.flat:
                    copy.operands[k] = self.flat[value]
            copy.operands[len(given) - 1] = starts
            self.lay_out(copy)

    def starts(self, given: Sequence[ir.Value]) -> ir.Value:
        """The vector of the elements at which a call's operands start."""
        found = [self.start(v) if v in self.flat else 0 for v in given]
        if all(isinstance(f, int) for f in found):
            return ops.constant(np.array(found, np.int64), np.dtype(np.int64))
        parts = [ops.constant(np.array([f], np.int64), np.dtype(np.int64)) if isinstance(f, int) else
                 ops.reshape(f, (1,)) for f in found]
        return ops.concatenate(parts, 0) if len(parts) > 1 else parts[0]

    @staticmethod
    def lay_out(op: ir.Operation) -> None:
        """Row-major layouts for the operands as they are now."""
        index = ir.IndexType.get()
        made = []
        for value in op.operands:
            order = np.arange(ir.RankedTensorType(value.type).rank)[::-1].astype(np.int64)
            made.append(ir.DenseIntElementsAttr.get(order, type=ir.RankedTensorType.get([len(order)], index)))
        op.attributes["operand_layouts"] = ir.ArrayAttr.get(made)
