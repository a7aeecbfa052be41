"""Moving windows of any body, and select_and_scatter."""
import numpy as np
import pytest

from reactant.differentiate.modes.reverse import vjp
from reactant.errors import NotDifferentiable
from reactant.ir import attributes as attr
from reactant.ir import interpret, ops
from reactant.ir.context import building
from reactant.ir.types import dtype_of, tensor_type
from tests.differentiate.derivative_checks import check, compiled, module_of

RNG = np.random.default_rng(5)


def real(*shape):
    return RNG.permutation(np.linspace(-2, 2, int(np.prod(shape)))).reshape(shape)     # no two are close


def smooth_maximum(a, b):
    """log(exp(a) + exp(b)): associative, and no single op."""
    return ops.log(ops.add(ops.exponential(a), ops.exponential(b)))


def select_and_scatter(x, source, window, strides, padding, direction="GE"):
    op = ops.create("stablehlo.select_and_scatter", [x.type], [x, source, ops.constant(0.0)], regions=2, attributes={
        "window_dimensions": attr.integers(window), "window_strides": attr.integers(strides),
        "padding": attr.integer_matrix(padding)})
    scalar = tensor_type((), dtype_of(x))
    ops.fill_region(op.regions[0], [scalar, scalar], lambda a, b: [ops.compare(a, b, direction)])
    ops.fill_region(op.regions[1], [scalar, scalar], lambda a, b: [ops.add(a, b)])
    return op.result


def pooled_with_places(x, places):
    """The largest element of each window and its place, as jax's argmax-like reductions give it."""
    op = ops.create("stablehlo.reduce_window", [tensor_type((3,), np.dtype(float)), tensor_type((3,), np.dtype(int))],
                    [x, places, ops.constant(-np.inf), ops.constant(0, "int64")], regions=1,
                    attributes={"window_dimensions": attr.integers((2,)), "window_strides": attr.integers((2,))})

    def body(a, i, b, j):
        first = ops.compare(a, b, "GE")
        return [ops.select(first, a, b), ops.select(first, i, j)]
    types = [tensor_type((), np.dtype(float)), tensor_type((), np.dtype(int))] * 2
    ops.fill_region(op.regions[0], types, body)
    return list(op.results)


BOTH = dict(window_strides=(2, 1), padding=((1, 2), (0, 1)), base_dilations=(2, 1), window_dilations=(1, 2))
ROWS = {
    "maximum": (lambda x: ops.reduce_window(x, -np.inf, "maximum", (2, 2), (2, 2)), real(4, 6)),
    "maximum_overlapping": (lambda x: ops.reduce_window(x, -np.inf, "maximum", (3, 3), (1, 2),
                                                        padding=((1, 1), (1, 1))), real(4, 5)),
    "minimum_dilated": (lambda x: ops.reduce_window(x, np.inf, "minimum", (3, 2), **BOTH), real(4, 5)),
    "product": (lambda x: ops.reduce_window(x, 1, "multiply", (3, 2), **BOTH), real(4, 5)),
    "product_from": (lambda x, s: ops.reduce_window(x, s, "multiply", (2,), padding=((1, 0),)), real(5), real(1)[0]),
    "sum_from": (lambda x, s: ops.reduce_window(x, s, "add", (2,), padding=((1, 0),)), real(5), real(1)[0]),
    "maximum_from": (lambda x: ops.reduce_window(x, 0.1, "maximum", (2,)), real(6)),
    "long": (lambda x: ops.reduce_window(x, -np.inf, "maximum", (11,), (2,)), real(19)),
    "long_dilated": (lambda x: ops.reduce_window(x, 1.0, "multiply", (9,), window_dilations=(2,)), real(20)),
    "any_body": (lambda x: ops.reduce_window(x, -np.inf, smooth_maximum, (3,), (2,)), real(9)),
    "product_so_far": (lambda x: ops.reduce_window(x, 1.0, "multiply", (4, 1), padding=((3, 0), (0, 0))), real(4, 5)),
    "product_from_the_end": (lambda x: ops.reduce_window(x, 1.0, "multiply", (1, 7), padding=((0, 0), (0, 6))),
                             np.where(real(4, 5) > 1, 0.0, real(4, 5))),
    "maximum_so_far": (lambda x: ops.reduce_window(x, -np.inf, "maximum", (1, 5), padding=((0, 0), (4, 0))),
                       real(4, 5)),
    "minimum_from_the_end": (lambda x: ops.reduce_window(x, np.inf, "minimum", (5,), padding=((0, 4),)), real(5)),
    "any_body_so_far": (lambda x: ops.reduce_window(x, -np.inf, smooth_maximum, (9,), padding=((8, 0),)), real(9)),
    "of_one": (lambda x: ops.reduce_window(x, 1.0, "multiply", (3, 1), padding=((2, 0), (0, 0))), real(1, 5)),
    "cropped": (lambda x: ops.reduce_window(x, 1.0, "multiply", (2,), padding=((-1, -2),)), real(7)),
    "select_and_scatter": (lambda x, s: select_and_scatter(x, s, (2, 2), (2, 2), ((0, 0), (0, 0))), real(4, 4),
                           real(2, 2)),
    "select_overlapping": (lambda x, s: select_and_scatter(x, s, (3,), (1,), ((1, 1),)), real(6), real(6)),
    "select_smallest": (lambda x, s: select_and_scatter(x, s, (3,), (2,), ((0, 1),), "LE"), real(6), real(3)),
}


@pytest.mark.parametrize("name", ROWS)
def test_derivatives(name):
    build, *arguments = ROWS[name]
    module = module_of(lambda x, *rest: ops.sine(build(ops.add(x, ops.multiply(ops.sine(x), 0.3)), *rest)), arguments)
    check(module, arguments, evaluate=interpret.evaluate)


@pytest.mark.slow
def test_several_operands():
    x = real(6)

    def function(x):
        return ops.sine(pooled_with_places(ops.multiply(x, 1.5), ops.iota((6,), "int64", 0))[0])
    check(module_of(function, [x]), [x], evaluate=compiled)


def test_equal_elements_of_a_window_share():
    x = np.ones(2)
    with building():
        module = vjp(module_of(lambda v: ops.reduce_window(v, -np.inf, "maximum", (2,)), [x]), [0], [0])
        np.testing.assert_array_equal(interpret.evaluate(module, [x, np.ones(1)])[1], [0.5, 0.5])


def test_what_is_cumulative_is_one_loop():
    """Whose iterations do what one element needs; doublings took eight times as long as jax's gradient."""
    x = np.array([1.0, 1.0, 0.0, 3.0])
    with building():
        module = module_of(lambda v: ops.reduce_window(v, -np.inf, "maximum", (4,), padding=((3, 0),)), [x])
        module = vjp(module, [0], [0])
        np.testing.assert_array_equal(interpret.evaluate(module, [x, np.ones(4)])[1], [2.0, 1.0, 0, 1])
        text = str(module)
    assert text.count("stablehlo.while") == 1 and text.count("stablehlo.reduce_window") == 1


def test_windows_that_do_not_fit_give_zeros():
    x = np.ones(2)
    with building():
        module = vjp(module_of(lambda v: ops.reduce_window(v, -np.inf, "maximum", (3,)), [x]), [0], [0])
        np.testing.assert_array_equal(interpret.evaluate(module, [x, np.ones(0)])[1], [0, 0])


def test_bodies_that_are_not_elementwise_are_named():
    def body(a, b):
        return ops.reduce(ops.add(a, b), 0, (), "add")
    x = real(5)
    with pytest.raises(NotDifferentiable, match="'stablehlo.reduce', not only elementwise"), building():
        vjp(module_of(lambda v: ops.reduce_window(v, 0.0, body, (2,)), [x]), [0], [0])




@pytest.mark.parametrize("window, padding", [((5, 1), ((4, 0), (0, 0))), ((1, 6), ((0, 0), (0, 5))),
                                             ((3, 2), ((1, 1), (1, 0))), ((2, 2), ((0, 0), (0, 0)))])
def test_sums_over_windows_one_apart_are_summed_by_one_window_backwards(window, padding):
    """The adjoint of a cumulative sum is a cumulative sum, without a bigger array in between."""
    module = module_of(lambda x: ops.reduce_window(x, 0, "add", window, padding=padding), [real(5, 6)])
    check(module, [real(5, 6)])
    with building():
        text = str(vjp(module, [0], [0]))
    assert text.count("stablehlo.reduce_window") == 2 and "stablehlo.pad" not in text and "stablehlo.slice" not in text
