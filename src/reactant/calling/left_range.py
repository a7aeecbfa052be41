"""What a call raises where a result has left the range of limbs (`floats=`)."""
from __future__ import annotations

from functools import partial

import ml_dtypes

from reactant.calling.traced import Traced
from reactant.communication.placement import Placement
from reactant.options import CompileOptions
from reactant.rewrite.report import Leaving
from reactant.support.source_lines import text_at


def asked(options: CompileOptions, traced: Traced, placement: Placement | None) -> Leaving | None:
    """What the passes are asked of a program: nothing where nothing is checked. On a mesh results are infinite."""
    return Leaving(traced.flags) if options.floats and options.check and placement is None else None


def tell(traced: Traced, leaving: Leaving | None) -> None:
    """Have a call raise where results leave the range of limbs, before what else it checks: that sees infinities."""
    if leaving is None:
        return
    traced.flags = leaving.flags
    traced.told = [*([] for _ in leaving.places), *(traced.told or [[] for _ in traced.errors])]
    traced.errors = [*(partial(_left_range, *place) for place in leaving.places), *traced.errors]


def _left_range(what: str, at: tuple[str, int] | None, limbs: str) -> FloatingPointError:
    """The error of a result that left the range of the limbs."""
    end = float(ml_dtypes.finfo(limbs.partition("x")[0]).max)
    made = FloatingPointError(
        f"overflow encountered in {what}: {limbs} ends at {end:.2g}. Scale the numbers, leave the line in its own "
        f"format with reactant.without_limbs, or have infinities with check=False.")
    if at is not None:
        file, line = at
        made.add_note(f"in {file}:{line}: {text_at(f'{file}:{line}')}")
    return made
