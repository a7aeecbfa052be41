"""Native sorts: every dtype and order, stability, NaN and zeros, what moves along, any dimension, halves that merge."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant import native
from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.orders import Order
from reactant.loopnests.sorts import sort_keys, sorting
from reactant.native import numpy_sorts

DTYPES = ("bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "float16", "bfloat16")


def numbers(shape, name, seed=0):
    """With many equal ones; floats with NaN, infinities and zeros of both signs."""
    dtype, random = jnp.dtype(name), np.random.default_rng(seed)
    if dtype.kind == "b":
        return random.random(shape) > 0.5
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        wide = random.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
        return np.where(random.random(shape) > 0.3, wide, random.integers(0, 5, shape).astype(dtype))
    x = random.standard_normal(shape).astype(dtype)
    flat = x.reshape(-1)
    for start, value in enumerate((np.nan, -0.0, 0.0, np.inf, -np.inf, -np.nan, 1.0, -1.0)):
        flat[start::31] = value
    return x


def bits(x):
    x = np.asarray(x)
    return x.view(f"u{x.dtype.itemsize}") if x.dtype.itemsize <= 8 else x.view("u8")


def agree(function, *arguments):
    """Ours, native, and jax.jit's, to the bit."""
    with jax.enable_x64(True):
        wanted = jax.tree.leaves(jax.jit(function)(*arguments))
        compiled = reactant.jit(function, native="always")
        got = jax.tree.leaves(compiled(*arguments))
        lowered = compiled.lower(*arguments)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(bits(a), bits(b))
    with building():
        assert "reactant.native.sort" in str(lowered.native_module(None))


def canonical(x):
    with np.errstate(invalid="ignore"):
        return np.where(x != x, np.array(np.nan, x.dtype), np.where(x == 0, np.zeros((), x.dtype), x))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kind", ["signed", "unsigned", "total", "canonical"])
@pytest.mark.parametrize(("way", "shape"), [
    ("insertion", (3, 45, 2)), *((way, shape) for way in ("radix", "vector", "vector, carried")
                                 for shape in ((3, 300, 2), (2, 300))),
    ("vector", (40, 13)), ("vector, carried", (7, 25, 3))])
def test_every_dtype(kind, shape, way):
    """Rows sorted by the native function alone; three by two of them are sorted along the middle."""
    vector = way.startswith("vector")
    if vector and not numpy_sorts.addresses():
        pytest.skip("NumPy has no vector code for sorts on this processor")
    carried = way == "vector, carried" or kind == "canonical" and not vector
    kinds = {"signed": "i", "unsigned": "bu"}.get(kind, "fV")
    for name in [n for n in DTYPES if jnp.dtype(n).kind in kinds and (not vector or jnp.dtype(n).itemsize >= 4)]:
        x = numbers(shape, name)
        raw = bits(canonical(x) if kind == "canonical" else x)
        top = raw.dtype.type(1 << (8 * raw.itemsize - 1))
        key = {"signed": raw ^ top, "unsigned": raw}.get(kind, np.where(raw & top, ~raw, raw | top))
        for descending in (False, True):
            wanted = np.take_along_axis(x, np.argsort(~key if descending else key, axis=1, kind="stable"), 1)
            order = Order(0, kind, descending)
            made = sorting.Sort(shape, 1, order, [x.dtype], [0], [0], [], carried, vector)
            with building():
                function = native.compile(modules.parse(made.text()), roles=made.roles)
            memory = [np.empty(n, d) for n, d in made.workspace]
            got = np.empty(x.size, f"i{x.itemsize}")
            function(bits(x).view(got.dtype).ravel(), got, *memory)
            np.testing.assert_array_equal(bits(got).reshape(shape), bits(wanted), err_msg=f"{name} {descending}")


def test_comparators():
    """What JAX asks for, of floats and integers, up and down."""
    agree(lambda xs: [(jnp.sort(x, 1, descending=True), jnp.sort(x, 1), jax.lax.sort(x, dimension=1)) for x in xs],
          [numbers((40, 70), name) for name in ("f4", "u2")])


@pytest.mark.slow
def test_what_moves_along():
    def together(x):
        place = jax.lax.broadcasted_iota(jnp.int16, x.shape, 1)
        _, *moved = jax.lax.sort((x, place, x.astype(jnp.complex128) * 2, x > 0), num_keys=1, dimension=1)
        return moved, jnp.argsort(x, 1), jnp.argsort(x, 0, descending=True)
    agree(together, numbers((60, 90), "f8"))


@pytest.mark.slow
def test_halves():
    one, other = sort_keys.HALVES + 1, 3 * sort_keys.HALVES
    agree(lambda x, y, z: (jnp.sort(x), jnp.argsort(x), jnp.sort(y, descending=True), jnp.sort(z)),
          numbers((one,), "f8"), np.sort(numbers((other,), "i4")), numbers((2, other), "u1"))


@pytest.mark.slow
@pytest.mark.parametrize("values", ["any", "close", "few", "one"])
@pytest.mark.parametrize("name", ["f8", "i8", "f4"])
def test_halves_in_vector_code(name, values, monkeypatch):
    """Keys whose numbers do not hold all of them: equal but for the last bits, equal, or neither."""
    monkeypatch.setattr(sort_keys, "VECTOR_HALVES", {False: 1 << 13, True: 1 << 13})
    random, n = np.random.default_rng(3), (1 << 13) + 5
    x = {"any": lambda: numbers((n,), name), "close": lambda: random.integers(0, 1 << 15, n).astype(name) + 2**20,
         "few": lambda: random.integers(-2, 3, n).astype(name), "one": lambda: np.full(n, 7, name)}[values]()
    if name == "f8" and values == "close":
        x = 1 + x * np.finfo(name).eps
    agree(lambda x: (jnp.sort(x), jnp.sort(x, descending=True), jnp.argsort(x), jnp.argsort(x, descending=True)), x)


def ends_in_order(name, where, length):
    """Rows of which only the first numbers are to be put in order, or nearly all, or none."""
    x = numbers((4, length), name, seed=3)
    x.sort(1)
    random = np.random.default_rng(4)
    for row, count in enumerate((3, length // 2, length - 2, 0)):
        x[row, :count] = random.permutation(x[row, :count])
    if where == "too great":        # the last but some are no greater than what is before them
        x[:, 0] = x[:, -1]
    if where == "alike":
        x[:, length // 3:] = x[:, -1:]
    return x if where != "one" else x[1]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("where", ["in order", "too great", "alike", "one"])
@pytest.mark.parametrize("name", ["f8", "i8", "u4", "f4"])
@pytest.mark.parametrize("length", [25, 41, 2500])
def test_what_is_in_order_already(name, where, length):
    x = ends_in_order(name, where, length)
    rows = np.broadcast_to(x, (max(1, 6000 // x.size), *x.shape)) if x.ndim > 1 else np.tile(x, max(1, 6000 // x.size))
    agree(lambda x: jax.lax.sort(x, dimension=x.ndim - 1), rows)
    agree(lambda x: jnp.argsort(x, axis=-1), rows)


def test_numpy():
    x = numbers((2000, 33), "f8")
    for function in (lambda a: np.sort(a, axis=0), lambda a: np.argsort(a, axis=0, kind="stable"),
                     lambda a: np.sort(a, axis=None)):
        np.testing.assert_array_equal(reactant.jit(function)(x), function(x))
    assert "native: sort of 33 x 2000 by" in str(reactant.explain(lambda a: np.sort(a, axis=0), x))


@pytest.mark.parametrize("function", [
    lambda x: jax.lax.sort((x, -x), num_keys=2),
    lambda x: jax.lax.sort(x.astype(jnp.complex64)),
])
def test_other_orders_stay(function):
    """Two keys, complex numbers."""
    x = np.random.default_rng(1).random(5000).astype(np.float32).round(2)
    for a, b in zip(jax.tree.leaves(reactant.jit(function)(x)), jax.tree.leaves(jax.jit(function)(x)), strict=True):
        np.testing.assert_array_equal(a, b)
