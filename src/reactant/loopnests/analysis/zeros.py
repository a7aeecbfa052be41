"""Which values are -0.0 nowhere: 0.0 is added to these without effect, as gradients do outside of a window.

x + y is -0.0 only where both are, so that what sums up from 0.0 never is.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from reactant.loopnests.analysis.graph import Node

NEVER = {"abs", "exponential", "logistic"}
"""Ops that never give -0.0."""
TAKEN_FROM = {"reshape": 1, "broadcast_in_dim": 1, "slice": 1, "dynamic_slice": 1, "transpose": 1, "reverse": 1,
              "gather": 1, "dynamic_update_slice": 2, "pad": 2}
"""Ops whose elements are those of so many operands."""
MOST = 200
"""Values that are looked at for one answer."""


class Zeros:
    """Answers for the values of a function. What a loop carries is taken to be so until that is disproved."""

    def __init__(self) -> None:
        self.known: dict[Node, bool] = {}

    def unsigned(self, node: Node) -> bool:
        """Whether no element is -0.0."""
        found = self.known.get(node)
        if found is None:
            assumed: set[Node] = set()
            found = self.known[node] = self._is(node, assumed)
            if found:
                self.known |= dict.fromkeys(assumed, True)
        return found

    def _is(self, node: Node, assumed: set[Node]) -> bool:
        """The same; `assumed`: what it hangs on, if it is true."""
        if node in self.known:
            return self.known[node]
        if node in assumed:
            return True
        if len(assumed) > MOST:
            return False
        assumed.add(node)
        if node.kind == "constant":
            return node.value is not None and not _any_negative(node.value if node.splat is None else node.splat)
        if node.kind == "add":
            return any(self._tried(o, assumed) for o in node.operands)
        return node.kind in NEVER or all(self._is(o, assumed) for o in made_of(node) or (OTHER,))

    def _tried(self, node: Node, assumed: set[Node]) -> bool:
        """The same, of which nothing is left where it is not so."""
        own = set(assumed)
        if not self._is(node, own):
            return False
        assumed |= own
        return True


OTHER = Node("other")
"""A value of which nothing is known."""


def _any_negative(value: Any) -> bool:
    parts = (np.real(value), np.imag(value)) if np.iscomplexobj(value) else (np.asarray(value),)
    return any(bool(np.any((part == 0) & np.signbit(part))) for part in parts)


def made_of(node: Node) -> list[Node]:
    """Values such that a value has only elements of theirs, or sums of these; none where that is not known."""
    if node.kind in TAKEN_FROM:
        return list(node.operands[:TAKEN_FROM[node.kind]])
    if node.kind in ("select", "concatenate"):
        return list(node.operands[node.kind == "select":])
    if node.kind in ("reduce", "scatter") and len(node.blocks[0].returned) == 1:
        body = node.blocks[0]
        adds = body.returned[0].kind == "add" and set(body.returned[0].operands) == set(body.arguments)
        if node.kind == "reduce":
            return [node.operands[1]] if adds and len(node.operands) == 2 else []
        return [node.operands[0]] if adds else [node.operands[0], node.operands[2]] \
            if body.returned[0] is body.arguments[1] else []
    if node.kind == "result":
        return _carried(node.operands[0], node.index)
    owner = node.block.owner if node.kind == "argument" and node.block is not None else None
    if owner is not None and owner.kind == "while" and node.block is owner.blocks[1]:
        return _carried(owner, node.block.arguments.index(node))
    return []


def _carried(owner: Node, index: int) -> list[Node]:
    """What a result of a loop or a branch is, or what a loop carries."""
    if owner.kind == "while":
        return [owner.operands[index], owner.blocks[1].returned[index]]
    return [block.returned[index] for block in owner.blocks] if owner.kind in ("if", "case") else []
