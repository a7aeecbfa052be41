"""Calling a ufunc on traced arrays: promotion, broadcasting, `out=`, `where=`, casting, and result kind.

Which inner loop runs is NumPy's own decision (`promotion.loop_dtypes`); what a loop is in StableHLO stands in
`elementwise.LOOPS`. Methods `reduce`, `accumulate`, `reduceat`, `outer` and `at` stand in `reduction` and `indexing`.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ConstantWriteError, UnsupportedError
from reactant.frontends.arrays import layouts, memory_order, python_numbers, python_overflow
from reactant.frontends.arrays import storage as st
from reactant.frontends.arrays.casting import cast
from reactant.frontends.arrays.elementwise import checked, loop
from reactant.frontends.arrays.implements import concretely, of_concrete
from reactant.frontends.arrays.promotion import PYTHON_DTYPES, loop_dtypes
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, SCALAR, Tensor, is_tensor, wrap
from reactant.frontends.arrays.tensor_methods import COMPARISONS
from reactant.frontends.session.dispatch import meaning, means
from reactant.frontends.source import source_map
from reactant.ir import ops
from reactant.ir.types import Shape, shape_of
from reactant.support.records import dataclass

_NUMBERS = (bool, int, float, complex)


# ---- conversion ------------------------------------------------------------------------------------------------

def as_value(x: object, dtype: np.dtype) -> ir.Value:
    """An operand as a value of `dtype` (numbers become 0-d constants)."""
    if is_tensor(x):
        return x.value() if x.dtype == dtype else cast(x.value(), dtype)
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        return ops.constant(_number(x, dtype), dtype)
    return cast(wrap(x).value(), dtype)


def stored(x: Tensor, dtype: np.dtype) -> ir.Value:
    """A value that is stored in an array: NumPy looks whether signed integers hold a number, and whether any integers
    hold one of Python's."""
    if x.kind != ARRAY and dtype.kind in "iu" and x.dtype.kind in "iufc" and (x.kind == PYTHON or dtype.kind == "i"):
        real = ops.real(x.value()) if x.dtype.kind == "c" else x.value()
        python_overflow.require_held(real, x.interval, dtype)
    return cast(x.value(), dtype)


def _number(x: Any, dtype: np.dtype) -> Any:
    """A number that is about to become a constant of `dtype`; raises NumPy's error where it is out of bounds."""
    kind = type(x)
    if kind is float and dtype.kind == "f":
        return x
    if isinstance(x, int) and dtype.kind in "iu" and kind is not bool:
        np.array(0, dtype)[()] + x  # raises NumPy's OverflowError for numbers out of bounds
        return x
    return np.asarray(x).astype(dtype)


def weak_type(x: object) -> object:
    """What promotion sees of an operand: dtype, or the type of a Python number."""
    if is_tensor(x):
        return x.weak_type()
    if isinstance(x, np.generic):
        return x.dtype
    if isinstance(x, (bool, int, float, complex)):      # only Python's own types are weak, no types made of them
        return type(x) if type(x) in (int, float, complex) else np.asarray(x).dtype
    return wrap(x).dtype


def result_kind(operands: list) -> str:
    """SCALAR when every operand is 0-d (NumPy returns a scalar then), else ARRAY."""
    return SCALAR if all(np.ndim(x) == 0 if not is_tensor(x) else not x.shape for x in operands) else ARRAY


def result_strides(operands: Sequence, shape: Shape) -> Shape | None:
    """Layout of an elementwise result: NumPy keeps the order of the operands ("K"). None means row-major."""
    return _strides_after(tuple((t.shape, t.strides_) for t in operands if is_tensor(t)), shape)


def _strides_after(laid: tuple[tuple[Shape, Shape], ...], shape: Shape) -> Shape | None:
    """`result_strides` of operands of these shapes and strides."""
    full = [layout for layout in laid if len(layout[0]) > 1]
    if not any(layouts.is_permuted(*layout) for layout in full):
        return None
    probes = [np.lib.stride_tricks.as_strided(layouts.PROBE, *layout) for layout in full]
    flags = [["readonly"]] * len(probes) + [["writeonly", "allocate"]]
    small = [np.lib.stride_tricks.as_strided(layouts.PROBE, [min(n, 2) for n in p.shape], p.strides) for p in probes]
    made = np.nditer([*small, None], op_flags=flags, op_dtypes=[np.int8] * (len(probes) + 1), order="K",
                     flags=["zerosize_ok"]).operands[-1]
    order = sorted(range(len(shape)), key=lambda d: (-made.strides[d] if made.shape[d] > 1 else 0, d))
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


# ---- forms -----------------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Form:
    """What a call of a ufunc comes to, whatever the values are."""

    dtypes: tuple[np.dtype, ...]        # of inputs, then outputs
    shape: Shape
    kind: str
    strides: Shape | None
    loop: Callable
    compares: bool                      # integers, with Python ints that may lie beyond them
    checked: bool                       # whether values may be refused at run time
    exact: bool                         # whether the loop surely makes the dtype of the output


Facts = tuple[Shape, Any, Shape]
"""All that the form of a call depends on: shape, what promotion sees, strides."""


def _facts(x: object) -> Facts:
    if is_tensor(x):
        return x.shape, x.weak_type() if x.kind == PYTHON else x.dtype, x.strides_
    return (), weak_type(x), ()


@lru_cache(maxsize=16384)
def _form(ufunc: np.ufunc, operands: tuple[Facts, ...], outs: tuple[np.dtype | None, ...] | None = None,
          casting: str = "same_kind", dtype: np.dtype | None = None, mask: tuple[Shape, Shape] | None = None) -> Form:
    dtypes = loop_dtypes(ufunc, (*(weak for _, weak, _ in operands), *(outs or (None,) * ufunc.nout)), casting, dtype)
    shapes = [shape for shape, _, _ in operands] + ([] if mask is None else [mask[0]])
    shape = layouts.broadcast_shapes(*shapes)
    laid = tuple((extents, strides) for extents, _, strides in operands) + (() if mask is None else (mask,))
    return Form(dtypes, shape, ARRAY if any(shapes) else SCALAR, _strides_after(laid, shape) if len(shape) > 1 else
                None, loop(ufunc), ufunc in COMPARISONS.values() and dtypes[0].kind in "iu",
                ufunc is np.power and dtypes[0].kind == "i",
                ufunc in _EXACT and len({*dtypes}) == 1 and dtypes[0].kind in "iuf")


_EXACT = {np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.negative, np.exp, np.sin, np.cos,
          np.sqrt, np.tanh}
"""Loops of one op, which makes what it is given."""


# ---- calls -----------------------------------------------------------------------------------------------------

@means("ufunc")
def call(ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict) -> Any:
    """`ufunc.method(*inputs, **kwargs)` with at least one tensor among inputs and outputs."""
    with source_map.location():
        if method == "__call__":
            return _call(ufunc, inputs, kwargs)
        return meaning.ufunc_method(method, ufunc, *inputs, **kwargs)


@means("binary")
def binary(ufunc: np.ufunc, x: object, y: object) -> Any:
    """An operator: Python numbers on both sides follow Python's rules, everything else NumPy's."""
    with source_map.location():
        if (not is_tensor(x) or x.kind == PYTHON) and (not is_tensor(y) or y.kind == PYTHON) \
                and python_numbers.both_python(x, y):
            return python_numbers.binary(ufunc, x, y)
        return _call(ufunc, (x, y), {})


@means("unary")
def unary(ufunc: np.ufunc, x: Tensor) -> Any:
    with source_map.location():
        if x.kind == PYTHON:
            return python_numbers.unary(ufunc, x)
        return _call(ufunc, (x,), {})


def require_matrix(x: object) -> None:
    """What `a @= x` wants."""
    if np.ndim(x) < 2:
        raise ValueError("inplace matrix multiplication requires the first operand to have at least one and the second "
                         "at least two dimensions.")


@means("in_place")
def in_place(ufunc: np.ufunc, target: Tensor, x: object) -> Tensor:
    """`target += x` and the others, on an array."""
    if ufunc is np.matmul:
        require_matrix(x)
    if target.is_concrete() or ufunc.signature is not None:
        return call(ufunc, "__call__", (target, x), {"out": (target,)})
    with source_map.location():
        operands = [target, x if is_tensor(x) or isinstance(x, _NUMBERS) else wrap(x)]
        form = _form(ufunc, tuple(map(_facts, operands)), (target.dtype,))
        return _finish(_run_loop(ufunc, form, operands)[0], target, True, form.kind, form.strides)


_KEYWORDS = frozenset(("out", "where", "casting", "order", "dtype", "subok", "signature"))
_OF_GENERALISED = _KEYWORDS - {"where"} | {"axes", "axis", "keepdims"}


def _require_call(ufunc: np.ufunc, given: int, kwargs: dict) -> None:
    """Raise NumPy's errors of calls that no ufunc of this kind takes."""
    name, least, most = ufunc.__name__, ufunc.nin, ufunc.nin + ufunc.nout
    if not least <= given <= most:
        raise TypeError(f"{name}() takes from {least} to {most} positional arguments but {given} "
                        f"{'was' if given == 1 else 'were'} given")
    if unknown := kwargs.keys() - (_OF_GENERALISED if ufunc.signature else _KEYWORDS):
        raise TypeError(f"{name}() got an unexpected keyword argument '{min(unknown)}'")
    if given > least and kwargs.get("out") is not None:
        raise TypeError("cannot specify 'out' as both a positional and keyword argument")


def _call(ufunc: np.ufunc, inputs: tuple, kwargs: dict) -> Any:
    if not kwargs and ufunc.signature is None and len(inputs) == ufunc.nin:
        return _computed(ufunc, [x if is_tensor(x) or isinstance(x, _NUMBERS) else wrap(x)
                                 for x in inputs])
    _require_call(ufunc, len(inputs), kwargs)
    kwargs = dict(kwargs)
    out = kwargs.pop("out", None)
    outs = out if isinstance(out, tuple) else (out,)
    inputs, outs = inputs[:ufunc.nin], (*inputs[ufunc.nin:], *outs)[:ufunc.nout]
    outs = (*outs, *(None,) * (ufunc.nout - len(outs)))
    if (order := memory_order.letter(kwargs.pop("order", None), "K")) != "K" and all(o is None for o in outs):
        return memory_order.rearranged(_call(ufunc, inputs, kwargs), order, [wrap(x) for x in inputs])
    where, casting, dtype = kwargs.pop("where", True), kwargs.pop("casting", "same_kind"), kwargs.pop("dtype", None)
    kwargs.pop("subok", None)
    if kwargs.pop("signature", None) is not None:
        raise UnsupportedError(f"numpy.{ufunc.__name__}: argument 'signature' is not supported in compiled code.",
                               hint="Leave it out, and use .astype.", code="argument-not-supported")
    if ufunc.signature is not None:
        return _generalised(ufunc, inputs, outs, kwargs, casting, dtype)
    operands = [x if is_tensor(x) or isinstance(x, _NUMBERS) else wrap(x) for x in inputs]
    if all(o is None for o in outs) and where is True:
        return _computed(ufunc, operands, casting, dtype)
    if _known_in_place(operands, outs, where):
        return _write_known(ufunc, operands, outs, {"where": where, "casting": casting, "dtype": dtype})
    where = where if where is True else wrap(where)
    mask = None if where is True else (where.shape, where.strides_)
    form = _form(ufunc, tuple(map(_facts, operands)), tuple(None if o is None else o.dtype for o in outs), casting,
                 None if dtype is None else np.dtype(dtype), mask)
    results = _run_loop(ufunc, form, operands)
    finished = tuple(_finish(r, o, where, form.kind, form.strides) for r, o in zip(results, outs, strict=True))
    return finished[0] if len(finished) == 1 else finished


def _computed(ufunc: np.ufunc, operands: list, casting: str = "same_kind", dtype: Any = None) -> Any:
    """A call that makes new arrays: no `out=`, no `where=`."""
    if not _any_traced(operands):
        return of_concrete(ufunc(*concretely(operands), casting=casting, dtype=dtype),
                           any(t.size > st.CONCRETE_ELEMENTS for t in operands if is_tensor(t)))
    form = _form(ufunc, tuple(map(_facts, operands)), None, casting, None if dtype is None else np.dtype(dtype))
    values = _run_loop(ufunc, form, operands)
    if len(values) == 1:
        return Tensor(st.Storage(form.shape, form.dtypes[-1], values[0]), kind=form.kind, strides=form.strides)
    return tuple(Tensor(st.Storage(form.shape, d, value), kind=form.kind, strides=form.strides)
                 for value, d in zip(values, form.dtypes[ufunc.nin:], strict=True))


def _any_traced(operands: list) -> bool:
    """Whether the content of one of the tensors is not known."""
    for x in operands:
        if is_tensor(x) and not x.is_concrete():
            return True
    return False


def _known_in_place(operands: list, outs: tuple, where: object) -> bool:
    """Whether everything is known, and the outputs may be written while tracing. (What `where` leaves out of a new
    array is 0 here, and whatever there was in NumPy's.)"""
    return all((where is True if o is None else is_tensor(o) and o.changes_now() and not o.storage.constant)
               for o in outs) and all(t.is_concrete() for t in (*operands, where) if is_tensor(t))


def _write_known(ufunc: np.ufunc, operands: list, outs: tuple, options: dict) -> Any:
    for o in outs:
        if o is not None and not o.writeable:
            raise ValueError("output array is read-only")
    out = tuple(None if o is None else o.numpy() for o in outs)
    made = ufunc(*concretely(operands), out=out, **concretely(options))
    for o in outs:
        if o is not None:
            o.changed()
    results = made if isinstance(made, tuple) else (made,)
    finished = tuple(of_concrete(r) if o is None else o for r, o in zip(results, outs, strict=True))
    return finished[0] if len(finished) == 1 else finished


def _run_loop(ufunc: np.ufunc, form: Form, operands: list) -> list[ir.Value]:
    shape, dtypes = form.shape, form.dtypes
    if form.compares:
        if (beyond := _compared_beyond(ufunc, operands, dtypes[0])) is not None:
            return [ops.constant(beyond, bool, shape)]
        if any(is_tensor(x) and x.kind == PYTHON and x.dtype != bool and not all(
                python_overflow.within(x.interval, x.value(), dtypes[0])) for x in operands):
            return [_compared_widely(ufunc, form, operands)]
    values = [_spread(x, d, shape) for x, d in zip(operands, dtypes, strict=False)]
    if form.checked:
        checked(ufunc, values, dtypes)
    result = form.loop(values, dtypes)
    if form.exact:
        return [result]
    if len(dtypes) == ufunc.nin + 1 and isinstance(result, ir.Value):
        return [cast(result, dtypes[-1])]
    return [cast(r, d) for r, d in zip(result if isinstance(result, (list, tuple)) else [result],
                                       dtypes[ufunc.nin:], strict=True)]


def _spread(x: object, dtype: np.dtype, shape: Shape) -> ir.Value:
    """An operand as a value of this dtype and shape."""
    if is_tensor(x):
        value = x.value()
        if x.dtype is not dtype:
            if x.kind == PYTHON and dtype.kind in "iu":
                python_overflow.require_held(value, x.interval, dtype)
            value = cast(value, dtype)
        return value if x.shape == shape else layouts.broadcast(value, shape)
    return ops.constant(_number(x, dtype), dtype, shape)


def _compared_beyond(ufunc: np.ufunc, operands: list, dtype: np.dtype) -> bool | None:
    """The outcome of comparing integers with a Python int that their dtype cannot hold: the same for all of them."""
    if ufunc not in COMPARISONS.values() or dtype.kind not in "iu":
        return None
    bounds = np.iinfo(dtype)
    far = [type(x) is int and not bounds.min <= x <= bounds.max for x in operands]
    if not any(far):
        return None
    return bool(ufunc(*(np.sign(x) * 2 if f else 0 for x, f in zip(operands, far, strict=True))))


def _compared_widely(ufunc: np.ufunc, form: Form, operands: list) -> ir.Value:
    """Integers compared with a run-time Python int that their dtype may not hold."""
    wide = np.dtype(np.int64)
    if form.dtypes[0] != np.uint64:
        values = [_spread(x, wide, form.shape) for x in operands]
        return form.loop(values, (wide, wide, form.dtypes[-1]))
    below, values = [], []
    for x in operands:      # a negative one is below all
        python = is_tensor(x) and x.kind == PYTHON
        below.append(ops.compare(x.value(), 0, "LT") if python else None)
        values.append(layouts.broadcast(cast(x.value(), np.uint64), form.shape) if python else
                      _spread(x, form.dtypes[0], form.shape))
    result = form.loop(values, form.dtypes)
    for negative, order in zip(below, ((-1, 0), (0, -1)), strict=True):
        if negative is not None:
            result = ops.select(negative, ops.constant(bool(ufunc(*order)), bool, form.shape), result)
    return result


def _finish(result: ir.Value, out: Tensor | None, where: object, kind: str, strides: Shape | None) -> Any:
    """Store into `out` (masked by `where`) or make a new array."""
    if out is None:
        if where is not True:
            mask = layouts.broadcast(as_value(where, np.dtype(bool)), shape_of(result))
            result = ops.select(mask, result, 0)     # NumPy leaves these elements undefined
        return Tensor.of_value(result, kind, strides=strides)
    if not is_tensor(out):
        raise ConstantWriteError("the array given as out=")
    if (made := layouts.broadcast_shapes(out.shape, shape_of(result))) != out.shape:
        raise ValueError(f"non-broadcastable output operand with shape {layouts.shape_text(out.shape)} doesn't match "
                         f"the broadcast shape {layouts.shape_text(made)}")
    if out.writeable is False and not out.storage.constant:
        raise ValueError("output array is read-only")
    new = layouts.broadcast(cast(result, out.dtype), out.shape)
    if where is not True:
        new = ops.select(layouts.broadcast(as_value(where, np.dtype(bool)), out.shape), new, out.value())
    out.assign(new)
    return out


def _generalised(ufunc: np.ufunc, inputs: tuple, outs: tuple, kwargs: dict, casting: str, dtype: Any) -> Any:
    """matmul, vecdot, matvec, vecmat: functions of the contraction family."""
    operands, out_dtype = [wrap(x) for x in inputs], None if outs[0] is None else outs[0].dtype
    dtypes = loop_dtypes(ufunc, (*(x.weak_type() for x in operands), out_dtype), casting, dtype)
    if dtype is not None:
        operands = [x.astype(d) for x, d in zip(operands, dtypes, strict=False)]
    result = meaning.product(ufunc, *operands, **kwargs)
    if outs[0] is not None:
        outs[0][...] = result
        return outs[0]
    return result


__all__ = ["PYTHON_DTYPES", "as_value", "binary", "call", "result_kind",
           "result_strides", "unary", "weak_type"]
