"""The moves by which random JAX programs grow (`lax_programs`): one a kind of op."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.simplify.lax_programs import COMPLEX, EXTENTS, FLOATS, INTEGERS, Growing, NotHere, Value, kind

CONVERTED = {"f": (*FLOATS, "complex64"), "i": INTEGERS + FLOATS, "u": INTEGERS + FLOATS, "c": COMPLEX,
             "b": INTEGERS + FLOATS}
FUNCTIONS = (lax.sin, lax.cos, lax.tanh, lax.exp, lax.log, lax.log1p, lax.expm1, lax.sqrt, lax.rsqrt, lax.cbrt,
             lax.logistic, lax.erf, lax.atan, lax.neg, lax.abs, lax.square, lax.lgamma, lax.erf_inv, lax.asinh,
             lax.cosh, lax.digamma)
EXACT_FUNCTIONS = (lax.neg, lax.abs, lax.sign, lax.floor, lax.ceil, lax.round,
                   lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN))
POWERS = (0.5, 1.5, 2.0, -0.5, 3.0, -1.0, 0.0, 2.5, 1 / 3, -2.0)


MOVES: list[Callable[[Growing], None]] = []


def move(function: Callable[[Growing], None]) -> Callable[[Growing], None]:
    MOVES.append(function)
    return function


# ---- element by element ----------------------------------------------------------------------------------------------

@move
def arithmetic(g: Growing) -> None:
    a = g.value("fiuc")
    b = g.partner(a)
    op = g.pick([lax.add, lax.sub, lax.mul, lax.div] + [lax.max, lax.min] * (a.kind != "c")
                + [lax.rem] * (a.kind in "iu"))
    ordered = op in (lax.max, lax.min) and a.exact and b.exact
    left, right = (a, b) if g.one_in(2) else (b, a)
    g.add(op(left.array, right.array), ordered)


@move
def remainder(g: Growing) -> None:
    a = g.value("f", exact=True)
    g.add(lax.rem(a.array, g.partner(a, True).array), True)


@move
def bits(g: Growing) -> None:
    a = g.value("iub")
    shifts = [lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic] * (a.kind != "b")
    g.add(g.pick([lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor, *shifts])(a.array, g.partner(a).array), True)


@move
def integer_function(g: Growing) -> None:
    a = g.value("iu")
    g.add(g.pick([lax.bitwise_not, lax.population_count, lax.clz, lax.sign, lax.neg] + [lax.abs] * (a.kind == "i"))(
        a.array), True)


@move
def integer_power(g: Growing) -> None:
    a = g.value("fiuc")
    g.add(lax.integer_pow(a.array, g.integer(0, 5) if a.kind in "iu" else g.integer(-3, 6)), False)


@move
def exact_function(g: Growing) -> None:
    g.add(g.pick(EXACT_FUNCTIONS)(g.value("f", exact=True).array), True)


@move
def function(g: Growing) -> None:
    g.add(g.pick(FUNCTIONS)(g.value("f").array), False)


@move
def function_of_two(g: Growing) -> None:
    a = g.value("f")
    g.add(g.pick([lax.pow, lax.atan2])(a.array, g.partner(a).array), False)


@move
def constant_power(g: Growing) -> None:
    a = g.value("f").array
    g.add(lax.pow(a, jnp.full(a.shape, g.pick(POWERS), a.dtype)), False)


@move
def complex_function(g: Growing) -> None:
    g.add(g.pick([lax.neg, lax.conj, lax.exp, lax.real, lax.imag, lax.abs, lax.sqrt, lax.sin, lax.tanh, lax.log])(
        g.value("c").array), False)


@move
def complex_of_parts(g: Growing) -> None:
    a = g.value("f")
    if a.array.dtype in (jnp.float32, jnp.float64):
        b = g.partner(a)
        g.add(lax.complex(a.array, b.array), a.exact and b.exact)


@move
def comparison(g: Growing) -> None:
    a = g.value(exact=True)
    op = g.pick([lax.eq, lax.ne] + [lax.lt, lax.le, lax.gt, lax.ge] * (a.kind != "c"))
    g.add(op(a.array, g.partner(a, True).array), True)


@move
def is_finite(g: Growing) -> None:
    g.add(lax.is_finite(g.value("f", exact=True).array), True)


@move
def selection(g: Growing) -> None:
    a = g.value()
    b, c = g.partner(a), g.value("fiu", exact=True)
    if c.shape == a.shape:
        mask = lax.lt(c.array, g.partner(c, True).array)
    else:
        mask = jnp.asarray(g.rng.random(a.shape) < 0.5)
    g.add(lax.select(mask, a.array, b.array), a.exact and b.exact)


@move
def clamp(g: Growing) -> None:
    a = g.value("fiu")
    low, high = (g.scalar(a.array.dtype) for _ in range(2))
    g.add(lax.clamp(low, a.array, high), a.exact)


@move
def conversion(g: Growing) -> None:
    a = g.value(exact=True)
    g.add(lax.convert_element_type(a.array, g.pick(CONVERTED[a.kind])), True)


@move
def rounding(g: Growing) -> None:
    g.add(lax.convert_element_type(g.value("f").array, g.pick(FLOATS)), False)


@move
def same_bits(g: Growing) -> None:
    a = g.value("iu", exact=True).array
    g.add(lax.bitcast_convert_type(a, g.pick(["int", "uint"]) + str(8 * a.dtype.itemsize)), True)


@move
def precision(g: Growing) -> None:
    g.add(lax.reduce_precision(g.value("f", exact=True).array, g.pick([5, 8]), g.pick([2, 7, 10])), True)


# ---- shapes ----------------------------------------------------------------------------------------------------------

@move
def reshape(g: Growing) -> None:
    a = g.value()
    shape = list(a.shape)
    for _ in range(g.integer(1, 3)):
        at = g.integer(0, len(shape) + 1)
        if at + 1 < len(shape):
            shape[at:at + 2] = [shape[at] * shape[at + 1]]
        elif at < len(shape) and shape[at] % 2 == 0:
            shape[at:at + 1] = [2, shape[at] // 2]
        else:
            shape.insert(at, 1)
    g.add(lax.reshape(a.array, shape), a.exact)


@move
def transpose(g: Growing) -> None:
    a = g.value(rank=1)
    g.add(lax.transpose(a.array, [int(i) for i in g.rng.permutation(len(a.shape))]), a.exact)


@move
def broadcast(g: Growing) -> None:
    a = g.value()
    at = g.integer(0, len(a.shape) + 1)
    shape = (*a.shape[:at], g.pick(EXTENTS), *a.shape[at:])
    g.add(lax.broadcast_in_dim(a.array, shape, [d + (d >= at) for d in range(len(a.shape))]), a.exact)


@move
def reverse(g: Growing) -> None:
    a = g.value(rank=1)
    g.add(lax.rev(a.array, [d for d in range(len(a.shape)) if g.one_in(2)]), a.exact)


@move
def part(g: Growing) -> None:
    a = g.value(rank=1)
    low = [g.integer(0, n) for n in a.shape]
    high = [g.integer(s + 1, n + 1) for s, n in zip(low, a.shape, strict=True)]
    g.add(lax.slice(a.array, low, high, [g.pick([1, 1, 1, 2, 3]) for _ in low]), a.exact)


@move
def pad(g: Growing) -> None:
    a = g.value(rank=1)
    config = [(g.pick([0, 0, 1, 2, -1]), g.pick([0, 0, 1, 2, -1]), g.pick([0, 0, 0, 1, 2])) for _ in a.shape]
    g.add(lax.pad(a.array, g.scalar(a.array.dtype), config), a.exact)


@move
def concatenation(g: Growing) -> None:
    a = g.value(rank=1)
    parts = [a, *(g.partner(a) for _ in range(g.integer(1, 3)))]
    g.add(lax.concatenate([p.array for p in parts], g.dimension(a)), all(p.exact for p in parts))


@move
def roll(g: Growing) -> None:
    a = g.value(rank=1)
    g.add(jnp.roll(a.array, g.integer(-3, 4), g.dimension(a)), a.exact)


@move
def iota(g: Growing) -> None:
    shape = tuple(g.pick(EXTENTS) for _ in range(g.integer(1, 4)))
    g.add(lax.broadcasted_iota(g.pick(["int32", "float32", "int64", "uint8"]), shape, g.integer(0, len(shape))), True)


# ---- places at run time, tables --------------------------------------------------------------------------------------

@move
def dynamic_slice(g: Growing) -> None:
    a = g.value(rank=1)
    sizes = [g.integer(1, n + 1) for n in a.shape]
    g.add(lax.dynamic_slice(a.array, [g.place() for _ in sizes], sizes), a.exact)


@move
def dynamic_update(g: Growing) -> None:
    a = g.value(rank=1)
    b, sizes = g.partner(a), [g.integer(1, n + 1) for n in a.shape]
    update = lax.slice(b.array, [0] * len(sizes), sizes)
    g.add(lax.dynamic_update_slice(a.array, update, [g.place() for _ in sizes]), a.exact and b.exact)


@move
def take(g: Growing) -> None:
    a = g.value(rank=1)
    d = g.dimension(a)
    places = g.indices(a.shape[d], g.integer(1, 6))
    g.add(jnp.take(a.array, places, axis=d, mode=g.pick(["clip", "fill", "wrap"])), a.exact)


@move
def take_points(g: Growing) -> None:
    a = g.value(rank=2)
    count = g.integer(1, 5)
    rows, columns = (g.indices(n, count) for n in a.shape[:2])
    g.add(a.array.at[rows, columns].get(mode=g.pick(["clip", "fill"])), a.exact)


@move
def take_along(g: Growing) -> None:
    a = g.value(rank=1)
    d = g.dimension(a)
    g.add(jnp.take_along_axis(a.array, jnp.asarray(g.rng.integers(0, a.shape[d], a.shape)), d), a.exact)


@move
def gather_windows(g: Growing) -> None:
    a = g.value(rank=1)
    sizes = [g.integer(1, n + 1) for n in a.shape]
    d, count = g.dimension(a), g.integer(1, 4)
    numbers = lax.GatherDimensionNumbers(tuple(range(1, len(sizes) + 1)), (), (d,))
    mode = g.pick([lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP])
    places = g.indices(a.shape[d], count)[:, None]
    g.add(lax.gather(a.array, places, numbers, sizes, mode=mode), a.exact)


@move
def scatter(g: Growing) -> None:
    a = g.value("fiuc", rank=1)
    extent = a.shape[0]
    how = g.pick(["set", "add", "multiply", "min", "max"] if a.kind != "c" else ["set", "add"])
    if how == "set":        # which of equal places comes last is open
        count = g.integer(1, extent + 1)
        places, mode = jnp.asarray(g.rng.permutation(extent)[:count]) + g.pick([0, g.places[0]]), "drop"
    else:
        count = g.integer(1, 6)
        places, mode = g.indices(extent, count), g.pick(["drop", "clip", "fill"])
    numbers = np.arange(count * int(np.prod(a.shape[1:]))).reshape(count, *a.shape[1:]) % 5 + 1
    update = jnp.asarray(numbers).astype(a.array.dtype)
    g.add(getattr(a.array.at[places], how)(update, mode=mode), a.exact and how in ("set", "min", "max"))


@move
def scatter_diagonal(g: Growing) -> None:
    a = g.value("fiu", rank=2)
    d = jnp.arange(min(a.shape[:2]))
    exact = g.one_in(2)
    number = g.scalar(a.array.dtype)
    g.add(a.array.at[d, d].set(number) if exact else a.array.at[d, d[::-1]].add(number), exact and a.exact)


@move
def update_part(g: Growing) -> None:
    a = g.value("fiuc", rank=1)
    low = g.integer(0, a.shape[0])
    rows = slice(low, g.integer(low + 1, a.shape[0] + 1), g.pick([1, 1, 2]))
    sets = g.one_in(2)
    target = a.array.at[rows]
    g.add(target.set(a.array[rows][::-1]) if sets else target.add(a.array[rows]), sets and a.exact)


# ---- reductions, windows, sorting ------------------------------------------------------------------------------------

def least_of(dtype: Any) -> Any:
    return -jnp.inf if kind(dtype) == "f" else jnp.iinfo(dtype).min


def greatest_of(dtype: Any) -> Any:
    return jnp.inf if kind(dtype) == "f" else jnp.iinfo(dtype).max


def monoid(g: Growing, a: Value) -> tuple[Any, jax.Array]:
    """An op and its neutral element: what another start does is XLA's (of one element along the dimension it may ignore
    it)."""
    dtype = a.array.dtype
    if a.kind == "b":
        op, start = g.pick([(lax.bitwise_and, True), (lax.bitwise_or, False)])
    else:
        op, start = g.pick([(lax.add, 0), (lax.mul, 1), (lax.max, least_of(dtype)), (lax.min, greatest_of(dtype))])
    return op, jnp.asarray(start).astype(dtype)


def some_dimensions(g: Growing, a: Value) -> tuple[int, ...]:
    return tuple(d for d in range(len(a.shape)) if g.one_in(2)) or (g.dimension(a),)


@move
def reduction(g: Growing) -> None:
    a = g.value("fiub", rank=1)
    op, start = monoid(g, a)
    g.add(lax.reduce(a.array, start, op, some_dimensions(g, a)), op in (lax.max, lax.min) and a.exact)


@move
def reduction_of_pairs(g: Growing) -> None:
    a = g.value("iu", rank=1)
    b = g.partner(a)
    def body(x, y):
        return lax.max(x[0], y[0]), lax.add(x[1], y[1])
    starts = (jnp.asarray(least_of(a.array.dtype), a.array.dtype), jnp.zeros((), a.array.dtype))
    for each in lax.reduce((a.array, b.array), starts, body, some_dimensions(g, a)):
        g.add(each, True)


@move
def place_of_extreme(g: Growing) -> None:
    a = g.value("fiu", rank=1, exact=True)
    g.add(g.pick([lax.argmax, lax.argmin])(a.array, g.dimension(a), jnp.int32), True)


@move
def cumulative(g: Growing) -> None:
    a = g.value("fiu", rank=1)
    op = g.pick([lax.cumsum, lax.cumprod, lax.cummax, lax.cummin] + [lax.cumlogsumexp] * (a.kind == "f"))
    exact = op in (lax.cummax, lax.cummin) and a.exact
    g.add(op(a.array, axis=g.dimension(a), reverse=g.one_in(2)), exact)


@move
def windows(g: Growing) -> None:
    a = g.value("fiu", rank=1)
    op, start = monoid(g, a)
    window = [min(g.pick([1, 2, 3]), n) for n in a.shape]
    steps, spread = ([g.pick([1, 1, 2]) for _ in window] for _ in range(2))
    apart = [g.pick([1, 1, 2]) if n > 3 else 1 for n in a.shape]
    padding = [(g.integer(0, 2), g.integer(0, 2)) for _ in window]
    found = lax.reduce_window(a.array, start, op, window, steps, padding, spread, apart)
    g.add(found, op in (lax.max, lax.min) and a.exact)


@move
def select_and_scatter(g: Growing) -> None:
    a = g.value("f", rank=1, exact=True).array
    op, start = g.pick([(lax.max, np.array(-np.inf, a.dtype)), (lax.min, np.array(np.inf, a.dtype))])
    window = [min(g.pick([1, 2, 2]), n) for n in a.shape]
    steps = [g.pick([1, 2]) for _ in window]
    result, back = jax.vjp(lambda x: lax.reduce_window(x, start, op, window, steps, "VALID"), a)
    g.add(back(jnp.ones_like(result))[0], False)


@move
def sort(g: Growing) -> None:
    a = g.value("fiub", rank=1, exact=True)
    d, keys = g.dimension(a), g.integer(0, 4)
    if keys == 0:
        g.add(lax.sort(a.array, dimension=d), True)
    elif keys == 3:
        g.add(jnp.argsort(a.array, axis=d, descending=g.one_in(2)), True)
    else:
        b = g.partner(a, True)
        numbers = lax.broadcasted_iota(jnp.int32, a.shape, d)
        for each in lax.sort((a.array, b.array, numbers), dimension=d, num_keys=keys):
            g.add(each, True)


@move
def top_k(g: Growing) -> None:
    a = g.value("fiu", rank=1, exact=True).array
    for each in lax.top_k(a, g.integer(1, a.shape[-1] + 1)):
        g.add(each, True)


# ---- products, transforms, linear algebra ----------------------------------------------------------------------------

@move
def product(g: Growing) -> None:
    a = g.value("fiuc", rank=1)
    b = g.partner(a)
    order = [int(d) for d in g.rng.permutation(len(a.shape))]
    batch, contracted = sorted(order[:g.integer(0, 2)]), order[2:g.integer(2, 5)]
    g.add(lax.dot_general(a.array, b.array, ((contracted, contracted), (batch, batch))), False)


@move
def product_with_matrix(g: Growing) -> None:
    a = g.value("fiuc", rank=1)
    matrix = jnp.asarray(g.rng.integers(-2, 3, (a.shape[-1], g.integer(1, 5)))).astype(a.array.dtype)
    g.add(a.array @ matrix, False)


@move
def diagonals(g: Growing) -> None:
    a = g.value("fiu", rank=1).array
    if a.ndim == 1:
        g.add(jnp.diag(a, g.integer(-1, 2)), False)
    elif a.ndim == 2:
        g.add(g.pick([jnp.diagonal, jnp.tril, jnp.triu, jnp.trace])(a), False)


@move
def convolution(g: Growing) -> None:
    a = g.value("f", rank=1).array
    if a.dtype not in (jnp.float32, jnp.float64) or a.ndim > 2:
        raise NotHere
    groups, batches = g.pick([(1, 1), (2, 1), (1, 2)])
    image = jnp.broadcast_to(a, (2 * g.integer(1, 3), 2, *a.shape))
    kernel = jnp.asarray(g.rng.integers(-2, 3, (g.pick([2, 4]), 2 // groups, *(g.integer(1, 4) for _ in a.shape))))
    steps, spread, apart = ([g.pick([1, 1, 2]) for _ in a.shape] for _ in range(3))
    padding = [(g.integer(-1, 3), g.integer(0, 3)) for _ in a.shape]
    found = lax.conv_general_dilated(image, kernel.astype(a.dtype), steps, padding, spread, apart,
                                     feature_group_count=groups, batch_group_count=batches)
    if found.size:
        g.add(found.sum((0, 1)), False)


@move
def transform(g: Growing) -> None:
    a = g.value("fc", rank=1)
    if a.array.dtype in (jnp.float16, jnp.bfloat16) or a.shape[-1] < 2:
        raise NotHere
    of_real, of_complex = (jnp.fft.fft, jnp.fft.ifft, jnp.fft.rfft, jnp.fft.hfft), (jnp.fft.fft, jnp.fft.irfft)
    g.add(g.pick(of_real if a.kind == "f" else of_complex)(a.array), False)


@move
def linear_algebra(g: Growing) -> None:
    a = g.value("f", rank=1).array
    if a.dtype not in (jnp.float32, jnp.float64):
        raise NotHere
    n = g.integer(1, 5)
    number = jnp.tanh(jnp.where(jnp.isfinite(a), a, 0)).reshape(-1)[:1]
    random = jnp.asarray(g.rng.normal(size=(n, n))).astype(a.dtype)
    matrix = jnp.eye(n, dtype=a.dtype) * 6 + jnp.clip(random, -1, 1) * number
    right = jnp.asarray(g.rng.normal(size=(n, g.integer(1, 4)))).astype(a.dtype)
    lower, transposed = g.one_in(2), g.integer(0, 2)
    g.add(g.pick([
        lambda: jnp.linalg.solve(matrix, right), lambda: jnp.linalg.inv(matrix) @ right,
        lambda: jnp.linalg.det(matrix)[None], lambda: jnp.linalg.cholesky(matrix @ matrix.T),
        lambda: jax.scipy.linalg.solve_triangular(matrix, right, lower=lower, trans=transposed),
        lambda: jnp.linalg.eigvalsh(matrix + matrix.T), lambda: jnp.linalg.slogdet(matrix)[1][None]])(), False)


# ---- control flow ----------------------------------------------------------------------------------------------------

BRANCHES = (lambda x, y: x, lambda x, y: y, lambda x, y: lax.select(lax.eq(x, y), y, x), lambda x, y: lax.max(x, y),
            lambda x, y: x[::-1] if x.ndim else x)


@move
def condition(g: Growing) -> None:
    a = g.value("fiub")
    b, chosen = g.partner(a), g.value("fiu", exact=True).array.reshape(-1)[0] > 0
    g.add(lax.cond(chosen, g.pick(BRANCHES), g.pick(BRANCHES), a.array, b.array), a.exact and b.exact)


@move
def switch(g: Growing) -> None:
    a, which = g.value("fiu"), g.value("i", exact=True).array.reshape(-1)[0].astype(jnp.int32)
    branches = [lambda x: x, lambda x: -x, lambda x: x * 2, jnp.zeros_like][:g.integer(2, 5)]
    g.add(lax.switch(which, branches, a.array), False)


def rows_of(x: jax.Array, place: Any) -> jax.Array:
    return lax.dynamic_index_in_dim(x, place, 0, keepdims=False)


@move
def loop(g: Growing) -> None:
    x = g.value("fiu", rank=1).array
    n, one = x.shape[0], jnp.ones((), x.dtype)
    first, second, iterations, backwards = *g.places, g.integer(0, 6), g.one_in(2)
    g.add(g.pick([
        lambda: lax.fori_loop(0, n, lambda i, o: o.at[i].set(rows_of(x, n - 1 - i) + one), jnp.zeros_like(x)),
        lambda: lax.fori_loop(1, n, lambda i, o: o.at[i].set(o[i - 1] + x[i]), x),
        lambda: lax.fori_loop(0, n, lambda i, s: s + x[i], jnp.zeros_like(x[0])),
        lambda: lax.fori_loop(0, iterations, lambda i, v: jnp.roll(v, 1, 0), x),
        lambda: lax.fori_loop(0, n, lambda i, s: lax.max(s, x[i] * (i % 2).astype(x.dtype)), x[0]),
        lambda: lax.scan(lambda s, v: (s + v, s), jnp.zeros_like(x[0]), x, reverse=backwards)[1],
        lambda: lax.fori_loop(0, n // 2, lambda i, o: o.at[2 * i].set(x[i]), jnp.ones_like(x)),
        lambda: lax.fori_loop(0, first % (n + 1), lambda i, o: o.at[i].add(one), x),
        lambda: lax.while_loop(lambda s: s[0] < second % 7, lambda s: (s[0] + 1, s[1] + s[0].astype(x.dtype)),
                               (jnp.int32(0), x))[1],
        lambda: lax.map(lambda v: v * v - one, x)])(), False)


@move
def loop_that_decides(g: Growing) -> None:
    x = g.value("iu", rank=1).array.reshape(-1)
    n = x.shape[0]

    def greatest(i, state):
        better = x[i] > state[0]
        return jnp.where(better, x[i], state[0]), jnp.where(better, i, state[1])

    def written(i, o):
        return lax.cond(x[i] % 2 == 0, lambda o: o.at[i].set(0), lambda o: o.at[n - 1 - i].add(1), o)

    found = g.pick([
        lambda: lax.fori_loop(1, n, greatest, (x[0], jnp.int32(0))),
        lambda: lax.fori_loop(0, n, lambda i, s: s + (x[i] > 0).astype(jnp.int32), jnp.int32(0)),
        lambda: lax.fori_loop(0, n, written, x),
        lambda: lax.while_loop(lambda s: (s[0] < n) & (x[jnp.minimum(s[0], n - 1)] > 0),
                               lambda s: (s[0] + 1, s[1] ^ x[s[0]]), (jnp.int32(0), jnp.zeros((), x.dtype)))])()
    for each in jax.tree_util.tree_leaves(found):
        g.add(each, True)


@move
def batch(g: Growing) -> None:
    a = g.value("fiu", rank=2)
    f = g.pick([lambda v: v[::-1], lambda v: jnp.sum(v, 0), lambda v: rows_of(v, g.places[0] % v.shape[0]),
                lambda v: jnp.where(v[0] > 0, v, -v), lambda v: lax.fori_loop(0, 3, lambda i, u: u + v, v)])
    g.add(jax.vmap(f, in_axes=g.integer(0, 2))(a.array), False)


@move
def random_bits(g: Growing) -> None:
    key = jax.random.fold_in(jax.random.key(g.integer(0, 5)), g.places[0])
    g.add(jax.random.bits(key, (g.integer(1, 9),), "uint32"), True)


@move
def composed(g: Growing) -> None:
    g.add(g.pick([jax.nn.softmax, jax.nn.logsumexp, jax.nn.log_softmax, jax.nn.relu, jax.nn.gelu, jnp.linalg.norm,
                  jnp.var, jnp.mean])(g.value("f", rank=1).array), False)
