"""Reductions, scatters and maps of any body; what the table of `test_rules` has no room for."""
import numpy as np
import pytest
from jaxlib.mlir import ir

from reactant.differentiate.modes.reverse import vjp
from reactant.errors import NotDifferentiable
from reactant.ir import attributes as attr
from reactant.ir import interpret, ops
from reactant.ir.context import building
from reactant.ir.types import dtype_of, shape_of, tensor_type
from tests.differentiate.derivative_checks import check, compiled, module_of

RNG = np.random.default_rng(21)


def real(*shape):
    return RNG.permutation(np.linspace(-2, 2, int(np.prod(shape)))).reshape(shape)     # no two are close


def smooth_maximum(a, b):
    return ops.log(ops.add(ops.exponential(a), ops.exponential(b)))


def larger(a, i, b, j):
    """The larger element with its companion."""
    first = ops.compare(a, b, "GE")
    return [ops.select(first, a, b), ops.select(first, i, j)]


def composed(a, b, c, d):
    """Of x -> a x + b and then x -> c x + d: associative, and the order matters."""
    return [ops.multiply(a, c), ops.add(ops.multiply(b, c), d)]


def mapped(x, y):
    op = ops.create("stablehlo.map", [x.type], [x, y], {"dimensions": attr.integers(tuple(range(len(shape_of(x)))))},
                    regions=1)
    scalar = tensor_type((), dtype_of(x))
    ops.fill_region(op.regions[0], [scalar, scalar], lambda a, b: [ops.multiply(ops.sine(a), ops.add(b, 2.0))])
    return op.result


def top(x, count):
    kinds = [tensor_type((*shape_of(x)[:-1], count), np.dtype(d)) for d in (np.float64, np.int32)]
    return ops.create("chlo.top_k", kinds, [x], {"k": attr.integer(count)}).results[0]


PUT = dict(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), index_vector_dim=1)
OVERLAPPING = dict(update_window_dims=(1,), inserted_window_dims=(), scatter_dims_to_operand_dims=(0,),
                   index_vector_dim=1)
BATCHES = dict(update_window_dims=(), inserted_window_dims=(1,), scatter_dims_to_operand_dims=(1,), index_vector_dim=2,
               input_batching_dims=(0,), scatter_indices_batching_dims=(0,))
INDICES = np.array([[2], [0], [2], [-1], [9], [2]])
PICK = dict(offset_dims=(), collapsed_slice_dims=(1,), start_index_map=(1,), index_vector_dim=2, slice_sizes=(1, 1),
            operand_batching_dims=(0,), start_indices_batching_dims=(0,))


def scattered(body, **options):
    return lambda x, u, i: ops.scatter(x, i, u, body, **{**PUT, **options})


ROWS = {
    "reduce_any": (lambda x: ops.reduce(x, -np.inf, (0, 2), smooth_maximum), real(2, 3, 3)),
    "reduce_from": (lambda x, s: ops.reduce(x, s, (0,), "multiply"), real(3, 2), real(1)[0]),
    "reduce_maximum_from": (lambda x, s: ops.reduce(x, s, (0,), "maximum"), real(3, 4), real(1)[0]),
    "reduce_companion": (lambda x, y: ops.reduce([x, y], [-np.inf, 0.0], (1,), larger), real(3, 5), real(3, 5)),
    "reduce_ordered": (lambda x, y: ops.reduce([x, y], [1.0, 0.0], (0,), composed), real(7), real(7)),
    "reduce_two_sums": (lambda x, y: ops.reduce([x, y], [0.0, 1.0], (0,), lambda a, b, c, d: [
        ops.add(a, c), ops.multiply(b, d)]), real(4, 2), real(4, 2)),
    "map": (mapped, real(2, 3), real(2, 3)),
    "top_k": (lambda x: top(x, 2), real(2, 5)),
    "gather_batches": (lambda x, i: ops.gather(x, i, **PICK), real(2, 4), np.array([[[1], [9]], [[-3], [1]]])),
    "scatter_multiply": (scattered("multiply"), real(4, 3), real(6, 3), INDICES),
    "scatter_multiply_unique": (scattered("multiply", unique_indices=True), real(4, 3), real(3, 3),
                                np.array([[3], [1], [7]])),
    "scatter_multiply_overlapping": (scattered("multiply", **OVERLAPPING), real(5), real(3, 2),
                                     np.array([[0], [1], [4]])),
    "scatter_subtract": (scattered("subtract"), real(4, 3), real(6, 3), INDICES),
    "scatter_maximum": (scattered("maximum"), real(4, 3), real(6, 3), INDICES),
    "scatter_minimum": (scattered("minimum"), real(4, 3), real(6, 3), INDICES),
    "scatter_any": (scattered(smooth_maximum), real(4, 3), real(6, 3), INDICES),
    "scatter_add_overlapping": (scattered("add", **OVERLAPPING), real(5), real(3, 2), np.array([[0], [1], [4]])),
    "scatter_last_overlapping": (scattered("second", **OVERLAPPING), real(5), real(3, 2), np.array([[0], [1], [4]])),
    "scatter_add_batches": (scattered("add", **BATCHES), real(2, 4), real(2, 3),
                            np.array([[[1], [1], [5]], [[0], [2], [2]]])),
}


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", ROWS)
def test_derivatives(name):
    build, *arguments = ROWS[name]

    def function(x, *rest):
        made = build(ops.add(ops.multiply(x, 1.1), ops.multiply(ops.sine(x), 0.3)), *rest)
        return [ops.sine(m) for m in (made if isinstance(made, list) else [made])]

    check(module_of(function, arguments), arguments,
          evaluate=compiled if name in ("top_k", "gather_batches") or "scatter" in name else interpret.evaluate,
          order=1 if name == "scatter_any" else 2)


@pytest.mark.slow
def test_products_with_zeros_are_exact_when_scattered():
    x, u, i = np.array([2.0, 0.0]), np.array([3.0, 0.0, 4.0, 0.0]), np.array([[0], [0], [0], [1]])
    numbers = dict(PUT, update_window_dims=())
    check(module_of(lambda x, u, i: ops.scatter(x, i, u, "multiply", **numbers), [x, u, i]), [x, u, i],
          evaluate=compiled)


@pytest.mark.slow
def test_updates_of_one_element_without_a_common_one():
    """x -> u - x of several u: they cannot be combined first; where each element has one update, they need not."""
    def from_update(x, u):
        return ops.subtract(ops.sine(u), x)

    x, u, i = np.array([2.0, 0.5]), np.array([3.0, 1.0]), np.array([[1], [0]])
    for unique in (True, False):
        module = module_of(lambda x, u, i, unique=unique: ops.scatter(
            x, i, u, from_update, **dict(PUT, update_window_dims=()), unique_indices=unique), [x, u, i])
        if unique:
            check(module, [x, u, i], evaluate=compiled)
        else:
            with building(), pytest.raises(NotDifferentiable, match="its body is not associative"):
                vjp(module, [0, 1], [0])


def test_equal_extremes_share_evenly_when_scattered():
    x, u, i = np.array([2.0, 0.0]), np.array([2.0, 1.0, 2.0]), np.array([[0], [0], [0]])
    with building():
        module = vjp(module_of(lambda x, u, i: ops.scatter(
            x, i, u, "maximum", **dict(PUT, update_window_dims=())), [x, u, i]), [0, 1], [0])
        _, gx, gu = compiled(module, [x, u, i, np.array([3.0, 5.0])])
    np.testing.assert_allclose(gx, [1, 5])
    np.testing.assert_allclose(gu, [1, 0, 1])


@pytest.mark.parametrize("start", [10.0, 2.0])
def test_a_maximum_from_a_larger_number_is_constant(start):
    x = np.array([1.0, 0.5])
    with building():
        module = vjp(module_of(lambda v: ops.reduce(v, start, (0,), "maximum"), [x]), [0], [0], ones=True)
        np.testing.assert_array_equal(interpret.evaluate(module, [x])[1], [0, 0])


def normalised(name, results, *operands):
    with building():
        attributes = {"epsilon": ir.FloatAttr.get(ir.F32Type.get(), 0.01), "feature_index": attr.integer(1)}
    return list(ops.create(f"stablehlo.batch_norm_{name}", results, operands, attributes).results)


NORMALISATIONS = {
    "training": (lambda x, a, b: normalised("training", [x.type, a.type, a.type], x, a, b), (3, 2, 4), (2,), (2,)),
    "inference": (lambda x, a, b, m, v: normalised("inference", [x.type], x, a, b, m, ops.multiply(v, v)),
                  (3, 2, 4), (2,), (2,), (2,), (2,)),
    "grad": (lambda x, a, m, v, g: normalised("grad", [x.type, a.type, a.type], x, a, m, ops.multiply(v, v), g),
             (3, 2), (2,), (2,), (2,), (3, 2)),
}


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", NORMALISATIONS)
def test_batch_normalisation(name):
    build, *shapes = NORMALISATIONS[name]
    arguments = [RNG.standard_normal(shape) for shape in shapes]
    check(module_of(build, arguments), arguments, evaluate=compiled, order=2 if name == "inference" else 1, rtol=1e-4)


@pytest.mark.slow
def test_constants_that_were_moved_out_of_a_body():
    """Simplification hoists constants; rules copy bodies into another module."""
    x = real(5)

    def function(x):
        zero, half = ops.constant(0.0), ops.constant(0.5)

        def negative_first(a, b):
            return ops.compare(ops.select(ops.compare(a, zero, "LT"), a, ops.multiply(a, half)), b, "LT")
        found = ops.sort([x], 0, negative_first)[0]
        return ops.reduce(ops.multiply(found, found), -np.inf, (0,),
                          lambda a, b: ops.log(ops.add(ops.exponential(a), ops.multiply(ops.exponential(b), ops.add(
                              half, half)))))
    check(module_of(function, [x]), [x], evaluate=compiled, order=1)
