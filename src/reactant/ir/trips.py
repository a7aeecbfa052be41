"""How often a `stablehlo.while` turns, where that is known."""
from __future__ import annotations

from dataclasses import dataclass

from jaxlib.mlir import ir

from reactant.ir.ops import constant_value


@dataclass(frozen=True)
class Counter:
    """The carried value `index` runs from `start` by `step` while `counter direction limit` holds."""

    index: int
    start: int
    step: int
    limit: int
    direction: str

    @property
    def trips(self) -> int | None:
        """Number of turns; None when it would not end."""
        start, step, limit = self.start, self.step, self.limit
        if self.direction in ("LE", "GE"):
            limit += 1 if self.direction == "LE" else -1
        if self.direction in ("LT", "LE"):
            return 0 if start >= limit else -(-(limit - start) // step) if step > 0 else None
        if self.direction in ("GT", "GE"):
            return 0 if start <= limit else -(-(start - limit) // -step) if step < 0 else None
        if self.direction == "NE":
            gap = limit - start
            return gap // step if step and gap % step == 0 and gap // step >= 0 else None
        return None


def trip_count(op: ir.Operation) -> int | None:
    """The number of turns of a counted loop, or None."""
    counter = counter_of(op)
    return None if counter is None else counter.trips


def counter_of(op: ir.Operation) -> Counter | None:
    """The counter that ends the loop, when start, step and limit are constants."""
    condition = op.regions[0].blocks[0]
    test = _owner(condition.operations[len(condition.operations) - 1].operation.operands[0])
    if test is None or test.name != "stablehlo.compare":
        return None
    direction = str(test.attributes["comparison_direction"]).split()[-1].rstrip(">")
    left, right = test.operands
    if _argument(left, condition) is None:
        left, right = right, left
        direction = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}.get(direction, direction)
    index, limit = _argument(left, condition), _integer(right)
    if index is None or limit is None:
        return None
    start, step = _integer(op.operands[index]), _step(op, index)
    return None if start is None or step is None else Counter(index, start, step, limit, direction)


def _step(op: ir.Operation, index: int) -> int | None:
    body = op.regions[1].blocks[0]
    update = _owner(body.operations[len(body.operations) - 1].operation.operands[index])
    if update is None or update.name not in ("stablehlo.add", "stablehlo.subtract"):
        return None
    left, right = update.operands
    if update.name == "stablehlo.add" and _argument(left, body) != index:
        left, right = right, left
    amount = _integer(right)
    if _argument(left, body) != index or amount is None:
        return None
    return amount if update.name == "stablehlo.add" else -amount


def _owner(value: ir.Value) -> ir.Operation | None:
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner


def _argument(value: ir.Value, block: ir.Block) -> int | None:
    """The position of a value among the arguments of `block`."""
    if isinstance(value.owner, ir.Block) and value.owner == block:
        return ir.BlockArgument(value).arg_number
    return None


def _integer(value: ir.Value) -> int | None:
    constant = constant_value(value)
    return int(constant) if constant is not None and constant.ndim == 0 and constant.dtype.kind in "iu" else None
