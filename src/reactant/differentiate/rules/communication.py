"""Collectives and shardings. Each device has its own operands and results, so the transpose of "every device gets the
sum" is "every device gets the sum of the cotangents"."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.declare import (
    Call,
    Contribution,
    Tangents,
    attributes_of,
    derivative,
    linear,
    number,
    refused,
    zeros,
)
from reactant.differentiate.rules.bodies import body_of
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, tensor_type

GROUPS = ("replica_groups", "channel_handle", "use_global_device_ids")


def _groups(call: Call) -> dict[str, ir.Attribute]:
    return {name: value for name, value in attributes_of(call.op).items() if name in GROUPS}


def _summing(op: ir.Operation, dtype: np.dtype) -> None:
    """Fill the region of a collective with a sum."""
    scalar = tensor_type((), dtype)
    ops.fill_region(op.regions[0], [scalar, scalar], lambda a, b: [ops.add(a, b)])


def all_sum(call: Call, x: ir.Value) -> ir.Value:
    """The sum over the devices of each group of a collective, on all of them."""
    op = ops.create("stablehlo.all_reduce", [x.type], [x], _groups(call), regions=1)
    _summing(op, dtype_of(x))
    return op.result


# ---- all_reduce ----------------------------------------------------------------------------------------------------

def _reduced(call: Call) -> str:
    kind = body_of(call.op)
    if kind not in ("add", "maximum", "minimum"):
        raise call.refuse("only sums, maxima and minima over devices have a derivative.")
    return kind


def _all_reduce_forward(call: Call, tangents: Tangents) -> Tangents:
    """Devices with equal extremes share evenly."""
    if _reduced(call) == "add":
        return [None if t is None else all_sum(call, t) for t in tangents]
    found: list[ir.Value | None] = []
    for x, y, t in zip(call.operands, call.results, tangents, strict=True):
        if t is None:
            found.append(None)
            continue
        extreme = ops.compare(x, y, "EQ")
        count = all_sum(call, ops.convert(extreme, dtype_of(x)))
        found.append(ops.divide(all_sum(call, ops.select(extreme, t, zeros(t))), count))
    return found


def _all_reduce_reverse(call: Call, g: Sequence[ir.Value | None], wanted: Sequence[bool]) -> list[Contribution] | None:
    if _reduced(call) != "add":
        return None
    return [None if each is None or not want else all_sum(call, each) for each, want in zip(g, wanted, strict=True)]


derivative("all_reduce", _all_reduce_forward, _all_reduce_reverse)


# ---- parts to and from devices -------------------------------------------------------------------------------------

def _each(call: Call, tangents: Tangents) -> Tangents:
    return call.again([zeros(x) if t is None else t for x, t in zip(call.inputs, tangents, strict=True)])


def _gathered_reverse(call: Call, g: Sequence[ir.Value | None], wanted: Sequence[bool]) -> list[Contribution]:
    """Each device gets its part of the sum."""
    dimension = attr.integer(call.attributes["all_gather_dim"])
    found: list[Contribution] = []
    for x, each in zip(call.inputs, g, strict=True):
        if each is None:
            found.append(None)
            continue
        op = ops.create("stablehlo.reduce_scatter", [x.type], [each], {**_groups(call), "scatter_dimension": dimension},
                        regions=1)
        _summing(op, dtype_of(x))
        found.append(op.result)
    return found


derivative("all_gather", _each, _gathered_reverse)


def _scattered_forward(call: Call, tangents: Tangents) -> Tangents:
    if body_of(call.op) != "add":
        raise call.refuse("only sums over devices have a derivative.")
    return _each(call, tangents)


def _scattered_reverse(call: Call, g: Sequence[ir.Value | None], wanted: Sequence[bool]) -> list[Contribution]:
    if body_of(call.op) != "add":
        raise call.refuse("only sums over devices have a derivative.")
    dimension = attr.integer(call.attributes["scatter_dimension"])
    return [ops.create("stablehlo.all_gather", [call.inputs[0].type], [g[0]],
                       {**_groups(call), "all_gather_dim": dimension}).result]


derivative("reduce_scatter", _scattered_forward, _scattered_reverse)


def _exchanged_reverse(call: Call, g: Sequence[ir.Value | None], wanted: Sequence[bool]) -> list[Contribution]:
    given = attributes_of(call.op)
    given["split_dimension"], given["concat_dimension"] = given["concat_dimension"], given["split_dimension"]
    return [None if each is None else ops.create("stablehlo.all_to_all", [x.type], [each], given).result
            for x, each in zip(call.inputs, g, strict=True)]


derivative("all_to_all", _each, _exchanged_reverse)


def _sent_back(call: Call, g: ir.Value) -> list[Contribution]:
    pairs = np.asarray(call.attributes["source_target_pairs"])[:, ::-1]
    given = {**attributes_of(call.op),
             "source_target_pairs": attr.integer_matrix(tuple(tuple(int(d) for d in pair) for pair in pairs))}
    return [ops.create("stablehlo.collective_permute", [g.type], [g], given).result]


linear("collective_permute", _sent_back)


def _broadcast_transpose(call: Call, g: ir.Value) -> list[Contribution]:
    """The first device of each group gets the sum, the others nothing."""
    firsts = [int(group[0]) for group in np.asarray(call.attributes["replica_groups"])]
    across = "partition_id" if "channel_handle" in call.op.attributes else "replica_id"
    here = ops.create(f"stablehlo.{across}", [tensor_type((), np.dtype(np.uint32))], []).result
    first = ops.constant(False)
    for each in firsts:
        first = ops.or_(first, ops.compare(here, each, "EQ"))
    total = all_sum(call, g)
    return [ops.select(ops.broadcast_in_dim(first, shape_of(total), ()), total, number(0, total))]


linear("collective_broadcast", _broadcast_transpose)


# ---- where arrays lie ----------------------------------------------------------------------------------------------

for _name in ("sdy.sharding_constraint", "sdy.reshard", "stablehlo.custom_call@Sharding"):
    linear(_name, lambda call, g: call.again([g]))
linear("sdy.propagation_barrier", lambda call, g: [g])

refused("Take the derivative inside of it (of the function that each device runs), or write the function for whole "
        "arrays and let the compiler divide them.",
        "sdy.manual_computation", "stablehlo.custom_call@SPMDFullToShardShape",
        "stablehlo.custom_call@SPMDShardToFullShape")
refused("Explicit movements of shards come of partitioning, after derivatives are taken. Differentiate the program "
        "before it is partitioned.",
        *(f"sdy.{name}" for name in ("all_gather", "all_reduce", "all_slice", "all_to_all", "collective_permute",
                                     "reduce_scatter", "replicated_to_unreduced", "sharded_to_unreduced",
                                     "named_computation")))
