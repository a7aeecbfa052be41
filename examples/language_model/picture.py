"""The picture: the losses above the language's entropy, and what the model writes."""
from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure


def draw(losses: np.ndarray, entropy: float, texts: list[str], output: Path) -> None:
    """Losses of training and texts.

    Args:
        losses: nats a letter, by step.
        entropy: nats a letter that no model can do without.
        texts: what the model has written.
        output: PNG to write.
    """
    figure = Figure(figsize=(9.0, 3.0), dpi=80, layout="constrained")
    curve, page = figure.subplots(1, 2)
    curve.semilogy(losses, color="#c03010", linewidth=0.8, label="loss")
    curve.axhline(entropy, color="black", linewidth=1, label="entropy of the language")
    curve.set(xlabel="step", ylabel="nats a letter")
    curve.legend()
    page.axis("off")
    page.set_title("written after training")
    page.text(0.0, 0.95, "\n\n".join(texts), family="monospace", fontsize=7.5, va="top")
    figure.savefig(output)
