"""What this machine can do at best: bytes and operations a second, and what a call costs. Measured once, and kept.

The roofline model (Williams, Waterman, Patterson 2009, "Roofline", CACM 52(4)): what moves B bytes and computes F
operations takes no less than B / bandwidth and F / rate. Bandwidth depends on where the bytes lie: it is measured with
arrays of several sizes, from the nearest cache to memory (`a + s * b`, as STREAM's triad), with all threads. The rate
of arithmetic is that of a product of matrices; functions such as exp have a rate of their own.
"""
from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import numpy as np

from reactant.api import jit
from reactant.communication.machines import machine_of
from reactant.simplify.facts import target_costs
from reactant.support.records import dataclass

SIZES = tuple(1 << k for k in (14, 17, 19, 21, 23, 25, 27))
"""Bytes of all arrays together that bandwidth is measured with."""
SIDE, EXPONENTIALS = 768, 1 << 17
REPEATS, SECONDS = 7, 0.15
"""Calls of which the fastest counts, at least, and how long that goes on: others may use the machine, too."""


@dataclass(frozen=True)
class Rates:
    """What a device can do at best.

    doubles, singles: operations a second with float64 and float32. special: exponentials a second. bandwidth: (bytes
    that a program goes through again and again, bytes a second from and to where they lie). call: seconds of a call in
    which there is nothing to do. source: how this is known.
    """

    name: str
    doubles: float
    singles: float
    special: float
    bandwidth: tuple[tuple[float, float], ...]
    call: float
    source: str = "measured"

    def bandwidth_at(self, nbytes: float) -> float:
        """Bytes a second of what goes through so many bytes: between two sizes that were measured, the line between
        them (of logarithms)."""
        sizes, rates = zip(*self.bandwidth, strict=True)
        return float(np.exp(np.interp(math.log(max(nbytes, 1.0)), np.log(sizes), np.log(rates))))

    def __str__(self) -> str:
        far = self.bandwidth[-1][1]
        near = max(rate for _, rate in self.bandwidth)
        return (f"{self.name}: {far / 1e9:.3g} GB/s from memory, {near / 1e9:.3g} GB/s from caches, "
                f"{self.doubles / 1e9:.3g} Gflop/s float64, {self.singles / 1e9:.3g} float32, "
                f"{self.special / 1e9:.2g} G exp/s, a call {1e6 * self.call:.2g} us ({self.source})")


def stored_at() -> Path:
    """Where the rates of this device are kept, beside what `reactant calibrate` stores."""
    path = target_costs.stored_at()
    return path.with_name(path.name.replace("calibration-", "rates-", 1))


def rates(again: bool = False) -> Rates:
    """The rates of jax's default device, measured (again) where nobody has done so: some two seconds on a CPU. Of
    accelerators the published figures are taken."""
    device = target_costs.default_device()
    if device.platform != "cpu":
        machine = machine_of(str(device.name), device.platform)
        return Rates(machine.name, machine.doubles, machine.flops, machine.flops / 16, ((1.0, machine.memory),), 10e-6,
                     "published figures")
    path = stored_at()
    if not again:
        try:
            return _from_json(json.loads(path.read_text()))
        except (OSError, ValueError, TypeError, KeyError):
            pass
    found = measure()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(found), indent=1) + "\n")
    except OSError:         # nowhere to keep it
        pass
    return found


def _from_json(found: dict[str, Any]) -> Rates:
    made = Rates(**{**found, "bandwidth": tuple((float(a), float(b)) for a, b in found["bandwidth"])})
    numbers = made.doubles, made.singles, made.special, made.call, *(n for pair in made.bandwidth for n in pair)
    if not made.bandwidth or not all(isinstance(n, (int, float)) and n > 0 for n in numbers):
        raise ValueError("rates are numbers above 0")
    return made


def measure() -> Rates:
    """The rates of this CPU, as programs that are compiled here reach them."""
    nothing = np.zeros(4)
    call = _fastest(jit(lambda x: x + 1.0), nothing)
    bandwidth = []
    for nbytes in SIZES:
        count = nbytes // 24
        # several times through it in one call where that takes less than a call
        a, b = np.ones(count), np.ones(count)
        iterations = max(1, (1 << 22) // nbytes)
        taken = _fastest(jit(_triads, unroll_limit=0), a, b, np.arange(iterations))
        bandwidth.append((float(nbytes), iterations * 24 * count / max(taken - call, 0.2 * taken)))
    # what fits a nearer cache fits the others: small arrays measure how loops begin
    bandwidth = [(size, max(rate for _, rate in bandwidth[k:])) for k, (size, _) in enumerate(bandwidth)]
    product = jit(lambda x, y: x @ y)
    factors = [np.random.default_rng(0).random((SIDE, SIDE)).astype(dtype) for dtype in (np.float64, np.float32)]
    doubles, singles = (2.0 * SIDE ** 3 / _fastest(product, x, x) for x in factors)
    x = np.linspace(-1.0, 1.0, EXPONENTIALS)
    special = EXPONENTIALS / max(_fastest(jit(lambda x: np.exp(x)), x) - call, 1e-9)
    return Rates(_name(), doubles, singles, special, tuple(bandwidth), call)


def _triads(a: np.ndarray, b: np.ndarray, iterations: np.ndarray) -> np.ndarray:
    c = a + 0.5 * b
    for _ in range(1, len(iterations)):
        c, b = b + 0.5 * c, c
    return c


def _fastest(function: Callable, *arguments: Any) -> float:
    """Seconds of the fastest call."""
    jax.block_until_ready(function(*arguments))
    best, count, until = math.inf, 0, time.perf_counter() + SECONDS
    while count < REPEATS or time.perf_counter() < until:
        begun = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        best, count = min(best, time.perf_counter() - begun), count + 1
    return best


def _name() -> str:
    """The processor's name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return target_costs.device_name()
