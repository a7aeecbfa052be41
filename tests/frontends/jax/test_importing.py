"""JAX functions through `reactant.jit`: what jax.jit takes goes in, what jax.jit gives comes out."""
from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import importlib
import os
import subprocess
import sys
import warnings
from collections import namedtuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax
from jax.experimental import pallas, sparse
from scipy._lib.array_api_compat import array_namespace

import reactant
from reactant.calling import compiled_jax
from reactant.frontends.source import jax_recognition
from reactant.jax_functions import JaxJitted
from reactant.pipelines import UnknownPass
from reactant.runtime import direct

Pair = namedtuple("Pair", "first second")
TABLE = jnp.arange(12.0).reshape(3, 4)


@functools.partial(jax.tree_util.register_dataclass, data_fields=["weight", "bias"], meta_fields=["name"])
@dataclasses.dataclass
class Layer:
    weight: jax.Array
    bias: jax.Array
    name: str = "layer"


def assert_same(expected, got, rtol=1e-6):
    """Trees, types, dtypes, weak types and placement are equal, numbers close (integers equal)."""
    assert jax.tree_util.tree_structure(expected) == jax.tree_util.tree_structure(got)
    for a, b in zip(jax.tree_util.tree_leaves(expected), jax.tree_util.tree_leaves(got), strict=True):
        assert isinstance(b, jax.Array) and type(a) is type(b)
        assert (a.aval, a.committed, a.sharding) == (b.aval, b.committed, b.sharding)
        if jax.dtypes.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind in "biu":
            np.testing.assert_array_equal(b, a)
        elif a.dtype.kind in "fc":
            np.testing.assert_allclose(b, a, rtol=max(rtol, 16 * float(np.finfo(a.dtype).eps)), atol=1e-6)
        else:
            np.testing.assert_allclose(b.astype(np.float32), a.astype(np.float32), rtol=0.02)


def check(function, *args, told=None, reason=None, rtol=1e-6, **kwargs):
    """`function` through jax.jit and through reactant.jit, called twice (the second call is from the cache)."""
    told = told or {}
    expected = jax.jit(function, **told)(*args, **kwargs)
    ours = reactant.jit(function, frontend="jax", **told)
    for _ in range(2):
        assert_same(expected, ours(*args, **kwargs), rtol)
    assert ours.cache_size() == 1
    if reason is None:
        assert ours.reasons == []
    else:
        assert len(ours.reasons) == 1 and reason in ours.reasons[0]
    return ours


X = np.linspace(0.1, 1.3, 12, dtype=np.float32).reshape(3, 4)
S = np.array([[4, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 2]], np.float32)


def nested(x):
    return jax.jit(lambda y: jax.jit(jnp.cos)(y) + jax.jit(jnp.cos)(2 * y))(x)


def recurrence(x):
    def step(carry, row):
        return carry * 0.5 + row, carry.sum()
    return lax.scan(step, jnp.zeros(4), x)


def newton(x):
    return lax.while_loop(lambda v: jnp.abs(v[0] ** 2 - x.sum()) > 1e-3, lambda v: (0.5 * (v[0] + x.sum() / v[0]),
                                                                                  v[1] + 1), (x.sum(), 0))


def branches(x):
    return (lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x),
            lax.switch(jnp.int32(x.sum()) % 3, [jnp.sin, jnp.cos, jnp.tan], x))


def loss(w, x):
    return jnp.mean(jnp.tanh(x @ w) ** 2)


def checkpointed(x):
    return jax.grad(lambda v: jax.checkpoint(lambda u: jnp.sin(jnp.sin(u)))(v).sum())(x)


def top(x):
    return lax.top_k(x, 2), jnp.sort(x, axis=0), jnp.argsort(x), jnp.argmax(x, axis=1)


def solved(a):
    return jnp.linalg.solve(a, jnp.ones(3)), jnp.linalg.inv(a), jnp.linalg.cholesky(a), jnp.linalg.eigvalsh(a), \
        jnp.linalg.det(a), jnp.linalg.svd(a, compute_uv=False)


def special(x):
    return lax.erf(x), lax.lgamma(x), jax.nn.softmax(x), jax.nn.gelu(x), jax.scipy.special.logsumexp(x, axis=0)


def samples(key):
    key, other = jax.random.split(key)
    return key, jax.random.normal(other, (3,)), jax.random.randint(other, (4,), 0, 10), jax.random.permutation(key, 5)


def convolved(x):
    return lax.conv_general_dilated(x[None, None], jnp.ones((1, 1, 2, 2), x.dtype), (1, 1), "SAME"), \
        lax.reduce_window(x, np.float32(0), lax.add, (2, 2), (1, 1), "VALID")


def updated(x):
    return x.at[1].set(0.0).at[:, 2].add(1.0), x.at[jnp.array([0, 2]), jnp.array([1, 1])].multiply(3.0), jnp.roll(x, 1)


def doubled_by_blocks(x):
    def kernel(read, written):
        written[...] = read[...] * 2 + pallas.program_id(0)
    return pallas.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(3,), interpret=True,
                              in_specs=[pallas.BlockSpec((1, 4), lambda i: (i, 0))],
                              out_specs=pallas.BlockSpec((1, 4), lambda i: (i, 0)))(x)


PROGRAMS = {
    "array": (lambda x: jnp.sin(x) + 1, X),
    "python number": (lambda x, k: (x * k, k, 2.0 * k), X, 3.0),
    "python int": (lambda x, k: (x * k, k + 1), X, 3),
    "bool": (lambda x, on: jnp.where(on, x, -x), X, True),
    "numpy scalar": (lambda a, b: a * b, np.float32(2), np.int32(3)),
    "big float array": (lambda x: x / 3, np.arange(5.0)),
    "nothing in": (lambda: jnp.arange(4),),
    "nothing out": (lambda x: None, X),
    "argument out": (lambda x, y: (y, x), jnp.ones(3), 2.0),
    "unused argument": (lambda x, y: x + 1, X, S),
    "constants": (lambda: (1.0, 2, True, np.float32(3), jnp.zeros(2)),),
    "captured": (lambda x: x @ TABLE.T, X),
    "empty": (lambda x: (jnp.sin(x), x.sum(), x.sum(axis=1)), np.zeros((0, 3), np.float32)),
    "pytree": (lambda t: {"s": t["a"][0] + t["b"].second, "n": None, "p": Pair(t["b"].first, t["a"])},
               {"a": [X, 2.0], "b": Pair(1, jnp.ones(4))}),
    "dataclass": (lambda layer, x: (layer, jnp.tanh(x @ layer.weight + layer.bias)), Layer(S, np.ones(3)), X.T),
    "complex": (lambda x: (jnp.fft.fft(x * (1 + 2j)), jnp.abs(x * 1j), jnp.conj(x + 1j)), X),
    "bfloat16": (lambda x: (x * 2 + 1).sum(axis=0), X.astype(jnp.bfloat16)),
    "float16": (lambda x: x / 3, X.astype(np.float16)),
    "float8": (lambda x: x.astype(jnp.float32) * 2, jnp.asarray(X, jnp.float8_e4m3fn)),
    "integers": (lambda x: (x // 3, x % 3, x << 2, -x, x.astype(jnp.uint8)), np.arange(-4, 4, dtype=np.int32)),
    "unsigned": (lambda x: (x + jnp.uint32(1), x >> 1), np.arange(5, dtype=np.uint32)),
    "nested": (nested, X),
    "scan": (recurrence, X),
    "while": (newton, X),
    "fori": (lambda x: lax.fori_loop(0, 5, lambda i, v: v * 0.5 + i, x), X),
    "cond": (branches, X),
    "associative scan": (lambda x: (lax.associative_scan(jnp.add, x), jnp.cumsum(x, 1), lax.map(jnp.sum, x)), X),
    "vmap": (jax.vmap(lambda a, b: jnp.dot(a, b)), X, X),
    "grad": (jax.grad(loss), S, X.T),
    "value_and_grad": (jax.value_and_grad(loss), S, X.T),
    "jacobians": (lambda x: (jax.jacfwd(jnp.sin)(x), jax.hessian(lambda v: (v ** 3).sum())(x)), X[0]),
    "checkpoint": (checkpointed, X),
    "linalg": (solved, S),
    "special": (special, X),
    "sorting": (top, X),
    "einsum": (lambda a, b: jnp.einsum("ij,kj->ik", a, b), X, X),
    "updates": (updated, X),
    "windows": (convolved, X),
    "interpolation": (lambda x: (jnp.interp(x, jnp.arange(3.0), jnp.arange(3.0) ** 2), jnp.histogram(x, 4)[0]), X),
    "key": (samples, jax.random.key(3)),
    "raw key": (samples, jax.random.PRNGKey(3)),
    "other generator": (lambda key: jax.random.split(key), jax.random.key(3, impl="rbg")),
    "partial": (functools.partial(lambda k, x: jnp.sin(x) * k, 2.0), X),
    "custom derivative": (jax.grad(lambda x: jax.nn.relu(x).sum()), X),
    "strided input": (lambda x: x * 2, X[:, ::2]),
    "sparse": (lambda m, x: (m @ x.T, m.T @ m.todense(), m.sum()),
               sparse.BCOO.fromdense(jnp.eye(X.shape[1]) * 3), X),
    "pallas": (doubled_by_blocks, TABLE),
    "keys of keys": (lambda keys: (keys[1:], keys.reshape(2, 2), jax.vmap(jax.random.bits)(keys)),
                     jax.random.split(jax.random.key(0), 4)),
    "eight bits": (lambda x: (x.astype(jnp.float8_e4m3fn), (x.astype(jnp.float8_e5m2).astype(jnp.bfloat16) * 2),
                              x.astype(jnp.int4)), TABLE),
    "ragged": (lambda x: (lax.ragged_dot(x, jnp.ones((2, 4, 5)), jnp.array([1, 2], jnp.int32)),
                          jnp.repeat(x, jnp.array([1, 0, 2]), axis=0, total_repeat_length=4)), TABLE),
    "no elements": (lambda x: (x @ jnp.ones((3, 2)), x.sum(0), x.mean(),
                               lax.scan(lambda s, v: (s + v.sum(), s), 0.0, x)), jnp.ones((0, 3))),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, x64):
    function, *args = PROGRAMS[name]
    check(function, *args)


@pytest.mark.parametrize("told, args, kwargs", [
    ({"static_argnums": 1}, (X, 2), {}), ({"static_argnums": -1}, (X, 2), {}),
    ({"static_argnums": (1,)}, (X,), {"n": 2}), ({"static_argnames": "n"}, (X, 2), {}),
    ({"static_argnames": ("n",)}, (), {"n": 2, "x": X}), ({"static_argnames": "n"}, (X,), {})])
def test_static_arguments(told, args, kwargs):
    def tiled(x, n=3):
        assert isinstance(n, int)
        return jnp.concatenate([x] * n)
    check(tiled, *args, told=told, **kwargs)


def test_static_values_are_part_of_the_signature():
    f = reactant.jit(lambda x, n: x * n, static_argnums=1, frontend="jax")
    assert [f(jnp.int32(3), n).dtype for n in (2, 2.0, True)] == [jnp.int32, jnp.float32, jnp.int32]
    assert f.cache_size() == 3


def test_what_was_lowered_takes_its_static_values_only():
    """It ran with those that it was compiled for, whatever was given."""
    made = reactant.jit(lambda x, n: jnp.sin(x) * n, static_argnames="n").lower(X, n=3).compile()
    np.testing.assert_array_equal(made(X, n=3), made(X))
    with pytest.raises(TypeError, match=r"compiled for the static values n=3; 4 was given"):
        made(X, n=4)


def test_static_arguments_that_are_not_hashable_raise_as_in_jax():
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        reactant.jit(lambda x, n: x, static_argnums=1, frontend="jax")(X, [1])


@pytest.mark.parametrize("told", [{"donate_argnums": 0}, {"donate_argnums": (-2,)}, {"donate_argnames": "x"}])
def test_donated_arguments(told):
    f = reactant.jit(lambda x, y: (x + y, y * 2), frontend="jax", **told)
    x, y = jnp.ones((3, 4)) * 2, jnp.ones((3, 4))
    total, double = f(x, y)
    np.testing.assert_array_equal(total, np.full((3, 4), 3.0))
    np.testing.assert_array_equal(double, np.full((3, 4), 2.0))
    assert x.is_deleted() and not y.is_deleted()


def test_donated_by_keyword_and_in_pytrees():
    f = reactant.jit(jax.jit(lambda k, *, state: {"a": state["a"] + k, "b": state["b"] * k}, donate_argnames="state"))
    state = {"a": jnp.ones(3), "b": jnp.ones((2, 2))}
    k = jnp.float32(2)
    f(k, state=state)
    assert state["a"].is_deleted() and state["b"].is_deleted() and not k.is_deleted()


def test_donate_option_overwrites_what_results_can_use():
    x, y = jnp.ones(3), jnp.ones(4)
    f = reactant.jit(lambda x, y: x * y.sum(), frontend="jax", donate=True)
    np.testing.assert_array_equal(f(x, y), np.full(3, 4.0))
    assert x.is_deleted() and not y.is_deleted()


@pytest.mark.slow
def test_signatures_are_jax_jits():
    """One program for each of what jax compiles for: shapes, dtypes, weak types, trees, 64 bits, matmul precision."""
    f = reactant.jit(jax.jit(lambda x: x * 2))
    for x in (1.0, 2.0, jnp.float32(1), np.float32(1), jnp.ones(2), jnp.ones(3), jnp.arange(3), [1.0], (1.0,)):
        if not isinstance(x, (list, tuple)):
            f(x)
    assert f.cache_size() == 6
    with jax.enable_x64(True):
        assert f(1.0).dtype == np.float64
    assert f(1.0).dtype == np.float32 and f.cache_size() == 7
    with jax.default_matmul_precision("highest"):
        f(1.0)
    assert f.cache_size() == 8
    f.clear_cache()
    assert f.cache_size() == 0


def test_committed_arguments():
    device = jax.devices()[0]
    check(lambda x, y: (x + y, 2.0 * y), jax.device_put(X, device), jnp.ones(4))
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    placed = jax.device_put(X, jax.NamedSharding(mesh, jax.P("i")))
    check(lambda x: x + 1, placed, reason="sharding")


SEVERAL_DEVICES = """
import jax, jax.numpy as jnp, numpy as np, reactant
first, second = jax.devices()
f = reactant.jit(lambda x: jnp.sin(x) * 2)
x = jax.device_put(np.arange(4, dtype=np.float32), second)
y = f(x)
assert y.devices() == {second} and y.committed and f.reasons == []
np.testing.assert_allclose(y, 2 * np.sin(np.arange(4)), rtol=1e-6)
with jax.default_device(second):
    assert f(np.ones(3)).devices() == {second}
assert f(np.ones(3)).devices() == {first}
mesh = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
rows = jax.NamedSharding(mesh, jax.P("i"))
z = f(jax.device_put(x, rows))
assert z.sharding == rows and f.reasons == []
np.testing.assert_allclose(z, y, rtol=1e-6)
g = reactant.jit(jax.shard_map(lambda v: jax.lax.psum(v, "i"), mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P()))
np.testing.assert_array_equal(g(np.arange(4.0)), [2, 4])
assert "several devices" in g.reasons[0], g.reasons
alone = jax.NamedSharding(jax.make_mesh((1,), ("i",), devices=[second], axis_types=mesh.axis_types), jax.P("i"))
for there in (lambda v: jax.device_put(v + 1, alone), lambda v: jax.lax.with_sharding_constraint(v + 1, alone) * 2,
              lambda v: jax.device_put(v + 1, jax.sharding.SingleDeviceSharding(second))):
    theirs, placed = jax.jit(there)(np.arange(4.0)), reactant.jit(there)
    assert placed(np.arange(4.0)).sharding == theirs.sharding and placed.reasons == []
    for got in (placed(np.arange(4.0)), placed.lower(np.arange(4.0)).compile()(np.arange(4.0))):
        assert (got.devices(), got.committed) == (theirs.devices(), theirs.committed) == ({second}, True)
        np.testing.assert_array_equal(got, theirs)
h = reactant.jit(jax.jit(lambda v: v + 1, out_shardings=rows))
assert h(np.zeros(4)).sharding == rows and "out_shardings" in h.reasons[0]

of_numpy = reactant.jit(lambda v: np.cumsum(np.sin(v)) * v.sum())     # runs where its arguments are
plain = np.arange(4, dtype=np.float32)
for v in (x, jax.device_put(plain, first), jax.device_put(plain, rows), x, plain):
    got = of_numpy(v)
    np.testing.assert_allclose(got, np.cumsum(np.sin(plain)) * 6, rtol=1e-5)
    assert isinstance(got, np.ndarray) if v is plain else got.devices() == v.devices()
"""


@pytest.mark.slow
def test_several_devices():
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", SEVERAL_DEVICES], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_memory_of_numpy_is_not_overwritten_by_donation():
    x = np.ones(100_000, np.float32)
    np.testing.assert_array_equal(reactant.jit(lambda v: jnp.square(v + 1), donate_argnums=0)(x), np.full(100_000, 4))
    np.testing.assert_array_equal(x, np.ones(100_000))


def test_methods_and_descriptors():
    class Scaler:
        factor = 3.0

        @functools.partial(reactant.jit, static_argnums=0)
        def scale(self, x):
            return jnp.sin(x) * self.factor
    np.testing.assert_allclose(Scaler().scale(X), 3 * np.sin(X), rtol=1e-6)


def test_calls_from_threads():
    f = reactant.jit(lambda x: jnp.sin(x) * 2)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda n: f(jnp.full(n % 3 + 1, float(n))), range(24)))
    for n, result in enumerate(results):
        np.testing.assert_allclose(result, np.full(n % 3 + 1, 2 * np.sin(n)), rtol=1e-5, atol=1e-6)
    assert f.cache_size() == 3


def call_back(x):
    return jax.pure_callback(lambda a: np.sin(a), jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def printing(x):
    jax.debug.callback(lambda a: None, x)
    return x * 2


@jax.jit
def with_unneeded_work(x):
    jnp.linalg.inv(x[:3, :3].astype(jnp.float16))       # which JAX cannot lower, and need not
    return x + 1


@pytest.mark.parametrize("function, reason", [
    (jax.jit(printing), "effects"),
    pytest.param(with_unneeded_work, "cannot lower", marks=pytest.mark.skipif(
        jax.__version_info__ >= (0, 11), reason="jax refuses it while it traces")),
    (jax.jit(jnp.sin, compiler_options={"xla_cpu_enable_fast_math": False}), "compiler_options")])
def test_left_to_jax_with_the_reason(function, reason):
    ours = reactant.jit(function)
    assert_same(function(X), ours(X))
    assert len(ours.reasons) == 1 and reason in ours.reasons[0]
    lowered = ours.lower(X)
    assert reason in lowered.reason and lowered.operations()
    assert_same(function(X), lowered.compile()(X))
    assert reason in str(reactant.explain(ours, X)) and "left to jax.jit" in str(reactant.explain(ours, X))
    assert "HloModule" in reactant.code_xla(ours, X)


def test_failures_of_ours_are_left_to_jax(monkeypatch):
    def failing(*_, **__):
        raise reactant.ReactantError("a rule is wrong", code="defective-rule")
    with monkeypatch.context() as patch:
        patch.setattr(compiled_jax.pipelines, "run", failing)
        ours = reactant.jit(helper)
        with pytest.warns(reactant.LeftToJaxWarning, match="helper is left to jax.jit, .*: a pass failed: a rule is "
                          "wrong") as said:
            assert_same(jax.jit(helper)(X), ours(X))
        assert [warning.filename for warning in said] == [__file__]
        assert ours.reasons == ["a pass failed: a rule is wrong"]
        ours(np.ones((2, 2), np.float32))           # the same reason again is not said (warnings are errors)
        assert ours.lower(X).reason == "a pass failed: a rule is wrong"
        with pytest.warns(reactant.LeftToJaxWarning, match="a rule is wrong"):
            reactant.vmap(helper)(X)

    def refusing(*_, **__):
        raise jax.errors.JaxRuntimeError("no such thing")
    with monkeypatch.context() as patch:
        patch.setattr(direct.Direct, "compile", refusing)
        ours = reactant.jit(helper)
        with pytest.warns(reactant.LeftToJaxWarning, match="XLA refuses the simplified program: no such thing"):
            assert_same(jax.jit(helper)(X), ours(X))
        assert ours.reasons == ["XLA refuses the simplified program: no such thing"]


@pytest.mark.parametrize("options, message", [
    ({"without": ("power_tow",)}, "without='power_tow': no family or rule is called so"),
    ({"optimize": "simplfy"}, "No pipeline, family, rule or pass is called 'simplfy'"),
    ({"optimize": ("shape", "arithmetics")}, "No pipeline, family, rule or pass is called 'arithmetics'")])
@pytest.mark.parametrize("call", [
    lambda options: reactant.jit(helper, **options)(X),
    lambda options: reactant.jit(helper, **options).lower(X),
    lambda options: reactant.vmap(helper, **options)(X),
    lambda options: reactant.explain(reactant.jit(helper, **options), X),
    lambda options: reactant.jit(jax.jit(helper, compiler_options={"xla_cpu_enable_fast_math": False}), **options)(X),
    lambda options: reactant.jit(lambda x: np.sin(x), **options)(X)],               # a NumPy function
    ids=["call", "lower", "vmap", "explain", "left to jax.jit", "numpy"])
def test_names_that_nobody_has_raise(call, options, message):
    with pytest.raises(UnknownPass, match=message):
        call(options)


def test_compile_options_of_the_user_are_not_dropped():
    with pytest.raises(jax.errors.JaxRuntimeError, match="xla_no_such_option"):
        reactant.jit(helper, xla={"xla_no_such_option": 1})(X)
    ours = reactant.jit(helper, xla={"xla_cpu_enable_fast_math": False})
    assert_same(jax.jit(helper)(X), ours(X))
    assert ours.reasons == []


def test_float0_is_left_to_jax():
    def cotangent_of_integer(x):
        return jax.grad(lambda n, v: (n * v).sum(), allow_int=True)(3, x)
    ours = reactant.jit(cotangent_of_integer)
    assert ours(X).dtype == jax.jit(cotangent_of_integer)(X).dtype == jax.dtypes.float0
    assert "float0" in ours.reasons[0]


def test_shard_map_on_one_device():
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    doubled = jax.shard_map(lambda x: lax.psum(x, "i") * 2, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P())
    check(doubled, X)
    check(lambda x: lax.with_sharding_constraint(x + 1, jax.NamedSharding(mesh, jax.P("i"))) * 2, X)
    with jax.set_mesh(mesh):
        def within(x):
            return lax.with_sharding_constraint(x + 1, jax.P("i")) * 2
        theirs, ours = jax.jit(within)(X), reactant.jit(within)(X)
    assert (ours.sharding, ours.committed) == (theirs.sharding, theirs.committed)
    check(lambda x: jax.device_put(x + 1, jax.devices()[0]) * 2, X)


@pytest.mark.slow
def test_exported_programs_of_symbolic_sizes_are_called_with_known_ones():
    rows = jax.ShapeDtypeStruct(export.symbolic_shape("n, 4", constraints=["n >= 2"]), jnp.float32)
    program = export.export(jax.jit(lambda x: jnp.cumsum(x, 0) @ x.T / x.shape[0]))(rows)

    def called(x):
        return program.call(x) + 1

    check(called, X)
    check(called, X[:2])
    with pytest.raises(ValueError, match="n >= 2"):
        reactant.jit(called)(X[:1])


def test_memory_asked_for_is_left_to_jax():
    check(lambda x: jax.device_put(x + 1, jax.memory.Space.Host), X, reason="in which memory")
    check(lambda x: jax.device_put(x + 1, jax.memory.Space.Device) * 2, X)


def test_errors_of_the_function_are_jaxs():
    f = reactant.jit(lambda x: jnp.sin(x) if x.sum() > 0 else x)
    with pytest.raises(jax.errors.TracerBoolConversionError):
        f(X)
    with pytest.raises(TypeError, match="as an abstract array"):
        reactant.jit(lambda x: jnp.sin(x))("text")


def test_debugging_settings_are_jaxs():
    f = reactant.jit(lambda x: jnp.log(x))
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        f(jnp.float32(-1))
    with jax.disable_jit():
        assert f(jnp.float32(1)) == 0
    assert f.cache_size() == 0


def test_inside_jax_transformations():
    f = reactant.jit(lambda x: jnp.sin(x) * 2)
    np.testing.assert_allclose(jax.grad(lambda x: f(x).sum())(X), 2 * np.cos(X), rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(f)(X), 2 * np.sin(X), rtol=1e-5)
    np.testing.assert_allclose(jax.jit(lambda x: f(x) + 1)(X), 2 * np.sin(X) + 1, rtol=1e-5)


def test_device_arrays_go_in():
    f = reactant.jit(lambda x, k: jnp.sin(x) * k)
    result = f(reactant.array(X), k=reactant.array(np.float32(2)))
    assert isinstance(result, jax.Array)
    np.testing.assert_allclose(result, 2 * np.sin(X), rtol=1e-6)


# ---- the tools --------------------------------------------------------------------------------------------------

def wasteful(x):
    return jnp.transpose(jnp.transpose(x)) * 1.0 + 0.0 * 2


def test_program_is_simplified_and_shown():
    lowered = reactant.jit(wasteful).lower(X)
    assert lowered.operations(optimized=False)["stablehlo.transpose"] == 2
    assert "stablehlo.transpose" not in lowered.operations()
    assert lowered.cost()["bytes"] < lowered.cost(optimized=False)["bytes"]
    assert "stablehlo.transpose" in lowered.as_text(optimized=False)
    assert "stablehlo.transpose" in reactant.code_hlo(wasteful, X, optimize=False)
    assert "HloModule" in reactant.code_xla(wasteful, X)
    compiled = lowered.compile()
    spent = compiled.times.xla
    assert_same(jax.jit(wasteful)(X), compiled(X))
    assert compiled.times.xla == spent > 0
    assert reactant.jit(helper).lower(X).compile().cost_analysis()["transcendentals"] == 12
    assert compiled.memory_analysis().output_size_in_bytes >= 48
    with pytest.raises(TypeError, match="was compiled for arguments like"):
        compiled(X, X)
    assert reactant.jit(wasteful, optimize=False).lower(X).operations()["stablehlo.transpose"] == 2


def test_lower_takes_shapes():
    lowered = reactant.jit(wasteful).lower(jax.ShapeDtypeStruct((2, 3), jnp.float32))
    np.testing.assert_array_equal(lowered.compile()(jnp.ones((2, 3))), np.ones((2, 3)))


def test_explain_names_the_users_lines():
    account = reactant.explain(wasteful, X)
    assert any("jnp.transpose(jnp.transpose(x))" in line.source and "transpose_of_transpose" in line.rules
               for line in account.lines), str(account)
    assert account.reason == "" and account.operations[1] < account.operations[0]


def test_verify_compares_with_jax_jit():
    assert reactant.verify(lambda x: (jnp.tanh(x), jax.random.key(1), 2.0), X, rtol=1e-6)
    assert reactant.verify(jax.jit(lambda x: x * 2, donate_argnums=0), jnp.ones(3))


# ---- recognition ------------------------------------------------------------------------------------------------

def helper(x):
    return jnp.sin(x)


def calls_helper(x):
    return helper(x) * 2


def numpy_with_helper(x):
    return np.cos(helper(x))


def imports_inside(x):
    from jax import numpy
    return numpy.sin(x)


def looks_only(x):
    return np.sin(x) if isinstance(x, jax.Array) else np.cos(x)


def module_of(x):
    return jnp if isinstance(x, jnp.ndarray) else np


def convolution_of(x):
    if isinstance(x, jnp.ndarray):
        return jnp.convolve
    return np.convolve


def of_either(x):
    return module_of(x).sin(x) * 1e-9 + 1


def put_into_either(x):
    if module_of(x) == jnp:
        return x.at[0].set(5)
    x[0] = 5
    return x


def for_any_library(x):
    return array_namespace(x).square(x)


def for_any_library_inside(x):
    return for_any_library(x) + 1


def gives_the_module():
    return jnp


def namespace_of(x):
    if "torch" in sys.modules:
        import torch
        return torch
    import jax.numpy as found
    return found


def inner_code(x):
    return [lax.sin(v) for v in (x,)][0]


class Model:
    def __call__(self, x):
        return jnp.sin(x)

    def method(self, x):
        return jnp.cos(x)


def closing_over(xp):
    def inside(x):
        return xp.sin(x)
    return inside


LIBRARIES = {
    "over_jax": ("import jax\nimport numpy as np\ndef twice(x):\n    return jax.tree.map(lambda a: a + a, x)\n"
                 "def checked(x):\n    assert np.ndim(0) == 0\n    return twice(x)\n"
                 "class Module:\n    def apply(self, x):\n        return checked(x)\n"),
    "over_numpy": "import numpy as np\ndef twice(x):\n    return x + x\n",
}


def using(library):
    return lambda x: library.twice(x)


def calling(model):
    return lambda x: model.apply(x)


def test_what_uses_a_library_over_jax_is_a_jax_function(tmp_path, monkeypatch):
    """Told from the modules of the library, if it is installed; a program of the user's may hold anything."""
    for place, installed in (("site-packages", True), ("mine", False)):
        monkeypatch.syspath_prepend(tmp_path / place)
        (tmp_path / place).mkdir()
        for name, text in LIBRARIES.items():
            (tmp_path / place / f"{name}_{place[:4]}.py").write_text(text)
        over_jax, over_numpy = (importlib.import_module(f"{name}_{place[:4]}") for name in LIBRARIES)
        model = over_jax.Module()
        for function in (using(over_jax), calling(model), model.apply, over_jax.twice, over_jax.checked):
            assert jax_recognition.is_jax_function(function) is installed
        assert not jax_recognition.is_jax_function(using(over_numpy))


@pytest.mark.slow
def test_objects_of_jax_are_given_to_jax_functions():
    matrix = sparse.BCOO.fromdense(jnp.eye(3) * 2)
    times = reactant.jit(lambda m, v: m @ v)
    assert_same(times(matrix, jnp.ones(3)), 2 * jnp.ones(3))
    assert_same(times(matrix, v=jnp.ones(3)), 2 * jnp.ones(3))
    assert isinstance(reactant.jit(lambda m, v: m @ v)(np.eye(3), np.ones(3)), np.ndarray)


def third(x):
    return helper(x) + 1


def second(x):
    return third(x) * 3


def test_functions_are_followed_to_the_one_that_says():
    class Holder:
        method = staticmethod(second)

        def __call__(self, x):
            return second(x)

    holder = Holder()
    assert jax_recognition.is_jax_function(lambda x: second(x))
    assert jax_recognition.is_jax_function(lambda x: holder(x))
    assert jax_recognition.is_jax_function(lambda x: sys.modules and second(x))


class Layered:
    """Only what its own methods and parts call says that it computes with JAX."""

    def __init__(self, function, inner=None):
        self.function, self.inner = function, inner

    def __call__(self, x):
        return self.function(x) * 2

    def twice(self, x):
        return self(self(x))

    def within(self, x):
        return self.inner.twice(x) + 1

    def functions(self, x):
        return self.inner(x)


def applied(model, x):
    return model(x) + 1


@pytest.mark.parametrize("sine, expected", [(jnp.sin, True), (helper, True), (np.sin, False), (np.flip, False)])
def test_methods_and_parts_of_an_object_are_followed(sine, expected):
    layer = Layered(sine)
    for function in (layer, layer.twice, Layered(None, layer).within, Layered(None, sine).functions,
                     functools.partial(applied, layer), functools.partial(applied, model=layer)):
        assert jax_recognition.is_jax_function(function) is expected
    if expected:
        assert_same(reactant.jit(layer.twice)(X), 2 * sine(2 * sine(X)))


def test_cached_functions_are_what_they_cache():
    @functools.cache
    def weights(n):
        return jnp.ones(n)

    @functools.lru_cache(maxsize=4)
    def table(n):
        return np.arange(n)

    assert jax_recognition.is_jax_function(weights)
    assert isinstance(reactant.jit(lambda x: x @ weights(4))(X), jax.Array)
    assert isinstance(reactant.jit(lambda x: x * table(4))(X), np.ndarray)


def test_our_transforms_of_a_jax_function_inside_jit():
    def f(x):
        return jnp.sum(jnp.sin(x) ** 2)
    x = np.arange(3, dtype=np.float32)
    value, slope = reactant.jit(lambda x: reactant.value_and_grad(f)(x))(x)
    np.testing.assert_allclose(slope, np.sin(2 * x), rtol=1e-5)
    np.testing.assert_allclose(value, np.sum(np.sin(x) ** 2), rtol=1e-6)
    np.testing.assert_allclose(reactant.jit(lambda x: reactant.vmap(f)(x))(np.stack([x, x])), [value, value], rtol=1e-6)


warn = functools.partial(warnings.warn, stacklevel=2)      # what is written in C is not JAX's for that


def warns(x):
    if len(x) > 100:
        warn("long")
    return x + x


@pytest.mark.parametrize("function, expected", [
    (jax.jit(np.negative), True), (helper, True), (calls_helper, True), (numpy_with_helper, False),
    (imports_inside, True), (namespace_of, False), (looks_only, False), (module_of, False), (of_either, False),
    (for_any_library, False), (for_any_library_inside, False),
    (convolution_of, True), (put_into_either, False), (gives_the_module, True), (inner_code, True), (Model(), True),
    (Model().method, True),
    (functools.partial(helper), True), (closing_over(jnp), True), (closing_over(np), False), (jax.vmap(np.sin), True),
    (jnp.sin, True), (printing, True), (jax.nn.relu, True), (np.sin, False), (lambda x: x + 1, False), (abs, False),
    (lambda x: jax.lax.sin(x), True), (lambda x: jax.devices() and x, False), (warns, False),
    (lambda x: jax.freeze(jax.new_ref(x)), True),
    (functools.partial(jnp.sin), True)])
def test_recognition(function, expected):
    assert jax_recognition.is_jax_function(function) is expected
    assert isinstance(reactant.jit(function), JaxJitted) is expected


def test_code_for_numpy_and_jax_keeps_what_numpy_arrays_are():
    x = np.linspace(0, 1, 5)
    for function in (of_either, put_into_either, for_any_library_inside):
        got, wanted = reactant.jit(function)(x.copy()), function(x.copy())
        assert type(got) is np.ndarray and got.dtype == wanted.dtype == np.float64
        np.testing.assert_array_equal(got, wanted)


def updated(x):
    return x.at[1:].set(x[:-1])


def added_at(x):
    np.add.at(x, 0, 1)
    return x


def of_a_back_end(x, backend="numpy"):
    if backend == "jax":
        import jax.numpy as jnp
        return jnp.sin(x)
    return np.sin(x)


def with_constants(x):
    import jax.numpy as jnp
    return jnp.sin(x) * np.pi


@pytest.mark.parametrize("function, expected", [(updated, True), (added_at, False), (of_a_back_end, False),
                                                (with_constants, True)])
def test_updates_and_imports_under_conditions(function, expected):
    assert jax_recognition.is_jax_function(function) is expected


def test_device_arrays_do_not_decide():
    assert not isinstance(reactant.jit(lambda x: x + 1)(jnp.ones(3)), np.ndarray)
    assert isinstance(reactant.jit(lambda x: x + 1)(np.ones(3)), np.ndarray)


def test_functions_defined_later_decide_at_the_first_call():
    namespace = {"reactant": reactant, "jnp": jnp}
    source = "def f(x):\n    return later(x) * 2\nF = reactant.jit(f)\ndef later(x):\n    return jnp.sin(x)\n"
    exec(source, namespace)
    for _ in range(2):
        assert isinstance(namespace["F"](X), jax.Array)
    assert "stablehlo.sine" in namespace["F"].lower(X).as_text()


def test_frontend_overrides():
    def either(x):
        return x * 2
    assert isinstance(reactant.jit(either)(X), np.ndarray)
    assert isinstance(reactant.jit(either, frontend="jax")(X), jax.Array)
    assert isinstance(reactant.jit(frontend="jax")(either)(X), jax.Array)
    assert isinstance(reactant.jit(jax.jit(either), frontend="numpy")(X), np.ndarray)
    assert isinstance(reactant.jit(helper, frontend="numpy")(X), np.ndarray)


@pytest.mark.parametrize("options, error, text", [
    ({"frontend": "torch"}, ValueError, "frontend is 'numpy', 'jax' or None, not 'torch'"),
    ({"frontend": "jax", "traced_argnames": "x"}, TypeError, "traced_argnames is for NumPy functions"),
    ({"frontend": "numpy", "donate_argnums": 0}, TypeError, "donate_argnums is for JAX functions"),
    ({"frontend": "numpy", "static_argnums": 0}, TypeError, "static_argnums is for JAX functions")])
def test_wrong_options_raise(options, error, text):
    with pytest.raises(error, match=text):
        reactant.jit(lambda x: x, **options)


def test_settings_belong_to_one_jit():
    with pytest.raises(TypeError, match="is under jax.jit already: give static_argnames to jax.jit"):
        reactant.jit(jax.jit(lambda x, n: x), static_argnames="n")


def test_jit_of_jit_keeps_settings():
    once = reactant.jit(lambda x, n: jnp.concatenate([x] * n), static_argnums=1)
    assert reactant.jit(once, optimize=False)(X, 2).shape == (6, 4)


# ---- JAX functions in NumPy code --------------------------------------------------------------------------------

@jax.jit
def scaled(x, factor=2.0):
    return {"scaled": x * factor, "sum": (x.sum(),)}


@functools.partial(jax.jit, static_argnums=1)
def repeated(x, n):
    return jnp.concatenate([x] * n)


def uses_jitted(x):
    y = np.sin(x)
    found = scaled(y, factor=3.0)
    return np.cos(found["scaled"]) + found["sum"][0]


def uses_static(x):
    return np.sum(repeated(x, 3))


def uses_functions(x):
    return np.cos(helper(x)) + np.asarray(jnp.exp(x)) + np.add(jax.nn.relu(x), jax.vmap(jnp.sum)(x)[:, None])


def uses_in_loop(x):
    total = np.zeros_like(x)
    for _ in range(300):
        total = total + helper(total + x)
    return total


compiled_helper = reactant.jit(helper)


def uses_compiled(x):
    return np.cos(compiled_helper(x))


@pytest.mark.parametrize("function", [uses_jitted, uses_static, uses_functions, uses_in_loop, uses_compiled])
def test_jax_functions_in_numpy_code(function, x64):
    x = X.astype(np.float64 if x64 else np.float32)
    got = reactant.jit(function, frontend="numpy")(x)
    expected = np.asarray(function(x))
    assert got.dtype == expected.dtype and isinstance(got, (np.ndarray, np.generic))
    np.testing.assert_allclose(got, expected, rtol=1e-12 if x64 else 2e-5)


def test_dtypes_are_those_of_the_users_setting():
    """With 64 bits off a JAX function computes in float32, also when NumPy code around it has float64."""
    def outer(x):
        return scaled(np.sqrt(x))["scaled"]
    got = reactant.jit(outer, frontend="numpy")(np.arange(3.0))
    assert got.dtype == np.asarray(outer(np.arange(3.0))).dtype == np.float32


def test_what_is_no_array_among_the_results_of_a_jax_function_stays_what_it_is():
    def described(x):
        return {"mean": jnp.mean(x), "name": "x", "count": x.shape[0], "shape": (np.arange(2), None, jnp.sin)}

    def outer(x):
        found = described(x)
        places, nothing, function = found["shape"]
        assert nothing is None and function is jnp.sin
        return found["mean"] * np.ones(found["count"]), found["count"], found["name"], places + 1
    mean, *others = reactant.jit(outer, frontend="numpy")(np.arange(4.0))
    np.testing.assert_array_equal(mean, np.full(4, 1.5))
    assert others[:2] == [4, "x"] and others[2].dtype == int and list(others[2]) == [1, 2]


def test_callbacks_in_numpy_code_raise():
    jitted = jax.jit(call_back)

    def outer(x):
        return np.sin(jitted(x))
    with pytest.raises(reactant.UnsupportedError, match="'call_back' cannot be part of a compiled NumPy function"):
        reactant.jit(outer, frontend="numpy")(X)
    returning_key = jax.jit(lambda x: jax.random.key(x.sum().astype(int)))
    with pytest.raises(reactant.UnsupportedError, match="returns a jax.random.key"):
        reactant.jit(lambda x: returning_key(np.sin(x)), frontend="numpy")(X)


def walk(x, most):
    """Random steps until they are far enough, by keys of the old kind."""
    key, total, least = jax.random.PRNGKey(0), x * 0, jnp.ones(3)
    while total.sum() < most:
        key, other = jax.random.split(key)
        step = jnp.abs(jax.random.normal(other, x.shape))
        total, least = total + np.asarray(step, x.dtype), jnp.minimum(least, step)
    return total, key, least


@pytest.mark.slow
def test_arrays_that_jax_makes_of_what_is_known_go_through_loops_and_branches():
    x = np.ones(3, np.float32)
    for expected, got in zip(walk(x, 7.0), reactant.jit(walk, frontend="numpy")(x, 7.0), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6)

    def either(x):
        y = jnp.ones(3) if x.sum() > 0 else jax.nn.relu(x)
        return np.asarray(y) + x
    for sign in (1, -1):
        np.testing.assert_array_equal(reactant.jit(either, frontend="numpy")(sign * x), either(sign * x))


def test_keys_of_a_type_of_their_own_in_numpy_code_raise():
    def keyed(x, key):
        return x + np.asarray(jax.random.normal(key, x.shape))
    with pytest.raises(reactant.UnsupportedError, match="(?s)an array of dtype key<fry>.*Pass jax.random.key_"):
        reactant.jit(keyed, frontend="numpy")(X, jax.random.key(0))

    def carried(x):
        key = jax.random.key(0)
        while x.sum() < 5:
            key, other = jax.random.split(key)
            x = x + np.abs(np.asarray(jax.random.normal(other, (3,))))
        return x
    with pytest.raises(reactant.ReactantError, match="a jax.random.key .carry jax.random.key_data"):
        reactant.jit(carried, frontend="numpy")(np.ones(3, np.float32))


def test_no_warning_is_given():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reactant.jit(lambda x: jnp.sin(x), donate=True)(jnp.ones(3))


def test_what_else_jax_jit_takes():
    x = jnp.arange(4.0)
    here = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    placed = reactant.jit(lambda x: jnp.sin(x), in_shardings=here, out_shardings=here)
    np.testing.assert_array_equal(placed(x), jax.jit(jnp.sin)(x))
    assert placed(x).sharding == here

    @reactant.jit(keep_unused=True, static_argnames="n")
    def scaled(x, unused, n=2):
        return jnp.add(x, n)
    assert scaled(x, x, n=3).tolist() == [3, 4, 5, 6]
    assert scaled.eval_shape(x, x).shape == (4,) and "add" in str(scaled.trace(x, x).jaxpr)


def test_what_is_for_jax_functions_only():
    with pytest.raises(TypeError, match="keep_unused is for JAX functions"):
        reactant.jit(lambda x: np.sin(x), keep_unused=True)
    with pytest.raises(TypeError, match="under jax.jit already: give out_shardings"):
        reactant.jit(jax.jit(jnp.sin), out_shardings=None)
