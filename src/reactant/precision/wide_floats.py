"""The pass that puts sums of limbs in the place of a program's floats."""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.options import CompileOptions
from reactant.precision import rules
from reactant.precision.conversion import Conversion, Format
from reactant.precision.scaled import functions
from reactant.precision.scaled.conversion import ScaledConversion
from reactant.rewrite.report import Became, Leaving

__all__ = ["convert", "formats_of", "functions", "rules"]


def formats_of(options: CompileOptions) -> list[Format]:
    """What the option `floats` asks for."""
    return [Format(np.dtype(source), *options.limbs(source)) for source, _ in options.floats or ()]


def convert(module: ir.Module, options: CompileOptions, leaving: Leaving | None = None) -> list[Became]:
    """Replace the floats that the options name, in place; gives what has become of each. Raises `UnsupportedError` for
    operations without a rule. leaving: what becomes of results that leave the range of the limbs."""
    found = []
    for format_ in formats_of(options):
        made = (ScaledConversion if options.scaled(format_.source.name) else Conversion)(module, format_, options)
        found.append(made.became)
        if leaving is None:
            made.run()
            continue
        places, leaving.flags = made.watched(leaving.flags)
        leaving.places[:0] = [(what, at, str(format_)) for what, at in places]
    return found
