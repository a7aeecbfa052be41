"""Loops whose first iteration is special, and loops that write in every iteration what stands there already.

    for i in range(n): u[1:-1] = f(u); u[0] = 0; u[-1] = 0

With zeros at the border when the loop begins, the writes at the border do nothing.
"""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.attributes import decode
from reactant.ir.induction import counters, trips
from reactant.ir.types import shape_of
from reactant.rewrite import CHANGED, Site, producer, rewrite
from reactant.rewrite.site import operation, operations_in
from reactant.simplify.control.loops import V
from reactant.simplify.facts.parts import Window, disjoint, update_window
from reactant.simplify.facts.while_loops import BODY, CONDITION, counted

UPDATE = "stablehlo.dynamic_update_slice"
PEELED_OPERATIONS = 40
"""A first iteration is written before the loop where an iteration has at most so many ops."""


# ---- borders -------------------------------------------------------------------------------------------------------

def _chain(value: ir.Value, end: ir.Value) -> list[ir.Operation]:
    """The updates by which `value` is made from `end`, last first; empty if it is made otherwise."""
    found: list[ir.Operation] = []
    while value != end:
        made = operation(value)
        if made is None or made.name != UPDATE:
            return []
        found.append(made)
        value = made.operands[0]
    return found


def holds(value: ir.Value, window: Window, content: np.ndarray) -> bool:
    """Whether a value is known to hold one number, bit for bit, in a window."""
    made = operation(value)
    if made is None:
        return False
    if made.name == "stablehlo.constant":
        return _same(ops.constant_value(value)[tuple(map(slice, *window))], content)
    if made.name == "stablehlo.broadcast_in_dim":
        number = ops.constant_value(made.operands[0])
        return number is not None and _same(number, content)
    if made.name == "stablehlo.pad":
        low, inner = decode(made.attributes["edge_padding_low"]), shape_of(made.operands[0])
        step = decode(made.attributes["interior_padding"])
        number = ops.constant_value(made.operands[1])
        middle = low, tuple(a + n + max(n - 1, 0) * s for a, n, s in zip(low, inner, step, strict=True))
        return number is not None and disjoint(window, middle) and _same(number, content)
    if made.name == UPDATE:
        written = update_window(value)
        if written is None:
            return False
        if written == window:
            number = ops.constant_value(made.operands[1])
            return number is not None and _same(number, content)
        return disjoint(written, window) and holds(made.operands[0], window, content)
    return False


def _same(found: np.ndarray, content: np.ndarray) -> bool:
    """Whether all elements are the bits of a number."""
    if found.dtype.kind not in "biuf" or not found.size or not content.size:
        return False
    raw = np.ascontiguousarray(found).reshape(-1).view(np.uint8).reshape(found.size, -1)
    wanted = np.ascontiguousarray(content).reshape(-1)[:1].view(np.uint8)
    return bool((raw == wanted).all())


_BORDER = counted([("%a", "%start", "%b", V)],
                  "%m = stablehlo.slice %a [1:2] : (tensor<3xf32>) -> tensor<1xf32>\n"
                  "%s = stablehlo.sine %m : tensor<1xf32>\n"
                  f"%u = stablehlo.dynamic_update_slice %a, %s, %one : ({V}, tensor<1xf32>, tensor<i32>) -> {V}\n"
                  f"%b = stablehlo.dynamic_update_slice %u, %edge, %zero : ({V}, tensor<1xf32>, tensor<i32>) -> {V}",
                  "%r#1", trips=9, before="%edge = stablehlo.constant dense<0.0> : tensor<1xf32>\n"
                  f"  %start = stablehlo.dynamic_update_slice %x, %edge, %zero : ({V}, tensor<1xf32>, tensor<i32>) "
                  f"-> {V}")


@rewrite("stablehlo.while", holds=("stablehlo.dynamic_update_slice",), example=_BORDER,
         counter=(_BORDER.replace("%a = %start", "%a = %x"),
                  _BORDER.replace("%u = stablehlo.dynamic_update_slice %a, %s, %one", "%u = "
                                  "stablehlo.dynamic_update_slice %a, %s, %i")))
def while_writes_what_is_there(site: Site):
    """a loop that writes a number in every iteration where that number stands from the start does not write it"""
    inits, arguments, returned = site.operands, site.arguments(BODY), site.returned(BODY)
    for i, argument in enumerate(arguments):
        chain = _chain(returned[i], argument)
        for op in chain:
            content, window = ops.constant_value(op.operands[1]), update_window(op.results[0])
            if content is None or window is None or not _same(content, content):
                continue
            others = [update_window(each.results[0]) for each in chain if each != op]
            if all(w is not None and (disjoint(w, window) or w == window and _alike(each, op))
                   for w, each in zip(others, (e for e in chain if e != op), strict=True)) \
                    and holds(inits[i], window, content):
                site.substitute(op.results[0], op.operands[0])
                return CHANGED
    return None


def _alike(a: ir.Operation, b: ir.Operation) -> bool:
    one, other = ops.constant_value(a.operands[1]), ops.constant_value(b.operands[1])
    return one is not None and other is not None and _same(one, other)


# ---- a special first iteration
# ------------------------------------------------------------------------------------------

_FIRST = counted([("%a", "%x", "%b", V)],
                 "%p = stablehlo.compare EQ, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                 f'%b = "stablehlo.if"(%p) ({{ %c = stablehlo.sine %a : {V} stablehlo.return %c : {V} }},'
                 f' {{ %d = stablehlo.exponential %a : {V} stablehlo.return %d : {V} }}) : (tensor<i1>) -> {V}',
                 "%r#1", trips=9)


@rewrite("stablehlo.while", holds=("stablehlo.if",), example=_FIRST,
         counter=_FIRST.replace("EQ, %i, %zero", "EQ, %i, %n"))
def first_iteration_is_peeled(site: Site):
    """for i in range(n): if i == 0: f else g = f; for i in range(1, n): g"""
    if operations_in(site.op) > PEELED_OPERATIONS:
        return None
    known = counters(site.op)
    starts = {site.arguments(BODY)[c.index]: c.start for c in known.values() if c.start is not None}
    if not any(op.name == "stablehlo.if" and _asks_for_first(op.operands[0], starts) for op in site.body(BODY)):
        return None
    iterations = trips(site.op, known)
    if iterations is None or not iterations.exact or iterations.most < 2:
        return None
    values = site.inline(BODY, site.operands)
    made = ops.create("stablehlo.while", [r.type for r in site.results], values, regions=2)
    site.take_block(CONDITION, made, CONDITION)
    site.take_block(BODY, made, BODY)
    return list(made.results)


def _asks_for_first(predicate: ir.Value, starts: dict[ir.Value, int]) -> bool:
    """Whether a condition holds, or fails, in the first iteration alone."""
    made = producer(predicate)
    if made is not None and made.name == "stablehlo.not":
        made = producer(made.operands[0])
    if made is None or made.name != "stablehlo.compare":
        return False
    counter, limit = made.operands
    number = ops.constant_value(limit)
    if number is None or counter not in starts:
        return False
    start, direction = starts[counter], made["comparison_direction"]
    return direction in ("EQ", "NE", "LE", "GT") and int(number) == start \
        or direction in ("LT", "GE") and int(number) == start + 1
