"""`reactant demo`: unmodified NumPy code, plain and compiled."""
from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from reactant.cli.usage import UsageError

HELP = "compile unmodified NumPy code, compare it with the plain run, draw a picture"

_DEMOS = {
    "tv": "scikit-image's total-variation denoiser on a photograph (default)",
    "heat": "examples/heat.py: a stencil updated in place for 10,000 steps",
    "ocean": "examples/ocean: an ocean model in Numba-CUDA kernels, as a film and a map (takes many minutes)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", choices=_DEMOS, default="tv",
                        help="; ".join(f"{name}: {what}" for name, what in _DEMOS.items()))
    parser.add_argument("--output", type=Path,
                        help="the picture or film to write (default: denoised.png, heat.png or ocean.gif here)")
    parser.add_argument("--repeats", type=int, default=7, help="runs of each kind that are timed (default 7)")
    parser.add_argument("--size", type=int,
                        help="edge of the image or plate, or length of the channel, for a quick look")


def run(options: argparse.Namespace) -> int:
    for name in ("repeats", "size"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name} must be at least 1, not {value}")
    try:        # the picture at the end must not fail after the work
        demo = importlib.import_module(f"reactant.demos.{options.name}")
        from PIL import Image
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("skimage", "PIL", "numba"):
            raise
        raise UsageError(f"the demo needs {error.name}: pip install scikit-image pillow numba-cuda") from None
    if options.size is not None and options.size < demo.SMALLEST:
        raise UsageError(f"--size must be at least {demo.SMALLEST}, not {options.size}")
    output = options.output or demo.OUTPUT
    if not output.absolute().parent.is_dir():
        raise UsageError(f"cannot write '{output}': there is no folder '{output.parent}'")
    if output.is_dir() or Image.registered_extensions().get(output.suffix.lower()) not in Image.SAVE:
        raise UsageError(f"cannot write '{output}': not the name of a picture, such as {demo.OUTPUT}")
    from rich.console import Console

    size = {} if options.size is None else {"size": options.size}
    demo.run(output, Console(), repeats=options.repeats, **size)
    return 0
