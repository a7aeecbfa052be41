"""The picture: the neuron, what electrodes recorded with what the guess and the fit give, and what was found."""
from __future__ import annotations

from pathlib import Path

import jax
import jaxley as jx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .fitting import START, Fitted
from .neuron import BOUNDS, ELECTRODES, PARENTS, PARTS, STEP, TRUTH, UNKNOWN, Recorded, simulator, values

COLOURS = {"soma": "C3", "apical": "C0", "basal": "C2"}


def ends() -> list[tuple[complex, complex]]:
    """Where branches begin and end in the plane, as complex numbers, micrometres."""
    down, spread, found = -1j, np.exp(0.45j), []
    directions = {0: 1j, 1: 1j, 8: down * np.exp(0.7j), 11: down * np.exp(-0.7j)}
    for branch, parent in enumerate(PARENTS):
        if branch not in directions:
            first = branch == PARENTS.index(parent)
            directions[branch] = directions[parent] * (spread if first else 1.0 / spread)
        start = found[parent][1] if parent > 0 else 0.0
        found.append((start, start + (20.0 if parent < 0 else 100.0) * directions[branch]))
    return found


def morphology(axes: Axes) -> None:
    """Branches in the colours of their parts, electrodes as points."""
    placed = ends()
    for part, branches in PARTS.items():
        for branch in branches:
            start, end = placed[branch]
            axes.plot([start.real, end.real], [start.imag, end.imag], COLOURS[part], linewidth=6 if branch == 0 else 2)
    for number, (branch, place) in enumerate(ELECTRODES):
        start, end = placed[branch]
        at = start + place * (end - start)
        axes.plot(at.real, at.imag, "k^", markersize=6)
        axes.annotate(str(number + 1), (at.real, at.imag), xytext=(6, 0), textcoords="offset points")
    axes.set(title="14 branches, 3 electrodes", aspect="equal")
    axes.axis("off")


def draw(cell: jx.Cell, seen: Recorded, found: Fitted, errors: np.ndarray, output: Path) -> None:
    """Neuron, voltages of one sweep, and parameters.

    Args:
        cell: the neuron.
        seen: what was recorded.
        found: the fit.
        errors: standard errors of what was found, in the order of `UNKNOWN`.
        output: PNG to write.
    """
    figure = Figure(figsize=(11.0, 4.4), dpi=80, layout="constrained")
    tree, traces, numbers = figure.subplots(1, 3, width_ratios=[1.0, 2.0, 1.5])
    morphology(tree)
    simulate, sweep = jax.jit(simulator(cell)), len(seen.current) - 1
    guess, fitted = (np.asarray(simulate(values(at), seen.current))[sweep] for at in (START, found.numbers))
    time = STEP * np.arange(seen.voltage.shape[2])
    for number in range(len(ELECTRODES)):
        below = -130.0 * number
        traces.plot(time, seen.voltage[sweep, number] + below, "0.6", linewidth=2.5, label="recorded")
        traces.plot(time, guess[number] + below, "C1--", linewidth=1.0, label="first guess")
        traces.plot(time, fitted[number] + below, "k", linewidth=0.8, label="fit")
        traces.text(0.0, below - 50.0, str(number + 1))
    traces.legend(*(each[:3] for each in traces.get_legend_handles_labels()), loc="upper center", fontsize="small")
    traces.set(xlabel="time, ms", yticks=[], title=f"one of {len(seen.current)} sweeps; 130 mV between traces")
    rows = np.arange(len(UNKNOWN))
    low, high = np.array([BOUNDS[name] for _, name in UNKNOWN]).T
    numbers.plot((START - low) / (high - low), rows, "C1o", mfc="none", label="first guess")
    numbers.plot((np.array(TRUTH) - low) / (high - low), rows, "k|", markersize=14, label="truth")
    numbers.errorbar((found.numbers - low) / (high - low), rows, xerr=errors / (high - low), fmt="kx", label="fit")
    numbers.set(xlim=(0.0, 1.0), xlabel="between the bounds", yticks=rows, yticklabels=[
        f"{part} {name.removeprefix('HH_').replace('axial_resistivity', 'r_a')}" for part, name in UNKNOWN])
    numbers.invert_yaxis()
    numbers.legend(fontsize="small")
    first, last = found.misfits[0], found.misfits[-1]
    numbers.set_title(f"{len(found.misfits)} evaluations: {first:.0f} to {last:.3f} mV²")
    figure.savefig(output)
