"""The picture: the flow around the sphere and around the body of least drag, and drag by evaluation."""
from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from .flow import flow, kernels
from .shape import Channel


def draw(channel: Channel, bodies: list[np.ndarray], flows: list[np.ndarray], drags: list[float], output: Path) -> None:
    """Speeds in the plane through the middle of each body, and the drags.

    Args:
        channel: the box.
        bodies: filled parts of cells of two bodies.
        flows: populations around each.
        drags: by evaluation.
        output: PNG to write.
    """
    figure = Figure(figsize=(10.0, 3.4), dpi=80, layout="constrained")
    axes = figure.subplots(1, 3, width_ratios=[1.2, 1.2, 1.0])
    nz = channel.lattice.shape[2]
    for axis, solid, f, title in zip(axes, bodies, flows, ("sphere", "least drag of that volume"), strict=False):
        ux, uy, _ = (part[nz // 2] for part in flow(channel.lattice, kernels(), f))
        shown = axis.imshow(np.hypot(ux, uy) / channel.lattice.inflow, origin="lower", cmap="viridis",
                            interpolation="bilinear", vmin=0.0)
        axis.contourf(solid.reshape(channel.lattice.shape[::-1])[nz // 2], levels=[0.5, 2.0], colors=["#f0e0c0"])
        axis.set(title=title, xlabel="x, cells", ylabel="y, cells")
    figure.colorbar(shown, ax=axes[:2], label="speed over inflow", shrink=0.8)
    axes[2].plot(np.array(drags) / drags[0], "o-", color="#c03010")
    axes[2].set(xlabel="evaluation", ylabel="drag over the sphere's")
    figure.savefig(output)
