"""Derivatives of NumPy functions: every entry point, structures, mutation, what raises, what is not computed."""
from collections import Counter
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.errors import NotDifferentiable

RNG = np.random.default_rng(5)
X = RNG.uniform(0.3, 1.5, 6)
W = RNG.uniform(-1, 1, (6, 3))


def loss(x, w):
    return np.sum(np.tanh(x @ w) ** 2)


def differences(function, x, step=1e-6):
    found = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[index] += sign * step
            ends.append(function(moved))
        found[index] = (ends[0] - ends[1]) / (2 * step)
    return found


def test_grad_and_value():
    value, (gx, gw) = reactant.value_and_grad(loss, argnums=(0, 1))(X, W)
    assert value == pytest.approx(loss(X, W))
    np.testing.assert_allclose(gx, differences(lambda x: loss(x, W), X), rtol=1e-6)
    np.testing.assert_allclose(gw, differences(lambda w: loss(X, w), W), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(reactant.grad(loss)(X, W), gx)
    np.testing.assert_array_equal(reactant.grad(reactant.jit(loss), argnums=-1)(X, W), gw)


def prefix(x):
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = np.sin(y[i - 1]) * x[i]
    return np.sum(y * y)


def masked(x):
    return np.sum(np.where(x > 0.8, np.log(x - 0.8), x))


def branching(x):
    if x[0] > 1:
        y = x * x
    else:
        y = np.exp(x)
    return np.sum(y * x)


def until(x):
    total = np.sum(x) * 0.1
    for _ in range(50):
        if total > 3:
            break
        total = total + np.sum(x * x) * total
    return total


def scratch(x):
    work = x.copy()
    work[1:-1] = 0.5 * (x[2:] + x[:-2])
    work[::2] *= 3
    work[[0, 1, 1]] = x[[2, 3, 4]]
    return np.sum(work ** 3)


def statistics(x):
    return np.std(x) + np.max(x) + np.median(x) + np.prod(x) + np.linalg.norm(x)


def contracted(x):
    a = np.outer(x, x)
    return np.einsum("ij,jk,k->", a, a, x) + np.trace(a) + np.interp(0.7, np.arange(6.0), x)


def shaped(x):
    a = x.reshape(2, 3)
    b = np.concatenate([a, np.roll(a, 1, axis=1)], axis=0)[::-1]
    return np.sum(np.cumsum(np.pad(b, 1), axis=0) * np.sort(b, axis=None).max()) + np.sum(np.sort(x) * np.arange(6))


def signed(x):
    return np.sum(np.copysign(x * x, np.sin(5 * x)) * np.partition(x, 2)[2]) + np.percentile(x, 30)


def transformed(x):
    return np.sum(np.abs(np.fft.fft(x)) ** 2 * np.arange(6)) + np.sum(np.fft.rfft(x).imag)


def solved(x):
    a = np.outer(x, x ** 2) + np.diag(np.arange(6.0))[::-1]       # LU has to swap rows
    stack = np.stack([a, a.T + np.eye(6)])
    return np.sum(np.linalg.solve(stack, x[:, None])) + np.linalg.slogdet(a)[1] + np.sum(np.linalg.inv(a) ** 2)


def factored(x):
    a = np.outer(x, x) + np.diag(x)
    return np.sum(np.linalg.cholesky(a) * np.arange(36.0).reshape(6, 6)) + np.linalg.det(a)


def spectral(x):
    a = np.outer(x, x) + np.diag(np.arange(6.0))
    values, vectors = np.linalg.eigh(a)
    return np.sum(values ** 3) + np.sum(vectors[:, 1] ** 2 * x)


def nested(x):
    """Loops in loops, branches in them, breaks, and writes into arrays from outside."""
    table = np.zeros((4, 6))
    total = x[0] * 0.0
    for i in range(4):
        row = x * (i + 1)
        for j in range(1, 30):
            if row[j % 6] > 2:
                row[(j + 1) % 6] = np.sin(row[j % 6]) * x[i]
            else:
                row[j % 6] = row[j % 6] * 1.1 + 0.1 * total
            total += row[j % 6] ** 2 * 0.01
            if total > 1.5 + i:
                break
        table[i] = row
        if total > 100:
            break
    return np.sum(table * table[::-1]) + total


PROGRAMS = (prefix, masked, branching, until, scratch, statistics, contracted, shaped, signed, transformed, solved,
            factored, spectral, nested)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(function):
    with np.errstate(all="ignore"):
        expected = differences(function, X)
    np.testing.assert_allclose(reactant.grad(function)(X), expected, rtol=1e-5, atol=1e-6)


def diffusion(u, c):
    for _ in range(5):
        u[1:-1] += c * (u[2:] - 2 * u[1:-1] + u[:-2])


@pytest.mark.slow
def test_functions_that_write_have_final_contents_as_outputs():
    u = X.copy()
    assert reactant.check_derivatives(diffusion, u, 0.1)
    np.testing.assert_array_equal(u, X)                     # the caller's array stays
    (result, (final,)), pullback = reactant.vjp(diffusion, u, 0.1)
    assert result is None
    expected = X.copy()
    diffusion(expected, 0.1)
    np.testing.assert_allclose(final, expected)
    gu, gc = pullback((None, (np.ones(6),)))

    def total(x):
        x = x.copy()
        diffusion(x, 0.1)
        return x.sum()
    np.testing.assert_allclose(gu, differences(total, X), rtol=1e-6)
    assert gc.shape == ()


def test_jvp_of_integer_outputs_and_constant_arguments():
    def function(x, y):
        return x * y, np.argmax(x)
    (value, where), (moved, nothing) = reactant.jvp(function, (X, X * 2), (np.ones(6), None))
    np.testing.assert_allclose(value, 2 * X * X)
    assert where == np.argmax(X) and nothing == 0.0
    np.testing.assert_allclose(moved, 2 * X)


def test_results_that_are_views():
    def views(x):
        a = np.asfortranarray((x * x).reshape(2, 3))
        return a, a.T[::-1], a.T.reshape(-1)[1:]

    assert reactant.check_derivatives(views, X)
    outputs, pullback = reactant.vjp(views, X)
    for found, expected in zip(outputs, views(X), strict=True):
        np.testing.assert_allclose(found, expected)
    (g,) = pullback((np.ones((2, 3)), np.zeros((3, 2)), np.ones(5)))
    np.testing.assert_allclose(g, 2 * X * [1, 2, 2, 2, 2, 2])


def test_device_arrays_and_single_precision():
    np.testing.assert_allclose(reactant.grad(quadratic)(reactant.array(X)), reactant.grad(quadratic)(X))
    assert reactant.grad(quadratic)(X.astype(np.float32)).dtype == np.float32


@dataclass
class Model:
    weights: list
    bias: np.ndarray


def test_structures_and_aux():
    model = Model([W, W.T.copy()], np.ones(6))

    def predict(m, x):
        hidden = np.tanh(x @ m.weights[0]) @ m.weights[1] + m.bias
        return np.sum(hidden ** 2), {"hidden": hidden}

    gradient, aux = reactant.grad(predict, has_aux=True)(model, X)
    assert type(gradient) is Model and [g.shape for g in gradient.weights] == [(6, 3), (3, 6)]
    np.testing.assert_allclose(gradient.bias, 2 * aux["hidden"])
    (value, aux), again = reactant.value_and_grad(predict, has_aux=True)(model, X)
    np.testing.assert_allclose(value, np.sum(aux["hidden"] ** 2))
    np.testing.assert_allclose(again.bias, gradient.bias)


def quadratic(x):
    return np.sum(np.sin(x) * x[::-1] ** 2)


def test_matrices():
    for mode in ("auto", "forward", "reverse"):
        jacobian = reactant.jacobian(lambda x: np.cumsum(x) * x, mode=mode)(X)
        np.testing.assert_allclose(jacobian, np.tril(np.ones((6, 6))) * X[:, None] + np.diag(np.cumsum(X)))
    hessian = reactant.hessian(quadratic)(X)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-12)
    direction = RNG.standard_normal(6)
    np.testing.assert_allclose(reactant.hvp(quadratic, (X,), (direction,)), hessian @ direction)
    third = reactant.grad(lambda x: x ** 4)
    assert reactant.grad(reactant.grad(third))(2.0) == pytest.approx(48.0)       # reverse over reverse


def test_complex_gradients_pair_without_conjugation():
    z = np.array([1.0 + 2.0j, 0.5 - 1.0j])
    np.testing.assert_allclose(reactant.grad(lambda z: np.sum(np.abs(z) ** 2))(z), 2 * z.conj())
    assert reactant.check_derivatives(lambda z: np.exp(z) * z.conj(), z)


BRANCH_POINTS = [
    (lambda x: np.abs(x), 0.0, 0.0), (lambda x: np.maximum(x, 0.0), 0.0, 0.5),
    (lambda x: np.where(x > 0, np.sqrt(np.maximum(x, 0.0)), 0.0), 0.0, 0.0),
    (lambda x: np.where(x > 0, np.log(x), x), 0.0, 1.0),
    (lambda x: np.floor(x) * x, 2.5, 2.0),
]


@pytest.mark.parametrize("number", range(len(BRANCH_POINTS)))
def test_branch_points(number):
    function, x, expected = BRANCH_POINTS[number]
    with np.errstate(all="ignore"):
        assert reactant.grad(function)(x) == expected


def written_and_read(x, y):
    x[0] = 3.0
    return np.sum(x * y)


@pytest.mark.parametrize("make", [lambda x: x, jnp.asarray])
def test_an_array_that_is_given_twice(make):
    """Each argument has a derivative of its own, as long as none is written."""
    def product(x, y):
        return np.sum(x * x * y)

    x = make(X)
    for found in (reactant.grad(product, (0, 1))(x, x), reactant.vjp(product, x, x)[1](1.0),
                  reactant.jacobian(product, (0, 1))(x, x)):
        np.testing.assert_allclose(found[0], 2 * X * X, rtol=1e-6)
        np.testing.assert_allclose(found[1], X * X, rtol=1e-6)
    np.testing.assert_allclose(reactant.grad(product)(x, x), 2 * X * X, rtol=1e-6)
    np.testing.assert_allclose(reactant.grad(lambda p: product(*p))([x, x])[1], X * X, rtol=1e-6)
    assert reactant.jvp(product, (x, x), (x, x))[1] == pytest.approx(3 * np.sum(X ** 3), rel=1e-6)
    np.testing.assert_allclose(reactant.grad(lambda s, x, y: s * written_and_read(x, y))(1.0, X, X),
                               np.sum(X[1:] ** 2) + 9)             # the same memory where it is not differentiated


@pytest.mark.parametrize("call", [
    reactant.grad(written_and_read), reactant.grad(written_and_read, (0, 1)), reactant.grad(written_and_read, 1),
    reactant.value_and_grad(written_and_read), reactant.jacobian(written_and_read),
    lambda x, y: reactant.jvp(written_and_read, (x, y), (x, y)), lambda x, y: reactant.vjp(written_and_read, x, y),
    reactant.jit(lambda x, y: reactant.grad(written_and_read)(x, y))])
def test_arrays_that_overlap_where_one_is_written(call):
    """As copies they would not see what is written; apart in memory, or not written, they may be parts of one."""
    whole = np.arange(1.0, 9.0)
    with pytest.raises(reactant.ReactantError, match="overlap in memory"):
        call(whole[:4], whole[3:7])
    call(whole[:4], whole[4:])
    np.testing.assert_array_equal(whole, np.arange(1.0, 9.0))
    np.testing.assert_array_equal(reactant.grad(lambda x, y: np.sum(x * y))(whole[:4], whole[3:7]), whole[3:7])


SORTED = {
    "slice": lambda s: s[:, 1:], "step": lambda s: s[:, ::-2], "turned": lambda s: s.T[1:].reshape(-1),
    "joined": lambda s: np.concatenate([s[:, 3:], s[:, :2]], axis=1), "picked": lambda s: s[:, [0, 2, 2]],
}


@pytest.mark.parametrize("name", SORTED)
def test_parts_of_sorted_arrays(name):
    """Sorts are of integer keys, which views of the result may be taken of before they become floats again."""
    def function(x):
        return np.sum(np.exp(SORTED[name](np.sort(x, axis=1))))

    x = np.random.default_rng(5).standard_normal((2, 4))
    order = np.argsort(x, axis=1)
    picked = np.zeros_like(x)
    for place in np.ravel(SORTED[name](np.take_along_axis(np.arange(8).reshape(2, 4), order, 1))):
        picked.flat[place] += 1
    np.testing.assert_allclose(reactant.grad(function)(x), picked * np.exp(x))


def test_ends_of_sorted_arrays():
    """Of which simplification leaves the largest and the smallest key."""
    x = np.array([[0.4, -0.3, 1.2], [0.9, -2.0, 0.1]])
    last, first = reactant.grad(lambda x: np.sum(np.sort(x)[:, -1] ** 2)), reactant.grad(lambda x: np.sort(x, None)[0])
    np.testing.assert_array_equal(last(x), [[0, 0, 2.4], [1.8, 0, 0]])
    np.testing.assert_array_equal(first(x), [[0, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(first(np.where(x == 1.2, np.nan, x)), [[0, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(reactant.grad(lambda x: np.quantile(x, 1.0))(x), [[0, 0, 1], [0, 0, 0]])


REFUSED = [
    (lambda: reactant.grad(loss)(np.arange(6), W), TypeError, "int64 array, which has no derivative"),
    (lambda: reactant.grad(lambda n: n * 2.0)(3), TypeError, "type int"),
    (lambda: reactant.grad(lambda x: x * 2)(X), TypeError, "one real number"),
    (lambda: reactant.grad(diffusion)(X, 0.1), TypeError, "returns None"),
    (lambda: reactant.grad(lambda x: np.sum(x * 1j))(X), TypeError, "one real number"),
    (lambda: reactant.grad(written_and_read, (0, 1))(X, X), reactant.UnsupportedError, "Pass a copy"),
    (lambda: reactant.jit(lambda x: reactant.grad(written_and_read)(x, x[::-1]))(X), reactant.UnsupportedError,
     "Pass a copy"),
    (lambda: reactant.jit(lambda s: s * reactant.grad(lambda x, y: written_and_read(y, x))(*2 * [np.ones(3)])[0])(2.0),
     reactant.UnsupportedError, "Pass a copy"),
    (lambda: reactant.grad(lambda x: np.sum(x), 3)(X), reactant.ReactantError, "argnums=3"),
    (lambda: reactant.grad(lambda x: np.sum(np.frexp(x)[0]))(X), NotDifferentiable,
     r"(?s)bitcast_convert.*test_derivatives.py"),
    (lambda: reactant.jvp(quadratic, (X,), (np.ones(3),)), reactant.ReactantError, "shape"),
    (lambda: reactant.jacobian(quadratic, mode="both"), ValueError, "mode"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused(number):
    run, kind, words = REFUSED[number]
    with pytest.raises(kind, match=words):
        run()


def operations(function, *args, argnums=0):
    gradient = reactant.jit(reactant.grad(function, argnums), optimize="differentiated")
    return Counter(gradient.lower(*args).operations())


def test_constant_values_cost_nothing():
    def function(x, y):
        return np.sum(x * np.exp(np.sin(y)))

    assert operations(function, X, X.copy())["stablehlo.cosine"] == 0       # nothing of y's derivative
    assert operations(function, X, X.copy(), argnums=1)["stablehlo.cosine"] == 1


def test_derivatives_are_taken_of_the_simplified_program():
    def twice(x):
        return np.sum(np.concatenate([x * x, x])[:6] * 2)

    made = operations(twice, X)
    assert made["stablehlo.pad"] == made["stablehlo.concatenate"] == made["stablehlo.slice"] == 0


def test_one_program_a_signature():
    gradient = reactant.grad(quadratic)
    gradient(X), gradient(X + 1)
    assert len(gradient.jitted._entries) == 1
    gradient(X[:4])
    assert len(gradient.jitted._entries) == 2


def writer(x, y):
    y[:] = x * 2 + y
    return np.sum(x * y)


def filled(x, y):
    """A list of its own is filled in a loop, and the arrays in it are written."""
    held = [1.0 * np.ones(3), np.ones(3)]
    for n, each in enumerate((x, y)):
        held[n] = each
    return writer(*held)


def test_lists_that_the_function_makes_are_its_own():
    x, y, t = np.arange(3.0), np.ones(3), np.full(3, 0.5)
    expected = reactant.jvp(reactant.jit(writer), (x.copy(), y.copy()), (t, t))
    found = reactant.jvp(reactant.jit(filled), (x.copy(), y.copy()), (t, t))
    np.testing.assert_allclose(found[0][0], expected[0][0])
    np.testing.assert_allclose(found[1][0], expected[1][0])
