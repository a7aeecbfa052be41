"""The picture: density on a cut through the mesh, and beside the exact solution."""
from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from . import exact
from .model import Blast


def draw(blast: Blast, output: Path) -> None:
    """A cut through the elements at z = 0, and density over radius.

    Args:
        blast: after a run.
        output: PNG to write.
    """
    side, radius_and_density = blast.side, blast.profile()
    figure = Figure(figsize=(9.0, 4.2), dpi=80, layout="constrained")
    cut, profile = figure.subplots(1, 2)
    plane = (side + 1) ** 2
    x, y = (c[:plane].reshape(side + 1, side + 1) for c in (blast.x, blast.y))
    density = radius_and_density[1]
    mesh = cut.pcolormesh(x, y, density[:side**2].reshape(side, side), cmap="inferno", edgecolors="#ffffff30",
                          linewidth=0.2)
    figure.colorbar(mesh, ax=cut, label="density, kg/m3")
    cut.set(aspect="equal", xlabel="x, m", ylabel="y, m", title=f"{side}^3 elements, {blast.clock['time'][0]:.2f} s")
    shock = exact.shock_radius(0.851072, 1.0, float(blast.clock["time"][0]))
    profile.plot(*(a[:: max(1, len(density) // 6000)] for a in radius_and_density), ",", color="#c03010",
                 label="elements")
    places = np.linspace(0.0, 1.2, 600)
    profile.plot(places, exact.density_at(places, shock), color="black", linewidth=1, label="exact (Sedov)")
    profile.set(xlim=(0, 1.2), xlabel="distance, m", ylabel="density, kg/m3")
    profile.legend()
    figure.savefig(output)
