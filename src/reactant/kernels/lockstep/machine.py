"""Run a kernel symbolically, all lanes in lock step: op after op, each for every lane of the launch at once.

The result is tensor code at the insertion point. Which axes the lanes have is a plan: at first one axis for each grid
dimension, over all its threads. An access that tells threads from blocks, or rows from columns, splits an axis: the run
starts again with the finer plan.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import size
from reactant.kernels.lockstep import accumulating, control, loops, meetings
from reactant.kernels.lockstep.arithmetic import INTEGERS
from reactant.kernels.lockstep.atomics import atomic
from reactant.kernels.lockstep.conditions import TRUE, Condition, at_least, both, narrowed
from reactant.kernels.lockstep.context import Context
from reactant.kernels.lockstep.coordinates import coordinates
from reactant.kernels.lockstep.forms import (
    Axis,
    Choice,
    Division,
    Domain,
    Form,
    Run,
    Span,
    at_domain,
    axes_of,
    divisions,
    floor_division,
    is_static,
    of_atom,
    range_of,
    within,
)
from reactant.kernels.lockstep.gathering import Record, SplitTurns
from reactant.kernels.lockstep.lanes import Lanes
from reactant.kernels.lockstep.mathematics import FLOATS, call, kept_in_range
from reactant.kernels.lockstep.memory import Memory, OutOfRange
from reactant.kernels.lockstep.staged_indices import NotStaged
from reactant.kernels.lockstep.tiles import Tile
from reactant.kernels.lockstep.values import (
    Integer,
    Partial,
    Refused,
    Value,
    as_lanes,
    constant,
    dtype_of_type,
    flat,
    is_integer,
    limits,
    of_lanes,
    width_of,
)

DIMENSIONS = "xyz"
MOST_AXES = 24


class Split(Exception):
    """The threads of a grid dimension have to be told apart at multiples of `radix`."""

    def __init__(self, dimension: int, radix: int):
        super().__init__(dimension, radix)
        self.dimension, self.radix = dimension, radix


_OF_ANY_WIDTH = frozenset(("arith.constant", "arith.addi", "arith.subi", "arith.muli", "arith.extsi", "arith.extui"))


def _require_tensors(op: ir.Operation, operands: list[Any], domain: Domain) -> None:
    """Forms are computed in 64 bits. Sums are right in the low bits of wider integers; what looks at others needs
    numbers of 64 bits."""
    if op.name not in _OF_ANY_WIDTH:
        for x in operands:
            if isinstance(x, Integer) and x.width > 64 and not within(range_of(x.form, domain), *limits(64)):
                raise Refused(f"integers of {x.width} bits have no tensors", op)


def _anything(type_: ir.Type) -> Value:
    """Some value of a type, of which nothing is known."""
    wide = isinstance(type_, ir.IntegerType) and type_.width > 64
    dtype = np.dtype(np.int64) if wide else dtype_of_type(type_)
    lanes = Lanes(ops.constant(np.zeros((), dtype)))
    return Integer(of_atom(Run(lanes, None)), type_.width) if wide else of_lanes(lanes, type_)


@dataclass
class Machine:
    """One run: the launch, its axes, what each SSA value is, and the memory."""

    grid: Sequence[int]
    block: Sequence[int]
    radices: dict[int, list[int]]
    values: dict[ir.Value, Value] = field(default_factory=dict)
    running: list[ir.Block] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    tables: Callable[[str], np.ndarray] | None = None
    notes: list[tuple[str, str]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    turns: set[Axis] = field(default_factory=set)
    """Axes of loops that can be split (`SplitTurns`)."""
    made: int = 0
    loops: int = 0
    """How many there are in the tensor program."""
    meets: bool = False
    fills_warps: bool = False
    """Whether a block that does not divide into warps is to be run again as a longer one."""
    order: Sequence[int] = (2, 1, 0)
    """The grid's dimensions, as those of tensors are: rows first."""
    skipped: Sequence[ir.Operation] = ()
    """Operations that were refused, left out to find what else would be."""
    staging: bool = False
    """Whether shared memory is taken to stage loads only (`Tile`), so that conditions and loads for it need not tell
    threads apart."""
    put_off: list[tuple[ir.Value, Split]] = field(default_factory=list)
    """What was loaded without telling threads apart, and how they would be."""

    def __post_init__(self) -> None:
        self.axes: list[Axis] = []
        self.thread: list[Form] = []                # the global index in each dimension
        for d in (2, 1, 0):
            self._axes_of_dimension(d)
        self.thread.reverse()
        domain = {a: Span(0, a.extent) for a in self.axes}
        exist: list[Condition] = [at_least(Form(self.threads(d) - 1), self.thread[d]) for d in range(3)]
        found = narrowed(domain, both(*exist))
        assert found is not None
        self.start = Context(*found)

    def threads(self, d: int) -> int:
        return self.grid[d] * self.block[d]

    def _axes_of_dimension(self, d: int) -> None:
        strides = [*sorted((r for r in self.radices.get(d, ()) if r < self.threads(d)), reverse=True), 1]
        above, total = self.threads(d), Form()
        for k, stride in enumerate(strides):
            axis = Axis(f"{DIMENSIONS[d]}{k or ''}", -(-above // stride), (self.order.index(d), k), d, stride)
            if axis.extent > 1:
                self.axes.append(axis)
                total = total + of_atom(axis).times(stride)
            above = stride
        self.thread.append(total)

    # -- telling threads apart

    def settle(self, form: Form, context: Context) -> Form:
        """The form in a domain. Raises `Split` where finer axes would make a division affine."""
        form = at_domain(form, context.domain)
        for division in divisions(form):
            self._request(division, context)
        return form

    def _request(self, division: Division, context: Context) -> None:
        form, divisor = division.form, division.divisor
        if form.constant:
            return
        for atom, c in form.terms:
            if not isinstance(atom, Axis) or c <= 0 or divisor % c or divisor // c >= atom.extent:
                continue
            if atom.dimension < 0 and (atom not in self.turns or atom.extent % (divisor // c) or self.staging):
                continue
            below = Form(0, tuple((a, k) for a, k in form.terms if a is not atom and k < c))
            bounds = range_of(below, context.domain)
            if bounds is None or bounds[0] < 0 or bounds[1] >= c:
                continue
            if atom.dimension < 0:
                raise SplitTurns(atom, divisor // c)
            self.split(atom.dimension, atom.radix * (divisor // c))

    def split(self, dimension: int, radix: int) -> None:
        """Raise `Split` if the axes of a dimension can be split there and are not."""
        radices = self.radices.get(dimension, [])
        if radix in radices or not 1 < radix < self.threads(dimension) or len(self.axes) >= MOST_AXES:
            return
        if self.meets and radix < self.block[dimension] and self.block[dimension] % radix:
            return                                   # a warp is to be made of whole axes
        if all(radix % r == 0 or r % radix == 0 for r in radices):
            raise Split(dimension, radix)

    def narrowed(self, context: Context, condition: Condition) -> Context | None:
        """The lanes of a context for which a condition holds; None where there are none."""
        condition = condition.at_domain(context.domain)
        if not self.staging:
            for form in condition.forms():
                self.settle(form, context)
        found = narrowed(context.domain, both(context.mask, condition))
        if found is None:
            return None
        domain, mask = found
        return replace(context, domain=domain, mask=mask)

    def block_axes(self) -> frozenset[Axis]:
        """The axes that tell blocks apart; splits dimensions whose axes do not."""
        for d in range(3):
            if self.grid[d] > 1 and self.block[d] > 1:
                self.split(d, self.block[d])
        if any(self.grid[a.dimension] > 1 and a.radix < self.block[a.dimension] < a.radix * a.extent
               for a in self.axes):
            raise Refused("blocks and the divisions of the thread index do not fit together")
        return frozenset(a for a in self.axes if a.radix >= self.block[a.dimension])

    def tells_threads_apart(self, condition: Condition) -> bool:
        """Whether a condition may differ between the threads of a block."""
        return any(a.dimension < 0 or a.radix < self.block[a.dimension] for a in condition.axes())

    def thread_axes(self) -> list[Axis]:
        blocks = self.block_axes()
        return [a for a in self.axes if a not in blocks]

    # -- values

    def fresh(self) -> int:
        """A number not given before."""
        self.made += 1
        return self.made

    def get(self, value: ir.Value) -> Value:
        return self.values[value]

    def lanes(self, value: ir.Value, context: Context) -> Lanes:
        return as_lanes(self.values[value], context.domain)

    def integer(self, value: ir.Value) -> Integer:
        found = self.values[value]
        if not isinstance(found, Integer):
            raise Refused("a number needs a carried value of a loop")
        return found

    # -- running

    def block_of(self, block: ir.Block, context: Context) -> list[Value]:
        """Run a block; what its terminator passes on."""
        *body, end = (op.operation for op in block.operations)
        for op in body:
            for result in op.results:
                self.values.pop(result, None)       # of an earlier turn: `wanted` looks ahead
        self.running.append(block)
        try:
            for op in body:
                self.run(op, context)
        finally:
            self.running.pop()
        return [self.values[v] for v in end.operands]

    def run(self, op: ir.Operation, context: Context) -> None:
        """Run one op of the structured form."""
        if self.skipped and any(op == other for other in self.skipped):
            for result in op.results:
                self.values[result] = _anything(result.type)
            return
        try:
            with op.location:
                found = self._result(op, context)
        except Refused as refused:
            refused.op = refused.op or op
            raise
        if found is None:
            return
        results = found if isinstance(found, (list, tuple)) else [found]
        for result, value in zip(op.results, results, strict=True):
            self.values[result] = flat(value, result.type, context.domain)

    def _result(self, op: ir.Operation, context: Context) -> Any:
        name = op.name
        handler = CONTROL.get(name)
        if handler is not None:
            return handler(self, op, context)
        operands = [self.values[v] for v in op.operands]
        if any(isinstance(x, Partial) for x in operands):
            return loops.gathered(op, operands, context)
        operands = kept_in_range(name.removeprefix("math."), operands, context, lambda: self.wanted(op.results[0]))
        known = INTEGERS.get(name) or FLOATS.get(name)
        if known is None:
            raise Refused(f"'{name}' has no tensor form", op)
        _require_tensors(op, operands, context.domain)
        try:
            return known(op, operands, context.domain)
        except AttributeError as error:
            raise Refused(f"'{name}' of truth values has no tensor form", op) from error

    def wanted(self, value: ir.Value, depth: int = 12) -> Condition:
        """On what condition a value is chosen by everything that uses it (the compiler makes choices of branches)."""
        uses = list(islice(value.uses, 4))
        if not depth or not 0 < len(uses) < 4:
            return TRUE
        found = [self._wanted_by(use, depth) for use in uses]
        return found[0] if all(c == found[0] for c in found) else TRUE

    def _wanted_by(self, use: Any, depth: int) -> Condition:
        op = use.owner.operation
        if op.name == "arith.select" and use.operand_number:
            condition = self.values.get(op.operands[0])
            if isinstance(condition, Condition) and self._is_here(op.operands[0]):
                return condition if use.operand_number == 1 else condition.negated()
            return TRUE
        simple = op.name.startswith(("arith.", "math.")) and len(op.results) == 1
        return self.wanted(op.results[0], depth - 1) if simple else TRUE

    def _is_here(self, value: ir.Value) -> bool:
        """Whether a value is one of the blocks that are running, not of one in them that ran before or will run."""
        block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
        return any(block == other for other in self.running)

    # -- memory

    def memory(self, value: ir.Value) -> Memory:
        found = self.values[value]
        assert isinstance(found, Memory)
        return found

    def new_memory(self, op: ir.Operation, private: frozenset[Axis]) -> Memory:
        type_ = ir.MemRefType(op.results[0].type)
        elements, dtype = size(type_.shape), dtype_of_type(type_.element_type)
        shape = (elements,)
        if "reactant.shape" in op.attributes:
            hint = tuple(attr.decode(op.attributes["reactant.shape"]))
            shape = hint if size(hint) == elements and all(hint) else shape
        nothing = ops.constant(0, dtype, shape)
        found = Memory(f"memory {len(self.memories)}", dtype, elements, shape, nothing, private, scratch=True,
                       unknown=nothing)
        self.memories.append(found)
        return found

    def access(self, index: ir.Value, context: Context) -> Form:
        return self.settle(self.integer(index).form, context)

    def settle_mask(self, context: Context) -> None:
        """Tell threads apart as a write asks for that."""
        if self.staging:
            for form in context.mask.forms():
                self.settle(form, context)

    def new_shared(self, op: ir.Operation) -> Memory:
        if not self.staging:
            return self.new_memory(op, self.block_axes())
        where = coordinates(self.axes, self.grid, self.block)
        if where is None:
            raise NotStaged
        found = self.new_memory(op, frozenset())
        names = (f.name for f in fields(Memory))
        tile = Tile(**{name: getattr(found, name) for name in names}, coordinates=where)
        self.memories[-1] = tile
        return tile


def thread_of(machine: Machine, d: int) -> Form:
    """The thread's index in its block."""
    whole, size = machine.thread[d], machine.block[d]
    if machine.grid[d] == 1:
        return whole
    return whole - floor_division(whole, size, machine.start.domain).times(size)


def _thread_id(machine: Machine, op: ir.Operation, context: Context) -> Value:
    return Integer(thread_of(machine, DIMENSIONS.index(attr.enumerator(op.attributes["dimension"]))), 64)


def _block_id(machine: Machine, op: ir.Operation, context: Context) -> Value:
    d = DIMENSIONS.index(attr.enumerator(op.attributes["dimension"]))
    if machine.grid[d] == 1:
        return Integer(Form(), 64)
    return Integer(floor_division(machine.thread[d], machine.block[d], machine.start.domain), 64)


def _alloca(machine: Machine, op: ir.Operation, context: Context) -> Value:
    shared = ir.MemRefType(op.results[0].type).memory_space is not None
    return machine.new_shared(op) if shared else machine.new_memory(op, frozenset(machine.axes))


def _table(machine: Machine, op: ir.Operation, context: Context) -> Value:
    assert machine.tables is not None
    content = machine.tables(attr.decode(op.attributes["name"]))
    return Memory("table", content.dtype, content.size, content.shape, ops.constant(content), content=content)


def _load(machine: Machine, op: ir.Operation, context: Context) -> Value:
    memory = machine.memory(op.operands[0])
    form, split = _place_of_load(machine, memory, op.operands[1], context)
    if memory.content is not None and form.known is not None and 0 <= form.known < memory.elements:
        return _of_table(memory.content[form.known], op.results[0].type)
    updates = accumulating.updates_of(machine, memory)
    if updates is not None:
        return accumulating.load(updates, memory, form, op)
    loops.note_read(machine, memory, form, context)
    known = memory.number_at(form.known)
    if known is not None:
        return known
    try:
        lanes = _loaded(machine, memory, form, context)
        if split is not None:
            machine.put_off.append((lanes.value, split))
        return of_lanes(lanes, op.results[0].type)
    except OutOfRange as problem:
        raise _outside(op, problem, "reads") from None


def _place_of_load(machine: Machine, memory: Memory, index: ir.Value, context: Context) -> tuple[Form, Split | None]:
    """The place, and how threads have to be told apart if what is there is needed for more than a tile."""
    if isinstance(memory, Tile):
        return at_domain(machine.integer(index).form, context.domain), None
    try:
        return machine.access(index, context), None
    except Split as split:
        if not machine.staging or memory.scratch:
            raise
        return at_domain(machine.integer(index).form, context.domain), split


def _of_table(number: np.generic, type_: ir.Type) -> Value:
    """An element of a constant table."""
    return constant(int(number), width_of(type_)) if is_integer(type_) else Lanes(ops.constant(number))


def _loaded(machine: Machine, memory: Memory, form: Form, context: Context, depth: int = 3) -> Lanes:
    """What is read, case by case where the place is a choice that index arithmetic would have to tell."""
    cases = _cases(machine, memory, form, context, depth, writing=False)
    if cases is None:
        found = memory.load(form, context)
        for record in machine.records:
            table = memory.content is not None or (memory.numbers is not None and memory.numbers.own == memory.value)
            if record.axis in memory.overlapping or (table and record.axis in axes_of(form)):
                record.overlapping = True
        return found
    condition, arms = cases
    parts = [(arm, _loaded(machine, memory, at_domain(form, arm.domain), arm, depth - 1)) for arm in arms]
    whole = control.placed(condition, context, parts[0], parts[1])
    origin = memory.origin_of(form, context)
    return replace(whole, parts=tuple((arm.domain, x) for arm, x in parts), origin=origin)


def _stored(machine: Machine, memory: Memory, form: Form, value: Lanes, context: Context, depth: int = 3) -> None:
    cases = _cases(machine, memory, form, context, depth, writing=True)
    if cases is None:
        memory.store(form, value, context)
        return
    for arm in cases[1]:
        part = next((x for domain, x in value.parts if domain == arm.domain), value)
        _stored(machine, memory, at_domain(form, arm.domain), part, arm, depth - 1)


def _cases(machine: Machine, memory: Memory, form: Form, context: Context, depth: int,
           writing: bool) -> tuple[Condition, list[Context]] | None:
    """A condition on which the place of an access hangs, and the lanes for and against; None where it is simple."""
    choice = next((a for a, _ in form.terms if isinstance(a, Choice) and a.condition.is_static()), None)
    if choice is None or not depth or not is_static(form) or memory.simple(form, context, writing):
        return None
    arms = [machine.narrowed(context, c) for c in (choice.condition, choice.condition.negated())]
    found = [arm for arm in arms if arm is not None]
    if len(found) < 2 or all(arm.domain == context.domain for arm in found):
        return None
    return choice.condition, found


def _store(machine: Machine, op: ir.Operation, context: Context) -> None:
    memory = machine.memory(op.operands[1])
    if isinstance(memory, Tile):
        memory.keep(machine.integer(op.operands[2]).form, machine.get(op.operands[0]), machine.records, context)
        return
    machine.settle_mask(context)
    form = machine.access(op.operands[2], context)
    updates = accumulating.updates_of(machine, memory)
    if updates is not None:
        accumulating.store(machine, updates, memory, form, machine.get(op.operands[0]), context, op)
        return
    value = machine.lanes(op.operands[0], context)
    loops.note_write(machine, memory, form, context)
    try:
        before = memory.known_numbers()
        _stored(machine, memory, form, value, context)
        given = machine.get(op.operands[0])
        static = isinstance(given, Integer) and is_static(given.form) and not machine.records
        memory.note_number(before, form.known, given if static else None, context)
    except OutOfRange as problem:
        raise _outside(op, problem, "writes") from None


def _outside(op: ir.Operation, problem: OutOfRange, what: str) -> Exception:
    from reactant.kernels.form.form import line_of
    from reactant.kernels.form.interpret import OutOfBounds
    low, high, elements = problem.args
    index = low if low < 0 else high
    return OutOfBounds(f"A thread of the kernel {what} element {index} of a buffer of {elements} elements. "
                       f"{line_of(op)}".strip())


def _call(machine: Machine, op: ir.Operation, context: Context) -> Any:
    callee = attr.decode(op.attributes["callee"])
    if callee.startswith("reactant."):
        return meetings.meet(machine, op, callee.removeprefix("reactant."), context)
    operands = [machine.get(v) for v in op.operands]
    operands = kept_in_range(callee, operands, context, lambda: machine.wanted(op.results[0]))
    return call(op, callee, operands, context.domain)


CONTROL: dict[str, Callable[[Machine, ir.Operation, Context], Any]] = {
    "gpu.thread_id": _thread_id, "gpu.block_id": _block_id, "gpu.barrier": lambda machine, op, context: None,
    "gpu.shuffle": meetings.shuffle, "memref.alloca": _alloca, "memref.get_global": _table,
    "memref.load": _load, "memref.store": _store, "memref.atomic_rmw": atomic, "memref.generic_atomic_rmw": atomic,
    "scf.if": control.branch, "scf.index_switch": control.switch, "scf.for": loops.counted,
    "scf.while": loops.conditional, "func.call": _call,
}
"""Operations that need more than the values of their operands."""

__all__ = ["Machine", "Split", "thread_of"]
