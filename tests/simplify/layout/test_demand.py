"""Who reads a part makes the producer compute that part: fewer flops, the same values."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import reactant
from reactant import pipelines
from reactant.ir import cost, modules, ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.ir.types import shape_and_dtype, shape_of
from reactant.options import CompileOptions
from reactant.rewrite.selftest import build_module


def compared(build, **options):
    """Flops before over after simplification, after comparing values."""
    with building():
        module = build_module(build, np.dtype("float64"))
        assert module is not None
        rng = np.random.default_rng(0)
        arguments = [rng.integers(0, 3, shape).astype(dtype) if dtype.kind in "iu" else rng.normal(size=shape)
                     for shape, dtype in (shape_and_dtype(v.type) for v in
                                      modules.function(module).regions[0].blocks[0].arguments)]
        before, flops = evaluate(module, arguments), cost.estimate(module)["flops"]
        pipelines.run(module, "simplify", CompileOptions(**options))
        modules.verify(module)
        for old, new in zip(before, evaluate(module, arguments), strict=True):
            np.testing.assert_allclose(new, old, rtol=1e-10, atol=1e-12)
        return flops / max(cost.estimate(module)["flops"], 1)


def iterations(body, many=6):
    def build(a):
        x, y = a(12, 10), a(12, 10)

        def step(i, c):
            return [ops.add(i, 1), body(c, y)]
        out = ops.while_([ops.constant(0, np.int64), x], lambda i, c: ops.compare(i, many, "LT"), step)[1]
        return ops.slice(out, (1, 0), (11, 10), (9, 1))
    return build


def by_matrix(c, y):
    return ops.tanh(ops.dot_general(c, ops.slice(y, (0, 0), (10, 10)), contracting_dims=((1,), (0,))))


def two_results(a):
    def body(p, i, q, j):
        greater = ops.compare(p, q, "GE")
        return [ops.select(greater, p, q), ops.select(greater, i, j)]
    found = ops.reduce([ops.exponential(a(12, 10)), ops.iota((12, 10), "int32", 1)], [-np.inf, 0], (1,), body)
    return ops.slice(found[1], (2,), (4,))


def places(a, sizes):
    return [a(dtype="int32") for _ in sizes]


PROGRAMS = {
    "elementwise": lambda a: ops.slice(ops.exponential(ops.add(a(12, 10), a(12, 10))), (0, 3), (2, 9), (1, 2)),
    "broadcast": lambda a: ops.slice(ops.exponential(ops.broadcast_in_dim(a(12), (12, 10), (0,))), (0, 0), (2, 9)),
    "reduce": lambda a: ops.slice(ops.reduce(ops.exponential(a(12, 10)), 0, (1,), "add"), (3,), (5,)),
    "reductions": two_results,
    "product": lambda a: ops.slice(ops.dot_general(ops.exponential(a(12, 10)), a(10, 9), contracting_dims=((1,), (0,))),
                                   (1, 2), (3, 4)),
    "concatenation": lambda a: ops.slice(ops.concatenate([ops.exponential(a(12, 10)), ops.sine(a(5, 10))], 0), (10, 0),
                                         (13, 10)),
    "pad": lambda a: ops.slice(ops.pad(ops.exponential(a(12, 10)), 0, (2, 2), (2, 2)), (0, 0), (4, 14)),
    "spread": lambda a: ops.slice(ops.pad(ops.exponential(a(12, 10)), 0, (0, 0), (0, 0), (1, 1)), (0, 2), (8, 19),
                                  (2, 4)),
    "sort": lambda a: ops.slice(ops.sort([ops.exponential(a(12, 10))], 1)[0], (0, 0), (2, 10)),
    "windows": lambda a: ops.slice(ops.reduce_window(ops.exponential(a(12, 10)), 0, "add", (3, 3)), (1, 1), (3, 3)),
    "running sum": lambda a: ops.slice(ops.reduce_window(ops.exponential(a(12, 10)), 0, "add", (1, 10),
                                                         padding=((0, 0), (9, 0))), (0, 0), (2, 10)),
    "reversed": lambda a: ops.slice(ops.reverse(ops.exponential(a(12, 10)), (0,)), (0, 0), (2, 10)),
    "rows of a reshape": lambda a: ops.slice(ops.reshape(ops.transpose(ops.exponential(a(12, 10)), (1, 0)), (120,)),
                                             (0,), (24,)),
    "elementwise iterations": iterations(lambda c, y: ops.multiply(ops.sine(c), y)),
    "iterations with products": iterations(by_matrix),
    "product at run-time places": lambda a: ops.dynamic_slice(
        ops.dot_general(ops.exponential(a(12, 10)), a(10, 9), contracting_dims=((1,), (0,))), places(a, "ij"), (2, 3)),
    "sum at run-time places": lambda a: ops.dynamic_slice(
        ops.reduce(ops.exponential(a(12, 10)), 0, (1,), "add"), places(a, "i"), (3,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_parts(name):
    assert compared(PROGRAMS[name]) > 2


def test_arrays_that_need_rows_of_each_other_are_carried_in_part():
    def program(a):
        x, w = a(20, 4), a(4, 4)

        def iteration(i, x, y, z):
            new = ops.tanh(ops.dot_general(x, w, contracting_dims=((1,), (0,))))
            return [ops.add(i, 1), new, ops.add(ops.multiply(y, 0.5), x), ops.sine(z)]
        start = [ops.constant(0, "int32"), x, a(20, 4), a(20, 4)]
        made = ops.while_(start, lambda i, *_: ops.compare(i, 6, "LT"), iteration)
        return [ops.slice(made[2], (3, 0), (5, 4)), made[3]]
    with building():
        module = build_module(program, np.dtype("float64"))
        rng = np.random.default_rng(0)
        inputs = [rng.normal(size=shape_of(v)) for v in modules.function(module).regions[0].blocks[0].arguments]
        expected = evaluate(module, inputs)
        pipelines.run(module, "simplify", verify=True)
        for old, new in zip(expected, evaluate(module, inputs), strict=True):
            np.testing.assert_allclose(new, old, rtol=1e-12)
        loop = next(op for op in modules.walk(module) if op.name == "stablehlo.while")
        assert sorted(shape_of(v) for v in loop.results) == [(), (2, 4), (2, 4), (20, 4)]


def test_a_convolution_of_some_kernels_reads_its_image_where_it_lies():
    """Without what the last stride does not reach it would be a copy."""
    def chosen(x, w):
        return lax.conv(x, w, (2, 2), "VALID")[:, 1]
    x, w = np.ones((4, 3, 16, 16), np.float32), np.ones((5, 3, 3, 3), np.float32)
    assert reactant.jit(chosen).lower(x, w).operations()["stablehlo.slice"] == 1
    np.testing.assert_array_equal(reactant.jit(chosen)(x, w), np.full((4, 7, 7), 27, np.float32))


def test_iterations_that_mix_rows_are_left_alone():
    assert compared(iterations(lambda c, y: ops.sine(ops.reverse(c, (0,))))) < 1.1
    assert compared(iterations(lambda c, y: ops.add(ops.sine(c), ops.broadcast_in_dim(
        ops.reduce(c, 0, (0,), "add"), (12, 10), (1,))))) < 1.1


def test_an_empty_slice_of_steps_stays_within_the_array():
    """It once began a step behind the last row, which is no place of the array."""
    with building():
        module = modules.parse("""func.func public @main(%a: tensor<2x4xf32>) -> tensor<0x4xi32> {
          %0 = stablehlo.bitcast_convert %a : (tensor<2x4xf32>) -> tensor<2x4xi32>
          %1 = stablehlo.slice %0 [1:2:2, 0:4] : (tensor<2x4xi32>) -> tensor<1x4xi32>
          %2 = stablehlo.slice %1 [1:1, 0:4] : (tensor<1x4xi32>) -> tensor<0x4xi32>
          return %2 : tensor<0x4xi32>
        }""")
        pipelines.run(module)
        modules.verify(module)
    signs = reactant.jit(lambda x: np.signbit(x[1::2])[1:])
    assert signs(np.ones((2, 4))).shape == (0, 4)


def test_a_step_over_a_single_row_takes_all_of_it():
    """It is no part of what a loop carries: the rule once fired for ever."""
    text = """func.func public @main(%a: tensor<1x4xf32>, %n: tensor<i32>) -> tensor<1x4xf32> {
      %w:2 = stablehlo.while(%i = %n, %x = %a) : tensor<i32>, tensor<1x4xf32>
      cond {
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %more = stablehlo.compare GT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %next = stablehlo.subtract %i, %one : tensor<i32>
        %y = stablehlo.sine %x : tensor<1x4xf32>
        stablehlo.return %next, %y : tensor<i32>, tensor<1x4xf32>
      }
      %s = stablehlo.slice %w#1 [0:1:2, 0:4] : (tensor<1x4xf32>) -> tensor<1x4xf32>
      return %s : tensor<1x4xf32>
    }"""
    with building():
        assert pipelines.run(modules.parse(text), "demand").rewrites == 0


@pytest.mark.parametrize("seed", range(6))
def test_random_windows_and_convolutions(seed):
    """Against XLA: the reference interpreter does not know all of them."""
    rng = np.random.default_rng(seed)

    def pair(low, high):
        return tuple(int(k) for k in rng.integers(low, high, 2))
    window, strides, dilations = pair(1, 4), pair(1, 3), pair(1, 3)
    padding = tuple(pair(0, 3) for _ in range(2))
    forms = ("NCHW", "OIHW", "NCHW") if seed % 2 else ("NHWC", "HWIO", "NHWC")
    image, kernel = ((2, 3, 9, 11), (4, 3, *window)) if seed % 2 else ((2, 9, 11, 3), (*window, 3, 4))

    def part(x):
        own = np.random.default_rng(seed)
        low = [int(own.integers(0, n)) for n in x.shape]
        return x[tuple(slice(a, int(own.integers(a + 1, n + 1))) for a, n in zip(low, x.shape, strict=True))]

    def windows(x):
        return part(lax.reduce_window(jnp.exp(x), 0.0, lax.add, window, strides, padding, window_dilation=dilations))

    def convolved(x, k):
        return part(lax.conv_general_dilated(jnp.exp(x), k, strides, padding, rhs_dilation=dilations,
                                             dimension_numbers=forms))
    for function, shapes in ((windows, [(9, 11)]), (convolved, [image, kernel])):
        arguments = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
        ours = reactant.jit(function, frontend="jax", native="never")
        np.testing.assert_allclose(ours(*arguments), jax.jit(function)(*arguments), rtol=2e-5, atol=2e-5)
        assert ours.lower(*arguments).cost()["flops"] <= ours.lower(*arguments).cost(optimized=False)["flops"]
