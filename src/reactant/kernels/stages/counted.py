"""Step 4: `scf.while` -> `scf.for` where the number of iterations is known before the loop starts.

A value that a loop carries is an induction variable if each iteration adds the same number to it. A loop is counted if
it goes on as long as one of them (before or after the addition) compares with something that does not change. Both
shapes that LLVM leaves are taken: tested at the top (`while`), and tested at the bottom (`do ... while`, which runs at
least once). The counted loop runs over `index` with a positive constant step; the old variable is a cast of the new
one, every other induction variable is computed from it, and values read after the loop are carried or computed from the
number of iterations. """
from __future__ import annotations

import contextlib

from jaxlib.mlir import ir

from reactant.ir.context import building
from reactant.kernels.form.bases import constant_of
from reactant.kernels.form.build import NAMES, Builder
from reactant.kernels.form.form import kernel_of
from reactant.kernels.form.rebuild import Rewriter
from reactant.kernels.stages.indices import Unknown, computed
from reactant.support.records import dataclass

FOLLOWED = 4096
"""Iterations up to which a loop of constants is followed."""
FLIPPED = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle", "ult": "ugt", "ule": "uge", "ugt": "ult",
           "uge": "ule", "eq": "eq", "ne": "ne"}


def count_loops(module: ir.Module) -> ir.Module:
    """Change the module's kernel."""
    with building():
        Counting().function(kernel_of(module))
    return module


@dataclass
class Induction:
    """Carried value number `place`: each iteration adds `step` (a constant, or a value from outside the loop)."""

    place: int
    step: int | ir.Value
    next: ir.Value | None
    signed: bool
    unsigned: bool


@dataclass
class Counted:
    """A loop and how it counts: goes on while (variable + offset, or its next value if `after`) `predicate` bound."""

    variable: Induction
    predicate: str
    bound: ir.Value
    after: bool
    at_bottom: bool
    offset: int = 0


def outside(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether a value is defined outside a loop."""
    owner = value.owner
    block = owner if isinstance(owner, ir.Block) else owner.operation.block
    while True:
        parent = block.owner
        if parent.operation == loop:
            return False
        if parent.operation.name == "func.func":
            return True
        block = parent.operation.block


def pure(op: ir.Operation) -> bool:
    return op.name.startswith(("arith.", "math.")) or op.name in ("ub.poison", "gpu.thread_id", "gpu.block_id")


class While:
    """What a scf.while does, told apart into iterations."""

    def __init__(self, op: ir.Operation):
        self.op = op
        self.before, self.after = (r.blocks[0] for r in op.regions)
        *self.test_ops, condition = [o.operation for o in self.before.operations]
        *self.body_ops, yielded = [o.operation for o in self.after.operations]
        self.flag, *self.passed = list(condition.operands)
        self.carried = list(self.before.arguments)
        self.given = dict(zip(self.after.arguments, self.passed, strict=True))
        self.next = [self.given.get(v, v) for v in yielded.operands]
        self.bottom = all(pure(o) for o in self.body_ops) and not all(pure(o) for o in self.test_ops)
        self.top = all(pure(o) for o in self.test_ops)

    def inductions(self) -> list[Induction]:
        """The carried values to which each iteration adds the same."""
        found = []
        for place, (value, following) in enumerate(zip(self.carried, self.next, strict=True)):
            owner = following.owner
            if isinstance(owner, ir.Block) or owner.name not in ("arith.addi", "arith.subi"):
                continue
            left, right = (self.given.get(v, v) for v in owner.operands)
            if owner.name == "arith.addi" and right == value:
                left, right = right, left
            constant = constant_of(right)
            if left != value or constant is None and (owner.name == "arith.subi" or not outside(right, self.op)):
                continue
            step = right if constant is None else constant if owner.name == "arith.addi" else -constant
            flags = str(owner.attributes["overflowFlags"])
            unsigned = "nuw" in flags and owner.name == "arith.addi"
            found.append(Induction(place, step, following, "nsw" in flags, unsigned))
        return found

    def counted(self) -> Counted | None:
        """How the loop counts, if it does."""
        owner = self.flag.owner
        if isinstance(owner, ir.Block) or owner.name != "arith.cmpi" or not (self.top or self.bottom):
            return None
        predicate = NAMES[ir.IntegerAttr(owner.attributes["predicate"]).value]
        left, right = owner.operands
        if outside(left, self.op):
            left, right, predicate = right, left, FLIPPED[predicate]
        if not outside(right, self.op):
            return None
        for variable in self.inductions():
            value = self.carried[variable.place]
            for candidate, is_after in ((value, False), (variable.next, True)):
                if candidate is not None and left == candidate and self.usable(variable, predicate):
                    return Counted(variable, predicate, right, is_after, self.bottom or not self.top)
            offset = self.offset(left, value)
            if offset is not None and self.usable(variable, predicate) and (variable.signed or variable.unsigned):
                return Counted(variable, predicate, right, False, self.bottom or not self.top, offset)
        return None

    def offset(self, value: ir.Value, start: ir.Value) -> int | None:
        """The constant c where value is start + c and does not wrap."""
        owner = value.owner
        if isinstance(owner, ir.Block) or owner.name != "arith.addi" or owner.operands[0] != start:
            return None
        exact = isinstance(value.type, ir.IndexType) or "nsw" in str(owner.attributes["overflowFlags"])
        return constant_of(owner.operands[1]) if exact else None

    def usable(self, variable: Induction, predicate: str) -> bool:
        """Whether the number of iterations follows: the variable moves toward the bound and does not wrap before it."""
        step = variable.step
        if not isinstance(step, int):
            return predicate in ("slt", "sle") and variable.signed or predicate in ("ult", "ule") and variable.unsigned
        if predicate == "ne":
            return step in (1, -1) or step != 0 and (variable.signed or variable.unsigned)
        if predicate in ("slt", "sle", "ult", "ule"):
            return step > 0
        return predicate in ("sgt", "sge", "ugt", "uge") and step < 0


@dataclass
class Course:
    """A loop whose iterations can be followed when it is compiled: how many, and how its carried values move each
    iteration."""

    iterations: int
    steps: dict[int, int]
    at_bottom: bool


def course_of(loop: While) -> Course | None:
    """Follow the values that start as constants and depend on nothing else, until the test fails.

    None if the test depends on more, or one of the values it depends on does not move by the same each iteration.
    """
    if not (loop.top or loop.bottom):
        return None
    at_bottom = not loop.top
    state = {v: c for v, s in zip(loop.carried, loop.op.operands, strict=True) if (c := constant_of(s)) is not None}
    history: dict[ir.Value, list[int]] = {v: [] for v in state}
    tested: set[ir.Value] = set()
    iteration = 0
    while iteration <= FOLLOWED:
        values: dict[ir.Value, int | None] = dict(state)
        if not followed(loop.flag, values, tested):
            return None
        going = values[loop.flag]
        following = {v: known(values[n]) for v, n in zip(loop.carried, loop.next, strict=True)
                     if v in state and followed(n, values, set())}
        for value in list(history):
            if value in following:
                history[value].append(state[value])
            else:
                del history[value]
        if not going:
            break
        state = following
        if not tested & set(loop.carried) <= set(state):
            return None
        iteration += 1
    else:
        return None
    iterations = iteration + 1 if at_bottom else iteration
    steps = {}
    for place, value in enumerate(loop.carried):
        course = [*history.get(value, []), *([following[value]] if value in following and at_bottom else [])]
        apart = {b - a for a, b in zip(course, course[1:], strict=False)}
        inside = {b - a for a, b in zip(course[:iterations], course[1:iterations], strict=False)}
        read_after = any(len(list(r.uses)) for r, p in zip(loop.op.results, loop.passed, strict=True)
                         if p == loop.next[place])
        found = apart if read_after or not at_bottom else inside
        if value in history and len(found) <= 1:
            steps[place] = found.pop() if found else 0
        elif value in tested:
            return None
    return Course(iterations, steps, at_bottom) if steps else None


def followed(value: ir.Value, values: dict[ir.Value, int | None], tested: set[ir.Value]) -> bool:
    """Compute an integer from known ones, into `values`; notes which it came from. False if it is not known."""
    if value not in values:
        values[value] = None  # not known, unless it turns out to be
        constant, owner = constant_of(value), value.owner
        if constant is not None:
            values[value] = constant
        elif not isinstance(owner, ir.Block) and owner.name.startswith("arith.") and len(owner.operands) and all(
                followed(v, values, tested) for v in owner.operands):
            with contextlib.suppress(Unknown):
                values[value] = computed(owner.operation, [known(values[v]) for v in owner.operands])
    if values[value] is None:
        return False
    tested.add(value)
    return True


def known(number: int | None) -> int:
    if number is None:
        raise Unknown
    return number


class Counting(Rewriter, Builder):
    """Copies a function, counted loops written as such."""

    def rewritten(self, op: ir.Operation) -> bool:
        if op.name != "scf.while":
            return False
        loop = While(op)
        how = loop.counted()
        if how is not None:
            self.write(loop, how)
            return True
        course = course_of(loop)
        if course is None:
            return False
        inductions = {place: Induction(place, step, None, self.fits(op.operands[place], step * course.iterations),
                                       False)
                      for place, step in course.steps.items()}
        start = self.mapped(op.operands)
        self.loop(loop, course.at_bottom, inductions, start, (self.index(0), self.index(course.iterations), 1), None)
        return True

    def fits(self, value: ir.Value, distance: int) -> bool:
        """Whether a distance is a number of the value's type."""
        kind = value.type
        return isinstance(kind, ir.IndexType) or kind.width > 1 and abs(distance) < 1 << (kind.width - 1)

    def extended(self, value: ir.Value, unsigned: bool) -> ir.Value:
        """An integer as index."""
        if isinstance(value.type, ir.IndexType):
            return value
        constant = constant_of(value)
        if constant is not None and not (unsigned and constant < 0):
            return self.index(constant)
        if unsigned and value.type != self.i64:
            return self.create("arith.index_castui", self.index_type, value)
        return self.as_index(value)

    def write(self, loop: While, how: Counted) -> None:
        variable = how.variable
        start = self.mapped(loop.op.operands)
        unsigned = how.predicate.startswith("u") or how.predicate == "ne" and variable.unsigned and not variable.signed
        first, bound = start[variable.place], self.value(how.bound)
        step = variable.step
        direct = isinstance(step, int) and step > 0 and not (
            how.predicate == "ne" and not variable.signed and not variable.unsigned)
        if direct:
            assert isinstance(step, int)
            lower = self.extended(first, unsigned)
            upper = self.limit(lower, self.extended(bound, unsigned), step, how)
            stride = step
        else:
            lower, upper, stride = self.index(0), self.iterations(first, bound, step, how, unsigned), 1
        inductions = {i.place: i for i in loop.inductions()}
        inductions[variable.place] = variable
        self.loop(loop, how.at_bottom, inductions, start, (lower, upper, stride), variable.place if direct else None)

    def limit(self, lower: ir.Value, bound: ir.Value, step: int, how: Counted) -> ir.Value:
        """The upper limit of a loop that counts up from `lower` by `step`."""
        upper = bound
        upper = self.shifted(upper, int(how.predicate in ("sle", "ule")) - how.offset)
        # before the addition at the bottom: an iteration more; after it at the top: less
        if how.at_bottom != how.after:
            upper = self.shifted(upper, step if how.at_bottom else -step)
        if how.at_bottom and how.predicate != "ne":
            least = self.shifted(lower, 1)
            a, b = constant_of(upper), constant_of(least)
            if a is not None and b is not None:
                return self.index(max(a, b))
            upper = self.create("arith.maxsi", self.index_type, upper, least)
        return upper

    def shifted(self, value: ir.Value, amount: int) -> ir.Value:
        constant = constant_of(value)
        if constant is not None:
            return self.index(constant + amount)
        return self.wrapless("arith.addi", value, self.index(amount)) if amount else value

    def iterations(self, first: ir.Value, bound: ir.Value, step: int | ir.Value, how: Counted,
              unsigned: bool) -> ir.Value:
        """The number of iterations of a loop that counts down, by a variable step, or until equality with wrapping."""
        more = int(how.at_bottom and not how.after) - int(not how.at_bottom and how.after)
        variable = how.variable
        if how.predicate == "ne" and isinstance(step, int) and not (variable.signed or variable.unsigned):
            distance = self.create("arith.subi", first.type, *((bound, first) if step > 0 else (first, bound)))
            return self.shifted(self.extended(distance, True), more)
        lower, upper = self.extended(first, unsigned), self.extended(bound, unsigned)
        if isinstance(step, int):
            distance = self.wrapless("arith.subi", *((lower, upper) if step < 0 else (upper, lower)))
            size: ir.Value = self.index(abs(step))
        else:
            distance, size = self.wrapless("arith.subi", upper, lower), self.extended(self.value(step), unsigned)
        down = isinstance(step, int) and step < 0
        distance = self.shifted(distance, int(how.predicate in ("sle", "ule", "sge", "uge"))
                                + (how.offset if down else -how.offset))
        if how.predicate == "ne":
            count = distance if constant_of(size) == 1 else self.create("arith.divsi", self.index_type, distance, size)
            return self.shifted(count, more)
        distance = self.create("arith.maxsi", self.index_type, distance, self.index(0))
        count = distance if constant_of(size) == 1 else self.create("arith.ceildivsi", self.index_type, distance, size)
        count = self.shifted(count, more)
        least = self.index(1 if how.at_bottom else 0)
        return self.create("arith.maxsi", self.index_type, count, least) if how.at_bottom or more else count

    # -- the loop itself

    def loop(self, loop: While, at_bottom: bool, inductions: dict[int, Induction], start: list[ir.Value],
             limits: tuple[ir.Value, ir.Value, int], direct: int | None) -> None:
        """Write scf.for over `limits` (lower, upper, stride); its variable is carried value number `direct`."""
        lower, upper, stride = limits
        kept = [n for n in range(len(loop.carried)) if n not in inductions]
        # What is read after a bottom-tested loop and is neither carried nor counted is carried too, as is the value
        # that the last iteration started with.
        extra = []
        for place, value in enumerate(loop.passed if at_bottom else []):
            carried = value in loop.carried and loop.carried.index(value) in kept
            known = value in loop.carried or value in loop.next or outside(value, loop.op)
            if len(list(loop.op.results[place].uses)) and (carried or not known):
                extra.append(place)
        initial = [start[n] for n in kept] + [self.zero(loop.passed[p].type) for p in extra]
        made = ir.Operation.create("scf.for", [v.type for v in initial],
                                   [lower, upper, self.index(stride), *initial], regions=1)
        block = ir.Block.create_at_start(made.regions[0], [self.index_type, *(v.type for v in initial)],
                                         [ir.Location.current] * (1 + len(initial)))
        with ir.InsertionPoint(block):
            position, *inner = block.arguments
            iteration = None
            for place, induction in inductions.items():
                kind = loop.carried[place].type
                if place == direct:
                    current = self.cast(position, kind)
                else:
                    iteration = iteration if iteration is not None else self.iteration(position, lower, stride)
                    current = self.moved(start[place], iteration, induction, kind)
                self.values[loop.carried[place]] = current
            self.values.update(zip((loop.carried[n] for n in kept), inner, strict=False))
            for op in loop.test_ops:
                self.operation(op)
            for argument, value in loop.given.items():
                self.values[argument] = self.value(value)
            for op in loop.body_ops:
                self.operation(op)
            ir.Operation.create("scf.yield", [], [
                *(self.value(loop.next[n]) for n in kept), *(self.value(loop.passed[p]) for p in extra)])
        finals = dict(zip(kept, made.results, strict=False))
        carried_results = dict(zip(extra, list(made.results)[len(kept):], strict=True))
        self.results(loop, at_bottom, start, limits, inductions, finals, carried_results)

    def cast(self, position: ir.Value, kind: ir.Type) -> ir.Value:
        return position if kind == self.index_type else self.create("arith.index_cast", kind, position)

    def iteration(self, position: ir.Value, lower: ir.Value, stride: int) -> ir.Value:
        """The number of the iteration, from 0."""
        if constant_of(lower) != 0:
            position = self.wrapless("arith.subi", position, lower)
        return position if stride == 1 else self.create("arith.divui", self.index_type, position, self.index(stride))

    def moved(self, start: ir.Value, iteration: ir.Value, induction: Induction, kind: ir.Type) -> ir.Value:
        """start + iteration * step."""
        count = self.cast(iteration, kind)
        flags = induction.signed or kind == self.index_type
        step = induction.step
        if step != 1:
            size = self.integer(step, kind) if isinstance(step, int) else self.value(step)
            count = self.wrapless("arith.muli", count, size) if flags else self.create("arith.muli", kind, count, size)
        if constant_of(start) == 0:
            return count
        return self.wrapless("arith.addi", start, count) if flags else self.create("arith.addi", kind, start, count)

    def results(self, loop: While, at_bottom: bool, start: list[ir.Value], limits: tuple[ir.Value, ir.Value, int],
                inductions: dict[int, Induction], finals: dict[int, ir.Value],
                carried_results: dict[int, ir.Value]) -> None:
        """Values for the results of the old loop."""
        lower, upper, stride = limits
        used = [len(list(r.uses)) > 0 for r in loop.op.results]
        if not any(used):
            return
        distance = upper if constant_of(lower) == 0 else self.wrapless("arith.subi", upper, lower)
        distance = self.create("arith.maxsi", self.index_type, distance, self.index(0))
        iterations = distance
        if stride != 1:
            iterations = self.create("arith.ceildivsi", self.index_type, distance, self.index(stride))
        last = self.shifted(iterations, -1) if at_bottom else iterations
        if not at_bottom:  # the final test sees the values that the last iteration left
            for place, value in enumerate(loop.carried):
                induction = inductions.get(place)
                self.values[value] = finals[place] if induction is None else self.moved(
                    start[place], iterations, induction, value.type)
            for op in loop.test_ops:
                self.operation(op)
            self.values.update({r: self.value(v) for r, v in zip(loop.op.results, loop.passed, strict=True)})
            return
        for place, (result, value) in enumerate(zip(loop.op.results, loop.passed, strict=True)):
            if not used[place]:
                continue
            if place in carried_results:
                self.values[result] = carried_results[place]
            elif outside(value, loop.op):
                self.values[result] = self.value(value)
            elif value in loop.carried:
                number = loop.carried.index(value)
                self.values[result] = self.moved(start[number], last, inductions[number], value.type)
            else:
                number = next(n for n, v in enumerate(loop.next) if v == value)
                induction = inductions.get(number)
                self.values[result] = finals[number] if induction is None else self.moved(
                    start[number], iterations, induction, value.type)
