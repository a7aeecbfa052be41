"""Loops and branches together: equal loops are one, so are branches of one condition; what branches share leaves them,
and a condition that does not change is asked before the loop.
"""
from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from jaxlib.mlir import ir

from reactant.ir import creation, ops
from reactant.ir.types import shape_of, size
from reactant.rewrite import CHANGED, Site, captures, defined_in, pure, rewrite, users
from reactant.rewrite.site import operation, operations_in, readers, uses
from reactant.simplify.control.control_flow import (
    COSTLY,
    ONE,
    UNSWITCHED_OPERATIONS,
    equal_regions,
    example_of,
    if_of,
    is_cheap,
    same_constant,
)
from reactant.simplify.control.loops import V, is_generated
from reactant.simplify.facts.while_loops import BODY, CONDITION, counted

FEW_READERS, MANY_READERS = 16, 256
"""How many readers of one value are looked through for a twin."""
IN_LOOPS = ops.ELEMENTWISE | {f"stablehlo.{n}" for n in ("broadcast_in_dim", "iota", "reshape", "slice", "pad")}
FEW_ELEMENTS = 256
"""What is computed where it is needed, and how many elements of it may be stored (20,000 of `1 + x`, which both
branches begin with: 16.4 us, 10.9 where each computes it)."""

# ---- equal loops and branches --------------------------------------------------------------------------------------

def _twin(op: ir.Operation) -> ir.Operation | None:
    """An earlier op in the same block with the same operands and equal regions."""
    given = [v for v in op.operands if creation.made(v, "stablehlo.constant") is None]
    anchors, counts = given, list(map(_readers, given))
    if not anchors or min(counts) > FEW_READERS:      # then what it captures may say more
        anchors = [*given, *(v for v in captures(op) if creation.made(v, "stablehlo.constant") is None)]
        counts = list(map(_readers, anchors))
    if not anchors:
        return None
    least = counts.index(min(counts))
    for reader in islice(readers(anchors[least]), MANY_READERS):
        if least < len(given):      # the other is given it, too
            other = reader.op if reader.name == op.name and reader.op.block == op.block else None
        else:
            other = _in_block(reader.op, op.block)
        if other is None or other.name != op.name or other == op:
            continue
        creation.owner(other.results[0])    # its regions are looked at too
        if not other.is_before_in_block(op) \
                or any(v != w and not same_constant(v, w) for v, w in zip(other.operands, op.operands, strict=False)) \
                or len(other.operands) != len(op.operands) or len(other.regions) != len(op.regions) \
                or [r.type for r in other.results] != [r.type for r in op.results]:
            continue
        if all(equal_regions(a, b) for a, b in zip(other.regions, op.regions, strict=True)):
            return other
    return None


def _readers(value: ir.Value) -> int:
    """How often a value is read, if not more than a little more than a few times."""
    return sum(1 for _ in islice(uses(value), FEW_READERS + 1))


def _in_block(op: ir.Operation, block: ir.Block) -> ir.Operation | None:
    """The op of a block that is, or holds, an op."""
    while op is not None and op.name not in ("func.func", "builtin.module"):
        if op.block == block:
            return op
        op = op.parent.operation if op.parent is not None else None
    return None


_LOOP = f"%b = stablehlo.sine %a : {V}"
_TWO_LOOPS = counted([("%a", "%x", "%b", V)], _LOOP, "%s", trips=9, after=f"""
  %q:2 = stablehlo.while(%j = %zero, %d = %x) : tensor<i32>, {V}
  cond {{
    %p = stablehlo.compare LT, %j, %last : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %then = stablehlo.add %j, %one : tensor<i32>
    %e = stablehlo.OP %d : {V}
    stablehlo.return %then, %e : tensor<i32>, {V}
  }}
  %s = stablehlo.add %r#1, %q#1 : {V}""")


@rewrite("stablehlo.while", example=_TWO_LOOPS.replace("OP", "sine"), counter=_TWO_LOOPS.replace("OP", "cosine"))
def equal_loops_are_one(site: Site):
    """two loops that start alike and do alike are one"""
    other = _twin(site.op)
    return None if other is None or not pure(site.op) else list(other.results)


_ADD = "%b = stablehlo.add %x, %y : tensor<3xf32> stablehlo.return %b : tensor<3xf32>"
_NEGATE = "%a = stablehlo.negate %x : tensor<3xf32> stablehlo.return %a : tensor<3xf32>"
_SINE = "%a = stablehlo.sine %x : tensor<3xf32> stablehlo.return %a : tensor<3xf32>"
_SUM = f"%s = stablehlo.add %r, %q : {ONE}\nreturn %s : {ONE}"


@rewrite("stablehlo.if",
         example=(example_of(ONE, if_of(_SINE, _ADD) + if_of(_NEGATE, _SINE).replace("%r", "%q") + _SUM),
                  example_of(ONE, if_of(_SINE, _ADD) + if_of(_SINE, _ADD).replace("%r", "%q") + _SUM)),
         counter=(example_of(ONE, if_of(_SINE, _ADD) + f"%t = stablehlo.negate %r : {ONE}\n"
                             + if_of(_NEGATE.replace("%x", "%t"), _SINE).replace("%r", "%q") + _SUM),
                  example_of(ONE, if_of(_SINE, _ADD) + if_of(_NEGATE, _SINE, predicate="%o").replace("%r", "%q")
                             + _SUM).replace("%i: tensor<i32>", "%o: tensor<i1>")))
def ifs_of_one_condition(site: Site):
    """if p then a else b; if p then c else d = if p then a, c else b, d, where the second needs nothing of the first"""
    earlier = _companion(site)
    if earlier is None:
        return None
    types = [r.type for r in (*earlier.results, *site.results)]
    made = ops.create("stablehlo.if", types, site.operands, regions=2)
    for region in (0, 1):
        block = made.regions[region].blocks.append()
        with ir.InsertionPoint(block):
            returned = []
            for op in (earlier, site.op):
                old = op.regions[region].blocks[0]
                mapping: dict[ir.Value, ir.Value] = {}
                program = [each.operation for each in old.operations]
                for each in program[:-1]:
                    site.clone(each, mapping)
                returned += [mapping.get(v, v) for v in program[-1].operands]
            ops.create("stablehlo.return", [], returned)
    count = len(earlier.results)
    for old, new in zip(earlier.results, list(made.results)[:count], strict=True):
        site.substitute(old, new)
    return list(made.results)[count:]


def _companion(site: Site) -> ir.Operation | None:
    """An earlier if of the same condition, whose results nothing reads before this one."""
    op = site.op
    if users(op.operands[0]) < 2 or not pure(op):
        return None
    needed = set(captures(op))
    for reader in islice(readers(op.operands[0]), MANY_READERS):
        other = reader.op
        if other.name != "stablehlo.if" or other == op or other.block != op.block:
            continue
        creation.owner(other.results[0])    # its regions are looked at too
        if not other.is_before_in_block(op) \
                or not pure(other) or not any(users(r) for r in other.results):
            continue
        early = [use for r in other.results for use in readers(r)
                 if (top := _in_block(use.op, op.block)) is not None and top.is_before_in_block(op)]
        if not early and not needed & set(other.results) and not any(
                use.op == op or _in_block(use.op, op.block) == op for r in other.results for use in readers(r)):
            return other
    return None


# ---- what branches share -------------------------------------------------------------------------------------------

_SAME_HEAD = if_of(
    "%s1 = stablehlo.sine %x : tensor<3xf32> %a = stablehlo.add %s1, %y : tensor<3xf32> "
    "stablehlo.return %a : tensor<3xf32>",
    "%s2 = stablehlo.sine %x : tensor<3xf32> %b = stablehlo.multiply %s2, %y : tensor<3xf32> "
    "stablehlo.return %b : tensor<3xf32>")
_RETURN = f"return %r : {ONE}"


@rewrite("stablehlo.if", example=example_of(ONE, _SAME_HEAD + _RETURN),
         counter=example_of(ONE, _SAME_HEAD.replace("%s2 = stablehlo.sine", "%s2 = stablehlo.cosine") + _RETURN))
def branches_begin_alike(site: Site):
    """if p then f(g(x)) else h(g(x)) = y = g(x); if p then f(y) else h(y)"""
    left, right = site.body(0), site.body(1)
    if {op.name for op in left}.isdisjoint({op.name for op in right} - {"stablehlo.constant"}):
        return None
    pairs = _worth_moving(_shared(site, left, right))
    if not any(not is_generated(a) for a, _ in pairs):
        return None
    for one, other in pairs:
        site.move_before(one)
        for mine, theirs in zip(one.results, other.results, strict=True):
            site.substitute(theirs, mine)
    return CHANGED


def _worth_moving(pairs: Sequence[tuple[ir.Operation, ir.Operation]]) -> list[tuple[ir.Operation, ir.Operation]]:
    """Without what a branch computes in the loop that needs it: outside, an array would be stored between the two. What
    others are computed from moves with them."""
    kept: list[tuple[ir.Operation, ir.Operation]] = []
    needed: set[ir.Value] = set()
    for one, other in reversed(pairs):
        in_loops = one.name in IN_LOOPS and all(size(shape_of(r)) > FEW_ELEMENTS for r in one.results)
        if not in_loops or needed & set(one.results):
            kept.append((one, other))
            needed.update(one.operands)
    return kept[::-1]


def _shared(site: Site, left: Sequence[ir.Operation], right: Sequence[ir.Operation]
            ) -> list[tuple[ir.Operation, ir.Operation]]:
    """Equal ops of both branches that need nothing made inside, but what is shared already."""
    same: dict[ir.Value, ir.Value] = {}

    def key(op: ir.Operation) -> tuple:
        return op.name, tuple([same.get(v, v) for v in op.operands]), _attributes(op)

    place = {result: number for number, op in enumerate(right) for result in op.results}
    waiting: dict[tuple, list[int]] = {}
    for number, op in enumerate(right):
        waiting.setdefault(key(op), []).append(number)
    pairs, taken, outer = [], set(), set()
    for op in left:
        if len(op.regions) or not all(v in outer or not defined_in(v, site.op) for v in op.operands) or not pure(op):
            continue
        wanted = op.name, tuple(op.operands), _attributes(op)
        for number in sorted(waiting.get(wanted, ())):
            other = right[number]
            if number in taken or key(other) != wanted or not any(users(r) for r in other.results) \
                    or [r.type for r in op.results] != [r.type for r in other.results]:
                continue
            taken.add(number)
            same.update(zip(other.results, op.results, strict=True))
            outer.update(op.results)
            pairs.append((op, other))
            for reader in {place[r] for value in other.results for use in uses(value)
                           for r in use.owner.operation.results if r in place}:
                waiting.setdefault(key(right[reader]), []).append(reader)
            break
    return pairs


def _attributes(op: ir.Operation) -> object:
    """All attributes of an op as something comparable."""
    try:
        return frozenset((name, op.attributes[name]) for name in op.attributes)
    except (TypeError, ValueError):     # complex numbers: the bindings cannot cast them
        return op.get_asm(use_local_scope=True, assume_verified=True)


_SAME_TAIL = if_of(
    "%s1 = stablehlo.sine %x : tensor<3xf32> %a = stablehlo.exponential %s1 : tensor<3xf32> "
    "stablehlo.return %a : tensor<3xf32>",
    "%s2 = stablehlo.cosine %x : tensor<3xf32> %b = stablehlo.exponential %s2 : tensor<3xf32> "
    "stablehlo.return %b : tensor<3xf32>")


@rewrite("stablehlo.if", example=example_of(ONE, _SAME_TAIL + _RETURN),
         counter=example_of(ONE, _SAME_TAIL.replace("%b = stablehlo.exponential", "%b = stablehlo.tanh") + _RETURN))
def branches_end_alike(site: Site):
    """if p then f(x) else f(y) = f(if p then x else y)"""
    then, otherwise = site.returned(0), site.returned(1)
    for index, (a, b) in enumerate(zip(then, otherwise, strict=True)):
        found = _tail(site, a, b)
        if found is None:
            continue
        one, position = found
        other = operation(b)
        results = [r.type for r in site.results]
        results[index] = one.operands[position].type
        for region, op in ((0, one), (1, other)):
            values = site.returned(region)
            values[index] = op.operands[position]
            site.set_returned(site.terminator(region), values)
        made = ops.create("stablehlo.if", results, site.operands, regions=2)
        site.take_block(0, made, 0)
        site.take_block(1, made, 1)
        operands = [made.results[index] if i == position else v for i, v in enumerate(one.operands)]
        again = ops.create(one.name, [r.type for r in one.results], operands,
                           {k: one.attributes[k] for k in one.attributes})
        return [again.results[0] if i == index else r for i, r in enumerate(made.results)]
    return None


def _tail(site: Site, a: ir.Value, b: ir.Value) -> tuple[ir.Operation, int] | None:
    """The op that makes both values, and the only operand in which they differ, no larger than the result."""
    one, other = operation(a), operation(b)
    if one is None or other is None or a == b or one.name != other.name or len(one.regions) or len(one.results) > 1 \
            or not defined_in(a, site.op) or not defined_in(b, site.op) or users(a) > 1 or users(b) > 1 \
            or not pure(one) or one.name == "stablehlo.constant" or len(one.operands) != len(other.operands) \
            or _attributes(one) != _attributes(other):
        return None
    differ = [i for i, (v, w) in enumerate(zip(one.operands, other.operands, strict=True)) if v != w]
    if len(differ) != 1 or one.operands[differ[0]].type != other.operands[differ[0]].type:
        return None
    if any(defined_in(v, site.op) for i, v in enumerate(one.operands) if i != differ[0]):
        return None
    v = one.operands[differ[0]]
    return (one, differ[0]) if size(shape_of(v)) <= size(shape_of(a)) else None


# ---- loops around branches -----------------------------------------------------------------------------------------

_INVARIANT_IF = counted([("%a", "%x", "%b", V)], '%b = "stablehlo.if"(%flag) ({ %c = stablehlo.sine %a : tensor<3xf32> '
                        "stablehlo.return %c : tensor<3xf32> }, { %d = stablehlo.exponential %a : tensor<3xf32> "
                        f"stablehlo.return %d : {V} }}) : (tensor<i1>) -> {V}", "%r#1", trips=9,
                        before="%flag = stablehlo.compare LT, %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>")


_VARYING_IF = _INVARIANT_IF.replace('"stablehlo.if"(%flag)', '"stablehlo.if"(%own)').replace(
    "%next = stablehlo.add", "%own = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    %next = stablehlo.add")


@rewrite("stablehlo.while", holds=("stablehlo.if",), example=_INVARIANT_IF, counter=_VARYING_IF)
def loop_is_unswitched(site: Site):
    """while c: if p then f else g = if p then while c: f else while c: g, for p that does not change"""
    branch = next((op for op in site.body(BODY) if op.name == "stablehlo.if" and len(op.results)
                   and not defined_in(op.operands[0], site.op) and _costs(op)), None)
    if branch is None or not pure(site.op) or operations_in(site.op) > UNSWITCHED_OPERATIONS:
        return None
    predicate, inits = branch.operands[0], site.operands
    made = ops.create("stablehlo.if", [r.type for r in site.results], [predicate], regions=2)
    types = [v.type for v in inits]
    for choice in (0, 1):
        outer = made.regions[choice].blocks.append()
        with ir.InsertionPoint(outer):
            loop = ops.create("stablehlo.while", types, inits, regions=2)
            for region in (CONDITION, BODY):
                block = loop.regions[region].blocks.append(*types, arg_locs=[ir.Location.current] * len(types))
                with ir.InsertionPoint(block):
                    mapping = dict(zip(site.arguments(region), block.arguments, strict=True))
                    for op in site.body(region):
                        if op == branch:
                            _take(site, branch, choice, mapping)
                        else:
                            site.clone(op, mapping)
                    ops.create("stablehlo.return", [], [mapping.get(v, v) for v in site.returned(region)])
            ops.create("stablehlo.return", [], list(loop.results))
    return list(made.results)


def _costs(branch: ir.Operation) -> bool:
    """Whether an if is not going to be a select."""
    both = [op for region in branch.regions for op in [each.operation for each in region.blocks[0].operations][:-1]]
    return not is_cheap(both) or any(op.name in COSTLY for op in both)


def _take(site: Site, branch: ir.Operation, choice: int, mapping: dict[ir.Value, ir.Value]) -> None:
    """Copy one branch of an if to the insertion point."""
    program = [each.operation for each in branch.regions[choice].blocks[0].operations]
    for op in program[:-1]:
        site.clone(op, mapping)
    for result, value in zip(branch.results, program[-1].operands, strict=True):
        mapping[result] = mapping.get(value, value)
