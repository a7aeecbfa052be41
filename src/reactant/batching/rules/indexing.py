"""Gather and scatter."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.batching.declare import Call, after, batch, encoded


def _numbers(kind: Any, numbers: Any, **changed: Sequence[int]) -> ir.Attribute:
    """Dimension numbers in the order in which their attribute takes them."""
    fields = {**numbers._asdict(), **changed}
    return kind.get(*(value if isinstance(value, int) else list(value) for value in fields.values()))


def _gather(call: Call) -> Sequence[ir.Value]:
    """A batch of operands alone is one more whole dimension of the window; one of indices alone, one more of them."""
    numbers, sizes = call.attributes["dimension_numbers"], call.attributes["slice_sizes"]
    moved: dict[str, Any] = {"offset_dims": after(numbers.offset_dims)}
    operand, indices = call.operands
    if call.batched[0]:
        moved |= {name: after(getattr(numbers, name)) for name in (
            "collapsed_slice_dims", "operand_batching_dims", "start_index_map")}
    if call.batched[1]:
        moved["index_vector_dim"] = numbers.index_vector_dim + 1
        moved["start_indices_batching_dims"] = after(numbers.start_indices_batching_dims)
    if all(call.batched):
        moved["operand_batching_dims"] = (0, *moved["operand_batching_dims"])
        moved["start_indices_batching_dims"] = (0, *moved["start_indices_batching_dims"])
        sizes = (1, *sizes)
    elif call.batched[0]:
        moved["offset_dims"] = (0, *moved["offset_dims"])
        sizes = (call.size, *sizes)
    changed = {"slice_sizes": encoded(sizes),
               "dimension_numbers": _numbers(stablehlo.GatherDimensionNumbers, numbers, **moved)}
    if call.batched[1]:     # each element's are, not all one after the other
        changed["indices_are_sorted"] = ir.BoolAttr.get(False)
    return call.again([operand, indices], **changed)


batch("gather", _gather)


def _scatter(call: Call) -> Sequence[ir.Value]:
    """Of one or more inputs. Updates with a batch at the same places are one more whole dimension of the window."""
    numbers = call.attributes["scatter_dimension_numbers"]
    count = len(call.operands) // 2
    moved: dict[str, Any] = {name: after(getattr(numbers, name)) for name in (
        "update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_dims_to_operand_dims")}
    if call.batched[count]:
        moved["index_vector_dim"] = numbers.index_vector_dim + 1
        moved["input_batching_dims"] = (0, *moved["input_batching_dims"])
        moved["scatter_indices_batching_dims"] = (0, *after(numbers.scatter_indices_batching_dims))
    else:
        moved["update_window_dims"] = (0, *moved["update_window_dims"])
    operands = [call.operands[n] if n == count else call.full(n) for n in range(len(call.operands))]
    changed = {"scatter_dimension_numbers": _numbers(stablehlo.ScatterDimensionNumbers, numbers, **moved)}
    if call.batched[count]:
        changed["indices_are_sorted"] = ir.BoolAttr.get(False)
    return call.again(operands, **changed)


batch("scatter", _scatter)
