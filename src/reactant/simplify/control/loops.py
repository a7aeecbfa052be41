"""while: carried values that need not be carried, invariant code, overwritten arrays.

`stablehlo.while(inits) cond(args) body(args)`: value i is *carried*; the body *returns* its next content. Every rule
here looks at one while op, and rebuilds it with fewer carried values or moves ops out of it.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from jaxlib.mlir import ir

from reactant.ir import creation, modules, ops
from reactant.ir.induction import counters, trips
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite import CHANGED, Site, captures, defined_in, pure, rewrite, users
from reactant.rewrite.site import operation, operations_in
from reactant.simplify.facts.target_costs import costs
from reactant.simplify.facts.while_loops import BODY, CONDITION, counted

GENERATORS = {f"stablehlo.{n}" for n in ("constant", "iota", "broadcast_in_dim", "reshape")}
"""Ops that cost nothing inside a loop (they fuse) but memory traffic outside."""

V = "tensor<3xf32>"
_PLAIN = counted([("%a", "%x", "%b", V)], f"%b = stablehlo.add %a, %a : {V}", "%r#1")


# ---- rebuilding ----------------------------------------------------------------------------------------------------

def without_carried(site: Site, dropped: dict[int, ir.Value | None]) -> list[ir.Value]:
    """A while without some carried values, built in place of this one: what to replace its results by.

    dropped: index to the value that stands for it everywhere (argument of both regions, and result), or None where the
    value matters to nobody.
    """
    inits = site.operands
    kept = [i for i in range(len(inits)) if i not in dropped]
    returned = site.returned(BODY)
    for region in (CONDITION, BODY):
        arguments = site.arguments(region)
        for i, value in dropped.items():
            site.substitute(arguments[i], inits[i] if value is None else value)
    substitutes = {i: inits[i] if value is None else value for i, value in dropped.items()}
    returned = site.returned(BODY)
    site.set_returned(site.terminator(BODY), [returned[i] for i in kept])
    made = ops.create("stablehlo.while", [inits[i].type for i in kept], [inits[i] for i in kept], regions=2)
    for region in (CONDITION, BODY):
        block = site.take_block(region, made, region)
        for i in sorted(dropped, reverse=True):
            block.erase_argument(i)
    results = dict(zip(kept, made.results, strict=True))
    return [results.get(i, substitutes.get(i)) for i in range(len(inits))]


def reached(values: Iterable[ir.Value], loop: ir.Operation, seen: set[ir.Value] | None = None) -> set[ir.Value]:
    """The arguments of `loop`'s regions on which `values` depend. `seen`: values not to look at again; it grows."""
    work, seen, found = list(values), set() if seen is None else seen, set()
    own = [region.blocks[0] for region in loop.regions]
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = creation.owner(value)
        if isinstance(owner, ir.Block):
            if owner in own:
                found.add(value)
            continue
        op = owner.operation
        if op.block not in own:     # nothing outside depends on them
            continue
        work.extend(op.operands)
        if len(op.regions):
            work.extend(captures(op))
    return found


# ---- carried values ------------------------------------------------------------------------------------------------

@rewrite("stablehlo.while",
         example=counted([("%a", "%x", "%b", V), ("%c", "%y", "%d", V)],
                         f"%b = stablehlo.add %a, %a : {V}\n%d = stablehlo.multiply %c, %a : {V}", "%r#1"),
         counter=_PLAIN)
def while_carries_dead_value(site: Site):
    """a carried value that neither the condition, nor the other carried values, nor anybody after the loop reads"""
    arguments = site.arguments(BODY)
    live = {i for i, argument in enumerate(site.arguments(CONDITION)) if users(argument)}
    live |= {i for i in range(len(arguments)) if site.used(i)}
    if len(live) == len(arguments):
        return None
    returned, number = site.returned(BODY), {argument: i for i, argument in enumerate(arguments)}
    effects = [v for child in site.body(BODY) if not pure(child) for v in (*child.operands, *captures(child))]
    seen: set[ir.Value] = set()
    live |= {number[value] for value in reached(effects, site.op, seen)}
    work = [returned[i] for i in live]
    while work:
        new = {number[value] for value in reached(work, site.op, seen)} - live
        live |= new
        work = [returned[i] for i in new]
    dead = {i: None for i in range(len(arguments)) if i not in live}
    return without_carried(site, dead) if dead else None


@rewrite("stablehlo.while",
         example=(counted([("%a", "%x", "%b", V), ("%c", "%y", "%c", V)], f"%b = stablehlo.add %a, %c : {V}",
                          "%s", after=f"%s = stablehlo.add %r#1, %r#2 : {V}"),
                  counted([("%a", "%x", "%b", V), ("%c", "%y", "%y", V)], f"%b = stablehlo.add %a, %c : {V}", "%r#1")),
         counter=_PLAIN)
def while_carries_invariant_value(site: Site):
    """a carried value that the body returns as it came is what it was at the start"""
    inits, arguments, returned = site.operands, site.arguments(BODY), site.returned(BODY)
    same = {i: inits[i] for i in range(len(inits)) if returned[i] in (arguments[i], inits[i])}
    return without_carried(site, same) if same else None


@rewrite("stablehlo.while",
         example=(counted([("%a", "%x", "%b", V), ("%c", "%x", "%d", V)],
                          f"%b = stablehlo.multiply %a, %y : {V}\n%d = stablehlo.multiply %c, %y : {V}", "%s",
                          after=f"%s = stablehlo.add %r#1, %r#2 : {V}"),),
         counter=(_PLAIN, counted([("%a", "%x", "%b", V), ("%c", "%x", "%d", V)],
                                  f"%b = stablehlo.multiply %a, %y : {V}\n%d = stablehlo.multiply %c, %x : {V}", "%s",
                                  after=f"%s = stablehlo.add %r#1, %r#2 : {V}")))
def while_carries_value_twice(site: Site):
    """two carried values that start alike and go on alike are one"""
    inits, arguments, returned = site.operands, site.arguments(BODY), site.returned(BODY)
    kinds: dict[tuple[int, int], Any] = dict.fromkeys(((hash(argument), depth) for argument in arguments
                                                       for depth in range(_DEPTH + 1)), "an argument")
    groups = _grouped(range(len(inits)), inits)
    for depth in (2, _DEPTH):
        groups = [part for group in groups
                  for part in _grouped(group, [_kind(returned[i], depth, kinds) for i in group])]
    for i, j in (pair for group in groups for pair in combinations(group, 2)):
        if _alike(returned[i], returned[j], {arguments[j]: arguments[i]}, _DEPTH):
            conditions = site.arguments(CONDITION)
            site.substitute(conditions[j], conditions[i])
            site.substitute(arguments[j], arguments[i])
            results = without_carried(site, {j: None})
            results[j] = results[i]
            return results
    return None


_DEPTH = 6
"""How many ops deep `_alike` looks."""


def _grouped(indices: Iterable[int], keys: Iterable[Any]) -> list[list[int]]:
    """The groups of several indices that have the same key."""
    found: dict[Any, list[int]] = {}
    for index, key in zip(indices, keys, strict=True):
        found.setdefault(key, []).append(index)
    return [group for group in found.values() if len(group) > 1]


def _kind(value: ir.Value, depth: int, kinds: dict[tuple[int, int], Any]) -> Any:
    """What two values that are `_alike` have in common, whichever arguments stand for one another: what cannot be alike
    is not compared pair by pair. `kinds` knows the arguments, and learns."""
    key = hash(value), depth
    if key not in kinds:
        op = operation(value) if depth else None
        kinds[key] = key[0] if op is None else hash(
            (op.name, *(_kind(operand, depth - 1, kinds) for operand in op.operands)))
    return kinds[key]


def _alike(left: ir.Value, right: ir.Value, same: dict[ir.Value, ir.Value], depth: int) -> bool:
    """Whether two values are equal if the arguments in `same` (right: left) are; looks a few ops deep."""
    if left == right or (right in same and same[right] == left):
        return True
    a, b = operation(left), operation(right)
    if a is None or b is None or not depth or left.type != right.type:
        return False
    if a.name != b.name or len(a.regions) or len(a.operands) != len(b.operands) or len(a.results) > 1 or not pure(a):
        return False
    if {k: a.attributes[k] for k in a.attributes} != {k: b.attributes[k] for k in b.attributes}:
        return False
    return all(_alike(x, y, same, depth - 1) for x, y in zip(a.operands, b.operands, strict=True))


@rewrite("stablehlo.while", holds=("stablehlo.dynamic_update_slice",),
         example=counted([("%a", "%x", "%b", V), ("%g", "%f", "%h", V)],
                         "%u = stablehlo.slice %a [0:2] : (tensor<3xf32>) -> tensor<2xf32>\n"
                         "%h = stablehlo.dynamic_update_slice %g, %u, %one : (tensor<3xf32>, tensor<2xf32>, "
                         f"tensor<i32>) -> {V}\n%b = stablehlo.add %h, %a : {V}", "%r#1",
                         before=f"%f = stablehlo.negate %y : {V}"),
         counter=(counted([("%a", "%x", "%b", V), ("%g", "%f", "%h", V)],
                         "%u = stablehlo.slice %a [0:2] : (tensor<3xf32>) -> tensor<2xf32>\n"
                         "%h = stablehlo.dynamic_update_slice %g, %u, %i : (tensor<3xf32>, tensor<2xf32>, "
                         f"tensor<i32>) -> {V}\n%b = stablehlo.add %h, %a : {V}", "%r#1",
                         before=f"%f = stablehlo.negate %y : {V}"),
                  counted([("%a", "%x", "%b", V), ("%g", "%f", "%h", V)],
                          "%u = stablehlo.slice %a [0:2] : (tensor<3xf32>) -> tensor<2xf32>\n"
                          "%k = stablehlo.dynamic_update_slice %g, %u, %one : (tensor<3xf32>, tensor<2xf32>, "
                          f"tensor<i32>) -> {V}\n%b = stablehlo.add %k, %a : {V}\n"
                          "%h = stablehlo.dynamic_update_slice %k, %u, %zero : (tensor<3xf32>, tensor<2xf32>, "
                          f"tensor<i32>) -> {V}", "%r#1", before=f"%f = stablehlo.negate %y : {V}")))
def while_overwrites_same_places(site: Site):
    """a carried array of which every iteration overwrites the same places before it reads any may start afresh"""
    inits, arguments, returned = site.operands, site.arguments(BODY), site.returned(BODY)
    for i, argument in enumerate(arguments):
        chain = _overwrites(returned[i], argument, site)
        unread = [argument, *(op.results[0] for op in chain[1:])]  # only the next update sees them
        if chain and all(users(value) == 1 for value in unread) and not users(site.arguments(CONDITION)[i]):
            first = chain[-1]
            with ir.InsertionPoint(first):
                fresh = ops.create(first.name, [first.results[0].type], [inits[i], *list(first.operands)[1:]]).result
            site.substitute(first.results[0], fresh)
            return CHANGED
    return None


def _overwrites(value: ir.Value, argument: ir.Value, site: Site) -> list[ir.Operation]:
    """The chain of updates at invariant places by which `value` is made from `argument`, last first; empty if it is
    not one."""
    chain: list[ir.Operation] = []
    while value != argument:
        owner = creation.owner(value)
        if isinstance(owner, ir.Block) or owner.name != "stablehlo.dynamic_update_slice":
            return []
        chain.append(owner.operation)
        if any(defined_in(v, site.op) and ops.constant_value(v) is None for v in list(owner.operands)[2:]):
            return []
        value = owner.operands[0]
    return chain


# ---- known trip counts ---------------------------------------------------------------------------------------------

UNROLLED_TRIPS = 4
UNROLLED_OPERATIONS = 64
"""A loop of known trip count is unrolled while it has at most this many iterations, and ops in all of them; where the
target has no numbers of its own."""


@rewrite("stablehlo.while",
         example=tuple(counted([("%a", "%x", "%b", V)], f"%b = stablehlo.add %a, %a : {V}", "%r#1", trips=n)
                       for n in (0, 1, 3)),
         counter=counted([("%a", "%x", "%b", V)], f"%b = stablehlo.add %a, %a : {V}", "%r#1", trips=9))
def while_of_few_iterations(site: Site):
    """a loop of no iteration is what it started with; one of a few known iterations is its body that often"""
    iterations, table = trips(site.op), costs()
    if iterations is None:
        return None
    most, operations = (UNROLLED_TRIPS, UNROLLED_OPERATIONS) if table is None else \
        (table.unrolled_iterations, table.unrolled_operations)
    if iterations.most and not (iterations.exact
                                and (iterations.most == 1 or iterations.most <= most
                                     and iterations.most * operations_in(site.op) <= operations)):
        return None
    values = site.operands
    for _ in range(iterations.most):
        values = site.inline(BODY, values)
    return values


@rewrite("stablehlo.while",
         example=counted([("%a", "%x", "%b", V)], f"%b = stablehlo.add %a, %a : {V}", "%c", "tensor<i32>", trips=9,
                         after="%c = stablehlo.add %r#0, %one : tensor<i32>"),
         counter=counted([("%a", "%x", "%b", V)], f"%b = stablehlo.add %a, %a : {V}", "%r#1", trips=9))
def while_counter_ends_known(site: Site):
    """after a loop of known trip count its counters are constants"""
    known = counters(site.op)
    used = [c for c in known.values() if c.start is not None and site.used(c.index)]
    iterations = trips(site.op, known) if used else None
    if iterations is None or not iterations.exact:
        return None
    for counter in used:
        result = site.results[counter.index]
        site.substitute(result, ops.constant(counter.start + iterations.most * counter.step, dtype_of(result)))
    return CHANGED


# ---- invariant code ------------------------------------------------------------------------------------------------

@rewrite("stablehlo.while",
         example=counted([("%a", "%x", "%b", V)], f"%s = stablehlo.sine %y : {V}\n"
                         f"%t = stablehlo.multiply %s, %x : {V}\n%b = stablehlo.add %a, %t : {V}", "%r#1"),
         counter=(_PLAIN, counted([("%a", "%x", "%b", V)], f"%j = stablehlo.iota dim = 0 : {V}\n"
                                  f"%b = stablehlo.add %a, %j : {V}", "%r#1")))
def while_body_invariant(site: Site):
    """what the body computes from values of outside alone is computed before the loop"""
    own = set(site.arguments(BODY))     # what the iterations make themselves
    moved = []
    for child in site.body(BODY):
        if own.isdisjoint(child.operands) and (not len(child.regions) or own.isdisjoint(captures(child))) \
                and pure(child):
            moved.append(child)
        else:
            own.update(child.results)
    worth = [child for child in moved if not is_generated(child)]
    if not worth:
        return None
    needed = _behind(worth, moved)
    for child in moved:
        if child in needed:
            site.move_before(child)
    return CHANGED


def _behind(wanted: Sequence[ir.Operation], among: Sequence[ir.Operation]) -> set[ir.Operation]:
    """The ops `wanted` and those `among` others that they need."""
    candidates, work = {value: each for each in among for value in each.results}, list(wanted)
    found: set[ir.Operation] = set()
    while work:
        each = work.pop()
        if each in found:
            continue
        found.add(each)
        work.extend(candidates[v] for v in (*each.operands, *captures(each)) if v in candidates)
    return found


def is_generated(op: ir.Operation) -> bool:
    """Whether an op is cheaper to do in every iteration than to read back: it makes an array out of indices and
    numbers."""
    if op.name in GENERATORS:
        return all(size(shape_of(v)) * 2 <= size(shape_of(op.results[0])) or is_generated_value(v) for v in op.operands)
    return op.name in CHEAP and not len(op.regions) and all(map(is_generated_value, op.operands))


CHEAP = {f"stablehlo.{n}" for n in ("add", "subtract", "multiply", "compare", "and", "or", "xor", "not", "convert",
                                    "select", "slice", "negate", "maximum", "minimum", "concatenate", "pad",
                                    "transpose", "reverse")}


def is_generated_value(value: ir.Value) -> bool:
    """Whether a value is a number or made by ops that `is_generated` accepts."""
    if size(shape_of(value)) == 1:
        return operation(value) is None or ops.constant_value(value) is not None
    made = operation(value)
    return made is not None and is_generated(made)


FROM_MEMORY = {"stablehlo." + n for n in ("dot_general", "convolution", "custom_call", "sort", "fft", "cholesky",
                                          "triangular_solve")}
"""Ops that read whole arrays from memory: what they take is best made once, before the loop."""


def sink_generators(module: ir.Module) -> bool:
    """Put masks, index arrays and broadcast numbers that loops take from outside back into them, where they fuse.

    Common-subexpression elimination merges them with equal ones from before the loop; inside, each would be read back
    from memory in every iteration. Gives whether any were.
    """
    with ir.Location.unknown():
        return any([_sink_into(op) for op in list(modules.ops_called("stablehlo.while", module))])


def _sink_into(loop: ir.Operation) -> bool:
    wanted = [v for v in captures(loop) if (made := operation(v)) is not None and size(shape_of(v)) > 1
              and made.name != "stablehlo.constant" and is_generated(made)]
    return any([_sink(wanted, region) for region in loop.regions]) if wanted else False


def _sink(wanted: Sequence[ir.Value], region: ir.Region) -> bool:
    sunk = False
    for value in wanted:
        uses = [use for use in value.uses if use.owner.operation.name not in FROM_MEMORY
                and _lies_in(use.owner.operation, region)]
        if not uses:
            continue
        copies: dict[ir.Value, ir.Value] = {}
        with ir.InsertionPoint.at_block_begin(region.blocks[0]):
            copy = _copied(value, copies)
        for use in uses:
            use.owner.operation.operands[use.operand_number] = copy
        sunk = True
    return sunk


def _copied(value: ir.Value, copies: dict[ir.Value, ir.Value]) -> ir.Value:
    """A copy of a generated value; what it is generated from (a small array that it repeats) is read where it is."""
    made = operation(value)
    if value in copies or made is None or size(shape_of(value)) == 1 or not is_generated(made):
        return copies.get(value, value)
    operands = [_copied(v, copies) for v in made.operands]
    clone = made.clone()
    for i, operand in enumerate(operands):
        clone.operands[i] = operand
    copies[value] = clone.results[0]
    return copies[value]


def _lies_in(op: ir.Operation, region: ir.Region) -> bool:
    block = region.blocks[0]
    while op is not None and op.name not in ("func.func", "builtin.module"):
        if op.block == block:
            return True
        op = op.parent.operation if op.parent is not None else None
    return False
