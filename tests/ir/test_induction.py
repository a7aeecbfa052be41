"""Trip counts equal those of the loop itself; ranges hold every element an op can give."""
import itertools

import numpy as np
import pytest

from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.induction import Trips, counters, range_of, trips
from reactant.ir.interpret import evaluate
from reactant.rewrite.selftest import build_module

HOLDS = {"LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal, "NE": np.not_equal}


def loop_of(module):
    return next(op for op in modules.walk(module) if op.name == "stablehlo.while")


def counted(start, bound, step, direction, also=None, dtype=np.int32):
    def build(a):
        def condition(i, _):
            test = ops.compare(i, bound, direction)
            return test if also is None else ops.and_(test, also(i))
        return ops.while_([ops.constant(start, dtype), a(dtype="int32")], condition,
                          lambda i, n: [ops.add(i, step), ops.add(n, 1)])[1]
    return build_module(build, np.dtype(np.float32))


def analysed(analysis, *arguments, **keywords):
    """An analysis of a counted loop; the module must live as long as its ops are looked at."""
    module = counted(*arguments, **keywords)
    return analysis(loop_of(module))


def iterations_in_python(start, bound, step, direction, most=50):
    count, i = 0, start
    while count < most and HOLDS[direction](i, bound):
        i, count = i + step, count + 1
    return count


@pytest.mark.parametrize("direction", HOLDS)
def test_trip_counts(direction):
    with building():
        for start, bound, step in itertools.product((-3, 0, 4), (-4, 0, 5, 9), (-2, -1, 1, 3)):
            wanted = iterations_in_python(start, bound, step, direction)
            found = analysed(trips, start, bound, step, direction)
            if wanted < 50:
                assert found == Trips(wanted, True), (start, bound, step)
            else:  # it ends only by overflow, if at all
                assert found is None, (start, bound, step)


def test_conjunctions_take_the_least():
    with building():
        assert analysed(trips, 0, 10, 1, "LT", lambda i: ops.compare(ops.add(i, 2), 9, "LT")) == Trips(7, True)
        assert analysed(trips, 0, 10, 1, "LT",
                        lambda i: ops.compare(ops.remainder(i, 7), 5, "NE")) == Trips(10, False)


def test_overflow_is_no_trip_count():
    with building():
        assert analysed(trips, 120, 127, 5, "LT", dtype=np.int8) is None
        assert analysed(trips, 120, 125, 5, "LT", dtype=np.int8) == Trips(1, True)


def test_counters_name_start_and_step():
    with building():
        found = analysed(counters, 4, 0, -2, "GT")
        assert {i: (c.start, c.step) for i, c in found.items()} == {0: (4, -2), 1: (None, 1)}


RANGES = [(-3, 4, 1, 3), (0, 7, 0, 7), (-5, -2, -2, 2), (2, 2, 3, 3), (-8, 9, 5, 5)]
BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "remainder", "divide", "and")


@pytest.mark.parametrize("name", BINARY)
def test_ranges_of_binary_ops_hold_all_elements(name):
    with building():
        for low, high, other_low, other_high in RANGES:
            _check(lambda x, y: getattr(ops, name + "_" if name == "and" else name)(x, y),
                   np.arange(low, high + 1), np.arange(other_low, other_high + 1))


@pytest.mark.parametrize("name", ("negate", "abs"))
def test_ranges_of_unary_ops_hold_all_elements(name):
    with building():
        for low, high in [(-3, 4), (0, 7), (-5, -2), (2, 2)]:
            _check(lambda x, _: getattr(ops, name)(x), np.arange(low, high + 1), np.arange(1))


def _check(function, left, right):
    """The range of `function` on constants of all pairs, against what the interpreter gives for them."""
    a, b = (np.array(v, np.int32) for v in np.meshgrid(left, right, indexing="ij"))
    seen = []

    def build(_):
        value = function(ops.constant(a), ops.constant(b))
        seen.append(range_of(value))
        return value
    result = evaluate(build_module(build, np.dtype(np.int32)), [])[0]
    if seen[0] is not None:
        assert seen[0][0] <= result.min() and result.max() <= seen[0][1], (left, right)


def test_ranges_of_counters_differ_in_body_and_condition():
    with building():
        def ranges(loop):
            return [range_of(loop.regions[k].blocks[0].arguments[0]) for k in (1, 0)]
        assert analysed(ranges, 3, 9, 2, "LT") == [(3, 7), (3, 9)]


def test_sums_that_may_overflow_have_no_range():
    with building():
        def build(a):
            x = ops.clamp(100, a(4, dtype="int8"), 120)
            assert range_of(x) == (100, 120) and range_of(ops.add(x, x)) is None
            return x
        assert build_module(build, np.dtype(np.int8)) is not None


def test_ranges_of_what_is_moved():
    """By sorts with what else they move, the greatest elements with their places, gathers, updates and padding."""
    with building():
        def build(a):
            x, y = ops.clamp(2, a(3, 5, dtype="int32"), 9), a(3, 5, dtype="float32")
            keys, places = ops.sort([y, ops.iota((3, 5), np.int32, 1)], 1)[:2]
            assert range_of(keys) is None and range_of(places) == (0, 4)
            top = ops.create("chlo.top_k", [ops.tensor_type((3, 2), np.dtype("int32"))] * 2, [x],
                             {"k": ops.attr.integer(2)})
            assert [range_of(r) for r in top.results] == [(2, 9), (0, 4)]
            assert range_of(ops.pad(x, 0, (1, 0), (0, 0))) == (0, 9)
            return x
        assert build_module(build, np.dtype(np.int32)) is not None


def test_a_conjunction_of_many_terms():
    def also(i):
        whole = ops.compare(i, 7, "LT")
        for k in range(3000):
            whole = ops.and_(whole, ops.compare(i, 8 + k, "LT"))
        return whole

    with building():
        assert analysed(trips, 0, 9, 1, "LT", also=also).most == 7
