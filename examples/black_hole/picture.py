"""The picture: where the array measured, the image found, and the ring that was observed."""
from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from .telescopes import FIELD, Observation, ring


def draw(seen: Observation, found: np.ndarray, output: Path) -> None:
    """Baselines, reconstruction, truth.

    Args:
        seen: the observation.
        found: image, (size, size), Jy a pixel.
        output: PNG to write.
    """
    figure = Figure(figsize=(9.5, 3.4), dpi=80, layout="constrained")
    plane, image, truth = figure.subplots(1, 3)
    baselines = np.concatenate([seen.uv, -seen.uv]) / 1e9
    plane.plot(*baselines.T, ".", markersize=3)
    plane.set(xlabel="u, 1e9 wavelengths", ylabel="v, 1e9 wavelengths", title="what was measured", aspect="equal")
    plane.invert_xaxis()
    true, half = ring(128), 0.5 * FIELD
    # absolute position is not observed: the image is shown around its own centre of light
    shift = [round(0.5 * (seen.size - 1) - np.average(np.arange(seen.size), weights=found.sum(axis=other)))
             for other in (1, 0)]
    for axes, pixels, title in ((image, np.roll(found, shift, (0, 1)), f"found, {seen.size} x {seen.size}"),
                                (truth, true, "what was there")):
        axes.imshow(pixels * pixels.size, cmap="afmhot", extent=(half, -half, -half, half), vmin=0.0,
                    vmax=true.max() * true.size)
        axes.set(xlabel="east, microarcseconds", title=title)
    figure.savefig(output)
