"""What XLA's fusions compute again and again is estimated, and avoided."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.runtime import repeats
from reactant.runtime.compile_options import NO_FUSION


def butterflies(steps, put_together):
    def f(x):
        a = [x[i] for i in range(5)]
        for k in range(steps):
            i, j = k % 5, (2 * k + 1) % 5 if (2 * k + 1) % 5 != k % 5 else (k + 1) % 5
            c = a[i] > a[j]
            a[i], a[j] = jnp.where(c, a[j], (a[i] + a[j]) / 2), jnp.where(c, (a[i] - a[j]) / 2, a[j])
        return put_together(a)
    return f


def lowered(steps, put_together, shape=(5,), **options):
    x = jnp.asarray(np.random.default_rng(0).standard_normal(shape))
    return reactant.jit(butterflies(steps, put_together), frontend="jax", **options).lower(x).compile(), x


@pytest.mark.sampled(4)
@pytest.mark.parametrize("steps, put_together, native, fused", [
    (5, jnp.stack, False, True), (160, jnp.stack, True, True), (160, sum, False, True),
    (160, lambda a: a, False, True)])
def test_what_becomes_native(steps, put_together, native, fused):
    compiled, _ = lowered(steps, put_together)
    assert bool(compiled.lowered.notes) == native
    assert (NO_FUSION.items() <= compiled.executable.xla_options.items()) != fused


@pytest.mark.slow
def test_without_native_code_it_is_not_fused():
    """160 swaps of 5 numbers took minutes to compile."""
    compiled, x = lowered(160, jnp.stack, native="never")
    assert NO_FUSION.items() <= compiled.executable.xla_options.items()
    with jax.disable_jit():
        expected = butterflies(160, jnp.stack)(x)
    native = reactant.jit(butterflies(160, jnp.stack), frontend="jax")(x)
    plain = reactant.jit(butterflies(160, jnp.stack), frontend="jax", native="never")(x)
    np.testing.assert_allclose(native, expected, rtol=1e-5)
    np.testing.assert_allclose(plain, expected, rtol=1e-5)


def test_estimate_grows_with_the_ways():
    """Twice the steps are much more than twice the work where two results of each go into the next, and none where what
    is put together shares nothing."""
    from reactant.ir import context, modules

    def estimate(f, shape):
        with context.building():
            module = modules.parse(jax.jit(f).lower(jnp.zeros(shape)).as_text())
            modules.inline_calls(module)
            return repeats.nanoseconds([op.operation for op in modules.function(module).regions[0].blocks[0]])
    assert estimate(butterflies(40, jnp.stack), (5, 100)) > 20 * estimate(butterflies(20, jnp.stack), (5, 100)) > 0
    assert estimate(lambda x: jnp.stack([x[i] * 2 + 1 for i in range(5)]), (5, 100)) == 0


@pytest.mark.slow
def test_what_is_reversed_again_and_again_is_a_call():
    """XLA did not compile it in minutes."""
    def turned(x):
        for _ in range(10):
            x = np.sin(x) * x[::-1] if x[0] > 0 else 0.9 * x
        return np.sum(x)

    def steep(x):
        return np.sum(reactant.grad(turned)(x) ** 2)

    x = np.linspace(0.3, 0.9, 6)
    third = reactant.grad(lambda x: np.sum(reactant.grad(steep)(x) ** 2))
    assert "custom-call" in third.lower(x).compile().as_text()
    moved = reactant.jvp(lambda x: np.sum(reactant.grad(steep)(x) ** 2), (x,), (np.ones(6),))[1]
    np.testing.assert_allclose(np.sum(third(x)), moved, rtol=1e-9)
