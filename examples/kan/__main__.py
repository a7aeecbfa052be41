"""python -m examples.kan [picture | errors | speed] [--size N]: README.md has what each prints."""
from __future__ import annotations

import argparse

from rich.console import Console

from .. import _command
from . import measure


def picture(console: Console, options: argparse.Namespace) -> None:
    """Draw what README.md shows."""
    from .picture import draw

    network, losses = measure.learned(options.size or 2000, lambda intervals, count, losses, error: console.print(
        f"{intervals} intervals, {count} numbers: root mean squared error {error:.1e} on points that were not seen"))
    draw(network, losses, options.output)
    console.print(f"{options.output}: what each edge has learned", soft_wrap=True)


if __name__ == "__main__":
    _command.run(_command.command("kan", __doc__, "steps with each number of intervals"), measure, picture)
