"""Products with summation: matmul and its generalised ufuncs, dot, vdot, inner, outer, tensordot, kron, cross, trace.

All of them are one labelled product (`product`): dimensions carry labels as in einsum, a label in both operands and in
the result is a batch, one in both and not in the result is summed. Integer products wrap, bool products are "any of
both", float16 accumulates in float32, as in NumPy.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.implements import implements
from reactant.frontends.arrays.indexing import store
from reactant.frontends.arrays.promotion import loop_dtypes, python_type
from reactant.frontends.arrays.shape import axis_in
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, SCALAR, Tensor, is_tensor, wrap
from reactant.frontends.arrays.ufuncs import cast
from reactant.frontends.session.dispatch import means
from reactant.ir import ops
from reactant.ir.types import Shape, dtype_of, shape_of
from reactant.support.records import dataclass

Labels = Sequence[object]


# ---- the labelled product --------------------------------------------------------------------------------------

def dot(x: ir.Value, y: ir.Value, contracting: tuple, batching: tuple = ((), ())) -> ir.Value:
    """`dot_general` of operands of one dtype with NumPy's accumulation."""
    dtype = dtype_of(x)
    if dtype.kind == "b":
        found = ops.dot_general(ops.convert(x, np.int32), ops.convert(y, np.int32), contracting_dims=contracting,
                                batching_dims=batching)
        return ops.compare(found, 0, "NE")
    if dtype == np.float16:
        found = ops.dot_general(ops.convert(x, np.float32), ops.convert(y, np.float32), contracting_dims=contracting,
                                batching_dims=batching)
        return ops.convert(found, dtype)
    return ops.dot_general(x, y, contracting_dims=contracting, batching_dims=batching)


def sum_over(x: ir.Value, dimensions: Sequence[int]) -> ir.Value:
    """Sum that keeps the dtype (bool: any; float16 accumulates in float32)."""
    if not dimensions:
        return x
    dtype = dtype_of(x)
    if dtype.kind == "b":
        return ops.reduce(x, False, dimensions, "or")
    if dtype == np.float16:
        return ops.convert(ops.reduce(ops.convert(x, np.float32), 0, dimensions, "add"), dtype)
    return ops.reduce(x, 0, dimensions, "add")


@dataclass(frozen=True, slots=True)
class Contraction:
    """How a labelled product of operands of known shapes is made: for each operand its shape without dimensions of size
    one that broadcast, then what is summed out of it alone; then the numbers of the `dot_general`, and the order of its
    dimensions in the result. `extents` are those of the result."""

    shapes: tuple[Shape, Shape]
    sums: tuple[Shape, Shape]
    labels: tuple[tuple, tuple]
    contracting: tuple[Shape, Shape]
    batching: tuple[Shape, Shape]
    order: Shape
    extents: Shape
    empty: bool


@lru_cache(maxsize=4096)
def _contraction(x_shape: Shape, x_labels: tuple, y_shape: Shape, y_labels: tuple, result: tuple) -> Contraction:
    extent: dict = {}
    for shape, labels in ((x_shape, x_labels), (y_shape, y_labels)):
        for n, label in zip(shape, labels, strict=True):
            extent[label] = n if extent.get(label, 1) == 1 else extent[label]
    shapes, sums, left = [], [], []
    for shape, labels in ((x_shape, x_labels), (y_shape, y_labels)):
        kept = [d for d, label in enumerate(labels) if not (shape[d] == 1 and extent[label] != 1)]
        shapes.append(tuple(shape[d] for d in kept))
        left.append(tuple(labels[d] for d in kept))
    for own, other in ((0, 1), (1, 0)):
        needed = {*left[other], *result}
        sums.append(tuple(d for d, label in enumerate(left[own]) if label not in needed))
        left[own] = tuple(label for label in left[own] if label in needed)
    xs, ys = left
    batch = [label for label in xs if label in ys and label in result]
    summed = [label for label in xs if label in ys and label not in result]
    order = [*batch, *(n for n in xs if n not in batch and n not in summed),
             *(n for n in ys if n not in batch and n not in summed)]
    return Contraction(tuple(shapes), tuple(sums), (xs, ys),
                       (tuple(map(xs.index, summed)), tuple(map(ys.index, summed))),
                       (tuple(map(xs.index, batch)), tuple(map(ys.index, batch))),
                       tuple(map(order.index, result)) if summed else (), tuple(extent[label] for label in result),
                       any(extent[label] == 0 for label in summed))


def product(x: ir.Value, x_labels: Labels, y: ir.Value, y_labels: Labels, result: Labels) -> ir.Value:
    """sum over the labels missing in `result` of x * y. Labels are unique within each operand; size-one dimensions
    broadcast. A label of `result` that stands in neither operand's larger dimension keeps the size it has."""
    form = _contraction(shape_of(x), tuple(x_labels), shape_of(y), tuple(y_labels), tuple(result))
    x = sum_over(ops.reshape(x, form.shapes[0]), form.sums[0])
    y = sum_over(ops.reshape(y, form.shapes[1]), form.sums[1])
    if not form.contracting[0]:
        return _outer(x, form.labels[0], y, form.labels[1], result, form.extents)
    if form.empty:
        return ops.constant(0, dtype_of(x), form.extents)
    return ops.transpose(dot(x, y, form.contracting, form.batching), form.order)


def _outer(x: ir.Value, xs: Labels, y: ir.Value, ys: Labels, result: Labels, shape: Shape) -> ir.Value:
    """A product without summation: elementwise after broadcasting."""
    placed = [_place(v, labels, result, shape) for v, labels in ((x, xs), (y, ys))]
    return (ops.and_ if dtype_of(x).kind == "b" else ops.multiply)(*placed)


def _place(x: ir.Value, labels: Labels, result: Labels, shape: Sequence[int]) -> ir.Value:
    order = sorted(range(len(labels)), key=lambda d: list(result).index(labels[d]))
    return ops.broadcast_in_dim(ops.transpose(x, order), shape, [list(result).index(labels[d]) for d in order])


# ---- dtypes and results ----------------------------------------------------------------------------------------

@cache
def _asked(function: Callable, operands: tuple) -> np.dtype:
    """The dtype NumPy's function gives for 1 x 1 (or 0-d) operands of these dtypes; Python types are numbers."""
    ones = [o(1) if isinstance(o, type) else np.ones((1,) * rank, o) for o, rank in operands]
    return np.asarray(function(*ones)).dtype


def _dtype(function: Callable, *operands: Tensor) -> np.dtype:
    """The result dtype of a product of these operands."""
    return _asked(function, tuple((python_type(t.dtype) if t.kind == PYTHON else t.dtype, min(t.ndim, 1))
                                  for t in operands))


def finish(value: ir.Value, out: object = None) -> Tensor:
    """A new array (a scalar where 0-d), or `out` filled."""
    made = Tensor.of_value(value, ARRAY if shape_of(value) else SCALAR)
    if out is None:
        return made
    out = out[0] if isinstance(out, tuple) else out
    if not is_tensor(out) or out.shape != made.shape or out.dtype != made.dtype:
        raise ValueError("output array is not acceptable (must have the right datatype, number of dimensions, and be "
                         "a C-Array)")
    store(out, made)
    return out


# ---- generalised ufuncs ----------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Labelled:
    """The labels of a generalised ufunc's operands and result, those of its core last, and how many of the result's are
    of the core."""

    left: tuple
    right: tuple
    result: tuple
    core: int


def _cores(ranks: tuple[int, int], name: str) -> tuple[list, list, list]:
    """Core labels (x, y, result) of a generalised ufunc; raises NumPy's errors for missing dimensions."""
    if name == "matmul":
        if not all(ranks):
            raise ValueError(f"matmul: Input operand {0 if not ranks[0] else 1} does not have enough dimensions (has 0,"
                             " gufunc core with signature (n?,k),(k,m?)->(n?,m?) requires 1)")
        left, right = (["k"] if ranks[0] == 1 else ["n", "k"]), (["k"] if ranks[1] == 1 else ["k", "m"])
        return left, right, [c for c in ("n", "m") if c in (*left, *right)]
    left, right, out = {"vecdot": (["k"], ["k"], []), "matvec": (["n", "k"], ["k"], ["n"]),
                        "vecmat": (["k"], ["k", "m"], ["m"])}[name]
    for number, (rank, core) in enumerate(zip(ranks, (left, right), strict=True)):
        if rank < len(core):
            raise ValueError(f"{name}: Input operand {number} does not have enough dimensions (has {rank}, gufunc "
                             f"core requires {len(core)})")
    return left, right, out


def _labels(rank: int, core: list) -> tuple:
    """Loop dimensions, numbered from the right, then core labels."""
    loops = rank - len(core)
    return *range(loops - 1, -1, -1), *core


@lru_cache(maxsize=4096)
def _labelled(ufunc: np.ufunc, xs: Shape, ys: Shape) -> Labelled:
    """The labels for operands of these shapes; raises NumPy's errors where they do not fit."""
    x_core, y_core, core = _cores((len(xs), len(ys)), ufunc.__name__)
    summed = ys[len(ys) - len(y_core) + y_core.index("k")]
    if xs[len(xs) - len(x_core) + x_core.index("k")] != summed:
        raise ValueError(f"{ufunc.__name__}: Input operand 1 has a mismatch in its core dimension 0, with gufunc "
                         f"signature {ufunc.signature} (size {summed} is different from {xs[-1]})")
    np.broadcast_shapes(xs[:len(xs) - len(x_core)], ys[:len(ys) - len(y_core)])
    loops = max(len(xs) - len(x_core), len(ys) - len(y_core))
    return Labelled(_labels(len(xs), x_core), _labels(len(ys), y_core), (*range(loops - 1, -1, -1), *core), len(core))


def _generalised(ufunc: np.ufunc, x: Tensor, y: Tensor, conjugate: bool = False, axes: Any = None,
                 axis: int | None = None, keepdims: bool = False) -> Tensor:
    if axis is not None:
        axes = [(axis,), (axis,), ()]
    if axes is not None:
        x_core, y_core, _ = _cores((x.ndim, y.ndim), ufunc.__name__)
        x, y = _to_end(x, axes[0], len(x_core)), _to_end(y, axes[1], len(y_core))
    labels = _labelled(ufunc, x.shape, y.shape)
    dtypes = loop_dtypes(ufunc, (x.weak_type(), y.weak_type(), None))
    left, right = cast(x.value(), dtypes[0]), cast(y.value(), dtypes[1])
    if conjugate and dtypes[0].kind == "c":
        left = ops.complex(ops.real(left), ops.negate(ops.imag(left)))
    result = finish(product(left, labels.left, right, labels.right, labels.result))
    if keepdims:
        result = np.expand_dims(result, -1 if axis is None else axis)
    if axes is not None and len(axes) > 2 and labels.core:
        target = axes[2] if isinstance(axes[2], tuple) else (axes[2],)
        result = np.moveaxis(result, tuple(range(-labels.core, 0)), target)
    return result


def _to_end(t: Tensor, axes: object, count: int) -> Tensor:
    axes = axes if isinstance(axes, tuple) else (axes,)
    return np.moveaxis(t, axes, tuple(range(-count, 0)))


def _entry(ufunc: np.ufunc, conjugate: bool = False) -> Callable[..., Tensor]:
    return lambda x, y, **kwargs: _generalised(ufunc, x, y, conjugate, **kwargs)


GENERALISED = {np.matmul: _entry(np.matmul)}
"""Generalised ufunc -> f(x, y, **kwargs) on tensors."""
for _name in ("vecdot", "matvec", "vecmat"):        # newer than NumPy 2.0
    if hasattr(np, _name):
        GENERALISED[getattr(np, _name)] = _entry(getattr(np, _name), conjugate=_name in ("vecdot", "vecmat"))


@means("product")
def call(ufunc: np.ufunc, *operands: Tensor, **kwargs: object) -> Tensor:
    """A generalised ufunc of tensors."""
    if ufunc not in GENERALISED:
        raise UnsupportedError(f"{ufunc.__name__} is not supported in compiled code.",
                               hint="Write it with functions that docs/numpy.md lists, or call it outside of the "
                                    "compiled function.", code="function-not-compiled")
    return GENERALISED[ufunc](*operands, **kwargs)


# ---- functions -------------------------------------------------------------------------------------------------

def _operands(function: Callable, *operands: object) -> tuple[list[Tensor], list[ir.Value]]:
    tensors = [wrap(o) for o in operands]
    dtype = _dtype(function, *tensors)
    return tensors, [cast(t.value(), dtype) for t in tensors]


def _mismatch(x: Tensor, y: Tensor, i: int, j: int) -> None:
    if x.shape[i] != y.shape[j]:
        raise ValueError(f"shapes {_text(x)} and {_text(y)} not aligned: {x.shape[i]} (dim {i % x.ndim}) != "
                         f"{y.shape[j]} (dim {j % y.ndim})")


def _text(t: Tensor) -> str:
    return str(t.shape).replace(" ", "")


def _numbered(letter: str, rank: int) -> list[str]:
    return [f"{letter}{d}" for d in range(rank)]


@implements(np.dot)
def numpy_dot(a: object, b: object, out: object = None) -> Tensor:
    (x, y), (left, right) = _operands(np.dot, a, b)
    xl, yl = _numbered("x", x.ndim), _numbered("y", y.ndim)
    if x.ndim and y.ndim:
        at = -1 if y.ndim == 1 else -2
        _mismatch(x, y, -1, at)
        xl[-1] = yl[at] = "k"
    return finish(product(left, xl, right, yl, [n for n in (*xl, *yl) if n != "k"]), out)


@implements(np.vdot)
def vdot(a: object, b: object) -> Tensor:
    (x, y), (left, right) = _operands(np.vdot, a, b)
    if x.size != y.size:
        raise ValueError("cannot reshape array: vectors have different lengths")
    left, right = ops.reshape(left, (x.size,)), ops.reshape(right, (y.size,))
    if dtype_of(left).kind == "c":
        left = ops.complex(ops.real(left), ops.negate(ops.imag(left)))
    return finish(product(left, ["k"], right, ["k"], []))


@implements(np.inner)
def inner(a: object, b: object) -> Tensor:
    (x, y), (left, right) = _operands(np.inner, a, b)
    xl, yl = _numbered("x", x.ndim), _numbered("y", y.ndim)
    if x.ndim and y.ndim:
        _mismatch(x, y, -1, -1)
        xl[-1] = yl[-1] = "k"
    return finish(product(left, xl, right, yl, [n for n in (*xl, *yl) if n != "k"]))


@implements(np.outer)
def outer(a: object, b: object, out: object = None) -> Tensor:
    x, y = np.ravel(wrap(a)), np.ravel(wrap(b))
    return np.multiply(np.reshape(x, (-1, 1)) if x.size else np.reshape(x, (0, 1)), y[None, :], out=out)


@implements(np.tensordot)
def tensordot(a: object, b: object, axes: object = 2) -> Tensor:
    (x, y), (left, right) = _operands(np.dot, a, b)
    if hasattr(axes, "__index__"):
        n = int(axes)
        x_axes, y_axes = list(range(-n, 0)), list(range(n))
    else:
        x_axes, y_axes = ([int(i) for i in np.atleast_1d(side)] for side in axes)
    if len(x_axes) != len(y_axes) or any(
            not -x.ndim <= i < x.ndim or not -y.ndim <= j < y.ndim or x.shape[i] != y.shape[j]
            for i, j in zip(x_axes, y_axes, strict=True)):
        raise ValueError("shape-mismatch for sum")
    xl, yl = _numbered("x", x.ndim), _numbered("y", y.ndim)
    for number, (i, j) in enumerate(zip(x_axes, y_axes, strict=True)):
        xl[i] = yl[j] = f"k{number}"
    made = finish(product(left, xl, right, yl, [n for n in (*xl, *yl) if n[0] != "k"]))
    return made if made.ndim else Tensor.of_value(made.value())      # NumPy: a 0-d array here


@implements(np.kron)
def kron(a: object, b: object) -> Tensor:
    x, y = wrap(a), wrap(b)
    rank = max(x.ndim, y.ndim)
    if not x.ndim or not y.ndim:
        return np.multiply(x, y)
    xs, ys = (1,) * (rank - x.ndim) + x.shape, (1,) * (rank - y.ndim) + y.shape
    spread_x = np.reshape(x, [n for pair in zip(xs, (1,) * rank, strict=True) for n in pair])
    spread_y = np.reshape(y, [n for pair in zip((1,) * rank, ys, strict=True) for n in pair])
    return np.reshape(np.multiply(spread_x, spread_y), [m * n for m, n in zip(xs, ys, strict=True)])


@implements(np.cross)
def cross(a: object, b: object, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Tensor:
    """Vector product along one axis of length 3."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = wrap(a), wrap(b)
    if not x.ndim or not y.ndim:
        raise ValueError("At least one array has zero dimension")
    x, y = np.moveaxis(x, axis_in(axisa, x.ndim), -1), np.moveaxis(y, axis_in(axisb, y.ndim), -1)
    allowed = (3,) if np.lib.NumpyVersion(np.__version__) >= "2.5.0" else (2, 3)     # NumPy 2.5 dropped the plane
    if x.shape[-1] not in allowed or y.shape[-1] not in allowed:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
                         f"{x.shape[-1]} and {y.shape[-1]} dimensional instead.")
    u, v = ([t[..., i] for i in range(t.shape[-1])] for t in (x, y))
    last = u[0] * v[1] - u[1] * v[0]
    if len(u) == len(v) == 2:
        return last
    u, v = ([*t, None] if len(t) == 2 else t for t in (u, v))
    parts = [_difference(u[1], v[2], u[2], v[1]), _difference(u[2], v[0], u[0], v[2]), last]
    shape = np.broadcast_shapes(*(p.shape for p in parts))
    axisc = axis_in(axisc, len(shape) + 1)
    return np.stack([np.broadcast_to(p, shape) for p in parts], axis=axisc)


def _difference(p: Tensor | None, q: Tensor | None, r: Tensor | None, s: Tensor | None) -> Tensor:
    """p*q - r*s where a missing factor is zero."""
    if p is None or q is None:
        return -(r * s)
    return p * q if r is None or s is None else p * q - r * s


@implements(np.trace)
def trace(a: object, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: object = None,
          out: Any = None) -> Tensor:
    a = wrap(a)
    dtype = np.trace(np.ones((1, 1), a.dtype)).dtype if dtype is None else np.dtype(dtype)
    diagonal = np.diagonal(a, offset, axis1, axis2)
    value = sum_over(cast(diagonal.value(), dtype), [diagonal.ndim - 1])
    if out is not None:
        store(out, Tensor.of_value(value))
        return out
    return finish(value)


__all__ = ["GENERALISED", "dot", "finish", "product", "sum_over"]
