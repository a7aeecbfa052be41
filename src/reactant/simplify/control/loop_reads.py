"""The last stage: small reads of an array that a loop rewrites come from the iteration before.

A row or column of a carried array, read in the same iteration that rewrites the whole array, keeps XLA from doing that
in place: it copies the array, in every iteration. Read at the end of the iteration before, from the array as it then
is, and carried on its own, it is no obstacle. """
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import shape_of, size
from reactant.rewrite import Site, defined_in, pure, rewrite, users
from reactant.rewrite.site import uses
from reactant.simplify.control.loop_windows import READ, updated
from reactant.simplify.facts.target_costs import Costs, costs
from reactant.simplify.facts.while_loops import BODY, CONDITION, counted

A, P, R = "tensor<40x50xf32>", "tensor<39x50xf32>", "tensor<1x50xf32>"
_ROW = f"%q = stablehlo.dynamic_slice %a, %i, %zero, sizes = [1, 50] : ({A}, tensor<i32>, tensor<i32>) -> {R}\n"
_WHOLE = _ROW + f"""%v = stablehlo.broadcast_in_dim %q, dims = [0, 1] : ({R}) -> {A}
%w = stablehlo.multiply %v, %v : {A}
%b = stablehlo.subtract %w, %a : {A}"""
_PART = _ROW + f"""%v = stablehlo.broadcast_in_dim %q, dims = [0, 1] : ({R}) -> {P}
%t = stablehlo.slice %a [1:40, 0:50] : ({A}) -> {P}
%w = stablehlo.multiply %v, %t : {P}
%b = stablehlo.dynamic_update_slice %a, %w, %one, %zero : ({A}, {P}, tensor<i32>, tensor<i32>) -> {A}"""
_AFTER = "%j = stablehlo.multiply %next, %next : tensor<i32>\n"
SMALLER = 4
"""How many times smaller than the largest update of the array reads must be."""
LONGEST_INDEX = 24
"""Most scalar ops behind the starts of one read."""


def _loop(body: str, rows: tuple = (("%a", "%x", "%b", A),), trips: int = 9) -> str:
    return counted(rows, body, "%r#1", A, trips).replace("tensor<3xf32>", A)


@rewrite("stablehlo.while",
         example=(_loop(_WHOLE), _loop(_PART), _loop(_WHOLE, trips=0), _loop(_PART, trips=60),
                  _loop(_AFTER + _PART.replace("%a, %i, %zero, sizes", "%a, %j, %zero, sizes"))),
         counter=(_loop(_WHOLE.replace("slice %a,", "slice %x,")),
                  _loop(_WHOLE + f"\n%g = stablehlo.reverse %a, dims = [0] : {A}",
                        (("%a", "%x", "%b", A), ("%f", "%y", "%g", A))),
                  _loop(_ROW + f"%w = stablehlo.negate %q : {R}\n%b = stablehlo.dynamic_update_slice %a, %w, %i, %zero "
                        f": ({A}, {R}, tensor<i32>, tensor<i32>) -> {A}"),
                  _loop(_WHOLE.replace("40x50", "4x5").replace("1x50", "1x5").replace("[1, 50]", "[1, 5]")).replace(
                      A, "tensor<4x5xf32>")))
def while_reads_ahead(site: Site):
    """a row that an iteration reads of a carried array before rewriting most of it is read at the end of the iteration
    before"""
    table = costs()
    for i, argument in enumerate(site.arguments(BODY)) if table is not None else ():
        if size(shape_of(argument)) < table.least_elements or users(site.arguments(CONDITION)[i]):
            continue
        reads = _small_reads(argument, table)
        if reads and _rewritten_in_place(site, i, {read.results[0] for read in reads}, table):
            indices = [_behind_starts(read, site) for read in reads]
            if all(each is not None for each in indices):
                return _ahead(site, reads, indices)
    return None


def _small_reads(argument: ir.Value, table: Costs) -> list[ir.Operation]:
    """The dynamic_slices of an array that take little of it, in a fixed order."""
    body = argument.owner
    reads = {use.owner.operation.results[0]: use.owner.operation for use in uses(argument)
             if use.owner.operation.name == READ and use.operand_number == 0 and use.owner.operation.block == body}
    return [op for op in reads.values() if size(shape_of(op.results[0])) * table.small_read <= size(shape_of(argument))]


def _rewritten_in_place(site: Site, index: int, reads: set[ir.Value], table: Costs) -> bool:
    """Whether a carried array, but for some reads, is made from itself by big updates or element by element."""
    found = updated(site, index)
    if found is not None:
        most = max(size(shape_of(read)) for read in reads)
        return found.largest >= max(table.least_elements, SMALLER * most)
    end, argument = site.terminator(BODY), site.arguments(BODY)[index]
    work, seen = [argument], {argument}
    while work:
        for use in uses(work.pop()):
            op = use.owner.operation
            if op == end and use.operand_number == index:
                continue
            if op == end or op.block != end.block or op.name not in ops.ELEMENTWISE:
                if len(op.results) == 1 and op.results[0] in reads:
                    continue
                return False
            if op.results[0] not in seen:
                seen.add(op.results[0])
                work.append(op.results[0])
    return len(seen) > 1 and site.returned(BODY)[index] in seen


def _behind_starts(read: ir.Operation, site: Site) -> list[ir.Operation] | None:
    """The scalar ops of the body behind the starts of a read, in order; None where they are too many, or of others."""
    found: dict[ir.Value, ir.Operation] = {}
    work = list(read.operands)[1:]
    while work:
        value = work.pop()
        if isinstance(value.owner, ir.Block) or not defined_in(value, site.op) or value in found:
            continue
        op = value.owner.operation
        if op.block != read.block or len(op.results) != 1 or len(op.regions) or not pure(op) \
                or any(shape_of(v) for v in (value, *op.operands)) or len(found) == LONGEST_INDEX:
            return None
        found[value] = op
        work.extend(op.operands)
    return [op for op in site.body(BODY) if len(op.results) == 1 and op.results[0] in found]


def _ahead(site: Site, reads: Sequence[ir.Operation], indices: Sequence[list[ir.Operation]]) -> list[ir.Value]:
    inits, arguments = site.operands, site.arguments(BODY)
    place = {read.results[0]: k for k, read in enumerate(reads, len(inits))}

    def read_from(values: Sequence[ir.Value]) -> list[ir.Value]:
        mapping = dict(zip(arguments, values, strict=True))
        for read, index in zip(reads, indices, strict=True):
            for op in index:
                if op.results[0] not in mapping:
                    site.clone(op, mapping)
            site.clone(read, mapping)
        return [mapping[read.results[0]] for read in reads]

    def condition(*values: ir.Value) -> ir.Value:
        return site.inline(CONDITION, values[:len(inits)])[0]

    def body(*values: ir.Value) -> list[ir.Value]:
        mapping = dict(zip(arguments, values[:len(inits)], strict=True))
        for op in site.body(BODY):
            if len(op.results) == 1 and op.results[0] in place:
                mapping[op.results[0]] = values[place[op.results[0]]]
            else:
                site.clone(op, mapping)
        after = [mapping.get(value, value) for value in site.returned(BODY)]
        return [*after, *read_from(after)]

    return list(ops.while_([*inits, *read_from(inits)], condition, body))[:len(inits)]
