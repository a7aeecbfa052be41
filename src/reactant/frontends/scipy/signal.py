"""`scipy.signal`: recursive filters (`lfilter`, `sosfilt`), which SciPy runs in C.

The part of the inputs is a sum of shifted slices, the part of the outputs a loop along the axis:
a[0] y[n] = sum_k b[k] x[n - k] - sum_k a[k] y[n - k]. The state `zi` of the transposed direct form is what earlier
samples add to the first outputs.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays.shape import axis_in
from reactant.frontends.arrays.tensor import Tensor, wrap
from reactant.ir import ops
from reactant.ir.types import shape_of


def _recursion(driven: Tensor, a: Tensor) -> Tensor:
    """y[n] = driven[n] - sum_{k >= 1} a[k] y[n - k] along the first axis, nothing before the start."""
    order, (n, *rest) = a.shape[0] - 1, driven.shape
    if not order or not driven.size:
        return driven
    back = np.reshape(a[:0:-1], (order,) + (1,) * len(rest)).value()       # a[order], ..., a[1]
    begun = np.concatenate([np.zeros((order, *rest), driven.dtype), driven]).value()
    zero = ops.constant(0, np.int64)

    def iteration(i: ir.Value, y: ir.Value) -> list[ir.Value]:
        window = ops.dynamic_slice(y, [i, *[zero] * len(rest)], (order, *rest))
        weights = ops.broadcast_in_dim(ops.reshape(back, (order,)), (order, *rest), [0])
        fed = ops.reduce(ops.multiply(weights, window), 0, [0], "add")
        place = [ops.add(i, order), *[zero] * len(rest)]
        new = ops.subtract(ops.dynamic_slice(y, place, (1, *rest)), ops.reshape(fed, (1, *rest)))
        return [ops.add(i, 1), ops.dynamic_update_slice(y, new, place)]

    found = ops.while_([zero, begun], lambda i, y: ops.compare(i, n, "LT"), iteration)[1]
    shape = shape_of(found)
    return Tensor.of_value(ops.slice(found, [order] + [0] * len(rest), shape))


def _filtered(b: Tensor, a: Tensor, x: Tensor, zi: Tensor | None) -> tuple[Tensor, Tensor]:
    """Outputs and final state; time and the state's entries along the first axis."""
    order, n = max(b.shape[0], a.shape[0]) - 1, x.shape[0]
    b, a = (np.concatenate([c / a[0], np.zeros(order + 1 - c.shape[0], c.dtype)]) for c in (b, a))
    rest = x.shape[1:]
    before = np.concatenate([np.zeros((order, *rest), x.dtype), x])
    driven = b[0] * x
    for k in range(1, order + 1):
        driven = driven + b[k] * before[order - k:order - k + n]
    state = np.zeros((order, *rest), x.dtype) if zi is None else zi
    if zi is not None and n and order:
        part = min(n, order)
        driven = np.concatenate([driven[:part] + state[:part], driven[part:]])
    y = _recursion(driven, a)
    outputs = np.concatenate([np.zeros((order, *rest), x.dtype), y])
    final = []
    for k in range(order):       # what the last samples add to the output k steps after the end
        left = state[k + n] if k + n < order else np.zeros(rest, x.dtype)
        for j in range(order - k):
            left = left + b[k + 1 + j] * before[order + n - 1 - j] - a[k + 1 + j] * outputs[order + n - 1 - j]
        final.append(left)
    return y, np.stack(final) if final else state


def _to_front(x: Any, axis: int) -> Tensor:
    return np.moveaxis(x, axis, 0)


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    b, a, x = np.atleast_1d(wrap(b)), np.atleast_1d(wrap(a)), wrap(x)
    if b.ndim != 1 or a.ndim != 1:
        raise ValueError("object of too small depth for desired array")
    if not x.ndim:
        raise ValueError("`x` must be at least 1-D.")
    given = (b, a, x) if zi is None else (b, a, x, wrap(zi))
    dtype = np.result_type(*(g.dtype for g in given))
    dtype = dtype if dtype.kind in "fc" else np.dtype(np.float64)
    b, a, x, *state = (g.astype(dtype) for g in given)
    at = axis_in(axis, x.ndim)
    order = max(b.shape[0], a.shape[0]) - 1
    if state:
        wanted = tuple(order if d == at else m for d, m in enumerate(x.shape))
        if state[0].ndim != x.ndim or any(m not in (1, w) or d == at and m != w
                                          for d, (m, w) in enumerate(zip(state[0].shape, wanted, strict=True))):
            raise ValueError(f"Unexpected shape for parameter zi: expected {wanted}, found {state[0].shape}")
        state = [_to_front(np.broadcast_to(state[0], wanted), at)]
    y, final = _filtered(b, a, _to_front(x, at), state[0] if state else None)
    y = np.moveaxis(y, 0, at)
    return y if zi is None else (y, np.moveaxis(final, 0, at))


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    sos, x = np.atleast_2d(wrap(sos)), wrap(x)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    dtype = np.result_type(sos.dtype, x.dtype, *(() if zi is None else (wrap(zi).dtype,)))
    dtype = dtype if dtype.kind in "fc" else np.dtype(np.float64)
    sos, y = sos.astype(dtype), _to_front(x.astype(dtype), axis_in(axis, x.ndim))
    at, finals = axis_in(axis, x.ndim), []
    states = None if zi is None else np.moveaxis(wrap(zi).astype(dtype), at + 1, 1)
    wanted = (sos.shape[0], 2, *y.shape[1:])
    if states is not None and states.shape != wanted:
        raise ValueError(f"Invalid zi shape: its states are {states.shape}, expected {wanted}")
    for section in range(sos.shape[0]):
        y, final = _filtered(sos[section, :3], sos[section, 3:], y, None if states is None else states[section])
        finals.append(final)
    y = np.moveaxis(y, 0, at)
    return y if zi is None else (y, np.moveaxis(np.stack(finals), 1, at + 1))


FUNCTIONS: dict[str, Callable] = {"lfilter": lfilter, "sosfilt": sosfilt}
