"""python -m examples.ocean [film | speed | derivatives | assimilate] [--size N]: README.md has what each prints."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m examples.ocean", description=__doc__)
    parser.add_argument("what", nargs="?", default="film", choices=["film", "speed", "derivatives", "assimilate"])
    parser.add_argument("--output", type=Path, default=Path("ocean.gif"), help="the film to write")
    parser.add_argument("--size", type=int, help="cells along the channel")
    parser.add_argument("--days", type=float, default=40.0, help="of the film")
    parser.add_argument("--adjoint-steps", type=int, default=0,
                        help="of the heat transport whose sensitivities are mapped below (compiles for very long)")
    options = parser.parse_args()
    console = Console()
    size = {} if options.size is None else {"size": options.size}
    if options.what == "film":
        from .film import make

        make(options.output, console, days=options.days, adjoint_steps=options.adjoint_steps, **size)
    else:
        from . import measure

        getattr(measure, options.what)(console, **size)
    sys.exit(0)
