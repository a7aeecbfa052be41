"""What the rewriter has found out about the ops of a module, kept from visit to visit and from pass to pass."""
from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

from reactant.errors import ReactantError
from reactant.ir import modules
from reactant.rewrite.compile import WIDE, Content, Root, Row
from reactant.rewrite.site import inside


class RewriteError(ReactantError):
    """A rule broke the rules; the message names it."""

    code = "defective-rule"


def identity(op: ir.Operation) -> int:
    """What tells an op from every other live op: the address of its first result."""
    return hash(op.results[0])


Seen = tuple[Root, tuple[Row, ...], list[ir.Value], list[Any], dict[str, Any], tuple[int, ...], ir.Operation]
"""What is known of an op since it was looked at: the rules of its kind, the rows left to try, its operands, who defines
the first of them, what was decoded of its attributes, the addresses of what it uses (see `used`), and the op."""


COMBINING = frozenset(f"stablehlo.{name}" for name in (
    "reduce", "reduce_window", "scatter", "select_and_scatter", "sort", "all_reduce", "reduce_scatter"))
"""Ops whose regions say how two elements are combined."""


def combines(op: ir.Operation) -> bool:
    """Whether the regions of an op are one op on two elements each: then there is nothing to rewrite in them."""
    return op.name in COMBINING and all(len(block.operations) == 2 for region in op.regions for block in region)


NEITHER: tuple[tuple[int, ...], tuple[int, ...]] = (), ()


def outermost(op: ir.Operation) -> ir.Operation | None:
    """The op of a function in whose regions, at any depth, an op lies; None for those of the function itself."""
    around, parent = None, op.parent
    while parent is not None and parent.name not in modules.STRUCTURE:
        around, parent = parent.operation, parent.operation.parent
    return around


class Memory:
    """What is known of the ops of a module, by the address of a value (for an op, of its first result): so that looking
    at an op again costs little. Whoever changes or erases an op forgets it here; whoever may have changed anything
    forgets everything."""

    def __init__(self) -> None:
        self.owners: dict[int, ir.OpView] = {}
        """What defines a value, where an op does."""
        self.contents: dict[int, Content] = {}
        """Of constants."""
        self.decoded: dict[int, dict[str, Any]] = {}
        """What matchers have decoded of an op's attributes."""
        self.seen: dict[int, Seen] = {}
        self.asking: set[int] = set()
        """Ops whose rules asked who reads a value: what they found may be different when a reader goes."""
        self.asked: set[int] = set()
        """The values they asked about."""
        self.complete = False
        """Whether all ops with rules have been looked at, so that `asked` has all of these."""
        self.clock = 1
        """Counts rewrites, for the times below."""
        self.tried: dict[int, tuple[int, dict[int, int]]] = {}
        """For every table of rules (by its `id`): when it was begun with, and when all that can match an op were tried
        since, and none fired."""
        self.visited: dict[int, int] = {}
        """When rules of any table were tried on an op last."""
        self.asked_last: dict[int, int] = {}
        """For every table: when `left` was asked last; what was tried before, and has nothing new, counts as tried
        then."""
        self.looked: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        """The values whose owners, and those whose readers, these rules asked about."""
        self.altered: dict[int, int] = {}
        """When an op was given other operands, or something in its regions was altered, by the addresses of its
        results. Of ops inside one another the outermost stands for all."""
        self.inner: dict[int, tuple[ir.Operation, int]] = {}
        """Outermost ops in whose regions something was altered, and when: `altered` learns of it when it is asked."""
        self.handed: dict[int, int] = {}
        """When something else was handed into or out of the regions of an op, or of one inside it: what the arguments
        of blocks are. By the addresses of outermost ops."""
        self.reread: dict[int, int] = {}
        """When a value lost a reader, got one, or one of them got other operands."""
        self.wide: dict[int, ir.Operation] = {}
        """Ops of many operands that were changed: `reread` learns of all these when it is asked."""
        self.unseen: dict[int, ir.Operation] = {}
        """What is new, or was changed, since the engine looked."""
        self.listed: dict[int, ir.Operation] | None = None
        """All ops with results in program order, as long as none has come or gone."""
        self.nested: set[int] = set()
        """Those that are, or were, in a region of another."""
        self.names: set[str] = set()
        """Of all ops, when they were listed last."""
        self.deep = True
        """Whether there may be ops in regions of others that can be rewritten or merged (see `combines`)."""
        self.size = 0
        """How many ops there were then, functions and terminators left out."""

    def check(self, root: ir.Operation) -> None:
        """Raises `RewriteError` where an op has other operands than those on record."""
        for op in inside(root):
            seen = self.seen.get(identity(op)) if len(op.results) else None
            if seen is not None and seen[5][:len(op.operands)] != tuple(map(hash, op.operands)):
                raise RewriteError(f"a general rule gave new operands to {op.name} without telling (`substitute`).")

    def clear(self) -> None:
        """Forget everything: any op may have changed."""
        for each in (self.owners, self.contents, self.decoded, self.seen, self.asking, self.asked, self.tried,
                     self.visited, self.asked_last, self.looked, self.altered, self.inner, self.handed, self.reread,
                     self.wide, self.unseen, self.nested):
            each.clear()
        self.listed = None
        self.complete = False
        self.deep = True

    def changed(self, op: ir.Operation) -> int | None:
        """An op is new, has other operands, or does something else with them; gives its address."""
        clock, results, operands = self.clock, op.results, op.operands
        count = len(results)
        if count and len(operands) > WIDE:
            self.wide[hash(results[0])] = op
        else:
            reread = self.reread
            for operand in operands:
                reread[hash(operand)] = clock
        if not count:       # what a region returns
            self.stirred(op, True)
            return None
        address = hash(results[0])
        holds = len(op.regions) > 0
        if holds:
            self.handed[address] = clock
        if address in self.nested:
            self.stirred(op, holds)
        self.seen.pop(address, None)
        self.unseen[address] = op
        self.altered[address] = clock
        for number in range(1, count):
            self.altered[hash(results[number])] = clock
        return address

    def stirred(self, op: ir.Operation, handed: bool = False) -> None:
        """An op in some region was altered, or is about to go; `handed`: and hands values into or out of regions."""
        around = outermost(op)
        if around is not None and len(results := around.results):
            address = hash(results[0])
            self.inner[address] = around, self.clock
            if handed:
                self.handed[address] = self.clock

    def rebuilt(self, op: ir.Operation) -> None:
        """Forget all about an op that is new, or another one than it was."""
        for result in op.results:
            self.erased(hash(result))

    def erased(self, address: int) -> None:
        """Forget a value that is about to go, or has gone."""
        self.owners.pop(address, None)
        self.contents.pop(address, None)
        self.decoded.pop(address, None)
        self.seen.pop(address, None)
        self.asking.discard(address)
        self.asked.discard(address)
        self.unseen.pop(address, None)
        self.inner.pop(address, None)
        self.wide.pop(address, None)

    def left(self, root: ir.Operation, table: dict[str, Root]) -> dict[int, ir.Operation]:
        """Where rules may fire now, all of the table having been tried everywhere: on what is not known, and where
        something they have looked at was altered since; in a loop or a branch, anything around them too."""
        for address, (op, clock) in self.inner.items():
            if self.altered.get(address, 0) < clock:
                self.altered.update((hash(result), clock) for result in op.results)
        self.inner.clear()
        for op in self.wide.values():
            self.reread.update((hash(operand), self.clock) for operand in op.operands)
        self.wide.clear()
        begun, tried = self.tried[id(table)]
        before, self.asked_last[id(table)] = self.asked_last.get(id(table), begun), self.clock
        altered = {address for address, clock in self.altered.items() if clock > before}
        reread = {address for address, clock in self.reread.items() if clock > before}
        found = {}
        for address, known in self.seen.items():
            entry = table.get(known[0].name)
            if entry is None or known[0] is entry and not known[1]:
                continue
            if self._may_fire(address, known, entry, tried.get(address, begun), altered, reread):
                found[address] = known[6]
            else:
                tried[address] = self.clock
        new = {address for address, op in self.unseen.items() if op.name in table}
        if not new:
            return found
        return {address: op for address, op in self.list(root).items() if address in found or address in new}

    def _may_fire(self, address: int, known: Seen, entry: Root, at: int, altered: set[int], reread: set[int]) -> bool:
        """Whether there is something new for the rules of an op that were tried at some time. `altered`, `reread`: the
        values of which that was noted since this was asked last."""
        if at == self.clock:
            return False
        if entry.whole and known[0] is not entry:
            return True
        owners, readers = self.looked.get(address, NEITHER)
        times = self.altered
        if address in altered and times[address] > at:
            return True
        for values in (known[5], owners):
            if not altered.isdisjoint(values) and any(times.get(value, 0) > at for value in values):
                return True
        if not reread.isdisjoint(readers) and any(self.reread.get(value, 0) > at for value in readers):
            return True
        if address not in self.nested:
            return False
        around = outermost(known[6])
        if around is None or not len(around.results):
            return around is not None
        times = self.altered if entry.whole and any(row[1] is None for row in known[1]) else self.handed
        return times.get(identity(around), 0) > at

    def list(self, root: ir.Operation, others: dict[int, ir.Operation | None] | None = None
             ) -> dict[int, ir.Operation]:
        """The ops in `root` that have results, by their addresses, in program order. `others` learns the addresses of
        all other values: further results, with their ops, and arguments of blocks."""
        if self.listed is None or others is not None:
            self.listed, self.size, self.deep = {}, 0, False
            self.names.clear()
            self._look(root, self.listed, others)
            self.size += len(self.listed)
        return self.listed

    def _look(self, op: ir.Operation, found: dict[int, ir.Operation],
              others: dict[int, ir.Operation | None] | None, nested: bool = False) -> None:
        owners, names = self.owners, self.names
        for region in op.regions:
            for block in region:
                if others is not None:
                    others.update((hash(argument), None) for argument in block.arguments)
                children = list(block)
                kinds: set[Any] = set(map(type, children))
                if ir.OpView in kinds:      # ops of dialects that Python does not know
                    names.update(child.name for child in children)
                else:
                    names.update(kind.OPERATION_NAME for kind in kinds)
                holders = {kind for kind in kinds if kind is ir.OpView or kind._ODS_REGIONS != (0, True)}
                for child in children:
                    inner = child.operation
                    results = inner.results
                    count = len(results)
                    if count:
                        address = hash(results[0])
                        found[address] = inner
                        if nested:
                            self.nested.add(address)
                        owners[address] = child
                        if count > 1 and others is not None:
                            others.update((hash(results[number]), inner) for number in range(1, count))
                    elif inner.name not in modules.STRUCTURE:
                        self.size += 1
                    if holders and type(child) in holders:
                        if combines(inner):
                            self.size += len(inner.regions)
                        else:
                            self.deep |= inner.name != "func.func"
                            self._look(inner, found, others, nested or count > 0)
