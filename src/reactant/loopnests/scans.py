"""Cumulative sums and their like: windows that reach back to the beginning, each result from the one before."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import is_float, shape_of
from reactant.loopnests.affine import Affine, linear, number, symbol
from reactant.loopnests.elements import Buffer
from reactant.loopnests.graph import Node, decoded
from reactant.loopnests.nests import identity_of
from reactant.loopnests.scatter import current

if TYPE_CHECKING:
    from reactant.loopnests.control import Compiler

_ATTRIBUTES = ("window_dimensions", "padding", "window_strides", "base_dilations", "window_dilations")


def is_scan(op: ir.Operation) -> bool:
    """Whether a reduce_window of one array is cumulative along one dimension, forwards or backwards."""
    if len(op.results) != 1:
        return False
    extents = shape_of(op.operands[0])
    window, padding, *steps = (attr.decode(op.attributes[n]) if n in op.attributes else None for n in _ATTRIBUTES)
    return _scanned(extents, window, padding, *steps) is not None and _begins_with_nothing(op)  # type: ignore[arg-type]


def _begins_with_nothing(op: ir.Operation) -> bool:
    """Whether what windows begin with, and padding is made of, may be combined once, not for each place in front: it
    changes nothing, or only once. Of bodies of several ops that is believed of infinities alone."""
    body = [child.operation.name.partition(".")[2] for child in op.regions[0].blocks[0]]
    if len(body) == 2 and body[0] in ("maximum", "minimum", "and", "or"):
        return True
    start = ops.constant_value(op.operands[1])
    if start is None or start.ndim:
        return False
    if len(body) > 2:
        return is_float(start.dtype) and bool(np.isinf(start))
    nothing = 1 if body[0] == "multiply" else identity_of(body[0], start.dtype)
    return nothing is not None and bool(start == nothing)


def _scanned(extents: tuple[int, ...], window: tuple[int, ...], padding: object,
             *steps: object) -> tuple[int, bool] | None:
    """(dimension, backwards) of a cumulative window, else None."""
    wide = [d for d, n in enumerate(window) if n != 1]
    if len(wide) != 1 or padding is None or any(s is not None and set(s) != {1} for s in steps):  # type: ignore
        return None
    d = wide[0]
    if window[d] < extents[d]:                      # a wider one sees more of the padding, which changes nothing
        return None
    rows = [(int(low), int(high)) for low, high in padding]  # type: ignore[attr-defined]
    if any(rows[k] != (0, 0) for k in range(len(rows)) if k != d):
        return None
    if rows[d] == (window[d] - 1, 0):
        return d, False
    return (d, True) if rows[d] == (0, window[d] - 1) else None


def emit_scan(compiler: Compiler, node: Node, buffer: Buffer) -> None:
    """Write the loops of a cumulative op; the result goes to `buffer`."""
    w, e = compiler.w, compiler.e
    operand, init = node.operands
    window, padding, *steps = (decoded(node, n) for n in _ATTRIBUTES)
    found = _scanned(operand.shape, window, padding, *steps)
    assert found is not None
    d, backwards = found
    extent = node.shape[d]
    outer = [k for k in range(len(node.shape)) if k < d]
    inner = [k for k in range(len(node.shape)) if k > d]
    with e.remembering():
        start = e.at(init, ())
        index: dict[int, Affine] = {}
        tails = [_open(compiler, k, 0, node.shape[k], index, parallel=number_ == 0)
                 for number_, k in enumerate(outer)]
        # the first result, then each from the one before
        for first in (True, False):
            if not first and extent == 1:
                continue
            with e.remembering():
                own: list[str] = []
                if first:
                    index[d] = number(extent - 1 if backwards else 0)
                else:
                    own.append(_open(compiler, d, 1, extent, index, parallel=False))
                    if backwards:
                        index[d] = number(extent - 1) - index[d]
                own += [_open(compiler, k, 0, node.shape[k], index, parallel=False) for k in inner]
                place = tuple(index[k] for k in range(len(node.shape)))
                element = e.at(operand, place)
                before = start if first else current(compiler, buffer, linear(
                    tuple(i + (1 if backwards else -1) if k == d else i for k, i in enumerate(place)), node.shape))
                pair = ([element], [before]) if backwards else ([before], [element])
                e.store(e.combined(node.blocks[0], *pair)[0], buffer, linear(place, node.shape))
                for tail in reversed(own):
                    w.finish(tail)
        for tail in reversed(tails):
            w.finish(tail)
    buffer.version += 1
    buffer.level = w.depth


def _open(compiler: Compiler, d: int, low: int, extent: int, index: dict[int, Affine], parallel: bool) -> str:
    """Open a loop over a dimension; how it is closed."""
    w = compiler.w
    name = w.fresh("i")
    ends = w.index(low), w.index(extent), w.index(1)
    parallel = parallel and compiler.parallel
    w.loop(f"scf.parallel ({name}) = ({ends[0]}) to ({ends[1]}) step ({ends[2]}) {{" if parallel else
           f"scf.for {name} = {ends[0]} to {ends[1]} step {ends[2]} {{", (name,))
    w.facts.ranges[name] = (low, max(extent - 1, low))
    index[d] = symbol(name)
    return "scf.reduce }" if parallel else "}"
