"""What a program repeats is simplified once: as a function of its own, which then stands in place of every copy.

What rules found out there holds for the copies too, but where they asked about what comes from outside or goes there:
only that is looked at again. Ops in which copies differ are opaque meanwhile (`HOLE`), and what is the same for all
copies is computed once, before the first.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func as func_dialect

from reactant.ir import attributes as attr
from reactant.ir import modules
from reactant.rewrite.driver import RuleSet, pure, unused
from reactant.rewrite.known import Known, flat
from reactant.rewrite.memory import Memory
from reactant.rewrite.repeats import (
    MANY,
    Ops,
    Repeat,
    attributes_of,
    clone_using,
    given,
    may_repeat,
    references,
    repeats,
    results_used_outside,
)
from reactant.support.records import dataclass

HOLE, PLACE = "reactant.hole", "reactant.place"
"""Stands for an op that is another one in every copy; its attribute says at which place."""

Simplify = Callable[[ir.Module, Repeat], "tuple[Memory | None, bool]"]
"""Simplifies a module that stands for the copies of a repeat; gives what is known of its ops then, None where that is
little, and whether it is worth to have it in place of them."""


def simplify_copies(root: ir.Operation, memory: Memory, rules: Sequence[RuleSet], simplify: Simplify) -> bool:
    """Simplify what the function in `root` repeats; gives whether there was anything. `memory`, which is empty, learns
    of which ops that come from there it is known that none of the rules fires."""
    views, sizes = _in_a_row(root, memory)
    if not may_repeat(views, sizes):
        return False
    made = Made(Ops(views))
    settled: set[int] = set()
    found = False
    for repeat in repeats(made.ops):
        part = Part(made, repeat)
        known, worth = simplify(part.module, repeat)
        if worth:
            if not found:
                memory.clear()
            part.put_back(None if known is None else
                          Known(known, part.function, rules, part.boundary(), memory, settled))
            found = True
    if found:
        _begin(root, memory, rules, settled, _makers(made.current.values()))
    return found


def _in_a_row(root: ir.Operation, memory: Memory) -> tuple[list[ir.OpView], list[int]]:
    """The ops of the only function in `root`, and how many ops each is; none where there are several functions, or ops
    without results."""
    functions = list(root.regions[0].blocks[0])
    if len(functions) != 1 or functions[0].operation.name != "func.func":
        return [], []
    views: list[ir.OpView] = []
    sizes: list[int] = []
    listed, nested, owners = memory.list(root), memory.nested, memory.owners
    for address in listed:
        if address in nested:
            sizes[-1] += 1
        else:
            views.append(owners[address])
            sizes.append(1)
    whole = len(functions[0].regions[0].blocks[0].operations) == len(views) + 1
    return (views, sizes) if whole else ([], [])


def _begin(root: ir.Operation, memory: Memory, rules: Sequence[RuleSet], settled: set[int], outer: set[int]) -> None:
    """Drop what is dead, and have `memory` know that the rules were tried on the settled ops, and on these only.
    `outer`: the ops that make what parts of the program give others, perhaps in vain."""
    for each in rules:
        memory.tried[id(each.table)] = memory.clock, dict.fromkeys(settled, memory.clock)
    memory.clock += 1
    listed = memory.list(root)
    for address, op in reversed(list(listed.items())):
        if address in settled and address not in outer or not unused(op):
            continue
        settled.discard(address)
        if not len(op.regions) and pure(op):        # the others are erased by the engine
            outer |= _makers(op.operands)
            memory.reread.update((hash(operand), memory.clock) for operand in op.operands)
            for result in op.results:
                memory.erased(hash(result))
            op.erase()
            del listed[address]
            memory.size -= 1
    memory.unseen.update((address, op) for address, op in listed.items() if address not in settled)
    memory.complete = True


def _makers(values: Iterable[ir.Value]) -> set[int]:
    """What makes values."""
    return {hash(owner.results[0]) for value in values if type(owner := value.owner) is not ir.Block}


class Made:
    """The values of a block, and what has come in place of those that are gone."""

    def __init__(self, ops: Ops):
        self.ops, self.block = ops, ops.views[0].operation.block
        self.current: dict[int, ir.Value] = {}
        """What came in place of a value, by its address."""
        self.invariant: dict[tuple, ir.Operation] = {}
        """Ops that are the same for several copies, by what tells them from others."""
        self.references: dict[int, list[ir.Value]] = {}
        """What an op uses, where that was asked for values from outside the block."""
        self.front: list[ir.Operation] = []
        """Ops that have been moved to the begin of the block, in order."""

    def moved_to_front(self, op: ir.Operation) -> bool:
        """Move what is computed from constants alone to the begin of the block: equal ops of other parts, which may
        come about only later, are merged into it then, and not the other way round."""
        if not {each.results[0] for each in self.front}.issuperset(op.operands):
            return False
        if self.front:
            op.move_after(self.front[-1])
        else:
            op.move_before(self.block.operations[0])
        self.front.append(op)
        return True

    def value(self, address: int, index: int, number: int) -> ir.Value:
        """The value with an address, the `number`th that op `index` uses."""
        found = self.current.get(address)
        if found is not None:
            return found
        at = self.ops.made.get(address)
        if at is not None:
            return self.ops.views[at // MANY].operation.results[at % MANY]
        found_there = self.references.get(index)
        if found_there is None:
            found_there = self.references[index] = references(self.ops.views[index].operation)
        return found_there[number]


def key_of(op: ir.Operation) -> tuple:
    """What tells an op without regions from others."""
    return op.name, attributes_of(op.opview), tuple(map(hash, op.operands)), tuple(each.type for each in op.results)


@dataclass
class Part:
    """A repeat of a block as the function `main` of a module."""
    made: Made
    repeat: Repeat
    arguments: list[tuple[tuple[int, ...], int, int]] = field(default_factory=list)
    """What the copies are given: the addresses, and by which use of which op of a copy."""
    results: list[tuple[int, int]] = field(init=False)
    """What they give: which result of which op."""
    lines: list[ir.Location] = field(init=False)
    """Of the first copy."""
    module: ir.Module = field(init=False)
    function: ir.Operation = field(init=False)

    def __post_init__(self) -> None:
        ops, repeat = self.made.ops, self.repeat
        self.results = results_used_outside(ops, repeat)
        self.lines = self._lines(repeat.start)
        types, inputs, constants = [], [], []
        for addresses, uses in given(ops, repeat).items():
            place, number = self._place(uses[0])
            value = self.made.value(addresses[0], repeat.start + place, number)
            if len(set(addresses)) == 1 and self._constant(value):
                constants.append((uses, value))
            else:
                self.arguments.append((addresses, place, number))
                types.append(value.type)
                inputs.append(uses)
        outputs = [ops.views[repeat.start + place].operation.results[number].type for place, number in self.results]
        self.module = ir.Module.create()
        with ir.InsertionPoint(self.module.body):
            made = func_dialect.FuncOp("main", ir.FunctionType.get(types, outputs))
        self.function = made.operation
        block = made.add_entry_block()
        outside = {use: value for uses, value in zip(inputs, block.arguments, strict=True) for use in uses}
        inner: dict[int, ir.Value] = {}
        with ir.InsertionPoint(block):
            for uses, value in constants:
                outside.update(dict.fromkeys(uses, self._copied(value, {})))
            for place in range(repeat.length):
                self._copy_op(place, inner, outside)
            func_dialect.ReturnOp([inner[hash(ops.views[repeat.start + place].operation.results[number])]
                                   for place, number in self.results])

    def _place(self, use: int) -> tuple[int, int]:
        """Of the uses of a copy: by which op, and which of its uses."""
        ops, start = self.made.ops, self.repeat.start
        user = int(ops.users[ops.first[start] + use])
        return user - start, int(ops.first[start] + use - ops.first[user])

    def _constant(self, value: ir.Value, depth: int = 4) -> bool:
        """Whether a value is computed from constants alone, by few ops."""
        owner = value.owner
        return (depth > 0 and not isinstance(owner, ir.Block) and not len(owner.regions) and len(owner.operands) <= 3
                and pure(owner.operation) and all(self._constant(operand, depth - 1) for operand in owner.operands))

    def _copied(self, value: ir.Value, inner: dict[int, ir.Value]) -> ir.Value:
        """A copy of what computes a value from constants; the copies will find the value itself."""
        op = value.owner.operation
        operands = [self._copied(operand, inner) for operand in op.operands]
        self.made.invariant.setdefault(key_of(op), op)
        copy = modules.clone_with(op, dict(zip(op.operands, operands, strict=True)))
        return copy.results[[hash(each) for each in op.results].index(hash(value))]

    def _copy_op(self, place: int, inner: dict[int, ir.Value], outside: dict[int, ir.Value]) -> None:
        """Copy an op of the first copy, or put a hole there. What it uses: `inner` by the address of what a copy makes,
        `outside` by the use (one value may be two for the other copies)."""
        ops, index = self.made.ops, self.repeat.start + place
        op = ops.views[index].operation
        begin, first, end = (int(ops.first[each]) for each in (self.repeat.start, index, index + 1))
        used = [outside[use - begin] if use - begin in outside else inner[ops.used[use]] for use in range(first, end)]
        if place in self.repeat.holes:
            copy = ir.Operation.create(
                "stablehlo.custom_call", results=[result.type for result in op.results], operands=used,
                attributes={"call_target_name": attr.string(HOLE), "has_side_effect": attr.boolean(False),
                            PLACE: attr.integer(place)}).operation
        else:
            copy = clone_using(op, used)
        inner.update(zip(map(hash, op.results), copy.results, strict=True))

    # ---- back in the block ----------------------------------------------------------------------------------------

    def boundary(self) -> list[ir.Value]:
        """The values of the function of which more is known in the block."""
        block = self.function.regions[0].blocks[0]
        return [*block.arguments, *(result for op in modules.ops_called("stablehlo.custom_call", self.function)
                                    if PLACE in op.attributes for result in op.results)]

    def put_back(self, known: Known | None) -> None:
        """Put the function in place of every copy."""
        made, repeat = self.made, self.repeat
        anchor = made.ops.views[repeat.start].operation
        self._take_out_invariant(anchor, known)
        for number, start in enumerate(repeat.starts):
            self._put(number, start, known)
        self.function.erase()

    def _take_out_invariant(self, anchor: ir.Operation, known: Known | None) -> None:
        """Move the ops that are the same for all copies to where the copies will be; the function uses them there."""
        made = self.made
        block = self.function.regions[0].blocks[0]
        same: set[int] = set()
        for argument, (addresses, place, number) in zip(block.arguments, self.arguments, strict=True):
            if len(set(addresses)) == 1:
                value = made.value(addresses[0], self.repeat.start + place, number)
                if known:
                    known.stands_for[hash(argument)] = hash(value)
                argument.replace_all_uses_with(value)
                same.add(hash(value))
        for view in list(block)[:-1]:
            op = view.operation
            if not same.issuperset(map(hash, op.operands)) or len(op.regions) or PLACE in op.attributes or not pure(op):
                continue
            key = key_of(op)
            before = made.invariant.get(key)
            if before is None:
                made.invariant[key] = before = op
                if not made.moved_to_front(op):
                    op.move_before(anchor)
                if known:
                    known.keep(view)
            else:
                for old, new in zip(op.results, before.results, strict=True):
                    if known:
                        known.stands_for[hash(old)] = hash(new)
                    old.replace_all_uses_with(new)
                if known:
                    known.drop(op)
                op.erase()
            same.update(map(hash, before.results))
        if known:
            known.finish()

    def _put(self, number: int, start: int, known: Known | None) -> None:
        made, ops, length = self.made, self.made.ops, self.repeat.length
        anchor = ops.views[start].operation
        clone = self.function.clone(ip=False).operation
        block = clone.regions[0].blocks[0]
        for argument, (addresses, place, use) in zip(block.arguments, self.arguments, strict=True):
            argument.replace_all_uses_with(made.value(addresses[number], start + place, use))
        views = list(block)
        for view in views[:-1]:
            view.operation.move_before(anchor)
        terminator = views[-1].operation
        copies = flat(views[:-1])
        filled = self._fill(start, copies) if self.repeat.holes else set()
        for (place, result), value in zip(self.results, list(terminator.operands), strict=True):
            old = ops.views[start + place].operation.results[result]
            made.current[hash(old)] = value
            old.replace_all_uses_with(value)
        terminator.erase()
        self._relocate(start, copies)
        for index in range(start + length - 1, start - 1, -1):
            ops.views[index].operation.erase()
        if known:
            known.hand_on(copies, filled)

    def _lines(self, start: int) -> list[ir.Location]:
        return [view.operation.location for view in self.made.ops.views[start:start + self.repeat.length]]

    def _relocate(self, start: int, copies: list[ir.OpView]) -> None:
        """Say of the ops of a copy that they are where they were, where that is not where the first copy is."""
        lines = self._lines(start)
        if lines == self.lines:
            return
        there = {old.attr: new for old, new in zip(self.lines, lines, strict=True)}
        for view in copies:
            new = there.get(view.operation.location.attr)
            if new is not None:
                view.operation.location = new

    def _fill(self, start: int, copies: list[ir.OpView]) -> set[int]:
        """Put the ops of a copy in place of holes; gives where they are."""
        filled: set[int] = set()
        for number, view in enumerate(copies):
            if view.operation.name != "stablehlo.custom_call" or PLACE not in view.attributes:
                continue
            hole = view.operation
            op = self.made.ops.views[start + hole.attributes[PLACE].value].operation
            with ir.InsertionPoint(hole):
                copy = clone_using(op, list(hole.operands))
            for old, new in zip(hole.results, copy.results, strict=True):
                old.replace_all_uses_with(new)
            hole.erase()
            copies[number] = copy.opview
            filled.add(number)
        return filled
