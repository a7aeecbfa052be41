"""The commands of the gallery: `python -m examples.NAME [picture | errors | speed] [--size N]`."""
from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console


def command(name: str, description: str | None, size: str, *also: str) -> argparse.ArgumentParser:
    """The options of an example.

    Args:
        name: of its folder, and of the picture that it writes.
        description: what is printed first.
        size: what `--size` counts.
        also: what it can do beside a picture, `errors` and `speed`.
    """
    parser = argparse.ArgumentParser(prog=f"python -m examples.{name}", description=description)
    parser.add_argument("what", nargs="?", default="picture", choices=["picture", "errors", *also, "speed"])
    parser.add_argument("--size", type=int, help=size)
    parser.add_argument("--output", type=Path, default=Path(f"{name}.png"), help="the picture to write")
    return parser


def run(parser: argparse.ArgumentParser, measure: ModuleType, picture: Callable[[Console, Any], None]) -> None:
    """Do what is asked: `picture`, given the options, or the function of that name in `measure`."""
    options, console = parser.parse_args(), Console()
    if options.what == "picture":
        picture(console, options)
    else:
        size = {} if options.size is None else {"size": options.size}
        getattr(measure, options.what)(console, **size)
