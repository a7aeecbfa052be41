"""The film: eddies grow out of a front in a channel; below, if asked for, what the heat transport depends on."""
from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image
from rich.console import Console
from rich.progress import Progress

import reactant

from . import adjoint, cases, diagnostics, momentum
from .launching import launch
from .model import Model, run, start

ENDS = np.array([[20, 60, 140], [245, 245, 240], [160, 20, 30]], float)
"""Colours of -1, 0 and 1."""
CHUNK = 12
"""Time steps of one call: two hours."""


def coloured(values: np.ndarray, most: float, scale: int) -> np.ndarray:
    """Red above 0, blue below, white at 0: pixels (rows * scale, columns * scale, 3), northern rows first."""
    x = np.clip(values[::-1] / most, -1.0, 1.0)
    mixed = [np.interp(x, [-1.0, 0.0, 1.0], ENDS[:, channel]) for channel in range(3)]
    return np.stack(mixed, axis=-1).round().astype(np.uint8).repeat(scale, axis=0).repeat(scale, axis=1)


def fully_coloured(values: np.ndarray, scale: int) -> np.ndarray:
    """The same with strong colours for the largest values, whatever they are."""
    return coloured(values, float(np.abs(values).max()) * 0.7, scale)


def one_above_the_other(*pictures: np.ndarray, edge: int = 8) -> np.ndarray:
    """Pictures of one width, with dark edges between them."""
    line = np.full((edge, pictures[0].shape[1], 3), 40, np.uint8)
    return np.concatenate([part for picture in pictures for part in (line, picture)][1:])


def rossby_number(model: Model) -> np.ndarray:
    """Vorticity of the uppermost level over the Coriolis parameter, (rows, columns)."""
    grid = model.grid
    vorticity, found = np.zeros(grid.full), np.zeros(grid.extent[1:])
    launch(momentum.compute_vorticity, grid.full, model.u, model.v, grid.dx, grid.dy, grid.area_south,
           grid.wet_corner, vorticity)
    launch(diagnostics.surface_vorticity, grid.extent[1:], vorticity, grid.coriolis_south, found)
    return found


def make(output: Path, console: Console, size: int = 64, days: float = 40.0, frames: int = 40,
         adjoint_steps: int = 0, scale: int = 8) -> None:
    """Run the channel, write the film (GIF) and its last frame (PNG), below them a map of what the heat transport
    depends on.

    Args:
        output: of the film; the picture gets the same name with `.png`.
        console: where progress is shown.
        size: cells along the channel.
        days: of the film.
        frames: of the film.
        adjoint_steps: of the heat transport that the map is about, after the film; 0 for no map.
        scale: pixels of a cell.
    """
    model = cases.channel(size, size * 3 // 4, max(size // 6, 4))
    compiled, shown = reactant.jit(run), reactant.jit(rossby_number)
    calls = max(int(days * 86400.0 / model.dt / CHUNK), frames)
    pictures: list[np.ndarray] = []
    with Progress(console=console) as progress:
        task = progress.add_task("compiling the kernels", total=None)
        reactant.jit(start, native="never")(model)
        compiled(model, CHUNK)
        progress.update(task, description="running", total=calls, completed=1)
        for call in range(1, calls + 1):
            if call * frames // calls > len(pictures):
                pictures.append(coloured(shown(model), 0.3, scale))
            compiled(model, CHUNK)
            progress.update(task, completed=call)
        if adjoint_steps:
            task = progress.add_task("differentiating them", total=None)
            value, by_temperature, _ = adjoint.sensitivity(model, adjoint_steps, model.grid.extent[1] // 2)
            progress.update(task, total=1, completed=1)
            below = fully_coloured(by_temperature[0], scale)
            pictures = [one_above_the_other(above, below) for above in pictures]
    images = [Image.fromarray(picture).quantize(64) for picture in pictures]
    images[0].save(output, save_all=True, append_images=images[1:], duration=100, loop=0, optimize=True)
    images[-1].save(output.with_suffix(".png"), optimize=True)
    console.print(f"{output}: surface vorticity over f (-0.3 blue, 0.3 red)", soft_wrap=True)
    if adjoint_steps:
        console.print(f"below it, how the heat transport over the next {adjoint_steps} steps, {value:.4f} PW, depends "
                      "on the temperature of the surface", soft_wrap=True)


def map_sensitivity(output: Path, console: Console, size: int = 24, days: float = 10.0, steps: int = 144,
                    scale: int = 16) -> None:
    """Write a picture (PNG) of what the northward heat transport through the middle of the channel depends on: above
    the temperature of the surface at the start, below the wind along the channel. Red: more of it, more transport.

    Args:
        output: the picture.
        console: where it is said what it shows.
        size: cells along the channel.
        days: that the model runs before.
        steps: that the transport is the mean of.
        scale: pixels of a cell.
    """
    model = cases.channel(size, size * 3 // 4, max(size // 6, 4))
    reactant.jit(start, native="never")(model)
    row = model.grid.extent[1] // 2
    adjoint.spin_up(model, round(days * 86400.0 / model.dt / steps), steps, row)
    value, by_temperature, by_stress = adjoint.sensitivity(model, steps, row)
    picture = one_above_the_other(fully_coloured(by_temperature[0], scale), fully_coloured(by_stress, scale))
    Image.fromarray(picture).quantize(64).save(output, optimize=True)
    by_surface, by_wind = np.abs(by_temperature[0]).max(), np.abs(by_stress).max()
    console.print(f"{output}: heat transport over {steps} steps, {value:.6f} PW; by the temperature of a cell of the "
                  f"surface up to {by_surface:.2e} PW/K, by the wind over one up to {by_wind:.2e} PW m2/N",
                  soft_wrap=True)
