"""Derivatives inside compiled functions: nested, in control flow, over closures; what they share with the outside."""
import jax
import numpy as np
import pytest

import reactant

X = np.array([0.3, 0.7, 1.1])
E = np.eye(3)


def cubes(y):
    return np.sum(y ** 3)


@reactant.jit
def of_closure(x, c):
    return reactant.grad(lambda y: np.sum(y ** 3) * c + np.sum(x))(x)


@reactant.jit
def nested(x):
    return reactant.grad(lambda a: a * reactant.grad(lambda b: a * b ** 3)(x))(x)


@reactant.jit
def descent(x, steps):
    for _i in range(steps):
        x = x - 0.1 * reactant.grad(lambda y: np.sum((y - 2.0) ** 2))(x)
    return x


@reactant.jit
def newton(a):
    x, n = a * 1.0, 0
    while np.abs(x ** 3 - a) > 1e-13 and n < 50:
        def potential(y):
            return y ** 4 / 4 - a * y
        x = x - reactant.grad(potential)(x) / reactant.grad(reactant.grad(potential))(x)
        n += 1
    return x


@reactant.jit
def chosen(x, c):
    if c > 0:
        g = reactant.grad(lambda y: np.sum(y * y * c))(x)
    else:
        g = reactant.value_and_grad(lambda y: np.sum(np.sin(y)))(x)[1]
    return g


@reactant.jit
def pulled(x):
    out, pull = reactant.vjp(lambda y: np.cumsum(np.sin(y)), x)
    return out, pull(np.ones(3))[0], pull(np.array([1.0, 0, 0]))[0]


@reactant.jit
def pushed(x):
    out, push = reactant.linearize(lambda y: np.cumsum(np.sin(y)), x)
    return out, np.stack([push(e) for e in E], axis=1)


@reactant.jit
def writing(x):
    log = np.zeros(3)

    def f(y):
        y[0] = y[0] * 2
        log[:] = y * 2
        return np.sum(y * log)
    return reactant.grad(f)(x), log, x


TWICE = np.array([2.0, 1.0, 1.0])
CASES = {
    "closure": (lambda: of_closure(X, 2.0), 6 * X ** 2), "nested": (lambda: nested(2.0), 48.0),
    "descent": (lambda: descent(X, 200), np.full(3, 2.0)), "newton": (lambda: newton(2.0), 2 ** (1 / 3)),
    "grad of newton": (lambda: reactant.grad(newton)(2.0), 2 ** (-2 / 3) / 3),
    "then": (lambda: chosen(X, 2.0), 4 * X), "else": (lambda: chosen(X, -1.0), np.cos(X)),
    "vjp": (lambda: pulled(X), (np.cumsum(np.sin(X)), [3, 2, 1] * np.cos(X), [np.cos(X[0]), 0, 0])),
    "linearize": (lambda: pushed(X), (np.cumsum(np.sin(X)), np.tril(np.ones((3, 3))) * np.cos(X))),
    "writes": (lambda: writing(X), (4 * X * TWICE ** 2, 2 * X * TWICE, X)),
    "forward over reverse": (lambda: reactant.jvp(reactant.grad(cubes), (X,), (E[1],))[1], 6 * X * E[1]),
    "reverse over forward": (lambda: reactant.grad(lambda x: reactant.jvp(cubes, (x,), (E[1],))[1])(X), 6 * X * E[1]),
    "reverse over reverse": (lambda: reactant.grad(lambda x: np.sum(reactant.grad(cubes)(x) * E[1]))(X), 6 * X * E[1]),
    "fourth": (lambda: reactant.jit(lambda x: reactant.grad(reactant.grad(reactant.grad(reactant.grad(
        lambda y: y ** 6))))(x))(2.0), 360 * 4.0),
}


@pytest.mark.parametrize("name", CASES)
def test_inside(name):
    run, expected = CASES[name]
    jax.tree_util.tree_map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12), run(),
                           expected if not isinstance(expected, tuple) else tuple(map(np.asarray, expected)))


def long_loop(x):
    t = x * 1.0
    for _i in range(300):
        t = np.sin(t * x) + 0.1 * t[::-1]
    return np.sum(t * x)


def test_a_pullback_inside_reads_what_the_function_left():
    """One loop forwards, one backwards: the function is not run again."""
    inside = reactant.jit(lambda x: (lambda out, pull: (out, pull(1.0)[0]))(*reactant.vjp(long_loop, x)))
    assert inside.lower(X).operations()["stablehlo.while"] == 2


def test_a_pullback_outside_reads_what_the_function_left():
    from reactant.derivatives import products
    value, pull = reactant.vjp(long_loop, X)
    (gradient,) = pull(1.0)
    np.testing.assert_allclose(gradient, reactant.grad(long_loop)(X))
    divided = list(products._split(long_loop, (0,), "reverse", False)._programs.values())[0]
    late = divided.late.lowered
    assert late.operations()["stablehlo.while"] == 1 and "stablehlo.sine" not in late.operations()
    np.testing.assert_allclose(value, long_loop(X))


def test_value_and_grad_runs_the_function_once():
    assert reactant.value_and_grad(long_loop).lower(X).operations()["stablehlo.while"] == 2


REFUSED = [
    (lambda: reactant.jit(lambda x: reactant.grad(lambda y: (LOG.append(y[1:]), np.sum(y))[1])(x))(X),
     reactant.UnsupportedError, "a view of one, in an object from outside"),
    (lambda: reactant.grad(lambda parts: parts.append(1) or np.sum(parts[0]))([X]), reactant.UnsupportedError,
     "changes lists, dicts or objects among its arguments"),
    (lambda: reactant.jit(lambda n: reactant.grad(lambda y: y * 2.0)(n), traced_argnames="n")(3), TypeError, "int64"),
    (lambda: reactant.grad(cubes, 0, argnames="y"), TypeError, "argnums or argnames"),
    (lambda: reactant.grad(cubes, argnames="z")(X), reactant.ReactantError, "without an argument 'z'"),
    (lambda: reactant.grad(cubes, (0, -1))(X), reactant.ReactantError, "has an argument twice"),
    (lambda: reactant.grad(cubes, "x")(X), TypeError, "named by argnames"),
    (lambda: reactant.grad(3), TypeError, "of a function"),
    (lambda: reactant.vjp(cubes, X)[1](np.ones(2)), reactant.ReactantError, "A cotangent has shape"),
    (lambda: reactant.linearize(cubes, X)[1](X, X), reactant.ReactantError, "takes 1 tangents, not 2"),
    (lambda: reactant.linearize(cubes, X)[1](X[:2]), reactant.ReactantError, "A tangent has shape"),
]
LOG = []


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused(number):
    run, kind, words = REFUSED[number]
    with pytest.raises(kind, match=words):
        run()


def test_arguments_by_name():
    def product(x, *, w):
        return np.sum(x * w)
    np.testing.assert_allclose(reactant.grad(product, argnames="w")(X, w=2 * X), X)
    both = reactant.grad(lambda x, w: np.sum(x * w), argnames=("x", "w"))(X, w=2 * X)
    np.testing.assert_allclose(both["x"], 2 * X)
    np.testing.assert_allclose(both["w"], X)


def test_devices_and_jax_arrays_go_in_and_come_out():
    import jax.numpy as jnp
    device = reactant.array(X)
    assert type(reactant.grad(cubes)(device)) is reactant.DeviceArray
    value, pull = reactant.vjp(cubes, device)
    assert type(value) is type(pull(1.0)[0]) is reactant.DeviceArray
    np.testing.assert_allclose(np.asarray(pull(1.0)[0]), 3 * X ** 2)
    found = reactant.grad(lambda x: jnp.sum(x ** 3))(X.astype(np.float32))
    assert isinstance(found, jax.Array) and found.dtype == np.float32
    np.testing.assert_allclose(found, 3 * X ** 2, rtol=1e-6)
    traced = jax.jit(lambda x: reactant.grad(cubes)(x) * 2)(jnp.asarray(X))
    np.testing.assert_allclose(traced, 6 * X ** 2, rtol=1e-6)


@pytest.mark.parametrize("chosen", [0, 1, (0, 1)])
def test_a_constant_that_is_given_twice(chosen):
    """As copies they would not see what is written."""
    def product(x, y, write):
        if write:
            x[0] = 5.0
        return np.sum(x * y)

    found = reactant.jit(lambda s: reactant.grad(lambda x, y: s * product(x, y, False), chosen)(X, X))(2.0)
    np.testing.assert_allclose(found[0] if chosen == (0, 1) else found, 2.0 * X)
    with pytest.raises(reactant.UnsupportedError, match="also another of its arguments"):
        reactant.jit(lambda s: reactant.grad(lambda x, y: s * product(x, y, True), chosen)(X, X))(2.0)


def listed(x):
    state = {"x": x * 1.0, "of": [np.zeros(3), 0.0]}
    for _k in range(5):
        state["x"] = state["x"] * np.cos(state["of"][0]) + 0.1 * state["of"][1]
        state["of"][0] = state["of"][0] + state["x"] ** 2
        state["of"][1] += np.sum(state["x"])
    return np.sum(state["x"] ** 2)


@pytest.mark.slow
def test_containers_in_containers_that_a_loop_changes_are_the_functions_own():
    """What loops note of which list may be which other one outlived the function that made them, where its derivative
    was taken inside another one: they counted as lists from outside."""
    step = 1e-6
    moved = [reactant.grad(listed)(X + h * X) for h in (step, -step)]
    np.testing.assert_allclose(reactant.hvp(listed, (X,), (X,)), (moved[0] - moved[1]) / (2 * step), rtol=1e-6)
