"""Loops that leave in a branch: where the test of the other branch implies the branch's condition, it is the loop's.

    do { ...; if (i < n - w) { b; next = i + s; again = i < n - s; } else { next = 0; again = false; } } while (again);
->  do { ...; if (i < n - w) b; next = i + s; } while (i < n - s);

LLVM knows that `for (; i < n; i += s) { a; if (i + w < n) b; }` is over where b is left out, and jumps past the test.
What the next iteration would get is free where there is none.
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir.context import building
from reactant.kernels.form.bases import constant_of
from reactant.kernels.form.build import NAMES, NEGATED, Builder
from reactant.kernels.form.form import kernel_of
from reactant.kernels.stages.counted import outside
from reactant.kernels.stages.select_stores import INDICES
from reactant.support.records import dataclass

DEPTH = 8
"""Ops that are done before the branch, one on the other."""


def leave_at_the_end(module: ir.Module) -> ir.Module:
    """Change the module's kernel."""
    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "scf.while":
            _loop(op)
        return ir.WalkResult.ADVANCE
    with building():
        kernel_of(module).walk(visit, ir.WalkOrder.POST_ORDER)
    return module


def _loop(loop: ir.Operation) -> None:
    condition = list(loop.regions[0].blocks[0].operations)[-1].operation
    flag = condition.operands[0]
    branch = flag.owner
    if isinstance(branch, ir.Block) or branch.name != "scf.if" or branch.operation.block != condition.block:
        return
    branch = branch.operation
    arms = [list(list(region.blocks[0].operations)[-1].operands) for region in branch.regions]
    place = list(branch.results).index(flag)
    for number, (staying, leaving) in enumerate((arms, arms[::-1])):
        test = _test(staying[place])
        if constant_of(leaving[place]) != 0 or test is None or not _implies(test, branch.operands[0], number == 0):
            continue
        with branch.location:
            condition.operands[0] = test.built(loop, branch)
        for k, result in enumerate(loop.results):
            passed = condition.operands[k + 1]
            if passed in branch.results and not list(result.uses):        # only another iteration would see it
                condition.operands[k + 1] = _any(branch, staying, leaving, list(branch.results).index(passed))
        return


@dataclass(frozen=True)
class _Test:
    """A value compared with a constant."""

    value: ir.Value
    predicate: str
    limit: int

    def built(self, loop: ir.Operation, before: ir.Operation) -> ir.Value:
        """The test, of a limit outside the loop."""
        build = Builder()
        with ir.InsertionPoint(loop):
            limit = build.integer(self.limit, self.value.type)
        with ir.InsertionPoint(before):
            return build.compare(self.predicate, self.value, limit)


def _test(value: ir.Value, negated: bool = False) -> _Test | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.cmpi":
        return None
    predicate, limit = NAMES[ir.IntegerAttr(owner.attributes["predicate"]).value], constant_of(owner.operands[1])
    if limit is None:
        return None
    compared = owner.operands[0]
    added = compared.owner
    if not isinstance(added, ir.Block) and added.name == "arith.addi" and predicate.startswith("s") \
            and (constant := constant_of(added.operands[1])) is not None \
            and (isinstance(compared.type, ir.IndexType) or "nsw" in str(added.attributes["overflowFlags"])):
        width = 64 if isinstance(compared.type, ir.IndexType) else compared.type.width
        compared, limit = added.operands[0], limit - constant
        if not -1 << (width - 1) <= limit < 1 << (width - 1):
            return None
    return _Test(compared, NEGATED[predicate] if negated else predicate, limit)


def _implies(a: _Test, condition: ir.Value, holds: bool) -> bool:
    """Whether a test is only true where the condition holds (or does not)."""
    b = _test(condition, negated=not holds)
    if b is None or a.value != b.value or a.predicate != b.predicate:
        return False
    if a.predicate in ("eq", "ne"):
        return a.limit == b.limit
    if a.predicate.startswith("u") and (a.limit < 0) != (b.limit < 0):
        return (b.limit < 0) == a.predicate.startswith("ul")
    return a.limit <= b.limit if a.predicate[1] == "l" else a.limit >= b.limit


def _before(value: ir.Value, branch: ir.Operation, depth: int = DEPTH) -> ir.Value | None:
    """A value of an arm, computed before the branch; None where that is more than arithmetic."""
    if outside(value, branch):
        return value
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name not in INDICES or not depth:
        return None
    operands = [_before(v, branch, depth - 1) for v in owner.operands]
    with ir.InsertionPoint(branch):
        copy = owner.operation.clone()
    for k, operand in enumerate(operands):
        if operand is None:
            copy.erase()
            return None
        copy.operands[k] = operand
    return copy.results[0]


def _any(branch: ir.Operation, staying: list[ir.Value], leaving: list[ir.Value], place: int) -> ir.Value:
    """A value that is this result of the branch wherever the loop goes on."""
    found = _before(staying[place], branch)
    if found is not None:
        return found
    for k, result in enumerate(branch.results):         # one that is something where the loop is left, too
        owner = leaving[k].owner
        if staying[k] == staying[place] and (isinstance(owner, ir.Block) or owner.name != "arith.constant"):
            return result
    return branch.results[place]
