"""Every rule, one row each: both modes against central differences, each other, and second derivatives."""
import numpy as np
import pytest

from reactant.differentiate.modes.forward import jvp
from reactant.differentiate.modes.reverse import vjp
from reactant.errors import NotDifferentiable
from reactant.ir import ops
from reactant.ir.interpret import evaluate
from reactant.ir.types import tensor_type
from tests.differentiate.derivative_checks import check, compiled, module_of

RNG = np.random.default_rng(7)


def real(*shape, low=-2.0, high=2.0):
    return RNG.uniform(low, high, shape)


def unit(*shape):
    return RNG.uniform(-0.8, 0.8, shape)


def positive(*shape):
    return RNG.uniform(0.3, 2.0, shape)


def above(*shape):
    return RNG.uniform(1.3, 3.0, shape)


def complexes(*shape):
    return RNG.uniform(0.3, 1.5, shape) + 1j * RNG.uniform(0.2, 1.5, shape)


UNARY = {
    "sine": real, "cosine": real, "tan": unit, "tanh": real, "exponential": real, "exponential_minus_one": real,
    "log": positive, "log_plus_one": positive, "logistic": real, "negate": real, "sqrt": positive, "rsqrt": positive,
    "cbrt": positive, "abs": real, "sign": real, "floor": real, "ceil": real, "round_nearest_even": real,
    "round_nearest_afz": real, "square": real, "cosh": real, "sinh": real, "acos": unit, "asin": unit, "atan": real,
    "acosh": above, "asinh": real, "atanh": unit, "erf": real, "erfc": real, "erf_inv": unit, "lgamma": positive,
    "digamma": positive,
}
BINARY = {
    "add": (real, real), "subtract": (real, real), "multiply": (real, real), "divide": (real, above),
    "power": (positive, real), "atan2": (real, above), "remainder": (real, above), "maximum": (real, real),
    "minimum": (real, real),
}
COMPLEX_UNARY = ("sine", "cosine", "tanh", "exponential", "log", "negate", "sqrt", "rsqrt", "abs", "sign", "conj",
                 "real", "imag", "logistic")
COMPLEX_BINARY = ("add", "subtract", "multiply", "divide", "power")


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    x = UNARY[name](5)
    loose = {"erf_inv": 1e-4, "digamma": 1e-4}.get(name, 1e-5)
    check(module_of(getattr(ops, name), [x]), [x], rtol=loose)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    arguments = [make(5) for make in BINARY[name]]
    check(module_of(getattr(ops, name), arguments), arguments)


@pytest.mark.parametrize("name", COMPLEX_UNARY)
def test_complex_unary(name):
    z = complexes(4)
    check(module_of(getattr(ops, name), [z]), [z])


@pytest.mark.parametrize("name", COMPLEX_BINARY)
def test_complex_binary(name):
    arguments = [complexes(4), complexes(4)]
    check(module_of(getattr(ops, name), arguments), arguments)


INDICES = np.array([2, 0, 2, -1, 9], np.int64)
START = np.array(2, np.int64)
WINDOWS = dict(window_dimensions=(3, 2), window_strides=(2, 1), padding=((1, 2), (0, 1)), base_dilations=(2, 1),
               window_dilations=(1, 2))
PICK = dict(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), index_vector_dim=1, slice_sizes=(1, 3))
PUT = dict(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), index_vector_dim=1)
CASES = {
    "reshape": (lambda x: ops.reshape(x, (6, 2)), real(3, 4)),
    "transpose": (lambda x: ops.transpose(x, (2, 0, 1)), real(2, 3, 4)),
    "reverse": (lambda x: ops.reverse(x, (0,)), real(3, 2)),
    "broadcast_in_dim": (lambda x: ops.broadcast_in_dim(x, (3, 4, 2), (2, 0)), real(2, 3)),
    "broadcast_one": (lambda x: ops.broadcast_in_dim(x, (3, 4), (0, 1)), real(3, 1)),
    "slice": (lambda x: ops.slice(x, (1, 0), (6, 3), (2, 1)), real(7, 3)),
    "pad": (lambda x, v: ops.pad(x, v, (1, -1), (2, 0), (1, 0)), real(3, 4), real()),
    "pad_crop": (lambda x, v: ops.pad(x, v, (-1, 1), (-1, 0), (2, 0)), real(4, 2), real()),
    "concatenate": (lambda x, y: ops.concatenate([x, y, x], 1), real(2, 3), real(2, 1)),
    "dynamic_slice": (lambda x, i: ops.dynamic_slice(x, [i], (3,)), real(6), START),
    "dynamic_slice_clamped": (lambda x, i: ops.dynamic_slice(x, [i], (5,)), real(6), START),
    "dynamic_update_slice": (lambda x, u, i: ops.dynamic_update_slice(x, u, [i]), real(6), real(2), START),
    "gather": (lambda x, i: ops.gather(x, i, **PICK), real(4, 3), INDICES),
    "scatter_add": (lambda x, u, i: ops.scatter(x, i, u, "add", **PUT), real(4, 3), real(5, 3), INDICES),
    "scatter_last": (lambda x, u, i: ops.scatter(x, i, u, "second", **PUT), real(4, 3), real(5, 3), INDICES),
    "scatter_unique": (lambda x, u, i: ops.scatter(x, i, u, "second", unique_indices=True, **PUT), real(4, 3),
                       real(3, 3), np.array([3, 1, 7], np.int64)),
    "sort": (lambda x: ops.sort([x], 0)[0], real(6)),
    "sort_two": (lambda x, y: ops.sort([x, y], 1, "GT"), real(2, 5), real(2, 5)),
    "reduce_add": (lambda x: ops.reduce(x, 0, (1,), "add"), real(3, 4)),
    "reduce_add_start": (lambda x, s: ops.reduce(x, s, (0, 1), "add"), real(3, 4), real()),
    "reduce_multiply": (lambda x: ops.reduce(x, 1, (0, 2), "multiply"), real(2, 3, 2)),
    "reduce_maximum": (lambda x: ops.reduce(x, -np.inf, (1,), "maximum"), real(3, 4)),
    "reduce_minimum": (lambda x: ops.reduce(x, np.inf, (0,), "minimum"), real(3, 4)),
    "reduce_window": (lambda x: ops.reduce_window(x, 0, "add", **WINDOWS), real(4, 5)),
    "cumsum": (lambda x: ops.reduce_window(x, 0, "add", (5,), padding=((4, 0),)), real(5)),
    "cumprod": (lambda x: ops.reduce_window(x, 1, "multiply", (1, 5), padding=((0, 0), (4, 0))), real(2, 5)),
    "cumprod_from_end": (lambda x: ops.reduce_window(x, 1, "multiply", (4,), padding=((0, 3),)), real(4)),
    "cumulative_maximum": (lambda x: ops.reduce_window(x, -np.inf, "maximum", (5, 1), padding=((4, 0), (0, 0))),
                           real(5, 2)),
    "dot_general": (lambda x, y: ops.dot_general(x, y, contracting_dims=((1, 3), (0, 2)), batching_dims=((0,), (3,))),
                    real(2, 3, 2, 4), real(3, 2, 4, 2)),
    "matmul": (lambda x, y: ops.dot_general(x, y, contracting_dims=((1,), (0,))), real(2, 3), real(3, 4)),
    "convert": (lambda x: ops.convert(x, np.complex128), real(3)),
    "select": (lambda x, y: ops.select(ops.compare(x, y, "GT"), x, y), real(5), real(5)),
    "clamp": (lambda x: ops.clamp(0.5, x, 2.0), real(6)),
    "clamp_bounds": (lambda x, a, b: ops.clamp(a, x, b), real(6), np.array(0.5), np.array(1.7)),
    "complex": (lambda x, y: ops.complex(x, y), real(3), real(3)),
    "barrier": (lambda x: ops.optimization_barrier(x)[0], real(3)),
}


@pytest.mark.parametrize("name", CASES)
def test_op(name):
    build, *arguments = CASES[name]

    def function(x, *rest):
        made = build(ops.multiply(x, x), *rest)
        return [ops.sine(m) for m in (made if isinstance(made, list) else [made])]

    check(module_of(function, arguments), arguments, evaluate=compiled if "scatter" in name else evaluate)


def spd(x):
    """A positive definite matrix from any square one."""
    n = x.type.shape[0]
    return ops.add(ops.dot_general(x, x, contracting_dims=((1,), (1,))), ops.constant(3 * np.eye(n)))


def solving(**options):
    return lambda a, b: ops.triangular_solve(ops.add(a, ops.constant(3 * np.eye(3))), b, **options)


COMPILED = {
    "cholesky": (lambda x: ops.cholesky(spd(x)), real(3, 3)),
    "cholesky_upper": (lambda x: ops.cholesky(spd(x), lower=False), real(3, 3)),
    "solve": (solving(), real(3, 3), real(3, 2)),
    "solve_right_transposed": (solving(left_side=False, lower=False, transpose_a="TRANSPOSE"), real(3, 3), real(2, 3)),
    "solve_unit": (solving(unit_diagonal=True, transpose_a="TRANSPOSE"), real(3, 3), real(3, 2)),
    "solve_adjoint": (solving(transpose_a="ADJOINT", left_side=False), complexes(3, 3), complexes(2, 3)),
    "fft": (lambda x: ops.fft(x, "FFT", (3, 4)), complexes(3, 4)),
    "ifft": (lambda x: ops.fft(x, "IFFT", (4,)), complexes(2, 4)),
    "rfft": (lambda x: ops.fft(x, "RFFT", (3, 5)), real(3, 5)),
    "irfft": (lambda x: ops.fft(x, "IRFFT", (3, 6)), complexes(3, 4)),
    "irfft_odd": (lambda x: ops.fft(x, "IRFFT", (5,)), complexes(2, 3)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_op(name):
    build, *arguments = COMPILED[name]

    def function(x, *rest):
        return ops.sine(build(ops.multiply(x, x), *rest))

    if name == "solve_adjoint":
        def function(x, y):     # noqa: F811 - the identity is real there
            return ops.triangular_solve(x, y, transpose_a="ADJOINT", left_side=False)
    check(module_of(function, arguments), arguments, evaluate=compiled)


def test_products_with_zeros_are_exact():
    x = np.array([2.0, 0.0, 3.0, 0.0])
    check(module_of(lambda v: ops.reduce(v, 1, (0,), "multiply"), [x[:3]]), [x[:3]])
    check(module_of(lambda v: ops.reduce(v, 1, (0,), "multiply"), [x]), [x])
    check(module_of(lambda v: ops.reduce_window(v, 1, "multiply", (4,), padding=((3, 0),)), [x]), [x])


@pytest.mark.parametrize("build, why", [
    (lambda v: ops.custom_call("mystery", [v], [v.type])[0], "custom_call@mystery' has no .* operations that have one"),
    (lambda v: ops.create("stablehlo.dot", [tensor_type((), np.dtype(float))], [v, v]).result, "dot' .*dot_general"),
])
@pytest.mark.parametrize("mode", [vjp, jvp])
def test_an_op_without_a_rule_says_why(mode, build, why):
    with pytest.raises(NotDifferentiable, match=f"(?s){why}"):
        mode(module_of(build, [real(4)]), [0], [0])


def test_bits_of_floats_raise_only_where_they_become_floats_again():
    x = real(4)
    back = module_of(lambda v: ops.bitcast_convert(ops.xor(ops.bitcast_convert(v, np.int64), 1), np.float64), [x])
    with pytest.raises(NotDifferentiable, match="bitcast_convert"):
        vjp(back, [0], [0])
    with pytest.raises(NotDifferentiable, match="bitcast_convert"):
        jvp(back, [0], [0])

    def size(v):
        return ops.select(ops.compare(ops.bitcast_convert(v, np.int64), 0, "LT"), ops.negate(v), v)

    check(module_of(size, [x]), [x])


@pytest.mark.parametrize("build, choices", [
    (lambda v: ops.divide(1.5, v), 1),
    (lambda v: ops.divide(v, ops.add(ops.multiply(v, v), 0.1)), 0),
    (lambda v: ops.sqrt(ops.multiply(v, v)), 1),
    (lambda v: ops.sqrt(ops.add(ops.multiply(v, v), 1.0)), 0),
    (lambda v: ops.power(ops.add(ops.exponential(v), 0.1), 1.5), 1),
    (lambda v: ops.power(ops.add(ops.exponential(v), 0.1), 2.5), 2),
    (lambda v: ops.log(ops.add(ops.multiply(v, v), 1e-9)), 1),
])
def test_only_what_may_divide_by_zero_is_guarded(build, choices):
    """0 times an infinite slope is 0; where the slope is finite, nothing asks. (A power asks whether it is 0.)"""
    x = real(4)
    module = module_of(lambda v: build(ops.multiply(v, 1.0)), [x])
    assert str(vjp(module, [0], [0])).count("select") == choices
    check(module, [x])
