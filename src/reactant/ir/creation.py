"""How ops are made: where they go, who is told of them, and who knows what defines a value.

The rewrite engine asks thousands of rules, of which few build anything: so it says where a rule would build
(`build_before`), and is told of what was built (`record`). Builders (`ops`) see nothing of that.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from jaxlib.mlir import ir

from reactant.ir.types import know_owners

_operation_create = ir.Operation.create
_created: list[ir.Operation] | None = None
_place: ir.Operation | None = None
_entered: list[ir.InsertionPoint | ir.Location] = []


def create(name: str, results: Sequence[ir.Type], operands: Sequence[ir.Value],
           attributes: dict[str, ir.Attribute] | None = None, regions: int = 0) -> ir.Operation:
    """Any op by name, at the current place; what all builders stand on."""
    if _place is not None:
        _enter()
    if _found:
        _found.clear()
    op = _operation_create(name, results=results, operands=operands, attributes=attributes, regions=regions)
    if _created is not None:
        _created.append(op.operation)
    return op


def record(into: list[ir.Operation] | None) -> list[ir.Operation] | None:
    """Append every op built from now on to `into` (None: to nothing) and give what it was before: how the rewrite
    engine learns what a rule built."""
    global _created
    before, _created = _created, into
    return before


def build_before(op: ir.Operation) -> None:
    """Build in front of `op`, with its location, until `leave`. The place is entered with the first op built: a rule
    that declines, as nearly all do that are asked, costs nothing."""
    global _place
    _place = op


def _enter() -> None:
    """Make the place of `build_before` current."""
    global _place
    op, _place = _place, None
    if op is not None:
        place, location = ir.InsertionPoint(op), op.location
        place.__enter__()
        location.__enter__()
        _entered.append(place)
        _entered.append(location)


def leave() -> None:
    """Undo `build_before`."""
    global _place
    _place = None
    while _entered:
        _entered.pop().__exit__(None, None, None)


def note(op: ir.Operation) -> None:
    """Tell the recorder of an op that was made otherwise (a clone)."""
    altered()
    if _created is not None:
        _created.append(op.operation)


@contextmanager
def elsewhere() -> Iterator[None]:
    """What is built inside goes into a module of its own, which nobody is told of: it may be gone before they look."""
    global _created, _place
    before, lent = (_created, _place), know()
    _created = _place = None
    try:
        yield
    finally:
        _created, _place = before
        know(lent)


# ---- what is found out of an op ----------------------------------------------------------------------------------

_found: dict[tuple[str, int], Any] | None = None


def keep_found(keep: bool) -> None:
    """From now on keep what `found` finds, until something is built or `altered` is called; or no longer."""
    global _found
    _found = {} if keep else None


def altered() -> None:
    """Forget what `found` has found."""
    if _found:
        _found.clear()


def kept() -> dict[tuple[str, int], Any] | None:
    """What `found` has found, by what it is and the address of a value, for who keeps it in another way."""
    return _found


def found(what: str, op: ir.Operation, find: Callable[[ir.Operation], Any]) -> Any:
    """`find(op)`, for an op with results: found once where several rules ask for it one after the other. Who gets it
    leaves it as it is."""
    if _found is None:
        return find(op)
    key = what, hash(op.results[0])
    if key not in _found:
        _found[key] = find(op)
    return _found[key]


# ---- owners ----------------------------------------------------------------------------------------------------

Lent = tuple[Mapping[int, ir.OpView], Callable[[int], object]]


def _unheard(address: int) -> None:
    """Nobody wants to know."""


_nobody: Lent = {}, _unheard
_owners, _tell = _nobody


def know(lent: Lent = _nobody) -> Lent:
    """Let `owner` look here first (the address of a value to what defines it), and tell somebody which values it was
    asked about; gives what held before. Whoever lends the table takes out in time what is erased."""
    global _owners, _tell
    before = _owners, _tell
    _owners, _tell = lent
    know_owners(_owners)
    return before


def owner(value: ir.Value) -> ir.OpView | ir.Block:
    """What defines a value; the binding makes a new object each time it is asked, which takes ten times as long."""
    address = hash(value)
    _tell(address)
    found = _owners.get(address)
    return value.owner if found is None else found


def made(value: ir.Value, *names: str) -> ir.OpView | None:
    """The op that defines a value, if it has one of these names."""
    op = owner(value)
    return op if type(op) is not ir.Block and op.name in names else None
