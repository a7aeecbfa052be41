"""Programs that count on the threads of a warp going in lock step: volatile writes into shared memory, no barriers.

Older reductions end so. Such a write is put between two meetings of the warp: all its threads have read before any
writes, and all have written before any reads again.
"""
from __future__ import annotations

import re

from reactant.cuda_programs.device.text import Function, opcode_of, result_of, uses_of

_MEETING = "call void @reactant.barrier.warp(i32 -1)"
_WRITE = re.compile(r"^store volatile .*, ptr (%[^ ,]+)")


def in_step(function: Function, shared: set[str]) -> None:
    """Put meetings around volatile writes; `shared`: pointers to shared memory."""
    found = set(shared)
    changed = True
    while changed:
        changed = False
        for block in function.blocks.values():
            for line in block:
                name = result_of(line)
                if name is not None and name not in found and opcode_of(line) in ("getelementptr", "phi", "select") \
                        and not found.isdisjoint(uses_of(line)):
                    found.add(name)
                    changed = True
    writes = [line for block in function.blocks.values() for line in block
              if (m := _WRITE.match(line)) and m[1] in found]
    if len(writes) < 2:
        return
    for label, block in function.blocks.items():
        made: list[str] = []
        for line in block:
            if (m := _WRITE.match(line)) and m[1] in found:
                made += [_MEETING, line, _MEETING]
            else:
                made.append(line)
        function.blocks[label] = made
