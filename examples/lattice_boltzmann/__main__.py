"""python -m examples.lattice_boltzmann [picture | errors | derivatives | speed] [--size N]: see README.md."""
from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console

from .. import _command
from . import measure


def picture(console: Console, options: argparse.Namespace) -> None:
    """Draw what README.md shows."""
    from .picture import draw
    from .shape import optimise, settled, standard

    channel = standard(options.size or 20)
    with console.status("compiling the flow and its adjoint"):
        found, drags, around_sphere = optimise(channel, rounds=options.rounds,
                                               told=lambda drag: console.print(f"drag {drag:.6f}"))
    around_best = settled(channel, found, 960)
    console.print(f"coefficients {np.round(found, 4).tolist()}: drag {100 * (1 - min(drags) / drags[0]):.1f} % "
                  "less than the sphere's")
    bodies = [channel.solid(np.zeros(1)), channel.solid(found)]
    draw(channel, bodies, [around_sphere, around_best], drags, options.output)
    console.print(f"{options.output}: speeds, and drag by evaluation", soft_wrap=True)


if __name__ == "__main__":
    parser = _command.command("lattice_boltzmann", __doc__, "cells across", "derivatives")
    parser.add_argument("--rounds", type=int, default=8, help="of L-BFGS, for the picture")
    _command.run(parser, measure, picture)
