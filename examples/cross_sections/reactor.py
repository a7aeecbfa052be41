"""Synthetic nuclides and materials, the look-ups, and the rate of a reaction with its derivatives."""
from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import reactant

THREADS = 128
CHANNELS = ("total", "elastic", "absorption", "fission")
LEAST, MOST = 1e-3, 2e7
"""Of energies, eV."""
SIZES = {"fuel": 12, "cladding": 5, "water": 4, "steel": 8}
"""Materials and how many nuclides each has."""


@cache
def kernel(lower: str = "auto") -> Any:
    """The kernel of cross_sections.cu; `lower="native"` runs it as it is."""
    return reactant.cuda.load(Path(__file__).with_name("cross_sections.cu"), "look_up", lower=lower)


class Reactor:
    """Nuclides with resonances, each on its own grid of energies, and materials made of them.

    Args:
        points: of each nuclide's grid.
        nuclides: how many.
        seed: of what is drawn.

    `grid` is (nuclides, points), eV; `sections` (nuclides, points, 4), barn; `nuclide` and `density` (materials, most),
    of which the first `count` of each row are used, 1/(barn cm).
    """

    def __init__(self, points: int = 4096, nuclides: int = 24, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        self.points, self.largest = points, 1 << (points - 1).bit_length() - 1
        spread = random.uniform(np.log(LEAST), np.log(MOST), (nuclides, points))
        spread[:, 0], spread[:, -1] = np.log(LEAST), np.log(MOST)
        self.grid = np.exp(np.sort(spread, axis=1))
        self.sections = np.stack([microscopic(e, random, fissile=n < 4) for n, e in enumerate(self.grid)])
        self.count = np.array(list(SIZES.values()), np.int32)
        self.most = int(self.count.max())
        self.nuclides, self.density = np.zeros((len(SIZES), self.most), np.int32), np.zeros((len(SIZES), self.most))
        for row, size in enumerate(self.count):
            first = 0 if row == 0 else 4
            self.nuclides[row, :size] = np.sort(random.permutation(np.arange(first, nuclides))[:size])
            self.density[row, :size] = 10.0 ** random.uniform(-4.0, -1.5, size)

    def collisions(self, count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Energies, eV, of a flux that is 1/E from 0.1 eV to 1 MeV, materials, and the weight of each particle."""
        random = np.random.default_rng(seed)
        energy = np.exp(random.uniform(np.log(0.1), np.log(1e6), count))
        material = random.choice(len(SIZES), count, p=[0.4, 0.1, 0.4, 0.1]).astype(np.int32)
        return energy, material, random.uniform(0.5, 1.0, count) / count


def microscopic(energy: np.ndarray, random: np.random.Generator, fissile: bool) -> np.ndarray:
    """Single-level Breit-Wigner resonances over 1/v absorption and constant scattering: (points, 4), barn."""
    scattering, captured = np.full_like(energy, random.uniform(2.0, 20.0)), random.uniform(0.1, 5.0) / np.sqrt(energy)
    split = np.zeros_like(energy)
    for middle in np.exp(random.uniform(np.log(1.0), np.log(1e5), 40)):
        width, peak = 0.02 * middle**0.7, 10.0 ** random.uniform(0.5, 3.0)
        shape = 1.0 / (1.0 + (2.0 * (energy - middle) / width) ** 2)
        captured += 0.4 * peak * shape * np.sqrt(middle / energy)
        scattering += 0.6 * peak * shape
        split += peak * shape * (0.5 if fissile else 0.0)
    absorbed = captured + split
    return np.stack([scattering + absorbed, scattering, absorbed, split], axis=-1)


def looked_up(reactor: Reactor, k: Any, energy: np.ndarray, material: np.ndarray, density: np.ndarray,
              sections: np.ndarray) -> np.ndarray:
    """Macroscopic cross sections (look-ups, 4), 1/cm."""
    found = np.zeros((len(energy), len(CHANNELS)))
    k[-(-len(energy) // THREADS), THREADS](
        len(energy), reactor.points, reactor.largest, reactor.most, energy, material, reactor.count, reactor.nuclides,
        density, reactor.grid, sections, found)
    return found


def absorption_rate(density: np.ndarray, sections: np.ndarray, energy: np.ndarray, reactor: Reactor, k: Any,
                    material: np.ndarray, weight: np.ndarray) -> float:
    """Absorptions per centimetre of flight, averaged over particles. `reactant.grad` differentiates it."""
    return np.sum(weight * looked_up(reactor, k, energy, material, density, sections)[:, 2])
