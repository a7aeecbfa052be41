"""A function that is being written, as all that writes loops into it needs it (`control` writes its blocks)."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from reactant.loopnests.analysis.graph import Node, behind
from reactant.loopnests.emission.affine import linear
from reactant.loopnests.emission.carried import Listing, Rows
from reactant.loopnests.emission.counters import Counters
from reactant.loopnests.emission.elements import Buffer
from reactant.loopnests.emission.loop_parts import Target
from reactant.loopnests.emission.measuring import Measured
from reactant.loopnests.emission.nests import Nest
from reactant.loopnests.emission.numbers import Number
from reactant.loopnests.emission.roots import Root
from reactant.loopnests.emission.writer import type_of


class Emitter(Counters):
    """Values as numbers and arrays, and what is known of those that loops carry."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[Node, list[Rows]] = {}
        """The arrays of loops that live in rows which are kept."""
        self.measured = Measured()
        self.lists: dict[Node, Listing] = {}
        """The masks whose places are listed."""

    def bind(self, node: Node, value: Number) -> None:
        """A 0-d value becomes a number; integers become index expressions too."""
        if node.dtype.kind in "iu" and value.affine is None and value.name is not None:
            place = self.a.as_index(value)
            if node in self.ranges:
                self.w.facts.ranges[place.terms[0][0]] = self.ranges[node]
            value = Number(value.dtype, value.name, affine=place)
        self.e.bound[node] = value

    def behind(self, values: Iterable[Node]) -> Iterator[Node]:
        """Values, and what they are computed from where they are not in memory."""
        return behind(values, lambda n: n not in self.e.storage and n not in self.e.bound)

    # ---- numbers that are carried

    def types(self, dtype: np.dtype) -> list[str]:
        return ["f32" if dtype.itemsize == 8 else "f64"] * 2 if dtype.kind == "c" else [type_of(dtype)]

    def numbers(self, node: Node) -> list[Number]:
        value = self.e.at(node, ())
        return list(self.a.halves(value)) if value.dtype.kind == "c" else [value]

    def from_names(self, dtype: np.dtype, names: Any) -> Number:
        if dtype.kind == "c":
            part = np.dtype(f"f{dtype.itemsize // 2}")
            return self.a.pair(Number(part, next(names)), Number(part, next(names)), dtype)
        return Number(dtype, next(names))

    def begin(self, init: Node, buffer: Buffer) -> None:
        """Give a carried array its first content; what is not read before it is written is left out."""
        if init.unset:
            return
        if init.kind == "dynamic_update_slice" and init.operands[0].unset and init not in self.e.storage:
            root = Root(init, "update", init.operands[1].shape)
            starts = self.e.starts(init, init.operands[0], root.shape, 2)
            target = Target([buffer], linear(tuple(starts), init.shape), init.shape)
            Nest(self.e, root.shape, [root], {root: target}, self.scratch, self.parallel).emit()
        else:
            self.copy(init, buffer)
