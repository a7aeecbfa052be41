"""python -m examples.galaxies [picture | errors | speed] [--size N]: README.md has what each prints."""
from __future__ import annotations

import argparse

from rich.console import Console

from .. import _command
from . import measure
from .catalogue import log_density, mock
from .posterior import best, compiled, draw, given, of_catalogue


def picture(console: Console, options: argparse.Namespace) -> None:
    """Draw what README.md shows."""
    from . import picture as drawing

    seen = mock(options.size or 12)
    with console.status("the best fit, from four redshifts"):
        start = best(seen)
    console.print(f"log-density of the best fit {log_density(start, *given(seen)):.1f}, of the truth "
                  f"{log_density(seen.truth, *given(seen)):.1f}")
    with console.status("400 draws by NUTS"):
        found = draw(of_catalogue(compiled, seen), start, 200, 200)
    console.print(f"{found.gradients} gradients, {found.divergent} divergent trajectories")
    drawing.draw(seen, found.states, options.output)
    console.print(f"{options.output}: fluxes and redshifts", soft_wrap=True)


if __name__ == "__main__":
    _command.run(_command.command("galaxies", __doc__, "galaxies"), measure, picture)
