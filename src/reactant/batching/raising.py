"""What the iterations of a loop do to its carried values, where that can be done for all iterations at once. Analysis
only.

A carried value has one of these *roles*:

    Written     an array of which every iteration overwrites windows; what iterations read of it, no earlier one wrote
    Reduced     start + e0 + e1 + ... (or *, max, min, and, or, xor), and nothing reads the sums in between
    Scattered   an array to which every iteration adds (multiplies...) something, wherever: a histogram
    Latch       a flag that says whether a check has failed, and with others which was the first to fail
    Extreme     the greatest (least) element so far, and what goes with it: its index
    Last        what the last iteration makes, or the last iteration for which a condition holds
    Shifted     what the iteration before made, read by the next
    Scanned     x = a x + b, running sums and the like, where a plan is asked for them (`scans`)
    Recurrent   anything else: each iteration needs the one before

Values that depend on a recurrent one *stay* in a loop; the others can leave it (`Plan.leaving`).
"""
from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from jaxlib.mlir import ir

from reactant.batching.accesses import (
    EARLIER,
    OTHER,
    SAME,
    TripCount,
    Window,
    affine_starts,
    apart,
    read_window,
    window_of,
)
from reactant.batching.analysis import block_ops, reads
from reactant.batching.recurrences import recurrence_of
from reactant.batching.roles import (
    Count,
    Extreme,
    Formula,
    Last,
    Latch,
    Recurrent,
    Reduced,
    Role,
    Scanned,
    Scattered,
    Shifted,
    Term,
    Written,
    atoms,
    formula,
)
from reactant.batching.rules.reduction import NEUTRAL
from reactant.ir import attributes as attr
from reactant.ir.induction import Counter, Trips, counters, range_of, trips
from reactant.ir.ops import constant_value
from reactant.ir.types import dtype_of, is_complex, is_float, is_half, shape_of
from reactant.rewrite import pure
from reactant.rewrite.site import REVISION, uses

READ, UPDATE = "stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice"
SELECT, COMPARE = "stablehlo.select", "stablehlo.compare"
FLIPPED = {"GT": "LT", "LT": "GT", "GE": "LE", "LE": "GE"}


LATCHED = 6
"""Most flags that are looked at together."""


class Plan:
    """The roles of a loop's carried values. `Plan.of` gives None where the iterations cannot be counted."""

    def __init__(self, loop: ir.Operation, known: dict[int, Counter], iterations: Trips, scans: bool = False):
        self.loop, self.iterations, self.count, self.scans = loop, iterations, iterations.most, scans
        self.inits = list(loop.operands)
        self.arguments = list(loop.regions[1].blocks[0].arguments)
        self.body, self.returned = block_ops(loop.regions[1].blocks[0])
        self.starts = self._starts(known)
        self.places = TripCount(loop, self.starts, self.count)
        self.leaves: set[ir.Value] = set()
        """Values that are known otherwise: what they are made from is not looked at."""
        self.number = {argument: i for i, argument in enumerate(self.arguments)}
        self.owner = {result: op for op in self.body for result in op.results}
        self.read = [reads(op) for op in self.body]
        self.behind_raw = self._dependence({})
        self.roles: dict[int, Role] = {i: self._role(i, known) for i in range(len(self.inits))}
        self.roles |= {i: role for i, role in self._latches(known).items() if not isinstance(self.roles[i], Reduced)}
        self.versions = {v: role.index for role in self.roles.values() if isinstance(role, Written)
                         for v in role.versions}
        self.made: dict[ir.Value, int] = {}
        """The arguments that each value is made from, as bits; of written arrays none."""
        self.staying: set[int] = set()
        self.order: list[int] = []
        """Shifted values, each after those it needs."""
        self._settle()

    @staticmethod
    def with_scans(loop: ir.Operation) -> Plan | None:
        """The plan of a loop in which recurrences that can be are `Scanned`."""
        return Plan._of(loop, scans=True)

    @staticmethod
    def of(loop: ir.Operation) -> Plan | None:
        """The plan of a loop. Several rules ask for it one after the other: it is made once while nothing changes."""
        revision, value, plan = _LATEST[0]
        if revision != REVISION[0] or value is None or value != loop.results[0]:
            plan = Plan._of(loop)
            _LATEST[0] = REVISION[0], loop.results[0], plan
        return plan

    @staticmethod
    def _of(loop: ir.Operation, scans: bool = False) -> Plan | None:
        known = counters(loop)
        iterations = trips(loop, known)
        if iterations is None or not iterations.counted or iterations.most < 2:
            return None
        delayed = [c for c in known.values() if c.start is None]
        if not iterations.exact and delayed and len(known) > 1:
            return None
        return Plan(loop, known, iterations, scans)

    def _starts(self, known: dict[int, Counter]) -> dict[int, Counter]:
        """Counters whose start is only bounded count from the first place they may have: iterations before their start
        are left out by the mask."""
        if self.iterations.exact:
            return known
        found = {}
        for index, counter in known.items():
            if counter.start is None and (reach := range_of(self.inits[index])) is not None:
                counter = Counter(index, reach[0] if counter.step > 0 else reach[1], counter.step)
            found[index] = counter
        return found

    # -- roles

    def _role(self, index: int, known: dict[int, Counter]) -> Role:
        if index in known:
            return Count(index, self.starts[index])
        found = (self._written(index) or self._reduced(index) or self._scattered(index) or self._extreme(index)
                 or self._last(index))
        if found is not None:
            return found
        # with a start known only at run time, the iteration before the first is not the one counted before it
        delayed = not self.iterations.exact and any(c.start is None for c in known.values())
        return Recurrent(index) if delayed else self._scanned(index) or Shifted(index, self.returned[index])

    def _scanned(self, index: int) -> Scanned | None:
        if not self.scans or not self.iterations.exact or self._uses_in_condition(index):
            return None
        found = recurrence_of(self.arguments[index], self.returned[index], self.owner.get,
                              lambda v: bool(self.behind_raw.get(v, 0) >> index & 1))
        return None if found is None else Scanned(index, self.returned[index], found)

    def _uses(self, value: ir.Value) -> list[tuple[ir.Operation, int]]:
        return [(use.owner.operation, use.operand_number) for use in uses(value)]

    def _written(self, index: int) -> Written | None:
        """The chain of updates from the argument to what is returned, and whether iterations are independent in it."""
        argument, value = self.arguments[index], self.returned[index]
        writes: list[ir.Operation] = []
        while value != argument:
            op = self.owner.get(value)
            if op is None or op.name != UPDATE:
                return None
            writes.append(op)
            value = op.operands[0]
        writes.reverse()
        windows = [window for write in writes if (window := self._window(write)) is not None]
        if not writes or len(windows) < len(writes):
            return None
        versions = [argument, *(write.results[0] for write in writes)]
        if not self._writes_in_order(windows) or not all(
                self._reads_apart(version, number, writes, windows, index) for number, version in enumerate(versions)):
            return None
        return Written(index, writes, windows, versions)

    def _window(self, write: ir.Operation) -> Window | None:
        found = window_of(self.places, write.operands[0], list(write.operands)[2:], shape_of(write.operands[1]))
        return None if any(start is None for start in found.starts) else found

    def _writes_in_order(self, windows: Sequence[Window]) -> bool:
        """Whether doing each write for all iterations, one write after the other, leaves what the iterations leave. A
        window that does not move at all holds what the last iteration writes."""
        for number, window in enumerate(windows):
            still = not any(start.step for start in affine_starts(window))
            if not still and not apart(window, window, self.count, OTHER):
                return False
            if not all(apart(later, window, self.count, EARLIER) for later in windows[number + 1:]):
                return False
        return True

    def _reads_apart(self, version: ir.Value, number: int, writes: Sequence[ir.Operation], windows: Sequence[Window],
                     index: int) -> bool:
        """Whether all reads of a version see what was there before the loop."""
        last = number == len(writes)
        for op, operand in self._uses(version):
            if op.name == "stablehlo.return" and op.block == self.loop.regions[1].blocks[0]:
                if not last or operand != index:
                    return False
                continue
            if not last and op == writes[number] and operand == 0:
                continue
            if operand != 0:
                return False
            read = read_window(self.places, op)
            if not all(apart(window, read, self.count, EARLIER) for window in windows) \
                    or not all(apart(window, read, self.count, SAME) for window in windows[:number]):
                return False
        return not self._uses_in_condition(index)

    def _uses_in_condition(self, index: int) -> bool:
        return bool(self._uses(self.loop.regions[0].blocks[0].arguments[index]))

    def _reduced(self, index: int) -> Reduced | None:
        argument = self.arguments[index]
        found = self._accumulated(self.returned[index], argument)
        if found is None or self._uses_in_condition(index):
            return None
        name, terms, inner = found
        if not all(op.name == "stablehlo.return" and value == self.returned[index] and operand == index
                   for value, op, operand in self._read_outside(inner)):
            return None
        return Reduced(index, name, terms)

    def _accumulated(self, value: ir.Value, start: ir.Value) -> tuple[str, list[Term], set[ir.Value]] | None:
        """(operation, terms, values on the way) where a value is a start and terms put together. Sums and products of
        half precision are none: every iteration rounds (ones add up to 2048 in float16, however many they are)."""
        terms: list[Term] = []
        inner: set[ir.Value] = set()
        name = self._terms(value, start, (), terms, inner)
        if name in ("add", "multiply") and is_half(dtype_of(start)):
            return None
        return (name, terms, inner) if name and NEUTRAL[name](dtype_of(start)) is not None else None

    def _read_outside(self, inner: set[ir.Value]) -> Iterator[tuple[ir.Value, ir.Operation, int]]:
        """The uses of some values by ops that make none of them."""
        for value in inner:
            for op, operand in self._uses(value):
                if not len(op.results) or op.results[0] not in inner or op.results[0] not in self.owner:
                    yield value, op, operand

    def _scattered(self, index: int) -> Scattered | None:
        """One update of the argument, whose part is made from what the argument holds there."""
        argument, write = self.arguments[index], self.owner.get(self.returned[index])
        if write is None or write.name != UPDATE or write.operands[0] != argument or self._uses_in_condition(index) \
                or len(self._uses(write.results[0])) != 1:
            return None
        readers = [op for op, _ in self._uses(argument) if op != write]
        if len(readers) != 1 or readers[0].name != READ or list(readers[0].operands)[1:] != list(write.operands)[2:] \
                or readers[0].results[0].type != write.operands[1].type or readers[0].block != write.block:
            return None
        found = self._accumulated(write.operands[1], readers[0].results[0])
        if found is None or any(op != write for _, op, _ in self._read_outside(found[2])):
            return None
        return Scattered(index, found[0], found[1], write)

    def _latches(self, known: dict[int, Counter]) -> dict[int, Role]:
        """The flags that tell the first check to fail, group by group."""
        flags = [i for i, a in enumerate(self.arguments) if i not in known and not shape_of(a)
                 and dtype_of(a).kind == "b" and not self._uses_in_condition(i)]
        reached = {i: {self.number[a] for a in atoms(self._formula(self.returned[i], {})) if a in self.number}
                   for i in flags}
        groups: list[set[int]] = []
        for i in flags:
            group = {i} | {j for j in reached[i] if j in flags}
            for other in [g for g in groups if g & group]:
                groups.remove(other)
                group |= other
            groups.append(group)
        found: dict[int, Role] = {}
        for group in groups:
            outcomes = self._latched(sorted(group)) if len(group) <= LATCHED else None
            if outcomes is not None:
                found |= {i: Latch(i, outcomes[i], outcomes) for i in group}
        return found

    def _latched(self, group: list[int]) -> dict[int, Formula] | None:
        """What becomes of each flag while all are true, where none changes once one is false."""
        for values in product((False, True), repeat=len(group)):
            told = {self.arguments[i]: value for i, value in zip(group, values, strict=True)}
            after = {i: self._formula(self.returned[i], told) for i in group}
            if all(values):
                return after
            if any(after[i] is not value for i, value in zip(group, values, strict=True)):
                return None
        return None

    def _formula(self, value: ir.Value, told: dict[ir.Value, bool], depth: int = 24) -> Formula:
        """A 0-d boolean with some values told, as far as and, or and not go."""
        if value in told:
            return told[value]
        op = self.owner.get(value)
        word = "" if op is None else op.name.partition(".")[2]
        if word == "constant":
            return bool(constant_value(value))
        if word not in ("and", "or", "not") or not depth:
            return value
        return formula(word, *(self._formula(v, told, depth - 1) for v in op.operands))     # type: ignore[union-attr]

    def _terms(self, value: ir.Value, argument: ir.Value, conditions: tuple[ir.Value, ...], found: list[Term],
               inner: set[ir.Value]) -> str | None:
        """The operation by which `value` is made from the argument and terms, "" where it is the argument itself; None
        where it is made otherwise. `inner`: the values on the way."""
        inner.add(value)
        if value == argument:
            return ""
        op = self.owner.get(value)
        if op is None:
            return None
        if op.name == SELECT and not shape_of(op.operands[0]):
            condition, taken, other = op.operands
            if other == argument and taken != argument:
                inner.add(argument)
                return self._terms(taken, argument, (*conditions, condition), found, inner)
            return None
        word = op.name.partition(".")[2]
        negated = word == "subtract"
        word = "add" if negated else word
        if word not in NEUTRAL or len(op.operands) != 2:
            return None
        for rest, term in ((0, 1), (1, 0)):
            if (negated and rest == 1) or not self._leads_to(op.operands[rest], argument):
                continue
            if self._leads_to(op.operands[term], argument):
                return None
            deeper = self._terms(op.operands[rest], argument, conditions, found, inner)
            if deeper is None or deeper not in ("", word):
                return None
            found.append(Term(op.operands[term], conditions, negated))
            return word
        return None

    def _leads_to(self, value: ir.Value, target: ir.Value) -> bool:
        """Whether a value is made from another."""
        if target in self.number:
            return bool(self.behind_raw.get(value, 0) >> self.number[target] & 1)
        work, seen = [value], set()
        while work:
            each = work.pop()
            if each == target:
                return True
            if each not in seen:
                seen.add(each)
                op = self.owner.get(each)
                work.extend(reads(op) if op is not None else ())
        return False

    def _extreme(self, index: int) -> Extreme | None:
        """select(compare(element, extreme), value, carried), where the extreme is carried in the same way."""
        found = self._choice(index)
        if found is None:
            return None
        condition, value = found
        op = self.owner.get(condition)
        if op is None or op.name != COMPARE:
            return None
        direction = attr.decode(op.attributes["comparison_direction"])
        element, other = op.operands
        if element in self.number:
            element, other, direction = other, element, FLIPPED.get(direction, "")
        of = self.number.get(other)
        if "compare_type" in op.attributes and attr.decode(op.attributes["compare_type"]) == "TOTALORDER":
            return None
        if of is None or direction not in FLIPPED or shape_of(element) or is_complex(dtype_of(element)):
            return None
        for number, readers in ((of, {condition, self.returned[of]}), (index, {condition, self.returned[index]})):
            if self._uses_in_condition(number) or not all(
                    len(user.results) and user.results[0] in readers for user, _ in self._uses(self.arguments[number])):
                return None
        return Extreme(index, value, element, of, direction) if self._choice(of) == (condition, element) else None

    def _choice(self, index: int) -> tuple[ir.Value, ir.Value] | None:
        """(condition, value) of a carried value that is kept, or replaced where a 0-d condition holds."""
        op = self.owner.get(self.returned[index])
        if op is None or op.name != SELECT or op.operands[2] != self.arguments[index] or shape_of(op.operands[0]):
            return None
        if len(self._uses(op.results[0])) != 1:
            return None
        return op.operands[0], op.operands[1]

    def _last(self, index: int) -> Last | None:
        argument = self.arguments[index]
        uses = [op for op, _ in self._uses(argument)]
        if self._uses_in_condition(index):
            return None
        if not uses:
            return Last(index, self.returned[index])
        found = self._choice(index)
        if found is None or len(uses) != 1 or uses[0].results[0] != self.returned[index]:
            return None
        return Last(index, found[1], found[0])

    # -- dependence

    def _dependence(self, leaves: Mapping[ir.Value, Any]) -> dict[ir.Value, int]:
        """The arguments that each value of the body is made from, as bits; none for `leaves`."""
        found = {argument: 0 if argument in leaves else 1 << i for argument, i in self.number.items()}
        for op, read in zip(self.body, self.read, strict=True):
            bits = 0
            for value in read:
                bits |= found.get(value, 0)
            for result in op.results:
                found[result] = 0 if result in leaves else bits
        return found

    def behind(self, values: Iterable[ir.Value], versions: Container[ir.Value] | None = None
               ) -> tuple[list[ir.Operation], set[ir.Value]]:
        """The ops of the body that `values` need, in order, and the loop's arguments. What is read of a written array
        (of which these are the `versions`) is what was there before the loop."""
        versions = getattr(self, "versions", {}) if versions is None else versions
        work, needed, arguments, seen = list(values), set(), set(), set()
        while work:
            value = work.pop()
            if value in seen:
                continue
            seen.add(value)
            if value in versions or value in self.leaves:
                continue
            if value in self.number:
                arguments.add(value)
            op = self.owner.get(value)
            if op is not None:
                needed.add(op.results[0])
                work.extend(reads(op))
        return [op for op in self.body if len(op.results) and op.results[0] in needed], arguments

    def _settle(self) -> None:
        """Find what needs recurrent values, to a fixed point."""
        made = self.made = self._dependence(self.versions)
        needs = {i: {j for v in role.needs for j in range(len(self.inits)) if made.get(v, 0) >> j & 1}
                 for i, role in self.roles.items()}
        while True:
            recurrent = {i for i, role in self.roles.items() if isinstance(role, Recurrent)}
            self.staying = recurrent | {i for i, n in needs.items() if n & recurrent}
            shifted = {i for i, role in self.roles.items() if isinstance(role, Shifted)}
            self.order = _ordered(shifted, needs)
            # a sum in between, or an extreme, that something else reads
            inner = {i for i, role in self.roles.items()
                     if isinstance(role, (Reduced, Scattered, Latch, Extreme, Last))}
            wrong = {i for i in shifted if i not in self.order or i in self.staying}
            wrong |= {i for n in needs.values() for i in n & inner if i not in wrong}
            wrong -= recurrent
            if not wrong:
                break
            for i in wrong:
                self.roles[i] = Recurrent(i)
                needs[i] = set()
        self._keep_together()
        impure = any(not pure(op) for op in self.body)
        if impure:
            self.staying = set(self.roles) - {i for i in self.leaving if self._pure(i)}
            self._keep_together()

    def _keep_together(self) -> None:
        """An extreme and what goes with it stay together, and so do the flags of a group."""
        groups = [{i, role.of} if isinstance(role, Extreme) else set(role.group) for i, role in self.roles.items()
                  if isinstance(role, (Extreme, Latch))]
        while more := {i for group in groups if group & self.staying for i in group} - self.staying:
            self.staying |= more

    def _pure(self, index: int) -> bool:
        return all(pure(op) for op in self.behind(self.roles[index].needs)[0])

    @property
    def leaving(self) -> list[int]:
        """Carried values that need no loop, counters left out."""
        return [i for i, role in self.roles.items() if i not in self.staying and not isinstance(role, Count)]

    @property
    def whole(self) -> bool:
        """Whether nothing needs the loop."""
        return not self.staying

    @property
    def is_float_sum(self) -> bool:
        """Whether sums or products of floats are done in another order."""
        return any(isinstance(r, (Reduced, Scattered)) and r.name in ("add", "multiply")
                   and (is_float(dtype_of(self.inits[r.index])) or is_complex(dtype_of(self.inits[r.index])))
                   for r in (self.roles[i] for i in self.leaving))


_LATEST: list[tuple[int, ir.Value | None, Plan | None]] = [(-1, None, None)]


def _ordered(indices: set[int], needs: dict[int, set[int]]) -> list[int]:
    """Those of `indices` that do not need themselves, each after what it needs among them."""
    found: list[int] = []
    left = set(indices)
    while ready := sorted(i for i in left if not needs[i] & left):
        found += ready
        left -= set(ready)
    return found
