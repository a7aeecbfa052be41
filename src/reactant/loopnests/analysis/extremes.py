"""Reductions to the greatest (least) number that pass NaN over: what is -inf (inf) in place of NaN is reduced instead.

Their regions compare and choose, which no vectoriser takes for a maximum: rows of 500 numbers took 3 times as long.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from reactant.ir.extremes import CHOICES, extreme_of
from reactant.ir.ops import COMPARISONS
from reactant.loopnests.analysis.graph import Block, Node, added, combining, decoded


def without_nan(block: Block) -> None:
    """Rewrite such reductions of a block, and of the blocks inside."""
    for node in list(block.nodes):
        for inner in node.blocks:
            without_nan(inner)
        if node.kind == "reduce" and len(node.operands) == 2 and node.dtype.kind == "f":
            _rewrite(node, block)


def _rewrite(node: Node, block: Block) -> None:
    x, start = node.operands
    kind = _extreme(node.blocks[0])
    if kind is None or start.splat is None or np.isnan(start.splat):
        return
    worst = -math.inf if kind == "maximum" else math.inf
    place = block.nodes.index(node)
    behind, block.nodes[place:] = block.nodes[place:], []
    nothing = added(block, "constant", (), x.shape, x.dtype)
    nothing.value = np.broadcast_to(np.array(worst, x.dtype), x.shape)
    missing = added(block, "compare", [x, x], x.shape, np.dtype(bool), comparison_direction="NE")
    given = added(block, "select", [missing, nothing, x], x.shape, x.dtype)
    block.nodes += behind
    x.users.remove(node)
    given.users.append(node)
    node.operands = (given, start)
    node.blocks = [combining(node, kind, node.dtype)]


def _extreme(body: Block) -> str | None:
    """"maximum" or "minimum" where a region gives that of two numbers, or the one that is a number."""
    if len(body.arguments) != 2 or len(body.returned) != 1:
        return None
    return extreme_of(lambda *pair: _decided(body, pair))


def _decided(body: Block, arguments: tuple[float, float]) -> Any:
    """What a region gives; None where it does more than to compare and to choose."""
    known: dict[Node, Any] = dict(zip(body.arguments, arguments, strict=True))
    for node in body.nodes:
        compares = node.kind == "compare" and set(node.operands) <= set(body.arguments)
        does: Any = COMPARISONS[decoded(node, "comparison_direction")] if compares else CHOICES.get(node.kind)
        if does is None or not all(o in known for o in node.operands):
            return None
        known[node] = does(*(known[o] for o in node.operands))
    return known.get(body.returned[0])
