"""`in_shardings` and `out_shardings` of JAX functions: results are those of `jax.jit`, and lie as it has them."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

pytestmark = pytest.mark.devices8

P = jax.P


def mesh():
    return jax.make_mesh((4, 2), ("x", "y"))


def model(parameters, x):
    h = jnp.roll(x, 1, 0) @ parameters["w"] + parameters["b"]
    return {"h": jnp.tanh(h), "loss": (h * h).sum()}, x[::2]


def given():
    random = np.random.default_rng(0)
    w, b, x = (random.normal(size=s).astype(np.float32) for s in ((16, 8), (8,), (64, 16)))
    return {"w": w, "b": b}, x


ROWS, COLUMNS, WHOLE = P("x"), P(None, "y"), P()
TOLD = [
    {"in_shardings": (WHOLE, ROWS)},
    {"in_shardings": (None, ROWS), "out_shardings": ({"h": ROWS, "loss": WHOLE}, WHOLE)},
    {"in_shardings": ({"w": COLUMNS, "b": None}, ROWS), "out_shardings": ({"h": None, "loss": None}, ROWS)},
    {"out_shardings": (None, ROWS)}, {"in_shardings": WHOLE, "out_shardings": WHOLE},
]


def on_mesh(told):
    """The same with a mesh."""
    return jax.tree.map(lambda s: jax.NamedSharding(mesh(), s), told)


@pytest.mark.parametrize("told", TOLD, ids=str)
def test_as_jax(told):
    told = on_mesh(told)
    ours, theirs = reactant.jit(model, **told), jax.jit(model, **told)
    found, expected = ours(*given()), theirs(*given())
    assert not ours.reasons
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert isinstance(one, jax.Array) and one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    asked = jax.tree.broadcast(told.get("out_shardings"), found, is_leaf=lambda s: s is None or hasattr(s, "spec"))
    for one, place in zip(jax.tree.leaves(found), jax.tree.leaves(asked, is_leaf=lambda s: s is None), strict=True):
        assert place is None or one.sharding.is_equivalent_to(place, one.ndim)


def test_names_of_axes_on_a_mesh():
    divided = reactant.jit(lambda x: jnp.roll(x, 1, 0) * 2, mesh=mesh(), in_shardings=P("x"), out_shardings=P("x"))
    x = np.arange(48.0, dtype=np.float32).reshape(16, 3)
    found = divided(x)
    np.testing.assert_array_equal(found, np.roll(x, 1, 0) * 2)
    assert found.sharding.is_equivalent_to(jax.NamedSharding(mesh(), P("x")), 2) and not divided.reasons
    assert divided.lower(x).compile().traffic().count == 1


def test_inside_of_jax():
    inner = reactant.jit(lambda x: jnp.sin(x), **on_mesh({"in_shardings": ROWS, "out_shardings": ROWS}))
    x = jnp.arange(8.0)
    np.testing.assert_allclose(jax.jit(lambda x: inner(x) + 1)(x), jnp.sin(x) + 1, rtol=1e-6)


@pytest.mark.parametrize(("told", "arguments", "why"), [
    ({"in_shardings": ROWS}, (np.zeros((6, 2), np.float32),), "divide"),
    ({"in_shardings": (ROWS, ROWS)}, (np.zeros((8, 2), np.float32),), "prefix|pytree|tuple"),
], ids=["uneven", "too many"])
def test_what_jax_refuses(told, arguments, why):
    with pytest.raises(ValueError, match=why):
        jax.jit(lambda x: x + 1, **on_mesh(told))(*arguments)
    with pytest.raises(ValueError, match=why):
        reactant.jit(lambda x: jnp.add(x, 1), **on_mesh(told))(*arguments)


def test_arguments_that_lie_otherwise_are_for_jax():
    x = jax.device_put(np.zeros((8, 4), np.float32), on_mesh(COLUMNS))
    for jit in (jax.jit, reactant.jit):
        with pytest.raises(ValueError, match="does not match|sharding"):
            jit(lambda x: jnp.add(x, 1), in_shardings=on_mesh(ROWS))(x)
