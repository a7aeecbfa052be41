"""The picture: the electric field in the cavity on its curved elements, and errors by size."""
from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from .mesh import Mesh


def draw(mesh: Mesh, ez: np.ndarray, errors: dict[int, dict[int, float]], output: Path) -> None:
    """A field and a plot of convergence.

    Args:
        mesh: of the field.
        ez: the field.
        errors: by order of the polynomials, and elements across.
        output: PNG to write.
    """
    figure = Figure(figsize=(9.0, 4.2), dpi=80, layout="constrained")
    field, plot = figure.subplots(1, 2)
    most = float(np.abs(ez).max())
    for x, y, values in zip(mesh.x, mesh.y, ez, strict=True):
        shown = field.pcolormesh(x, y, values, cmap="RdBu_r", vmin=-most, vmax=most, shading="gouraud")
        for edge in (np.s_[0], np.s_[:, 0]):
            field.plot(x[edge], y[edge], color="#00000050", linewidth=0.5)
    figure.colorbar(shown, ax=field, label="electric field")
    field.set(aspect="equal", title=f"{mesh.elements} elements of order {mesh.order}")
    for order, by_size in errors.items():
        sizes = np.array(list(by_size))
        line, = plot.loglog(sizes, list(by_size.values()), "o-", label=f"order {order}")
        plot.loglog(sizes, by_size[sizes[0]] * (sizes / sizes[0]) ** -float(order + 1), ":", color=line.get_color())
    plot.set(xlabel="elements across", ylabel="relative error", title="error, and slopes of order + 1 (dotted)")
    plot.legend()
    figure.savefig(output)
