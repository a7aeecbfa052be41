"""`reactant calibrate`: the thresholds of the target stage, measured on this machine.

Each threshold of `simplify/facts/target_costs.py` that can be read off a pair of equal forms has a ladder: cases from
small to large, each the form that programs have and the one that the target stage would make of it, compiled with the
XLA options that programs are compiled with. The threshold is the step of the ladder up to which the second form wins
most, or for what pays from a size on (`RISING`) the one from which on it does. What is measured is stored for this
platform, device and jaxlib, and used from then on; without it the shipped defaults serve.
"""
from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from reactant.ir import modules
from reactant.ir.context import building
from reactant.runtime.compile_options import options_for
from reactant.runtime.facts import facts_of
from reactant.simplify.facts import target_costs
from reactant.simplify.facts.target_costs import Costs
from reactant.simplify.target.target_sorts import exchanges
from reactant.support.records import dataclass

Form = Callable[..., jax.Array]
WORTH, NOISE, MOST = 1.1, 1.05, 2.0
"""How many times faster the second form has to be, all steps together; what is no difference; what counts as more."""
REPEATS = 7
MORE, BURST = 64, 10
"""On accelerators: how many times the elements; calls that are under way at once, since one alone measures the host."""


@dataclass(frozen=True)
class Step:
    """One case of a ladder: the threshold it stands for, and two forms of the same arrays."""

    threshold: float
    first: Form
    second: Form
    arguments: tuple[np.ndarray | jax.Array, ...]


@dataclass(frozen=True)
class Measured:
    """A step as timed: microseconds of each form."""

    name: str
    threshold: float
    first: float
    second: float

    @property
    def ratio(self) -> float:
        return self.first / self.second


def _random(*shape: int, seed: int = 0) -> np.ndarray | jax.Array:
    if math.prod(shape) > 1 << 21:                      # made where it is needed
        return jax.random.uniform(jax.random.key(seed), shape, minval=0.1)
    return np.random.default_rng(seed).uniform(0.1, 1.0, shape)


def _times(count: int, dims: int = 1) -> int:
    """A length, along one of so many dimensions that grow: on accelerators arrays have 64 times the elements they have
    on a CPU, since those of a CPU's caches measure launches there."""
    return count if on_cpu() else count * round(MORE ** (1 / dims))


def on_cpu() -> bool:
    """Whether jax's default device is a CPU."""
    return target_costs.default_platform() == "cpu"


def _sum_over(axis: int) -> Form:
    return lambda x: lax.reduce(x, x.dtype.type(0), lax.add, (axis,))


def _sum_of_slices(axis: int) -> Form:
    def form(x: jax.Array) -> jax.Array:
        total = lax.index_in_dim(x, 0, axis, keepdims=False)
        for i in range(1, x.shape[axis]):
            total = total + lax.index_in_dim(x, i, axis, keepdims=False)
        return total
    return form


def _short_trailing() -> Iterator[Step]:
    for count in (2, 4, 6, 8, 10, 12, 16, 24):
        yield Step(count, _sum_over(1), _sum_of_slices(1), (_random(_times(65536), count),))


def _short_leading() -> Iterator[Step]:
    for count in (2, 4, 8, 16, 24, 32):
        yield Step(count, _sum_over(0), _sum_of_slices(0), (_random(count, _times(65536)),))


def _spread_sums() -> Iterator[Step]:
    """Whether XLA may compute a sum anew for every element that is divided by it, or is to keep it."""
    def divided(total: Form) -> Form:
        return lambda x: x / total(x)[:, None]
    for count in (2, 3, 4, 6, 8, 12):
        yield Step(count, divided(_sum_over(1)), divided(_sum_of_slices(1)), (_random(_times(65536), count),))


def _small_products() -> Iterator[Step]:
    for n in (2, 3, 4, 6, 8, 12):
        yield Step(n, lambda x, y: x @ y, lambda x, y: sum(x[:, :, k, None] * y[:, None, k, :]
                                                           for k in range(x.shape[2])),
                   (_random(_times(16384), n, n), _random(_times(16384), n, n, seed=1)))


def _window_sums() -> Iterator[Step]:
    def separable(x: jax.Array, size: int) -> Any:
        rows = sum(x[i:x.shape[0] - size + 1 + i] for i in range(size))
        return sum(rows[:, j:x.shape[1] - size + 1 + j] for j in range(size))
    side = _times(512, 2)
    for size in (2, 3, 5, 7, 9, 13):
        yield Step(size, lambda x, s=size: lax.reduce_window(x, x.dtype.type(0), lax.add, (s, s), (1, 1), "VALID"),
                   lambda x, s=size: separable(x, s), (_random(side, side),))


def _shifted(x: jax.Array, kernel: jax.Array) -> Any:
    h, w = kernel.shape
    rows, columns = x.shape[0] - h + 1, x.shape[1] - w + 1
    return sum(x[i:i + rows, j:j + columns] * kernel[i, j] for i in range(h) for j in range(w))


def _convolved(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return lax.conv_general_dilated(x[None, None], kernel[None, None], (1, 1), "VALID", precision="highest")[0, 0]


def _convolutions() -> Iterator[Step]:
    side = _times(256, 2)
    for size in (2, 3, 5, 7, 9):
        yield Step(size * size, _convolved, _shifted, (_random(side, side), _random(size, size, seed=1)))


def _stencils() -> Iterator[Step]:
    side = _times(256, 2)
    for size in (2, 3, 5, 7):
        yield Step(size * size, _shifted, _convolved, (_random(side, side), _random(size, size, seed=1)))


def _powers() -> Iterator[Step]:
    for size in (1 << 16, 1 << 18):
        yield Step(1, lambda x: x ** 1.5, lambda x: x * jnp.sqrt(x), (_random(_times(size)),))


def _searches() -> Iterator[Step]:
    def plain(x: jax.Array) -> jax.Array:
        top = x.max(-1, keepdims=True)
        places = lax.broadcasted_iota(jnp.int32, x.shape, 1)
        return lax.select((x == top) | (x != x), places, jnp.full(x.shape, x.shape[1], jnp.int32)).min(-1)
    for rows in map(_times, (1, 4, 64, 1024)):
        yield Step(256 * rows, lambda x: jnp.argmax(x, -1).astype(jnp.int32), plain, (_random(rows, 256),))


def _selects() -> Iterator[Step]:
    def chosen(table: jax.Array, places: jax.Array) -> jax.Array:
        found = jnp.broadcast_to(table[0], places.shape)
        for k in range(1, table.shape[0]):
            found = jnp.where(places == k, table[k], found)
        return found
    for rows in (2, 4, 8, 16):
        places = np.random.default_rng(0).integers(0, rows, _times(1 << 17))
        yield Step(rows, lambda table, places: table[places], chosen, (_random(rows), places))


def _updates() -> Iterator[Step]:
    def written(x: jax.Array, count: int) -> jax.Array:
        return x.at[1:count + 1].set(x[:count] + x[2:count + 2])

    def selected(x: jax.Array, count: int) -> jax.Array:
        row = jnp.arange(x.shape[0])[:, None]
        return jnp.where((row > 0) & (row <= count), jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0), x)
    side = _times(512, 2)
    for part in (0.05, 0.1, 0.25, 0.5):
        count = int(side * part)
        yield Step(part, lambda x, k=count: written(x, k), lambda x, k=count: selected(x, k), (_random(side, side),))


def _plain_updates() -> Iterator[Step]:
    def written(x: jax.Array, y: jax.Array, count: int) -> jax.Array:
        return x.at[1:count + 1].set(y[1:count + 1] * 2)

    def selected(x: jax.Array, y: jax.Array, count: int) -> jax.Array:
        row = jnp.arange(x.shape[0])[:, None]
        return jnp.where((row > 0) & (row <= count), y * 2, x)
    side = _times(512, 2)
    for part in (0.1, 0.25, 0.5, 0.9):
        count = int(side * part)
        yield Step(part, lambda x, y, k=count: written(x, y, k), lambda x, y, k=count: selected(x, y, k),
                   (_random(side, side), _random(side, side, seed=1)))


def _iterations() -> Iterator[Step]:
    def iteration(x: jax.Array) -> jax.Array:
        return x * 0.5 + jnp.abs(x)

    def unrolled(x: jax.Array, count: int) -> jax.Array:
        for _ in range(count):
            x = iteration(x)
        return x
    for count in (2, 4, 8, 16):
        yield Step(count, lambda x, n=count: lax.fori_loop(0, n, lambda _, x: iteration(x), x),
                   lambda x, n=count: unrolled(x, n), (_random(512, 512),))


def _recurrences() -> Iterator[Step]:
    def one_by_one(a: jax.Array, b: jax.Array) -> jax.Array:
        return lax.scan(lambda x, each: (each[0] * x + each[1],) * 2, jnp.zeros((), a.dtype), (a, b))[1]

    def associative(a: jax.Array, b: jax.Array) -> jax.Array:
        return lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b))[1]
    for count in (32, 256, 2048, 16384):
        yield Step(count, one_by_one, associative, (_random(count), _random(count, seed=1)))


def _left_factors() -> Iterator[Step]:
    def turned(x: jax.Array, y: jax.Array) -> jax.Array:
        return lax.optimization_barrier(x.T) @ y
    side = _times(512, 2)
    for columns in (2, 4, 16, 64):
        yield Step(columns, lambda x, y: x.T @ y, turned, (_random(side, side), _random(side, columns, seed=1)))


def _toeplitz() -> Iterator[Step]:
    def made(c: jax.Array, x: jax.Array) -> jax.Array:
        k = jnp.arange(len(x))
        return c[k[:, None] + k[None, :]] @ x

    def convolved(c: jax.Array, x: jax.Array) -> jax.Array:
        return lax.conv_general_dilated(c[None, None], x[None, None], (1,), "VALID", precision="highest")[0, 0]
    for side in (128, 256, 512, 1024):
        yield Step(side, made, convolved, (_random(2 * side - 1), _random(side, seed=1)))


def _tridiagonal() -> Iterator[Step]:
    def whole(low: jax.Array, middle: jax.Array, up: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.linalg.solve(jnp.diag(middle) + jnp.diag(low[1:], -1) + jnp.diag(up[:-1], 1), b)

    def banded(low: jax.Array, middle: jax.Array, up: jax.Array, b: jax.Array) -> jax.Array:
        # lax's tridiagonal_solve wants zeros where the matrix has no elements
        return lax.linalg.tridiagonal_solve(low.at[0].set(0), middle, up.at[-1].set(0), b[:, None])[:, 0]
    for side in (4, 8, 16, 64):
        yield Step(side, whole, banded, (_random(side), 4 + _random(side, seed=1), _random(side, seed=2),
                                         _random(side, seed=3)))


def _short_sorts() -> Iterator[Step]:
    def exchanged(x: jax.Array) -> jax.Array:
        columns = [x[:, k] for k in range(x.shape[1])]
        for i, j in exchanges(len(columns)):
            columns[i], columns[j] = jnp.minimum(columns[i], columns[j]), jnp.maximum(columns[i], columns[j])
        return jnp.stack(columns, 1)
    for count in (3, 6, 12, 16):
        numbers = np.random.default_rng(0).integers(0, 1 << 40, (_times(1 << 14), count))
        yield Step(count, lambda x: lax.sort(x, dimension=1), exchanged, (numbers,))


LADDERS: dict[str, Callable[[], Iterator[Step]]] = {
    "sum_of_slices_trailing": _short_trailing,
    "sum_of_slices": _short_leading,
    "recomputed_terms": _spread_sums,
    "select_fraction": _plain_updates,
    "select_fraction_reading": _updates,
    "unrolled_contraction": _small_products,
    "window_as_slices": _window_sums,
    "convolution_as_slices": _convolutions,
    "stencil_as_convolution": _stencils,
    "fixed_powers": _powers,
    "argmax_as_reductions": _searches,
    "gather_as_selects": _selects,
    "unrolled_iterations": _iterations,
    "scan_iterations": _recurrences,
    "transposed_factor": _left_factors,
    "toeplitz_as_convolution": _toeplitz,
    "banded_solve": _tridiagonal,
    "sort_network": _short_sorts,
}
RISING = {"select_fraction", "select_fraction_reading", "stencil_as_convolution", "argmax_as_reductions",
          "scan_iterations",
          "transposed_factor", "toeplitz_as_convolution", "banded_solve"}
"""What pays from a size on, not up to one."""
NEVER = {"select_fraction": 1.0, "select_fraction_reading": 1.0}
"""What says that the second form never wins, where that is not 0."""


def _compiled(form: Form, arrays: tuple[jax.Array, ...]) -> Callable[..., jax.Array]:
    """A form compiled as programs are: with the XLA options that are chosen for what is in them."""
    lowered = jax.jit(form).lower(*arrays)
    with building():
        facts = facts_of(modules.parse(lowered.as_text()))
    return lowered.compile(compiler_options=options_for(facts, target_costs.default_platform()))


def measure(step: Step) -> tuple[float, float]:
    """Median microseconds of the two forms, their runs interleaved."""
    arrays = tuple(map(jnp.asarray, step.arguments))
    forms = [_compiled(form, arrays) for form in (step.first, step.second)]
    samples: list[list[float]] = [[], []]
    for run in forms:
        jax.block_until_ready(run(*arrays))
    calls = 1 if on_cpu() else BURST
    for _ in range(REPEATS):
        for times, run in zip(samples, forms, strict=True):
            begun = time.perf_counter()
            jax.block_until_ready([run(*arrays) for _ in range(calls)])
            times.append((time.perf_counter() - begun) / calls)
    first, second = (1e6 * statistics.median(times) for times in samples)
    return first, second


def threshold(steps: list[Measured]) -> float:
    """The step of a ladder up to which (of a rising one, from which on) the second form wins most, all steps there
    taken together; 0 where it wins nothing. Times that differ by less than `NOISE` are equal, and no step counts for
    more than a factor of `MOST`: one that was disturbed does not decide."""
    found, won, best = 0.0, 0.0, math.log(WORTH)
    for step in reversed(steps) if steps and steps[0].name in RISING else steps:
        gain = math.log(step.ratio)
        won += 0.0 if abs(gain) < math.log(NOISE) else max(-math.log(MOST), min(gain, math.log(MOST)))
        if won > best + 1e-9:
            found, best = step.threshold, won
    return found


def calibrate(defaults: Costs, each: Callable[[Measured], None] = lambda _: None) -> Costs:
    """The costs of jax's default device: `defaults` with the thresholds that can be measured replaced. `each` is told
    of every step as it is timed."""
    found: dict[str, float] = {}
    with jax.enable_x64(True):
        for name, ladder in LADDERS.items():
            steps = []
            for step in ladder():
                steps.append(Measured(name, step.threshold, *measure(step)))
                each(steps[-1])
            kind = type(getattr(defaults, name))
            found[name] = kind(threshold(steps) or NEVER.get(name, 0))
    return replace(defaults, **found)  # type: ignore[arg-type]


def store(costs: Costs) -> str:
    """Write what was measured where the target stage looks; gives the path."""
    path = target_costs.stored_at()
    path.parent.mkdir(parents=True, exist_ok=True)
    values = {name: getattr(costs, name) for name in LADDERS}
    path.write_text(json.dumps(values, indent=1) + "\n")
    target_costs.forget()
    return str(path)
