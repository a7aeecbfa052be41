"""python -m examples.cross_sections [picture | errors | speed] [--size N]: README.md has what each prints."""
from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console

import reactant

from .. import _command
from . import measure
from .reactor import Reactor, absorption_rate, kernel


def picture(console: Console, options: argparse.Namespace) -> None:
    """Draw what README.md shows."""
    from .picture import draw

    reactor = Reactor()
    energy, material, weight = reactor.collisions(options.size or 100_000)
    rate, slope = reactant.value_and_grad(absorption_rate, argnums=0)(
        reactor.density, reactor.sections, energy, reactor, kernel(), material, weight)
    console.print(f"{len(energy)} look-ups: {rate:.6f} absorptions/cm; densities times derivatives add up to "
                  f"{np.sum(reactor.density * slope):.6f}")
    draw(reactor, rate, np.asarray(slope), options.output)
    console.print(f"{options.output}: cross sections, and what the rate depends on", soft_wrap=True)


if __name__ == "__main__":
    _command.run(_command.command("cross_sections", __doc__, "look-ups"), measure, picture)
