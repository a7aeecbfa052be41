"""The picture: a galaxy's fluxes with spectra drawn from the posterior, and redshifts found beside true ones."""
from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from .catalogue import MIDDLE, SPREAD, Catalogue, physical, split
from .spectra import BANDS, fluxes


def redshifts(states: np.ndarray) -> np.ndarray:
    """(states, galaxies)."""
    return np.exp(MIDDLE[4] + SPREAD[4] * np.stack([split(state)[0][:, 4] for state in states]))


def draw(seen: Catalogue, states: np.ndarray, output: Path) -> None:
    """Fluxes and redshifts.

    Args:
        seen: the catalogue.
        states: of the posterior, (draws, unknowns).
        output: PNG to write.
    """
    figure = Figure(figsize=(9.5, 3.8), dpi=80, layout="constrained")
    light, redshift = figure.subplots(1, 2)
    middle = np.array([np.sqrt(low * high) / 1e4 for low, high in BANDS.values()])
    expected = np.stack([fluxes(*physical(state), seen.tables) for state in states[:: max(1, len(states) // 40)]])
    for galaxy, color in ((0, "C0"), (1, "C1"), (2, "C2")):
        light.loglog(middle, expected[:, galaxy].T, color=color, linewidth=0.4, alpha=0.4)
        light.errorbar(middle, seen.flux[galaxy], seen.error[galaxy], fmt="o", color=color, markersize=4)
    light.set(xlabel="wavelength, micrometres", ylabel="flux, microjansky", ylim=(1e-2, None),
              title="three galaxies: measured, and drawn from the posterior")
    found, true = redshifts(states), redshifts(seen.truth[None])[0]
    low, centre, high = np.percentile(found, [16, 50, 84], axis=0)
    redshift.errorbar(true, centre, [centre - low, high - centre], fmt="o", markersize=4)
    redshift.axline((1.0, 1.0), slope=1.0, color="gray", linewidth=0.7)
    redshift.set(xlabel="redshift", ylabel="found, 68 %", title=f"{len(true)} galaxies from eight colours")
    figure.savefig(output)
