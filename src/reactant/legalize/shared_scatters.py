"""Scatters of several arrays, of which XLA's compiler for CPUs may write two into one buffer.

Inputs that are equal (two constants, a parameter twice) are one buffer to it, and both results are the first one's
(jax 0.10.2, `findings/xla_cpu_scatter_into_equal_constants.sh`). Where each result depends on its own array alone,
there is a scatter for each. Where they depend on each other, as the values and places of a least element do, an array
that may be equal to one before it is chosen at run time, by a condition that never holds, which XLA does not see.
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.creation import create
from reactant.ir.types import dtype_of, shape_of, size

SCATTER = "stablehlo.scatter"
CONCERNED = (b"scatter",)
"""What the bytecode of a module that `kept` may change has in it."""
NO_COUNT = 100
"""More bits than an index has."""
FAR = 100
"""Pairs of ops that are compared; what has more behind it counts as equal."""


def kept(module: ir.Module) -> ir.Module:
    """The module, or a copy of it in which each scatter writes to buffers of its own."""
    return modules.altered(module, _is_concerned, _alter)


def _is_concerned(op: ir.Operation) -> bool:
    return op.name == SCATTER and len(op.results) > 1 and bool(_repeated(op))


def _repeated(op: ir.Operation) -> list[int]:
    """The inputs that may be equal to one before them."""
    inputs = list(op.operands)[:len(op.results)]
    return [i for i, x in enumerate(inputs) if any(_alike(x, y) for y in inputs[:i])]


def _alike(x: ir.Value, y: ir.Value) -> bool:
    """Whether two values may be one to XLA: they are computed in the same way."""
    waiting, seen = [(x, y)], {(x, y)}
    while waiting:
        one, other = waiting.pop()
        if one == other:
            continue
        if one.type != other.type:
            return False
        made, also = ops.maker(one), ops.maker(other)
        if made is None or also is None or made.name != also.name or made.attributes != also.attributes:
            return False
        if len(seen) > FAR or len(made.regions):
            return True
        new = [pair for pair in zip(made.operands, also.operands, strict=True) if pair not in seen]
        seen.update(new)
        waiting += new
    return True


def _alter(op: ir.Operation) -> None:
    parts = [_of_one(op, i) for i in range(len(op.results))]
    if all(part is not None for part in parts):
        indices = op.operands[len(parts)]
        for i, (part, result) in enumerate(zip(parts, op.results, strict=True)):
            result.replace_all_uses_with(_scatter(op, i, indices, part or []))
        op.erase()
        return
    for i in _repeated(op):
        op.operands[i] = _hidden(op.operands[i], op.operands[len(parts)])


def _of_one(op: ir.Operation, index: int) -> list[ir.Operation] | None:
    """The ops that one result's combination consists of; None where it depends on another array."""
    block = op.regions[0].blocks[0]
    count = len(op.results)
    others = {a for i, a in enumerate(block.arguments) if i % count != index}
    body = [each.operation for each in block.operations]
    needed, found = {body[-1].operands[index]}, []
    if needed & others:
        return None
    for each in reversed(body[:-1]):
        if needed.intersection(each.results):
            used = {*each.operands, *modules.captured(each)}
            if used & others:
                return None
            needed |= used
            found.append(each)
    return found[::-1]


def _scatter(op: ir.Operation, index: int, indices: ir.Value, body: list[ir.Operation]) -> ir.Value:
    """The scatter of one of the arrays."""
    count, block = len(op.results), op.regions[0].blocks[0]
    arguments = [block.arguments[index], block.arguments[count + index]]

    def combined(*given: ir.Value) -> list[ir.Value]:
        mapping = dict(zip(arguments, given, strict=True))
        for each in body:
            modules.clone_with(each, mapping)
        result = block.operations[len(block.operations) - 1].operation.operands[index]
        return [mapping.get(result, result)]

    made = create(SCATTER, results=[op.results[index].type], regions=1,
                  operands=[op.operands[index], indices, op.operands[count + 1 + index]],
                  attributes={name: op.attributes[name] for name in op.attributes})
    ops.fill_region(made.regions[0], [a.type for a in arguments], combined)
    return made.result


def _hidden(x: ir.Value, indices: ir.Value) -> ir.Value:
    """`x`, as an array that XLA takes for another one: it does not know how many bits of a number are set."""
    if not size(shape_of(indices)):
        return x        # nothing is written
    first = ops.reshape(ops.slice(indices, [0] * len(shape_of(indices)), [1] * len(shape_of(indices))), ())
    never = ops.compare(ops.popcnt(first), NO_COUNT, "EQ")
    known = ops.constant_value(x)
    another = 0 if known is not None and known.size and known.reshape(-1)[0] == dtype_of(x).type(1) else 1
    return ops.select(never, ops.splat(another, x), x)
