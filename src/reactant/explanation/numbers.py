"""Numbers and counts as `explain` writes them."""
from __future__ import annotations

from typing import Any


def short(number: float) -> str:
    """A number with a prefix: 1.5k, 20M."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def ms(seconds: float) -> str:
    """Milliseconds."""
    return f"{1e3 * seconds:.1f} ms"


def counts(found: Any) -> str:
    """Names and how often there are such: "add x2, multiply"."""
    return ", ".join(f"{name.removeprefix('stablehlo.')}" + (f" x{n}" if n > 1 else "")
                     for name, n in sorted(found.items(), key=lambda item: (-item[1], item[0])))
