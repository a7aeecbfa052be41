"""What a program says about its own derivative: stop_gradient, checkpoint, custom_derivative."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

X = np.array([0.3, 0.7, 1.1])


def test_stop_gradient():
    assert reactant.grad(lambda x: reactant.stop_gradient(x) * x)(3.0) == 3.0
    assert reactant.jvp(lambda x: reactant.stop_gradient(x) * x, (3.0,), (1.0,))[1] == 3.0
    assert reactant.hessian(lambda x: reactant.stop_gradient(x * x) * x * x)(3.0) == 18.0
    tree = reactant.jit(lambda x: reactant.stop_gradient({"a": x, "n": 2}))(X)
    np.testing.assert_array_equal(tree["a"], X)
    assert tree["n"] == 2


def test_what_is_stopped_is_a_copy():
    def doubled(x):
        y = x * 1.0
        kept = reactant.stop_gradient(y)
        y *= 2
        return np.sum(kept * y)
    np.testing.assert_allclose([doubled(X), reactant.jit(doubled)(X)], 2 * np.sum(X * X))
    np.testing.assert_allclose(reactant.grad(doubled)(X), 2 * X)


@reactant.checkpoint
def layer(x, w):
    return np.tanh(x @ w) * np.exp(-x)


def plain(x, w):
    return np.tanh(x @ w) * np.exp(-x)


W = np.random.default_rng(0).standard_normal((3, 3))


@pytest.mark.parametrize("derive", [
    lambda f: f(X, W), lambda f: reactant.grad(f, (0, 1))(X, W), lambda f: reactant.jvp(f, (X, W), (X, W)),
    lambda f: reactant.hessian(f)(X, W), lambda f: reactant.grad(lambda x: np.sum(reactant.grad(f)(x, W) * X))(X),
    lambda f: jax.grad(reactant.jit(f))(jnp.asarray(X), W.astype(np.float32))], ids=range(6))
def test_checkpointed_functions_have_the_derivatives_of_plain_ones(derive):
    def loss(inner):
        def function(x, w):
            for _ in range(3):
                x = inner(x, w) + x
            return np.sum(x * x)
        return function
    jax.tree_util.tree_map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7), derive(loss(plain)),
                           derive(loss(layer)))


@pytest.mark.slow
def test_checkpointed_functions_keep_their_arguments_only():
    def loss(inner):
        def function(x, w):
            for i in range(50):
                x = inner(x, w[i])
            return np.sum(x * x)
        return reactant.grad(reactant.jit(function, native="never"))

    def deep(x, w):
        a = np.tanh(x @ w)
        b = np.sin(a @ w)
        return np.cos(b @ w) * b
    x, w = np.ones((20, 3)) * 0.1, np.random.default_rng(0).standard_normal((50, 3, 3))

    def buffers(gradient):
        text = gradient.lower(x, w).as_text()
        return sum(f"tensor<5{extra}x20x3xf64>" in line and "constant" in line for line in text.splitlines()
                   for extra in "01")
    some, none = loss(reactant.checkpoint(deep)), loss(deep)
    np.testing.assert_allclose(some(x, w), none(x, w), rtol=1e-10, atol=1e-14)
    assert buffers(some) < buffers(none)


def test_checkpointed_functions_may_write_into_arrays():
    @reactant.checkpoint
    def fill(a, x):
        a[1:] = a[:-1] * x[1:]

    def loss(x):
        a = x * x
        fill(a, x)
        return np.sum(a * a)
    assert reactant.check_derivatives(loss, X)
    np.testing.assert_allclose(reactant.jit(loss)(X), loss(X))


def cut(x):
    return x[::2]


def filled(x):
    x[1] = x[0] * 3
    return x


@pytest.mark.parametrize("function", [lambda x: x, cut, lambda x: x[1:], filled])
def test_checkpointed_functions_may_return_their_arguments(function):
    def loss(x, function=function):
        y = x * 1.0
        part = function(y)
        part[0] = x[2] * part[-1]
        return np.sum(y * y * x)
    marked = reactant.checkpoint(function)
    np.testing.assert_allclose(reactant.jit(lambda x: loss(x, marked))(X), loss(X))
    assert reactant.check_derivatives(lambda x: loss(x, marked), X)
    np.testing.assert_allclose(reactant.grad(lambda x: loss(x, marked))(X), reactant.grad(loss)(X))


@pytest.mark.slow
def test_loops_without_bounds_in_checkpointed_functions():
    @reactant.checkpoint
    def settle(x):
        while np.sum(x * x) > 0.5:
            x = np.sin(x) * 0.9
        return x
    assert reactant.check_derivatives(lambda x: np.sum(settle(x) * x), X)


# ---- derivatives by the user ---------------------------------------------------------------------------------------

@reactant.custom_derivative
def steep(x):
    return np.sin(x)


@steep.jvp
def steep_tangent(arguments, tangents):
    (x,), (t,) = arguments, tangents
    return np.sin(x), 5 * t * np.cos(x)


@steep.vjp
def steep_cotangent(arguments, outputs, cotangents):
    return (7 * cotangents * np.cos(arguments[0]) + 0 * outputs,)


def test_each_mode_takes_its_rule():
    assert reactant.jvp(steep, (X,), (np.ones(3),))[1] == pytest.approx(5 * np.cos(X))
    np.testing.assert_allclose(reactant.grad(lambda x: np.sum(steep(x)))(X), 7 * np.cos(X))
    np.testing.assert_array_equal(steep(X), np.sin(X))
    np.testing.assert_allclose(reactant.jit(steep)(X), np.sin(X))


def test_rules_are_differentiated_for_higher_orders():
    first = reactant.grad(lambda x: np.sum(steep(x)))
    np.testing.assert_allclose(np.diag(reactant.hessian(lambda x: np.sum(steep(x)))(X)), -7 * np.sin(X))
    np.testing.assert_allclose(reactant.grad(lambda x: np.sum(first(x)))(X), -7 * np.sin(X))


only_jvp = reactant.custom_derivative(lambda x: np.exp(x), jvp=lambda a, t: (only_jvp(*a), 3 * t[0] * only_jvp(*a)))


def test_a_rule_for_tangents_alone_is_transposed_and_may_use_the_function_itself():
    np.testing.assert_allclose(reactant.grad(lambda x: np.sum(only_jvp(x)))(X), 3 * np.exp(X))
    assert reactant.grad(reactant.grad(lambda x: only_jvp(x)))(0.5) == pytest.approx(9 * np.exp(0.5))


def along(x, t):
    for _ in range(500):
        t = t * 0.99 + x * t[0] * 0.01
        if x[1] > 0.5:
            t = t + 0.001 * t[::-1]
    return t


def solved(x, t):
    return np.linalg.solve(np.outer(x, x) + np.eye(3), np.cumsum(t))


@pytest.mark.slow
@pytest.mark.parametrize("tangent", [along, solved])
def test_transposes_of_rules_for_tangents(tangent):
    f = reactant.custom_derivative(lambda x: np.sin(x), jvp=lambda a, t: (np.sin(a[0]), tangent(a[0], t[0])))
    columns = reactant.jacobian(lambda x: f(x) * x, mode="forward")(X)
    np.testing.assert_allclose(reactant.jacobian(lambda x: f(x) * x, mode="reverse")(X), columns, rtol=1e-10)
    moved = np.stack([tangent(X, e) for e in np.eye(3)], 1)
    np.testing.assert_allclose(columns, np.diag(np.sin(X)) + X[:, None] * moved)


def test_structures_integers_and_constants_from_outside():
    table = np.arange(3.0) + 1

    @reactant.custom_derivative
    def scaled(p, n):
        return {"y": p["a"] * table * n, "n": n}

    @scaled.vjp
    def _(arguments, outputs, cotangents):
        p, n = arguments
        return {"a": 2 * cotangents["y"] * table * n, "b": None}, None

    def loss(a, b, n):
        return np.sum(scaled({"a": a, "b": b}, n)["y"])
    for n in (3, np.arange(3)):
        ga, gb = reactant.grad(loss, (0, 1))(X, X.copy(), n)
        np.testing.assert_allclose(ga, 2 * table * n)
        np.testing.assert_array_equal(gb, 0)


def test_in_loops_and_branches():
    def loss(rule):
        def function(x):
            for _i in range(40):
                if x[0] > 0.2:
                    x = rule(x) * 0.9
                else:
                    x = x * 1.1
            return np.sum(x)
        return function
    exact = reactant.custom_derivative(lambda x: np.sin(x), vjp=lambda a, y, g: (g * np.cos(a[0]),))
    np.testing.assert_allclose(reactant.grad(loss(exact))(X), reactant.grad(loss(np.sin))(X))


def test_jax_uses_the_rules():
    compiled = reactant.jit(lambda x: np.sum(steep(x)))
    np.testing.assert_allclose(jax.grad(compiled)(jnp.asarray(X)), 7 * np.cos(X), rtol=1e-5)
    held = reactant.jit(lambda x: np.sum(reactant.stop_gradient(x) * x))
    np.testing.assert_allclose(jax.grad(held)(jnp.asarray(X)), X, rtol=1e-6)


@pytest.mark.slow
def test_jax_uses_the_rules_of_what_it_maps():
    rows = jnp.stack([X, 2 * X])
    compiled = reactant.jit(lambda x: np.sum(steep(x) + reactant.stop_gradient(x) * x))
    wanted = 7 * np.cos(rows) + rows
    for mapped in (jax.vmap(compiled), jax.jit(jax.vmap(compiled))):
        np.testing.assert_allclose(jax.grad(lambda x, f=mapped: jnp.sum(f(x)))(rows), wanted, rtol=1e-5)
        np.testing.assert_allclose(jax.jvp(mapped, (rows,), (rows,))[1],
                                   np.sum(5 * np.cos(rows) * rows + rows * rows, 1), rtol=1e-5)
    bent = reactant.jit(lambda x: only_jvp(x) * x)      # 3 e^x x + e^x, then 9 e^x x + 3 e^x + 3 e^x
    for derive in (jax.hessian, lambda f: jax.jacfwd(jax.jacfwd(f)), lambda f: jax.grad(jax.grad(f))):
        np.testing.assert_allclose(derive(bent)(0.5), np.exp(0.5) * (9 * 0.5 + 6), rtol=1e-5)


def test_methods_with_rules():
    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        @reactant.custom_derivative
        def apply(self, x):
            return self.factor * np.sin(x)

        @apply.vjp
        def rule(arguments, outputs, cotangents):      # noqa: N805 - of arguments, `self` is the first of them
            return None, 7 * arguments[0].factor * cotangents

    made = Scaled(2.0)
    np.testing.assert_array_equal(made.apply(X), 2 * np.sin(X))
    np.testing.assert_array_equal(reactant.grad(lambda x: np.sum(made.apply(x)))(X), np.full(3, 14.0))


REFUSED = [
    (lambda: reactant.jit(reactant.custom_derivative(lambda x: x))(X), "has no rule yet"),
    (lambda: reactant.jvp(reactant.custom_derivative(lambda x: x, vjp=lambda a, y, g: (g,)), (X,), (X,)),
     "reverse mode only"),
    (lambda: reactant.grad(lambda x: np.sum(reactant.custom_derivative(
        lambda y: y * x, vjp=lambda a, y, g: (g,))(x)))(X), "uses a traced array from outside"),
    (lambda: reactant.grad(lambda x: np.sum(reactant.custom_derivative(
        np.sin, vjp=lambda a, y, g: g)(x)))(X), "returns a tuple of 1 cotangents"),
    (lambda: reactant.grad(lambda x: np.sum(reactant.custom_derivative(
        lambda y: np.sin(y), vjp=lambda a, y, g: (g[:2],))(x)))(X), "has shape"),
    (lambda: reactant.grad(lambda x: np.sum(reactant.custom_derivative(
        lambda y: np.sin(y), vjp=lambda a, y, g: ((g, g),))(x)))(X), "gives 2 cotangents for argument 0, which has 1"),
    (lambda: reactant.grad(lambda x: np.sum(reactant.custom_derivative(
        lambda y: np.sin(y), jvp=lambda a, t: (a[0][:2], t[0]))(x)))(X), r"output of the jvp rule.* has shape \(2,\)"),
    (lambda: reactant.grad(lambda x: np.sum(reactant.custom_derivative(
        lambda y, *, k: y * k, vjp=lambda a, y, g: (g,))(x, k=2.0)))(X), "is given 'k' by name alone"),
    (lambda: jax.grad(lambda x: jnp.sum(reactant.custom_derivative(
        lambda y: y * x, vjp=lambda a, y, g: (g,))(x)))(X), "uses a traced array from outside"),
    (lambda: reactant.grad(lambda x: np.sum(reactant.custom_derivative(
        lambda y: np.sin(y), jvp=lambda a, t: (np.sin(a[0]), a[0] * t[0] ** 2))(x)))(X), "not linear .*multiply"),
    (lambda: reactant.grad(lambda x: np.sum(reactant.custom_derivative(
        lambda y: np.sin(y), jvp=lambda a, t: (np.sin(a[0]), np.where(t[0] > 0, t[0], 0)))(x)))(X), "not linear"),
    (lambda: jax.jvp(reactant.custom_derivative(
        lambda y: jnp.sin(y), vjp=lambda a, y, g: (g,)), (X,), (X,)), "reverse mode only"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused(number):
    run, words = REFUSED[number]
    with pytest.raises(reactant.ReactantError, match=words):
        run()


def test_directions_of_real_numbers_are_real():
    bent = reactant.custom_derivative(lambda y: np.sin(y), jvp=lambda a, t: (np.sin(a[0]), 1j * t[0]))
    for run in (lambda: reactant.jvp(bent, (X,), (X,)), lambda: reactant.jvp(np.sin, (X,), (1j * X,)),
                lambda: reactant.linearize(np.sin, X)[1](1j * X)):
        with pytest.raises(TypeError, match="is complex, "):
            run()


def test_rules_get_arguments_that_are_left_out():
    power = reactant.custom_derivative(lambda x, p=2.0: x ** p, vjp=lambda a, y, g: (5 * g * a[1], None))
    np.testing.assert_array_equal(reactant.grad(lambda x: np.sum(power(x)))(X), np.full(3, 10.0))
    np.testing.assert_array_equal(reactant.grad(lambda x: np.sum(power(p=3.0, x=x)))(X), np.full(3, 15.0))


def halved(x):
    while np.sum(x) > 0.1:
        x = x * 0.5
    return x


def test_what_a_loop_only_carries_is_not_written():
    """Its variable starts as the argument of a checkpointed function, or as an array from outside."""
    marked = reactant.checkpoint(halved)
    for found in (reactant.linearize(marked, X)[0], reactant.vjp(marked, X)[0], reactant.jvp(marked, (X,), (X,))[0]):
        np.testing.assert_allclose(found, halved(X))
    ruled = reactant.custom_derivative(lambda x: x * halved(X), vjp=lambda a, y, g: (7 * g,))
    np.testing.assert_array_equal(reactant.grad(lambda x: np.sum(ruled(x)))(X), np.full(3, 7.0))


@pytest.mark.parametrize("sparse", [False, "dense"])
@pytest.mark.parametrize("inside", [lambda f: f, reactant.checkpoint])
def test_matrices_by_rules_for_reverse_mode_alone(inside, sparse):
    steepest = reactant.custom_derivative(lambda x: np.sin(x), vjp=lambda a, y, g: (7 * g * np.cos(a[0]),))
    found = reactant.jacobian(inside(lambda x: steepest(x) * 2), sparse=sparse)(X)
    np.testing.assert_allclose(found, np.diag(14 * np.cos(X)))


def test_what_rules_print_and_check():
    """A rule is traced after the program: it prints nothing, and what it checks makes the derivative no number."""
    def rule(arguments, outputs, cotangents):
        x, k = arguments
        print(x)
        return cotangents * x[k[0]], None

    picked = reactant.custom_derivative(lambda x, k: x * 2, vjp=rule)
    pushed = reactant.custom_derivative(lambda x, k: x * 2, jvp=lambda a, t: (pushed(*a), t[0] * a[0][a[1][0]]))
    for function in (picked, pushed):
        gradient = reactant.grad(lambda x, k, f=function: np.sum(f(x, k)))
        np.testing.assert_array_equal(gradient(X, np.array([1])), np.full(3, X[1]))
        assert np.isnan(gradient(X, np.array([3]))).all()


# ---- in what JAX traces --------------------------------------------------------------------------------------------

def jvp_of(lib):
    return lambda arguments, tangents: (lib.sin(arguments[0]), 5 * tangents[0] * lib.cos(arguments[0]))


def vjp_of(lib):
    return lambda arguments, outputs, cotangents: (7 * cotangents * lib.cos(arguments[0]),)


@pytest.mark.slow
@pytest.mark.parametrize("taken", [jax, reactant], ids=["jax", "reactant"])
@pytest.mark.parametrize("lib", [jnp, np], ids=["jnp", "np"])
@pytest.mark.parametrize("rules", ["jvp", "vjp", "both"])
def test_rules_of_ours_in_jax_functions(rules, lib, taken):
    given = {"jvp": {"jvp": jvp_of(lib)}, "vjp": {"vjp": vjp_of(lib)}, "both": {"jvp": jvp_of(lib), "vjp": vjp_of(lib)}}
    f = reactant.custom_derivative(lambda x: lib.sin(x), **given[rules])
    factor, x = 5 if rules == "jvp" else 7, jnp.asarray(X)
    losses = [lambda x: jnp.sum(f(x) * 2), lambda x: jnp.sum(jax.vmap(f)(x)) * 2,
              lambda x: jnp.sum(jax.lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0]) * 2,
              lambda x: jax.lax.cond(x[0] > 0, lambda x: jnp.sum(f(x)) * 2, jnp.sum, x)]
    for loss in losses:
        np.testing.assert_allclose(taken.grad(loss)(x), 2 * factor * np.cos(X), rtol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.vmap(taken.grad(lambda x: f(x) * 1.0)))(x), factor * np.cos(X), rtol=1e-5)
    twice = taken.grad(lambda x: jnp.sum(taken.grad(losses[0])(x)))
    np.testing.assert_allclose(twice(x), -2 * factor * np.sin(X), rtol=1e-5)
    if rules != "vjp":
        np.testing.assert_allclose(taken.jvp(losses[0], (x,), (x,))[1], 10 * np.sum(X * np.cos(X)), rtol=1e-5)


@pytest.mark.parametrize("marked", [steep, reactant.checkpoint(lambda x: np.sin(x) * 7)], ids=["rule", "checkpoint"])
def test_loops_with_marks_become_maps(marked):
    """Also where their batched forms are known, as they are once something was mapped."""
    import reactant.differentiate.batched_marks  # noqa: F401
    compiled = reactant.jit(lambda x: marked(x) * x)
    rows = jnp.stack([X, 2 * X])
    wanted = 7 * (np.cos(rows) * rows) + (np.sin(rows) if marked is steep else 7 * np.sin(rows))
    for taken in (reactant, jax):
        found = taken.grad(lambda x: jnp.sum(jax.lax.map(compiled, x)))(rows)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_structures_in_jax_functions():
    scaled = reactant.custom_derivative(
        lambda p, n, mode="plain": {"y": p["a"] * n, "n": n, "order": p["order"] * 2},
        vjp=lambda a, y, g: ({"a": 2 * g["y"] * a[1], "b": None, "order": None}, None, None))
    for taken in (jax, reactant):
        found = taken.grad(lambda x: jnp.sum(scaled({"b": x, "a": x, "order": jnp.arange(3)}, 3)["y"]))(X)
        np.testing.assert_array_equal(found, np.full(3, 6.0))


def test_gradients_stop_in_jax_functions():
    for taken in (jax, reactant):
        found = taken.grad(lambda x: jnp.sum(reactant.stop_gradient({"x": x})["x"] * x))(X)
        np.testing.assert_allclose(found, X, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("mark", [reactant.checkpoint, jax.checkpoint])
def test_checkpoints_in_jax_functions(mark):
    weights = jnp.asarray(np.random.default_rng(0).standard_normal((20, 8, 8)))

    def loss(inner):
        return lambda x: jnp.sum(jax.lax.scan(lambda x, w: (inner(x, w), None), x, weights)[0] ** 2)

    def layer(x, w):
        return jnp.cos(jnp.sin(jnp.tanh(x @ w) @ w) @ w) + x
    x = jnp.ones((100, 8))
    some, none = reactant.grad(loss(layer)), reactant.grad(loss(mark(layer)))
    np.testing.assert_allclose(some(x), none(x), rtol=1e-3, atol=1e-4)
    sizes = [g.lower(x).compile().memory_analysis().temp_size_in_bytes for g in (some, none)]
    assert sizes[1] < 0.6 * sizes[0]


def test_marked_functions_of_constants():
    """A call that is given no traced value is an ordinary one."""
    @reactant.checkpoint
    def layer(y):
        return np.sin(y) * y

    @reactant.custom_derivative
    def ruled(y):
        return y * y
    ruled.jvp(lambda arguments, tangents: (ruled(arguments[0]), 2 * arguments[0] * tangents[0]))

    def loss(x):
        return np.sum(layer(np.ones(3)) * ruled(np.ones(3)) * x)
    np.testing.assert_allclose(reactant.jit(loss)(np.ones(3)), 3 * np.sin(1.0))
    np.testing.assert_allclose(reactant.grad(loss)(np.ones(3)), np.full(3, np.sin(1.0)))
