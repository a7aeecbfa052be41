"""What README.md says in figures: orders of convergence, and times of the same steps by three ways."""
from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import reactant

from .. import _beside
from .cases import VELOCITY, Cavity, carried
from .mesh import Mesh, ring, wavy
from .model import advect, propagate

YARDSTICK = Path(__file__).with_name("yardstick.cpp")
Fields = tuple[np.ndarray, np.ndarray, np.ndarray]


@cache
def natively(kernel: Any) -> Any:
    """The kernel compiled for itself as native code of the CPU, threads and all."""
    return reactant.kernel(kernel, lower="native")


def by_hand(library: Any, mesh: Mesh, fields: Fields, dt: float, steps: int) -> None:
    """`model.propagate` by the loops of yardstick.cpp."""
    kept = [np.zeros_like(field) for field in fields]
    failed = _beside.called(library.propagate, mesh.count, mesh.elements, mesh.D, mesh.ax, mesh.ay, mesh.bx, mesh.by,
                            mesh.jacobian, float(mesh.weights[0]), mesh.own, mesh.outside, mesh.wall, mesh.normal_x,
                            mesh.normal_y, *fields, *kept, dt, steps)
    if failed:
        raise ValueError(f"yardstick.cpp has no elements of {mesh.count} nodes a side")


def error_of_advection(size: int, order: int, way: Any, time: float = 0.1) -> float:
    """Of the carried wave on size x size bent elements, over the wave's own norm."""
    mesh = wavy(size, order)
    q, steps = carried(mesh, 0.0), int(np.ceil(time * size * (order + 1) ** 2 * 1.5))
    way(advect)(mesh, q, *VELOCITY, time / steps, steps)
    return mesh.norm(q - carried(mesh, time)) / mesh.norm(q)


def error_of_cavity(size: int, order: int, way: Any, time: float = 0.5) -> float:
    """Of the electric field of a mode of the round cavity."""
    mesh, cavity = ring(size, order), Cavity()
    fields, steps = cavity.fields(mesh, 0.0), int(np.ceil(time * size * (order + 1) ** 2 * 0.7))
    way(propagate)(mesh, *fields, time / steps, steps)
    return mesh.norm(fields[2] - cavity.fields(mesh, time)[2]) / mesh.norm(cavity.fields(mesh, 0.0)[2])


def errors(console: Console, size: int = 8) -> None:
    """Errors at two sizes, and the order between them, of both systems."""
    table = Table("", "order of polynomials", f"{size // 2}", f"{size}", "order of convergence",
                  title="relative errors by elements across")
    for name, error in (("advection", error_of_advection), ("Maxwell", error_of_cavity)):
        for order in (2, 3, 4):
            coarse, fine = (error(count, order, reactant.jit) for count in (size // 2, size))
            table.add_row(name, str(order), f"{coarse:.2e}", f"{fine:.2e}", f"{np.log2(coarse / fine):.2f}")
    console.print(table)


def speed(console: Console, size: int = 16, order: int = 4, steps: int = 20) -> None:
    """Steps of Maxwell's equations as one program, kernel by kernel, and in C++ with OpenMP."""
    mesh, cavity, one = ring(size, order), Cavity(), reactant.jit(propagate)
    library, compiler = _beside.library(YARDSTICK)
    dt, kept = 0.2 / (size * (order + 1) ** 2), {}

    def fresh(name: str) -> Fields:
        kept[name] = cavity.fields(mesh, 0.0)
        return kept[name]
    ways = {"one program": lambda f: one(mesh, *f, dt, steps),
            "kernel by kernel": lambda f: propagate(mesh, *f, dt, steps, natively),
            compiler: lambda f: by_hand(library, mesh, f, dt, steps)}
    _beside.compare(console, f"{mesh.elements} elements of {mesh.count}^2 nodes, {steps} steps",
                    {name: (lambda name=name: fresh(name), call) for name, call in ways.items()})
    first, *others = kept
    for name in others:
        console.print(f"{name}: ez differs by {np.abs(kept[name][2] - kept[first][2]).max():.1e}")
