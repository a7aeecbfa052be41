"""Where long blocks are cut into functions of their own.

LLVM takes more than its share of time over long functions: some of its passes look at all of the function again for
each loop. A section that says what another one says (layers of a network, steps written out) is compiled once. Where to
cut follows from what the ops are, so that equal stretches are cut at the same places.
"""
from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import field

from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.native import layout
from reactant.support.records import dataclass

LONG = 2000
"""Ops from which a block is cut (a perceptron's gradient, 10,500: 13.8 s of LLVM's time, cut 1.1 s)."""
LEAST, MOST = 250, 1000
"""Ops of a section: from LEAST on it ends before an op of one in ONE_IN kinds, from MOST on before any."""
ONE_IN = 4
MOST_RESULTS = 16
"""Numbers that a section may hand on; memory it never does."""


@dataclass
class Section:
    """Ops in a row. results: those that are used behind a function of their own; None where they stay where they are.
    """

    ops: list[ir.Operation] = field(default_factory=list)
    results: list[ir.Value] | None = None


def sections(ops: list[ir.Operation], end: ir.Operation) -> Iterator[Section]:
    """The ops of a block before its terminator, in sections."""
    if sum(1 for op in ops if len(op.regions)) < 2:
        yield Section(ops)
        return
    inner = [[op, *modules.walk(op)] for op in ops]
    if sum(map(len, inner)) < LONG:
        yield Section(ops)
        return
    last = _last_uses([*inner, [end, *modules.walk(end)]])
    waiting, weight = Section(), 0
    alive: list[ir.Value] = []

    def handed_on(number: int) -> list[ir.Value]:
        alive[:] = [r for r in alive if last.get(r, -1) >= number]
        return list(alive)
    for number, op in enumerate(ops):
        if op.name == "arith.constant":
            yield Section([op])
            continue
        held = any(layout.is_memref(r.type) for r in op.results)
        if waiting.ops and (held or weight >= MOST or weight >= LEAST and _kind(inner[number]) % ONE_IN == 0):
            waiting.results = handed_on(number)
            if held or len(waiting.results) <= MOST_RESULTS:
                yield waiting
                waiting, weight = Section(), 0
                alive.clear()
        if held:
            yield Section([op])
            continue
        waiting.ops.append(op)
        alive += op.results
        weight += len(inner[number])
    waiting.results = handed_on(len(ops))
    yield waiting


def _last_uses(inner: Iterable[list[ir.Operation]]) -> dict[ir.Value, int]:
    """The number of the last top-level op that uses each value."""
    found: dict[ir.Value, int] = {}
    for number, ops in enumerate(inner):
        for op in ops:
            for value in op.operands:
                found[value] = number
    return found


def _kind(ops: Iterable[ir.Operation]) -> int:
    """A number that depends on what an op and the ops in it are called."""
    return zlib.crc32(" ".join(op.name for op in ops).encode())
