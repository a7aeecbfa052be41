"""Cutting a program where the elements of an argument have been put in place.

Most programs begin by moving elements: u[2:], cameras[camera_of], x.reshape(n, 3)[:, 0]. After that, elements that were
one column have become several, and a residual that shares its unknowns with others stands alone: D = dy/dz for the
moved values z is often (block) diagonal where dy/dx is not. Every element of dy/dx is a sum of elements of D.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.activity import block_ops
from reactant.differentiate.modes import reverse
from reactant.differentiate.recognised.finished import finish, new_function
from reactant.differentiate.requests import in_all_directions
from reactant.differentiate.structure.structure import Pattern, Structure
from reactant.differentiate.structure.structure_moves import MOVES
from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.splice import copied
from reactant.ir.types import shape_of, size
from reactant.support.records import dataclass

Place = tuple[int, int]
"""A value of a function body: the number of its op (-1: the arguments) and which of its results it is."""


@dataclass(frozen=True)
class Cut:
    """The moved values, which element of the argument each of their elements is (all of them together), and the pattern
    of the result in them."""

    places: tuple[Place, ...]
    elements: np.ndarray
    pattern: Pattern

    def folded(self, inputs: int) -> tuple[Pattern, np.ndarray]:
        """The pattern in the argument, and for each entry of this pattern its place among those."""
        from scipy import sparse
        rows = np.repeat(np.arange(self.pattern.shape[0]), np.diff(self.pattern.indptr))
        keys = rows * inputs + self.elements[self.pattern.indices]
        found, place = np.unique(keys, return_inverse=True)
        pointers = np.searchsorted(found, np.arange(self.pattern.shape[0] + 1) * inputs)
        pattern = sparse.csr_array((np.ones(len(found), bool), found % inputs if inputs else found, pointers),
                                   shape=(self.pattern.shape[0], inputs))
        return pattern, place


def cut(module: ir.Module, argument: int, result: int, known: Mapping[int, np.ndarray]) -> Cut | None:
    """Where the elements of one argument of `main` are in place. None where it is read as it is: nothing is gained."""
    with building():
        block = modules.function(module).regions[0].blocks[0]
        body, returned = block_ops(block)
        first = Structure(size(shape_of(block.arguments[argument])))
        first.known.update({block.arguments[i]: np.asarray(v) for i, v in known.items() if i != argument})
        first.run(body)
        moved, places = _moved_values(block, argument, first.known)
        ends = _ends(body, returned, moved)
        if not ends or block.arguments[argument] in ends:
            return None
        where = tuple(places[v] for v in ends)
        second = Structure(sum(size(shape_of(v)) for v in ends))
        second.known = first.known
        start = 0
        for v in ends:
            count = size(shape_of(v))
            second.depends[v] = second.identity()[start:start + count]
            start += count
        second.run([op for op in body if not any(r in moved for r in op.results)])
        pattern = second.depends.get(returned[result])
        elements = np.concatenate([moved[v].reshape(-1) for v in ends])
        return Cut(where, elements, second.empty(size(shape_of(returned[result]))) if pattern is None else pattern)


def _moved_values(block: ir.Block, argument: int, known: Mapping[ir.Value, np.ndarray]
                  ) -> tuple[dict[ir.Value, np.ndarray], dict[ir.Value, Place]]:
    """The values all of whose elements are elements of the argument: which, and where they are computed."""
    start = block.arguments[argument]
    moved = {start: np.arange(size(shape_of(start))).reshape(shape_of(start))}
    places: dict[ir.Value, Place] = {start: (-1, argument)}
    for number, op in enumerate(block_ops(block)[0]):
        move = MOVES.get(op.name.split(".", 1)[1])
        made = None if move is None or not any(x in moved for x in op.operands) else move(op, known)
        if made is None:
            continue
        numbers, ids = made
        used = np.unique(ids)
        sizes = [size(shape_of(op.operands[n])) for n in numbers]
        starts = np.cumsum([0, *sizes])
        read = [k for k in range(len(numbers)) if np.any((used >= starts[k]) & (used < starts[k + 1]))]
        if all(op.operands[numbers[k]] in moved for k in read):
            values = [moved.get(op.operands[n], np.zeros(s, np.int64)).reshape(-1)
                      for n, s in zip(numbers, sizes, strict=True)]
            moved[op.result] = np.concatenate(values)[ids]
            places[op.result] = (number, 0)
    return moved, places


def _ends(body: Sequence[ir.Operation], returned: Sequence[ir.Value], moved: Mapping[ir.Value, Any]) -> list[ir.Value]:
    """The moved values that something else than a move reads, in order."""
    found: dict[ir.Value, None] = {}
    for op in body:
        if not any(r in moved for r in op.results):
            read = [*op.operands, *modules.captured(op)] if len(op.regions) else list(op.operands)
            found.update(dict.fromkeys(v for v in read if v in moved))
    found.update(dict.fromkeys(v for v in returned if v in moved))
    return list(found)


def pulled_to(module: ir.Module, places: Sequence[Place], result: int, count: int, others: Sequence[int] = ()
              ) -> ir.Module:
    """A module whose `main` takes the arguments of `module` and `count` cotangents of one result, and gives those of
    the values at `places`, each with `count` in front; then `others` among the results of `module`."""
    with building():
        opened = _opened(module, places)
        block = modules.function(opened).regions[0].blocks[0]
        inputs = len(block.arguments) - len(places)
        backward = reverse.vjp(opened, range(inputs, len(block.arguments)), [result])
        backward = in_all_directions(backward, modules.function(opened), count)
        old = modules.function(module).regions[0].blocks[0]
        inner = modules.function(backward).regions[0].blocks[0]
        made, new = new_function([*(a.type for a in old.arguments), inner.arguments[-1].type])
        with ir.InsertionPoint(new):
            mapping = dict(zip(old.arguments, list(new.arguments)[:-1], strict=True))
            body, returned = block_ops(old)
            for op in body:
                modules.clone_with(op, mapping)
            values = [mapping[_value_at(old, place)] for place in places]
            results = copied(inner, [*list(new.arguments)[:-1], *values, new.arguments[-1]])
            finish(made, [*results[len(results) - len(places):], *(mapping[returned[i]] for i in others)])
        return made


def _value_at(block: ir.Block, place: Place) -> ir.Value:
    number, which = place
    return block.arguments[which] if number < 0 else block_ops(block)[0][number].results[which]


def _opened(module: ir.Module, places: Sequence[Place]) -> ir.Module:
    """The module with the values at `places` as further arguments of `main`."""
    old = modules.function(module).regions[0].blocks[0]
    body, returned = block_ops(old)
    given = [_value_at(old, place) for place in places]
    made, block = new_function([*(a.type for a in old.arguments), *(v.type for v in given)])
    with ir.InsertionPoint(block):
        mapping = dict(zip(old.arguments, block.arguments, strict=False))
        after = dict(zip(given, list(block.arguments)[len(old.arguments):], strict=True))
        mapping.update({v: new for v, new in after.items() if v in mapping})
        for op in body:
            modules.clone_with(op, mapping)
            mapping.update({r: after[r] for r in op.results if r in after})
        finish(made, [mapping[v] for v in returned])
    return made
