"""The picture: what the edges have learned, beside the functions that the formula is made of, and the losses."""
from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .network import Network


def draw(network: Network, losses: np.ndarray, output: Path) -> None:
    """The three edges of a network (2, 1, 1) that has learned exp(sin(pi x) + y^2), and the losses.

    Args:
        network: after its training.
        losses: of all steps.
        output: PNG to write.
    """
    figure = Figure(figsize=(11.0, 2.9), dpi=80, layout="constrained")
    panels = figure.subplots(1, 4)
    x = np.linspace(-1.0, 1.0, 300)[:, np.newaxis]
    inner = network.layers[0].edges(*network.weights[0], np.hstack([x, x]))
    places = np.linspace(network.layers[1].low, network.layers[1].high, 300)
    outer = network.layers[1].edges(*network.weights[1], places)[:, 0, 0]
    # the sum of the first layer is free up to a scale and a shift, so the curves are, too
    sums = np.sin(np.pi * x) + x**2
    scale, shift = np.polyfit(inner.sum(axis=1)[:, 0], sums[:, 0], 1)
    for panel, edge, true, name in ((panels[0], inner[:, 0, 0], np.sin(np.pi * x[:, 0]), "sin(pi x)"),
                                    (panels[1], inner[:, 1, 0], x[:, 0] ** 2, "y^2")):
        beside(panel, x[:, 0], scale * (edge - edge.mean()) + true.mean(), true, name)
    beside(panels[2], scale * places[:, 0] + shift, outer, np.exp(scale * places[:, 0] + shift), "exp(z)")
    panels[3].semilogy(np.convolve(losses, np.full(20, 0.05), "valid"), color="#c03010", linewidth=0.8)
    panels[3].set(title="loss", xlabel="step")
    figure.savefig(output)


def beside(panel: Axes, x: np.ndarray, learned: np.ndarray, true: np.ndarray, name: str) -> None:
    panel.plot(x, true, color="#b0b0b0", linewidth=5, label=name)
    panel.plot(x, learned, color="#c03010", linewidth=1.2, label="learned")
    panel.legend(fontsize=8)
    panel.set_title(f"an edge, and {name}")
