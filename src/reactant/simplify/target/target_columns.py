"""The last stage before native code: loops that carry few numbers of many things are to carry them apart.

    for _ in range(n):  x += h * stack([f(x[:, 0], x[:, 1]), g(x[:, 0], x[:, 1])], axis=1)

walks memory in steps of a row for each column, and its innermost loops have as many iterations as there are columns.
With a carried array of its own each column is walked as it lies, and all of a loop may stay in registers: 256 Lorenz
systems by 100 steps of Runge and Kutta 116 us, and 16 apart. """
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import shape_of, size
from reactant.rewrite import Site, producer, rewrite, users, uses
from reactant.simplify.facts.target_costs import costs
from reactant.simplify.facts.while_loops import BODY, CONDITION, counted

MOST_COLUMNS = 4
LEAST_ROWS = 16
"""Elements of a column from which its loops are long enough."""
DEEPEST = 64
"""Operations behind one another that are looked through."""

F, L, C = "tensor<40x2xf32>", "tensor<40x1xf32>", "tensor<2x40xf32>"
_COLUMNS = f"""%p = stablehlo.slice %a [0:40, 0:1] : ({F}) -> {L}
%q = stablehlo.slice %a [0:40, 1:2] : ({F}) -> {L}
%s = stablehlo.multiply %p, %q : {L}
%t = stablehlo.concatenate %s, %p, dim = 1 : ({L}, {L}) -> {F}
%b = stablehlo.subtract %a, %t : {F}"""
_TURNED = _COLUMNS.replace(f"%t = stablehlo.concatenate %s, %p, dim = 1 : ({L}, {L}) -> {F}", f"""
%ps = stablehlo.reshape %p : ({L}) -> tensor<1x40xf32>
%qs = stablehlo.reshape %q : ({L}) -> tensor<1x40xf32>
%c = stablehlo.concatenate %ps, %qs, dim = 0 : (tensor<1x40xf32>, tensor<1x40xf32>) -> {C}
%t = stablehlo.transpose %c, dims = [1, 0] : ({C}) -> {F}""")


def _stacked(body: str, returned: str = "%b") -> str:
    return counted([("%a", "%x", returned, F)], body, "%r#1", F).replace("tensor<3xf32>", F)


@rewrite("stablehlo.while", example=(_stacked(_COLUMNS), _stacked(_TURNED)),
         counter=(_stacked(f"%b = stablehlo.add %a, %y : {F}"),
                  _stacked(_COLUMNS + f"\n%c = stablehlo.reverse %b, dims = [1] : {F}", "%c"),
                  _stacked(_COLUMNS.replace("40", "4")).replace("40", "4")))
def while_carries_columns_apart(site: Site):
    """a carried array of few columns that are read apart and put together again is carried as its columns"""
    if costs() is None:
        return None
    found = next(((i, d) for i, argument in enumerate(site.arguments(BODY)) if not users(site.arguments(CONDITION)[i])
                  for d in _short_dimensions(argument)
                  if _read_apart(argument, site, i, d) and _put_together(site.returned(BODY)[i], d, site)), None)
    if found is None:
        return None
    i, d = found
    extents, inits = shape_of(site.operands[i]), site.operands
    count, rows = extents[d], tuple(n for k, n in enumerate(extents) if k != d)
    single = tuple(1 if k == d else n for k, n in enumerate(extents))

    def whole(values: Sequence[ir.Value]) -> list[ir.Value]:
        columns = [ops.reshape(v, single) for v in values[i:i + count]]
        return [*values[:i], ops.concatenate(columns, d), *values[i + count:]]

    def apart(values: Sequence[ir.Value]) -> list[ir.Value]:
        return [*values[:i], *(_column(values[i], d, k, rows) for k in range(count)), *values[i + 1:]]

    def condition(*values: ir.Value) -> ir.Value:  # it does not read the array
        return site.inline(CONDITION, [*values[:i], inits[i], *values[i + count:]])[0]

    return whole(ops.while_(apart(inits), condition, lambda *values: apart(site.inline(BODY, whole(values)))))


def _short_dimensions(argument: ir.Value) -> list[int]:
    """Dimensions of few places in an array of many."""
    extents = shape_of(argument)
    return [d for d in reversed(range(len(extents))) if 1 < extents[d] <= MOST_COLUMNS
            and size(extents) // extents[d] >= LEAST_ROWS]


def _read_apart(argument: ir.Value, site: Site, index: int, d: int) -> bool:
    """Whether a carried array, and what is made of it element by element, is only read at single places of a dimension;
    some read there must be."""
    end, work, seen, sliced = site.terminator(BODY), [(argument, d)], {argument}, False
    while work:
        value, along = work.pop()
        for use in uses(value):
            op = use.owner.operation
            if op == end:
                if use.operand_number != index or along != d:
                    return False
            elif op.name == "stablehlo.slice":
                low, high = (attr.decode(op.attributes[name])[along] for name in ("start_indices", "limit_indices"))
                if high - low != 1:
                    return False
                sliced = True
            elif (op.name in ops.ELEMENTWISE or op.name == "stablehlo.transpose") and op.block == end.block:
                moved = along if op.name in ops.ELEMENTWISE else attr.decode(op.attributes["permutation"]).index(along)
                if op.results[0] not in seen:
                    seen.add(op.results[0])
                    work.append((op.results[0], moved))
            else:
                return False
    return sliced


def _put_together(value: ir.Value, d: int, site: Site, depth: int = DEEPEST) -> bool:
    """Whether each column of a value is made of columns that are at hand."""
    made = producer(value)
    if made is None or not shape_of(value):
        return not shape_of(value) or value in site.arguments(BODY)
    if not depth or made.op.block != site.terminator(BODY).block:
        return False
    if made.name == "stablehlo.concatenate":
        return attr.decode(made.op.attributes["dimension"]) == d
    if made.name == "stablehlo.transpose":
        return _put_together(made.operands[0], attr.decode(made.op.attributes["permutation"])[d], site, depth - 1)
    if made.name == "stablehlo.broadcast_in_dim":
        return d not in attr.decode(made.op.attributes["broadcast_dimensions"])
    return made.name == "stablehlo.constant" or made.name in ops.ELEMENTWISE and all(
        _put_together(o, d, site, depth - 1) for o in made.operands)


def _column(value: ir.Value, d: int, k: int, rows: tuple[int, ...]) -> ir.Value:
    """Place k of dimension d, which is dropped."""
    extents = shape_of(value)
    low = [k if e == d else 0 for e in range(len(extents))]
    high = [k + 1 if e == d else n for e, n in enumerate(extents)]
    return ops.reshape(ops.slice(value, low, high), rows)
