"""Transforms and factorizations: the leading dimensions of their operands are a batch already."""
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant.batching.declare import Call, batch, leading
from reactant.ir import attributes as attr
from reactant.ir.cusolver import VENDORS

leading("fft", "cholesky", "triangular_solve")

LAPACK = {"sdcz": ("potrf", "getrf", "geqrf", "gesdd", "gesvd", "gees", "geev", "gehrd", "trsm", "gtsv", "geqp3"),
          "sd": ("syevd", "orgqr", "sytrd", "ormqr"), "cz": ("heevd", "ungqr", "hetrd", "unmqr")}
"""Routines as jax calls them on CPU, by the letters of their element types."""


def _moved_layouts(old: ir.Attribute) -> ir.Attribute:
    """Each layout (dimensions, fastest first) with one dimension more, the slowest."""
    made = []
    for each in old:
        text = str(each)
        inner = text[text.index("<") + 1:text.index(">")].strip("[] ")
        order = [int(n) + 1 for n in inner.split(",")] if inner else []
        made.append(f"dense<{[*order, 0]}> : tensor<{len(order) + 1}xindex>")
    return attr.parse("[" + ", ".join(made) + "]")


def _lapack(call: Call) -> Sequence[ir.Value]:
    attributes = call.op.attributes
    changed = {name: _moved_layouts(attributes[name]) for name in ("operand_layouts", "result_layouts")
               if name in attributes}
    if "mhlo.frontend_attributes" in attributes:
        changed["mhlo.frontend_attributes"] = _one_batch_more(attributes["mhlo.frontend_attributes"])
    made = call.again([call.full(n) for n in range(len(call.operands))], **changed)
    made_by = made[0].owner.operation
    if "sdy.sharding_rule" in made_by.attributes:
        del made_by.attributes["sdy.sharding_rule"]     # speaks of the old dimensions
    return made


def _one_batch_more(old: ir.Attribute) -> ir.Attribute:
    told = {each.name: each.attr for each in ir.DictAttr(old)}
    if "num_batch_dims" in told:
        told["num_batch_dims"] = ir.StringAttr.get(str(int(ir.StringAttr(told["num_batch_dims"]).value) + 1))
    return ir.DictAttr.get(told)


for _letters, _routines in LAPACK.items():
    for _letter in _letters:
        for _routine in _routines:
            batch(f"stablehlo.custom_call@lapack_{_letter}{_routine}_ffi", _lapack)
for _vendor in VENDORS.values():
    batch(f"stablehlo.custom_call@{_vendor}_lu_pivots_to_permutation", _lapack)
