"""Marks for profiles: which steps of a function are clocked, and what each of them does for which lines of the program.

A nest of loops is clocked as a whole. Where it computes for several lines, its time is divided among them by the
operations that it does for each, weighed by what they cost; so is what is left of a loop's time when the steps inside
that are clocked have theirs. Steps of little work are not clocked, since two looks at the clock take as long.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, Protocol

from reactant.loopnests.analysis.graph import Node
from reactant.loopnests.emission.keeping import results_of
from reactant.loopnests.emission.roots import Step
from reactant.loopnests.emission.writer import Writer
from reactant.native import clocks
from reactant.native.clocks import BEGIN, END, ONCE, Site
from reactant.support.records import dataclass

LEAST = 2000.0
"""Weighed operations from which a step is clocked. In the fastest code they take 0.16 us, two looks at the clock 0.015
(a stencil on 300 elements, 900 of them: 0.073 us an iteration, clocked 0.088; on 5,000: 1.05, 1.08)."""
SPECIAL = frozenset((
    "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "sine", "cosine", "tan", "tanh", "power",
    "atan2", "cbrt", "erf", "erf_inv", "lgamma", "digamma", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh",
    "atanh", "remainder"))
"""What takes as long as ten additions."""
MOVING = frozenset((
    "broadcast_in_dim", "reshape", "transpose", "slice", "concatenate", "pad", "reverse", "gather", "dynamic_slice",
    "dynamic_update_slice", "convert", "copy", "real", "imag", "complex", "iota", "select", "bitcast_convert"))
PARTS = frozenset(("slice", "dynamic_slice", "gather"))
DEAR, LIGHT = 10.0, 0.25
"""What an element of SPECIAL and of MOVING weighs."""


@dataclass
class Measured:
    """What of a function is clocked: the sites around what is being written, and whether there is any."""

    around: list[Site] = field(default_factory=list)
    used: bool = False


class Emitter(Protocol):
    """Who writes a function: where its text goes, and which values are in memory or numbers."""

    w: Writer
    e: Any
    measured: Measured


@contextmanager
def function(compiler: Emitter, name: str) -> Iterator[None]:
    """All of a function."""
    if not clocks.recording():
        yield
        return
    found = compiler.measured
    found.used = True
    with _around(compiler, clocks.new_site(name)):
        yield


@contextmanager
def step(compiler: Emitter, steps: Sequence[Step]) -> Iterator[None]:
    """A step that is being written, or several whose loops go together."""
    around = compiler.measured.around
    if not around:
        yield
        return
    site = described(compiler, steps, around[-1])
    loop = any(root.node.kind in ("while", "if", "case") for each in steps for root in each.roots)
    weight = sum(site.lines.values())
    if not loop and weight < LEAST:
        add(around[-1], site)
        yield
        return
    with _around(compiler, site):
        yield
    for node in [root.node for each in steps for root in each.roots if root.node.kind == "while"]:
        if site.iterations is None:          # written in a way of its own, strip by strip say: all of it is one nest
            _add_inside(site, node, float(node.iterations or 1))


def _add_inside(site: Site, loop: Node, times: float) -> None:
    """Count what the blocks of a loop do, so often."""
    for node in [node for block in loop.blocks for node in block.nodes]:
        if node.blocks and node.kind in ("while", "if", "case"):
            _add_inside(site, node, times * float(node.iterations or 1))
        elif node.kind not in ("constant", "result"):
            flops, special, weight = _work(node)
            site.flops += times * flops
            site.special += times * special
            line = node.line or loop.line
            site.lines[line] = site.lines.get(line, 0.0) + times * weight
    site.bytes += sum(r.nbytes for r in loop.results if r.shape)


@contextmanager
def _around(compiler: Emitter, site: Site) -> Iterator[None]:
    compiler.w.line(clocks.mark(site.number, BEGIN))
    compiler.measured.around.append(site)
    try:
        yield
    finally:
        compiler.measured.around.pop()
    compiler.w.line(clocks.mark(site.number, END))


def iteration(compiler: Emitter) -> None:
    """The body of the innermost loop begins."""
    if compiler.measured.around:
        site = compiler.measured.around[-1]
        if site.iterations is None:
            site.iterations = clocks.new_number()
        compiler.w.line(clocks.mark(site.iterations, ONCE))


def add(site: Site, other: Site) -> None:
    """Count what a step does as done by the one around it."""
    for line, weight in other.lines.items():
        site.lines[line] = site.lines.get(line, 0.0) + weight
    site.flops += other.flops
    site.special += other.special
    site.bytes += other.bytes


def described(compiler: Emitter, steps: Sequence[Step], around: Site) -> Site:
    """What steps do, as far as it is not in memory yet."""
    site = clocks.new_site("", around.number)
    kinds: dict[str, int] = {}
    made: set[Node] = set()
    read: dict[Node, float] = {}
    for each in steps:
        for root in each.roots:
            _node(compiler, root.node, root.node.line, site, made, read, kinds)
            written = root.node.operands[1:2] if root.kind == "update" else results_of(root.node)
            site.bytes += sum(n.nbytes for n in written if root.node.kind not in ("while", "if", "case"))
    site.bytes += sum(part for node, part in read.items() if node not in made)
    site.name = ", ".join(kind + (f" x{count}" if count > 1 else "") for kind, count in sorted(
        kinds.items(), key=lambda item: (item[0] in MOVING, -item[1])))
    return site


def _node(compiler: Emitter, root: Node, line: str, site: Site, made: set[Node], read: dict[Node, float],
          kinds: dict[str, int]) -> None:
    """Count a root and what is computed for it alone."""
    stored, bound = compiler.e.storage, compiler.e.bound
    stack, first = [(root, line, root.nbytes)], True
    while stack:
        node, line, wanted = stack.pop()
        if not first and (node in stored or node in bound or node.kind in ("argument", "result")):
            read[node] = min(float(node.nbytes), read.get(node, 0.0) + wanted)
            continue
        first = False
        if node in made or node.kind == "constant":
            continue
        made.add(node)
        line = node.line or line
        kinds[node.kind] = kinds.get(node.kind, 0) + 1
        if node.kind in ("while", "if", "case"):
            site.lines.setdefault(line, 1e-9)
            continue
        flops, special, weight = _work(node)
        site.flops += flops
        site.special += special
        site.lines[line] = site.lines.get(line, 0.0) + weight
        stack += [(o, line, node.nbytes if node.kind in PARTS else o.nbytes) for o in node.operands]


def _work(node: Node) -> tuple[float, float, float]:
    """Operations, special functions and the weight of computing a value once."""
    count = float(node.size)
    if node.kind in ("reduce", "reduce_window", "scatter"):
        taken = node.operands[0 if node.kind == "reduce" else -1]
        count = float(max(taken.size, node.size))
        if node.kind == "reduce_window":
            count = float(sum(r.size for r in results_of(node)))
    elif node.kind == "dynamic_update_slice":
        count = float(node.operands[1].size)
    if node.kind in SPECIAL:
        return 0.0, count, DEAR * count
    if node.kind in MOVING:
        return 0.0, 0.0, LIGHT * count
    return count, 0.0, count
