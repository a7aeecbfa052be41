"""Chains of slice, reverse, transpose, reshape, broadcast_in_dim and pad become the shortest chain with the same map of
indices (see `views`): one composition law in place of a rule for every pair of them. So does a concatenate of them.

A rule looks at the whole chain that leads to its root, from the farthest array on of which the root is a view. It
rewrites where that makes the program shorter, or just as long and cheaper in the order of `views.weight`; so rewriting
ends. Ops that something else uses, too, stay where they are and do not count as saved.
"""
from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import Shape, shape_of, size
from reactant.rewrite import match, named, one_of, producer, rest, rewrite, users, variables
from reactant.simplify.facts.indexmaps import replaced, without
from reactant.simplify.facts.views import Chain, Step, View, composed, plain, shortest, weight, written
from reactant.simplify.facts.views import result_shape as shape_after

x, v, p, d = variables("x v p d")
starts, limits, strides = variables("starts limits strides")
low, high, interior = variables("low high interior")
LONGEST = 8
"""How many ops of a chain are looked at together."""

STEPS: dict[str, Any] = {
    "stablehlo.slice": lambda made: ("slice", made["start_indices"], made["limit_indices"], made["strides"]),
    "stablehlo.reverse": lambda made: ("reverse", made["dimensions"]),
    "stablehlo.transpose": lambda made: ("transpose", made["permutation"]),
    "stablehlo.reshape": lambda made: ("reshape", shape_of(made.results[0])),
    "stablehlo.broadcast_in_dim": lambda made: ("broadcast", shape_of(made.results[0]), made["broadcast_dimensions"]),
    "stablehlo.pad": lambda made: ("pad", made["edge_padding_low"], made["edge_padding_high"],
                                   made["interior_padding"])}
VIEWS = tuple(STEPS)
BUILDERS: dict[str, Any] = {"slice": ops.slice, "reverse": ops.reverse, "transpose": ops.transpose,
                            "reshape": ops.reshape, "broadcast": ops.broadcast_in_dim}


INNER = named("x", one_of(VIEWS, rest("_operands")))
"""The pattern of what a chain goes on from."""


def built(source: ir.Value, chain: Chain, fill: ir.Value | None) -> ir.Value:
    """The ops of a chain."""
    for kind, *parameters in chain:
        if kind == "pad":
            source = ops.pad(source, fill, *parameters)
        elif kind == "fill":
            source = ops.broadcast_in_dim(fill, parameters[0], ())
        else:
            source = BUILDERS[kind](source, *parameters)
    return source


def is_computed(value: ir.Value) -> bool:
    """Whether reading less of a value saves work: arguments, constants and views of them are there anyway."""
    made = producer(value)
    return made is not None and made.name not in STEPS and made.name != "stablehlo.constant"


def _reads(shape: Shape, chain: Chain) -> int:
    """How many elements of its source a chain begins with."""
    return size(shape_after(shape, chain[0]) if chain and chain[0][0] == "slice" else shape)


def _shorter(value: ir.Value, step: Step, result: Shape, fill: ir.Value | None = None) -> ir.Value | None:
    """The step applied to `value`, as a cheaper chain from an array further up; None where there is none."""
    chain, sources, own, shared = [step], [value], 1, False
    while len(chain) < LONGEST and (made := producer(sources[-1])) is not None and made.name in STEPS:
        here = STEPS[made.name](made)
        if here[0] == "pad":
            if fill is not None and made.operands[1] != fill:
                break
            fill = made.operands[1]
        shared = shared or users(sources[-1]) != 1
        own += not shared
        chain.append(here)
        sources.append(made.operands[0])
    best, saved = None, -1
    shapes = [result, *map(shape_of, sources)]
    empty = next((number for number, shape in enumerate(shapes) if 0 in shape), len(shapes))
    for depth in range(min(len(chain), empty - 1), 1, -1):
        if saved >= min(own, depth):
            continue
        source, whole = sources[depth - 1], tuple(chain[depth - 1::-1])
        found = shortest(shapes[depth], whole)
        if found is None:
            continue
        gain = min(own, depth) - len(found)
        if gain <= saved or depth > own and not gain and len(found) > 1:
            continue
        if _reads(shapes[depth], found) > _reads(shapes[depth], whole) and is_computed(source):
            continue
        best, saved = (source, found), gain
    return None if best is None else built(*best, fill)


def _view_of(value: ir.Value) -> tuple[ir.Value, View] | None:
    """The farthest array, pads aside, of which a value is a view, and which."""
    chain: list[Step] = []
    while len(chain) < LONGEST and (made := producer(value)) is not None and made.name in STEPS \
            and made.name != "stablehlo.pad" and size(shape_of(made.operands[0])):
        chain.append(STEPS[made.name](made))
        value = made.operands[0]
    view = composed(shape_of(value), tuple(chain[::-1])) if size(shape_of(value)) else None
    return None if view is None else (value, view)


def _joined(views: list[View], d: int) -> View | None:
    """The view that views of one array are next to each other along dimension d, where places go on evenly."""
    first = views[0]
    wide = next((v for v in views if v.axes[d].extent > 1), None)
    stride = views[1].offset - first.offset if wide is None else wide.axes[d].stride
    place, around = first.offset, without(first.axes, {d})
    for view in views:
        axis = view.axes[d]
        if view.offset != place or without(view.axes, {d}) != around or axis.extent > 1 and axis.stride != stride:
            return None
        place += axis.extent * stride
    return View(replaced(first.axes, d, plain(sum(v.axes[d].extent for v in views), stride)), first.offset)


@rewrite(match.concatenate(rest("xs"), dimension=d), made_by=VIEWS,
         example=(lambda a: [x := a(5), ops.concatenate([ops.slice(x, (k,), (k + 1,)) for k in (4, 3, 2)], 0)][1],
                  lambda a: [x := a(4, 6), ops.concatenate([
                      ops.reshape(ops.slice(x, (k // 2, k % 2 * 3), (k // 2 + 1, k % 2 * 3 + 3)), (1, 3))
                      for k in range(8)], 0)][1],
                  lambda a: [x := a(3, 4), ops.concatenate([
                      ops.reshape(ops.slice(x, (0, k), (3, k + 1)), (1, 3)) for k in range(4)], 0)][1]),
         counter=(lambda a: [x := a(5), ops.concatenate([ops.slice(x, (k,), (k + 1,)) for k in (0, 1, 3)], 0)][1],
                  lambda a: ops.concatenate([ops.slice(a(5), (k,), (k + 1,)) for k in (2, 1, 0)], 0)))
def concatenate_of_views(xs, d, result_shape):
    """concatenate(x[4:5], x[3:4], ...) = the shortest chain with the same map of indices, where places go on evenly"""
    if len(xs) < 2 or not size(result_shape):
        return None
    views: list[View] = []
    source: ir.Value | None = None
    for value in xs:
        found = _view_of(value)
        if found is None or source is not None and found[0] != source:
            return None
        source = found[0]
        views.append(found[1])
    whole = _joined(views, d)
    chain = None if whole is None else written(shape_of(source), whole)
    if chain is None or len(chain) > sum(users(v) == 1 for v in xs) \
            or weight(shape_of(source), chain)[1] > 2 * size(result_shape):
        return None
    return built(source, chain, None)


@rewrite(match.slice(INNER, start_indices=starts, limit_indices=limits, strides=strides),
         example=(lambda a: ops.slice(ops.reverse(ops.transpose(a(4, 3), (1, 0)), (0,)), (1, 1), (3, 4), (1, 2)),
                  lambda a: ops.slice(ops.slice(a(20, 6), (2, 1), (19, 6), (3, 1)), (1, 0), (6, 4), (2, 3)),
                  lambda a: ops.slice(ops.pad(a(4), a(), (1,), (1,), (2,)), (1,), (11,), (3,)),
                  lambda a: ops.slice(ops.pad(a(4), a(), (1,), (1,), (2,)), (2,), (12,), (3,)),
                  lambda a: ops.slice(ops.reshape(a(3, 4), (12,)), (4,), (12,))),
         counter=(lambda a: ops.slice(ops.reshape(a(3, 4), (12,)), (3,), (9,)),
                  lambda a: [w := ops.pad(a(4), a(), (1,), (1,)), ops.slice(w, (0,), (4,))]))
def slice_of_chain(x, starts, limits, strides, result_shape):
    """slice(f(g(x))) = the shortest chain with the same map of indices"""
    return _shorter(x, ("slice", starts, limits, strides), result_shape)


@rewrite(match.reverse(INNER, dimensions=d),
         example=(lambda a: ops.reverse(ops.slice(ops.reverse(a(7), (0,)), (1,), (6,), (2,)), (0,)),
                  lambda a: ops.reverse(ops.broadcast_in_dim(a(3, 1), (3, 2), (0, 1)), (0, 1))),
         counter=lambda a: ops.reverse(ops.transpose(a(2, 3), (1, 0)), (0, 1)))
def reverse_of_chain(x, d, result_shape):
    """reverse(f(g(x))) = the shortest chain with the same map of indices"""
    return _shorter(x, ("reverse", d), result_shape)


@rewrite(match.transpose(INNER, permutation=p),
         example=(lambda a: ops.transpose(ops.reshape(ops.transpose(a(6, 5), (1, 0)), (5, 2, 3)), (1, 2, 0)),
                  lambda a: ops.transpose(ops.broadcast_in_dim(a(3, 4), (3, 2, 4), (0, 2)), (2, 0, 1)),
                  lambda a: ops.transpose(ops.reverse(a(2, 3), (1,)), (1, 0)),
                  lambda a: ops.transpose(ops.reshape(a(6, 4, 5), (2, 3, 4, 5)), (3, 0, 1, 2))),
         counter=lambda a: ops.transpose(ops.reshape(a(6, 20), (2, 3, 4, 5)), (0, 2, 1, 3)))
def transpose_of_chain(x, p, result_shape):
    """transpose(f(g(x))) = the shortest chain with the same map of indices"""
    return _shorter(x, ("transpose", p), result_shape)


@rewrite(match.reshape(INNER),
         example=(lambda a: ops.reshape(ops.transpose(ops.reshape(a(2, 3, 4), (6, 4)), (1, 0)), (4, 2, 3)),
                  lambda a: ops.reshape(ops.reshape(a(2, 6), (3, 4)), (12,)),
                  lambda a: ops.reshape(ops.broadcast_in_dim(a(), (2, 6), ()), (3, 4))),
         counter=lambda a: ops.reshape(ops.broadcast_in_dim(a(3), (2, 3), (1,)), (6,)))
def reshape_of_chain(x, result_shape):
    """reshape(f(g(x))) = the shortest chain with the same map of indices"""
    return _shorter(x, ("reshape", result_shape), result_shape)


@rewrite(match.broadcast_in_dim(INNER, broadcast_dimensions=d),
         example=(lambda a: ops.broadcast_in_dim(ops.transpose(ops.reshape(a(6), (2, 3)), (1, 0)), (4, 3, 2), (1, 2)),
                  lambda a: ops.broadcast_in_dim(ops.broadcast_in_dim(a(3), (2, 3), (1,)), (4, 3, 2), (2, 1)),
                  lambda a: ops.broadcast_in_dim(ops.reshape(a(1, 1), ()), (4, 2), ())),
         counter=lambda a: ops.broadcast_in_dim(ops.reshape(a(6), (2, 3)), (4, 2, 3), (1, 2)))
def broadcast_of_chain(x, d, result_shape):
    """broadcast_in_dim(f(g(x))) = the shortest chain with the same map of indices"""
    return _shorter(x, ("broadcast", result_shape, d), result_shape)


@rewrite(match.pad(INNER, v, edge_padding_low=low, edge_padding_high=high, interior_padding=interior),
         example=(lambda a: ops.pad(ops.pad(a(3, 2), w := a(), (1, 0), (0, 2)), w, (0, 1), (2, 1)),
                  lambda a: ops.pad(ops.pad(a(3), w := a(), (2,), (2,), (1,)), w, (2,), (0,), (1,)),
                  lambda a: ops.pad(ops.pad(a(3), w := a(), (1,), (0,), (1,)), w, (0,), (2,), (1,)),
                  lambda a: ops.pad(ops.broadcast_in_dim(a(3), (2, 3), (1,)), a(), (0, 1), (0, 1))),
         counter=(lambda a: ops.pad(ops.reshape(a(6), (2, 3)), a(), (0, 1), (0, 0)),
                  lambda a: ops.pad(ops.pad(a(3), a(), (1,), (0,)), a(), (0,), (2,))))
def pad_of_chain(x, v, low, high, interior, result_shape):
    """pad(f(g(x))) = the shortest chain with the same map of indices"""
    return _shorter(x, ("pad", low, high, interior), result_shape, v)
