"""The last stage: loops that work on a part of a carried array carry that part.

`for k in range(a, b): A[k + 1:, k + 1:] -= ...` touches only `A[a:, a:]`. Where all places of a carried array that the
body reads and writes provably lie in one window, the loop carries the window, and it is put back afterwards.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.induction import trips
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite import Site, rewrite, users
from reactant.rewrite.site import uses
from reactant.simplify.facts.target_costs import costs
from reactant.simplify.facts.while_loops import BODY, CONDITION, counted
from reactant.simplify.layout.dynamic_slicing import Window
from reactant.simplify.layout.masked_updates import READ, SLICE, UPDATE, access
from reactant.support.records import dataclass

WORTH = 4
"""How often the elements of a window must be written for it to pay that it is cut out and put back."""

A, T, C = "tensor<40x50xf32>", "tensor<20x30xf32>", "tensor<20x1xf32>"
_TRAILING = f"""%t = stablehlo.slice %a [20:40, 20:50] : ({A}) -> {T}
%c = stablehlo.dynamic_slice %a, %s, %k, sizes = [20, 1] : ({A}, tensor<i32>, tensor<i32>) -> {C}
%v = stablehlo.broadcast_in_dim %c, dims = [0, 1] : ({C}) -> {T}
%w = stablehlo.multiply %t, %v : {T}
%b = stablehlo.dynamic_update_slice %a, %w, %s, %s : ({A}, {T}, tensor<i32>, tensor<i32>) -> {A}"""
_K = "%k = stablehlo.add %i, %s : tensor<i32>\n"
_S = "%s = stablehlo.constant dense<20> : tensor<i32>"


def _loop(body: str, rows: tuple = (("%a", "%x", "%b", A),), trips: int = 9, out: str = "%r#1") -> str:
    return counted(rows, body, out, A, trips, before=_S).replace("tensor<3xf32>", A)


_COLUMN = f"""%d = stablehlo.negate %c : {C}
%e = stablehlo.dynamic_update_slice %a, %d, %s, %k : ({A}, {C}, tensor<i32>, tensor<i32>) -> {A}
"""
_TWICE = _TRAILING.replace("%v =", _COLUMN + "%v =").replace("slice %a, %w", "slice %e, %w")


_RUN_TIME = _loop(_K + _TRAILING).replace("stablehlo.return %p", """%q = stablehlo.compare LT, %i, %n : (
      tensor<i32>, tensor<i32>) -> tensor<i1>
    %o = stablehlo.and %p, %q : tensor<i1>
    stablehlo.return %o""")   # down to no iteration


@rewrite("stablehlo.while", holds=(UPDATE,),
         example=(_loop(_K + _TRAILING), _loop(_K + _TWICE), _RUN_TIME,
                  _loop(_K + _TRAILING + f"\n%g = stablehlo.add %f, %f : {A}",
                        (("%a", "%x", "%b", A), ("%f", "%y", "%g", A)))),
         counter=(_loop(_K + _TRAILING, trips=31),   # the column read may be clamped
                  _loop(_K.replace("add %i, %s", "add %n, %s") + _TRAILING),
                  _loop(_K + _TRAILING.replace("slice %a, %w", "slice %x, %w")),
                  _loop(_K + _TRAILING + f"\n%g = stablehlo.add %f, %a : {A}",
                        (("%a", "%x", "%b", A), ("%f", "%y", "%g", A))),
                  _loop(_K + _TRAILING + f"\n%g = stablehlo.slice %a [0:1, 0:50] : ({A}) -> tensor<1x50xf32>\n"
                        "%h = stablehlo.slice %a [39:40, 0:50] : "
                        f"({A}) -> tensor<1x50xf32>\n%j = stablehlo.add %g, %h : tensor<1x50xf32>\n"
                        f"%m = stablehlo.broadcast_in_dim %j, dims = [0, 1] : (tensor<1x50xf32>) -> {A}",
                        (("%a", "%x", "%b", A), ("%f", "%y", "%m", A)))))
def while_carries_window(site: Site):
    """a carried array that the body reads and updates in a window alone is carried as that window"""
    table = costs()
    for i, argument in enumerate(site.arguments(BODY)) if table is not None else ():
        if size(shape_of(argument)) < table.least_elements or users(site.arguments(CONDITION)[i]):
            continue
        found, iterations = updated(site, i), trips(site.op)
        window = _hull(found.accesses) if found is not None and iterations is not None else None
        if window is not None:
            carried = size(_extents(window))
            if carried * 4 <= size(shape_of(argument)) * 3 and found.largest * iterations.most >= WORTH * carried:
                return _windowed(site, i, found, window)
    return None


# ---- what a body does with a carried array -------------------------------------------------------------------------

@dataclass(frozen=True)
class Updated:
    """A carried array that a chain of updates makes from itself.

    versions: the argument and the result of each update, in order.
    accesses: every op that reads or updates a version.
    """
    versions: list[ir.Value]
    accesses: list[ir.Operation]

    @property
    def largest(self) -> int:
        """Elements of the largest update."""
        return max(size(shape_of(op.operands[1])) for op in self.accesses if op.name == UPDATE)


def updated(site: Site, index: int) -> Updated | None:
    """How the body makes carried value `index`; None unless by a chain of updates from the argument, of which every
    version is used by slices and updates of this body alone."""
    end, argument = site.terminator(BODY), site.arguments(BODY)[index]
    value, versions = site.returned(BODY)[index], []
    while value != argument:
        if isinstance(value.owner, ir.Block) or value.owner.name != UPDATE or value.owner.operation.block != end.block:
            return None
        versions.append(value)
        value = value.owner.operands[0]
    versions = [argument, *reversed(versions)]
    accesses = []
    for version in versions:
        for use in uses(version):
            op = use.owner.operation
            if op == end:
                if use.operand_number != index:
                    return None
            elif op.block != end.block or op.name not in (SLICE, READ, UPDATE) or use.operand_number:
                return None
            else:
                accesses.append(op)
    chain = {op.results[0] for op in accesses if op.name == UPDATE}
    return Updated(versions, accesses) if versions[1:] and chain == set(versions[1:]) else None


# ---- carrying less -------------------------------------------------------------------------------------------------

def _hull(accesses: Sequence[ir.Operation]) -> Window | None:
    windows = []
    for op in accesses:
        window = access(op)
        if window is None:
            return None
        windows.append(window)
    lows, highs = zip(*windows, strict=True)
    return tuple(map(min, zip(*lows, strict=True))), tuple(map(max, zip(*highs, strict=True)))


def _extents(window: Window) -> tuple[int, ...]:
    return tuple(b - a for a, b in zip(*window, strict=True))


def _windowed(site: Site, index: int, found: Updated, window: Window) -> list[ir.Value]:
    inits = site.operands
    low = window[0]
    narrow = [*inits[:index], ops.slice(inits[index], *window), *inits[index + 1:]]
    shifted = {op.results[0] for op in found.accesses}

    def condition(*values: ir.Value) -> ir.Value:   # it does not read the array
        return site.inline(CONDITION, [*values[:index], inits[index], *values[index + 1:]])[0]

    def body(*values: ir.Value) -> list[ir.Value]:
        mapping = dict(zip(site.arguments(BODY), values, strict=True))
        for op in site.body(BODY):
            if len(op.results) == 1 and op.results[0] in shifted:
                mapping[op.results[0]] = _shifted(op, mapping, low)
            else:
                site.clone(op, mapping)
        return [mapping.get(value, value) for value in site.returned(BODY)]

    results = list(ops.while_(narrow, condition, body))
    results[index] = ops.dynamic_update_slice(inits[index], results[index],
                                              [ops.constant(k, np.int64) for k in low])
    return results


def _shifted(op: ir.Operation, mapping: dict[ir.Value, ir.Value], low: Sequence[int]) -> ir.Value:
    """A slice or update of the array, of its window that begins at `low`."""
    operands = [mapping.get(value, value) for value in op.operands]
    if op.name == SLICE:
        first, last, strides = (attr.decode(op.attributes[n]) for n in ("start_indices", "limit_indices", "strides"))
        return ops.slice(operands[0], [a - b for a, b in zip(first, low, strict=True)],
                         [a - b for a, b in zip(last, low, strict=True)], strides)
    if op.name == READ:
        return ops.dynamic_slice(operands[0], list(_moved(operands[1:], low)), shape_of(op.results[0]))
    return ops.dynamic_update_slice(operands[0], operands[1], list(_moved(operands[2:], low)))


def _moved(starts: Sequence[ir.Value], low: Sequence[int]) -> Iterator[ir.Value]:
    for start, offset in zip(starts, low, strict=True):
        known = ops.constant_value(start)
        if not offset:
            yield start
        elif known is not None:
            yield ops.constant(int(known) - offset, dtype_of(start))
        else:
            yield ops.subtract(start, offset)
