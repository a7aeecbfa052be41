"""What native code does not take: one error, with the line that the op came from."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.errors import Span, UnsupportedError
from reactant.ir.locations import file_and_line


def refused(what: str, op: ir.Operation | None = None, hint: str | None = None) -> UnsupportedError:
    """The error that native code `what` (\"has no math.erf\"), about an op. hint: what to write instead."""
    place = None if op is None else file_and_line(op.location)
    if place is not None and place[0] == "-":       # MLIR's name for the text it parsed
        place = None
    if hint is None:
        hint = "The forms that native code takes are listed in docs/architecture.md, under Native code."
    return UnsupportedError(f"Native code {what}.", hint=hint, code="native-code", span=Span.at(place))
