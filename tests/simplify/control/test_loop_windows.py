"""Triangular loops: carried windows, reads from the iteration before, reads beside updates. Bit for bit, or
declined."""
import numpy as np
import pytest

import reactant
from reactant import pipelines
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.ir.types import shape_and_dtype, shape_of
from reactant.rewrite.selftest import build_module

FAMILIES = ("masked_updates", "loop_windows", "loop_reads")
WINDOW, AHEAD, BESIDE, ELEMENT = ("while_carries_window", "while_reads_ahead", "read_beside_masked_update",
                                  "small_read_of_element_update")


def fired(build, dtype="float32", passes=FAMILIES, seed=0):
    """The rules of this room that fired, after checking the values bit for bit; run-time integers are 0..4."""
    with building():
        module = build_module(build, np.dtype(dtype))
        assert module is not None
        rng = np.random.default_rng(seed)
        arguments = []
        for value in modules.function(module).regions[0].blocks[0].arguments:
            shape, wanted = shape_and_dtype(value.type)
            known = range(5) if wanted.kind == "i" else (-1.0, 0.5, 1.0, 2.0, -0.0)
            arguments.append(rng.choice(np.array(known), shape).astype(wanted))
        before = evaluate(module, arguments)
        report = pipelines.run(module, passes)
        modules.verify(module)
        for old, new in zip(before, evaluate(module, arguments), strict=True):
            np.testing.assert_array_equal(old, new)
        return {name.rpartition(".")[2] for name, _ in report.counts()} & {WINDOW, AHEAD, BESIDE, ELEMENT}


def number(k):
    return ops.constant(k, np.int64)


def loop(arrays, iteration, start, stop, step=1):
    """The arrays after `iteration(k, *arrays)` for k in range(start, stop, step)."""
    def body(k, *carried):
        return [ops.add(k, number(step)), *iteration(k, *carried)]
    return ops.while_([number(start), *arrays],
                      lambda k, *_: ops.compare(k, number(stop), "LT" if step > 0 else "GT"), body)[1:]


def place(low):
    return [number(n) if isinstance(n, int) else n for n in low]


def eliminate(shape, start, stop, first=None, masked=True, dynamic=True):
    """One step of an elimination for each k: column k below row k divided by a pivot, then the rank-one update."""
    first = start + 1 if first is None else first
    rows, columns = shape[0] - first, shape[1] - first

    def iteration(k, a):
        column = ops.dynamic_slice(a, place((first, k)), (rows, 1))
        mask = ops.compare(ops.iota((rows, 1), np.int64, 0), ops.broadcast_in_dim(
            ops.add(k, number(1 - first)), (rows, 1), ()), "GE")
        new = ops.select(mask, ops.negate(column), column) if masked else ops.negate(column)
        b = ops.dynamic_update_slice(a, new, place((first, k)))
        row = ops.dynamic_slice(b, place((k, first)), (1, columns))
        trailing = ops.slice(b, (first, first), shape)
        change = ops.multiply(ops.broadcast_in_dim(new, (rows, columns), (0, 1)),
                              ops.broadcast_in_dim(row, (rows, columns), (0, 1)))
        return [ops.dynamic_update_slice(b, ops.subtract(trailing, change), place((first, first)))]
    return lambda a: loop([a(*shape)], iteration, start, stop)


@pytest.mark.parametrize(("shape", "start", "stop", "wanted"), (
    ((40, 50), 0, 12, {AHEAD, BESIDE}),                    # the window is everything
    ((80, 90), 40, 50, {WINDOW, AHEAD, BESIDE}),
    ((90, 80), 40, 79, {WINDOW, AHEAD, BESIDE}),           # up to the border
    ((60, 60), 12, 20, {WINDOW, AHEAD, BESIDE}),
    ((40, 50), 20, 30, {WINDOW, BESIDE}),                  # the window is too small to matter
    ((80, 90), 40, 82, {AHEAD}),                             # row 40, 41: clamped, so nothing is known
    ((10, 10), 5, 8, {BESIDE}),                            # too small to matter
))
def test_elimination(shape, start, stop, wanted):
    assert fired(eliminate(shape, start, stop)) == wanted


def test_an_update_without_mask_is_not_passed():
    assert BESIDE not in fired(eliminate((40, 50), 20, 30, masked=False))


def test_a_mask_that_lets_the_row_through_is_not_passed():
    def iteration(k, a):
        column = ops.dynamic_slice(a, place((10, k)), (30, 1))
        mask = ops.compare(ops.iota((30, 1), np.int64, 0), ops.broadcast_in_dim(
            ops.subtract(k, number(10)), (30, 1), ()), "GE")   # from row k on
        b = ops.dynamic_update_slice(a, ops.select(mask, ops.negate(column), column), place((10, k)))
        row = ops.dynamic_slice(b, place((k, 0)), (1, 50))
        return [ops.add(b, ops.broadcast_in_dim(row, (40, 50), (0, 1)))]
    assert BESIDE not in fired(lambda a: loop([a(40, 50)], iteration, 10, 20))


def test_a_mask_of_one_place_repeated_is_not_passed():
    def lower(k, a):   # all rows change, though row k is not before place k
        column = ops.dynamic_slice(a, place((0, 3)), (40, 1))
        before = ops.compare(ops.iota((1,), np.int64, 0), ops.broadcast_in_dim(k, (1,), ()), "LT")
        b = ops.dynamic_update_slice(a, ops.select(ops.broadcast_in_dim(before, (40, 1), (0,)), ops.negate(column),
                                                   column), place((0, 3)))
        return [ops.add(b, ops.broadcast_in_dim(ops.dynamic_slice(b, place((k, 0)), (1, 50)), (40, 50), (0, 1)))]
    assert BESIDE not in fired(lambda a: loop([a(40, 50)], lower, 2, 9))


# ---- windows -------------------------------------------------------------------------------------------------------

def negated(a, low, extents):
    """The array with one window of it, found by a dynamic_slice, negated."""
    return ops.dynamic_update_slice(a, ops.negate(ops.dynamic_slice(a, place(low), extents)), place(low))


def once(change, start=2, stop=12, step=1):
    return lambda a: loop([a(40, 50)], lambda k, b: [change(k, b, a)], start, stop, step)


CASES = {
    "rows that follow the counter": (once(lambda k, b, a: negated(b, (k, 0), (10, 50))), True),
    "backwards": (once(lambda k, b, a: negated(b, (k, 0), (10, 50)), 12, 2, -1), True),
    "every second": (once(lambda k, b, a: negated(b, (k, 3), (20, 40)), 2, 18, 2), True),
    "a sum of the counter": (once(lambda k, b, a: negated(b, (ops.add(k, k), 0), (12, 40))), True),
    "at the lower border": (once(lambda k, b, a: negated(b, (k, 0), (29, 20))), True),
    "clamped at the border": (once(lambda k, b, a: negated(b, (k, 0), (30, 20))), False),
    "negative": (once(lambda k, b, a: negated(b, (ops.subtract(k, number(3)), 0), (10, 20))), False),
    "an index from outside": (once(lambda k, b, a: negated(b, (k, N[0]), (10, 20))), False),
    "a clamped index from outside": (once(lambda k, b, a: negated(b, (k, ops.clamp(number(0), N[0], number(4))),
                                                                  (10, 20))), True),
    "an index that wraps around": (once(lambda k, b, a: negated(b, (ops.remainder(ops.add(k, number(30)), number(32)),
                                                                    0), (12, 20))), False),
    "nearly everything": (once(lambda k, b, a: negated(b, (k, 0), (26, 50))), False),
    "few places of many": (once(lambda k, b, a: negated(b, (k, 0), (1, 50))), False),
}
N = []


@pytest.mark.parametrize("name", CASES)
def test_where_windows_are_known(name):
    build, wanted = CASES[name]

    def with_number(a):
        N[:] = [a(dtype="int64")]
        return build(a)
    assert (WINDOW in fired(with_number)) == wanted


def test_strided_reads_shift():
    def iteration(k, a):
        part = ops.slice(a, (10, 20), (30, 50), (1, 3))
        return [ops.dynamic_update_slice(a, ops.add(part, ops.slice(a, (10, 21), (30, 31))), place((11, k)))]
    assert WINDOW in fired(lambda a: loop([a(40, 50)], iteration, 20, 40))


@pytest.mark.parametrize("use", ("whole", "returned", "condition", "other array"))
def test_other_uses_keep_the_array(use):
    def build(a):
        def body(k, x, y):
            new = negated(x, (k, 0), (10, 20))
            other = {"whole": lambda: ops.add(x, y), "returned": lambda: x, "condition": lambda: y,
                     "other array": lambda: y}[use]()
            if use == "other array":
                new = negated(y, (k, 0), (10, 20))
            return [ops.add(k, number(1)), new, other]

        def condition(k, x, y):
            go = ops.compare(k, number(12), "LT")
            if use != "condition":
                return go
            return ops.and_(go, ops.compare(ops.reshape(ops.slice(x, (0, 0), (1, 1)), ()), 3, "LT"))
        return ops.while_([number(2), a(40, 50), a(40, 50)], condition, body)[1:]
    assert WINDOW not in fired(build)


def test_several_arrays():
    def iteration(k, x, y, z):
        row = ops.dynamic_slice(y, place((k, 0)), (1, 20))
        x = ops.dynamic_update_slice(x, ops.add(ops.slice(x, (20, 30), (40, 50)), ops.broadcast_in_dim(
            row, (20, 20), (0, 1))), place((20, 30)))
        return [x, negated(y, (k, 0), (9, 60)), ops.add(z, ops.slice(x, (39, 49), (40, 50)))]
    with building():
        assert WINDOW in fired(lambda a: loop([a(40, 50), a(60, 60), a(1, 1)], iteration, 20, 33))


# ---- random programs -----------------------------------------------------------------------------------------------

class Triangular:
    """A loop of random reads and updates of one or two carried arrays, at random places that follow the counter."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __call__(self, a):
        rng = self.rng
        self.start, self.trips = int(rng.integers(0, 12)), int(rng.integers(5, 12))
        self.unknown = a(dtype="int64")
        arrays = [a(*(int(n) for n in rng.integers(60, 80, 2))) for _ in range(rng.integers(1, 3))]
        return loop(arrays, self.iteration, self.start, self.start + self.trips)

    def iteration(self, k, *arrays):
        arrays = list(arrays)
        for _ in range(self.rng.integers(1, 5)):
            i = int(self.rng.integers(len(arrays)))
            arrays[i] = self.changed(k, arrays[i])
        if self.rng.integers(3) == 0:
            arrays[0] = ops.add(arrays[0], arrays[0])
        return arrays

    def window(self, k, shape, thin=3):
        """Places and extents of a small read or a big update: static, or beginning at the counter."""
        low, extents = [], []
        for n in shape:
            kind, offset = self.rng.integers(5), int(self.rng.integers(0, 3))
            extent = 1 if self.rng.integers(thin) == 0 else int(self.rng.integers(30, 46))
            if kind == 0:
                low.append(int(self.rng.integers(0, n - extent)))
            elif kind == 1 and self.rng.integers(4) == 0:
                low.append(self.unknown)
            else:
                low.append(ops.add(k, number(offset)) if offset else k)
            extents.append(extent)
        return low, extents

    def changed(self, k, array):
        shape = shape_of(array)
        low, extents = self.window(k, shape)
        content = ops.dynamic_slice(array, place(low), extents)
        read, sizes = self.window(k, shape, 2)
        value = ops.reshape(ops.slice(ops.dynamic_slice(array, place(read), sizes), (0, 0), (1, 1)), ())
        new = ops.subtract(content, ops.broadcast_in_dim(value, extents, ()))
        if self.rng.integers(4):
            d = int(self.rng.integers(2))
            offset = int(self.rng.integers(-1, 4))
            bound = ops.add(k, number(offset - low[d])) if isinstance(low[d], int) else number(offset)
            mask = ops.compare(ops.iota(extents, np.int64, d), ops.broadcast_in_dim(bound, extents, ()),
                               str(self.rng.choice(["GE", "GT", "LT", "LE"])))
            new = ops.select(mask, *((new, content) if self.rng.integers(2) else (content, new)))
        return ops.dynamic_update_slice(array, new, place(low))


@pytest.mark.slow
def test_random_triangular_programs():
    seen = []
    for seed in range(45):
        seen.append(fired(Triangular(seed), seed=seed))
    for rule in (WINDOW, AHEAD, BESIDE):
        assert sum(rule in each for each in seen) >= 3, rule


# ---- whole programs ------------------------------------------------------------------------------------------------

def lu(a):
    n = len(a)
    for k in range(n - 1):
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])
    return a


def cholesky(a):
    n = len(a)
    for k in range(n):
        a[k, k] = np.sqrt(a[k, k])
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k + 1:, k])
    return a


def upward(a):
    for k in range(len(a) - 1, 0, -1):
        a[:k, :k] -= np.outer(a[:k, k], a[k, :k]) / a[k, k]
    return a


def shortest(d):
    for k in range(len(d)):
        d = np.minimum(d, d[:, k, None] + d[k])
    return d


@pytest.mark.slow
@pytest.mark.parametrize("function", (lu, cholesky, upward, shortest), ids=lambda f: f.__name__)
def test_loops_rewrite_their_array_in_place(function):
    n = 130
    rng = np.random.default_rng(1)
    a = rng.standard_normal((n, n)) / n + np.eye(n) * 3
    a = a + a.T
    lowered = reactant.jit(function).lower(a)
    found = {name.rpartition(".")[2] for name, _ in lowered.report.counts()}
    assert AHEAD in found and (WINDOW in found or function is shortest)   # the frontend cuts triangular loops in four
    compiled = lowered.compile()
    result = reactant.jit(function)(a.copy())
    np.testing.assert_allclose(result, function(a.copy()), rtol=1e-9, atol=1e-9)
    for block in compiled.as_text().split("\n}\n"):
        if " while(" in block or "ENTRY" in block:   # before the loop a copy is right: the argument is the caller's
            continue
        big = [line for line in block.splitlines() if " copy(" in line and line.split("[")[1].split("]")[0].count(",")]
        assert not big, big
