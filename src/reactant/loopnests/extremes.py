"""Reductions to the greatest (least) number that pass NaN over: what is -inf (inf) in place of NaN is reduced instead.

Their regions compare and choose, which no vectoriser takes for a maximum: rows of 500 numbers took 3 times as long.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from reactant.loopnests.graph import Block, Node, added, combining, decoded

COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "EQ": operator.eq, "NE": operator.ne, "LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge}
DECIDED: dict[str, Callable[..., Any]] = {
    "and": operator.and_, "or": operator.or_, "not": operator.not_, "select": lambda p, x, y: x if p else y}
NUMBERS = [1.0, 2.0, math.nan]
"""A region that only compares its arguments and chooses is known by what it does with these."""


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
    for kind, better in (("maximum", max), ("minimum", min)):
        if all(_same(_decided(body, pair), _of_numbers(pair, better)) for pair in product(NUMBERS, NUMBERS)):
            return kind
    return None


def _of_numbers(pair: tuple[float, float], better: Callable[..., float]) -> float:
    return better((v for v in pair if v == v), default=math.nan)


def _same(x: Any, y: float) -> bool:
    return x is not None and (x == y or x != x and y != y)


def _decided(body: Block, arguments: tuple[float, float]) -> Any:
    """What a region gives; None where it does more than to compare and to choose."""
    known: dict[Node, Any] = dict(zip(body.arguments, arguments, strict=True))
    for node in body.nodes:
        compares = node.kind == "compare" and set(node.operands) <= set(body.arguments)
        does = COMPARED[decoded(node, "comparison_direction")] if compares else DECIDED.get(node.kind)
        if does is None or not all(o in known for o in node.operands):
            return None
        known[node] = does(*(known[o] for o in node.operands))
    return known.get(body.returned[0])
