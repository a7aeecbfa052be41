"""python -m examples.black_hole [picture | errors | speed] [--size N]: README.md has what each prints."""
from __future__ import annotations

import argparse

from rich.console import Console
from rich.progress import Progress

from .. import _command
from . import measure
from .imaging import compiled, likeness, on_device, reconstruct
from .telescopes import observe, ring


def picture(console: Console, options: argparse.Namespace) -> None:
    """Draw what README.md shows."""
    from .picture import draw

    seen = observe(options.size or 128)
    with Progress(console=console) as progress:
        task = progress.add_task("compiling ehtim's functions and their gradient", total=480)
        found = reconstruct(on_device(seen), compiled, progress=lambda value: progress.update(
            task, advance=1, description=f"objective {value:.3f}"))
    console.print(f"{seen.size} x {seen.size} pixels; correlation with the ring "
                  f"{likeness(found, ring(seen.size)):.3f}")
    draw(seen, found, options.output)
    console.print(f"{options.output}: what was measured, found, and there", soft_wrap=True)


if __name__ == "__main__":
    _command.run(_command.command("black_hole", __doc__, "pixels along an edge"), measure, picture)
