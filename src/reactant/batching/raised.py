"""All iterations of a loop at once: from a `Plan` to values, at the insertion point. Nothing of the loop is changed."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.batching.analysis import Spread, block_ops
from reactant.batching.declare import repeated, spread
from reactant.batching.engine import Batcher
from reactant.batching.progressions import Progression
from reactant.batching.raising import Plan
from reactant.batching.recurrences import running
from reactant.batching.roles import (
    Count,
    Extreme,
    Formula,
    Last,
    Latch,
    Reduced,
    Role,
    Scanned,
    Scattered,
    Shifted,
    Term,
    Written,
)
from reactant.batching.rules.reduction import NEUTRAL
from reactant.batching.windows import INDEX, at, moving, read_fixed, read_windows, write_last, write_windows
from reactant.ir import creation, ops
from reactant.ir.types import dtype_of, is_complex, is_float, shape_of, size


class Raised:
    """The final values of some carried values of a loop, and what `others` of its values are in every iteration.

    given: values of the body that are known for all iterations (count, *shape) already."""

    def __init__(self, plan: Plan, indices: Sequence[int], others: Sequence[ir.Value] = (),
                 given: dict[ir.Value, ir.Value] | None = None):
        self.plan, self.indices, self.count = plan, list(indices), plan.count
        self.given = given or {}
        plan.leaves = set(self.given)
        self.needs = [*(v for i in indices for v in plan.roles[i].needs), *others]
        self.shifted = self._shifted_needed(plan.behind(self.needs)[1])
        needed = plan.behind([*self.needs, *(v for i in self.shifted for v in plan.roles[i].needs)])[0]
        counted = [plan.arguments[r.index] for r in plan.roles.values() if isinstance(r, Count)]
        self.spread = Spread([*counted, *(plan.arguments[i] for i in self.shifted), *self.given])
        self.spread.run(needed, masked=not plan.iterations.exact)
        self.batcher = Batcher(self.count, self.spread.batched)
        self.done: set[ir.Value] = set()
        self.mask: ir.Value | None = None
        self.iterations_made: ir.Value | None = None
        self.scanned: dict[int, ir.Value] = {}
        """The values of recurrences after every iteration."""

    def _shifted_needed(self, arguments: set[ir.Value]) -> list[int]:
        """The shifted values that are read, in an order in which they can be made."""
        plan = self.plan
        wanted = {plan.number[a] for a in arguments}
        while True:
            reached = {plan.number[a] for a in plan.behind(
                [v for i in plan.order if i in wanted for v in plan.roles[i].needs])[1]} | wanted
            if reached == wanted:
                return [i for i in plan.order if i in wanted]
            wanted = reached

    # -- building

    def build(self) -> dict[int, ir.Value]:
        """The final value of each index."""
        plan, batcher = self.plan, self.batcher
        for version, index in plan.versions.items():
            batcher.values[version] = plan.inits[index]
        batcher.values.update(self.given)
        for role in plan.roles.values():
            if isinstance(role, Count):
                self._count(role, plan.arguments[role.index])
        if not plan.iterations.exact:
            self._set_mask()
        for index in self.shifted:
            role = plan.roles[index]
            self._emit(role.needs)
            if isinstance(role, Scanned):
                before = running(role.recurrence, plan.inits[index], batcher.full, self.count)
                self.scanned[index] = before
            else:
                before = batcher.full(plan.returned[index])
            first = ops.reshape(plan.inits[index], (1, *shape_of(plan.inits[index])))
            kept = ops.slice(before, [0] * len(shape_of(before)), [self.count - 1, *shape_of(before)[1:]])
            batcher.values[plan.arguments[index]] = ops.concatenate([first, kept], 0)
        self._emit(self.needs)
        return {i: self._final(plan.roles[i]) for i in self.indices}

    def _emit(self, values: Sequence[ir.Value]) -> None:
        body = [op for op in self.plan.behind(values)[0] if op.results[0] not in self.done]
        self.done.update(op.results[0] for op in body)
        self.batcher.run(body)

    def _count(self, role: Count, argument: ir.Value) -> None:
        counter, dtype = role.counter, dtype_of(argument)
        init = self.plan.inits[role.index]
        start: int | ir.Value = counter.start if counter.start is not None else init
        numbers = ops.iota((self.count,), dtype, 0)
        if counter.step != 1:
            numbers = ops.multiply(numbers, ops.splat(np.asarray(counter.step).astype(dtype), numbers))
        if not isinstance(start, int):
            numbers = ops.add(numbers, repeated(start, self.count))
        elif start:
            numbers = ops.add(numbers, ops.splat(start, numbers))
        self.batcher.values[argument] = numbers
        self.batcher.progressions[argument] = Progression(start, counter.step)

    def _set_mask(self) -> None:
        """Which of the counted iterations the loop makes: those whose counter has started and has not ended."""
        plan, batcher = self.plan, self.batcher
        block = plan.loop.regions[0].blocks[0]
        body, (predicate,) = block_ops(block)
        here = [a for a, i in zip(block.arguments, range(len(plan.inits)), strict=True)
                if isinstance(plan.roles[i], Count)]
        found = Spread(here)
        found.run(body)
        inner = Batcher(self.count, found.batched, dict(batcher.values))
        for i, argument in enumerate(block.arguments):
            if isinstance(plan.roles[i], Count):
                inner.values[argument] = batcher.values[plan.arguments[i]]
        inner.run(body)
        mask = inner.full(predicate)
        for role in plan.roles.values():
            if isinstance(role, Count) and ops.constant_value(plan.inits[role.index]) is None:
                numbers = batcher.values[plan.arguments[role.index]]
                begun = ops.compare(numbers, repeated(plan.inits[role.index], self.count),
                                    "GE" if role.counter.step > 0 else "LE")
                mask = ops.and_(mask, begun)
        self.mask = batcher.mask = mask
        self.iterations_made = ops.reduce(ops.convert(mask, INDEX), 0, [0], "add")

    def _final(self, role: Role) -> ir.Value:
        builders: dict[type, Any] = {Written: self._written, Reduced: self._reduced, Extreme: self._extreme,
                                     Scattered: self._scattered, Latch: self._latch, Last: self._last,
                                     Shifted: self._last, Scanned: self._of_scan, Count: self._end}
        return builders[type(role)](role)

    def _of_scan(self, role: Scanned) -> ir.Value:
        if role.index not in self.scanned:
            self._emit(role.needs)
            self.scanned[role.index] = running(role.recurrence, self.plan.inits[role.index], self.batcher.full,
                                               self.count)
        return at(self.scanned[role.index], self.count - 1)

    def _end(self, role: Count) -> ir.Value:
        init = self.plan.inits[role.index]
        step, dtype = role.counter.step, dtype_of(init)
        if self.iterations_made is None:
            return ops.add(init, ops.convert(ops.constant(self.count * step, INDEX), dtype))    # which may wrap around
        return ops.add(init, ops.convert(ops.multiply(self.iterations_made, step), dtype))

    def _written(self, role: Written) -> ir.Value:
        array = self.plan.inits[role.index]
        for write, window in zip(role.writes, role.windows, strict=True):
            parts = self.batcher.full(write.operands[1])
            if not moving(window):
                part = self._of_last_iteration(parts, functools.partial(read_fixed, array, window))
                array = write_last(array, part, window)
                continue
            if self.mask is not None:
                parts = ops.select(spread(self.mask, shape_of(parts)[1:]), parts,
                                   read_windows(array, window, self.count))
            array = write_windows(array, parts, window, self.count)
        return array

    def _of_last_iteration(self, parts: ir.Value, otherwise: Callable[[], ir.Value]) -> ir.Value:
        """What the last iteration made; `otherwise()` where there was none."""
        if self.iterations_made is None:
            return at(parts, self.count - 1)
        if ops.constant_value(self.plan.inits[self._first_counter()]) is None:
            iterations = ops.iota((self.count,), INDEX, 0)
            last = ops.reduce(ops.select(self.mask, iterations, -1), -1, [0], "maximum")
        else:
            last = ops.subtract(self.iterations_made, 1)
        return ops.select(ops.compare(last, 0, "GE"), at(parts, last), otherwise())

    def _first_counter(self) -> int:
        return next(r.index for r in self.plan.roles.values() if isinstance(r, Count))

    def _parts(self, term: Term, neutral: object) -> ir.Value:
        """What a term gives in each iteration, the neutral element where it does not count."""
        parts = self.batcher.full(term.value)
        if term.negated:
            parts = ops.negate(parts)
        for condition in [*map(self.batcher.full, term.conditions), *([] if self.mask is None else [self.mask])]:
            parts = ops.select(spread(condition, shape_of(parts)[1:]), parts, neutral)
        return parts

    def _reduced(self, role: Reduced) -> ir.Value:
        total = init = self.plan.inits[role.index]
        neutral = NEUTRAL[role.name](dtype_of(init))
        for term in role.terms:
            zero = _nothing(init, neutral) if total is init else None
            product = self._product(role, term)
            if product is not None:
                total = product if zero is not None else ops.add(total, product)
                continue
            found = _over_iterations(self._parts(term, neutral), neutral if zero is None else zero, role.name)
            total = found if zero is not None else \
                ops.create(f"stablehlo.{role.name}", [init.type], [total, found]).result
        return total

    def _product(self, role: Reduced, term: Term) -> ir.Value | None:
        """A sum of products of numbers that are read as they are: the product of two vectors. Around it, other loops
        make products of matrices of it."""
        op = self.plan.owner.get(term.value)
        while op is not None and op.name == "stablehlo.reshape":
            op = self.plan.owner.get(op.operands[0])
        if role.name != "add" or op is None or op.name != "stablehlo.multiply" or term.conditions or term.negated \
                or self.mask is not None or size(shape_of(term.value)) != 1 or dtype_of(term.value).kind == "b":
            return None
        if any(v not in self.batcher.batched or not _is_read(self.batcher.value(v)) for v in op.operands):
            return None
        left, right = (ops.reshape(self.batcher.value(v), (self.count,)) for v in op.operands)
        return ops.reshape(ops.dot_general(left, right, contracting_dims=((0,), (0,))), shape_of(term.value))

    def _scattered(self, role: Scattered) -> ir.Value:
        array = self.plan.inits[role.index]
        starts, sizes = list(role.write.operands)[2:], shape_of(role.write.operands[1])
        rows = ops.concatenate([ops.reshape(self.batcher.full(v), (self.count, 1)) for v in starts], 1)
        most = [n - k for n, k in zip(shape_of(array), sizes, strict=True)]
        limits = repeated(ops.constant(np.asarray(most, dtype_of(rows))), self.count)
        rows = ops.clamp(ops.splat(0, rows), rows, limits)
        neutral = NEUTRAL[role.name](dtype_of(array))
        for term in role.terms:
            array = ops.scatter(array, rows, self._parts(term, neutral), role.name, inserted_window_dims=(),
                                update_window_dims=range(1, 1 + len(sizes)), index_vector_dim=1,
                                scatter_dims_to_operand_dims=range(len(sizes)))
        return array

    def _truth(self, outcome: Formula) -> ir.Value:
        """A formula in every iteration."""
        if isinstance(outcome, bool):
            return ops.constant(outcome, bool, (self.count,))
        if isinstance(outcome, ir.Value):
            return self.batcher.full(outcome)
        parts = [self._truth(part) for part in outcome[1:]]
        return ops.not_(parts[0]) if outcome[0] == "not" else getattr(ops, outcome[0] + "_")(*parts)

    def _latch(self, role: Latch) -> ir.Value:
        inits = self.plan.inits
        if role.outcome is True:
            return inits[role.index]
        passed: ir.Value | None = None
        begun: ir.Value | None = None
        for index, outcome in role.group.items():
            here = self._truth(outcome)
            passed = here if passed is None else ops.and_(passed, here)
            begun = inits[index] if begun is None else ops.and_(begun, inits[index])
        if all(outcome is True for index, outcome in role.group.items() if index != role.index):
            if self.mask is not None:
                passed = ops.or_(passed, ops.not_(self.mask))
            return ops.and_(inits[role.index], ops.or_(ops.reduce(passed, True, [0], "and"), ops.not_(begun)))
        failed = ops.not_(passed) if self.mask is None else ops.and_(ops.not_(passed), self.mask)
        iterations = ops.iota((self.count,), INDEX, 0)
        first = ops.reduce(ops.select(failed, iterations, self.count), self.count, [0], "minimum")
        changed = ops.and_(begun, ops.compare(first, self.count, "LT"))
        return ops.select(changed, at(self._truth(role.outcome), first), inits[role.index])

    def _last(self, role: Last | Shifted) -> ir.Value:
        init, parts = self.plan.inits[role.index], self.batcher.full(role.value)
        condition = getattr(role, "condition", None)
        if condition is None:
            return self._of_last_iteration(parts, lambda: init)
        holds = self.batcher.full(condition)
        if self.mask is not None:
            holds = ops.and_(holds, self.mask)
        iterations = ops.iota((self.count,), INDEX, 0)
        last = ops.reduce(ops.select(holds, iterations, -1), -1, [0], "maximum")
        return ops.select(ops.compare(last, 0, "GE"), at(parts, last), init)

    def _extreme(self, role: Extreme) -> ir.Value:
        """The first iteration (the last, for "or equal") whose element is the extreme of all. NaN compares with
        nothing: it is passed over, and an extreme that is NaN at the start stays."""
        element, dtype = self.batcher.full(role.element), dtype_of(role.element)
        best = "maximum" if role.direction in ("GT", "GE") else "minimum"
        worst = NEUTRAL[best](dtype)
        valid = ops.compare(element, element, "EQ") if is_float(dtype) else None
        if self.mask is not None:
            valid = self.mask if valid is None else ops.and_(valid, self.mask)
        candidates = element if valid is None else ops.select(valid, element, worst)
        found = ops.reduce(candidates, worst, [0], best)
        hits = ops.compare(candidates, repeated(found, self.count), "EQ")
        if valid is not None:
            hits = ops.and_(hits, valid)
        iterations = ops.iota((self.count,), INDEX, 0)
        if role.direction in ("GT", "LT"):
            iteration = ops.reduce(ops.select(hits, iterations, self.count), self.count, [0], "minimum")
        else:
            iteration = ops.reduce(ops.select(hits, iterations, -1), -1, [0], "maximum")
        any_hit = ops.and_(ops.compare(iteration, 0, "GE"), ops.compare(iteration, self.count, "LT"))
        taken = ops.and_(any_hit, ops.compare(found, self.plan.inits[role.of], role.direction))
        return ops.select(taken, at(self.batcher.full(role.value), iteration), self.plan.inits[role.index])


def _is_read(value: ir.Value) -> bool:
    """Whether a value is part of an array, arranged otherwise at most."""
    while (view := creation.made(value, *VIEWS)) is not None:
        value = view.operands[0]
    made = creation.owner(value)
    return isinstance(made, ir.Block) or made.name in READS


VIEWS = {f"stablehlo.{n}" for n in ("reshape", "transpose", "reverse")}
READS = {f"stablehlo.{n}" for n in ("slice", "dynamic_slice", "gather", "constant")}


def _over_iterations(parts: ir.Value, start: object, name: str) -> ir.Value:
    """Parts joined along their first dimension. A complex number that is added in each iteration is added in two parts:
    of its sum XLA makes a product with n + 0i, which is NaN where it is infinite."""
    if name != "add" or not is_complex(dtype_of(parts)) or not ops.made_by(parts, "broadcast_in_dim"):
        return ops.reduce(parts, start, [0], name)
    first = complex(start)          # type: ignore[call-overload]
    return ops.complex(ops.reduce(ops.real(parts), first.real, [0], name),
                       ops.reduce(ops.imag(parts), first.imag, [0], name))


def _nothing(init: ir.Value, neutral: object) -> np.generic | None:
    """The number that a start consists of, where that is neutral; zeros of either sign are."""
    known = ops.constant_value(init)
    if known is None or not known.size or any(known.strides) or known.flat[0] != neutral:
        return None
    return known.flat[0]
