"""The last stage: loops that hand arrays from one carried value to another.

`u, before = step(u, before), u` gives each turn's `u` to the next one's `before`. A carried value has a place in memory,
so XLA copies the array there in every turn. Done twice in one turn of a loop of half as many, each array is back where
it started from, and nothing is copied.
"""
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import shape_of, size
from reactant.rewrite import Site, inside, rewrite
from reactant.simplify.induction import Counter, counters, trips
from reactant.simplify.loops import BODY, CONDITION, counted, reached
from reactant.simplify.target_costs import costs

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
    """while c: body = while c and c after one turn: body; body, then what is left, if a turn moves big arrays around"""
    table = costs()
    if table is None or sum(1 for _ in inside(site.op)) * 2 > table.doubled_operations:
        return None
    times = _turns_until_home(site, table.least_elements)
    known = counters(site.op)
    decided_by = reached(site.returned(CONDITION), site.op)
    arguments = site.arguments(CONDITION)
    if times is None or any(arguments.index(argument) not in known for argument in decided_by):
        return None
    turns = trips(site.op, known)
    exact = turns.most if turns is not None and turns.exact else None
    if exact is not None and exact < 2 * times:
        return None
    values = _repeated(site, known, times)
    for _ in range(times - 1 if exact is None else exact % times):
        values = site.inline(BODY, values) if exact is not None else _one_more_turn(site, values)
    return values


def _turns_until_home(site: Site, least: int) -> int | None:
    """After how many turns no big array is handed to another carried value; None where that is 1 or too many."""
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


def _advanced(arguments: Sequence[ir.Value], known: dict[int, Counter], turns: int) -> list[ir.Value]:
    """The carried values as a condition that reads only counters sees them some turns later."""
    return [ops.add(argument, known[i].step * turns) if turns and i in known else argument
            for i, argument in enumerate(arguments)]


def _repeated(site: Site, known: dict[int, Counter], times: int) -> list[ir.Value]:
    """A loop whose turns are `times` turns of this one each."""
    def condition(*arguments: ir.Value) -> ir.Value:
        together = site.inline(CONDITION, arguments)[0]
        for turn in range(1, times):
            together = ops.and_(together, site.inline(CONDITION, _advanced(arguments, known, turn))[0])
        return together

    def body(*arguments: ir.Value) -> Sequence[ir.Value]:
        values: Sequence[ir.Value] = arguments
        for _ in range(times):
            values = site.inline(BODY, values)
        return values

    return ops.while_(site.operands, condition, body)


def _one_more_turn(site: Site, values: list[ir.Value]) -> list[ir.Value]:
    """One turn, if the condition still holds."""
    return ops.if_(site.inline(CONDITION, values)[0], lambda: site.inline(BODY, values), lambda: values,
                   [value.type for value in values])
