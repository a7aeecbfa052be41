"""What is read of LAPACK's factorizations: Q and R alone, diagonals, values and vectors.

`geqrf` packs R above the vectors that Q is made of, `orgqr` makes Q of those. `mark` puts a barrier over (packed, Q, A)
where nothing else reads the vectors: its derivative is that of Q and R, and needs none of the vectors.
"""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, shape_of, size

ORTHOGONAL = "reactant.orthogonal"
"""Marks a barrier over (R above what is not read, Q, A)."""
DIAGONAL, UPPER = "diagonal", "upper"
"""Parts of matrices."""
LARGE = 1 << 24
"""Elements from which masks are not looked at."""
DEPTH = 8


def mark(module: ir.Module | ir.Operation) -> None:
    """Mark every such factorization in a module."""
    for op in [op for op in modules.walk(module) if ops.target_of(op).endswith(("orgqr_ffi", "ungqr_ffi"))]:
        packed, taus = op.operands
        made = ops.made_by(packed, "custom_call")
        if made is None or not ops.target_of(made).endswith("geqrf_ffi") or list(made.results) != [packed, taus] \
                or shape_of(op.result) != shape_of(packed) or made.block != op.block:
            continue
        if [use.owner.operation for use in taus.uses] != [op] or not reads_only(packed, UPPER, op):
            continue
        op.move_after(made)
        values = [packed, op.result, made.operands[0]]
        with op.location, ir.InsertionPoint(op):
            barrier = ops.create("stablehlo.optimization_barrier", [v.type for v in values], values,
                                 {ORTHOGONAL: ir.UnitAttr.get()}).operation
        barrier.move_after(op)
        for value, result in zip(values[:2], barrier.results, strict=False):
            value.replace_all_uses_except(result, [op, barrier])


VALUES_ALONE = ("gesdd_ffi", "gesvd_ffi", "syevd_ffi", "heevd_ffi", "geev_ffi")
"""LAPACK's routines that leave out vectors where a letter of the configuration is N."""


def share_vectors(module: ir.Module) -> None:
    """Where a rule asks for the vectors of what gave values alone, one call gives both."""
    groups: list[list[ir.Operation]] = []
    for op in [op for op in modules.walk(module) if ops.target_of(op).endswith(VALUES_ALONE)]:
        found = [g for g in groups if g[0].block == op.block and ops.target_of(g[0]) == ops.target_of(op)
                 and g[0].operands[0] == op.operands[0]]
        if found:
            found[0].append(op)
        else:
            groups.append([op])
    for group in groups:
        for more in group:
            covered = [less for less in group if less != more and _has_more(more, less)]
            if covered:
                if more != group[0]:
                    more.move_before(group[0])
                for less in covered:
                    for old, new in zip(less.results, more.results, strict=True):
                        if old.type == new.type:
                            old.replace_all_uses_with(new)
                break


def _has_more(more: ir.Operation, less: ir.Operation) -> bool:
    """Whether a call gives all that is read of another, and vectors beside."""
    if any(list(old.uses) and old.type != new.type for old, new in zip(less.results, more.results, strict=True)):
        return False
    of_more, of_less = ({each.name: each.attr for each in ir.DictAttr(op.attributes["mhlo.backend_config"])}
                        for op in (more, less))
    changed = [name for name in of_less if of_less[name] != of_more.get(name)]
    return bool(changed) and all(ir.IntegerAttr(of_less[name]).value == ord("N") for name in changed)


def reads_only(value: ir.Value, part: str, *but: ir.Operation) -> bool:
    """Whether nothing but the diagonal of matrices, or the upper triangle with it, is read, some ops aside."""
    uses = [(use.owner.operation, use.operand_number) for use in value.uses]
    return all(_user_reads_only(op, number, part) for op, number in uses if op not in but)


def _user_reads_only(op: ir.Operation, number: int, part: str) -> bool:
    shape = shape_of(op.operands[number])
    word = op.name.removeprefix("stablehlo.")
    if word == "slice":
        start, steps = (attr.decode(op.attributes[name]) for name in ("start_indices", "strides"))
        return not any(start[-2:]) and tuple(steps[-2:]) == (1, 1) and reads_only(op.result, part)
    if word == "reshape" and shape_of(op.result) == (*shape[:-2], shape[-2] * shape[-1]):
        return all(_is_diagonal_slice(use.owner.operation, shape[-1] + 1) for use in op.result.uses)
    if word == "select" and number:
        chosen = _known(op.operands[0], DEPTH)
        if chosen is None or chosen.ndim != len(shape):
            return reads_only(op.result, part)
        read = chosen if number == 1 else ~chosen
        return not (np.tril(read, -1).any() or part == DIAGONAL and np.triu(read, 1).any())
    if "trsm" in ops.target_of(op) and not number and part == UPPER:
        return int(ir.IntegerAttr(ir.DictAttr(op.attributes["mhlo.backend_config"])["uplo"]).value) == ord("U")
    return False


def _is_diagonal_slice(op: ir.Operation, step: int) -> bool:
    return op.name == "stablehlo.slice" and attr.decode(op.attributes["start_indices"])[-1] == 0 \
        and attr.decode(op.attributes["strides"])[-1] == step


def _known(value: ir.Value, depth: int) -> np.ndarray | None:
    """Of a mask, or the integers it compares: what it is, where that depends on nothing."""
    if isinstance(value.owner, ir.Block) or not depth or size(shape_of(value)) > LARGE:
        return None
    op, shape = value.owner.operation, shape_of(value)
    word = op.name.removeprefix("stablehlo.")
    if word == "constant":
        return ops.constant_value(value)
    if word == "iota":
        along = attr.decode(op.attributes["iota_dimension"])
        rows = [-1 if d == along else 1 for d in range(len(shape))]
        return np.broadcast_to(np.arange(shape[along], dtype=dtype_of(value)).reshape(rows), shape)
    if word not in KNOWN and word not in ("compare", "broadcast_in_dim"):
        return None
    found = [_known(x, depth - 1) for x in op.operands]
    given = [x for x in found if x is not None]
    if len(given) < len(found):
        return None
    if word == "broadcast_in_dim":
        places = attr.decode(op.attributes["broadcast_dimensions"])
        rows = [given[0].shape[list(places).index(d)] if d in places else 1 for d in range(len(shape))]
        return np.broadcast_to(given[0].reshape(rows), shape)
    if word == "compare":
        return KNOWN[str(attr.decode(op.attributes["comparison_direction"]))](*given)
    return KNOWN[word](*given)


KNOWN = {"add": np.add, "subtract": np.subtract, "and": np.logical_and, "or": np.logical_or, "not": np.logical_not,
         "EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater,
         "GE": np.greater_equal}
"""Ops of masks and of the integers they compare, and directions of comparisons."""
