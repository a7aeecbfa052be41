"""if and case: known branches are inlined, results that need no branch leave it, cheap branches become selects."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import shape_of, size
from reactant.rewrite import CHANGED, Site, defined_in, inside, producer, pure, rewrite, users
from reactant.rewrite.site import operations_in

CHEAP_OPERATIONS = 12
CHEAP_ELEMENTS = 4_096
"""An if becomes selects where all of its branches together have at most this many ops and computed elements."""
UNSWITCHED_OPERATIONS = 24
"""A loop is written twice, once for each outcome of an if inside, where it has at most so many ops."""
SPECULATABLE = ops.ELEMENTWISE | {f"stablehlo.{n}" for n in (
    "constant", "iota", "reshape", "transpose", "broadcast_in_dim", "reverse", "slice", "pad", "concatenate",
    "dynamic_slice", "dynamic_update_slice", "optimization_barrier", "reduce")}
COSTLY = {f"stablehlo.{n}" for n in ("power", "sine", "cosine", "tan", "exponential", "log", "atan2", "cbrt", "tanh")}

HEAD = "(%p: tensor<i1>, %x: tensor<3xf32>, %y: tensor<3xf32>, %i: tensor<i32>) -> "
ONE = "tensor<3xf32>"


def example_of(result: str, body: str) -> str:
    """MLIR text of a function of %p, %x, %y, %i, for examples."""
    return f"{HEAD}{result} {{\n{body}\n}}"


def if_of(then: str, otherwise: str, types: str = ONE, predicate: str = "%p", count: int = 1) -> str:
    """MLIR text of an if, for examples."""
    name = "%r" if count == 1 else f"%r:{count}"
    return (f'{name} = "stablehlo.if"({predicate}) ({{ {then} }}, {{ {otherwise} }}) : (tensor<i1>) -> ({types})\n')


_NEGATE = "%a = stablehlo.negate %x : tensor<3xf32> stablehlo.return %a : tensor<3xf32>"
_ADD = "%b = stablehlo.add %x, %y : tensor<3xf32> stablehlo.return %b : tensor<3xf32>"
_RETURN = f"return %r : {ONE}"


@rewrite("stablehlo.if", example=(
    example_of(ONE, "%c = stablehlo.constant dense<true> : tensor<i1>\n"
               + if_of(_NEGATE, _ADD, predicate="%c") + _RETURN),
    example_of(ONE, "%c = stablehlo.constant dense<false> : tensor<i1>\n"
             + if_of(_NEGATE, _ADD, predicate="%c") + _RETURN)),
         counter=example_of(ONE, if_of(_NEGATE, _ADD) + _RETURN))
def if_with_known_predicate(site: Site):
    """if true then a else b = a"""
    known = ops.constant_value(site.operands[0])
    return None if known is None else site.inline(0 if known else 1, [])


@rewrite("stablehlo.case", example=example_of(ONE, (
    "%c = stablehlo.constant dense<7> : tensor<i32>\n"
    f'%r = "stablehlo.case"(%c) ({{ {_NEGATE} }}, {{ {_ADD} }}) : (tensor<i32>) -> {ONE}\n') + _RETURN))
def case_with_known_index(site: Site):
    """case k of branches = branch k, the last one where k is out of range"""
    known = ops.constant_value(site.operands[0])
    if known is None:
        return None
    last = len(site.op.regions) - 1
    return site.inline(int(known) if 0 <= int(known) <= last else last, [])


@rewrite("stablehlo.case", example=example_of(ONE, (
    f'%r = "stablehlo.case"(%i) ({{ {_NEGATE} }}, {{ {_ADD} }}) : (tensor<i32>) -> {ONE}\n') + _RETURN))
def case_of_two_is_if(site: Site):
    """case i of a, b = if i == 0 then a else b"""
    if len(site.op.regions) != 2:
        return None
    predicate = ops.compare(site.operands[0], 0, "EQ")
    made = ops.create("stablehlo.if", [r.type for r in site.results], [predicate], regions=2)
    site.take_block(0, made, 0)
    site.take_block(1, made, 1)
    return list(made.results)


@rewrite("stablehlo.if", example=example_of(ONE, (
    "%n = stablehlo.not %p : tensor<i1>\n" + if_of(_NEGATE, _ADD, predicate="%n")) + _RETURN))
def if_not(site: Site):
    """if not p then a else b = if p then b else a"""
    made = producer(site.operands[0])
    if made is None or made.name != "stablehlo.not":
        return None
    swapped = ops.create("stablehlo.if", [r.type for r in site.results], made.operands, regions=2)
    site.take_block(0, swapped, 1)
    site.take_block(1, swapped, 0)
    return list(swapped.results)


@rewrite("stablehlo.if", example=(
    example_of(ONE, if_of(f"stablehlo.return %x, %y : {ONE}, {ONE}", f"stablehlo.return %y, %y : {ONE}, {ONE}",
                      f"{ONE}, {ONE}", count=2) + f"%s = stablehlo.add %r#0, %r#1 : {ONE}\nreturn %s : {ONE}"),
    example_of(ONE, if_of(f"%a = stablehlo.negate %x : {ONE} stablehlo.return %x, %a : {ONE}, {ONE}",
                      f"stablehlo.return %y, %y : {ONE}, {ONE}", f"{ONE}, {ONE}", count=2) + f"return %r#0 : {ONE}"),
    example_of("tensor<i1>", "%t = stablehlo.constant dense<true> : tensor<i1>\n"
             "%f = stablehlo.constant dense<false> : tensor<i1>\n"
             + if_of("stablehlo.return %t : tensor<i1>", "stablehlo.return %f : tensor<i1>", "tensor<i1>")
             + "return %r : tensor<i1>")),
         counter=example_of(ONE, if_of(_NEGATE, _ADD) + _RETURN))
def if_result_needs_no_branch(site: Site):
    """results of an if that both branches give alike, that are the predicate itself, or that nobody reads leave it"""
    results, replacements = site.results, {}
    then, otherwise = site.returned(0), site.returned(1)
    unused = [i for i in range(len(results)) if not site.used(i)]
    for i, (a, b) in enumerate(zip(then, otherwise, strict=True)):
        outer = not defined_in(a, site.op) and not defined_in(b, site.op)
        if a == b and outer:
            replacements[i] = a
        elif outer and _truth(a) is True and _truth(b) is False:
            replacements[i] = site.operands[0]
    kept = [i for i in range(len(results)) if i not in replacements and i not in unused]
    if len(kept) == len(results) or not kept and not pure(site.op):
        return None
    fill = {i: replacements.get(i) for i in range(len(results))}
    if kept:
        made = ops.create("stablehlo.if", [results[i].type for i in kept], site.operands, regions=2)
        for region, values in ((0, then), (1, otherwise)):
            site.set_returned(site.terminator(region), [values[i] for i in kept])
            site.take_block(region, made, region)
        fill |= dict(zip(kept, made.results, strict=True))
    return [fill[i] if fill[i] is not None else _any_value(results[i]) for i in range(len(results))]


def _truth(value: ir.Value) -> bool | None:
    """True or False for a constant 0-d predicate."""
    known = ops.constant_value(value)
    return bool(known) if known is not None and known.dtype.kind == "b" and known.ndim == 0 else None


def _any_value(like: ir.Value) -> ir.Value:
    """Something of the type of a value nobody reads."""
    return ops.splat(0, like)


_SORT = f"""%a = "stablehlo.sort"(%x) ({{
  ^bb0(%u: tensor<f32>, %v: tensor<f32>):
    %w = stablehlo.add %u, %v : tensor<f32>
    %o = stablehlo.compare LT, %w, %v, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %o : tensor<i1>
}}) {{dimension = 0 : i64}} : ({ONE}) -> {ONE}
stablehlo.return %a : {ONE}
"""


@rewrite("stablehlo.if", example=(
    example_of(ONE, if_of(_NEGATE, _NEGATE.replace("%a", "%b")) + _RETURN),
    example_of(ONE, if_of(_SORT, _SORT) + _RETURN)),
         counter=(example_of(ONE, if_of(_NEGATE, _ADD) + _RETURN),
                  example_of(ONE, if_of(_SORT, _SORT.replace("%w, %v", "%v, %w")) + _RETURN)))
def if_of_equal_branches(site: Site):
    """if p then a else a = a"""
    if len(site.body(0)) > 50 or not equal_regions(site.op.regions[0], site.op.regions[1]):
        return None
    return site.inline(0, [])


def equal_regions(left: ir.Region, right: ir.Region, known: Mapping[ir.Value, ir.Value] | None = None) -> bool:
    """Whether two regions of single blocks hold the same ops on the same values; where constants stand does not
    matter. known: which values around the regions stand for each other."""
    mapping = {**(known or {}), **dict(zip(left.blocks[0].arguments, right.blocks[0].arguments, strict=False))}
    for x, y in zip_longest(_working(left), _working(right)):
        if x is None or y is None or x.name != y.name or len(x.regions) != len(y.regions):
            return False
        if len(x.operands) != len(y.operands) or not all(
                mapping.get(v, v) == w or same_constant(v, w) for v, w in zip(x.operands, y.operands, strict=True)):
            return False
        if not _same_attributes(x, y) or [r.type for r in x.results] != [r.type for r in y.results] \
                or not all(equal_regions(a, b, mapping) for a, b in zip(x.regions, y.regions, strict=True)):
            return False
        mapping.update(zip(x.results, y.results, strict=True))
    return True


def _working(region: ir.Region) -> Iterator[ir.Operation]:
    """The ops of a region, constants left out."""
    return (child.operation for child in region.blocks[0] if child.operation.name != "stablehlo.constant")


def same_constant(v: ir.Value, w: ir.Value) -> bool:
    """Whether two values are equal constants, bit for bit."""
    if v.type != w.type:
        return False
    a, b = ops.constant_value(v), ops.constant_value(w)
    return a is not None and b is not None and a.tobytes() == b.tobytes()


def _same_attributes(x: ir.Operation, y: ir.Operation) -> bool:
    return {k: x.attributes[k] for k in x.attributes} == {k: y.attributes[k] for k in y.attributes}


@rewrite("stablehlo.if", example=(
    example_of(ONE, if_of(_NEGATE, _ADD) + _RETURN),
    example_of(ONE, if_of(f"%a = stablehlo.negate %x : {ONE} stablehlo.return %x, %a : {ONE}, {ONE}",
                      f"stablehlo.return %y, %y : {ONE}, {ONE}", f"{ONE}, {ONE}", count=2)
             + f"%s = stablehlo.add %r#0, %r#1 : {ONE}\nreturn %s : {ONE}")),
         counter=example_of(ONE, if_of("%a = stablehlo.power %x, %x : tensor<3xf32> "
                                       "stablehlo.return %a : tensor<3xf32>", _ADD).replace("3xf32", "5000xf32")
                             + _RETURN.replace("3xf32", "5000xf32"))
         .replace("3xf32", "5000xf32"))
def cheap_if_is_select(site: Site):
    """if p then a else b = select(p, a, b) where computing both costs next to nothing"""
    both = [child for region in (0, 1) for child in site.body(region)]
    if not is_cheap(both) or _waits_to_be_unswitched(site, both) \
            or sum(size(shape_of(r)) for r in site.results) > CHEAP_ELEMENTS:
        return None
    predicate = site.operands[0]
    then, otherwise = site.inline(0, []), site.inline(1, [])
    return [a if a == b else ops.select(predicate, a, b) for a, b in zip(then, otherwise, strict=True)]


def _waits_to_be_unswitched(site: Site, both: Sequence[ir.Operation]) -> bool:
    """Whether an if with something costly stands in a loop in which its condition stays the same: it will leave it."""
    around = site.op.parent
    return around is not None and around.operation.name == "stablehlo.while" and not defined_in(
        site.operands[0], around.operation) and any(child.name in COSTLY for child in both) \
        and operations_in(around.operation) <= UNSWITCHED_OPERATIONS


def is_cheap(body: Sequence[ir.Operation]) -> bool:
    """Whether ops may run although nobody asked for them, and take no time to speak of."""
    working = [child for child in body if child.name != "stablehlo.constant"]
    return len(working) <= CHEAP_OPERATIONS and all(child.name in SPECULATABLE for child in body) \
        and sum(map(computed, working)) <= CHEAP_ELEMENTS


def computed(op: ir.Operation) -> int:
    """How many elements an op computes, or reads where it reduces them; those of a sine or a power count as eight."""
    elements = size(shape_of(op.operands[0] if op.name == "stablehlo.reduce" else op.results[0]))
    return elements * (8 if op.name in COSTLY else 1)


@rewrite("stablehlo.if", example=example_of(ONE, if_of(
    if_of(_NEGATE, _ADD).replace("%r", "%q") + f"stablehlo.return %q : {ONE}", _ADD.replace("%b", "%d")) + _RETURN),
         counter=example_of(ONE, if_of(_NEGATE, _ADD) + _RETURN))
def if_knows_its_predicate(site: Site):
    """inside the branches of if p, p is true, or false"""
    predicate = site.operands[0]
    if users(predicate) == 1:       # by the if itself
        return None
    found = [[child for child in inside_region(site.op, region) if predicate in list(child.operands)]
             for region in (0, 1)]
    if not any(found):
        return None
    for region, readers in enumerate(found):
        if readers:
            with ir.InsertionPoint.at_block_begin(site.block(region)):
                known = ops.constant(region == 0, np.bool_)
            for reader in readers:
                for i, operand in enumerate(reader.operands):
                    if operand == predicate:
                        reader.operands[i] = known
    return CHANGED


def inside_region(op: ir.Operation, region: int) -> list[ir.Operation]:
    """The ops of one region, at any depth."""
    found = []
    for child in op.regions[region].blocks[0]:
        found.append(child.operation)
        found.extend(inside(child.operation))
    return found
