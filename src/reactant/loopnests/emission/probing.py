"""Elements that are written on trial: what a root makes of them, at an index of symbols."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reactant.loopnests.emission.affine import ZERO, Affine, here, linear
from reactant.loopnests.emission.elements import Elements, Flat
from reactant.loopnests.emission.keeping import results_of
from reactant.loopnests.emission.numbers import Number
from reactant.loopnests.emission.roots import Root
from reactant.loopnests.emission.writer import Writer


def probing(writer: Writer, shape: Iterable[int]) -> tuple[Affine, ...]:
    """The index of a nest on trial, whose counters become known."""
    for k, extent in enumerate(shape):
        writer.define(f"%d{k}", 0)
        writer.facts.ranges[f"%d{k}"] = (0, max(extent - 1, 0))
    return here(shape)


def computed(elements: Elements, root: Root, index: Any) -> list[Number]:
    """What a root computes at an index."""
    node = root.node
    if root.kind == "scalar":
        return [elements.compute(node, (ZERO,) * len(node.shape))]
    if root.kind == "map":
        return [elements.compute(node, index if root.shape == node.shape else Flat(linear(index, root.shape)))]
    operands = node.operands[1:2] if root.kind == "update" else node.operands[:len(results_of(node))]
    return [elements.at(o, index) for o in operands]
