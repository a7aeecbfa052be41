"""Where an op comes from in the user's source, read from its location."""
from __future__ import annotations

from jaxlib.mlir import ir

KINDS = ("file", "name", "callsite", "fused")


def _kind(location: ir.Location) -> str | None:
    """Which kind of location it is: a class of its own since jaxlib 0.10.1, a question to ask before."""
    if type(location) is ir.Location:
        return next((kind for kind in KINDS if hasattr(location, f"is_a_{kind}")
                     and getattr(location, f"is_a_{kind}")()), None)
    return {"FileLineColLoc": "file", "NameLoc": "name", "CallSiteLoc": "callsite", "FusedLoc": "fused"}.get(
        type(location).__name__)


def file_and_line(location: ir.Location) -> tuple[str, int] | None:
    """File and line of the innermost frame that a location knows."""
    kind = _kind(location)
    if kind == "file":
        return location.filename, location.start_line
    parts: list[ir.Location] = []
    if kind == "name":
        parts = [location.child_loc]
    elif kind == "callsite":
        parts = [location.callee, location.caller]
    elif kind == "fused":
        parts = list(location.locations)
    return next((found for part in parts if (found := file_and_line(part))), None)


def joined(location: ir.Location) -> list[ir.Location]:
    """The locations that one stands for, where several ops have become one."""
    return list(location.locations) if _kind(location) == "fused" and location.locations else [location]


def with_names(location: ir.Location, op: str, function: str) -> ir.Location:
    """A line of a file with the names of an op and of the function around it, as locations of jax's have them; of
    several lines that share an op the first one. Others as they are."""
    while _kind(location) == "fused" and location.locations:
        location = location.locations[0]
    if _kind(location) == "file":
        return ir.Location.name(op, ir.Location.name(function, location))
    return location


__all__ = ["file_and_line", "joined", "with_names"]
