"""The picture: absorption of the materials over energy, and what the rate depends on."""
from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from .reactor import CHANNELS, SIZES, Reactor, kernel, looked_up


def draw(reactor: Reactor, rate: float, slope: np.ndarray, output: Path) -> None:
    """Macroscopic cross sections, and the share of each nuclide of each material in a rate.

    Args:
        reactor: nuclides and materials.
        rate: of absorption.
        slope: its derivative by densities, (materials, most).
        output: PNG to write.
    """
    figure = Figure(figsize=(9.5, 3.8), dpi=80, layout="constrained")
    curves, bars = figure.subplots(1, 2)
    energy = np.geomspace(0.1, 1e6, 3000)
    for row, name in enumerate(SIZES):
        found = looked_up(reactor, kernel("native"), energy, np.full(len(energy), row, np.int32), reactor.density,
                          reactor.sections)
        curves.loglog(energy, found[:, CHANNELS.index("absorption")], linewidth=0.7, label=name)
    curves.set(xlabel="energy, eV", ylabel="absorption, 1/cm", title="macroscopic cross sections")
    curves.legend(fontsize="small")
    share = reactor.density * slope / rate
    shown = np.where(np.arange(reactor.most) < reactor.count[:, None], 100.0 * share, np.nan)
    image = bars.imshow(shown, cmap="magma_r", aspect="auto", vmin=0.0)
    bars.set_yticks(range(len(SIZES)), list(SIZES))
    bars.set(xlabel="nuclide of the material", title="% of the rate for a density that doubles (derivative)")
    figure.colorbar(image, ax=bars)
    figure.savefig(output)
