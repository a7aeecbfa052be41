"""Programs whose floats are limbs: results, refusals, what is left alone, and that nothing else is left."""
import math

import numpy as np
import pytest

import reactant
from tests.precision import remains

TWO = {"float64": "float32x2"}
RNG = np.random.default_rng(0)
X, Y = RNG.uniform(0.1, 10, 300), RNG.uniform(0.1, 10, 300)


def worst(found, wanted, condition=1.0):
    return np.max(np.abs(np.asarray(found) - wanted) / np.maximum(np.abs(wanted) * condition, 1e-300))


def loops(x, y):
    s, k = x * y, 0
    while k < 10:
        s = s * 0.9 + y / (k + 1) if s[0] > 1 else s + 1.0
        k += 1
    return s, np.sqrt(s).sum()


def indexed(x, y):
    z = x.copy()
    z[3:9] = 1.5
    np.add.at(z, np.arange(300) % 7, y)
    return z[::-1], np.sort(z), np.cumsum(z), z[np.argsort(y)[:5]]


def rounded(x, y):
    return np.floor(x), np.rint(x * 10), np.where(x > y, x, -y), np.clip(x, 1, 2)


PROGRAMS = {"loops": loops, "indexed": indexed, "rounded": rounded,
            "sums": lambda x, y: (x @ y, x.max()),
            "products": lambda x, y: (x.reshape(10, 30) @ y.reshape(30, 10), x @ y, x.sum(), x.mean(), x.max())}


@pytest.mark.parametrize("name", ["sums", *(pytest.param(name, marks=pytest.mark.slow) for name in
                                           ("loops", "indexed", "rounded", "products"))])
def test_results_are_those_of_the_wide_program(name):
    for found, wanted in zip(reactant.jit(PROGRAMS[name], floats=TWO)(X, Y), PROGRAMS[name](X, Y), strict=True):
        assert found.dtype == wanted.dtype
        assert worst(found, wanted) < 2.0**-40


@pytest.mark.slow
def test_remainders_are_right_as_far_as_their_arguments_are():
    """x and y have 48 bits in limbs, of which x % y = x - n y loses those of n y / (x % y): here up to twelve."""
    found, wanted = reactant.jit(np.remainder, floats=TWO)(X, Y), X % Y
    condition = (np.abs(X) + np.abs(X - wanted)) / wanted
    assert condition.max() > 500
    assert worst(found, wanted, condition) < 2.0**-45


def test_whole_numbers_and_truths_are_exact():
    def f(x, n):
        return (x * 3).astype(np.int64), n.astype(np.float64) / 1.0, x > 5, np.argmax(x)
    x, n = np.floor(X * 1e12), np.array([2**40 + 1, -(2**47) + 3, 0])
    for found, wanted in zip(reactant.jit(f, floats=TWO)(x, n), f(x, n), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_no_operation_of_the_source_type_remains():
    """But where arguments begin and results end."""
    def f(x, y):
        return np.exp(x) * np.sin(y) + x @ y
    assert not remains.strays(reactant.jit(f, floats=TWO), X, Y)
    assert remains.strays(reactant.jit(f, floats=TWO, without_limbs=lambda *place: True), X, Y)


def test_explain_says_what_keeps_its_format():
    said = str(reactant.explain(reactant.jit(lambda x: left_alone(x) + x, floats=TWO), X))
    line = left_alone.__code__.co_firstlineno + 2
    assert "float64 became float32x2, but for 1 argument and 1 result; what keeps its format:" in said
    assert f"abs ({__file__}:{line})" in said
    assert "but for 1 argument and 1 result\n" in str(reactant.explain(reactant.jit(lambda x: x + x, floats=TWO), X))


def test_gradients_have_the_same_digits():
    def f(x):
        return (x * x * x).sum()
    found = reactant.jit(reactant.grad(f), floats=TWO)(X)
    assert worst(found, 3 * X * X) < 2.0**-45


@pytest.mark.slow
def test_a_million_summands():
    x = np.random.default_rng(1).uniform(0, 1, 1_000_000)
    wanted = math.fsum(x)
    assert abs(reactant.jit(np.sum, floats=TWO)(x) - wanted) / wanted < 2.0**-45


def test_more_digits_than_float64_has():
    def f(x):
        return (x + 1e-20) - x
    np.testing.assert_allclose(reactant.jit(f, floats={"float64": "float64x2"})(np.ones(3)), 1e-20, rtol=1e-12)


@reactant.without_limbs
def left_alone(x):
    return np.abs(x) * 2.0


def test_without_limbs():
    text = str(reactant.code_hlo(reactant.jit(lambda x: left_alone(x) + x, floats=TWO), X))
    assert any("stablehlo.abs" in line and "tensor<300xf64>" in line for line in text.splitlines())


def test_what_has_no_form_is_refused_with_its_line():
    with pytest.raises(reactant.UnsupportedError, match="has no form for them") as caught:
        reactant.jit(lambda x: np.linalg.eig(x)[0], floats=TWO)(np.eye(3))
    assert caught.value.code == "not-in-limbs" and caught.value.span is not None


@pytest.mark.parametrize("wants", ["numbers", "nothing"])
def test_what_jax_would_run_is_refused(wants):
    """It would run in float64."""
    import jax
    from jax import numpy as jnp

    def f(x):
        if wants == "numbers":
            return jnp.linalg.eig(x)[0]
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    with jax.enable_x64(True), pytest.raises(reactant.UnsupportedError) as caught:
        reactant.jit(f, floats=TWO)(jnp.eye(3))
    assert caught.value.code == "not-in-limbs"


@pytest.mark.parametrize(("floats", "text"), [
    ({"int64": "float32x2"}, "limbs are of floats"), ({"float64": "float32x9"}, "there are float32x2"),
    ({"float16": "bfloat16x2"}, "not one of")])
def test_formats_that_do_not_exist(floats, text):
    with pytest.raises(ValueError, match=text):
        reactant.jit(np.sin, floats=floats)
