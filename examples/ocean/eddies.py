"""What eddies have by theory: the slope of their spectrum of kinetic energy."""
from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.progress import track

import reactant

from . import cases
from .model import Model, run, start

CHUNK, CALLS_A_DAY = 12, 12
"""Time steps of one call (two hours at the channel's time step), and calls of a day."""


def along_channel(model: Model) -> np.ndarray:
    """Twice the kinetic energy of the surface by wave number along the channel, the mean of the rows of the front:
    those of the middle third."""
    rows = model.grid.extent[1]
    middle = slice(rows // 3, rows - rows // 3)
    return sum((np.abs(np.fft.rfft(model.rows(name)[0, middle], axis=1)) ** 2).mean(axis=0) for name in ("u", "v"))


def slope(power: np.ndarray, waves: np.ndarray) -> float:
    """The exponent of the wave number in a power spectrum, by least squares of logarithms."""
    return float(np.polyfit(np.log(waves), np.log(power[waves]), 1)[0])


def spectrum(console: Console, size: int = 64, days: float = 40.0) -> None:
    """The spectrum of the surface's kinetic energy along the channel, the mean of the last quarter of the days, and
    its slope between a third of the channel and eight cells, which reconstruction still resolves. By theory of
    geostrophic turbulence -3 (Charney, J. Atmos. Sci. 28, 1971), at the surface down to -5/3 (Blumen, ibid. 35, 1978).
    """
    model = cases.channel(size, size * 3 // 4, max(size // 6, 4))
    compiled, calls = reactant.jit(run), round(days * CALLS_A_DAY)
    reactant.jit(start, native="never")(model)
    power = np.zeros(size // 2 + 1)
    for call in track(range(calls), "running", console=console):
        compiled(model, CHUNK)
        if 4 * call >= 3 * calls and call % (CALLS_A_DAY // 4) == 0:
            power += along_channel(model)
    waves = np.arange(3, size // 8 + 1)
    cell = model.grid.dx[model.grid.extent[1] // 2] / 1e3
    console.print(f"kinetic energy of the surface, days {0.75 * days:g} to {days:g}: wave number to the power "
                  f"{slope(power, waves):.2f} between {size * cell / waves[-1]:.0f} and {size * cell / waves[0]:.0f} "
                  "km; by wave number "
                  + ", ".join(f"{w}: {power[w] / power[waves[0]]:.2g}" for w in waves), soft_wrap=True)
