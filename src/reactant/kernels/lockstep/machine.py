"""Run a kernel symbolically, all lanes in lock step: op after op, each for every lane of the launch at once.

The result is tensor code at the insertion point. Which axes the lanes have is a plan: at first one axis for each grid
dimension, over all its threads. An access that tells threads from blocks, or rows from columns, splits an axis: the
program starts again with the finer plan. """
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import size
from reactant.kernels.lockstep.arithmetic import INTEGERS
from reactant.kernels.lockstep.conditions import TRUE, at_least, both, narrowed
from reactant.kernels.lockstep.context import Context
from reactant.kernels.lockstep.coordinates import coordinates
from reactant.kernels.lockstep.data import Axis, Condition, Division, Domain, Form, Lanes, Run, Span, of_atom
from reactant.kernels.lockstep.forms import at_domain, divisions, floor_division, range_of, within
from reactant.kernels.lockstep.gathering import Record, SplitIterations, gathered
from reactant.kernels.lockstep.mathematics import FLOATS, kept_in_range
from reactant.kernels.lockstep.memory import Memory
from reactant.kernels.lockstep.staged_indices import NotStaged
from reactant.kernels.lockstep.tiles import Tile
from reactant.kernels.lockstep.values import (
    Integer,
    Partial,
    Refused,
    Value,
    as_lanes,
    dtype_of_type,
    flat,
    limits,
    of_lanes,
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
    operations: Mapping[str, Handler]
    """Operations that need more than the values of their operands (`operations`)."""
    values: dict[ir.Value, Value] = field(default_factory=dict)
    running: list[ir.Block] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    tables: Callable[[str], np.ndarray] | None = None
    notes: list[tuple[str, str]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    iterations: set[Axis] = field(default_factory=set)
    """Axes of loops that can be split (`SplitIterations`)."""
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
            if atom.dimension < 0 and (atom not in self.iterations or atom.extent % (divisor // c) or self.staging):
                continue
            below = Form(0, tuple((a, k) for a, k in form.terms if a is not atom and k < c))
            bounds = range_of(below, context.domain)
            if bounds is None or bounds[0] < 0 or bounds[1] >= c:
                continue
            if atom.dimension < 0:
                raise SplitIterations(atom, divisor // c)
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
                self.values.pop(result, None)       # of an earlier iteration: `wanted` looks ahead
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
        handler = self.operations.get(name)
        if handler is not None:
            return handler(self, op, context)
        operands = [self.values[v] for v in op.operands]
        if any(isinstance(x, Partial) for x in operands):
            return gathered(op, operands, context)
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


Handler = Callable[[Machine, ir.Operation, Context], Any]
"""Runs an op; gives its result, or several, or None."""
