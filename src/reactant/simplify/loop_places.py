"""while loops that keep working on one place of an array: the place is carried, not the array.

    for k in range(n): c[i, j] += a[i, k] * b[k, j]     w = c[i, j]; for k in range(n): w += ...; c[i, j] = w
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.batching.accesses import Turns, Window, equal_starts, read_window, window_of
from reactant.batching.analysis import block_ops
from reactant.batching.windows import read_fixed, write_last
from reactant.ir import ops
from reactant.ir.induction import counters
from reactant.ir.types import shape_of, size
from reactant.rewrite import Site, rewrite, users
from reactant.simplify.loops import BODY, CONDITION, counted

READ, UPDATE = "stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice"


def _place(site: Site, turns: Turns, index: int) -> tuple[Window, list[ir.Operation], list[ir.Operation]] | None:
    """The one window of carried array `index` that the turns read and write, its reads and its writes."""
    argument, value = site.arguments(BODY)[index], site.returned(BODY)[index]
    terminator, writes = site.terminator(BODY), []
    while value != argument:
        if isinstance(value.owner, ir.Block) or value.owner.name != UPDATE:
            return None
        writes.append(value.owner.operation)
        value = value.owner.operands[0]
    if not writes or users(site.arguments(CONDITION)[index]):
        return None
    windows = [window_of(turns, w.operands[0], list(w.operands)[2:], shape_of(w.operands[1])) for w in writes]
    if any(start is None or start.step for start in windows[0].starts):
        return None
    reads: list[ir.Operation] = []
    allowed = {write.results[0] for write in writes}
    for version in (argument, *allowed):
        for use in version.uses:
            op = use.owner.operation
            if op == terminator and use.operand_number == index or len(op.results) == 1 and op.results[0] in allowed \
                    and use.operand_number == 0:
                continue
            if op.name != READ or op.block != terminator.block or use.operand_number:
                return None
            reads.append(op)
            windows.append(read_window(turns, op))
    same = all(equal_starts(windows[0], other) for other in windows[1:])
    smaller = 2 * size(windows[0].sizes) <= size(shape_of(argument))
    return (windows[0], reads, writes) if same and smaller else None


_ROW = ("%s = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<3xf32>, tensor<i32>) -> tensor<1xf32>\n"
        "%o = stablehlo.dynamic_slice %a, %one, sizes = [1] : (tensor<3xf32>, tensor<i32>) -> tensor<1xf32>\n"
        "%m = stablehlo.multiply %o, %s : tensor<1xf32>\n%t = stablehlo.add %m, %s : tensor<1xf32>\n"
        "%b = stablehlo.dynamic_update_slice %a, %t, {} : (tensor<3xf32>, tensor<1xf32>, tensor<i32>) -> tensor<3xf32>")


@rewrite("stablehlo.while",
         example=tuple(counted([("%a", "%y", "%b", "tensor<3xf32>")], _ROW.format("%one"), "%r#1", trips=n)
                       for n in (0, 3)),
         counter=counted([("%a", "%y", "%b", "tensor<3xf32>")], _ROW.format("%i"), "%r#1"))
def while_works_on_one_place(site: Site):
    """a carried array of which the turns read and write one window only: the window is carried"""
    turns = Turns(site.op, counters(site.op), 1)
    for index in range(len(site.operands)):
        found = _place(site, turns, index)
        if found is not None:
            return _carry_place(site, index, *found)
    return None


def _carry_place(site: Site, index: int, window: Window, reads: list[ir.Operation],
                 writes: list[ir.Operation]) -> list[ir.Value]:
    inits, arguments = site.operands, site.arguments(BODY)
    body, returned = block_ops(site.block(BODY))
    read, written = {op.results[0] for op in reads}, {op.results[0] for op in writes}

    def turn(*values: ir.Value) -> list[ir.Value]:
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
    results = ops.while_(carried, condition, turn)
    results[index] = write_last(inits[index], results[index], window)
    return results
