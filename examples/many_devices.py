"""Waves in a shallow basin, on as many devices as there are: one device, eight, or four processes, the same file.

    python examples/many_devices.py
    XLA_FLAGS=--xla_force_host_platform_device_count=8 python examples/many_devices.py
    reactant launch -n 4 examples/many_devices.py
    reactant launch -n 4 --restart --checkpoint waves examples/many_devices.py

`advance` is plain NumPy for one device: height h and velocities u, v on a staggered grid with a row and a column of
ghost cells on each side, periodic in y, walls in x.
"""
import os
import sys

import jax
import numpy as np

import reactant

ROWS, COLUMNS = 198, 96
STEPS, EVERY = 200, 50


def advance(h, u, v, steps, dt=0.002, dx=0.01, gravity=1.0):
    """Advance h, u, v, each (rows, columns), in place; gives the total height and the energy."""
    for _ in range(steps):
        u[1:-1, 1:-1] -= gravity * dt / dx * (h[2:, 1:-1] - h[1:-1, 1:-1])
        v[1:-1, 1:-1] -= gravity * dt / dx * (h[1:-1, 2:] - h[1:-1, 1:-1])
        u[0], u[-2], u[-1] = 0.0, 0.0, 0.0
        u[:, 0], u[:, -1] = u[:, -2], u[:, 1]
        v[:, 0], v[:, -1] = v[:, -2], v[:, 1]
        h[1:-1, 1:-1] -= dt / dx * (u[1:-1, 1:-1] - u[:-2, 1:-1] + v[1:-1, 1:-1] - v[1:-1, :-2])
        h[0], h[-1] = h[1], h[-2]
        h[:, 0], h[:, -1] = h[:, -2], h[:, 1]
    inner = h[1:-1, 1:-1]
    return inner.sum(), (gravity * inner**2 + u[1:-1, 1:-1]**2 + v[1:-1, 1:-1]**2).sum() / 2


def drop(index):
    """A part of the initial height: still water of depth 1 and a drop that is about to fall into it."""
    rows, columns = (np.arange(each.start, each.stop) for each in index)
    return 1.0 + 0.2 * np.exp(-((rows[:, None] - 70) ** 2 + (columns - 40) ** 2) / 60.0)


def main():
    print(reactant.cluster())
    place = reactant.mesh(x=jax.device_count()).sharding("x")
    state = {"h": reactant.array(drop, shape=(ROWS, COLUMNS), sharding=place), "step": 0}
    for name in "uv":
        state[name] = reactant.array(lambda index: np.zeros([s.stop - s.start for s in index]), shape=(ROWS, COLUMNS),
                                     sharding=place)
    saved = reactant.Checkpoints() if "REACTANT_CHECKPOINT" in os.environ else None
    if saved is not None and saved.latest is not None:
        state = saved.restore(state)
    compiled = reactant.jit(advance)
    while state["step"] < STEPS:
        volume, energy = compiled(state["h"], state["u"], state["v"], EVERY)
        state["step"] += EVERY
        print(f"step {state['step']}: volume {float(volume):.6f}, energy {float(energy):.6f}")
        if saved is not None:
            saved.save(state["step"], state)
    if len(sys.argv) > 1:           # where to put the heights
        heights = state["h"].gather()
        if reactant.cluster().is_first:
            np.save(sys.argv[1], heights)


if __name__ == "__main__":
    main()
