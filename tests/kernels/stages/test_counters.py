"""Bounds of what counts in a control-flow graph, as written and as LLVM turns it round: never too narrow."""
from itertools import product

import pytest

from reactant.ir import modules
from reactant.ir.context import building
from reactant.kernels.form.form import kernel_of
from reactant.kernels.form.rebuild import blocks_of
from reactant.kernels.stages.counters import bounds_of, counters_of

LOOP = """func.func @kernel() attributes {{gpu.kernel}} {{
  %a = arith.constant {a} : i32
  %k = arith.constant {k} : i32
  %b = arith.constant {b} : i32
  %three = arith.constant 3 : i32
  cf.br ^iteration(%a : i32)
^iteration(%i: i32):
  %n = arith.addi %i, %k overflow<nsw> : i32
  %wide = arith.extsi %i : i32 to i64
  %far = arith.muli %i, %three overflow<nsw> : i32
  %c = arith.cmpi {predicate}, {compared}, %b : i32
  cf.cond_br %c, {ways}
^end:
  return
}}"""
TESTS = {"slt": int.__lt__, "sle": int.__le__, "sgt": int.__gt__, "sge": int.__ge__, "ne": int.__ne__, "eq": int.__eq__,
         "ult": int.__lt__, "ule": int.__le__}


def seen(a, k, b, predicate, compared, stays):
    """What the counter is, one iteration after the other; None where that is too long."""
    found, i = [], a
    while len(found) < 60:
        found.append(i)
        if TESTS[predicate](i + k if compared == "%n" else i, b) != stays:
            return found
        i += k
    return None


@pytest.mark.parametrize("predicate", TESTS)
def test_counters_stay_within_their_bounds(predicate):
    known = 0
    with building():
        for a, k, b, compared, stays in product((0, 2, 7), (1, 2, -1, -3), (0, 3, 8), ("%i", "%n"), (True, False)):
            ways = "^iteration(%n : i32), ^end" if stays else "^end, ^iteration(%n : i32)"
            module = modules.parse(LOOP.format(a=a, k=k, b=b, predicate=predicate, compared=compared, ways=ways))
            blocks = blocks_of(kernel_of(module))
            (counter,) = blocks[1].arguments
            bounds = counters_of(blocks).get(counter)
            values = seen(a, k, b, predicate, compared, stays)
            if bounds is None or values is None or (predicate[0] == "u" and min(*values, values[-1] + k) < 0):
                continue
            known += 1
            assert bounds[0] <= min(values) and max(values) <= bounds[1]
            counters = {counter: bounds}
            wide, far = (op.results[0] for op in list(blocks[1].operations)[1:3])
            assert bounds_of(wide, counters) == bounds and bounds_of(far, counters) == (3 * bounds[0], 3 * bounds[1])
    assert known > 10


def test_the_bounds_of_usual_loops_are_exact():
    with building():
        for a, k, b, predicate, compared, stays, expected in (
                (0, 1, 3, "eq", "%n", False, (0, 2)), (0, 1, 3, "slt", "%n", True, (0, 2)),
                (2, -1, 0, "sgt", "%i", True, (0, 2)), (1, 2, 7, "ult", "%n", True, (1, 6)),
                (5, -1, 0, "ne", "%n", True, (1, 5))):
            ways = "^iteration(%n : i32), ^end" if stays else "^end, ^iteration(%n : i32)"
            module = modules.parse(LOOP.format(a=a, k=k, b=b, predicate=predicate, compared=compared, ways=ways))
            blocks = blocks_of(kernel_of(module))
            assert counters_of(blocks)[blocks[1].arguments[0]] == expected
