"""python -m examples.language_model [picture | errors | speed] [--size N]: README.md has what each prints."""
from __future__ import annotations

import argparse

from rich.console import Console

from .. import _command
from . import measure
from .text import entropy, right, written


def picture(console: Console, options: argparse.Namespace) -> None:
    """Draw what README.md shows."""
    from .picture import draw

    losses, texts = measure.learned(options.size or 600)
    counts = [right(text) for text in texts]
    console.print(f"loss {losses[0]:.2f}, at last {losses[-20:].mean():.3f}; the language's entropy is "
                  f"{entropy():.3f}; {sum(a for a, _ in counts)} of {sum(b for _, b in counts)} sentences are right, "
                  "for example:")
    console.print(written(texts[0])[1:], soft_wrap=True)
    draw(losses, entropy(), [written(text)[1:] for text in texts[:4]], options.output)
    console.print(f"{options.output}: the losses, and what it writes", soft_wrap=True)


if __name__ == "__main__":
    _command.run(_command.command("language_model", __doc__, "steps of training"), measure, picture)
