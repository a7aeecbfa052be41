"""python -m examples.ocean [film | sensitivity | spectrum | speed | derivatives | assimilate] [--size]: see README."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m examples.ocean", description=__doc__)
    parser.add_argument("what", nargs="?", default="film",
                        choices=["film", "sensitivity", "spectrum", "speed", "derivatives", "assimilate"])
    parser.add_argument("--output", type=Path, help="the film or picture to write (ocean.gif, sensitivity.png)")
    parser.add_argument("--size", type=int, help="cells along the channel")
    parser.add_argument("--days", type=float, default=40.0, help="of the film or of the spectrum")
    parser.add_argument("--adjoint-steps", type=int, default=0,
                        help="of the heat transport whose sensitivities are mapped below (compiles for very long)")
    options = parser.parse_args()
    console = Console()
    size = {} if options.size is None else {"size": options.size}
    if options.what == "film":
        from .film import make

        make(options.output or Path("ocean.gif"), console, days=options.days, adjoint_steps=options.adjoint_steps,
             **size)
    elif options.what == "sensitivity":
        from .film import map_sensitivity

        map_sensitivity(options.output or Path("sensitivity.png"), console, **size)
    elif options.what == "spectrum":
        from .eddies import spectrum

        spectrum(console, days=options.days, **size)
    else:
        from . import measure

        getattr(measure, options.what)(console, **size)
    sys.exit(0)
