"""python -m examples.discontinuous_galerkin [picture | errors | speed] [--size N]: README.md has what each prints."""
from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console

import reactant

from .. import _command
from . import measure
from .cases import Cavity
from .mesh import ring
from .model import propagate


def picture(console: Console, options: argparse.Namespace) -> None:
    """Draw what README.md shows."""
    from .picture import draw

    mesh, cavity = ring(options.size or 4, 4), Cavity()
    fields, steps = cavity.fields(mesh, 0.0), 40
    with console.status("compiling the kernels"):
        reactant.jit(propagate)(mesh, *fields, 0.01 / steps, steps)
        found = {order: {} for order in (2, 3)}
        for order, by_size in found.items():
            for count in (2, 4, 8):
                by_size[count] = measure.error_of_cavity(count, order, reactant.jit)
                console.print(f"order {order}, {count} elements across: error {by_size[count]:.2e}")
    error = np.abs(fields[2] - cavity.fields(mesh, 0.01)[2]).max()
    console.print(f"the field of order 4 differs by {error:.1e} from the mode")
    draw(mesh, fields[2], found, options.output)
    console.print(f"{options.output}: the cavity", soft_wrap=True)


if __name__ == "__main__":
    _command.run(_command.command("discontinuous_galerkin", __doc__, "elements across"), measure, picture)
