"""Conventions at branch points, functions of an order, 32 bits, and what `where` masks out."""
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import reactant
from reactant.differentiate.modes.forward import jvp
from reactant.differentiate.modes.reverse import vjp
from reactant.errors import NotDifferentiable
from reactant.ir import modules, ops
from reactant.ir.context import building
from tests.differentiate.derivative_checks import check, compiled, module_of
from tests.differentiate.test_rules import BINARY, UNARY


def slopes(function, *arguments):
    """The derivatives of a function of scalars in all of them, by both modes."""
    arguments = [np.asarray(a) for a in arguments]
    with building():
        module = module_of(function, arguments)
        numbers = range(len(arguments))
        backward = [float(g) for g in compiled(vjp(module, numbers, [0], ones=True), arguments)[1:]]
        forward = jvp(module, numbers, [0])
        found = [float(compiled(forward, [*arguments, *np.eye(len(arguments))[i].astype(arguments[0].dtype)])[1])
                 for i in numbers]
    np.testing.assert_array_equal(backward, found)
    return backward


CONVENTIONS = {
    "abs at 0": (ops.abs, (0.0,), [0]),
    "sign": (ops.sign, (0.0,), [0]),
    "maximum of equals": (ops.maximum, (1.0, 1.0), [0.5, 0.5]),
    "minimum of equals": (ops.minimum, (1.0, 1.0), [0.5, 0.5]),
    "clamp at its low end": (lambda x: ops.clamp(0.0, x, 1.0), (0.0,), [1]),
    "clamp below": (lambda x: ops.clamp(0.0, x, 1.0), (-1.0,), [0]),
    "x ** 0 at 0": (lambda x: ops.power(x, ops.constant(0.0)), (0.0,), [0]),
    "x ** 1 at 0": (lambda x: ops.power(x, ops.constant(1.0)), (0.0,), [1]),
    "x ** 2 at 0": (lambda x: ops.power(x, ops.constant(2.0)), (0.0,), [0]),
    "0 ** y": (lambda y: ops.power(ops.constant(0.0), y), (2.0,), [0]),
    "0 ** 0": (lambda y: ops.power(ops.constant(0.0), y), (0.0,), [0]),
    "negative base": (lambda x: ops.power(x, ops.constant(3.0)), (-2.0,), [12]),
    "sqrt at 0": (ops.sqrt, (0.0,), [np.inf]),
    "remainder": (ops.remainder, (7.5, 2.0), [1, -3]),
    "remainder, negative": (ops.remainder, (-7.5, 2.0), [1, 3]),
    "atan2 on the axis": (ops.atan2, (0.0, -1.0), [-1, 0]),
    "next_after": (ops.next_after, (1.0, 2.0), [1, 0]),
    "cbrt": (ops.cbrt, (-8.0,), [1 / 12]),
    "round": (ops.round_nearest_even, (0.7,), [0]),
    "reduce_precision": (lambda x: ops.reduce_precision(x, 8, 7), (1.1,), [1]),
    "logistic, far": (ops.logistic, (-800.0,), [0]),
}


@pytest.mark.parametrize("name", CONVENTIONS)
def test_conventions(name):
    function, arguments, expected = CONVENTIONS[name]
    np.testing.assert_allclose(slopes(function, *arguments), expected, rtol=1e-14)


MASKED = {
    "log": ops.log, "sqrt": ops.sqrt, "rsqrt": ops.rsqrt, "cbrt": ops.cbrt, "log_plus_one": lambda x: ops.log_plus_one(
        ops.subtract(x, 1)), "reciprocal": lambda x: ops.divide(ops.splat(1.0, x), x),
    "power": lambda x: ops.power(x, ops.splat(-0.5, x)), "acosh": lambda x: ops.acosh(ops.add(x, 1)),
    "asin": lambda x: ops.asin(ops.subtract(ops.splat(1.0, x), x)), "atan2": lambda x: ops.atan2(x, x),
    "polygamma": lambda x: ops.polygamma(ops.splat(1.0, x), x), "digamma": ops.digamma,
    "quotient": lambda x: ops.divide(x, x),
}


@pytest.mark.parametrize("name", MASKED)
def test_what_where_masks_out_stays_out(name):
    """where(x > 0, f(x), 0) with f infinite at 0: first and second derivatives are those of 0."""
    def function(x):
        return ops.select(ops.compare(x, 0.0, "GT"), MASKED[name](x), ops.splat(0.0, x))
    x = np.zeros(2)
    with building():
        module = module_of(function, [x])
        reverse = vjp(module, [0], [0])
        assert not compiled(reverse, [x, np.ones(2)])[1].any()
        assert not compiled(jvp(module, [0], [0]), [x, np.ones(2)])[1].any()
        assert not compiled(jvp(reverse, [0], [1]), [x, np.ones(2), np.ones(2)])[-1].any()


@pytest.mark.slow
def test_functions_of_an_order():
    x = np.array([0.7, 1.5, 2.2])
    check(module_of(lambda x: ops.polygamma(ops.splat(2.0, x), x), [x]), [x], evaluate=compiled, order=1, rtol=1e-4)
    check(module_of(lambda x: ops.zeta(ops.splat(2.5, x), x), [x]), [x], evaluate=compiled, order=1, rtol=1e-4)
    with pytest.raises(NotDifferentiable, match="the order"):
        vjp(module_of(lambda n: ops.polygamma(n, ops.splat(2.0, n)), [x]), [0], [0])


@pytest.mark.slow
def test_bessel_functions():
    x = np.array([-20.0, -7.9, -0.3, 0.0, 1e-3, 2.0, 8.5, 700.0])
    with building():
        module = module_of(ops.bessel_i1e, [x])
        found = compiled(jvp(module, [0], [0]), [x, np.ones(8)])[1]
    with jax.enable_x64(True):
        expected = jax.vmap(jax.grad(jax.lax.bessel_i1e))(jnp.asarray(x))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    y = x[[1, 2, 5, 6]]
    check(module_of(ops.bessel_i1e, [y]), [y], evaluate=compiled, rtol=1e-4)


@pytest.mark.parametrize("distribution", ["UNIFORM", "NORMAL"])
def test_random_numbers_move_with_their_bounds(distribution):
    from jaxlib.mlir.dialects import stablehlo

    from reactant.ir import types

    def function(a, b):
        return ops.create("stablehlo.rng", [types.tensor_type((4,), np.dtype(np.float64))],
                          [a, b, ops.constant(np.array([4]))],
                          {"rng_distribution": stablehlo.RngDistributionAttr.get(distribution)}).result
    a, b = np.array(2.0), np.array(5.0)
    with building():
        y, t = compiled(jvp(module_of(function, [a, b]), [0, 1], [0]), [a, b, np.array(1.0), np.array(0.5)])
    drawn = (y - a) / (b - a) if distribution == "UNIFORM" else (y - a) / b
    np.testing.assert_allclose(t, 1 - 0.5 * drawn if distribution == "UNIFORM" else 1 + 0.5 * drawn, rtol=1e-12)


HALF = pytest.param(np.float16, marks=pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, HALF, ml_dtypes.bfloat16])
def test_narrow_floats(dtype):
    """Every elementwise rule in one program of this dtype, against float64."""
    unary = [name for name in UNARY if name not in ("erf_inv", "digamma", "lgamma")]
    arguments = {name: [UNARY[name](3)] for name in unary} | {name: [make(3) for make in BINARY[name]]
                                                             for name in BINARY}
    names, flat = list(arguments), [a for given in arguments.values() for a in given]

    def function(*values):
        left = iter(values)
        return [getattr(ops, name)(*(next(left) for _ in arguments[name])) for name in names]

    found = []
    rounded = [a.astype(dtype) for a in flat]
    for kind in (np.float64, dtype):
        given = [a.astype(kind) for a in rounded]
        with building():
            made = vjp(module_of(function, given), range(len(given)), range(len(names)))
            pulled = compiled(made, [*given, *(np.ones(3, kind) for _ in names)])[len(names):]
        found.append([g.astype(np.float64) for g in pulled])
    tolerance = {"float32": 1e-4, "float16": 3e-2, "bfloat16": 2e-1}[np.dtype(dtype).name]
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance)


def test_the_logistic_function_is_recognised():
    """1 / (1 + exp(-x)): no quotient in the derivative but that of the function itself."""
    x = np.linspace(-3, 3, 7)
    module = module_of(lambda v: ops.divide(1.0, ops.add(ops.exponential(ops.negate(v)), 1.0)), [x])
    with building():
        found = modules.counts(vjp(module, [0], [0]))
        assert found["stablehlo.divide"] == 0 and found["stablehlo.logistic"] == 1
        y, g = compiled(vjp(module, [0], [0]), [x, np.ones(7)])
        np.testing.assert_array_equal(y, compiled(module, [x])[0])
        np.testing.assert_allclose(g, y * (1 - y), rtol=1e-14)


@pytest.mark.parametrize(("dtype", "small", "guarded"), [
    (np.float64, 1e-20, False), (np.float64, 1e-40, True), (np.float32, 1e-5, False), (np.float32, 1e-20, True)])
def test_a_divisor_far_from_zero_needs_no_guard(dtype, small, guarded):
    """Weights of WENO: where what divides is least, and zero is chosen instead, the derivative is zero."""
    x, y = np.array([0.0, 3.0, 0.0], dtype), np.array([1.0, 2.0, 0.0], dtype)

    def weighted(x, y):
        quotient = ops.divide(y, ops.add(ops.multiply(x, x), small))
        return ops.select(ops.compare(x, 0, "GT"), quotient, y)
    module = module_of(weighted, [x, y])
    with building():
        made = vjp(module, [0, 1], [0])
        divisions = modules.counts(made)["stablehlo.divide"]
        _, *found = compiled(made, [x, y, np.ones(3, dtype)])
    assert divisions == (3 if guarded else 2)
    np.testing.assert_allclose(found[0], [0.0, -12.0 / 81.0, 0.0], rtol=1e-5)
    np.testing.assert_allclose(found[1], [1.0, 1.0 / 9.0, 1.0], rtol=1e-5)


@pytest.mark.slow
def test_what_softmax_divides_by_is_never_zero():
    """Its sum has an exp(0), so nothing is chosen for 0 / 0; a sum of exponentials alone may vanish, where masked."""
    x = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)
    x[1] -= 1e30
    x[2, :3] = -np.inf

    def loss(x):
        return jnp.sum(jax.nn.softmax(x) ** 3)

    def vanishing(x):
        return jnp.sum(jnp.where(x > -9, jnp.exp(x) / jnp.sum(jnp.exp(x), 1, keepdims=True), 0) ** 3)

    assert "stablehlo.select" not in reactant.jit(reactant.grad(loss)).lower(x).operations()
    assert np.isfinite(reactant.jit(reactant.grad(vanishing))(np.where(np.isinf(x), -99, x))).all()
    np.testing.assert_allclose(reactant.jit(reactant.grad(loss))(x), jax.grad(loss)(x), rtol=1e-4, atol=1e-7)
