"""What README.md says in figures: gradients beside JAX's and differences, the fit beside the truth, and times."""
from __future__ import annotations

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

import reactant

from .. import _beside
from .fitting import START, compiled, deviations, fit, flat
from .neuron import TRUTH, UNKNOWN, bounded, misfit, neuron, record, values


def errors(console: Console, size: int = 4) -> None:
    """The gradient beside that of plain JAX and differences; what is found by either, in standard errors."""
    with jax.enable_x64(True):
        cell = neuron(size)
        seen = record(cell)
        given = seen.current, seen.voltage
        loss = misfit(cell)
        ours, theirs, plain = compiled(cell), jax.jit(jax.value_and_grad(loss)), jax.jit(loss)
        start = flat(bounded().inverse(values(START)))
        (value, slopes), (expected, by_jax) = ours(values(start), *given), theirs(values(start), *given)
        slope, other = flat(slopes), flat(by_jax)
        direction, step = np.random.default_rng(2).standard_normal(start.shape), 1e-6
        change = (plain(values(start + step * direction), *given)
                  - plain(values(start - step * direction), *given)) / (2.0 * step)
        console.print(f"misfit {float(value):.10f}, JAX {float(expected):.10f}; gradient differs from that of JAX by "
                      f"{np.abs(slope - other).max() / np.abs(other).max():.1e} of the largest; along a random "
                      f"direction {np.sum(slope * direction):.5f}, by differences {float(change):.5f}")
        away = {}
        for name, way in (("compiled", ours), ("plain JAX", theirs)):
            found = fit(way, seen)
            away[name] = (found.numbers - TRUTH) / deviations(cell, seen, found.numbers)
            console.print(f"{name}: misfit {found.misfits[-1]:.6f} after {len(found.misfits)} evaluations")
        table = Table("(found - true) / standard error", *away)
        for (part, name), *each in zip(UNKNOWN, *away.values(), strict=True):
            table.add_row(f"{part} {name}", *(f"{number:.2f}" for number in each))
        console.print(table)


def speed(console: Console, size: int = 4) -> None:
    """Misfit and gradient, and the simulation alone, beside the same function under `jax.jit`."""
    with jax.enable_x64(True):
        cell = neuron(size)
        seen = record(cell)
        at = bounded().inverse(values(START))
        loss = misfit(cell)

        def timed(way: object) -> tuple[object, object]:
            return (lambda: None), (lambda _: jax.block_until_ready(way(at, seen.current, seen.voltage)))

        title = f"{len(cell.nodes)} compartments, {len(seen.current)} sweeps of {seen.current.shape[1]} steps: "
        _beside.compare(console, title + "misfit and gradient", {
            "compiled": timed(compiled(cell)), "plain JAX": timed(jax.jit(jax.value_and_grad(loss))),
            "JAX's gradient, compiled": timed(reactant.jit(jax.value_and_grad(loss)))})
        _beside.compare(console, title + "misfit", {
            "compiled": timed(reactant.jit(loss)), "plain JAX": timed(jax.jit(loss))})
