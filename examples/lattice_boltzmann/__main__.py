"""python -m examples.lattice_boltzmann [picture | errors | derivatives | speed] [--size N]: see README.md."""
from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console

from . import measure

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m examples.lattice_boltzmann", description=__doc__)
    parser.add_argument("what", nargs="?", default="picture", choices=["picture", "errors", "derivatives", "speed"])
    parser.add_argument("--size", type=int, help="cells across")
    parser.add_argument("--rounds", type=int, default=8, help="of L-BFGS, for the picture")
    parser.add_argument("--output", type=Path, default=Path("lattice_boltzmann.png"), help="the picture to write")
    options = parser.parse_args()
    console = Console()
    size = {} if options.size is None else {"size": options.size}
    if options.what != "picture":
        getattr(measure, options.what)(console, **size)
    else:
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
