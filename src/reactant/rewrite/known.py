"""What rules have found out in a function, handed on to copies of it."""
from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, NamedTuple

from jaxlib.mlir import ir

from reactant.rewrite.driver import NOTHING, RuleSet
from reactant.rewrite.memory import NEITHER, Memory, Seen, identity


def flat(views: Sequence[ir.OpView]) -> list[Any]:
    """Ops and what is in their regions, in program order."""
    found: list[Any] = []
    for view in views:
        found.append(view)
        kind: Any = type(view)
        if kind is ir.OpView or kind._ODS_REGIONS != (0, True):
            for region in view.regions:
                for block in region:
                    found += flat(list(block))
    return found


def addresses(views: Sequence[ir.OpView], closed: Set[int] = frozenset()) -> list[int]:
    """Of the values that ops define: their results, and the arguments of their regions, but for the `closed` ones."""
    found: list[int] = []
    for number, view in enumerate(views):
        results = view.results
        if len(results) == 1:
            found.append(hash(results[0]))
        else:
            found += map(hash, results)
        kind: Any = type(view)
        if number not in closed and (kind is ir.OpView or kind._ODS_REGIONS != (0, True)):
            found += [hash(argument) for region in view.regions for block in region for argument in block.arguments]
    return found


class Fact(NamedTuple):
    """What is known of an op on which no rule fires: its record, the values whose owners and whose readers rules have
    asked about, and whether they asked who reads something."""
    seen: Seen
    owners: tuple[int, ...]
    readers: tuple[int, ...]
    asking: bool


class Known:
    """What is known of the ops of a function, by one memory, for another one to learn of their copies. `boundary`:
    the values of the function of which more is known outside; `settled` learns on which ops no rule fires."""

    def __init__(self, of: Memory, function: ir.Operation, rules: Sequence[RuleSet], boundary: Sequence[ir.Value],
                 memory: Memory, settled: set[int]):
        self.of, self.function, self.rules, self.memory, self.settled = of, function, rules, memory, settled
        self.boundary = set(map(hash, boundary))
        self.shared = set(map(hash, function.regions[0].blocks[0].operations[-1].operands)) | self.boundary
        """The values that have other readers outside."""
        self.stands_for: dict[int, int] = {}
        """What comes in place of a value of the function, by address; for all copies."""
        self.kept: list[ir.OpView] = []

    def keep(self, view: ir.OpView) -> None:
        """An op has been moved out of the function, for all copies."""
        self.kept.append(view)
        self.shared.update(map(hash, view.operation.results))

    def drop(self, op: ir.Operation) -> None:
        """Something else stands for an op of the function, which is about to be erased."""
        self.shared.update(map(hash, op.results))

    def finish(self) -> None:
        """The function is as it will be copied."""
        self.stands_for.update((address, address) for view in self.kept for address in map(hash, view.results))
        self._learn(self.kept, [self._fact(view) for view in self.kept], self.stands_for)
        self.facts: list[Fact | None] = []
        self.defined: list[int] = []
        for outer in list(self.function.regions[0].blocks[0])[:-1]:
            views = flat([outer])
            alike = len(views) == 1 or self.boundary.isdisjoint(
                hash(value) for view in views if len(view.regions) or not len(view.results) for value in view.operands)
            self.facts += [self._fact(outer), *(self._fact(view) if alike else None for view in views[1:])]
            self.defined += addresses(views)

    def _fact(self, view: ir.OpView) -> Fact | None:
        """What is known of an op, if that does not depend on what is outside."""
        op = view.operation
        seen = self.of.seen.get(identity(op)) if len(op.results) else None
        if seen is None:
            return None
        owners, readers = self.of.looked.get(identity(op), NEITHER)
        if (not self.boundary.isdisjoint(seen[5]) or not self.boundary.isdisjoint(owners)
                or not self.shared.isdisjoint(readers)):
            return None
        entry = self.rules[0].table.get(op.name)
        if entry is not None and entry is not seen[0]:      # other rules were tried last
            if entry.width:
                return None
            seen = (entry, entry.rows.get(()) or entry.select(()), *seen[2:])
        return Fact(seen, owners, readers, identity(op) in self.of.asking)

    def hand_on(self, views: Sequence[ir.OpView], filled: Set[int]) -> None:
        """There is a copy of the function with these ops, in the order of `flat`; those that were opaque in the
        function, at the places `filled`, may have regions now."""
        stands_for = dict(zip(self.defined, addresses(views, filled), strict=True))
        stands_for.update(self.stands_for)
        self._learn(views, self.facts, stands_for)

    def _learn(self, views: Sequence[ir.OpView], facts: Sequence[Fact | None], stands_for: dict[int, int]) -> None:
        memory, settled = self.memory, self.settled
        owners, seen, looked = memory.owners, memory.seen, memory.looked
        for view, fact in zip(views, facts, strict=True):
            if fact is None:
                continue
            (entry, rows, _, before, _, used, _), others, readers, asking = fact
            try:
                places = tuple([stands_for[address] for address in used])
            except KeyError:
                continue
            op = view.operation
            address = identity(op)
            owners[address] = view
            values = list(op.operands)
            makers: list[Any] = [owners.get(place) for place in places[:len(before)]]
            if NOTHING in map(type, makers):
                makers = [_owner(value, place, owners) for value, place, _ in zip(values, places, before, strict=False)]
            decoded: dict[str, Any] = {}
            memory.decoded[address] = decoded
            seen[address] = (entry, rows, values, makers, decoded, places, op)
            if readers:
                readers = _those(readers, stands_for)
                memory.asked.update(readers)
            looked[address] = _those(others, stands_for) if others else others, readers
            if asking:
                memory.asking.add(address)
            settled.add(address)


def _those(found: tuple[int, ...], stands_for: dict[int, int]) -> tuple[int, ...]:
    return tuple(stands_for[address] for address in found if address in stands_for)


def _owner(value: ir.Value, place: int, owners: dict[int, ir.OpView]) -> ir.OpView | ir.Block:
    found = owners.get(place)
    if found is None:
        found = value.owner
        if type(found) is not ir.Block:
            owners[place] = found
    return found
