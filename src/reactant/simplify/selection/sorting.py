"""sort and top_k: sorts that are none, several of the same keys, and of which only an end or a permutation is read.

Most rules hold for any comparator that compares one *key* operand in one direction (`order_of`): integers, floats in
total order, or floats as JAX sorts them, with NaN last and -0.0 equal to 0.0. A stable sort leaves equal keys in their
order, so every rule gives the same -0.0 or 0.0, and the same payload, as the sort did.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import creation, modules, ops
from reactant.ir.attributes import decode
from reactant.ir.orders import Order, order_of
from reactant.ir.types import dtype_of, is_float, shape_of, size
from reactant.rewrite import Site, match, one_of, producer, rewrite, users, variables
from reactant.rewrite.pattern import Template
from reactant.rewrite.site import operation, readers
from reactant.simplify.selection.indexing import known_content

x, v, d, i, n, p, q = variables("x v d i n p q")
start, limit, strides = variables("start limit strides")


# ---- comparators --------------------------------------------------------------------------------------------------

def _is(value: ir.Value, direction: str, left: ir.Value, right: ir.Value | None) -> bool:
    made = producer(value)
    return made is not None and made.name == "stablehlo.compare" and made["comparison_direction"] == direction \
        and made.operands[0] == left and (right is None or made.operands[1] == right)


def canonical(v: ir.Value) -> ir.Value:
    """Floats that are the same bits where `loosely` calls them equal."""
    return ops.select(ops.compare(v, v, "NE"), np.nan, ops.select(ops.compare(v, 0, "EQ"), 0, v))


def loosely(a: ir.Value, b: ir.Value, *_: ir.Value) -> ir.Value:
    """The comparator that JAX sorts floats with: NaN last, -0.0 equal to 0.0."""
    return ops.compare(canonical(a), canonical(b), "LT", total_order=True)


def dimension_of(op: ir.Operation) -> int:
    found = decode(op.attributes["dimension"])
    return found % len(shape_of(op.results[0])) if shape_of(op.results[0]) else 0


def _stable(op: ir.Operation) -> bool:
    return bool(decode(op.attributes["is_stable"])) if "is_stable" in op.attributes else False


def _along(value: ir.Value) -> ir.Value:
    return ops.iota(shape_of(value), np.int32, len(shape_of(value)) - 1)


# ---- sorts that do nothing -----------------------------------------------------------------------------------------

@rewrite("stablehlo.sort", example=(lambda a: ops.sort([a(4, 1)], 1), lambda a: ops.sort([a(4, 1), a(4, 1)], 1),
                                    lambda a: ops.sort([a(0, 3)], 1)),
         counter=lambda a: ops.sort([a(4, 1)], 0))
def sort_of_unit_dimension(site: Site):
    """sort along a dimension of extent 1, or of nothing, does nothing"""
    extents = shape_of(site.results[0])
    return site.operands if not extents or extents[dimension_of(site.op)] <= 1 or 0 in extents else None


@rewrite("stablehlo.sort", example=(lambda a: ops.sort([a(9), a(9)], 0)[0], lambda a: ops.sort([a(9), a(9)], 0)[:1]),
         counter=(lambda a: ops.sort([a(9), a(9)], 0), lambda a: ops.sort([a(9), a(9)], 0)[1]))
def sort_drops_unread_operands(site: Site):
    """sort(x, y) of which y is neither compared nor read afterwards = sort(x)"""
    arguments = site.arguments(0)
    kept = [j for j in range(len(site.results))
            if site.used(j) or any(users(v) for v in arguments[2 * j:2 * j + 2])]
    if len(kept) == len(site.results):
        return None
    made = _again(site.op, [site.operands[j] for j in kept], kept)
    return [made[kept.index(j)] if j in kept else site.operands[j] for j in range(len(site.results))]


def _again(op: ir.Operation, operands: Sequence[ir.Value], places: Sequence[int | None],
           dimension: int | None = None) -> list[ir.Value]:
    """The same sort of other operands; `places` says which old one each stands for (None: it is not compared)."""
    block = op.regions[0].blocks[0]

    def comparator(*arguments: ir.Value) -> ir.Value:
        mapping = {}
        for new, old in enumerate(places):
            if old is not None:
                for side in (0, 1):
                    mapping[block.arguments[2 * old + side]] = arguments[2 * new + side]
        return copied(block, mapping)
    return ops.sort(operands, dimension_of(op) if dimension is None else dimension, comparator, _stable(op))


def copied(block: ir.Block, mapping: dict[ir.Value, ir.Value]) -> ir.Value:
    """What a block of plain ops returns, its arguments replaced, built at the insertion point."""
    program = [each.operation for each in block.operations]
    for op in program[:-1]:
        creation.note(modules.clone_with(op, mapping))
    value = program[-1].operands[0]
    return mapping.get(value, value)


@rewrite("stablehlo.sort",
         example=(lambda a: ops.sort(ops.sort([a(9)], 0), 0), lambda a: ops.sort([ops.sort([a(9)], 0)[0], a(9)], 0),
                  lambda a: ops.sort(ops.sort([a(9, dtype="float32")], 0, loosely), 0, loosely)),
         counter=(lambda a: ops.sort(ops.sort([a(9)], 0), 0, "GT"), lambda a: ops.sort(ops.sort([a(4, 4)], 0), 1),
                  lambda a: ops.sort([ops.sort([a(9)], 0)[0], a(9)], 0, is_stable=False)))
def sort_of_sorted(site: Site):
    """sort(sort(x)) = sort(x); a stable sort by sorted keys moves nothing"""
    order = order_of(site.op)
    if order is None or not _stable(site.op) and (len(site.operands) > 1 or not order.strict):
        return None
    made = operation(site.operands[order.key])
    if made is None or made.name != "stablehlo.sort" or dimension_of(made) != dimension_of(site.op):
        return None
    inner = order_of(made)
    if inner is None or (inner.descending, inner.kind) != (order.descending, order.kind) \
            or made.results[inner.key] != site.operands[order.key]:
        return None
    return site.operands


@rewrite("stablehlo.sort",
         example=(lambda a: ops.sort([ops.iota((9,), np.int32, 0), a(9)], 0),
                  lambda a: ops.sort([ops.iota((4, 5), np.int32, 0), a(4, 5)], 1),
                  lambda a: ops.sort([ops.broadcast_in_dim(a(4), (4, 5), (0,)), a(4, 5)], 1),
                  lambda a: ops.sort([ops.constant(np.arange(9)), a(9)], 0)),
         counter=(lambda a: ops.sort([ops.iota((4, 5), np.int32, 0), a(4, 5)], 0, "GT"),
                  lambda a: ops.sort([ops.constant(np.arange(9) % 5), a(9)], 0),
                  lambda a: ops.sort([ops.iota((4, 5), np.int32, 0), a(4, 5)], 1, is_stable=False)))
def sort_by_ordered_keys(site: Site):
    """a stable sort by keys that are in order, or all equal along the dimension, moves nothing"""
    order = order_of(site.op)
    if order is None or not _stable(site.op) \
            or not _in_order(site.operands[order.key], dimension_of(site.op), order.descending):
        return None
    return site.operands


def _in_order(keys: ir.Value, dimension: int, descending: bool) -> bool:
    made = producer(keys)
    if made is None:
        return False
    if made.name == "stablehlo.iota":
        return made["iota_dimension"] != dimension or not descending
    if made.name == "stablehlo.broadcast_in_dim":
        places = made["broadcast_dimensions"]
        return dimension not in places or shape_of(made.operands[0])[places.index(dimension)] == 1
    content = known_content(keys) if made.name == "stablehlo.constant" and dtype_of(keys).kind in "biu" else None
    if content is None:
        return False
    left, right = (np.take(content, range(s, content.shape[dimension] - 1 + s), dimension) for s in (0, 1))
    return bool(((left >= right) if descending else (left <= right)).all())


@rewrite("stablehlo.sort",
         example=(lambda a: ops.sort([ops.reverse(a(3, 5, dtype="int32"), (1,))], 1),
                  lambda a: ops.sort([ops.reverse(a(9, dtype="float32"), (0,))], 0)),
         counter=(lambda a: ops.sort([ops.reverse(a(9, dtype="float32"), (0,))], 0, loosely),
                  lambda a: ops.sort([ops.reverse(a(9), (0,)), a(9)], 0),
                  lambda a: ops.sort([ops.reverse(a(3, 5), (0,))], 1)))
def sort_of_reverse(site: Site):
    """sort(reverse(x)) = sort(x) where equal elements are the same"""
    order, made = order_of(site.op), producer(site.operands[0])
    if order is None or not order.strict or len(site.operands) > 1 or made is None \
            or made.name != "stablehlo.reverse" or tuple(made["dimensions"]) != (dimension_of(site.op),):
        return None
    return _again(site.op, made.operands, [0])


@rewrite(match.reverse(one_of(("stablehlo.sort",), x, template="t"), dimensions=d),
         example=(lambda a: ops.reverse(ops.sort([a(3, 9, dtype="int32")], 1)[0], (1,)),
                  lambda a: ops.reverse(ops.sort([a(9, dtype="float32")], 0, "GT")[0], (0,))),
         counter=(lambda a: ops.reverse(ops.sort([a(9, dtype="float32")], 0, loosely)[0], (0,)),
                  lambda a: ops.reverse(ops.sort([a(3, 9)], 1)[0], (0,))))
def reverse_of_sort(x, t, d, result):
    """reverse(sort(x)) = sort(x) the other way round where equal elements are the same"""
    op = t.op
    order = order_of(op)
    if order is None or not order.strict or d != (dimension_of(op),) or users(op.results[0]) > 1:
        return None
    return ops.sort([x], d[0], "LT" if order.descending else "GT", _stable(op))[0]


@rewrite(match.transpose(one_of(("stablehlo.sort",), match.transpose(x, permutation=p), template="t"), permutation=q),
         example=lambda a: ops.transpose(ops.sort([ops.transpose(a(3, 4, 5), (2, 0, 1))], 1)[0], (1, 2, 0)),
         counter=lambda a: ops.transpose(ops.sort([ops.transpose(a(3, 4, 5), (2, 0, 1))], 1)[0], (2, 1, 0)))
def sort_between_transposes(x, p, t, q):
    """transpose(sort(transpose(x))) = sort(x) along another dimension where the transposes cancel"""
    if tuple(p[j] for j in q) != tuple(range(len(p))):
        return None
    return _again(t.op, [x], [0], p[dimension_of(t.op)])[0]


# ---- several sorts -------------------------------------------------------------------------------------------------

@rewrite("stablehlo.sort",
         example=(lambda a: [w := a(9), *ops.sort([w], 0), ops.sort([w, ops.iota((9,), np.int32, 0)], 0)[1]],
                  lambda a: [w := a(9, dtype="float32"), z := a(9), ops.sort([w], 0, loosely)[0],
                             ops.sort([z, w], 0, lambda a, b, c, d: loosely(c, d))[0]]),
         counter=(lambda a: [w := a(9), *ops.sort([w], 0), *ops.sort([w], 0, "GT")],
                  lambda a: [w := a(9), u := ops.sort([w], 0)[0], ops.sort([w, u], 0)[1]]))
def sorts_by_the_same_keys(site: Site):
    """sort(x, y) and sort(x, z), stable = sort(x, y, z)"""
    order = order_of(site.op)
    if order is None or not _stable(site.op):
        return None
    for other in _twins(site.op, order):
        theirs = [v for v in other.operands if v not in site.operands]
        late = [v for v in theirs if not _is_before(v, site.op)]
        if not any(len(v.owner.operands) for v in late):
            for v in late:
                site.move_before(v.owner.operation)
            operands = [*site.operands, *dict.fromkeys(theirs)]
            made = _again(site.op, operands, [*range(len(site.operands)), *[None] * (len(operands)
                                                                                     - len(site.operands))])
            for old, operand in zip(other.results, other.operands, strict=True):
                site.substitute(old, made[operands.index(operand)])
            return made[:len(site.operands)]
    return None


def _twins(op: ir.Operation, order: Order) -> list[ir.Operation]:
    """Later sorts in the same block by the same keys in the same order."""
    found = []
    for reader in readers(op.operands[order.key]):
        other = reader.op
        if other.name != "stablehlo.sort" or other == op or other.block != op.block \
                or not op.is_before_in_block(other) or dimension_of(other) != dimension_of(op) or not _stable(other) \
                or not any(users(r) for r in other.results):
            continue
        theirs = order_of(other)
        if theirs is not None and other.operands[theirs.key] == op.operands[order.key] \
                and (theirs.descending, theirs.kind) == (order.descending, order.kind):
            found.append(other)
    return found


def _is_before(value: ir.Value, op: ir.Operation) -> bool:
    """Whether a value is defined before an op of the same block, or outside of it."""
    made = operation(value)
    return made is None or made.block != op.block or made.is_before_in_block(op)


@rewrite("stablehlo.sort",
         example=lambda a: [r := ops.iota((9,), np.int32, 0), ops.sort([ops.sort([a(9), r], 0)[1], r], 0)[1]][1],
         counter=(lambda a: [r := ops.iota((9,), np.int32, 0), ops.sort([a(9, dtype="int32"), r], 0)[1]][1],
                  lambda a: [r := ops.iota((9,), np.int32, 0), ops.sort([ops.sort([a(9), r], 0)[1], r], 0, "GT")][1]))
def ranks_are_the_inverse_permutation(site: Site):
    """argsort(argsort(x)) = the permutation that undoes argsort(x), written by one scatter"""
    order = order_of(site.op)
    if order is None or order.descending or not order.strict or len(site.operands) != 2 or site.used(order.key) \
            or len(shape_of(site.results[0])) != 1:
        return None
    places, payload = site.operands[order.key], site.operands[1 - order.key]
    if not _is_permutation(places) or not _counts_up(payload):
        return None
    extent = shape_of(places)[0]
    index = ops.reshape(places, (extent, 1))
    inverse = ops.scatter(ops.splat(0, payload), index, payload, "second", update_window_dims=[],
                          inserted_window_dims=[0], scatter_dims_to_operand_dims=[0], index_vector_dim=1,
                          unique_indices=True)
    return [inverse if j != order.key else site.operands[j] for j in (0, 1)]


def _counts_up(value: ir.Value) -> bool:
    """0, 1, 2... in one dimension."""
    made = producer(value)
    return made is not None and len(shape_of(value)) == 1 and made.name == "stablehlo.iota"


def _is_permutation(value: ir.Value) -> bool:
    """Whether a vector is what a sort made of 0, 1, 2..."""
    made = operation(value)
    if dtype_of(value).kind not in "iu":
        return False
    while made is not None and made.name == "stablehlo.convert" and dtype_of(made.operands[0]).kind in "iu" \
            and dtype_of(value).itemsize >= 4:
        value = made.operands[0]
        made = operation(value)
    if made is None or made.name != "stablehlo.sort" or len(shape_of(value)) != 1:
        return False
    return _counts_up(made.operands[list(made.results).index(value)])


@rewrite(match.gather(x, i, dimension_numbers=d, slice_sizes=n),
         example=(lambda a: [w := a(9), _taken(w, ops.sort([w, ops.iota((9,), np.int32, 0)], 0)[1])],
                  lambda a: [w := a(9, dtype="float32"), s := ops.sort([w, ops.iota((9,), np.int32, 0)], 0, loosely)[1],
                             _taken(w, ops.select(ops.compare(s, 0, "LT"), ops.add(s, 9), s))]),
         counter=lambda a: [w := a(9), z := a(9), _taken(z, ops.sort([w, ops.iota((9,), np.int32, 0)], 0)[1])])
def take_in_sorted_order(x, i, d, n, result_shape):
    """x[argsort(x)] = sort(x)"""
    shape = shape_of(x)
    if len(shape) != 1 or result_shape != shape or tuple(n) != (1,) or d.operand_batching_dims:
        return None
    places = _flat_index(i, shape[0])
    made = None if places is None else operation(places)
    if made is None or made.name != "stablehlo.sort" or not _is_permutation(places):
        return None
    for operand, sorted_ in zip(made.operands, made.results, strict=True):
        if operand == x:
            return sorted_
    return None


def _taken(source: ir.Value, places: ir.Value) -> ir.Value:
    count = shape_of(places)[0]
    return ops.gather(source, ops.reshape(places, (count, 1)), offset_dims=[], collapsed_slice_dims=[0],
                      start_index_map=[0], index_vector_dim=1, slice_sizes=[1])


def _flat_index(index: ir.Value, extent: int) -> ir.Value | None:
    """The vector behind an index array of one column, without the step that lets negative indices count from the end,
    where the indices are a permutation."""
    value = index
    for _ in range(5):
        made = producer(value)
        if made is None:
            return None
        if made.name in ("stablehlo.reshape", "stablehlo.broadcast_in_dim") and size(shape_of(value)) == extent \
                or made.name == "stablehlo.convert" and dtype_of(value).itemsize >= 4:
            value = made.operands[0]
        elif made.name == "stablehlo.select" and _is_permutation(made.operands[2]) \
                and _is(made.operands[0], "LT", made.operands[2], None):
            value = made.operands[2]
        else:
            break
    return value if shape_of(value) == (extent,) else None


# ---- only an end is read -------------------------------------------------------------------------------------------

def _end(x: ir.Value, t: Template, start: Sequence[int], limit: Sequence[int], strides: Sequence[int],
         loose: bool) -> ir.Value | None:
    """The slice of a sort that is its first or last place, from an extreme."""
    op = t.op
    order, along, shape = order_of(op), dimension_of(op), shape_of(x)
    if order is None or order.strict == loose or limit[along] - start[along] != 1 or users(op.results[0]) > 1:
        return None
    first, last = start[along] == 0, start[along] == shape[along] - 1
    if first == last or loose and order.descending or not loose and dtype_of(x).kind not in "iub":
        return None
    found = _loose_end(x, along, first) if loose else _extreme(x, along, first != order.descending)
    kept = ops.reshape(found, [1 if j == along else m for j, m in enumerate(shape)])
    return ops.slice(kept, [0 if j == along else s for j, s in enumerate(start)],
                     [1 if j == along else s for j, s in enumerate(limit)],
                     [1 if j == along else s for j, s in enumerate(strides)])


def _part_of_sort() -> Any:
    return match.slice(one_of(("stablehlo.sort",), x, template="t"), start_indices=start, limit_indices=limit,
                       strides=strides)


@rewrite(_part_of_sort(), dtypes="discrete",
         example=(lambda a: ops.slice(ops.sort([a(3, 9)], 1)[0], (0, 0), (3, 1)),
                  lambda a: ops.slice(ops.sort([a(3, 9)], 1)[0], (1, 8), (3, 9)),
                  lambda a: ops.slice(ops.sort([a(9)], 0, "GT")[0], (0,), (1,))),
         counter=(lambda a: ops.slice(ops.sort([a(9)], 0)[0], (0,), (2,)),
                  lambda a: [s := ops.sort([a(9)], 0)[0], ops.slice(s, (0,), (1,))]))
def end_of_sort_is_extreme(x, t, start, limit, strides):
    """sort(x)[0] = min(x), sort(x)[-1] = max(x)"""
    return _end(x, t, start, limit, strides, False)


@rewrite(_part_of_sort(), dtypes="float", changes="rounding",
         example=(lambda a: ops.slice(ops.sort([a(20, dtype="float32")], 0, loosely)[0], (0,), (1,)),
                  lambda a: ops.slice(ops.sort([a(20, dtype="float32")], 0, loosely)[0], (19,), (20,))),
         counter=(lambda a: ops.slice(ops.sort([a(9, dtype="float32")], 0, loosely)[0], (1,), (2,)),
                  lambda a: ops.slice(ops.sort([a(9, dtype="float32")], 0)[0], (0,), (1,))))
def end_of_float_sort_is_extreme(x, t, start, limit, strides):
    """sort(x)[0] = min(x) but for NaN, sort(x)[-1] = max(x), NaN being last; which of -0.0 and 0.0 is not defined"""
    return _end(x, t, start, limit, strides, True)


def _extreme(values: ir.Value, along: int, smallest: bool) -> ir.Value:
    dtype = dtype_of(values)
    if dtype.kind == "b":
        return ops.reduce(values, ops.constant(smallest, np.bool_), (along,), "and" if smallest else "or")
    if is_float(dtype):
        neutral = np.inf if smallest else -np.inf
    else:
        limits = np.iinfo(dtype)
        neutral = limits.max if smallest else limits.min
    return ops.reduce(values, ops.constant(neutral, dtype), (along,), "minimum" if smallest else "maximum")


def _loose_end(values: ir.Value, along: int, first: bool) -> ir.Value:
    """The first element in the order with NaN last, or the last one."""
    if not first:
        return _extreme(values, along, False)       # NaN if there is one
    shape, dtype = shape_of(values), dtype_of(values)
    missing = ops.compare(values, values, "NE")
    found = _extreme(ops.select(missing, np.inf, values), along, True)
    nothing = ops.reduce(missing, ops.constant(True), (along,), "and")
    return ops.select(nothing, ops.constant(np.nan, dtype, [m for j, m in enumerate(shape) if j != along]), found)


COMMUTING = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")


@rewrite(one_of(("stablehlo.reduce",), one_of(("stablehlo.sort",), x, template="s"), v, dimensions=d, template="t"),
         dtypes="integer",
         example=(lambda a: ops.reduce(ops.sort([a(3, 9)], 1)[0], 0, (1,), "add"),
                  lambda a: ops.reduce(ops.sort([a(3, 9)], 1)[0], a(), (0, 1), "maximum")),
         counter=lambda a: ops.reduce(ops.sort([a(3, 9)], 1)[0], 0, (0,), "add"))
def reduce_of_sort(x, s, v, d, t):
    """sum(sort(x)) = sum(x), for integers"""
    return _unsorted(x, s, v, d, t)


@rewrite(one_of(("stablehlo.reduce",), one_of(("stablehlo.sort",), x, template="s"), v, dimensions=d, template="t"),
         dtypes="inexact", changes="rounding",
         example=lambda a: ops.reduce(ops.sort([a(3, 9, dtype="float32")], 1, loosely)[0],
                                      ops.constant(0, np.float32), (1,), "add"),
         counter=lambda a: ops.reduce(ops.sort([a(3, 9, dtype="float32")], 1, loosely)[0],
                                      ops.constant(0, np.float32), (0,), "add"))
def sum_of_sort(x, s, v, d, t):
    """sum(sort(x)) = sum(x), in another order"""
    return _unsorted(x, s, v, d, t)


def _unsorted(x: ir.Value, s: Template, v: ir.Value, d: Sequence[int], t: Template) -> ir.Value | None:
    if t.body not in COMMUTING or dimension_of(s.op) not in d:
        return None
    return ops.reduce(x, v, d, t.body)


# ---- top_k ---------------------------------------------------------------------------------------------------------

def greatest(source: ir.Value, count: int) -> list[ir.Value]:
    shape = (*shape_of(source)[:-1], count)
    made = ops.create("chlo.top_k", [ops.tensor_type(shape, dtype_of(source)), ops.tensor_type(shape, np.dtype(
        np.int32))], [source], {"k": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), count)})
    return list(made.results)


@rewrite("chlo.top_k", example=(lambda a: ops.slice(greatest(a(9, dtype="int32"), 5)[0], (0,), (2,)),
                                lambda a: [ops.slice(w, (0,), (2,)) for w in greatest(a(9, dtype="int32"), 5)]),
         counter=(lambda a: [w := greatest(a(9, dtype="int32"), 5)[0], ops.slice(w, (0,), (2,))],
                  lambda a: ops.slice(greatest(a(9, dtype="int32"), 5)[0], (1,), (5,))))
def top_k_of_which_fewer_are_read(site: Site):
    """top_k(x, k)[:m] = top_k(x, m)"""
    extents = shape_of(site.results[0])
    slices = [r for result in site.results for r in readers(result)]
    if not slices or any(r.name != "stablehlo.slice" or set(r["strides"]) != {1} for r in slices):
        return None
    needed = max(r["limit_indices"][-1] for r in slices)
    if needed >= extents[-1]:
        return None
    made = greatest(site.operands[0], needed)
    grown = [ops.pad(m, 0, [0] * len(extents), [*[0] * (len(extents) - 1), extents[-1] - needed]) for m in made]
    return grown


@rewrite("chlo.top_k", example=(lambda a: greatest(a(3, 9, dtype="int32"), 1),
                                lambda a: greatest(a(20, dtype="float64"), 1),
                                lambda a: greatest(a(9, dtype="uint8"), 1)[1]),
         counter=lambda a: greatest(a(9, dtype="int32"), 2))
def top_one_is_extreme(site: Site):
    """top_k(x, 1) = the greatest element, NaN being greatest, and the first place where it stands

    XLA has a routine for float32; everything else it sorts.
    """
    source = site.operands[0]
    shape, dtype = shape_of(source), dtype_of(source)
    if shape_of(site.results[0])[-1] != 1 or shape[-1] < 1 or dtype.kind not in "iuf" \
            or dtype.kind == "f" and dtype.name != "float64" or 0 in shape:
        return None
    along, kept = len(shape) - 1, list(range(len(shape) - 1))
    keys = ordered_bits(source) if dtype.kind == "f" else source
    best = _extreme(keys, along, False)
    there = ops.compare(keys, ops.broadcast_in_dim(best, shape, kept), "EQ")
    place = _extreme(ops.select(there, _along(source), shape[-1]), along, True)
    value = from_ordered_bits(best, dtype) if dtype.kind == "f" else best
    return [ops.reshape(value, (*shape[:-1], 1)), ops.reshape(place, (*shape[:-1], 1))]


def ordered_bits(values: ir.Value) -> ir.Value:
    """Integers in the total order of floats."""
    return _mirrored(ops.bitcast_convert(values, f"int{8 * dtype_of(values).itemsize}"))


def from_ordered_bits(bits: ir.Value, dtype: np.dtype) -> ir.Value:
    """The floats of `ordered_bits`."""
    return ops.bitcast_convert(_mirrored(bits), dtype)


def _mirrored(raw: ir.Value) -> ir.Value:
    """Negative floats count backwards in their bits; the map is its own inverse."""
    mask = ops.shift_right_logical(ops.shift_right_arithmetic(raw, 8 * dtype_of(raw).itemsize - 1), 1)
    return ops.xor(raw, mask)
