"""What is between two boreholes: a wave solver in NumPy, its gradient, and SciPy's optimiser.

    python examples/tomography.py [--tiny] [--rounds N] [--picture FILE]

    d2p/dt2 = c^2 laplacian(p) + source, second differences in time and space, damped towards the sides

Shots in one hole send waves through the ground; sensors along the other record what arrives. The speed c of each
cell is found by least squares (full-waveform inversion: Tarantola, Geophysics 49, 1984). `reactant.value_and_grad`
differentiates the solver as it stands: the loop over time, the arrays that it writes in place, SciPy's filter.
"""
import argparse
import sys
import time
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize

import reactant

SIDE, STEPS, SHOTS = 72, 320, 8
HOLE = 11
"""Column of the shots; the sensors are as far from the other side."""


def ground(side):
    """Speeds in cells a step: faster downwards, with a slow lens and a fast block. And a guess without these."""
    depth, across = np.mgrid[0:1:side * 1j, 0:1:side * 1j]
    guess = 0.30 + 0.06 * depth
    lens = ((across - 0.5) / 0.17) ** 2 + ((depth - 0.38) / 0.1) ** 2 < 1.0
    block = (np.abs(across - 0.55) < 0.1) & (np.abs(depth - 0.68) < 0.08)
    return guess + 0.03 * gaussian_filter(block - 1.0 * lens, side / 48), guess


def damping(side, width=10):
    """1 inside, less towards the sides, where waves leave."""
    near = np.minimum(np.arange(side), width) / width
    near = np.minimum(near, near[::-1])
    return 1.0 - 0.12 * (1.0 - np.minimum.outer(near, near)) ** 2


def ricker(steps, period=24.0):
    """The pulse of a shot."""
    t = (np.pi * (np.arange(steps) - 1.2 * period) / period) ** 2
    return (1.0 - 2.0 * t) * np.exp(-t)


def record(speed, shot, pulse, keep):
    """What the sensors record of a shot in row `shot`: pressures, (steps, side)."""
    before, now = np.zeros_like(speed), np.zeros_like(speed)
    sensors = np.zeros((len(pulse), len(speed)))
    for step in range(len(pulse)):
        after = 2.0 * now - before
        after[1:-1, 1:-1] += speed[1:-1, 1:-1] ** 2 * (
            now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] - 4.0 * now[1:-1, 1:-1])
        after[shot, HOLE] += pulse[step]
        before, now = now * keep, after * keep
        sensors[step] = now[:, -HOLE]
    return sensors


def speeds(change, guess):
    """The guess and a smooth change of it: what is smaller than a wave leaves no trace in the records."""
    return guess + gaussian_filter(change, len(guess) / 36)


def misfit(change, guess, shots, recorded, pulse, keep):
    """Half the sum of squares of what the sensors would record, less what they did."""
    speed, total = speeds(change, guess), 0.0
    for k in range(len(shots)):
        total += 0.5 * ((record(speed, shots[k], pulse, keep) - recorded[k]) ** 2).sum()
    return total


def invert(guess, data, rounds):
    """Speeds that explain the records, and the misfits on the way."""
    derivative, history = reactant.value_and_grad(misfit), []

    def asked(flat):
        value, slope = derivative(flat.reshape(guess.shape), guess, *data)
        history.append(float(value))
        return history[-1], slope.ravel()

    found = minimize(asked, np.zeros(guess.size), jac=True, method="L-BFGS-B", options={"maxiter": rounds})
    return speeds(found.x.reshape(guess.shape), guess), history


def draw(panels, file):
    """Speeds side by side, slow ones dark."""
    from reactant.demos import picture
    lowest, highest = min(c.min() for c in panels.values()), max(c.max() for c in panels.values())
    picture.write(file, {name: picture.heat_colours(c, lowest, highest) for name, c in panels.items()}, scale=4)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40, help="steps of the optimiser (default 40)")
    parser.add_argument("--tiny", action="store_true", help="a small ground, for a quick look")
    parser.add_argument("--picture", type=Path, help="draw the speeds into this PNG")
    options = parser.parse_args(arguments)
    side, steps, count = (32, 90, 2) if options.tiny else (SIDE, STEPS, SHOTS)
    truth, guess = ground(side)
    shots = np.linspace(HOLE, side - HOLE, count).astype(np.int64)
    pulse, keep = ricker(steps), damping(side)
    started = time.perf_counter()
    recorded = np.stack([record(truth, shot, pulse, keep) for shot in shots])
    print(f"{count} shots of {steps} steps over {side} x {side} cells in NumPy: {time.perf_counter() - started:.2f} s")
    started = time.perf_counter()
    found, history = invert(guess, (shots, recorded, pulse, keep), options.rounds)
    print(f"{len(history)} gradients, compilation included: {time.perf_counter() - started:.2f} s")
    before, after = (np.sqrt(((c - truth)[:, HOLE:-HOLE] ** 2).mean()) for c in (guess, found))
    print(f"misfit {history[0]:.4g} -> {min(history):.4g}; error of the speeds {before:.5f} -> {after:.5f}")
    if options.picture:
        draw({"true speeds": truth, "first guess": guess, "found": found}, options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
