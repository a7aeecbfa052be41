"""Cumulative sums on GPUs: `chlo.scan`, for which XLA has a library's kernel there, behind the `reduce_window` that
rules, derivatives and batches know.

jax lowers `cumsum` to the first for GPUs and to the second for CPUs. `as_windows` puts a module into the form for CPUs;
`as_scans` is for the last step before a GPU's compiler, with the same exceptions that jax makes.
"""
from __future__ import annotations

import jaxlib.version
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import chlo, stablehlo

from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.types import shape_and_dtype, shape_of, tensor_type

FIRST = (0, 11)
"""The jaxlib from which on jax gives scans to GPUs (before, it has the op, and leaves it alone)."""
SCAN, WINDOWS, ADD = "chlo.scan", "stablehlo.reduce_window", "stablehlo.add"


def concerns(source: bytes | str) -> bool:
    """Whether a module's bytecode or text may name scans."""
    return b"scan" in source if isinstance(source, bytes) else SCAN in source


def as_windows(module: ir.Module) -> None:
    """Cumulative sums that are `chlo.scan`, in place, as `stablehlo.reduce_window`. Other scans stay as they are."""
    for op in list(modules.ops_called(SCAN, module)):
        if not _adds_up(op):
            continue
        x, along = op.operands[0], ir.IntegerAttr(op.attributes["dimension"]).value
        back = bool(ir.BoolAttr(op.attributes["is_reverse"]))
        shape, before = shape_of(x), shape_of(x)[along] - 1
        with op.location, ir.InsertionPoint(op):
            sums = ops.reduce_window(
                x, 0, "add", [n if d == along else 1 for d, n in enumerate(shape)],
                padding=[((0, before) if back else (before, 0)) if d == along else (0, 0) for d in range(len(shape))])
        op.results[0].replace_all_uses_with(sums)
        op.erase()


def _adds_up(scan: ir.Operation) -> bool:
    """Whether a scan gives sums of what came so far, from zero, and nobody reads the last one again."""
    if len(scan.operands) != 2 or any(scan.results[1].uses) or 0 in shape_of(scan.operands[0]):
        return False
    block = scan.regions[0].blocks[0]
    step, end = block.operations[0].operation, block.operations[len(block.operations) - 1].operation
    return (len(block.operations) == 2 and step.name == ADD and {*step.operands} == {*block.arguments}
            and [*end.operands] == [step.results[0]] * 2 and _is_zero(scan.operands[1]))


def _is_zero(value: ir.Value) -> bool:
    """Whether it is zero, and not -0.0, from which sums of -0.0 have another sign."""
    spread = ops.made_by(value, "broadcast_in_dim")
    content = ops.constant_value(value if spread is None else spread.operands[0])
    return content is not None and not any(content.tobytes())


def as_scans(module: ir.Module) -> None:
    """Cumulative sums that are `stablehlo.reduce_window`, in place, as `chlo.scan`."""
    if jaxlib.version.__version_info__ < FIRST:
        return
    for op in list(modules.ops_called(WINDOWS, module)):
        if (along := _sums_along(op)) is None:
            continue
        x, (shape, dtype) = op.operands[0], shape_and_dtype(op.operands[0].type)
        first = tensor_type(shape[:along] + shape[along + 1:], dtype)
        with op.location, ir.InsertionPoint(op):
            scan = chlo.ScanOp([x.type], [first], [x], [ops.constant(0, dtype, shape[:along] + shape[along + 1:])],
                               dimension=attr.integer(along), is_reverse=attr.boolean(False),
                               is_associative=attr.boolean(True))
            block = scan.operation.regions[0].blocks.append(first, first)
            with ir.InsertionPoint(block):
                step = stablehlo.add(*block.arguments)
                stablehlo.return_([step, step])
        op.results[0].replace_all_uses_with(scan.operation.results[0])
        op.erase()


def _sums_along(op: ir.Operation) -> int | None:
    """The dimension along which windows are cumulative sums from the front, of what jax has a scan for; else None."""
    shape, dtype = shape_and_dtype(op.operands[0].type)
    if len(op.operands) != 2 or dtype.kind in "bc":
        return None
    block = op.regions[0].blocks[0]
    step = block.operations[0].operation
    if (len(block.operations) != 2 or step.name != ADD or {*step.operands} != {*block.arguments}
            or not _is_zero(op.operands[1]) or op.results[0].type != op.operands[0].type):
        return None
    ones = (1,) * len(shape)
    settings = {name: attr.decode(op.attributes[name]) if name in op.attributes else None
                for name in ("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding")}
    if any(settings[name] not in (None, ones) for name in ("window_strides", "base_dilations", "window_dilations")):
        return None
    for along, extent in enumerate(shape):
        window = tuple(n if d == along else 1 for d, n in enumerate(shape))
        rows = tuple((extent - 1 if d == along else 0, 0) for d in range(len(shape)))
        if extent > 1 and settings["window_dimensions"] == window and _rows(settings["padding"]) == rows:
            return along
    return None


def _rows(padding: object) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(int, row)) for row in padding) if padding is not None else ()    # type: ignore[attr-defined]
