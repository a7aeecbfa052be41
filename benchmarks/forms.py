"""Pairs of equal forms, measured on this machine: what the target stage chooses between, and from which size on.

    python benchmarks/forms.py [--only TEXT] [--json FILE]      (pin it: taskset -c 1 python benchmarks/forms.py)

Each line is one case: microseconds of the first form (what programs say), of the second (what `simplify/target/`
makes of it), and their ratio. The thresholds in `simplify/facts/target_costs.py` are read off this table. Inside loops
an update in place can save the copy that it costs here (see `tests/simplify/target/test_target.py`).
"""
import argparse
import functools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from rich.console import Console
from rich.table import Table

Form = Callable[..., jax.Array]


@dataclass(frozen=True)
class Pair:
    """Two functions of the same arrays that give the same values."""

    name: str
    case: str
    first: Form
    second: Form
    arguments: tuple[np.ndarray, ...]


def microseconds(form: Form, arguments: tuple[np.ndarray, ...], seconds: float = 0.04) -> float:
    """Best time of one call of the compiled form, the call's own cost included (the same for both forms)."""
    arrays = tuple(map(jnp.asarray, arguments))
    run = jax.jit(form).lower(*arrays).compile()
    samples: list[float] = []
    while len(samples) < 3 or sum(samples) < seconds:
        begun = time.perf_counter()
        jax.block_until_ready(run(*arrays))
        samples.append(time.perf_counter() - begun)
    return min(samples) * 1e6


def _random(*shape: int, dtype: object = np.float64, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.1, 1, shape).astype(dtype)


def _slices_sum(axis: int) -> Form:
    def form(x):
        parts = [lax.index_in_dim(x, i, axis, keepdims=False) for i in range(x.shape[axis])]
        total = jnp.zeros((), x.dtype)
        for part in parts:
            total = total + part
        return total
    return form


def reductions() -> Iterator[Pair]:
    """A reduction over a short dimension, and the sum of its slices."""
    for dtype in (np.float64, np.float32):
        for count in (2, 4, 8, 16):
            for other in (4096, 262144):
                name = np.dtype(dtype).name
                yield Pair("reduce leading", f"({count}, {other}) {name}", lambda x: lax.reduce(
                    x, x.dtype.type(0), lax.add, (0,)), _slices_sum(0), (_random(count, other, dtype=dtype),))
                yield Pair("reduce trailing", f"({other}, {count}) {name}", lambda x: lax.reduce(
                    x, x.dtype.type(0), lax.add, (1,)), _slices_sum(1), (_random(other, count, dtype=dtype),))
                yield Pair("reduce middle", f"({other // 32}, {count}, 32) {name}", lambda x: lax.reduce(
                    x, x.dtype.type(0), lax.add, (1,)), _slices_sum(1), (_random(other // 32, count, 32, dtype=dtype),))


def _region_select(x, update, starts):
    mask = None
    for d, (start, extent) in enumerate(zip(starts, update.shape, strict=True)):
        if extent != x.shape[d]:
            inside = (lax.broadcasted_iota(jnp.uint32, x.shape, d) - np.uint32(start)) < np.uint32(extent)
            mask = inside if mask is None else mask & inside
    padding = [(s, n - s - e, 0) for s, e, n in zip(starts, update.shape, x.shape, strict=True)]
    return lax.select(mask, lax.pad(update, x.dtype.type(0), padding), x)


def updates() -> Iterator[Pair]:
    """A stencil written into part of its own array, and one select over the whole array."""
    for dtype in (np.float64, np.float32):
        for n in (64, 512):
            for part in (8, 4, 2, 1):
                rows = (n - 2) // part

                def new(x, rows=rows):
                    return 0.2 * (x[:rows, 1:-1] + x[2:2 + rows, 1:-1] + x[1:1 + rows, :-2] + x[1:1 + rows, 2:])

                yield Pair("update", f"{rows} of {n} rows {np.dtype(dtype).name}",
                           lambda x, new=new: lax.dynamic_update_slice(x, new(x), (1, 1)),
                           lambda x, new=new: _region_select(x, new(x), (1, 1)), (_random(n, n, dtype=dtype),))


def powers() -> Iterator[Pair]:
    """Fixed powers."""
    for dtype in (np.float64, np.float32):
        name = np.dtype(dtype).name
        x = (_random(262144, dtype=dtype),)
        for exponent, other in ((2, lambda x: x * x), (3, lambda x: x * x * x), (4, lambda x: (x * x) * (x * x)),
                                (-1, lambda x: 1 / x), (-2, lambda x: 1 / (x * x)), (1.5, lambda x: x * jnp.sqrt(x)),
                                (2.5, lambda x: x * x * jnp.sqrt(x)), (-0.5, lambda x: 1 / jnp.sqrt(x)),
                                (0.5, jnp.sqrt), (8, lambda x: lax.integer_pow(x, 8)), (1 / 3, jnp.cbrt)):
            yield Pair("power", f"{exponent:.3g} {name}", lambda x, e=exponent: lax.pow(x, x.dtype.type(e)), other, x)


def products() -> Iterator[Pair]:
    """Small contractions."""
    for dtype in (np.float64, np.float32):
        name = np.dtype(dtype).name
        for batch, n in ((16, 4), (1024, 2), (1024, 3), (1024, 4), (65536, 4), (1024, 8), (1024, 16)):
            xs = (_random(batch, n, n, dtype=dtype), _random(batch, n, n, dtype=dtype, seed=1))
            yield Pair("batched product", f"{batch} of {n}x{n} {name}", lambda x, y: x @ y, lambda x, y: sum(
                x[:, :, k, None] * y[:, None, k, :] for k in range(x.shape[2])), xs)
        for m, k, n in ((262144, 2, 2), (262144, 3, 3), (262144, 4, 4), (16384, 8, 8), (64, 3, 3), (262144, 3, 1)):
            xs = (_random(m, k, dtype=dtype), _random(k, n, dtype=dtype, seed=1))
            yield Pair("thin product", f"({m}, {k}) ({k}, {n}) {name}", lambda x, y: x @ y, lambda x, y: sum(
                x[:, i, None] * y[None, i, :] for i in range(x.shape[1])), xs)
        for k, m in ((2, 262144), (3, 262144), (4, 262144), (8, 16384)):
            xs = (_random(k, k, dtype=dtype), _random(k, m, dtype=dtype, seed=1))
            yield Pair("wide product", f"({k}, {k}) ({k}, {m}) {name}", lambda x, y: x @ y, lambda x, y: sum(
                x[:, i, None] * y[None, i, :] for i in range(x.shape[1])), xs)
        for m, n in ((1024, 1024), (262144, 8), (8, 262144)):
            xs = (_random(m, n, dtype=dtype), _random(n, dtype=dtype, seed=1))
            yield Pair("matrix vector", f"({m}, {n}) {name}", lambda x, y: x @ y,
                       lambda x, y: lax.reduce(x * y[None], x.dtype.type(0), lax.add, (1,)), xs)


def windows() -> Iterator[Pair]:
    """Window sums and one-channel convolutions as sums of shifted slices."""
    def shifted(x, kernel):
        h, w = kernel.shape
        rows, columns = x.shape[0] - h + 1, x.shape[1] - w + 1
        return sum(x[i:i + rows, j:j + columns] * kernel[i, j] for i in range(h) for j in range(w))

    def separable(x, size):
        rows = sum(x[i:x.shape[0] - size + 1 + i] for i in range(size))
        return sum(rows[:, j:x.shape[1] - size + 1 + j] for j in range(size))

    for dtype in (np.float64, np.float32):
        for n in (64, 512, 1024):
            for size in (3, 5, 7):
                x, kernel = _random(n, n, dtype=dtype), _random(size, size, dtype=dtype, seed=1)
                yield Pair("window sum", f"{size}x{size} over {n}x{n} {x.dtype}", lambda x, s=size: lax.reduce_window(
                    x, x.dtype.type(0), lax.add, (s, s), (1, 1), "VALID"), lambda x, s=size: separable(x, s), (x,))
                yield Pair("convolution", f"{size}x{size} of {n}x{n} {x.dtype}", lambda x, k: lax.conv_general_dilated(
                    x[None, None], k[None, None], (1, 1), "VALID", precision="highest")[0, 0], shifted, (x, kernel))
                if n == 512:
                    yield Pair("window maximum", f"{size}x{size} over {n}x{n} {x.dtype}",
                               lambda x, s=size: lax.reduce_window(x, x.dtype.type(-np.inf), lax.max, (s, s), (1, 1),
                                                                   "VALID"),
                               lambda x, s=size: _separable_maximum(x, s), (x,))


def summed_windows() -> Iterator[Pair]:
    """Windows of an image's channels that are summed at once: the library makes both; slices are written for it."""
    def windows(x, how, first, size, stride):
        found = lax.reduce_window(x, x.dtype.type(first), how, (1, size, size, 1), (1, stride, stride, 1), "VALID")
        return jnp.sum(found, (1, 2))

    def slices(x, how, size, stride):
        for d in (1, 2):
            count = (x.shape[d] - size) // stride + 1
            parts = [lax.slice_in_dim(x, k, k + (count - 1) * stride + 1, stride, d) for k in range(size)]
            x = functools.reduce(how, parts)
        return jnp.sum(x, (1, 2))

    for dtype in (np.float64, np.float32):
        for size, stride in ((2, 2), (3, 1)):
            for how, first in ((lax.max, -np.inf), (lax.add, 0)):
                yield Pair("window, summed", f"{how.__name__} {size}x{size} each {stride}, {np.dtype(dtype).name}",
                           functools.partial(windows, how=how, first=first, size=size, stride=stride),
                           functools.partial(slices, how=how, size=size, stride=stride),
                           (_random(16, 56, 56, 32, dtype=dtype),))


def _separable_maximum(x, size):
    rows = x[:x.shape[0] - size + 1]
    for i in range(1, size):
        rows = jnp.maximum(rows, x[i:x.shape[0] - size + 1 + i])
    out = rows[:, :x.shape[1] - size + 1]
    for j in range(1, size):
        out = jnp.maximum(out, rows[:, j:x.shape[1] - size + 1 + j])
    return out


def cumulative() -> Iterator[Pair]:
    """Cumulative sums (as reduce_window, as JAX and NumPy lower them) in blocks."""
    def window(x):
        return lax.reduce_window(x, x.dtype.type(0), lax.add, (x.shape[0],), (1,), [(x.shape[0] - 1, 0)])

    def doubling(x):
        shift = 1
        while shift < x.shape[0]:
            x = x + lax.pad(x, x.dtype.type(0), [(shift, -shift, 0)])
            shift *= 2
        return x

    def blocked(x, block=64):
        n = x.shape[0]
        y = x.reshape(-1, block)
        within = lax.reduce_window(y, x.dtype.type(0), lax.add, (1, block), (1, 1), [(0, 0), (block - 1, 0)])
        before = within[:, -1]
        before = blocked(before, block) if before.shape[0] > block and before.shape[0] % block == 0 else window(before)
        before = lax.pad(before, x.dtype.type(0), [(1, -1, 0)])
        return (within + before[:, None]).reshape(n)

    for dtype in (np.float64, np.float32):
        for n in (256, 4096, 262144):
            x = (_random(n, dtype=dtype),)
            yield Pair("cumulative sum, doubled", f"{n} {x[0].dtype}", window, doubling, x)
            yield Pair("cumulative sum, blocked", f"{n} {x[0].dtype}", window, blocked, x)


def searches() -> Iterator[Pair]:
    """argmax as a two-valued reduction, and as maximum, comparison, first true."""
    def first(x):
        return jnp.argmax(x, axis=-1).astype(x.dtype)

    def second(x):
        top = x.max(-1, keepdims=True)
        n = x.shape[-1]
        places = lax.broadcasted_iota(jnp.int32, x.shape, x.ndim - 1)
        return lax.select((x == top) | (x != x), places, jnp.full(x.shape, n, jnp.int32)).min(-1).astype(x.dtype)

    for dtype in (np.float64, np.float32):
        for shape in ((16, 16), (4096, 16), (1024, 1024), (1, 262144)):
            yield Pair("argmax", f"{shape} {np.dtype(dtype).name}", first, second, (_random(*shape, dtype=dtype),))


def left_factors() -> Iterator[Pair]:
    """x' y with x as it is stored, and with x turned first."""
    def first(x, y):
        return lax.dot_general(x, y, (((0,), (0,)), ((), ())))

    def second(x, y):
        return lax.dot_general(lax.optimization_barrier(x.T), y, (((1,), (0,)), ((), ())))

    for dtype in (np.float64, np.float32):
        for k, m, n in ((512, 512, 1), (512, 512, 4), (512, 512, 512), (800, 32, 256), (64, 512, 64), (256, 1024, 16)):
            arguments = (_random(k, m, dtype=dtype), _random(k, n, dtype=dtype))
            yield Pair("left factor", f"({k}, {m})' ({k}, {n}) {np.dtype(dtype).name}", first, second, arguments)


def rows() -> Iterator[Pair]:
    """Scatter and gather of consecutive places as slices."""
    for dtype in (np.float64, np.float32):
        for n in (64, 4096, 262144):
            x, y = _random(n + 8, dtype=dtype), _random(n, dtype=dtype, seed=1)
            places = np.arange(n) + 4
            yield Pair("gather of consecutive", f"{n} {x.dtype}", lambda x, p=places: x[p],
                       lambda x, n=n: x[4:4 + n], (x,))
            yield Pair("scatter of consecutive", f"{n} {x.dtype}", lambda x, y, p=places: x.at[p].set(y),
                       lambda x, y: lax.dynamic_update_slice(x, y, (4,)), (x, y))
        n = 512
        x, y = _random(n, n, dtype=dtype), _random(n, dtype=dtype, seed=1)
        yield Pair("gather of rows, reversed", f"{n}x{n} {x.dtype}", lambda x: x[:, np.arange(x.shape[1])[::-1]],
                   lambda x: x[:, ::-1], (x,))
        yield Pair("diagonal by scatter", f"{n} {x.dtype}",
                   lambda y: jnp.zeros((y.shape[0],) * 2, y.dtype).at[np.arange(512), np.arange(512)].set(y),
                   lambda y: jnp.where(jnp.eye(y.shape[0], dtype=bool), y[None], 0), (y,))
        yield Pair("diagonal by gather", f"{n} {x.dtype}", lambda x: x[np.arange(512), np.arange(512)],
                   lambda x: x.reshape(-1)[::x.shape[0] + 1], (x,))


def arithmetic() -> Iterator[Pair]:
    """Element-wise operations that have cheaper equals."""
    n = 262144
    for dtype in (np.int64, np.int32):
        x = (np.arange(n).astype(dtype) - 1000,)
        positive = (np.arange(n).astype(dtype),)
        name = np.dtype(dtype).name
        yield Pair("remainder by 2**k", name, lambda x: lax.rem(x, x.dtype.type(8)), lambda x: x & 7, positive)
        yield Pair("floor remainder by 2**k", name, lambda x: x % 8, lambda x: x & 7, x)
        yield Pair("floor division by 2**k", name, lambda x: x // 8, lambda x: x >> 3, x)
        yield Pair("floor division by 10", name, lambda x: x // 10,
                   lambda x: lax.div(x, x.dtype.type(10)), positive)
    for dtype in (np.float64, np.float32):
        x, name = (_random(n, dtype=dtype),), np.dtype(dtype).name
        yield Pair("floor remainder by 1", name, lambda x: x % 1, lambda x: x - jnp.floor(x), x)
        yield Pair("division by a number", name, lambda x: x / 3, lambda x: x * (1 / 3), x)
        yield Pair("exp(-x) for 1/exp(x)", name, lambda x: 1 / jnp.exp(x), lambda x: jnp.exp(-x), x)
        yield Pair("logistic", name, lax.logistic, lambda x: 1 / (1 + jnp.exp(-x)), x)
        yield Pair("tanh", name, jnp.tanh, lambda x: 1 - 2 / (jnp.exp(2 * x) + 1), x)
        yield Pair("cbrt", name, jnp.cbrt, lambda x: lax.pow(x, x.dtype.type(1 / 3)), x)
        yield Pair("sine", name, jnp.sin, jnp.cos, x)
        yield Pair("log1p", name, jnp.log1p, lambda x: jnp.log(1 + x), x)
        yield Pair("expm1", name, jnp.expm1, lambda x: jnp.exp(x) - 1, x)
        yield Pair("atan2", name, lambda x: jnp.arctan2(x, x + 1), lambda x: jnp.arctan(x / (x + 1)), x)
        yield Pair("round", name, jnp.round, jnp.floor, x)
        yield Pair("rsqrt", name, lax.rsqrt, lambda x: 1 / jnp.sqrt(x), x)
        yield Pair("hypot", name, lambda x: jnp.hypot(x, x + 1), lambda x: jnp.sqrt(x * x + (x + 1) * (x + 1)), x)


def layouts() -> Iterator[Pair]:
    """Transposes beside reductions and products; sums over both dimensions."""
    for dtype in (np.float64, np.float32):
        x = (_random(512, 512, dtype=dtype),)
        name = np.dtype(dtype).name
        yield Pair("sum of rows of a transpose", name, lambda x: lax.reduce(
            x.T * 2, x.dtype.type(0), lax.add, (1,)), lambda x: lax.reduce(x * 2, x.dtype.type(0), lax.add, (0,)), x)
        yield Pair("sum of a slice", name, lambda x: x[1:-1, 1:-1].sum(),
                   lambda x: _region_select(jnp.zeros_like(x), x[1:-1, 1:-1], (1, 1)).sum(), x)
        yield Pair("sum of all, in two steps", name, lambda x: (x * x).sum(), lambda x: (x * x).sum(0).sum(), x)
        yield Pair("mean and square mean", name, lambda x: (x.mean(0) + (x * x).mean(0)),
                   lambda x: sum(lax.reduce((x, x * x), (x.dtype.type(0),) * 2,
                                            lambda a, b: (a[0] + b[0], a[1] + b[1]), (0,))) / x.shape[0], x)
        yield Pair("sum of columns", name, lambda x: lax.reduce(x, x.dtype.type(0), lax.add, (0,)),
                   lambda x: (jnp.ones((1, x.shape[0]), x.dtype) @ x)[0], x)
        yield Pair("sum of rows", name, lambda x: lax.reduce(x, x.dtype.type(0), lax.add, (1,)),
                   lambda x: (x @ jnp.ones((x.shape[1], 1), x.dtype))[:, 0], x)
        yield Pair("sort", name, lambda x: lax.sort(x, dimension=1), lambda x: lax.sort(x, dimension=1,
                                                                                         is_stable=False), x)


def _transform_from_half(x: jax.Array) -> jax.Array:
    half = jnp.fft.rfft(x)
    return jnp.concatenate([half, jnp.conj(jnp.flip(half[..., 1:x.shape[-1] // 2], -1))], -1)


def transforms() -> Iterator[Pair]:
    """The whole transform of real numbers."""
    for shape in ((4096,), (65536,), (131072,), (1048576,), (64, 1024), (256, 4096)):
        for dtype in (np.float32, np.float64):
            yield Pair("transform of real", f"{shape} {np.dtype(dtype).name}", jnp.fft.fft, _transform_from_half,
                       (_random(*shape, dtype=dtype),))


def classes() -> Iterator[Pair]:
    """Sums by class."""
    for rows, columns, many in ((20000, 16, 4), (20000, 16, 10), (20000, 16, 100), (20000, 1, 10), (4000, 64, 10)):
        def product(i, x, many=many):
            return jax.nn.one_hot(i, many, dtype=x.dtype).T @ x

        def added(i, x, many=many):
            return jnp.zeros((many, x.shape[1]), x.dtype).at[i].add(x, mode="drop")
        places = np.random.default_rng(0).integers(0, many, rows)
        yield Pair("sums by class", f"{rows} x {columns}, {many}", product, added, (places, _random(rows, columns)))


def structured() -> Iterator[Pair]:
    """Systems and products with structure, as `reactant calibrate` times them."""
    from reactant import calibration
    for label in ("toeplitz_as_convolution", "banded_solve", "gather_as_selects", "scan_iterations", "sort_network"):
        for step in calibration.LADDERS[label]():
            yield Pair(label.replace("_", " "), f"{step.threshold:g}", step.first, step.second, step.arguments)


CASES = (reductions, updates, powers, products, windows, summed_windows, cumulative, searches, rows, arithmetic,
         layouts, left_factors, transforms, classes, structured)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="only pairs whose name contains this")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    table = Table("pair", "case", "first, us", "second, us", "ratio", title="equal forms on " + jax.default_backend())
    figures = []
    with jax.enable_x64(True):
        for pair in (pair for case in CASES for pair in case()):
            if options.only not in pair.name:
                continue
            first, second = (microseconds(form, pair.arguments) for form in (pair.first, pair.second))
            figures.append({"pair": pair.name, "case": pair.case, "first": first, "second": second})
            table.add_row(pair.name, pair.case, f"{first:.1f}", f"{second:.1f}", f"{first / second:.2f}")
    Console().print(table)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
