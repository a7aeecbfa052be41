"""The rewriter: a worklist over ops, a table of compiled rules, and everything a rule must not do itself.

The engine erases, checks the types of replacements, counts, keeps locations, drops dead ops (collectives too), stops
rule sets that never settle, and names the rule in every error. It does not use MLIR's own greedy driver, which is
reachable from Python (`jaxlib.mlir._mlir_libs._mlir.rewrite`, private): see benchmarks/rewrite_speed.py, which runs
both on the same module. Ours costs a tenth more on a module where nothing is left to do, needs nothing private, and
can do what that one cannot (blame, budget, dead collectives, counts and times of every rule).
"""
from __future__ import annotations

import itertools
import warnings
from collections import Counter
from time import perf_counter
from typing import Any

from jaxlib.mlir import ir

from reactant.errors import ReactantError
from reactant.ir import modules, ops
from reactant.rewrite.compile import Root, compile_rules
from reactant.rewrite.pattern import Rule
from reactant.rewrite.report import Report, Rewrite, source_line
from reactant.rewrite.site import CHANGED, REVISION, Site, inside


class RewriteError(ReactantError):
    """A rule broke the rules; the message names it."""


class NotConverged(RewriteError):
    """A set of rules kept firing; the message names those that did."""


class NotConvergedWarning(RuntimeWarning):
    """Rewriting was stopped before it settled. The module is correct, only perhaps less simple than it could be."""


COLLECTIVES = {f"stablehlo.{n}" for n in ("all_gather", "all_reduce", "all_to_all", "collective_broadcast",
                                          "collective_permute", "reduce_scatter", "partition_id", "replica_id")}
_EFFECTS = {"stablehlo.send", "stablehlo.recv", "stablehlo.infeed", "stablehlo.outfeed", "stablehlo.return",
            "stablehlo.rng", "stablehlo.create_token", "stablehlo.after_all"}


def pure(op: ir.Operation | ir.OpView) -> bool:
    """Whether an op may be dropped when nothing uses its results, and copied or moved where its operands allow."""
    name = op.name
    if name == "stablehlo.custom_call":
        attributes = op.attributes
        return "has_side_effect" in attributes and not attributes["has_side_effect"].value
    if not name.startswith(("stablehlo.", "chlo.")) or name in _EFFECTS:
        return False
    if name in _HOLDS_OPS:
        return all(pure(child) or child.name == "stablehlo.return" for child in inside(op.operation))
    return True


_HOLDS_OPS = {"stablehlo.while", "stablehlo.if", "stablehlo.case"}


READERS = 8
"""When a value loses a reader, the others are looked at again if there are no more than so many."""


def identity(op: ir.Operation) -> int:
    """What tells an op from every other live op: the address of its first result."""
    return hash(op.results[0])


class RuleSet:
    """Rules compiled together, to be applied to a module until none fires."""

    def __init__(self, rules: tuple[Rule, ...]):
        self.rules = rules
        self.table: dict[str, Root] = compile_rules(rules)

    def apply(self, root: ir.Operation, report: Report | None = None, *, budget: int | None = None,
              strict: bool = False, verify: bool = False, only: list[ir.Operation] | None = None) -> int:
        """Rewrite everything inside `root` until nothing fires, or just `only` some ops and what that leads to; gives
        the number of rewrites.

        The budget (by default 50 rewrites an op, at least 10,000) stops rules that undo one another: then a
        `NotConvergedWarning` (with `strict`, a `NotConverged` error) names those that were firing. `verify` checks
        every op a rule builds and every op that uses one.
        """
        report = Report() if report is None else report
        if report.full:
            return 0
        return _Run(self.table, report, budget, strict, verify).run(root, only)


class _Run:
    """One application: the worklist and what the rules may not touch."""

    def __init__(self, table: dict[str, Root], report: Report, budget: int | None, strict: bool, verify: bool):
        self.table, self.report, self.budget = table, report, budget
        self.strict, self.verify = strict, verify
        self.stack: list[int] = []
        self.queued: dict[int, ir.Operation] = {}
        """By `identity`: two Python objects may stand for one op, and the hash of an op depends on its contents."""
        self.created: list[ir.Operation] = []
        self.rewrites = 0
        self.recent: list[str] = []

    def run(self, root: ir.Operation, only: list[ir.Operation] | None = None) -> int:
        REVISION[0] += 1
        program = [op for op in inside(root) if len(op.results)] if only is None else only
        if self.budget is None:
            self.budget = max(10_000, 50 * len(program))
        self.queued = {identity(op): op for op in program}
        self.stack = list(self.queued)[::-1]
        stack, queued, table = self.stack, self.queued, self.table
        created = self.created
        del program
        visited = 0
        before = None
        try:
            before = ops.record(created)
            while stack:
                op = queued.pop(stack.pop(), None)
                if op is None:
                    continue
                visited += 1
                if self.dead(op):
                    self.erase(op)
                    continue
                entry = table.get(op.name)
                if entry is not None and self.visit(op, entry, created):
                    if self.report.full:
                        break
                    if self.rewrites > self.budget:
                        self.stop()
                        break
        finally:
            ops.record(before)
            self.report.visited += visited
        return self.rewrites

    def dead(self, op: ir.Operation) -> bool:
        for result in op.results:
            for _ in result.uses:
                return False
        return pure(op)

    def visit(self, op: ir.Operation, entry: Root, created: list[ir.Operation]) -> bool:
        values = list(op.operands)
        if entry.width:
            owners: list[Any] = [value.owner for value in values[:entry.width]]
            key = tuple(map(type, owners))
        else:
            owners, key = [], ()
        rows = entry.rows.get(key)
        if rows is None:
            rows = entry.select(key)
        for rule, matcher in rows:
            if matcher is None:
                if self.general(op, rule, created):
                    return True
                continue
            found = matcher(op, values, owners)
            if found is not None and self.attempt(op, rule, found, created):
                return True
        return False

    def attempt(self, op: ir.Operation, rule: Rule, found: tuple, created: list[ir.Operation]) -> bool:
        """Call a rule's body; replace the op by what it returns."""
        started = perf_counter()
        location = op.location
        try:
            with ir.InsertionPoint(op), location:
                value = rule.body(*found)
                if value is not None and not isinstance(value, ir.Value):
                    value = self.as_values(value, op)
        except Exception as error:
            raise self.blame(rule, op, f"raised {type(error).__name__}: {error}") from error
        if value is None:
            if created:
                raise self.blame(rule, op, f"built {len(created)} ops and then declined; a rule decides first.")
            return False
        if self.report.last_allowed:
            self.note(op, rule, op.get_asm(), created)
        self.replace(op, rule, [value] if isinstance(value, ir.Value) else value, created)
        self.report.add(rule.name, perf_counter() - started, location)
        self.count(rule)
        return True

    def general(self, op: ir.Operation, rule: Rule, created: list[ir.Operation]) -> bool:
        started = perf_counter()
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
        for each in site._touched:
            self.push(each)
        if self.report.last_allowed:
            self.note(op, rule, before, [op] if value is CHANGED else created)
        if value is CHANGED:
            for each in (op, *created, *inside(op)):
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
        touched = [use.owner.operation for old in results for use in old.uses]
        if modules.LOOP_POLICY in op.attributes:      # what the user says of a loop holds for what becomes of it
            for each in created:
                if each.name == op.name and each.block == op.block:
                    each.attributes[modules.LOOP_POLICY] = op.attributes[modules.LOOP_POLICY]
        for old, value in zip(results, new, strict=True):
            old.replace_all_uses_with(value)
        if self.verify:
            self.check(op, rule, [*created, *touched])
        for user in reversed(touched):
            self.push(user)
            for result in user.results:  # patterns look two ops deep, so users of users may match now
                for use in result.uses:
                    self.push(use.owner.operation)
                    break
        for each in reversed(created):
            self.push(each)
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
        if len(op.results):
            self.queued.pop(identity(op), None)
        self.created[:] = [each for each in self.created if each != op]

    def push(self, op: ir.Operation) -> None:
        if not len(op.results):
            return
        key = identity(op)
        if key not in self.queued:
            self.queued[key] = op
            self.stack.append(key)

    def erase(self, op: ir.Operation) -> None:
        """Erase an op whose results have no users, and look again at what it used."""
        REVISION[0] += 1
        operands = list(op.operands)
        self.queued.pop(identity(op), None)
        if len(op.regions):
            nested = list(inside(op))
            for child in nested:
                operands.extend(child.operands)
            operands = [v for v in dict.fromkeys(operands) if not _within(v, op)]
            for child in nested:
                if len(child.results):
                    self.queued.pop(identity(child), None)
        op.erase()
        for value in operands:
            owner = value.owner
            if isinstance(owner, ir.Block):
                continue
            readers = [use.owner.operation for use in itertools.islice(value.uses, READERS + 1)]
            if len(readers) <= 1:       # dead now, or `once` may hold
                self.push(owner.operation)
            if len(readers) <= READERS:     # so may what a rule demands of all readers
                for reader in reversed(readers):
                    self.push(reader)

    def count(self, rule: Rule) -> None:
        REVISION[0] += 1
        self.rewrites += 1
        budget = self.budget or 0
        if self.rewrites > budget - min(300, budget // 2):
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
