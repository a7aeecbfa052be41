"""`Site`: what a general rule (`@rewrite("stablehlo.while")`) sees, and the tools with which it may change IR.

A rule may move, clone and build through the site; only the engine erases, after the rule has returned. Looking at an
erased op crashes the process, so a rule keeps nothing between calls. The engine remembers the operands of ops: a rule
gives others only to ops that it has built, to ops inside its own (it returns CHANGED then), or through `substitute`.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import creation, modules, ops

CHANGED = object()
"""Returned by a general rule that changed the op in place (its regions, its operands) instead of replacing it."""

SWAPPED = object()
"""Returned by a rule with a pattern: the op itself with its first two operands exchanged, which costs less than to
build another one."""


MANY = 3
"""How far `users` counts."""

REVISION = [0]
"""Counts what the engine does: an analysis of an op is good as long as this stays as it is."""


ASKED = [False]
"""Whether a rule has asked who reads a value since the engine put this to False: then it is asked again when a reader
goes. Rules with a pattern ask by `users`, `readers`, `consumers` and `uses`, never a value itself."""


READ: list[int] = []
"""The addresses of the values that rules have asked about since the engine looked."""


def uses(value: ir.Value) -> Any:
    """The uses of a value, for rules."""
    ASKED[0] = True
    READ.append(hash(value))
    return value.uses


def operation(value: ir.Value) -> ir.Operation | None:
    """The op that defines a value; None for block arguments."""
    owner = creation.owner(value)
    return None if type(owner) is ir.Block else owner.operation


def parent_block(value: ir.Value) -> ir.Block:
    """The block in which a value is defined."""
    owner = value.owner
    return owner if isinstance(owner, ir.Block) else owner.operation.block


def inside(op: ir.Operation) -> Iterator[ir.Operation]:
    """The ops in the regions of `op`, at any depth, in program order."""
    for region in op.regions:
        for block in region:
            for child in block:
                yield child.operation
                if len(child.regions):
                    yield from inside(child.operation)


def kinds_in(op: ir.Operation) -> frozenset[str]:
    """The names of the ops in the regions of `op`."""
    found: frozenset[str] = creation.found("kinds", op, lambda op: frozenset(modules.names(op)))
    return found


def operations_in(op: ir.Operation) -> int:
    """How many ops the regions of `op` have."""
    found: int = creation.found("operations", op, lambda op: sum(1 for _ in inside(op)))
    return found


def defined_in(value: ir.Value, op: ir.Operation) -> bool:
    """Whether a value is defined somewhere in the regions of `op`."""
    parent = parent_block(value).owner.operation
    while parent is not None and parent.name not in ("func.func", "builtin.module"):
        if parent == op:
            return True
        parent = parent.parent.operation if parent.parent is not None else None
    return False


def captures(op: ir.Operation) -> list[ir.Value]:
    """Values from outside that the regions of `op` use, each once."""
    return list(creation.found("captures", op, _captures)) if len(op.results) else _captures(op)


def _captures(op: ir.Operation) -> list[ir.Value]:
    found: dict[int, ir.Value] = {}
    _add_captures(op.regions, found, set())
    return list(found.values())


def _add_captures(regions: ir.RegionSequence, found: dict[int, ir.Value], own: set[int]) -> None:
    """By their addresses, which cost less to compare: the values that regions use, and those defined in them."""
    for region in regions:
        for block in region:
            own.update(map(hash, block.arguments))
            for child in block:
                for operand in child.operands:
                    address = hash(operand)
                    if address not in own:
                        found.setdefault(address, operand)
                kind: Any = type(child)
                if kind is ir.OpView or kind._ODS_REGIONS != (0, True):
                    _add_captures(child.regions, found, own)
                own.update(map(hash, child.results))


class Site:
    """The op a general rule looks at. It stays alive for the whole call; the engine erases it afterwards."""

    def __init__(self, op: ir.Operation, forget: Callable[[ir.Operation], None]):
        self.op = op
        self._forget = forget
        self._touched: list[ir.Operation] = []

    @property
    def operands(self) -> list[ir.Value]:
        return list(self.op.operands)

    @property
    def results(self) -> list[ir.Value]:
        return list(self.op.results)

    def attribute(self, name: str) -> object:
        """A decoded attribute, None where absent."""
        attributes = self.op.attributes
        return attr.decode(attributes[name]) if name in attributes else None

    def used(self, index: int) -> bool:
        """Whether result `index` has a user."""
        return next(iter(self.op.results[index].uses), None) is not None

    def block(self, region: int) -> ir.Block:
        """The only block of a region."""
        return self.op.regions[region].blocks[0]

    def arguments(self, region: int) -> list[ir.Value]:
        return list(self.block(region).arguments)

    def body(self, region: int) -> list[ir.Operation]:
        """The ops of a region, without its terminator."""
        return list(creation.found(f"body {region}", self.op, lambda op: [
            child.operation for child in op.regions[region].blocks[0]][:-1]))

    def terminator(self, region: int) -> ir.Operation:
        return self.block(region).operations[-1].operation

    def returned(self, region: int) -> list[ir.Value]:
        """What a region returns."""
        return list(self.terminator(region).operands)

    def inline(self, region: int, arguments: Sequence[ir.Value]) -> list[ir.Value]:
        """Copy the ops of a region to the insertion point, block arguments replaced; gives the values it returns."""
        mapping = dict(zip(self.arguments(region), arguments, strict=True))
        for child in self.body(region):
            self.clone(child, mapping)
        return [mapping.get(value, value) for value in self.returned(region)]

    def clone(self, op: ir.Operation, mapping: dict[ir.Value, ir.Value]) -> ir.Operation:
        """Copy one op (and its regions) to the insertion point, operands replaced through `mapping`, which learns the
        results."""
        copy = modules.clone_with(op, mapping)
        creation.note(copy)
        return copy

    def move_before(self, op: ir.Operation, anchor: ir.Operation | None = None) -> None:
        """Move an op before `anchor` (this site's op by default); its operands must be defined there."""
        creation.altered()
        op.move_before(anchor if anchor is not None else self.op)
        self._touched.append(op)

    def take_block(self, region: int, new_parent: ir.Operation, new_region: int) -> ir.Block:
        """Move the block of a region into an op built to replace this one."""
        creation.altered()
        block = self.block(region)
        block.append_to(new_parent.regions[new_region])
        self._touched.extend(child.operation for child in block)
        # a block's argument that Python has seen still says that it is the old op's, to ops in inner regions too
        self._touched.extend(use.owner.operation for argument in block.arguments for use in argument.uses)
        return block

    def substitute(self, old: ir.Value, new: ir.Value) -> None:
        """Replace all uses of a value defined inside this op (a region's argument or an inner result)."""
        creation.altered()
        self._touched.extend(use.owner.operation for use in old.uses)
        old.replace_all_uses_with(new)

    def set_returned(self, terminator: ir.Operation, values: Sequence[ir.Value]) -> None:
        """Give a region's terminator new operands. The old terminator is replaced."""
        with ir.InsertionPoint(terminator):
            ops.create(terminator.name, [], list(values))
        self._forget(terminator)
        self._touched[:] = [each for each in self._touched if each != terminator]   # `substitute` may have noted it
        terminator.erase()


def producer(value: ir.Value) -> Producer | None:
    """A read-only look at the op that defines a value; None for arguments."""
    owner = creation.owner(value)
    return None if type(owner) is ir.Block else Producer(owner.operation)


class Producer:
    """Name, operands and decoded attributes of the op that defines a value: for rules that must look further than a
    pattern can say (lists of operands, chains of any length)."""
    __slots__ = ("op", "name")

    def __init__(self, op: ir.Operation):
        self.op = op
        self.name: str = op.name

    @property
    def operands(self) -> list[ir.Value]:
        return list(self.op.operands)

    def __getitem__(self, name: str) -> Any:
        """A decoded attribute. Raises `KeyError` where absent."""
        return attr.decode(self.op.attributes[name])

    @property
    def regions(self) -> int:
        return len(self.op.regions)

    @property
    def results(self) -> list[ir.Value]:
        return list(self.op.results)


def consumers(value: ir.Value) -> list[Producer]:
    """A read-only look at every op that uses a value, once a use."""
    return list(readers(value))


def readers(value: ir.Value) -> Iterator[Producer]:
    """`consumers` one by one, for who may stop early."""
    for use in uses(value):
        yield Producer(use.owner.operation)


def users(value: ir.Value) -> int:
    """Number of ops that use a value (an op that uses it twice counts twice), at most `MANY`: rules ask for none, one,
    two or several, and a parameter of the program may have thousands."""
    return sum(1 for _ in islice(uses(value), MANY))
