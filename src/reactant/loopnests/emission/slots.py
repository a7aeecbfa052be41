"""Where the arrays that a loop carries begin."""
from __future__ import annotations

from collections.abc import Sequence

from reactant.loopnests.analysis.graph import Node
from reactant.loopnests.emission.carried import Slot
from reactant.loopnests.emission.elements import Buffer
from reactant.loopnests.emission.emitter import Emitter
from reactant.loopnests.emission.roots import Root
from reactant.loopnests.emission.rows import place_rows


def place_slots(compiler: Emitter, node: Node, slots: Sequence[Slot], destinations: dict[Node, Buffer]) -> None:
    """A buffer for each carried array, with its first content."""
    inner = set(compiler.behind(used for block in node.blocks for used in block.uses()))
    results = list(destinations.values())
    for slot in slots:
        slot.buffer = None
    in_rows = [slots[k] for rows in compiler.rows.get(node, ()) for k in (rows.array, rows.kept)]
    for rows in compiler.rows.get(node, ()):
        place_rows(compiler, rows, slots)
    for slot in slots:
        if not slot.init.shape or slot in in_rows:
            continue
        buffer = compiler.e.storage.get(slot.init)
        if slot.invariant:
            if buffer is None:
                buffer = compiler.scratch(slot.init.dtype, slot.init.size)
                compiler.copy(slot.init, buffer)
            slot.buffer = buffer
            continue
        alone = sum(s.init is slot.init for s in slots) == 1 and slot.init not in inner
        if buffer is not None and alone and destinations.get(slot.result, buffer) is buffer \
                and compiler.may_overwrite(buffer) and not any(s.buffer is buffer for s in slots) \
                and not (slot.rotates and any(r is buffer for r in results)):
            slot.buffer = buffer
        elif slot.rotates:
            # a result's own memory does not change places: copied there last, it could hold another array by then
            slot.buffer = compiler.scratch(slot.init.dtype, slot.init.size)
            compiler.begin(slot.init, slot.buffer)
        else:
            slot.buffer = compiler._target(slot.result, Root(slot.result, "map", slot.init.shape), destinations)
            compiler.begin(slot.init, slot.buffer)
