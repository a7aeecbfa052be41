"""Rebuilding a kernel's function: the successors of a block, an order of blocks, copies of ops on other operands.

The steps of this room never change a function in place; each writes a new one beside it and drops the old one, so that
nothing refers to an erased operation.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from jaxlib.mlir import ir

from reactant.support.records import dataclass


@dataclass(frozen=True)
class Edge:
    """One way out of a block: to which block (its number), with which values for its parameters, for which case.

    case: None for a plain branch and a switch's default, 1 and 0 for the two sides of a condition, else a case value.
    """

    target: int
    values: tuple[ir.Value, ...]
    case: int | None = None


def blocks_of(function: ir.Operation) -> list[ir.Block]:
    """The function's blocks; their places in the list are their numbers."""
    return list(function.regions[0].blocks)


def edges(blocks: list[ir.Block], terminator: ir.Operation) -> list[Edge]:
    """The ways out of a block."""
    name = terminator.name
    targets = [blocks.index(b) for b in terminator.successors]
    operands = list(terminator.operands)
    if name == "cf.br":
        return [Edge(targets[0], tuple(operands))]
    if name == "cf.cond_br":
        _, yes, no = ir.DenseI32ArrayAttr(terminator.attributes["operandSegmentSizes"])
        return [Edge(targets[0], tuple(operands[1:1 + yes]), 1),
                Edge(targets[1], tuple(operands[1 + yes:1 + yes + no]), 0)]
    if name == "cf.switch":
        _, default, _ = ir.DenseI32ArrayAttr(terminator.attributes["operandSegmentSizes"])
        found = [Edge(targets[0], tuple(operands[1:1 + default]))]
        start = 1 + default
        values = case_values(terminator)
        sizes = list(ir.DenseI32ArrayAttr(terminator.attributes["case_operand_segments"]))
        for target, size, value in zip(targets[1:], sizes, values, strict=True):
            found.append(Edge(target, tuple(operands[start:start + size]), value))
            start += size
        return found
    return []


def case_values(terminator: ir.Operation) -> list[int]:
    """The case values of a cf.switch."""
    if "case_values" not in terminator.attributes:
        return []
    values = ir.DenseIntElementsAttr(terminator.attributes["case_values"])
    width = ir.IntegerType(terminator.operands[0].type).width
    half = (1 << (width - 1)) if width > 1 else 0
    return [((int(values[i]) + half) & ((1 << width) - 1)) - half for i in range(len(values))]


def terminator_of(block: ir.Block) -> ir.Operation:
    return list(block.operations)[-1].operation


def reverse_postorder(successors: list[list[int]], start: int = 0) -> list[int]:
    """Blocks reachable from `start`, each after every block that dominates it."""
    seen, order = {start}, []
    stack: list[tuple[int, Iterator[int]]] = [(start, iter(successors[start]))]
    while stack:
        node, following = stack[-1]
        for successor in following:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(successors[successor])))
                break
        else:
            order.append(node)
            stack.pop()
    return order[::-1]


def copied(op: ir.Operation, value_of: Callable[[ir.Value], ir.Value]) -> ir.Operation:
    """A copy of an op at the current insertion point, its operands (also those inside its regions) replaced."""
    copy = op.clone()
    redirect(copy, value_of)
    return copy


def redirect(op: ir.Operation, value_of: Callable[[ir.Value], ir.Value]) -> None:
    """Replace the operands of an op and of everything inside it."""
    for number, operand in enumerate(op.operands):
        new = value_of(operand)
        if new is not operand:
            op.operands[number] = new
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                redirect(inner.operation, value_of)


def new_function(old: ir.Operation, argument_types: list[ir.Type], argument_attributes: list[dict[str, ir.Attribute]],
                 name: str = "kernel") -> tuple[ir.Operation, ir.Block]:
    """A function with the old one's attributes and these arguments, after the old one; and its entry block."""
    kind = ir.FunctionType.get(argument_types, [])
    own = ("function_type", "arg_attrs", "sym_name")
    attributes = {key: old.attributes[key] for key in old.attributes if key not in own}
    attributes["function_type"] = ir.TypeAttr.get(kind)
    attributes["sym_name"] = ir.StringAttr.get(name)
    if argument_types:
        attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in argument_attributes])
    with ir.InsertionPoint.after(old):
        made = ir.Operation.create("func.func", attributes=attributes, regions=1, loc=old.location)
    block = ir.Block.create_at_start(made.regions[0], argument_types, [old.location] * len(argument_types))
    return made, block


def argument_attributes(function: ir.Operation) -> list[dict[str, ir.Attribute]]:
    """The attributes of each argument of a function."""
    count = len(function.regions[0].blocks[0].arguments)
    if "arg_attrs" not in function.attributes:
        return [{} for _ in range(count)]
    given = ir.ArrayAttr(function.attributes["arg_attrs"])
    return [dict_of(ir.DictAttr(a)) for a in given]


def dict_of(attribute: ir.DictAttr) -> dict[str, ir.Attribute]:
    """A dictionary attribute as a dictionary."""
    return {attribute[i].name: attribute[i].attr for i in range(len(attribute))}


class Rewriter:
    """Copies a function's structured body; a subclass writes some operations differently (`rewritten`).

    `values` maps values of the old function to those of the new one.
    """

    def __init__(self) -> None:
        self.values: dict[ir.Value, ir.Value] = {}

    def value(self, old: ir.Value) -> ir.Value:
        return self.values.get(old, old)

    def mapped(self, old: Iterable[ir.Value]) -> list[ir.Value]:
        return [self.value(v) for v in old]

    def rewritten(self, op: ir.Operation) -> bool:
        """Write an operation another way; False to have it copied."""
        return False

    def function(self, old: ir.Operation) -> ir.Operation:
        """A copy of a function of one block, after the old one, which is erased."""
        source = old.regions[0].blocks[0]
        made, block = new_function(old, [a.type for a in source.arguments], argument_attributes(old))
        self.values.update(zip(source.arguments, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            self.operations(source)
        old.erase()
        return made

    def operations(self, block: ir.Block) -> None:
        """Copy a block's operations to the insertion point."""
        for op in list(block.operations):
            self.operation(op.operation)

    def operation(self, op: ir.Operation) -> None:
        with op.location:
            if self.rewritten(op):
                return
            if not len(op.regions):
                made = copied(op, self.value)
            else:
                made = ir.Operation.create(op.name, [r.type for r in op.results], self.mapped(op.operands),
                                           attributes={key: op.attributes[key] for key in op.attributes},
                                           regions=len(op.regions))
                for old_region, new_region in zip(op.regions, made.regions, strict=True):
                    for block in old_region.blocks:
                        self.block_into(block, new_region)
            self.values.update(zip(op.results, made.results, strict=True))

    def block_into(self, block: ir.Block, region: ir.Region) -> None:
        """Copy a block as the block of a region."""
        arguments = list(block.arguments)
        new = ir.Block.create_at_start(region, [a.type for a in arguments], [ir.Location.current] * len(arguments))
        self.values.update(zip(arguments, new.arguments, strict=True))
        with ir.InsertionPoint(new):
            self.operations(block)
