"""What a mask selects moved together, in order, in one pass: StableHLO counts, and scatters by the counts.

    for i in range(n):  to[k] = x[i];  k += mask[i]
"""
from __future__ import annotations

from collections.abc import Callable

from reactant.loopnests.analysis.graph import Block, Node, decoded
from reactant.loopnests.analysis.last_writes import drop
from reactant.loopnests.analysis.monoids import monoid
from reactant.loopnests.emission.affine import Affine, number, symbol
from reactant.loopnests.emission.buffers import Buffers
from reactant.loopnests.emission.elements import Buffer
from reactant.loopnests.emission.numbers import BOOL, INDEX, Number
from reactant.loopnests.emission.scatter import counter


def note_compactions(block: Block) -> None:
    """Let scatters of a block, and of the blocks inside, that do this be ops of their own: `compaction` of what is
    there, a mask and what moves."""
    for node in list(block.nodes):
        for inner in node.blocks:
            note_compactions(inner)
        if node.kind == "scatter" and node.block is block and (mask := _mask_of(node)) is not None:
            indices = node.operands[1]
            node.kind, node.attributes, node.blocks = "compaction", {}, []
            node.operands = (node.operands[0], mask, node.operands[2])
            mask.users.append(node)
            indices.users.remove(node)
            drop(indices)


def _mask_of(scatter: Node) -> Node | None:
    """The mask whose elements a scatter moves together; None where it does something else."""
    if len(scatter.operands) != 3 or len(scatter.shape) != 1 or scatter.operands[2].shape != scatter.shape \
            or scatter.blocks[0].returned != [scatter.blocks[0].arguments[1]]:
        return None
    numbers, chosen = decoded(scatter, "scatter_dimension_numbers"), scatter.operands[1]
    if tuple(numbers.inserted_window_dims) != (0,) or numbers.index_vector_dim != 1:
        return None
    while chosen.kind == "reshape":
        chosen = chosen.operands[0]
    if chosen.kind != "select" or chosen.shape != scatter.shape:
        return None
    mask, ranks, outside = chosen.operands
    if mask.shape != scatter.shape or outside.splat is None or int(outside.splat) < scatter.size:
        return None
    return mask if ranks.kind == "add" and _counts(ranks.operands[0], ranks.operands[1], mask) else None


def _counts(counts: Node, one: Node, mask: Node) -> bool:
    """Whether these are how many are selected up to each place, and -1."""
    if one.splat is None or int(one.splat) != -1 or counts.kind != "reduce_window" or monoid(counts) != "add" \
            or counts.dtype != INDEX:
        return False
    selected, start = counts.operands
    n = counts.size
    padding = decoded(counts, "padding")
    return selected.kind == "convert" and selected.operands[0] is mask and mask.dtype == BOOL and start.splat == 0 \
        and tuple(decoded(counts, "window_dimensions")) == (n,) and [tuple(p) for p in padding] == [(n - 1, 0)]


def emit_compaction(compiler: Buffers, node: Node, buffer: Buffer) -> None:
    """Write the loop; the result goes to `buffer`."""
    w, e = compiler.w, compiler.e
    before, mask, moved = node.operands
    count = emit_moves(compiler, mask, buffer, number(node.size), lambda k: (k, e.at(moved, (k,))))
    with e.remembering():
        end = compiler.a.as_index(count)
        w.facts.ranges[end.terms[0][0]] = (0, node.size)
        place = counter(compiler, end, number(node.size), (0, node.size - 1))
        e.store(e.at(before, (place,)), buffer, place)
        w.finish()
    buffer.version += 1
    buffer.level = w.depth


def emit_moves(compiler: Buffers, mask: Node, buffer: Buffer, end: Affine,
               element: Callable[[Affine], tuple[Affine, Number]]) -> Number:
    """Write the loop that goes through elements 0 to `end`, `element(k)` being a place in the mask and what moves where
    the mask is true there; how many have been moved."""
    w, e, a = compiler.w, compiler.e, compiler.a
    low, high, one, start = w.index(0), w.affine(end), w.index(1), w.constant(0, INDEX)
    name, count = w.fresh("i"), w.fresh("a")
    w.loop("", (name, count))
    with e.remembering():
        w.facts.ranges[name] = (0, mask.size - 1)
        place, value = element(symbol(name))
        found = a.as_index(Number(INDEX, count))
        w.facts.ranges[found.terms[0][0]] = (0, mask.size - 1)
        e.store(value, buffer, found)
        more = a.convert(e.at(mask, (place,)), INDEX)
        w.line(f"scf.yield {a.name(a.op('arith.addi', (Number(INDEX, count), more), INDEX))} : i64")
    lines, result = w.close(), w.fresh("r")
    lines[0] = f"{result}:1 = scf.for {name} = {low} to {high} step {one} iter_args({count} = {start}) -> (i64) {{"
    w.scopes[-1].lines += [*lines, "}"]
    return Number(INDEX, w.define(f"{result}#0"))
