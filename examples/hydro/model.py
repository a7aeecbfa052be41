"""The gas: its mesh and state, and a time step as launches of the kernels of hydro.cu."""
from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import reactant

THREADS = 128
CLOCK = np.dtype([("step", "f8"), ("time", "f8"), ("allowed", "u8")])
FIRST_STEP = 1e-7
CORNER = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)])
"""Corners of an element in the unit cube, as hydro.cu numbers them."""
SIDES = [(0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7)]


@cache
def kernels(lower: str = "auto") -> Any:
    """The kernels of hydro.cu; `lower="native"` runs each by itself, threads and all."""
    return reactant.cuda.load(Path(__file__).with_name("hydro.cu"), lower=lower)


class Blast:
    """An octant of a cold gas at rest with energy in the corner at the origin.

    Args:
        side: elements along an edge.
        size: of the edge, m.
        energy: of the whole blast, eight times that of the octant, J.
        density: of the gas, kg/m3.
        cold: specific energy of the gas, J/kg.
        amplitude: of a smooth distortion of the mesh inside, in parts of an element.

    Corner tables are (8, elements), node tables (8, nodes), neighbours (6, elements): -x, x, -y, y, -z, z. Fields are
    float64 arrays of elements, nodes or corners, changed in place.
    """

    def __init__(self, side: int, size: float = 1.125, energy: float = 0.851072, density: float = 1.0,
                 cold: float = 1e-9, amplitude: float = 0.0) -> None:
        self.side, self.elements, self.nodes = side, side**3, (side + 1)**3
        self.tables(side)
        axes = np.meshgrid(*[np.arange(side + 1.0)] * 3, indexing="ij")
        self.places(*(axis.ravel() for axis in axes[::-1]), size / side, amplitude)
        at_corner = [c[self.corner_nodes] for c in (self.x, self.y, self.z)]
        self.volume = volumes(np.stack(at_corner, axis=-1))
        self.mass = density * self.volume
        self.energy = np.full(self.elements, cold)
        self.energy[0] = energy / 8.0 / self.mass[0]
        self.node_mass = np.bincount(self.corner_nodes.ravel(), np.tile(self.mass / 8.0, 8))
        for name in ("vx", "vy", "vz", "hx", "hy", "hz", "mx", "my", "mz"):
            setattr(self, name, np.zeros(self.nodes))
        for name in ("density", "pressure", "sound", "expansion", "shortest"):
            setattr(self, name, np.zeros(self.elements))
        self.rate, self.length = np.zeros((3, self.elements + 1)), np.zeros((3, self.elements))
        self.fx, self.fy, self.fz = (np.zeros(8 * self.elements + 1) for _ in range(3))
        self.clock = np.array([(FIRST_STEP, 0.0, np.float64(1e30).view(np.uint64))], CLOCK)

    def tables(self, side: int) -> None:
        """Which nodes elements have, which corners nodes have, and which elements are neighbours."""
        z, y, x = (c.ravel() for c in np.indices((side,) * 3))
        nodes = [((z + k) * (side + 1) + y + j) * (side + 1) + x + i for i, j, k in CORNER]
        self.corner_nodes = np.array(nodes, np.int32)
        self.node_corners = np.full((8, self.nodes), 8 * self.elements, np.int32)
        for corner, of in enumerate(self.corner_nodes):
            self.node_corners[corner, of] = corner * self.elements + np.arange(self.elements)
        self.neighbours = np.empty((6, self.elements), np.int32)
        element = np.arange(self.elements)
        for direction, place in enumerate((x, y, z)):
            stride = side**direction
            self.neighbours[2 * direction] = np.where(place > 0, element - stride, element)
            self.neighbours[2 * direction + 1] = np.where(place < side - 1, element + stride, self.elements)

    def places(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, width: float, amplitude: float) -> None:
        """Nodes, and which of their directions are free: the planes at 0 are mirrors."""
        self.free_x, self.free_y, self.free_z = ((c > 0).astype(float) for c in (x, y, z))
        bend = amplitude * np.prod([np.sin(np.pi * c / self.side) for c in (x, y, z)], axis=0)
        self.x, self.y, self.z = (np.ascontiguousarray(width * (c + bend)) for c in (x, y, z))

    def energies(self) -> tuple[float, float]:
        """Internal and kinetic energy of the octant, J."""
        speed = self.vx**2 + self.vy**2 + self.vz**2
        return float(np.sum(self.mass * self.energy)), float(0.5 * np.sum(self.node_mass * speed))

    def profile(self) -> tuple[np.ndarray, np.ndarray]:
        """Distance of each element's middle from the origin, m, and its density, kg/m3."""
        middle = [c[self.corner_nodes].mean(axis=0) for c in (self.x, self.y, self.z)]
        return np.sqrt(sum(c**2 for c in middle)), self.mass / self.volume


def volumes(corner: np.ndarray) -> np.ndarray:
    """Of trilinear hexahedra, m3, from corners (8, elements, 3): both triangulations of each side, seen from 0."""
    def triangle(a: int, b: int, c: int) -> np.ndarray:
        return np.einsum("ed,ed->e", corner[a], np.cross(corner[b], corner[c]))
    return sum(triangle(a, b, c) + triangle(a, c, d) + triangle(a, b, d) + triangle(b, c, d)
               for a, b, c, d in SIDES) / 12.0


def step(blast: Blast, k: Any) -> None:
    """One time step of the length that the one before allowed."""
    b, elements, nodes = blast, blast.elements, blast.nodes
    by_element, by_node = (-(-elements // THREADS), THREADS), (-(-nodes // THREADS), THREADS)
    k.predict_nodes[by_node](nodes, b.clock, b.x, b.y, b.z, b.vx, b.vy, b.vz, b.hx, b.hy, b.hz)
    k.compute_state[by_element](elements, b.corner_nodes, b.hx, b.hy, b.hz, b.vx, b.vy, b.vz, b.mass, b.energy,
                                b.volume, b.density, b.pressure, b.sound, b.expansion, b.shortest, b.rate, b.length)
    k.add_viscosity[by_element](elements, b.neighbours, b.density, b.sound, b.expansion, b.shortest, b.rate, b.length,
                                b.pressure, b.clock)
    k.compute_forces[by_element](elements, b.corner_nodes, b.hx, b.hy, b.hz, b.vx, b.vy, b.vz, b.mass, b.pressure,
                                 b.sound, b.fx, b.fy, b.fz)
    k.move_nodes[by_node](nodes, b.clock, b.node_corners, b.fx, b.fy, b.fz, b.node_mass, b.free_x, b.free_y, b.free_z,
                          b.x, b.y, b.z, b.vx, b.vy, b.vz, b.mx, b.my, b.mz)
    k.update_energy[by_element](elements, b.clock, b.corner_nodes, b.x, b.y, b.z, b.mx, b.my, b.mz, b.fx, b.fy, b.fz,
                                b.mass, b.energy, b.volume)
    k.advance_clock[1, 1](b.clock)


def run(blast: Blast, k: Any, end: float) -> int:
    """Step until `end`, s; returns how many steps it took. `reactant.jit(run)` makes one program of it."""
    steps = 0
    while blast.clock["time"][0] < end:
        step(blast, k)
        steps += 1
    return steps
