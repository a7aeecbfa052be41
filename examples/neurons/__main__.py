"""python -m examples.neurons [picture | errors | speed] [--size N]: README.md has what each prints."""
from __future__ import annotations

import argparse

import jax
from rich.console import Console

from .. import _command
from . import measure
from .fitting import compiled, deviations, fit
from .neuron import TRUTH, UNKNOWN, neuron, record


def picture(console: Console, options: argparse.Namespace) -> None:
    """Draw what README.md shows."""
    from . import picture as drawing

    with jax.enable_x64(True):
        cell = neuron(options.size or 4)
        seen = record(cell)
        with console.status("fitting") as status:
            found = fit(compiled(cell), seen, progress=lambda misfit: status.update(f"misfit {misfit:.3f} mV2"))
        errors = deviations(cell, seen, found.numbers)
        for (part, name), at, error, true in zip(UNKNOWN, found.numbers, errors, TRUTH, strict=True):
            console.print(f"{part:6} {name:17} {at:.4g} +- {error:.1g}, truth {true:g}")
        drawing.draw(cell, seen, found, errors, options.output)
    console.print(f"{options.output}: the neuron, voltages and conductances", soft_wrap=True)


if __name__ == "__main__":
    _command.run(_command.command("neurons", __doc__, "compartments of a branch"), measure, picture)
