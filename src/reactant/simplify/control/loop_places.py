"""while loops: where they work. One place of an array is carried instead of the array, and counters are the indices.

    for k in range(n): c[i, j] += a[i, k] * b[k, j]     w = c[i, j]; for k in range(n): w += ...; c[i, j] = w
    for k in range(n - i): c[i + k] = ...               for j in range(i, n): c[j] = ...
    for k in range(n): w += c[k]; c[k] = 0              for k in range(n): w += c[k]
"""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.batching.accesses import EARLIER, TripCount, Window, apart, equal_starts, read_window, window_of
from reactant.batching.analysis import block_ops
from reactant.batching.windows import read_fixed, write_last
from reactant.ir import attributes as attr
from reactant.ir import creation, ops
from reactant.ir.induction import counters, range_of, trips
from reactant.ir.ops import constant_value
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite import CHANGED, Site, defined_in, rewrite, users
from reactant.rewrite.site import uses
from reactant.simplify.facts.while_loops import BODY, CONDITION, counted

READ, UPDATE = "stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice"


def place_of(iterations: TripCount, index: int) -> tuple[Window, list[ir.Operation], list[ir.Operation]] | None:
    """The one window of carried array `index` that the iterations read and write, its reads and its writes."""
    writes = writes_of(iterations.loop, index)
    if writes is None:
        return None
    windows = [window_written(iterations, writes[0])]
    if any(start is None or start.step for start in windows[0].starts):
        return None
    reads = reads_of(iterations.loop, index, writes)
    if reads is None:
        return None
    windows += [window_written(iterations, write) for write in writes[1:]]
    windows += [read_window(iterations, op) for op in reads]
    argument = iterations.loop.regions[BODY].blocks[0].arguments[index]
    same = all(equal_starts(windows[0], other) for other in windows[1:])
    smaller = 2 * size(windows[0].sizes) <= size(shape_of(argument))
    return (windows[0], reads, writes) if same and smaller else None


def writes_of(loop: ir.Operation, index: int) -> list[ir.Operation] | None:
    """The updates that make what an iteration leaves of carried array `index`, the last one first. None where there is
    none, where it is made otherwise, or where the condition reads the array."""
    condition, block = (region.blocks[0] for region in loop.regions)
    argument, value = block.arguments[index], block.operations[-1].operation.operands[index]
    found: list[ir.Operation] = []
    while value != argument:
        made = creation.made(value, UPDATE)
        if made is None:
            return None
        found.append(made.operation)
        value = made.operands[0]
    return None if not found or users(condition.arguments[index]) else found


def reads_of(loop: ir.Operation, index: int, writes: list[ir.Operation]) -> list[ir.Operation] | None:
    """The slices that the body takes of carried array `index` before and after its writes; None where something else
    uses it."""
    block = loop.regions[BODY].blocks[0]
    terminator = block.operations[-1].operation
    found: list[ir.Operation] = []
    made = {write.results[0] for write in writes}
    for version in (block.arguments[index], *made):
        for use in uses(version):
            op = use.owner.operation
            if op == terminator and use.operand_number == index or len(op.results) == 1 and op.results[0] in made \
                    and use.operand_number == 0:
                continue
            if op.name != READ or op.block != block or use.operand_number:
                return None
            found.append(op)
    return found


def window_written(iterations: TripCount, update: ir.Operation) -> Window:
    array, content, *starts = update.operands
    return window_of(iterations, array, starts, shape_of(content))


_ROW = ("%s = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<3xf32>, tensor<i32>) -> tensor<1xf32>\n"
        "%o = stablehlo.dynamic_slice %a, %one, sizes = [1] : (tensor<3xf32>, tensor<i32>) -> tensor<1xf32>\n"
        "%m = stablehlo.multiply %o, %s : tensor<1xf32>\n%t = stablehlo.add %m, %s : tensor<1xf32>\n"
        "%b = stablehlo.dynamic_update_slice %a, %t, {} : (tensor<3xf32>, tensor<1xf32>, tensor<i32>) -> tensor<3xf32>")


@rewrite("stablehlo.while", holds=(UPDATE,),
         example=tuple(counted([("%a", "%y", "%b", "tensor<3xf32>")], _ROW.format("%one"), "%r#1", trips=n)
                       for n in (0, 3)),
         counter=counted([("%a", "%y", "%b", "tensor<3xf32>")], _ROW.format("%i"), "%r#1"))
def while_works_on_one_place(site: Site):
    """a carried array of which the iterations read and write one window only: the window is carried"""
    iterations = TripCount(site.op, counters(site.op), 1)
    for index in range(len(site.operands)):
        found = place_of(iterations, index)
        if found is not None:
            return _carry_place(site, index, *found)
    return None


def _carry_place(site: Site, index: int, window: Window, reads: list[ir.Operation],
                 writes: list[ir.Operation]) -> list[ir.Value]:
    inits, arguments = site.operands, site.arguments(BODY)
    body, returned = block_ops(site.block(BODY))
    read, written = {op.results[0] for op in reads}, {op.results[0] for op in writes}

    def iteration(*values: ir.Value) -> list[ir.Value]:
        mapping = dict(zip(arguments, values, strict=True))
        for op in body:
            result = op.results[0] if len(op.results) == 1 else None
            if result in read:
                mapping[result] = mapping[op.operands[0]]
            elif result in written:
                mapping[result] = mapping.get(op.operands[1], op.operands[1])
            else:
                site.clone(op, mapping)
        return [mapping.get(value, value) for value in returned]

    def condition(*values: ir.Value) -> ir.Value:
        return site.inline(CONDITION, values)[0]

    carried = list(inits)
    carried[index] = read_fixed(inits[index], window)
    results = ops.while_(carried, condition, iteration)
    results[index] = write_last(inits[index], results[index], window)
    return results


_TAKEN = [("%a", "%x", "%b", "tensor<3xf32>"), ("%w", "%f", "%v", "tensor<1xf32>")]
_CLEARED = """%s = stablehlo.dynamic_slice %a, {read}, sizes = [1] : (tensor<3xf32>, tensor<i32>) -> tensor<1xf32>
%v = stablehlo.subtract %s, %w : tensor<1xf32>
%b = stablehlo.dynamic_update_slice %a, %v, {write} : (tensor<3xf32>, tensor<1xf32>, tensor<i32>) -> tensor<3xf32>"""
_START = "%f = stablehlo.slice %y [0:1] : (tensor<3xf32>) -> tensor<1xf32>"


def _taken(read: str, write: str, out: str = "%r#2", result: str = "tensor<1xf32>", trips: int = 3) -> str:
    return counted(_TAKEN, _CLEARED.format(read=read, write=write), out, result, trips, _START)


@rewrite("stablehlo.while", holds=(UPDATE,), example=tuple(_taken("%i", "%i", trips=n) for n in (0, 2, 3)),
         counter=(_taken("%zero", "%i"), _taken("%i", "%one"), _taken("%i", "%i", "%r#1", "tensor<3xf32>")))
def while_overwrites_what_it_has_read(site: Site):
    """places of a carried array that no later iteration reads and nobody after the loop need not be written"""
    bound, iterations = trips(site.op), TripCount(site.op, counters(site.op), 1)
    for i, argument in enumerate(site.arguments(BODY) if bound is not None else ()):
        if shape_of(argument) and not site.used(i) and not users(site.arguments(CONDITION)[i]) \
                and _writes_are_not_read(iterations, i, bound.most):
            returned = site.returned(BODY)
            site.set_returned(site.terminator(BODY), [*returned[:i], argument, *returned[i + 1:]])
            return CHANGED
    return None


def _writes_are_not_read(iterations: TripCount, index: int, count: int) -> bool:
    """Whether carried array `index` is updated, by updates of which no later iteration reads anything."""
    block = iterations.loop.regions[1].blocks[0]
    terminator = block.operations[-1].operation
    argument, value = block.arguments[index], terminator.operands[index]
    writes: list[ir.Operation] = []
    while value != argument:
        made = creation.made(value, UPDATE)
        if made is None or users(value) != 1:
            return False
        writes.append(made.operation)
        value = made.operands[0]
    reads = [use.owner.operation for use in uses(argument)
             if not (use.owner.operation == (writes[-1] if writes else terminator) and use.operand_number == 0)]
    if not writes or any(op.name not in (READ, "stablehlo.slice") or op.block != block for op in reads):
        return False
    written = [window_written(iterations, write) for write in writes]
    return all(apart(w, read_window(iterations, op), count, EARLIER) for w in written for op in reads)


# ---- counters ------------------------------------------------------------------------------------------------------

_OFFSET = counted([("%a", "%y", "%b", "tensor<3xf32>")],
                  "%j = stablehlo.add OFFSET, %i : tensor<i32>\n"
                  "%s = stablehlo.dynamic_slice %x, %j, sizes = [1] : (tensor<3xf32>, tensor<i32>) -> tensor<1xf32>\n"
                  "%b = stablehlo.dynamic_update_slice %a, %s, %j : (tensor<3xf32>, tensor<1xf32>, tensor<i32>) "
                  "-> tensor<3xf32>", "%r#1",
                  before="%f = stablehlo.constant dense<0> : tensor<i32>\n"
                  "%g = stablehlo.constant dense<2> : tensor<i32>\n"
                  "%m = stablehlo.clamp %f, %n, %g : tensor<i32>\n%rest = stablehlo.subtract %g, %m : tensor<i32>")


@rewrite("stablehlo.while", example=_OFFSET.replace("OFFSET", "%m").replace("%i, %last :", "%i, %rest :"),
         counter=(_OFFSET.replace("OFFSET", "%m"),
                  _OFFSET.replace("OFFSET", "%one").replace("%i, %last :", "%i, %rest :")))
def while_counts_from_offset(site: Site):
    """for k in range(n): f(m + k) = for j in range(m, m + n): f(j), where m and n are known only at run time"""
    block = site.block(CONDITION)
    body, (predicate,) = block_ops(block)
    if len(body) != 1 or body[0].name != "stablehlo.compare" \
            or attr.decode(body[0].attributes["comparison_direction"]) != "LT":
        return None
    left, bound = body[0].operands
    if left not in list(block.arguments) or defined_in(bound, site.op) or constant_value(bound) is not None:
        return None
    index = list(block.arguments).index(left)
    counter = counters(site.op).get(index)
    if counter is None or counter.start != 0 or counter.step != 1 or site.used(index):
        return None
    argument = site.arguments(BODY)[index]
    shifted = [(op, offset) for use in uses(argument) if (op := use.owner.operation).name == "stablehlo.add"
               for offset in op.operands if offset != argument and not defined_in(offset, site.op)
               and constant_value(offset) is None]
    if not shifted or any(offset != shifted[0][1] for _, offset in shifted):
        return None
    offset = shifted[0][1]
    reach, most = range_of(offset), range_of(bound)
    limit = np.iinfo(dtype_of(offset)).max
    if reach is None or most is None or reach[1] + max(most[1], 0) > limit:
        return None
    return _counted_from(site, index, offset, bound, {op.results[0] for op, _ in shifted})


def _counted_from(site: Site, index: int, offset: ir.Value, bound: ir.Value, shifted: set[ir.Value]) -> list[ir.Value]:
    inits, arguments = site.operands, site.arguments(BODY)
    body, returned = block_ops(site.block(BODY))
    end = ops.add(offset, bound)

    def iteration(*values: ir.Value) -> list[ir.Value]:
        mapping = dict(zip(arguments, values, strict=True))
        mapping[arguments[index]] = ops.subtract(values[index], offset)
        for op in body:
            if len(op.results) == 1 and op.results[0] in shifted:
                mapping[op.results[0]] = values[index]
            else:
                site.clone(op, mapping)
        after = [mapping.get(value, value) for value in returned]
        after[index] = ops.add(values[index], 1)
        return after

    carried = list(inits)
    carried[index] = offset
    return ops.while_(carried, lambda *values: ops.compare(values[index], end, "LT"), iteration)
