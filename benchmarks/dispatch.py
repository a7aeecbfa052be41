"""What a call costs: a compiled function of two small NumPy arrays against the same call through jax.jit.

    python benchmarks/dispatch.py [--calls N]

Prints medians of interleaved blocks in microseconds and the ratio to `jax.jit` (NumPy in, jax.Array out, 64 bits).
The second peer also makes a NumPy array of jax's result, which ours always does (and a writable one). At the end, the
same call on arrays that the device holds (jax's; `reactant.array`'s), results left there.
"""
from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import jax
import numpy as np
from jaxlib.mlir import ir

import reactant
from reactant.ir import context
from reactant.runtime.executable import Executable


def module_of(function: Callable, *arguments: np.ndarray) -> ir.Module:
    """The StableHLO that jax makes of `function`."""
    with jax.enable_x64(True):
        text = jax.jit(function).lower(*arguments).as_text()
    with context.building():
        return ir.Module.parse(text)


def medians(forms: dict[str, Callable[[], object]], calls: int, blocks: int = 15) -> dict[str, float]:
    """Seconds a call of each form: the median of `blocks` interleaved blocks."""
    seconds: dict[str, list[float]] = {name: [] for name in forms}
    for form in forms.values():
        for _ in range(20):
            form()
    for _ in range(blocks):
        for name, form in forms.items():
            begun = time.perf_counter()
            for _ in range(calls // blocks + 1):
                form()
            seconds[name].append((time.perf_counter() - begun) / (calls // blocks + 1))
    return {name: statistics.median(values) for name, values in seconds.items()}


def make() -> tuple[Callable, tuple[np.ndarray, np.ndarray]]:
    """The function and its arguments."""
    return lambda a, b: a + b, (np.arange(8.0), np.ones(8))


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=20_000)
    calls = parser.parse_args(arguments).calls
    function, (a, b) = make()
    ours = Executable(module_of(function, a, b))
    whole = reactant.jit(function)
    with jax.enable_x64(True):
        peer = jax.jit(function)
        found = medians({
            "jax.jit": lambda: peer(a, b),
            "jax.jit, then np.asarray": lambda: np.asarray(peer(a, b)),
            "Executable, NumPy out": lambda: ours([a, b]),
            "Executable.on_device": lambda: ours.on_device([a, b]),
            "reactant.jit": lambda: whole(a, b),
        }, calls)
        on_device, held = jax.device_put((a, b)), (reactant.array(a), reactant.array(b))
        device = medians({"jax.jit": lambda: peer(*on_device), "reactant.jit": lambda: whole(*held)}, calls)
    found |= medians({"reactant.jit, jax in 32 bits": lambda: whole(a, b)}, calls)
    print(f"{'two float64[8] arguments':36s} {'us':>8s} {'/ jit':>8s} {'/ jit + asarray':>16s}")
    for name, seconds in found.items():
        print(f"{name:36s} {seconds * 1e6:8.2f} {seconds / found['jax.jit']:8.2f} "
              f"{seconds / found['jax.jit, then np.asarray']:16.2f}")
    for name, seconds in device.items():
        print(f"{name + ', arrays on the device':36s} {seconds * 1e6:8.2f} {seconds / device['jax.jit']:8.2f}")


if __name__ == "__main__":
    main()
