"""What README.md says in figures: drag beside known solutions, derivatives, times of the same run by three ways."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import reactant

from .. import _beside
from .flow import Lattice, at_start, body, drag_of, flow, kernels, run
from .shape import drag_of_shape, settled, standard

YARDSTICK = Path(__file__).with_name("yardstick.cpp")
ZICK_HOMSY = {0.027: 2.008, 0.064: 2.810, 0.125: 4.292, 0.216: 7.442}
"""Drag of spheres in a simple cubic array over Stokes' for the mean velocity, by the part of space that they fill."""


def by_hand(library: Any, lattice: Lattice, solid: np.ndarray, f: np.ndarray, steps: int) -> None:
    """`flow.run` by the loops of yardstick.cpp."""
    _beside.called(library.run, *lattice.struct, lattice.tau, lattice.inflow, lattice.force, solid, f,
                   np.empty_like(f), steps)


def array_of_spheres(side: int, filled: float, tau: float = 0.7) -> tuple[Lattice, np.ndarray, float]:
    """A periodic box with a sphere that a force drives the fluid through: the box, the sphere, its radius."""
    lattice = Lattice((side,) * 3, tau, force=1e-6)
    volume = filled * side**3
    return lattice, body(lattice, np.zeros(1), volume, (side / 2,) * 3), (0.75 * volume / np.pi) ** (1 / 3)


def over_stokes(lattice: Lattice, radius: float, f: np.ndarray, k: Any) -> float:
    """Force on the sphere over 6 pi viscosity radius times the mean velocity, in a steady flow."""
    mean = float(np.mean(flow(lattice, k, f)[0])) - 0.5 * lattice.force
    return lattice.force * lattice.cells / (6.0 * np.pi * lattice.viscosity * radius * mean)


def errors(console: Console, size: int = 20) -> None:
    """Drag of periodic spheres at rest in slow flow beside Zick and Homsy's (1982)."""
    table = Table("filled", "radius, cells", "drag over Stokes'", "Zick and Homsy", "difference")
    one = reactant.jit(run)
    for filled, known in ZICK_HOMSY.items():
        lattice, solid, radius = array_of_spheres(size, filled)
        steps = int(size**2 / lattice.viscosity) // 2 * 2
        f = np.asarray(one(lattice, kernels(), solid, at_start(lattice, kernels()), steps))
        found = over_stokes(lattice, radius, f, kernels())
        table.add_row(f"{filled}", f"{radius:.1f}", f"{found:.3f}", f"{known:.3f}",
                      f"{100 * (found / known - 1):+.1f} %")
    console.print(table)


def derivatives(console: Console, size: int = 12, steps: int = 40) -> None:
    """The drag's derivative by the shape beside central differences, and its time beside the flow's."""
    channel, at = standard(size), np.array([0.1, 0.05, 0.02])
    before = settled(channel, np.zeros(3), steps)
    gradient = reactant.value_and_grad(drag_of_shape, argnums=0, checkpoint="sqrt")
    one = reactant.jit(drag_of_shape)
    _, slope = gradient(at, channel, kernels(), before, steps)
    for index in range(3):
        moved = np.eye(3)[index] * 1e-5
        ends = [one(at + sign * moved, channel, kernels(), before, steps) for sign in (1, -1)]
        console.print(f"by coefficient {index}: {slope[index]:.10f}, by differences {(ends[0] - ends[1]) / 2e-5:.10f}")
    ways = {"drag": (lambda: at, lambda a: one(a, channel, kernels(), before, steps)),
            "drag and gradient": (lambda: at, lambda a: gradient(a, channel, kernels(), before, steps))}
    _beside.compare(console, f"{channel.lattice.shape} cells, {steps} steps", ways)


def speed(console: Console, size: int = 32, steps: int = 40) -> None:
    """Steps around a sphere as one program (kernels raised, or as they are), kernel by kernel, and in C++."""
    channel, one = standard(size), reactant.jit(run)
    lattice, solid = channel.lattice, channel.solid(np.zeros(1))
    library, compiler = _beside.library(YARDSTICK)
    begun, kept = at_start(lattice, kernels("native")), {}

    def fresh(name: str) -> np.ndarray:
        kept[name] = begun.copy()
        return kept[name]
    ways = {"one program": lambda f: one(lattice, kernels(), solid, f, steps),
            "one program of native kernels": lambda f: one(lattice, kernels("native"), solid, f, steps),
            "kernel by kernel": lambda f: run(lattice, kernels("native"), solid, f, steps),
            compiler: lambda f: by_hand(library, lattice, solid, f, steps)}
    times = _beside.compare(console, f"{lattice.shape} cells, {steps} steps",
                            {name: (lambda name=name: fresh(name), call) for name, call in ways.items()})
    first, *others = kept
    for name, (_, processor) in times.items():
        different = f", differs by {np.abs(kept[name] - kept[first]).max():.1e}" if name in others else ""
        console.print(f"{name}: {steps * lattice.cells / processor / 1e6:.1f} million cells a second{different}")
    console.print(f"drag {drag_of(lattice, kernels('native'), solid, kept[first]):.6f}")
