"""Loops that keep what an array was before every iteration: the array lives in the rows that are kept.

    while t < n:  kept[t] = x;  x = f(x)          f writes row t + 1 from row t

The forward run of a gradient keeps its states like this. A copy an iteration is saved, and the memory of a second
version. """
from __future__ import annotations

from collections.abc import Sequence

from reactant.loopnests.analysis.graph import Block, Node
from reactant.loopnests.emission.affine import ZERO, Affine
from reactant.loopnests.emission.carried import Rows, Slot, step_of
from reactant.loopnests.emission.elements import Buffer
from reactant.loopnests.emission.emitter import Emitter
from reactant.loopnests.emission.numbers import ELEMENTWISE

COMPUTED = ELEMENTWISE | {"dynamic_update_slice", "pad", "concatenate"}
"""Ops whose results are written element by element, where they are wanted."""


def find_rows(compiler: Emitter, node: Node, slots: Sequence[Slot], destinations: dict[Node, Buffer]) -> None:
    """Note the arrays of a loop that live in rows, and take what puts them there out of the body. (Rows that have a
    destination are not memory of ours; whether there is more than they need is not known.)"""
    if node in compiler.rows:
        return
    found: list[Rows] = []
    for number, slot in enumerate(slots):
        made = _found(compiler, slots, number) if slot.init.unset and slot.result not in destinations else None
        if made is not None and all(made.array != other.array for other in found):
            found.append(made)
    compiler.rows[node] = found
    for each in found:
        _leave_out(node.blocks[1], slots[each.kept])


def _found(compiler: Emitter, slots: Sequence[Slot], number: int) -> Rows | None:
    kept = slots[number]
    update = kept.returned
    if update.kind != "dynamic_update_slice" or update.operands[0] is not kept.argument or update.users \
            or kept.argument.users != [update] or kept.condition_argument.users or not kept.argument.size:
        return None
    body = update.block
    row, first, rest = update.operands[1], update.operands[2], update.operands[3:]
    value = row.operands[0] if row.kind == "reshape" else row
    counter = next((k for k, s in enumerate(slots) if s.argument is first), None)
    array = next((k for k, s in enumerate(slots) if s.argument is value), None)
    if counter is None or array is None or step_of(slots[counter]) != 1 or slots[counter].init.splat != 0 \
            or row.shape != (1, *kept.argument.shape[1:]) or any(start.splat != 0 for start in rest):
        return None
    slot, limits = slots[array], compiler.ranges.get(first)
    same = [s for s in slots if slot.returned in (s.returned, s.argument)]
    if limits is None or limits[1] >= kept.argument.shape[0] or len(same) != 1 or slot.returned.block is not body \
            or slot.returned.kind not in COMPUTED or any(s.returned is slot.argument for s in slots) \
            or not slot.init.shape or body is None or body.returned.count(update) != 1:
        return None
    return Rows(array, number, counter)


def _leave_out(body: Block, kept: Slot) -> None:
    """The rows are not written by the body any more."""
    update = kept.returned
    body.returned = [kept.argument if v is update else v for v in body.returned]
    kept.returned = kept.argument
    gone = [update]
    while gone:
        node = gone.pop()
        body.nodes.remove(node)
        for operand in dict.fromkeys(node.operands):
            operand.users = [u for u in operand.users if u is not node]
            if operand.kind == "reshape" and operand.block is body and not operand.users \
                    and operand not in body.returned:
                gone.append(operand)


def part(rows: Rows, slots: Sequence[Slot], row: Affine, **known: object) -> Buffer:
    """One of the rows as a buffer."""
    init, memory = slots[rows.array].init, rows.memory
    assert memory is not None
    return Buffer(memory.name, init.dtype, init.size, offset=row.times(init.size), whole=memory.size, backing=(memory,),
                  **known)  # type: ignore[arg-type]


def place_rows(compiler: Emitter, rows: Rows, slots: Sequence[Slot]) -> None:
    """Memory for the rows and one more, and the first row."""
    array, kept = slots[rows.array], slots[rows.kept]
    rows.memory = compiler.scratch(kept.init.dtype, kept.init.size + array.init.size)
    compiler.begin(array.init, part(rows, slots, ZERO, level=compiler.w.depth))


def enter_rows(compiler: Emitter, rows: Rows, slots: Sequence[Slot], before: bool) -> None:
    """The array in a region: the row of this iteration, which nothing writes."""
    counter, array = slots[rows.counter], slots[rows.array]
    iteration = compiler.e.at(counter.condition_argument if before else counter.argument, ()).affine
    assert iteration is not None
    compiler.e.storage[array.condition_argument if before else array.argument] = part(
        rows, slots, iteration, level=compiler.w.depth, writable=False)


def next_row(compiler: Emitter, rows: Rows, slots: Sequence[Slot], body: Block) -> Buffer:
    """Where the array is after this iteration."""
    iteration = compiler.e.at(slots[rows.counter].argument, ()).affine
    assert iteration is not None
    return part(rows, slots, iteration + 1, level=compiler.w.depth, home=body)


def leave_rows(compiler: Emitter, rows: Rows, slots: Sequence[Slot]) -> None:
    """After the loop: the array is the last row, and the rows are what they were to be."""
    kept, array, memory = slots[rows.kept], slots[rows.array], rows.memory
    assert memory is not None
    memory.version += 1
    memory.level = level = compiler.w.depth
    compiler.e.storage[kept.result] = Buffer(
        memory.name, memory.dtype, kept.init.size, whole=memory.size, backing=(memory,), level=level,
        version=memory.version, writable=False)
    iterations = compiler.e.at(slots[rows.counter].result, ()).affine
    assert iterations is not None
    compiler.e.storage[array.result] = part(rows, slots, iterations, level=level, version=memory.version,
                                            writable=False)
