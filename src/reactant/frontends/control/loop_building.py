"""The `stablehlo.while` of a loop: of the blocks that an attempt has traced, with what iterations change carried."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.frontends.control import loop_conditions
from reactant.frontends.control.loop_carried import Slot
from reactant.frontends.control.loop_state import LoopState
from reactant.ir import modules, ops


def build(loop: LoopState, scratch: ir.Operation) -> None:
    """Make the op of what an attempt has traced."""
    drop_invariant(loop)
    blocks = scratch.regions[0].blocks[0], scratch.regions[1].blocks[0]
    with ir.InsertionPoint(loop.block):
        ops.create("stablehlo.return", [], [s.after for s in loop.slots])
    op = ops.create("stablehlo.while", [s.init.type for s in loop.slots], [s.init for s in loop.slots], regions=2)
    for region, block in zip(op.regions, reversed(blocks), strict=True):
        block.append_to(region)
    if loop.policy:
        op.attributes[modules.LOOP_POLICY] = ir.StringAttr.get(loop.policy)
    loop_conditions.stop_after_failure(loop, op)
    for slot, result in zip(loop.slots, op.results, strict=True):
        slot.result = result


def drop_invariant(loop: LoopState) -> None:
    """Values that an iteration leaves as they are need not be carried."""
    while True:
        kept: list[Slot] = []
        dropped: list[int] = []
        for position, slot in enumerate(loop.slots):
            if slot.after is None or slot.after in (slot.body, slot.init):
                dropped.append(position)
            else:
                kept.append(slot)
        if not dropped:
            return
        for position in dropped:
            slot = loop.slots[position]
            for other in kept:
                if other.after == slot.body:
                    other.after = slot.init
            slot.body.replace_all_uses_with(slot.init)
            slot.test.replace_all_uses_with(slot.init)
            slot.result = slot.init
        for position in reversed(dropped):
            slot = loop.slots[position]
            slot.body.owner.erase_argument(position)
            slot.test.owner.erase_argument(position)
        loop.slots = kept
