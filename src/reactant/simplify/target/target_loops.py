"""The last stage: loops that hand arrays from one carried value to another, or carry layers that live apart.

`u, before = step(u, before), u` gives each iteration's `u` to the next one's `before`. A carried value has a place in
memory, so XLA copies the array there in every iteration. Done twice in one iteration of a loop of half as many, each
array is back where it started from, and nothing is copied. """
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.induction import Counter, counters, trips
from reactant.ir.types import shape_of, size
from reactant.rewrite import Site, rewrite, users
from reactant.rewrite.site import operations_in, uses
from reactant.simplify.control.loops import reached
from reactant.simplify.facts.target_costs import costs
from reactant.simplify.facts.while_loops import BODY, CONDITION, counted

B = "tensor<1600xf32>"
_ROTATE = f"%b = stablehlo.multiply %a, %c : {B}"


def _loop(rows: list[tuple[str, str, str]], body: str, trips: int = 5, out: str = "%r#1") -> str:
    return counted([(*row, B) for row in rows], body, out, B, trips).replace("3xf32", "1600xf32")


_RUN_TIME = _loop([("%a", "%x", "%b"), ("%c", "%y", "%a")], _ROTATE).replace("LT, %i, %last", "LT, %i, %m").replace(
    "%r:", "%m = stablehlo.clamp %zero, %n, %last : tensor<i32>\n  %r:")


@rewrite("stablehlo.while",
         example=(_loop([("%a", "%x", "%b"), ("%c", "%y", "%a")], _ROTATE),
                  _loop([("%a", "%x", "%b"), ("%c", "%y", "%a"), ("%d", "%y", "%c")], _ROTATE, out="%r#3", trips=7),
                  _loop([("%a", "%x", "%c"), ("%c", "%y", "%a")], "", trips=6), _RUN_TIME),
         counter=(_loop([("%a", "%x", "%b"), ("%c", "%y", "%d")], f"{_ROTATE}\n%d = stablehlo.add %b, %c : {B}"),
                  _loop([("%a", "%x", "%b"), ("%c", "%y", "%a")], _ROTATE).replace("1600xf32", "16xf32")))
def while_hands_arrays_on(site: Site):
    """while c: body = while c and c after one iteration: body; body, then what is left, if an iteration moves big
    arrays around"""
    table = costs()
    times = None if table is None else _iterations_until_home(site, table.least_elements)
    if times is None or operations_in(site.op) * 2 > table.doubled_operations:
        return None
    known = counters(site.op)
    decided_by = reached(site.returned(CONDITION), site.op)
    arguments = site.arguments(CONDITION)
    if any(arguments.index(argument) not in known for argument in decided_by):
        return None
    iterations = trips(site.op, known)
    exact = iterations.most if iterations is not None and iterations.exact else None
    if exact is not None and exact < 2 * times:
        return None
    values = _repeated(site, known, times)
    for _ in range(times - 1 if exact is None else exact % times):
        values = site.inline(BODY, values) if exact is not None else _one_more_iteration(site, values)
    return values


def _iterations_until_home(site: Site, least: int) -> int | None:
    """After how many iterations no big array is handed to another carried value; None where that is 1 or too many."""
    arguments = site.arguments(BODY)
    number = {argument: i for i, argument in enumerate(arguments)}
    step = {i: number[value] for i, value in enumerate(site.returned(BODY)) if value in number}
    big = [i for i in step if size(shape_of(arguments[i])) >= least]
    came_from = dict(step)
    for times in range(1, 5):
        if all(came_from.get(i) in (None, i) for i in big):
            return times if times > 1 else None
        came_from = {i: step[j] for i, j in came_from.items() if j in step}
    return None


def _advanced(arguments: Sequence[ir.Value], known: dict[int, Counter], iterations: int) -> list[ir.Value]:
    """The carried values as a condition that reads only counters sees them some iterations later."""
    return [ops.add(argument, known[i].step * iterations) if iterations and i in known else argument
            for i, argument in enumerate(arguments)]


def _repeated(site: Site, known: dict[int, Counter], times: int) -> list[ir.Value]:
    """A loop whose iterations are `times` iterations of this one each."""
    def condition(*arguments: ir.Value) -> ir.Value:
        together = site.inline(CONDITION, arguments)[0]
        for iteration in range(1, times):
            together = ops.and_(together, site.inline(CONDITION, _advanced(arguments, known, iteration))[0])
        return together

    def body(*arguments: ir.Value) -> Sequence[ir.Value]:
        values: Sequence[ir.Value] = arguments
        for _ in range(times):
            values = site.inline(BODY, values)
        return values

    return ops.while_(site.operands, condition, body)


def _one_more_iteration(site: Site, values: list[ir.Value]) -> list[ir.Value]:
    """One iteration, if the condition still holds."""
    return ops.if_(site.inline(CONDITION, values)[0], lambda: site.inline(BODY, values), lambda: values,
                   [value.type for value in values])


# ---- layers --------------------------------------------------------------------------------------------------------

F = "tensor<2x40x30xf32>"
L = "tensor<1x40x30xf32>"
_LAYERS = f"""%p = stablehlo.slice %a [0:1, 0:40, 0:30] : ({F}) -> {L}
%q = stablehlo.slice %a [1:2, 0:40, 0:30] : ({F}) -> {L}
%s = stablehlo.multiply %p, %q : {L}
%t = stablehlo.broadcast_in_dim %s, dims = [0, 1, 2] : ({L}) -> {F}
%b = stablehlo.subtract %a, %t : {F}"""


def _stacked(body: str, returned: str = "%b") -> str:
    return counted([("%a", "%x", returned, F)], body, "%r#1", F).replace("tensor<3xf32>", F)


@rewrite("stablehlo.while", example=_stacked(_LAYERS),
         counter=(_stacked(f"%b = stablehlo.add %a, %y : {F}"),
                  _stacked(_LAYERS + f"\n%c = stablehlo.reverse %b, dims = [0] : {F}", "%c"),
                  _stacked(_LAYERS.replace("2x40x30", "2x4x3").replace("1x40x30", "1x4x3").replace(
                      "0:40, 0:30", "0:4, 0:3")).replace("2x40x30", "2x4x3")))
def while_carries_layers_apart(site: Site):
    """a carried stack of few layers, read layer by layer and element by element, is carried as its layers"""
    table = costs()
    if table is None:
        return None
    arguments, inits = site.arguments(BODY), site.operands
    for i, argument in enumerate(arguments):
        extents = shape_of(argument)
        if extents and 1 < extents[0] <= table.layers and size(extents[1:]) >= table.least_elements \
                and not users(site.arguments(CONDITION)[i]) and _in_layers(argument, site, i):
            break
    else:
        return None
    layers = extents[0]

    def whole(values: Sequence[ir.Value]) -> list[ir.Value]:
        return [*values[:i], ops.concatenate(list(values[i:i + layers]), 0), *values[i + layers:]]

    def apart(values: Sequence[ir.Value]) -> list[ir.Value]:
        parts = [ops.slice(values[i], (k, *[0] * (len(extents) - 1)), (k + 1, *extents[1:])) for k in range(layers)]
        return [*values[:i], *parts, *values[i + 1:]]

    def condition(*values: ir.Value) -> ir.Value:  # it does not read the stack
        return site.inline(CONDITION, [*values[:i], inits[i], *values[i + layers:]])[0]

    return whole(ops.while_(apart(inits), condition, lambda *values: apart(site.inline(BODY, whole(values)))))


def _in_layers(argument: ir.Value, site: Site, index: int) -> bool:
    """Whether a carried stack is only sliced within layers, and otherwise worked on element by element; some slice it
    must have."""
    end, work, seen, sliced = site.terminator(BODY), [argument], {argument}, False
    while work:
        for use in uses(work.pop()):
            op = use.owner.operation
            if op == end:
                if use.operand_number != index:
                    return False
            elif op.name == "stablehlo.slice":
                low, high = (attr.decode(op.attributes[name])[0] for name in ("start_indices", "limit_indices"))
                if high - low != 1:
                    return False
                sliced = True
            elif op.name in ops.ELEMENTWISE and op.block == end.block:
                if op.results[0] not in seen:
                    seen.add(op.results[0])
                    work.append(op.results[0])
            else:
                return False
    return sliced and site.returned(BODY)[index] in seen
