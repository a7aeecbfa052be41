"""JAX functions that say something about their own derivative: honoured, or refused; never ignored."""
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

X = jnp.arange(4.0) + 0.5
STOPPED = [
    lambda x: (jax.lax.stop_gradient(x) * x * x).sum(), lambda x: jax.nn.logsumexp(x) + jax.nn.softmax(x)[0],
    lambda x: jax.lax.scan(lambda c, e: (c * jax.lax.stop_gradient(e) + e, None), 1.0, x)[0],
    lambda x: jax.vmap(lambda e: jax.lax.stop_gradient(e) * e)(x).sum(),
    lambda x: jax.lax.cond(x[0] > 0, lambda v: jax.lax.stop_gradient(v) * v, lambda v: v, x).sum(),
]


@pytest.mark.slow
@pytest.mark.parametrize("loss", STOPPED)
def test_gradients_stop(loss):
    np.testing.assert_allclose(reactant.grad(loss)(X), jax.grad(loss)(X), rtol=1e-5)
    np.testing.assert_allclose(reactant.hessian(loss)(X), jax.hessian(loss)(X), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(reactant.jvp(loss, (X,), (X,))[1], jax.jvp(loss, (X,), (X,))[1], rtol=1e-5)


@pytest.mark.slow
def test_what_jax_stops_in_a_softmax_is_not_computed():
    """The greatest element is taken out of softmax and logsumexp: its derivative cancels."""
    def loss(w, x):
        return -jnp.mean(jax.nn.log_softmax(x @ w)[:, 0])

    def solved(x):
        a = jnp.eye(4) * 2 + 0.1
        return jax.nn.logsumexp(x) + jax.lax.custom_linear_solve(
            lambda v: a @ v, x, lambda _, b: jnp.linalg.solve(a, b), symmetric=True).sum()
    w, x = jnp.sin(jnp.arange(300.0)).reshape(20, 15), jnp.cos(jnp.arange(600.0)).reshape(30, 20)
    gradient = reactant.grad(loss)
    np.testing.assert_allclose(gradient(w, x), jax.grad(loss)(w, x), rtol=1e-4, atol=1e-6)
    assert "stablehlo.compare" not in gradient.lower(w, x).operations()
    np.testing.assert_allclose(reactant.grad(solved)(X), jax.grad(solved)(X), rtol=1e-5)    # neither is marked


@jax.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1, 1),))


@jax.custom_jvp
def safe_root(x):
    return jnp.sqrt(x)


safe_root.defjvp(lambda x, t: (safe_root(*x), 0.5 * t[0] / jnp.maximum(safe_root(*x), 1e-3)))


@jax.custom_jvp
def log1pexp(x):
    return jnp.log1p(jnp.exp(x))


log1pexp.defjvps(lambda t, answer, x: t * (1 - 1 / (1 + jnp.exp(x))))


@jax.custom_jvp
def rounded(x):
    return jnp.round(x)


rounded.defjvp(lambda x, t: (rounded(*x), 3 * t[0]))         # not 1: the rule is told from a wrong guess


@partial(jax.custom_jvp, nondiff_argnums=(0, 2))
def applied(f, x, n):
    return f(x) * n


applied.defjvp(lambda f, n, x, t: (applied(f, x[0], n), 7 * n * x[0] * t[0]))


@jax.custom_gradient
def square(x):
    return x ** 2, lambda g: (g * x * 5,)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def fixed_point(f, a, start):
    return jax.lax.while_loop(lambda c: jnp.abs(c[0] - c[1]) > 1e-6, lambda c: (c[1], f(a, c[1])),
                              (start, f(a, start)))[1]


def _fixed_point_cotangents(f, kept, g):
    a, y = kept
    _, pull = jax.vjp(lambda y: f(a, y), y)
    w = jax.lax.fori_loop(0, 40, lambda i, w: g + pull(w)[0], g)
    return jax.vjp(lambda a: f(a, y), a)[1](w)[0], jnp.zeros_like(y)


fixed_point.defvjp(lambda f, a, start: (y := fixed_point(f, a, start), (a, y)), _fixed_point_cotangents)


@jax.custom_jvp
def trees(d, k):
    return {"sine": jnp.sin(d["a"]) * k, "next": k + 1, "pair": (d["b"] ** 2,)}


@trees.defjvp
def _(given, tangents):
    (d, k), (t, _) = given, tangents
    nothing = np.zeros(jnp.shape(k), jax.dtypes.float0)
    return trees(d, k), {"sine": 2 * jnp.cos(d["a"]) * t["a"] * k, "next": nothing, "pair": (3 * d["b"] * t["b"],)}


@jax.custom_vjp
def scaled(x, k):
    return x * k, k * 2


scaled.defvjp(lambda x, k: ((x * k, k * 2), (x, k)), lambda kept, g: (g[0] * kept[1] * 10, None))


@jax.custom_jvp
def nested(x):
    return clipped(x) * safe_root(x)


nested.defjvp(lambda x, t: (nested(*x), jnp.sin(safe_root(x[0])) * t[0]))


@jax.custom_vjp
def turned(z):
    return z * z


turned.defvjp(lambda z: (z * z, z), lambda z, g: ((3 + 1j) * z * g,))

WITH_JVP = {
    "jax's own of bits": lambda x: (jnp.frexp(x)[0] * jnp.ldexp(x, 3)).sum(),
    "jax's own by both arguments": lambda x: jax.scipy.special.zeta(x**2 + 1.5, jnp.abs(x) + 0.5).sum(),
    "plain": lambda x: safe_root(x).sum(),
    "straight through": lambda x: (rounded(x) ** 2).sum(),
    "static arguments": lambda x: applied(jnp.sin, x, 3).sum(),
    "scan": lambda x: jax.lax.scan(lambda c, e: (safe_root(c * e) + log1pexp(c), c), 1.0, x)[0],
    "vmap and jit": lambda x: jax.vmap(jax.jit(lambda e, w: applied(jnp.sin, e, 3) * log1pexp(w)),
                                       (0, None))(x, x[1]).sum(),
    "trees": lambda x: (lambda o: (o["sine"] * o["next"] + o["pair"][0]).sum())(
        trees({"a": x, "b": 2 * x}, jnp.arange(4))),
    "a gradient inside": lambda x: jax.grad(lambda v: (log1pexp(v) ** 2).sum())(x).sum(),
    "stopped": lambda x: (jax.lax.stop_gradient(rounded(x)) * log1pexp(x)).sum() + jax.nn.silu(log1pexp(x)).sum(),
    "root": lambda x: x[0] * jax.lax.custom_root(
        lambda v: v ** 3 - x[1], 1.0, lambda f, v: jax.lax.fori_loop(0, 20, lambda i, v: v - f(v) / jax.grad(f)(v), v),
        lambda g, y: y / g(1.0)),
}
WITH_VJP = {
    "plain": lambda x: clipped(3 * x).sum(),
    "loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, v: clipped(v * v), x).sum(),
    "vmap": lambda x: jax.vmap(lambda e: log1pexp(e) * clipped(5 * e))(x).sum(),
    "cond": lambda x: jax.lax.cond(x[0] > 0, lambda v: clipped(v ** 2).sum(), lambda v: safe_root(v).sum(), x),
    "custom_gradient": lambda x: square(x).sum() * x[0],
    "nested": lambda x: (nested(x ** 2) * clipped(x)).sum(),
    "integers": lambda x: scaled(x, jnp.arange(4))[0].sum(),
    "complex": lambda x: (jnp.real(turned(x + 1j * x[::-1]) * (2 - 3j)) ** 2).sum(),
    "remat": lambda x: jax.checkpoint(lambda v: safe_root(jnp.sin(v) + 1) * clipped(2 * v))(x).sum(),
}


@pytest.mark.slow
@pytest.mark.parametrize("loss", WITH_JVP.values(), ids=WITH_JVP)
def test_custom_jvp(loss):
    agree(reactant.value_and_grad(loss)(X), jax.value_and_grad(loss)(X))
    agree(reactant.jvp(loss, (X,), (X + 1,)), jax.jvp(loss, (X,), (X + 1,)))
    agree(reactant.hessian(loss)(X), jax.hessian(loss)(X))


@pytest.mark.sampled(100)
@pytest.mark.parametrize("loss", WITH_VJP.values(), ids=WITH_VJP)
def test_custom_vjp(loss):
    agree(reactant.value_and_grad(loss)(X), jax.value_and_grad(loss)(X))
    agree(reactant.hessian(loss)(X), jax.hessian(loss)(X))
    with pytest.raises(reactant.ReactantError, match="(?s)reverse mode only.*jax.custom_jvp"):
        reactant.jvp(loss, (X,), (X,))


def agree(ours, theirs):
    for a, b in zip(jax.tree_util.tree_leaves(ours), jax.tree_util.tree_leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)


@pytest.mark.slow
def test_a_derivative_of_a_derivative_finds_the_forward_pass():
    """What `custom_vjp` says holds once; then the two functions of the rule are differentiated as they stand."""
    def norm(gradient):
        return lambda x: sum((leaf ** 2).sum() for leaf in jax.tree_util.tree_leaves(gradient(x)))

    for loss in (WITH_VJP["custom_gradient"], WITH_VJP["remat"], WITH_JVP["straight through"]):
        agree(reactant.grad(norm(reactant.value_and_grad(loss)))(X), jax.grad(norm(jax.value_and_grad(loss)))(X))


@pytest.mark.slow
def test_implicit_differentiation():
    def loss(x):
        return fixed_point(lambda a, y: jnp.cos(a * y), x[0] / 5, 1.0) * x.sum()

    agree(reactant.value_and_grad(loss)(X), jax.value_and_grad(loss)(X))
    agree(reactant.vmap(reactant.grad(loss))(jnp.stack([X, X + 1])), jax.vmap(jax.grad(loss))(jnp.stack([X, X + 1])))


def test_numpy_code_may_call_it():
    helper = jax.jit(lambda x: clipped(x))

    def loss(x):
        return np.sum(helper(x * x) * np.sin(x))

    def the_same(x):
        return jnp.sum(clipped(x * x) * jnp.sin(x))

    agree(reactant.grad(loss)(np.asarray(X)), jax.grad(the_same)(X))
    agree(jax.grad(reactant.jit(the_same))(X), jax.grad(the_same)(X))


def test_what_runs_is_the_plain_function():
    """Marks are gone before the program is optimized for the target."""
    def plain(x):
        return jnp.sqrt(x).sum()

    def marked(x):
        return safe_root(x).sum()

    assert reactant.jit(marked).lower(X).operations() == reactant.jit(plain).lower(X).operations()
    gradient = reactant.value_and_grad(marked)
    found = reactant.jit(lambda x: gradient(x)).lower(X).operations()
    assert "stablehlo.custom_call" not in found
    assert found["stablehlo.sqrt"] == 1


def test_a_rule_that_is_wrong():
    @jax.custom_jvp
    def f(x):
        return x * 2

    f.defjvp(lambda x, t: (f(*x), t[0][:2]))
    with pytest.raises(TypeError, match="Custom JVP rule must produce primal and tangent outputs"):
        reactant.grad(lambda x: f(x).sum())(X)


def test_a_rule_that_needs_what_is_not_its_argument():
    def loss(x):
        size = jnp.sin(x[0])
        f = jax.custom_jvp(lambda y: y * size)
        f.defjvp(lambda y, t: (f(*y), t[0] * size))
        return f(x).sum()

    with pytest.raises(reactant.UnsupportedError, match="uses a traced array from outside"):
        reactant.grad(loss)(X)


@pytest.mark.slow
def test_arrays_from_outside():
    """The rule and the function may use constants; what varies has to be an argument."""
    table = jnp.arange(5000.0)
    f = jax.custom_vjp(lambda x: x * table[1:5])
    f.defvjp(lambda x: (x * table[1:5], x), lambda x, g: (g * table[2:6] + jnp.sum(table),))

    def loss(x):
        return (f(x) ** 2).sum()

    agree(reactant.value_and_grad(loss)(X), jax.value_and_grad(loss)(X))
    agree(reactant.hessian(loss)(X), jax.hessian(loss)(X))

    def varied(x):
        f = jax.custom_vjp(lambda y: y * x[0])
        f.defvjp(lambda y: (y * 2, y), lambda y, g: (g,))
        return f(x).sum()

    with pytest.raises(reactant.ReactantError, match="from outside"):
        reactant.grad(varied)(X)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("around", [
    jax.jit, lambda f: lambda x: jax.lax.scan(lambda s, _: (s + f(x), None), 0.0, None, length=3)[0]])
def test_arrays_from_outside_where_jax_maps_a_jaxpr(around):
    """`jax.vmap` of a jaxpr makes them arguments like others."""
    table = jnp.arange(4.0)
    f = jax.custom_vjp(lambda x: jnp.sum(x * table))
    f.defvjp(lambda x: (f(x), x), lambda x, g: (2 * g * table * x,))

    def loss(xs):
        return jnp.sum(jax.vmap(around(f))(xs) ** 2)

    xs = jnp.stack([X, 2 * X])
    agree(reactant.value_and_grad(loss)(xs), jax.value_and_grad(loss)(xs))
    agree(jax.jit(reactant.grad(loss))(xs), jax.grad(loss)(xs))

    def varied(xs):
        f = jax.custom_vjp(lambda x: jnp.sum(x * xs[0]))
        f.defvjp(lambda x: (f(x), x), lambda x, g: (g * x,))
        return jnp.sum(jax.vmap(around(f))(xs))

    with pytest.raises(reactant.ReactantError, match="from outside"):
        reactant.grad(varied)(xs)


@pytest.mark.slow
def test_stops_of_jaxs_own_linear_solver():
    """They belong to a rule of its own: alone they are none, beside the user's JAX takes the derivative."""
    def solved(x):
        return jnp.linalg.solve(jnp.outer(x, x) + 3 * jnp.eye(4), x).sum()

    np.testing.assert_allclose(reactant.grad(solved)(X), jax.grad(solved)(X), rtol=1e-4, atol=1e-6)

    def beside(x):
        return solved(x) * jax.lax.stop_gradient(x).sum()

    np.testing.assert_allclose(reactant.grad(beside)(X), jax.grad(beside)(X), rtol=1e-4)
    assert "stops gradients, and calls a function of JAX's" in str(reactant.explain(reactant.grad(beside), X))


@pytest.mark.sampled(100)
@pytest.mark.parametrize("loss", [
    lambda x: jax.vmap(lambda v: jax.lax.cond(v > 0, jnp.sqrt, jnp.square, v))(x).sum(),
    lambda x: jax.vmap(lambda v: jax.lax.switch((v > 0).astype(int), [jnp.square, jnp.log], v))(x).sum(),
    lambda x: jax.nn.logsumexp(jax.vmap(lambda v: jax.lax.cond(v > 0, jnp.log, jnp.exp, v))(x)),
    lambda x: jax.scipy.special.expi(jnp.abs(x) + 1)[:1].sum(),
])
def test_branches_of_a_batch(loss):
    """JAX computes all branches, and stops the gradients of those that are not taken: 0 * inf is NaN."""
    x = jnp.array([0.5, -0.75, 0.0, 2.0], jnp.float32)
    found, expected = reactant.grad(loss)(x), jax.grad(loss)(x)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.slow
def test_derivatives_of_iterations_are_jaxs():
    """Of an incomplete gamma function in its second argument: no iteration but its own (took 20 times as long as
    JAX's)."""
    def loss(x):
        return jax.scipy.special.gammainc(2.0, 3 * x).sum() + jax.scipy.special.gammaincc(1.5, x).sum()

    loops = [made.lower(X).operations()["stablehlo.while"] for made in (reactant.jit(loss), reactant.grad(loss))]
    assert loops[1] <= loops[0]
    agree(reactant.grad(loss)(X), jax.grad(loss)(X))
    agree(reactant.hessian(loss)(X), jax.hessian(loss)(X))
    agree(reactant.grad(lambda a: jax.scipy.special.gammainc(a, X).sum())(X),
          jax.grad(lambda a: jax.scipy.special.gammainc(a, X).sum())(X))


@pytest.mark.slow
def test_samplers_that_reject_have_the_derivative_of_the_distribution():
    """It was that of the sampler's steps, by which gradients of means are biased."""
    def loss(a):
        return jax.random.gamma(jax.random.PRNGKey(1), jnp.exp(a)).sum()

    agree(reactant.grad(loss)(X), jax.grad(loss)(X))


def noisy(x, keys, *, more=None):
    """Two uses of keys; gives new ones beside the loss."""
    keys["model"], used = jax.random.split(keys["model"])
    loss = jnp.sum(jax.random.normal(used, x.shape) * x**2)
    if more is not None:
        loss += jnp.sum(jax.vmap(jax.random.uniform)(more)) * x[0]
    return loss, keys


@pytest.mark.slow
@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_keys_of_a_type_of_their_own_are_arguments_and_results(impl):
    """They were refused as those of NumPy functions are."""
    keys = {"model": jax.random.key(3, impl=impl)}
    more = jax.random.split(jax.random.key(5, impl=impl), 3)
    ours, jaxs = (m.value_and_grad(noisy, has_aux=True) for m in (reactant, jax))
    for _ in range(3):      # the last ones by the shortcut
        ((value, new), slope), ((value_, new_), slope_) = ours(X, dict(keys), more=more), jaxs(X, dict(keys), more=more)
        np.testing.assert_allclose(value, value_, rtol=1e-5)
        agree(slope, slope_)
        assert new["model"] == new_["model"] and new["model"].dtype == keys["model"].dtype
        keys = new
    agree(jax.jit(lambda x, k: reactant.grad(noisy, has_aux=True)(x, {"model": k})[0] + jnp.zeros(()))(X, more[0]),
          jax.grad(noisy, has_aux=True)(X, {"model": more[0]})[0])
    agree(reactant.hessian(lambda x, k: noisy(x, {"model": k})[0])(X, more[0]),
          jax.hessian(lambda x, k: noisy(x, {"model": k})[0])(X, more[0]))
    with pytest.raises(TypeError, match="no derivative"):
        reactant.grad(lambda k, x: noisy(x, {"model": k})[0])(more[0], X)


@pytest.mark.slow
@pytest.mark.parametrize("derived", [lambda m: m.grad(thirds), lambda m: m.value_and_grad(thirds),
                                     lambda m: m.hessian(thirds), lambda m: getattr(m, "jacrev", m.jacobian)(thirds)])
@pytest.mark.parametrize("given", [(np.float64(2.0), X), (2.0, X), (np.ones(4), np.arange(4.0))], ids=str)
def test_the_users_setting_of_64_bits_holds_in_each_call(derived, given):
    """A program of 32 bits was used with 64 bits on; with them off, some derivatives had 64."""
    ours, jaxs = derived(reactant), derived(jax)
    for x64 in (False, False, True, True, False):
        with jax.enable_x64(x64):
            found, expected = jax.tree.leaves(ours(*given)), jax.tree.leaves(jaxs(*given))
            assert [x.dtype for x in found] == [x.dtype for x in expected]
            for each, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(each, other, rtol=1e-12 if x64 and given[1].dtype == np.float64 else 1e-5)


def thirds(scale, x):
    return jnp.sum((scale * x)**2 * jnp.arange(4.0) / 3)
