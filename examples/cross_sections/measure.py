"""What README.md says in figures: derivatives beside other ways to have them, and times beside C++."""
from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import reactant

from .. import _beside
from .reactor import CHANNELS, SIZES, Reactor, absorption_rate, kernel, looked_up

YARDSTICK = Path(__file__).with_name("yardstick.cpp")


def yardstick(*flags: str) -> tuple[Any, str]:
    """The library of yardstick.cpp, and by what it was compiled."""
    library, compiler = _beside.library(YARDSTICK, *flags)
    library.rate_and_gradient.restype = ctypes.c_double
    return library, compiler


def by_hand(library: Any, reactor: Reactor, energy: np.ndarray, material: np.ndarray) -> np.ndarray:
    """`reactor.looked_up` by the loop of yardstick.cpp."""
    found = np.empty((len(energy), len(CHANNELS)))
    _beside.called(library.look_up, len(energy), reactor.points, reactor.largest, reactor.most, energy, material,
                   reactor.count, reactor.nuclides, reactor.density, reactor.grid, reactor.sections, found)
    return found


def gradient_by_hand(library: Any, reactor: Reactor, energy: np.ndarray, material: np.ndarray,
                     weight: np.ndarray) -> tuple[float, np.ndarray]:
    """The rate and its derivative by densities, as a programmer derives it."""
    slope = np.zeros_like(reactor.density)
    rate = _beside.called(library.rate_and_gradient, len(energy), reactor.points, reactor.largest, reactor.most, energy,
                          material, reactor.count, reactor.nuclides, reactor.density, reactor.grid, reactor.sections,
                          weight, len(SIZES), slope)
    return rate, slope


def speed(console: Console, size: int = 200_000, points: int = 4096) -> None:
    """Look-ups, and the derivative of a rate by all densities, beside C++."""
    reactor = Reactor(points)
    energy, material, weight = reactor.collisions(size)
    library, compiler = yardstick()
    one = reactant.jit(looked_up)
    given = energy, material, reactor.density, reactor.sections
    _beside.compare(console, f"{size} look-ups, {points} energies a nuclide", {
        "compiled function": (lambda: None, lambda _: one(reactor, kernel(), *given)),
        "the kernel as it is": (lambda: None, lambda _: looked_up(reactor, kernel("native"), *given)),
        compiler: (lambda: None, lambda _: by_hand(library, reactor, energy, material))})
    rest = reactor.sections, energy, reactor, kernel(), material, weight
    by_density = reactant.value_and_grad(absorption_rate, argnums=0)
    by_all = reactant.value_and_grad(absorption_rate, argnums=(0, 1, 2))
    rate = reactant.jit(absorption_rate)
    _beside.compare(console, "the rate of absorption and its derivatives", {
        "rate": (lambda: None, lambda _: rate(reactor.density, *rest)),
        "and by densities": (lambda: None, lambda _: by_density(reactor.density, *rest)),
        "and by densities, cross sections, energies": (lambda: None, lambda _: by_all(reactor.density, *rest)),
        f"rate and by densities, by hand, {compiler}": (
            lambda: None, lambda _: gradient_by_hand(library, reactor, energy, material, weight))})
    found, expected = by_density(reactor.density, *rest), gradient_by_hand(library, reactor, energy, material, weight)
    console.print(f"by hand: derivatives differ by {np.abs(found[1] - expected[1]).max():.1e} of "
                  f"{np.abs(expected[1]).max():.1f}")


def errors(console: Console, size: int = 20_000) -> None:
    """The derivatives beside differences, and sums that have to be the rate itself."""
    reactor = Reactor()
    energy, material, weight = reactor.collisions(size)
    rest = reactor, kernel(), material, weight
    at = reactor.density, reactor.sections, energy
    value, slopes = reactant.value_and_grad(absorption_rate, argnums=(0, 1, 2))(*at, *rest)
    rate = reactant.jit(absorption_rate)
    console.print(f"rate {value:.12f}; sum of densities times derivatives {np.sum(at[0] * slopes[0]):.12f}, of cross "
                  f"sections times theirs {np.sum(at[1] * slopes[1]):.12f}")
    random = np.random.default_rng(2)
    for index, name in enumerate(("densities", "cross sections", "energies")):
        # 1e-9: a particle that crosses a point of a grid has another derivative
        step = 1e-9 if index == 2 else 1e-4
        direction = at[index] * random.standard_normal(at[index].shape)
        ends = [rate(*(a + sign * step * direction if i == index else a for i, a in enumerate(at)), *rest)
                for sign in (1, -1)]
        console.print(f"along a random change of {name}: {np.sum(slopes[index] * direction):.10f}, by differences "
                      f"{(ends[0] - ends[1]) / (2 * step):.10f}")
