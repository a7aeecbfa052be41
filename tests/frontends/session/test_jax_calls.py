"""JAX functions spliced into traced programs."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.frontends.session import jax_calls
from reactant.frontends.session.trace import tracing
from reactant.ir import context, modules
from reactant.rewrite.report import following
from reactant.runtime.executable import Executable
from tests.oracle import check


def double_and_sum(x):
    return 2 * x, jnp.sum(x)


def scaled(x, factor):
    return (x * factor,)


def unchanged(x, y):
    return y, x


def scan(x):
    """A loop whose body is a function of its own."""
    return (jax.lax.fori_loop(0, 5, lambda i, v: jax.jit(jnp.cos)(v) + i, x),)


def called(function, *arrays, **static):
    """The module of one call, and its text before anything else happens to it."""
    with context.building(), tracing() as trace:
        values = [trace.add_argument(a.shape, a.dtype) for a in arrays]
        results = jax_calls.call_jax(function, *values, **static)
        return trace.finish(results)


@pytest.mark.parametrize("function, arrays, static", [
    (double_and_sum, (np.arange(3.0),), {}), (scaled, (np.arange(3, dtype=np.float32),), {"factor": 2.5}),
    (unchanged, (np.arange(3.0), np.arange(2)), {}), (scan, (np.ones(2),), {}),
    (jax.lax.linalg.lu, (np.eye(3)[None],), {})])
def test_results_and_module(function, arrays, static):
    module = called(function, *arrays, **static)
    with context.building():
        modules.verify(module)
        copy = modules.parse(modules.to_text(modules.clone(module), large_elements=None))
        assert len(list(copy.body)) == 1 and "func.call" not in modules.to_text(copy)
        found = Executable(copy)(list(arrays))
    with jax.enable_x64(True):
        expected = function(*arrays, **static)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_lowering_is_done_once():
    before = jax_calls._lowered.cache_info()
    called(scaled, np.ones(7), factor=3.0)
    called(scaled, np.ones(7), factor=3.0)
    called(scaled, np.ones(7), factor=4.0)
    after = jax_calls._lowered.cache_info()
    assert (after.hits - before.hits, after.misses - before.misses) == (1, 2)


def test_settings_of_jax_do_not_matter():
    """64 bits inside, whatever the user has chosen; and the choice stays."""
    def solve(a, b):
        return np.linalg.solve(a, b)
    for enabled in (False, True):
        with jax.enable_x64(enabled):
            assert reactant.jit(solve)(np.eye(2), np.ones(2)).dtype == np.float64
            assert jnp.zeros(1).dtype == (np.float64 if enabled else np.float32)


def test_in_loops_and_branches():
    def relax(a, x, n, limit):
        for _ in range(n):
            x = np.linalg.solve(a, x)
            if np.linalg.norm(x) < limit:
                x = x + np.linalg.inv(a)[0]
        return x
    a = np.array([[2.0, 0.5], [0.25, 3.0]])
    check(relax, a, np.array([4.0, 5.0]), 300, 0.5, rtol=1e-10)


def test_failures_inside_loops_are_reported():
    def shrink(a):
        for _ in range(300):
            a = a - np.eye(2)
            np.linalg.inv(a)
        return a
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        reactant.jit(shrink)(np.diag([5.0, 7.5]))
    reactant.jit(shrink)(np.diag([5.5, 7.5]))


def test_locations_are_the_users():
    """Ops from JAX carry the line that asked for them, not JAX's."""
    with context.building(), tracing() as trace:
        value = trace.add_argument((2, 2), np.dtype(float))
        with context.ir.Location.file("user.py", 12, 3):
            (result, *_) = jax_calls.call_jax(jax.lax.linalg.cholesky, value)
        text = modules.to_text(trace.finish([result]), locations=True)
    assert '"user.py":12:3' in text and "jax_calls.py" not in text and "closed_call" not in text


UNSET = """module { func.func public @main(%a: tensor<i64>) -> (tensor<3xi64>, tensor<3xi64>) {
  %unset = stablehlo.constant {reactant.unset} dense<0> : tensor<3xi64>
  %zeros = stablehlo.constant dense<0> : tensor<3xi64>
  func.return %unset, %zeros : tensor<3xi64>, tensor<3xi64> } }"""


def test_constants_that_nobody_reads_stay_apart_from_those_of_equal_content():
    """They were one, and native code left the zeros unwritten (gradients that run loops again, loaded from files)."""
    with context.building():
        module = modules.parse(UNSET)
        jax_calls._flatten(module)
        assert [modules.UNSET in op.attributes for op in modules.walk(module)
                if op.name == "stablehlo.constant"] == [True, False]


def two_solves(a, b):
    return np.linalg.solve(a, np.linalg.solve(a + a.T, b))


@pytest.mark.parametrize("options", [{}, {"optimize": False}, {"without": ("shape", "cleanup")}])
def test_what_jax_writes_is_simplified_once_for_programs_that_are_optimised(options):
    a, b = np.random.default_rng(0).random((2, 6, 6)) + 3 * np.eye(6)
    counts = reactant.jit(two_solves, **options).lower(a, b).operations(optimized=False)
    plain = reactant.jit(two_solves, optimize=False).lower(a, b).operations(optimized=False)
    assert (sum(counts.values()) < sum(plain.values())) == (options.get("optimize", True) is True)
    check(two_solves, a, b)


def test_who_follows_rewrites_sees_all_of_them():
    a, b = np.random.default_rng(0).random((2, 6, 6)) + 3 * np.eye(6)
    with following():
        followed = reactant.jit(two_solves).lower(a, b)
    plain = reactant.jit(two_solves, optimize=False).lower(a, b)
    assert followed.operations(optimized=False) == plain.operations(optimized=False)
    assert followed.operations() == reactant.jit(two_solves).lower(a, b).operations()
