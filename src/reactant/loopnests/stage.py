"""The very last stage on a CPU: the parts of a module that loops of our own run faster become calls of native code.

The module that users see, differentiate and batch stays StableHLO; `native_form` makes the one that XLA compiles.
"""
from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import field

import numpy as np
from jaxlib.mlir import ir

from reactant import native
from reactant.errors import UnsupportedError
from reactant.ir import modules
from reactant.ir import ops as build
from reactant.ir.context import building
from reactant.ir.types import shape_and_dtype, shape_of, size, tensor_type
from reactant.loopnests.analysis.budget import WRITTEN, Budget, TooLong
from reactant.loopnests.analysis.graph import Block, Node, read_block, take_apart
from reactant.loopnests.calls import arg_extremes, partitions, product_calls
from reactant.loopnests.choice import interleaving, profitability
from reactant.loopnests.emission.supported import compiles
from reactant.loopnests.function import NotCompiled, write_function
from reactant.loopnests.sorts import sorting
from reactant.native import ffi, workspace
from reactant.rewrite.report import source_line
from reactant.runtime.layout import BIG
from reactant.runtime.lent import mark
from reactant.runtime.pool import OTHERS
from reactant.support.records import dataclass

OTHERS.append(workspace.release)
CONSTANT = "stablehlo.constant"
GENERATORS = {CONSTANT, "stablehlo.iota"}
SORT, SPREAD = "stablehlo.sort", "stablehlo.broadcast_in_dim"
MOST_INLINE = 400
"""Operations of a program that becomes calls for being short: compiling it is to take less than XLA does."""


@dataclass
class Group:
    """Ops of one block that become one call."""

    ops: list[ir.Operation] = field(default_factory=list)
    level: int = 0


@dataclass
class NativeForm:
    """A module with calls of native code, a line about each, and whether there is so little to do in it that several
    threads would not be faster."""

    module: ir.Module
    notes: list[str]
    little: bool = False


def native_form(module: ir.Module, mode: str = "auto", handed_over: bool = False,
                straight: bool = False, seconds: float = float("inf")) -> NativeForm | None:
    """The module with native calls where they pay ("auto") or wherever they are possible ("always"); None where there
    are none. The module itself stays as it is. With a jaxlib whose interface is not known, "auto" is "never".

    handed_over: XLA will run it in another thread where there is much to do, which saving pays, too.
    straight: where all of it is native code it is called without XLA (`native.straight`), which pays, too.
    seconds: what compiling native code may take ("auto" only); what would take longer stays, and a note says so."""
    if mode == "never" or mode == "auto" and not ffi.usable():
        return None
    with building():
        block = modules.function(module).regions[0].blocks[0]
        numpy, straight = straight, straight and _may_be_straight(block)
        if mode == "auto" and not straight and not _may_pay(block) and not (handed_over and _may_be_inline(block)):
            return None
        made = modules.clone(module)
        stage = Stage(mode, handed_over, straight, seconds, numpy)
        interleaving.chosen(modules.function(made).regions[0].blocks[0])
        stage.block(modules.function(made).regions[0].blocks[0])
        return NativeForm(made, stage.notes, _is_little(block)) if stage.notes else None


def _may_pay(block: ir.Block) -> bool:
    """Whether there might be something for `Stage` in a block, or in the regions of its ops: quick to deny."""
    ops = [op.operation for op in block]
    return any(op.name in profitability.HOLDERS or op.name == SORT for op in ops) or profitability.may_pay(
        [op for op in ops if op.name not in GENERATORS])


def _may_be_inline(block: ir.Block) -> bool:
    """Whether all of a program might become calls."""
    own = _own(block)
    return len(own) <= MOST_INLINE and profitability.inline_pays([own]) and all(map(compiles, own))


def _may_be_straight(block: ir.Block) -> bool:
    """Whether all of a program can become native code, which is faster than XLA's where nothing else calls it."""
    own = _own(block)
    return 0 < len(own) <= MOST_INLINE and profitability.straight_pays(own) \
        and all(sorting.possible(op) if op.name == SORT else compiles(op) or product_calls.taken(op, True, True)
                for op in own)


def _is_little(block: ir.Block) -> bool:
    return profitability.is_little(_own(block))


def _own(block: ir.Block) -> list[ir.Operation]:
    *ops, _ = [op.operation for op in block]
    return [op for op in ops if op.name not in GENERATORS]


class Stage:
    """Works through the blocks of a module. handed_over, straight: as in `native_form`, of the whole program. numpy:
    whether it is a program of NumPy's, on arrays of NumPy's."""

    def __init__(self, mode: str, handed_over: bool = False, straight: bool = False,
                 seconds: float = float("inf"), numpy: bool = False) -> None:
        self.mode, self.handed_over, self.straight = mode, handed_over, straight
        self.notes: list[str] = []
        self.budget = Budget(seconds if mode == "auto" else float("inf"))
        self.number = 0
        self.numpy = numpy

    def block(self, block: ir.Block, in_loop: bool = False) -> None:
        """Replace the groups of a block that pay, and look into loops that stay."""
        handed_over, self.handed_over = self.handed_over, False       # of the whole program alone
        straight, self.straight = self.straight, False
        self._sorts(block, straight)
        for op in [op.operation for op in block if op.name == arg_extremes.REDUCE]:
            if (found := arg_extremes.place_of(op)) is not None:
                self.notes.append(arg_extremes.replaced(op, found))
        ops = [op.operation for op in block]
        terminator = ops.pop()
        own = [op for op in ops if op.name not in GENERATORS]
        if not own:
            return
        # none of them
        if not (self.mode == "always" or handed_over or straight or profitability.may_pay(own, in_loop)):
            for op in own:
                if op.name in profitability.HOLDERS and not compiles(op):
                    self._inside(op, in_loop)
            return
        in_place = in_loop and self.mode != "always"
        possible = [compiles(op) and not (in_place and profitability.is_in_place(op))
                    and not product_calls.taken(op, straight, straight) for op in own]
        for op, fine in zip(own, possible, strict=True):
            if not fine and op.name in profitability.HOLDERS:
                self._inside(op, in_loop)
        ops, own, possible = _spread_anew(ops, own, possible)
        groups = grouped(own, possible)
        inline = handed_over and all(possible) and profitability.inline_pays([g.ops for g in groups])

        def pays(group: Group) -> bool:
            return profitability.pays(group.ops, functools.partial(_big_outputs, group.ops), in_loop)
        chosen = [g for g in groups if self.mode == "always" or inline or straight or pays(g)]
        written = [(g, made) for g in chosen if (made := self._written(g)) is not None]
        if straight and self.mode != "always" and len(written) < len(chosen):      # it needs XLA after all
            written = [(g, made) for g, made in written if pays(g)]
        if written:
            _rebuild(ops, own, possible, terminator, written)

    def _inside(self, op: ir.Operation, in_loop: bool) -> None:
        for region in op.regions:
            self.block(region.blocks[0], in_loop or op.name == "stablehlo.while")

    def _sorts(self, block: ir.Block, straight: bool) -> None:
        for op in [op.operation for op in block if op.name == SORT] if self.numpy else ():
            if (found := partitions.partition_of(op)) is not None:
                self.notes.append(partitions.replaced(op, found))
        for op in [op.operation for op in block if op.name == SORT]:
            if sorting.possible(op) and (self.mode == "always" or straight or sorting.pays(op)):
                self.notes.append(sorting.replaced(op))

    def _written(self, group: Group) -> Call | None:
        try:
            self.budget.begin(sum(1 + modules.size(op) for op in group.ops))
            with self.budget.writing():
                call = Call(group.ops, f"region{self.number}")
            self.budget.take(self.budget.written * WRITTEN + call.function.seconds)
        except TooLong as found:
            self.notes.append(_note_left(group.ops, found.fact, self.budget.seconds))
            return None
        except (NotCompiled, UnsupportedError):
            return None
        except Exception:
            if self.mode == "always":
                raise
            return None     # XLA runs it as well: a defect in here must not stop a program
        self.number += 1
        self.notes.append(call.note)
        return call


def levels(ops: list[ir.Operation], possible: list[bool], used: list[list[ir.Value]] | None = None) -> list[int]:
    """For each op, how many ops that stay with XLA lie before it on the longest way; ops that stay and have side
    effects keep their order."""
    used = list(map(_used, ops)) if used is None else used
    level_of: dict[ir.Value, int] = {}
    found, last_effect = [], 0
    for op, fine, values in zip(ops, possible, used, strict=True):
        level = max([level_of.get(v, 0) for v in values], default=0)
        if not fine and not len(op.results) or _has_effect(op):
            level = last_effect = max(level, last_effect)
        for result in op.results:
            level_of[result] = level if fine else level + 1
        found.append(level)
    _sink(ops, possible, used, found)
    return found


def _sink(ops: list[ir.Operation], possible: list[bool], used: list[list[ir.Value]], level: list[int]) -> None:
    """Let cheap ops that make no less than they are made of wait until they are needed: what reads them computes them
    as it goes, where they would else be written to memory (a scan over broadcast products: 2 x 2 MB)."""
    of_user: dict[ir.Value, int] = {}
    for k in range(len(ops) - 1, -1, -1):
        op = ops[k]
        if possible[k] and len(op.results) == 1 and not op.regions and profitability.waits(op):
            level[k] = max(level[k], of_user.get(op.results[0], level[k]))
        for value in used[k]:
            of_user[value] = min(level[k], of_user.get(value, level[k]))


def _spread_anew(block: list[ir.Operation], ops: list[ir.Operation],
                 possible: list[bool]) -> tuple[list[ir.Operation], list[ir.Operation], list[bool]]:
    """Let what a group and something after it both read spread out be spread for each: the group would else write what
    little it came from at full size (scales of the rows of a product: 512 KB instead of 1). Gives the ops anew."""
    level = {id_of(op): (each, fine) for op, each, fine in zip(ops, levels(ops, possible), possible, strict=True)}
    found = []
    for op in block:
        found.append(op)
        if op.name != SPREAD or size(shape_of(op.operands[0])) == size(shape_of(op.results[0])):
            continue
        own, fine = level[id_of(op)]
        uses = list(op.results[0].uses)
        late = [use for use in uses if level.get(id_of(use.owner.operation), (0,))[0] > own]
        if fine and 0 < len(late) < len(uses):
            with ir.InsertionPoint.after(op):
                found.append(op.clone().operation)
            for use in late:
                use.owner.operands[use.operand_number] = found[-1].results[0]
            level[id_of(found[-1])] = own, True
    own_ops = [op for op in found if id_of(op) in level]
    return found, own_ops, [level[id_of(op)][1] for op in own_ops]


def _has_effect(op: ir.Operation) -> bool:
    return op.name == "stablehlo.custom_call" and "has_side_effect" in op.attributes \
        and bool(ir.BoolAttr(op.attributes["has_side_effect"]).value)


def _used(op: ir.Operation) -> list[ir.Value]:
    """Values an op and its regions use."""
    found = list(op.operands)
    if len(op.regions):
        for inner in modules.walk(op):
            found.extend(inner.operands)
    return found


def grouped(ops: list[ir.Operation], possible: list[bool]) -> list[Group]:
    """The ops that compile, in connected groups between those that do not."""
    used = list(map(_used, ops))
    level = levels(ops, possible, used)
    owner: list[int] = list(range(len(ops)))

    def find(k: int) -> int:
        while owner[k] != k:
            owner[k] = owner[owner[k]]
            k = owner[k]
        return k
    made: dict[ir.Value, int] = {}
    shared: dict[tuple[ir.Value, int], int] = {}
    for k, op in enumerate(ops):
        if not possible[k]:
            continue
        for value in used[k]:
            before = made.get(value)
            if before is not None and level[before] == level[k]:
                owner[find(k)] = find(before)
            elif shape_of(value) and not _is_generator(value):
                first = shared.setdefault((value, level[k]), k)
                owner[find(k)] = find(first)
        for result in op.results:
            made[result] = k
    groups: dict[int, Group] = {}
    for k, op in enumerate(ops):
        if possible[k]:
            group = groups.setdefault(find(k), Group(level=level[k]))
            group.ops.append(op)
    return list(groups.values())


def _is_generator(value: ir.Value) -> bool:
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.name in GENERATORS


class Call:
    """A group, written and compiled, ready to be put in its place."""

    def __init__(self, ops: list[ir.Operation], name: str) -> None:
        inside = dict.fromkeys(r for op in ops for r in op.results)
        everything = {r for op in ops for o in (op, *modules.walk(op)) for r in o.results}
        for op in ops:
            for o in modules.walk(op):
                for region in o.regions:
                    everything.update(region.blocks[0].arguments)
            for region in op.regions:
                everything.update(region.blocks[0].arguments)
        outside = dict.fromkeys(v for op in ops for v in _used(op) if v not in everything)
        generators = [v for v in outside if _is_generator(v)]
        self.inputs = [v for v in outside if v not in set(generators)]
        known: dict[ir.Value, Node] = {}
        arguments = []
        for value in self.inputs:
            shape, dtype = shape_and_dtype(value.type)
            known[value] = Node("argument", (), tuple(shape), dtype)
            arguments.append(known[value])
        block = read_block(ops[0].block, known, only=[*(v.owner for v in generators), *ops])
        used_outside = _uses_outside(ops, inside)
        self.outputs = [v for v in inside if v in used_outside]
        lent = [known[v] for v in self.inputs if _may_be_lent(v)]
        self.written = write_function(block, arguments, [known[v] for v in self.outputs], name, lent)
        self.constants = [n for n in self.written.inputs if n.kind == "constant"]
        self.value_of = {known[v]: v for v in self.inputs}
        inputs = len(self.written.inputs) + bool(self.written.lent)
        roles = ["in"] * inputs + ["out"] * (len(self.outputs) + len(self.written.workspace))
        needed = sum(b.size * b.dtype.itemsize for b in self.written.workspace)
        self.own = self.written.workspace if workspace.available() and needed >= workspace.LEAST else []
        self.note = _note(ops, block, name)
        self.function = native.compile(modules.parse(self.written.text), roles=roles, worked_in=len(self.own),
                                       where=self.note)
        take_apart(block)

    def insert(self) -> dict[ir.Value, ir.Value]:
        """Build the call at the insertion point; old values to new."""
        operands = [self.value_of[n] if n in self.value_of else build.constant(n.value, n.dtype)
                    for n in self.written.inputs]
        if self.written.lent:
            operands.append(build.constant(np.zeros(self.written.lent, np.int64), np.dtype(np.int64)))
        types = [v.type for v in self.outputs]
        types += [tensor_type((b.size,), b.dtype) for b in self.written.workspace if not self.own]
        results = self.function.custom_call(operands, types)
        if self.written.lent:
            mark(results[0].owner, self.written.lent)
        return dict(zip(self.outputs, results, strict=False))


def _big_outputs(ops: list[ir.Operation]) -> int:
    """How many big arrays leave a group."""
    inside = dict.fromkeys(r for op in ops for r in op.results)
    return sum(size(shape_and_dtype(v.type)[0]) >= profitability.LEAST_MOVED for v in _uses_outside(ops, inside))


def _may_be_lent(value: ir.Value) -> bool:
    """Whether a value is an argument of the program so big that copying it costs something."""
    if not isinstance(value.owner, ir.Block) or value.owner.owner.operation.name != "func.func":
        return False
    shape, dtype = shape_and_dtype(value.type)
    return size(shape) * dtype.itemsize >= BIG


def _uses_outside(ops: list[ir.Operation], inside: Iterable[ir.Value]) -> set[ir.Value]:
    members = {id_of(op) for op in ops}
    found = set()
    for value in inside:
        block = ops[0].block
        for use in value.uses:
            user = use.owner.operation
            while user.block != block:
                user = user.parent.operation
            if id_of(user) not in members:
                found.add(value)
                break
    return found


def id_of(op: ir.Operation) -> object:
    """Something that tells ops apart: their first result, or themselves."""
    return op.results[0] if len(op.results) else id(op)


def _note(ops: list[ir.Operation], block: Block, name: str) -> str:
    """What `explain` says about a call."""
    count = sum(1 for _ in block.walk())
    loops = sum(n.kind == "while" for n in block.walk())
    inner = f", {loops} loop{'s' if loops > 1 else ''}" if loops else ""
    return f"compiled natively: {name}, {count} operations{inner}{_where(ops)}"


def _note_left(ops: list[ir.Operation], time: str, seconds: float) -> str:
    """What `explain` says about a group that takes too long."""
    count = sum(1 for op in ops for _ in (op, *modules.walk(op)))
    return f"left to XLA: {count} operations{_where(ops)}, native code of which would take {time} to compile " \
        f"(native_seconds={seconds:g})"


def _where(ops: list[ir.Operation]) -> str:
    """The lines of the program that ops come from."""
    lines = sorted({line for op in ops for o in (op, *modules.walk(op)) if (line := source_line(o.location))},
                   key=lambda place: (place.rpartition(":")[0], int(place.rpartition(":")[2] or 0)))
    last = f" to {lines[-1].rpartition(':')[2]}" if len(lines) > 1 else ""
    return f" ({lines[0]}{last})" if lines else ""


def _rebuild(ops: list[ir.Operation], own: list[ir.Operation], possible: list[bool], terminator: ir.Operation,
             written: list[tuple[Group, Call]]) -> None:
    """Put the calls in the place of their ops, everything in an order in which values come before their uses."""
    level = levels(own, possible)
    call_of = {id_of(op): call for group, call in written for op in group.ops}
    order = sorted(range(len(own)), key=lambda k: (level[k], not possible[k], k))
    for op in ops:
        if op.name in GENERATORS:
            op.move_before(terminator)
    replaced: list[tuple[ir.Value, ir.Value]] = []
    placed: set[int] = set()
    for k in order:
        call = call_of.get(id_of(own[k]))
        if call is None:
            own[k].move_before(terminator)
            continue
        if id(call) in placed:
            continue
        placed.add(id(call))
        with ir.InsertionPoint(terminator), own[k].location:
            new = call.insert()
        replaced += new.items()
    for old, new_value in replaced:
        old.replace_all_uses_with(new_value)
    for group, _ in reversed(written):
        for op in reversed(group.ops):
            op.erase()
