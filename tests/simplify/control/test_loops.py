"""Loops: what is carried, what is inside, and that values stay the same, on whole loops."""
import numpy as np
import pytest

from reactant import pipelines
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.ir.types import shape_of
from reactant.options import CompileOptions
from reactant.rewrite.selftest import build_module
from reactant.simplify.control import loops

N = 8


def simplified(build, passes="simplify", seed=0):
    """The module after simplification, after checking its values against those before."""
    module = build_module(build, np.dtype(np.float32))
    assert module is not None
    rng = np.random.default_rng(seed)
    types = [shape_of(v) for v in modules.function(module).regions[0].blocks[0].arguments]
    arguments = [rng.normal(size=shape).astype(np.float32) for shape in types]
    before = evaluate(module, arguments)
    pipelines.run(module, passes, options=CompileOptions(without=("loop_maps",)))     # they are here to stay loops
    modules.verify(module)
    for old, new in zip(before, evaluate(module, arguments), strict=True):
        np.testing.assert_array_equal(old, new)
    return module


def the_loop(module):
    return next((op for op in modules.walk(module) if op.name == "stablehlo.while"), None)


def inside(module):
    """How many of each op the bodies of loops hold."""
    found = {}
    for op in modules.walk(module):
        if op.name == "stablehlo.while":
            for child in modules.walk(op):
                found[child.name] = found.get(child.name, 0) + 1
    return found


def loop(inits, iteration, count=20):
    zero = ops.constant(0, np.int32)
    return ops.while_([zero, *inits], lambda i, *_: ops.compare(i, count, "LT"),
                      lambda i, *values: [ops.add(i, 1), *iteration(i, *values)])[1:]


CARRIED = {
    "dead": (lambda a: loop([a(N), a(N)], lambda i, x, y: [ops.sine(x), ops.multiply(x, y)])[0], 2),
    "dead cycle": (lambda a: loop([a(N), a(N), a(N)], lambda i, x, y, z: [ops.sine(x), z, ops.add(y, z)])[0], 2),
    "invariant": (lambda a: loop([a(N), a(N)], lambda i, x, y: [ops.multiply(x, y), y]), 2),
    "the same twice": (lambda a: loop([x := a(N), x], lambda i, x, y: [ops.sine(x), ops.sine(y)]), 2),
    "counter twice": (lambda a: loop([a(N), ops.constant(0, np.int32)], lambda i, x, j: [
        ops.add(x, ops.broadcast_in_dim(ops.convert(j, np.float32), (N,), ())), ops.add(j, 1)])[0], 2),
    "all needed": (lambda a: loop([a(N), a(N)], lambda i, x, y: [ops.sine(y), ops.sine(ops.add(x, y))]), 3),
    "needed by the condition": (lambda a: ops.while_([a(), a(N)], lambda s, x: ops.compare(s, 9, "LT"),
                                                     lambda s, x: [ops.add(ops.abs(s), 1), ops.sine(x)])[1], 2),
}


@pytest.mark.parametrize("case", CARRIED)
def test_carried_values(case):
    build, wanted = CARRIED[case]
    with building():
        module = simplified(build)
        assert len(the_loop(module).operands) == wanted, str(module)


def test_invariant_code_leaves_the_loop():
    def build(a):
        y = a(N)
        return loop([a(N)], lambda i, x: [ops.multiply(x, ops.exponential(ops.sine(y)))])
    with building():
        assert not {"stablehlo.sine", "stablehlo.exponential"} & set(inside(simplified(build)))


def test_cheap_invariants_stay_inside():
    with building():
        module = simplified(lambda a: loop([a(N, N)], lambda i, x: [ops.select(
            ops.compare(ops.iota((N, N), np.int32, 0), 3, "LT"), ops.sine(x), x)]), "default")
        assert inside(module)["stablehlo.iota"] >= 1


def test_masks_of_before_the_loop_are_made_again_inside():
    def build(a):
        mask = ops.compare(ops.iota((N, N), np.int32, 0), 3, "LT")
        x = ops.select(mask, a(N, N), a(N, N))
        return loop([x], lambda i, x: [ops.select(mask, ops.sine(x), x)])
    with building():
        module = simplified(build, (loops.sink_generators,))
        assert inside(module)["stablehlo.iota"] == 1
        assert modules.counts(module)["stablehlo.iota"] == 2


def test_a_mask_that_a_product_reads_is_made_once():
    def build(a):
        mask = ops.convert(ops.compare(ops.iota((N, N), np.int32, 0), ops.iota((N, N), np.int32, 1), "EQ"), np.float32)
        return loop([a(N, N)], lambda i, x: [ops.dot_general(mask, x, contracting_dims=((1,), (0,)))])
    with building():
        assert "stablehlo.iota" not in inside(simplified(build, (loops.sink_generators,)))


def test_only_what_is_generated_is_made_again_inside():
    """A repeated small array goes in, what made it (here a branch with two results) does not."""
    def build(a):
        v, p = a(4), ops.compare(a(), 0, "LT")
        two = ops.if_(p, lambda: [v, ops.sine(v)], lambda: [ops.sine(v), v], [v.type, v.type])
        wide = ops.broadcast_in_dim(two[1], (N, 4), (1,))
        return loop([ops.add(wide, a(N, 4))], lambda i, x: [ops.sine(ops.multiply(x, wide))])
    with building():
        module = simplified(build, (loops.sink_generators,))
        found = inside(module)
        assert found["stablehlo.broadcast_in_dim"] == 1 and "stablehlo.if" not in found, module


@pytest.mark.parametrize("factor, iterations, stays", [
    (0.99, 300, False), (1.01, 300, False), (1.99, 3_000, True), (0.5, 5_000, True), (None, 300, True)])
def test_product_of_copies_stays_a_loop_where_it_would_overflow(factor, iterations, stays):
    """1.99^3000 is infinite, where 1e-300 * 1.99 * 1.99... need not be."""
    def build(a):
        c = a() if factor is None else factor
        return loop([a()], lambda i, x: [ops.multiply(x, c)], iterations)
    with building():
        module = build_module(build, np.dtype(np.float32))
        arguments = [np.float32(2), *([np.float32(0.999)] if factor is None else [])]
        before, = evaluate(module, arguments)
        pipelines.run(module, "simplify")
        np.testing.assert_allclose(evaluate(module, arguments)[0], before, rtol=1e-4)
        assert (the_loop(module) is not None) == stays, module


def test_overwritten_scratch_array_is_not_carried():
    """The gradient array of a denoiser: written in every iteration before it is read, its border never."""
    def build(a):
        def iteration(i, x, scratch):
            scratch = ops.dynamic_update_slice(scratch, ops.slice(x, (1,), (N,)), [ops.constant(0, np.int32)])
            return [ops.subtract(x, scratch), scratch]
        return loop([a(N), ops.splat(0, a(N))], iteration)[0]
    with building():
        assert len(the_loop(simplified(build)).operands) == 2


def test_scratch_read_before_it_is_written_is_carried():
    def build(a):
        def iteration(i, x, scratch):
            new = ops.dynamic_update_slice(scratch, ops.slice(x, (1,), (N,)), [ops.constant(0, np.int32)])
            return [ops.subtract(x, ops.sine(scratch)), new]
        return loop([a(N), ops.splat(0, a(N))], iteration)[0]
    with building():
        assert len(the_loop(simplified(build)).operands) == 3


@pytest.mark.parametrize("count", (0, 1, 2, 3, 20))
def test_few_iterations_need_no_loop(count):
    with building():
        module = simplified(lambda a: loop([a(N)], lambda i, x: [ops.sine(x)], count))
        assert (the_loop(module) is None) == (count <= 3)


def test_wrapped_index_in_a_loop_is_plain():
    """x[i] with select(i < 0, i + n, i) and a bounds check, as a frontend writes them."""
    def build(a):
        table = a(20, N)

        def iteration(i, x):
            index = ops.select(ops.compare(i, 0, "LT"), ops.add(i, 20), i)
            ok = ops.and_(ops.compare(index, 0, "GE"), ops.compare(index, 20, "LT"))
            row = ops.reshape(ops.dynamic_slice(table, [index, ops.constant(0, np.int32)], (1, N)), (N,))
            return [ops.select(ok, ops.add(x, row), x)]
        return loop([a(N)], iteration)
    with building():
        found = inside(simplified(build))
        assert "stablehlo.select" not in found and found["stablehlo.compare"] == 1


@pytest.mark.parametrize("count", (2, 5, 8, 9))
@pytest.mark.parametrize("values", (2, 3, 4))
def test_arrays_handed_on_by_loops_of_any_length(values, count):
    size = 1100
    with building():
        simplified(lambda a: loop([a(size) for _ in range(values)], lambda i, *x: [
            ops.subtract(x[0], ops.multiply(x[-1], 0.5)), *x[:-1]], count), "target")


@pytest.mark.parametrize("seed", range(25))
def test_random_loops(seed):
    """Arrays and counters that are updated, sliced, stacked, swapped, dropped and read after the loop, at random."""
    rng = np.random.default_rng(seed)
    rows, count = 36, int(rng.integers(0, 7))
    kinds = [int(k) for k in rng.integers(0, 6, rng.integers(2, 5))]
    order = [int(k) for k in rng.permutation(len(kinds))]
    places = [int(k) for k in rng.integers(0, rows - 8, 8)]
    kept = [int(k) for k in rng.integers(0, len(kinds), 2)]
    invariant = int(rng.integers(0, len(kinds)))

    def changed(kind, x, other, i, step):
        row = ops.slice(other, (places[step], 0), (places[step] + 6, 40))
        at = [ops.constant(places[step + 1], np.int32), ops.constant(0, np.int32)]
        if kind == 0:
            return ops.dynamic_update_slice(x, ops.multiply(row, 0.5), at)
        if kind == 1:
            return ops.dynamic_update_slice(x, row, [i, ops.constant(0, np.int32)])
        if kind == 2:
            return ops.subtract(x, ops.multiply(other, 0.25))
        if kind == 3:
            half = ops.slice(x, (0, 0), (rows - 1, 40))
            return ops.dynamic_update_slice(x, ops.add(half, ops.slice(other, (1, 0), (rows, 40))), [
                ops.constant(k, np.int32) for k in (1, 0)])
        if kind == 4:
            return other
        return ops.select(ops.broadcast_in_dim(ops.compare(i, 2, "LT"), (rows, 40), ()), x, other)

    def iteration(i, *values):
        new = [changed(kind, x, values[(k + 1) % len(values)], i, k)
               for k, (kind, x) in enumerate(zip(kinds, values, strict=True))]
        new = [new[k] for k in order]
        new[invariant] = values[invariant]
        return new

    with building():
        simplified(lambda a: [loop([a(rows, 40) for _ in kinds], iteration, count)[k] for k in kept], "default", seed)
