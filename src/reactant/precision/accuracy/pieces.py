"""A long program in pieces that are compiled apart.

XLA:CPU computes cheap values again in each kernel that uses them, over barriers too: a chain of n operations, each of
which is measured, becomes n kernels of n operations. A function that is not inlined ends that.
"""
from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from jaxlib.mlir import ir

from reactant.ir import modules, ops

BARRIER = "stablehlo.optimization_barrier"
LEAST = 12
"""Operations that are worth a function."""
_STAYS = {"stablehlo.while", "stablehlo.if", "stablehlo.case", "stablehlo.return", "func.return", "func.call"}


def in_pieces(module: ir.Module) -> None:
    """Make functions of what lies between the barriers of `@main`, which go."""
    main, numbers = modules.function(module), count()
    blocks = [block for op in (main, *modules.walk(main)) if op.name in (*_STAYS, "func.func")
              for region in op.regions for block in region]
    for block in blocks:
        piece: list[ir.Operation] = []
        for op in [each.operation for each in block]:
            if op.name == BARRIER or op.name in _STAYS:
                _outline(module, piece, f"piece_{next(numbers)}")
                piece = []
            elif op.name != "stablehlo.constant":
                piece.append(op)
            if op.name == BARRIER:
                for result, operand in zip(op.results, op.operands, strict=True):
                    result.replace_all_uses_with(operand)
                op.erase()


def _outline(module: ir.Module, piece: Sequence[ir.Operation], name: str) -> None:
    if len(piece) < LEAST:
        return
    made = {result for op in piece for result in op.results}
    used = dict.fromkeys(v for op in piece for v in (*op.operands, *modules.captured(op)) if v not in made)
    constants = [v for v in used if ops.made_by(v, "constant")]
    given = [v for v in used if v not in set(constants)]
    inside = set(piece)
    results = [r for r in made if any(_outer(use.owner.operation, piece[0]) not in inside for use in r.uses)]
    with ir.Location.unknown():
        with ir.InsertionPoint.at_block_begin(module.body):
            function = ir.Operation.create("func.func", results=[], operands=[], regions=1, attributes={
                "sym_name": ir.StringAttr.get(name), "sym_visibility": ir.StringAttr.get("private"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get([v.type for v in given],
                                                                     [r.type for r in results]))})
        block = function.regions[0].blocks.append(*(v.type for v in given),
                                                  arg_locs=[ir.Location.current] * len(given))
        mapping: dict[ir.Value, ir.Value] = dict(zip(given, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            for constant in constants:
                modules.clone_with(constant.owner.operation, mapping)
            for op in piece:
                modules.clone_with(op, mapping)
            ops.create("func.return", results=[], operands=[mapping[r] for r in results])
        with ir.InsertionPoint(piece[0]):
            found = ops.call(name, given, [r.type for r in results])
    found[0].owner.attributes["mhlo.frontend_attributes"] = ir.DictAttr.get({"inlineable": ir.StringAttr.get("false")})
    for old, new in zip(results, found, strict=True):
        old.replace_all_uses_with(new)
    for op in reversed(piece):
        op.erase()


def _outer(op: ir.Operation, like: ir.Operation) -> ir.Operation:
    """The operation of the block of another that an operation is, or is in."""
    while op.parent is not None and op.block != like.block:
        op = op.parent.operation
    return op
