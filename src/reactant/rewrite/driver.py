"""The rewriter: a worklist over ops, a table of compiled rules, and everything a rule must not do itself.

The engine erases, checks the types of replacements, counts, keeps locations, drops dead ops (collectives too), stops
rule sets that never settle, and names the rule in every error. It does not use MLIR's own greedy driver, which is
reachable from Python (`jaxlib.mlir._mlir_libs._mlir.rewrite`, private): see benchmarks/rewrite_speed.py, which runs
both on the same module. Ours costs a quarter more on a module where nothing is left to do, needs nothing private, and
can do what that one cannot (blame, budget, dead collectives, counts and times of every rule).
"""
from __future__ import annotations

import itertools
import warnings
from collections import Counter, deque
from collections.abc import Sequence
from time import perf_counter
from typing import Any

from jaxlib.mlir import ir

from reactant.ir import creation, modules, ops
from reactant.ir.cusolver import VENDORS
from reactant.rewrite.compile import CONSTANT, Root, compile_rules, content_kind
from reactant.rewrite.memory import Memory, RewriteError, Seen, combines, identity
from reactant.rewrite.pattern import Rule
from reactant.rewrite.report import Report, Rewrite, source_line
from reactant.rewrite.site import ASKED, CHANGED, READ, REVISION, SWAPPED, Site, inside, kinds_in


class NotConverged(RewriteError):
    """A set of rules kept firing; the message names those that did."""

    code = "defective-rule"


class NotConvergedWarning(RuntimeWarning):
    """Rewriting was stopped before it settled. The module is correct, only perhaps less simple than it could be."""


LIBRARIES = ("lapack_", *(f"{vendor}_lu_" for vendor in VENDORS.values()))
_EFFECTS = {"stablehlo.send", "stablehlo.recv", "stablehlo.infeed", "stablehlo.outfeed", "stablehlo.return",
            "stablehlo.rng", "stablehlo.create_token", "stablehlo.after_all"}


def pure(op: ir.Operation | ir.OpView) -> bool:
    """Whether an op may be dropped when nothing uses its results, and copied or moved where its operands allow."""
    name = op.name
    if name == "stablehlo.custom_call":
        attributes = op.attributes
        if "has_side_effect" in attributes:
            return not attributes["has_side_effect"].value
        return ir.StringAttr(attributes["call_target_name"]).value.startswith(LIBRARIES)     # JAX says nothing of them
    if not name.startswith(("stablehlo.", "chlo.")) or name in _EFFECTS:
        return False
    if name in _HOLDS_OPS:
        return all(child.name in _INNER or pure(child) for child in inside(op.operation))
    return True


_HOLDS_OPS = {"stablehlo.while", "stablehlo.if", "stablehlo.case"}
_INNER = {*_HOLDS_OPS, "stablehlo.return"}
"""What says nothing inside one of them: the ops that it holds are looked at, too, each once."""


LEAST_BUDGET, REWRITES_AN_OP = 10_000, 10
"""How many rewrites are too many. Big programs need less than one an op."""

NOTHING = type(None)

READERS = 8
"""When a value loses a reader, the others are looked at again if there are no more than so many."""


def unused(op: ir.Operation) -> bool:
    """Whether nothing uses any result of an op that has results."""
    results = op.results
    return next(iter(results[0].uses), None) is None and (len(results) == 1 or all(
        next(iter(result.uses), None) is None for result in results))


class RuleSet:
    """Rules compiled together, to be applied to a module until none fires."""

    def __init__(self, rules: tuple[Rule, ...]):
        self.rules = rules
        self.table: dict[str, Root] = compile_rules(rules)
        self._without: dict[frozenset[Rule], dict[str, Root]] = {}

    def without(self, settled: frozenset[Rule]) -> dict[str, Root]:
        """The table of the rules that are not among these."""
        found = self._without.get(settled)
        if found is None:
            found = self._without[settled] = self.table if settled.isdisjoint(self.rules) else compile_rules(
                tuple(rule for rule in self.rules if rule not in settled))
        return found

    def apply(self, root: ir.Operation, report: Report | None = None, *, budget: int | None = None,
              strict: bool = False, verify: bool = False, settled: frozenset[Rule] | None = None,
              memory: Memory | None = None) -> int:
        """Rewrite everything inside `root` until nothing fires; gives the number of rewrites.

        The budget (by default 10 rewrites an op, at least 10,000) stops rules that undo one another: then a
        `NotConvergedWarning` (with `strict`, a `NotConverged` error) names those that were firing. `verify` checks
        every op a rule builds and every op that uses one. `memory`: what other runs have found out about this
        module; `settled`: no op in it is dead, and these rules fire nowhere in it.
        """
        report = Report() if report is None else report
        if report.full:
            return 0
        first = None if settled is None else self.without(settled)
        return _Run(self.table, report, budget, strict, verify, memory or Memory()).run(root, first)


class _Run:
    """One application: the worklist and what the rules may not touch."""

    def __init__(self, table: dict[str, Root], report: Report, budget: int | None, strict: bool, verify: bool,
                 memory: Memory):
        self.table, self.report, self.budget = table, report, budget
        self.strict, self.verify = strict, verify
        self.stack: list[int] = []
        self.queued: dict[int, ir.Operation] = {}
        """By `identity`: two Python objects may stand for one op, and the hash of an op depends on its contents."""
        self.unchanged: set[int] = set()
        """Those that are on the list from the beginning, and nothing else has put there."""
        self.created: list[ir.Operation] = []
        self.looked: list[int] = []
        """The values whose owners rules have asked about since it was emptied."""
        self.memory = memory
        self.limited = report.limit is not None
        self.precise = False
        """Whether only values that rules have asked about need looking after when they lose a reader."""
        self.tried: dict[int, int] = {}
        """When all rules that can match an op were tried, and none fired."""
        self.rewrites = 0
        self.recent: list[str] = []

    def run(self, root: ir.Operation, first: dict[str, Root] | None) -> int:
        """`first`: what to try on ops before anything near them has changed, in a module without dead ops."""
        REVISION[0] += 1
        self.queued = self.listed(root, first)
        self.stack = list(self.queued)[::-1]
        if first is not None:
            self.unchanged = set(self.queued)
        _, self.tried = self.memory.tried.setdefault(id(self.table), (self.memory.clock, {}))
        if self.budget is None:
            self.budget = max(LEAST_BUDGET, REWRITES_AN_OP * len(self.stack))
        stack, queued, unchanged, table = self.stack, self.queued, self.unchanged, self.table
        created = self.created
        waiting: deque[int] = deque()
        visited = 0
        whole = first is None
        self.precise = whole or self.memory.complete
        self.close = self.budget - min(300, self.budget // 2)
        before, known = creation.record(created), creation.know((self.memory.owners, self.looked.append))
        creation.keep_found(True)
        read = READ.copy()
        seen, look = self.memory.seen, self.look
        try:
            while stack or waiting:
                held = not stack
                key = waiting.popleft() if held else stack.pop()
                op = queued.pop(key, None)
                if op is None:
                    continue
                visited += 1
                if first is not None and key in unchanged:
                    entry = first.get(op.name)
                else:
                    results = op.results
                    if next(iter(results[0].uses), None) is None and (len(results) == 1 or unused(op)) and pure(op):
                        self.erase(op)
                        continue
                    entry = table.get(op.name)
                if entry is None:
                    continue
                if entry.waits is not None and not held and len(op.operands) >= entry.waits:
                    waiting.append(key) if entry.regions else waiting.appendleft(key)     # loops last
                    queued[key] = op
                    visited -= 1
                    continue
                known_of = seen.get(key)
                if known_of is None or known_of[0] is not entry:
                    known_of = look(op, key, entry, known_of)
                if known_of[1] and self.visit(op, key, known_of, created):
                    if self.limited and self.report.full:
                        break
                    if self.rewrites > self.budget:
                        self.stop()
                        break
        finally:
            creation.leave()
            creation.keep_found(False)
            creation.record(before)
            creation.know(known)
            READ[:] = read
            self.report.visited += visited
        if self.verify:
            self.memory.check(root)
        if whole and not stack and not waiting:
            self.memory.complete = True
        return self.rewrites

    def listed(self, root: ir.Operation, first: dict[str, Root] | None) -> dict[int, ir.Operation]:
        """What to begin with: all ops, or those that have rules (but for those on which all of these were tried, and
        nobody has had a reason to look since), or, where all have been looked at before, those where something is
        new."""
        if first is None and self.memory.complete and id(self.table) in self.memory.tried:
            return self.memory.left(root, self.table)
        found = self.memory.list(root)
        if first is None:
            return dict(found)
        begun = self.memory.tried.get(id(self.table)) if first is self.table else None
        tried, visited, nested = begun[1] if begun else {}, self.memory.visited, self.memory.nested
        return {address: op for address, op in found.items()
                if (entry := first.get(op.name)) is not None and not (entry.nested and address not in nested)
                and not (address in tried and tried[address] >= visited.get(address, 0))}

    def visit(self, op: ir.Operation, address: int, known: Seen, created: list[ir.Operation]) -> bool:
        """Try the rules that can match; gives whether one fired."""
        entry, rows, values, owners, decoded, places, _ = known
        again = []
        ASKED[0] = whole = False
        creation.altered()      # nothing is known of what it has been asked for, see `looked`
        looked, memory = self.looked, self.memory
        READ.clear()
        looked.clear()
        for row in rows:
            matcher = row[1]
            if matcher is None:
                rule = row[0]
                if not (rule.holds and rule.holds.isdisjoint(kinds_in(op))) and self.general(op, rule, created):
                    return True
                whole = True
            else:
                found = matcher(op, values, owners, decoded)
                if found is None:
                    if row[2]:
                        continue
                elif self.attempt(op, row[0], found, created):
                    return True
                elif row[3]:
                    continue
                if row[4]:
                    ASKED[0] = True
            again.append(row)
        if whole:       # it may have looked at any reader of what it is given and gives
            ASKED[0] = True
            known_owners = memory.owners
            READ.extend(place for place in places if type(known_owners.get(place)) is not CONSTANT)
            READ.extend(map(hash, op.results))
            memory.asked.update(places)
            READ[:], looked[:] = set(READ), set(looked)
        if ASKED[0]:
            memory.asking.add(address)
        if READ:
            memory.asked.update(READ)
        before = memory.looked.get(address) if address in self.unchanged else None      # of rules that have settled
        memory.looked[address] = (*looked, *before[0]) if before else tuple(looked), \
            (*READ, *before[1]) if before else tuple(READ)
        self.tried[address] = memory.visited[address] = memory.clock
        if len(again) < len(rows):
            memory.seen[address] = (entry, tuple(again), values, owners, decoded, places, op)
        return False

    def look(self, op: ir.Operation, address: int, entry: Root, before: Seen | None) -> Seen:
        """Which rules can match an op, and what their matchers are given."""
        memory = self.memory
        if before is not None:
            values, places = before[2], before[5]
        else:
            values = list(op.operands)
            places = used(op, values) if entry.regions else tuple(map(hash, values))
        width = entry.width
        key: tuple = ()
        owners: list[Any] = []
        if width:
            first = places[:min(width, len(values))]
            owners = list(map(memory.owners.get, first))
            key = tuple(map(type, owners))
            if NOTHING in key or (entry.numbers and CONSTANT in key):
                key = self.kinds(entry, values, first, owners)
        rows = entry.rows.get(key)
        if rows is None:
            rows = entry.select(key)
        decoded = memory.decoded.get(address)
        if decoded is None:
            decoded = memory.decoded[address] = {}
        memory.unseen.pop(address, None)
        found = memory.seen[address] = (entry, rows, values, owners, decoded, places, op)
        return found

    def kinds(self, entry: Root, values: list[ir.Value], places: tuple[int, ...], owners: list[Any]) -> tuple:
        """What defines the first operands: the key of the table; `owners` learns who is not known yet."""
        memory = self.memory
        key: list[Any] = []
        for number, (place, exact) in enumerate(zip(places, entry.exact, strict=False)):
            owner = owners[number]
            if owner is None:
                owner = owners[number] = values[number].owner
                if type(owner) is not ir.Block:     # blocks move from op to op
                    memory.owners[place] = owner
            kind: Any = type(owner)
            if exact and kind is CONSTANT:
                kind = memory.contents.get(place)
                if kind is None:
                    kind = memory.contents[place] = content_kind(owner)
            key.append(kind)
        return tuple(key)

    def attempt(self, op: ir.Operation, rule: Rule, found: tuple, created: list[ir.Operation]) -> bool:
        """Call a rule's body; replace the op by what it returns."""
        started = perf_counter()
        creation.build_before(op)
        try:
            value = rule.body(*found)
            if value is SWAPPED:
                creation.leave()
                self.swap(op, rule, started)
                return True
            if value is None and not created:
                return False    # the next one that builds says where; `leave` is for those that have built
            new = [value] if isinstance(value, ir.Value) else self.as_values(value, op) if value is not None else None
        except Exception as error:
            creation.leave()
            raise self.blame(rule, op, f"raised {type(error).__name__}: {error}") from error
        creation.leave()
        if new is None:
            raise self.blame(rule, op, f"built {len(created)} ops and then declined; a rule decides first.")
        if self.limited and self.report.last_allowed:
            self.note(op, rule, op.get_asm(), created)
        if self.report.chains is not None:
            self.report.follow(op, rule.name, created)
        location = op.location
        self.replace(op, rule, new, created)
        self.report.add(rule.name, perf_counter() - started, location)
        self.count(rule)
        return True

    def swap(self, op: ir.Operation, rule: Rule, started: float) -> None:
        """Exchange the first two operands of an op where it stands."""
        before = op.get_asm() if self.limited and self.report.last_allowed else ""
        operands = op.operands
        operands[0], operands[1] = operands[1], operands[0]
        if before:
            self.note(op, rule, before, [op])
        if self.report.chains is not None:
            self.report.follow(op, rule.name, [op])
        REVISION[0] += 1
        self.memory.clock += 1
        self.memory.changed(op)
        for use in op.results[0].uses:
            self.push_with_reader(use.owner.operation)
        self.push(op)
        self.report.add(rule.name, perf_counter() - started, op.location)
        self.count(rule)

    def general(self, op: ir.Operation, rule: Rule, created: list[ir.Operation]) -> bool:
        started = perf_counter()
        creation.leave()
        location = op.location
        site = Site(op, self.forget)
        before = op.get_asm() if self.report.last_allowed else ""
        try:
            with ir.InsertionPoint(op), location:
                value = rule.body(site)
        except Exception as error:
            raise self.blame(rule, op, f"raised {type(error).__name__}: {error}") from error
        if value is None:
            if created or site._touched:
                raise self.blame(rule, op, "changed the program and then declined; a rule decides first.")
            return False
        self.memory.clock += 1
        for each in site._touched:
            self.memory.changed(each)
            self.push(each)
        if self.report.last_allowed:
            self.note(op, rule, before, [op] if value is CHANGED else created)
        if self.report.chains is not None:
            self.report.follow(op, rule.name, [op] if value is CHANGED else created)
        if value is CHANGED:
            REVISION[0] += 1
            self.memory.listed = None
            inner = list(inside(op))
            self.memory.nested.update(identity(each) for each in (*created, *inner) if len(each.results))
            self.memory.deep = True
            for each in (op, *created, *inner):
                self.memory.rebuilt(each)
                self.memory.changed(each)
                self.push(each)
            created.clear()
        else:
            self.replace(op, rule, [value] if isinstance(value, ir.Value) else list(value), created)
        self.report.add(rule.name, perf_counter() - started, location)
        self.count(rule)
        return True

    def note(self, op: ir.Operation, rule: Rule, before: str, after: list[ir.Operation]) -> None:
        """Put the last rewrite that is allowed on record."""
        self.report.last = Rewrite(rule.qualified, source_line(op.location), before,
                                   tuple(each.get_asm() for each in after))

    def as_values(self, value: object, op: ir.Operation) -> list[ir.Value]:
        """Numbers become splats of the result's type."""
        many = list(value) if isinstance(value, (list, tuple)) else [value]
        return [v if isinstance(v, ir.Value) else ops.splat(v, op.results[i]) for i, v in enumerate(many)]

    def replace(self, op: ir.Operation, rule: Rule, new: list[ir.Value], created: list[ir.Operation]) -> None:
        results = list(op.results)
        if len(new) != len(results):
            raise self.blame(rule, op, f"gave {len(new)} values for {len(results)} results.")
        for old, value in zip(results, new, strict=True):
            if old.type != value.type:
                raise self.blame(rule, op, f"gave a {value.type} in place of a {old.type}.")
            if old == value:
                raise self.blame(rule, op, "gave the value itself as its replacement.")
        touched: list[ir.Operation] = []
        for old in results:
            for use in old.uses:
                user = use.owner.operation
                if not touched or user != touched[-1]:      # a loop may be given one value many times
                    touched.append(user)
        if len(op.regions) and modules.LOOP_POLICY in op.attributes:    # what the user says of a loop, holds
            for each in created:
                if each.name == op.name and each.block == op.block:
                    each.attributes[modules.LOOP_POLICY] = op.attributes[modules.LOOP_POLICY]
        for old, value in zip(results, new, strict=True):
            old.replace_all_uses_with(value)
        if self.verify:
            self.check(op, rule, [*created, *touched])
        memory = self.memory
        memory.clock += 1
        nested = hash(results[0]) in memory.nested
        for user in reversed(touched):
            memory.changed(user)
            self.push_with_reader(user)
        for each in reversed(created):
            if nested and len(each.results):
                memory.nested.add(identity(each))
            key = memory.changed(each)
            if key is not None:
                self.queue(key, each)
            if len(each.regions):
                memory.deep |= not combines(each)
                for child in inside(each):      # a copy's, which nobody has told of
                    key = memory.changed(child)
                    if key is not None:
                        memory.nested.add(key)
        created.clear()
        self.erase(op)

    def check(self, op: ir.Operation, rule: Rule, suspects: list[ir.Operation]) -> None:
        for each in suspects:
            try:
                each.verify()
            except ir.MLIRError as error:
                raise self.blame(rule, op, f"left an invalid op: {error}") from error

    def forget(self, op: ir.Operation) -> None:
        """Drop every reference to an op that is about to be erased: looking at it afterwards would crash."""
        self.forget_results(op)
        self.created[:] = [each for each in self.created if each != op]

    def forget_results(self, op: ir.Operation) -> None:
        """Drop what is known of an op that is about to be erased, and take it off the list."""
        erased = self.memory.erased
        results = op.results
        for number in range(len(results)):
            address = hash(results[number])
            erased(address)
            if not number:
                self.queued.pop(address, None)

    def push(self, op: ir.Operation) -> None:
        results = op.results
        if len(results):
            self.queue(hash(results[0]), op)

    def push_with_reader(self, op: ir.Operation) -> None:
        """`push` for an op and one that reads it: patterns look two ops deep."""
        results = op.results
        if len(results):
            self.queue(hash(results[0]), op)
            for result in results:
                use = next(iter(result.uses), None)
                if use is not None:
                    self.push(use.owner.operation)

    def queue(self, key: int, op: ir.Operation) -> None:
        self.unchanged.discard(key)
        if key not in self.queued:
            self.queued[key] = op
            self.stack.append(key)

    def wake(self, op: ir.Operation) -> None:
        """Look again at an op that uses or makes a value which has lost a reader, if its rules asked for readers."""
        results = op.results
        if len(results):
            key = hash(results[0])
            memory = self.memory
            if key in memory.asking or (key not in memory.seen and op.name in self.table):
                self.queue(key, op)

    def erase(self, op: ir.Operation) -> None:
        """Erase an op whose results have no users, and look again at what it used."""
        REVISION[0] += 1
        memory = self.memory
        memory.listed = None
        operands = list(op.operands)
        results = op.results
        if hash(results[0]) in memory.nested:
            memory.clock += 1
            memory.stirred(op)
        if len(results) == 1:
            memory.erased(address := hash(results[0]))
            self.queued.pop(address, None)
        else:
            self.forget_results(op)
        if len(op.regions):
            nested = list(inside(op))
            for child in nested:
                operands.extend(child.operands)
            operands = [v for v in dict.fromkeys(operands) if not _within(v, op)]
            for child in nested:
                self.forget_results(child)
        op.erase()
        known, asked = memory.owners, memory.asked
        for value in operands:
            address = hash(value)
            memory.reread[address] = memory.clock
            owner = known.get(address)
            if owner is None:
                owner = value.owner
            kind = type(owner)
            if kind is ir.Block:
                continue
            uses = iter(value.uses)
            one = next(uses, None)
            if one is None:     # dead now
                self.push(owner.operation)
            elif kind is not CONSTANT and (address in asked or not self.precise):
                self.lost(owner.operation, [one, *itertools.islice(uses, READERS)])

    def lost(self, owner: ir.Operation, readers: list[ir.OpOperand]) -> None:
        """A value has lost a reader and has these, if they are not more than can be looked through."""
        if len(readers) == 1:       # `once` may hold
            self.wake(owner)
        if len(readers) <= READERS:     # so may what a rule demands of all readers
            for use in reversed(readers):
                self.wake(use.owner.operation)

    def count(self, rule: Rule) -> None:
        self.rewrites += 1
        if self.rewrites > self.close:
            self.recent.append(rule.name)

    def stop(self) -> None:
        names = [name for name, _ in Counter(self.recent).most_common(6)]
        self.report.not_converged = names
        message = f"rewriting did not settle after {self.rewrites} rewrites; still firing: {', '.join(names)}."
        if self.strict:
            raise NotConverged(message)
        warnings.warn(message, NotConvergedWarning, stacklevel=4)

    def blame(self, rule: Rule, op: ir.Operation, what: str) -> RewriteError:
        line = source_line(op.location)
        text = op.get_asm(large_elements_limit=8, assume_verified=True).splitlines()[0]
        return RewriteError(f"rule '{rule.qualified}' {what}\n  on {text}" + (f"\n  from {line}" if line else ""))


def used(op: ir.Operation, operands: Sequence[ir.Value]) -> tuple[int, ...]:
    """The addresses of what an op uses, what its regions return included, but for what combines two elements."""
    places = tuple(map(hash, operands))
    if len(op.regions) and not combines(op):
        places += tuple(hash(value) for region in op.regions for block in region if len(block.operations)
                        for value in block.operations[-1].operands)
    return places


def _within(value: ir.Value, op: ir.Operation) -> bool:
    owner = value.owner
    block = owner if isinstance(owner, ir.Block) else owner.operation.block
    parent = block.owner
    while parent is not None:
        parent = parent.operation
        if parent == op:
            return True
        if parent.name in ("func.func", "builtin.module"):
            return False
        parent = parent.parent
    return False
