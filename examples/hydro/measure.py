"""What README.md says in figures: errors by mesh, and times of the same run by four ways."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import reactant

from .. import _beside
from . import exact
from .model import Blast, kernels, run

BY_NAME = ("corner_nodes", "node_corners", "neighbours", "mass", "node_mass", "free_x", "free_y", "free_z", "x", "y",
           "z", "vx", "vy", "vz", "hx", "hy", "hz", "mx", "my", "mz", "energy", "volume", "pressure", "sound",
           "expansion", "shortest", "rate", "length", "fx", "fy", "fz")
YARDSTICK = Path(__file__).with_name("yardstick.cpp")


def by_hand(library: Any, blast: Blast, end: float) -> int:
    """`model.run` by the loops of yardstick.cpp."""
    return int(_beside.called(library.run, blast.elements, blast.nodes, blast.clock, end,
                              *(getattr(blast, name) for name in BY_NAME)))


def shock_seen(blast: Blast) -> float:
    """Where density, averaged over shells, falls through the middle between its peak and the gas outside, m."""
    radius, density = blast.profile()
    width = 1.125 / blast.side
    shell = (radius / width).astype(int)
    volume = np.bincount(shell, blast.volume)
    mean = np.bincount(shell, blast.volume * density) / np.maximum(volume, 1e-300)
    middle = np.bincount(shell, blast.volume * radius) / np.maximum(volume, 1e-300)
    peak = int(np.argmax(mean))
    half = 0.5 * (mean[peak] + 1.0)
    after = peak + int(np.argmax(mean[peak:] < half))
    share = (mean[after - 1] - half) / (mean[after - 1] - mean[after])
    return float(middle[after - 1] + share * (middle[after] - middle[after - 1]))


def errors(console: Console, size: int = 24, end: float = 0.8) -> None:
    """Radius of the shock, energy and density beside the exact solution, on three meshes."""
    one = reactant.jit(run)
    table = Table("elements", "steps", "radius of the shock", "exact", "mean error of density", "change of energy")
    for side in (size // 3, 2 * size // 3, size):
        blast = Blast(side)
        before = sum(blast.energies())
        steps = one(blast, kernels(), end)
        at = exact.shock_radius(0.851072, 1.0, float(blast.clock["time"][0]))
        radius, density = blast.profile()
        error = np.sum(blast.mass * np.abs(1.0 - exact.density_at(radius, at) / density)) / np.sum(blast.mass)
        table.add_row(f"{side}^3", str(int(steps)), f"{shock_seen(blast):.4f} m", f"{at:.4f} m", f"{error:.3f}",
                      f"{sum(blast.energies()) / before - 1:.1e}")
    console.print(table)


def speed(console: Console, size: int = 24, end: float = 0.03) -> None:
    """The run until `end` as one program, kernel by kernel, and in C++ with OpenMP."""
    one = reactant.jit(run)
    library, compiler = _beside.library(YARDSTICK)
    kept: dict[str, Blast] = {}

    def fresh(name: str) -> Blast:
        kept[name] = Blast(size)
        return kept[name]
    ways = {"one program": lambda b: one(b, kernels(), end),
            "kernel by kernel": lambda b: run(b, kernels("native"), end),
            compiler: lambda b: by_hand(library, b, end)}
    _beside.compare(console, f"a blast in {size}^3 elements until {end} s",
                    {name: (lambda name=name: fresh(name), call) for name, call in ways.items()})
    first, *others = kept
    for name in others:
        console.print(f"{name}: energies differ by {np.abs(kept[name].energy - kept[first].energy).max():.1e} of "
                      f"{kept[first].energy.max():.1f} J/kg")
