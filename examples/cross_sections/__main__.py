"""python -m examples.cross_sections [picture | errors | speed] [--size N]: README.md has what each prints."""
from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console

import reactant

from . import measure
from .reactor import Reactor, absorption_rate, kernel

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m examples.cross_sections", description=__doc__)
    parser.add_argument("what", nargs="?", default="picture", choices=["picture", "errors", "speed"])
    parser.add_argument("--size", type=int, help="look-ups")
    parser.add_argument("--output", type=Path, default=Path("cross_sections.png"), help="the picture to write")
    options = parser.parse_args()
    console = Console()
    size = {} if options.size is None else {"size": options.size}
    if options.what != "picture":
        getattr(measure, options.what)(console, **size)
    else:
        from .picture import draw

        reactor = Reactor()
        energy, material, weight = reactor.collisions(options.size or 100_000)
        rate, slope = reactant.value_and_grad(absorption_rate, argnums=0)(
            reactor.density, reactor.sections, energy, reactor, kernel(), material, weight)
        console.print(f"{len(energy)} look-ups: {rate:.6f} absorptions/cm; densities times derivatives add up to "
                      f"{np.sum(reactor.density * slope):.6f}")
        draw(reactor, rate, np.asarray(slope), options.output)
        console.print(f"{options.output}: cross sections, and what the rate depends on", soft_wrap=True)
