"""python -m examples.hydro [picture | errors | speed] [--size N]: README.md has what each prints."""
from __future__ import annotations

import argparse

from rich.console import Console
from rich.progress import Progress

import reactant

from .. import _command
from . import exact, measure
from .model import Blast, kernels, run


def picture(console: Console, options: argparse.Namespace) -> None:
    """Draw what README.md shows."""
    from .picture import draw

    blast, one, end = Blast(options.size or 45), reactant.jit(run), 0.8
    before, steps = sum(blast.energies()), 0
    with Progress(console=console) as progress:
        task = progress.add_task("compiling the kernels", total=end)
        for stop in range(1, 41):
            steps += int(one(blast, kernels(), end * stop / 40))
            progress.update(task, description="the blast", completed=float(blast.clock["time"][0]))
    at = exact.shock_radius(0.851072, 1.0, float(blast.clock["time"][0]))
    console.print(f"{steps} steps; radius of the shock {measure.shock_seen(blast):.4f} m, exact {at:.4f} m; "
                  f"energy changed by {sum(blast.energies()) / before - 1:.1e}")
    draw(blast, options.output)
    console.print(f"{options.output}: density", soft_wrap=True)


if __name__ == "__main__":
    _command.run(_command.command("hydro", __doc__, "elements along an edge"), measure, picture)
