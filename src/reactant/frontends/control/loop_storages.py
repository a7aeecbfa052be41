"""Which arrays a loop is taken to write: a guess from when it was traced before, and what tracing teaches."""
from __future__ import annotations

from reactant.frontends.arrays.reach import reachable_storages
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.control.branch import Branch
from reactant.frontends.control.loop_state import LoopState


def more(loop: LoopState, branch: Branch) -> bool:
    """Arrays that turned out to be written, or not to be."""
    if not all(s in branch.written for s in loop.expected):
        expect_nothing(loop)
        return True
    loop.expected = []
    new = [s for s in branch.written if s not in loop.storage_slots and branch.preexisting(s)]
    if new:
        reached = reachable_storages(loop.functions)
        if all(s in reached for s in new):
            loop.trace.written_in.setdefault(loop.functions[0].__code__, []).extend(map(reached.index, new))
    loop.storages += new
    return bool(new)


def written_before(loop: LoopState, reached: list[Storage]) -> list[Storage]:
    """Arrays of known content that this loop wrote when it was traced before: it will write them again, which is made
    sure of (`more`)."""
    places = loop.trace.written_in.get(loop.functions[0].__code__, ()) if loop.functions else ()
    found = dict.fromkeys(reached[place] for place in places if place < len(reached))
    return [s for s in found if type(s) is Storage and s not in loop.storages and not s.constant
            and not s.region.closed]


def expect_nothing(loop: LoopState) -> None:
    """What this loop wrote before does not tell what it writes now."""
    loop.trace.written_in.pop(loop.functions[0].__code__, None)
    loop.storages = [s for s in loop.storages if s not in loop.expected]
    loop.expected = []
