"""What the reference interpreter does not know, by NumPy and SciPy: transforms and factorizations.

`TABLE` maps an op's name (a custom call's is `stablehlo.custom_call@target`) to a function of the op and its operands.
Only for tests: `interpret.evaluate` cuts a program at these ops. LAPACK calls follow the routine's documentation: only
the triangle it is told to read is read, and what it leaves undefined is NaN here, so that nobody gets to rely on it. So
is all of a transform that meets a NaN or an infinity: algorithms differ in where they leave an infinity.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir.cusolver import VENDORS
from reactant.ir.types import shape_and_dtype

TABLE: dict[str, Callable[[ir.Operation, Sequence[np.ndarray]], list[np.ndarray]]] = {}


def key(op: ir.Operation) -> str:
    """The name under which `TABLE` holds an op."""
    if op.name != "stablehlo.custom_call":
        return op.name
    return f"{op.name}@{ir.StringAttr(op.attributes['call_target_name']).value}"


def known(op: ir.Operation) -> bool:
    """Whether NumPy stands in for an op: outside of loops and branches, where it can be cut out."""
    return key(op) in TABLE and op.parent is not None and op.parent.operation.name == "func.func"


def results(op: ir.Operation, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of an op of the table, in its result types."""
    with np.errstate(all="ignore"):
        found = TABLE[key(op)](op, operands)
    types = [shape_and_dtype(r.type) for r in op.results]
    return [np.asarray(x).astype(dtype).reshape(shape) for x, (shape, dtype) in zip(found, types, strict=True)]


def _option(op: ir.Operation, name: str) -> str:
    """A LAPACK option of a custom call: a letter."""
    config = {each.name: each.attr for each in ir.DictAttr(op.attributes["mhlo.backend_config"])}
    return chr(ir.IntegerAttr(config[name]).value & 255)


def _each(function: Callable[..., Any], *stacks: np.ndarray) -> list[np.ndarray]:
    """`function` of each matrix of stacks with the same leading dimensions; one array for each of its results."""
    lead = stacks[0].shape[:-2]
    made = [function(*(s[place] for s in stacks)) for place in np.ndindex(*lead)]
    return [np.stack([np.asarray(m[i]) for m in made]).reshape((*lead, *np.shape(made[0][i])))
            for i in range(len(made[0]))]


# ---- transforms ----------------------------------------------------------------------------------------------------

def _fft(op: ir.Operation, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    kind = attr.enumerator(op.attributes["fft_type"])
    lengths = attr.decode(op.attributes["fft_length"])
    axes = tuple(range(-len(lengths), 0))
    function = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}[kind]
    bad = ~np.isfinite(operands[0]).all(axes, keepdims=True) & (np.prod(lengths) > 1)
    return [np.where(bad, np.nan + (0 if kind == "IRFFT" else 1j * np.nan), function(operands[0], lengths, axes))]


# ---- triangles -----------------------------------------------------------------------------------------------------

def triangle(a: np.ndarray, lower: bool, unit: bool = False) -> np.ndarray:
    """The triangle of a matrix that a routine reads."""
    part = np.tril(a) if lower else np.triu(a)
    if unit:
        np.fill_diagonal(part, 1)
    return part


def _substituted(a: np.ndarray, b: np.ndarray, lower: bool) -> np.ndarray:
    """x with a x = b for a triangular `a`, row by row."""
    n, x = len(a), np.array(b, np.result_type(a, b))
    for i in range(n) if lower else range(n)[::-1]:
        others = range(i) if lower else range(i + 1, n)
        for j in others:
            x[i] = x[i] - a[i, j] * x[j]
        x[i] = x[i] / a[i, i]
    return x


def _solved(a: np.ndarray, b: np.ndarray, left: bool, lower: bool, unit: bool, iteration: str) -> np.ndarray:
    part = triangle(a, lower, unit)
    part = {"N": part, "T": part.T, "C": part.conj().T}[iteration]
    lower = lower == (iteration == "N")
    return _substituted(part, b, lower) if left else _substituted(part.T, b.T, not lower).T


def _triangular_solve(op: ir.Operation, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    iteration = attr.enumerator(op.attributes["transpose_a"])
    iteration = {"NO_TRANSPOSE": "N", "TRANSPOSE": "T", "ADJOINT": "C"}[iteration]
    left, lower, unit = (bool(attr.decode(op.attributes[n])) for n in ("left_side", "lower", "unit_diagonal"))
    return _each(lambda a, b: [_solved(a, b, left, lower, unit, iteration)], *operands)


def _trsm(op: ir.Operation, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    left, lower, unit = _option(op, "side") == "L", _option(op, "uplo") == "L", _option(op, "diag") == "U"
    return _each(lambda a, b: [_solved(a, b, left, lower, unit, _option(op, "trans_x"))], *operands)


# ---- factorizations ------------------------------------------------------------------------------------------------

def _cholesky_of(a: np.ndarray, lower: bool) -> tuple[np.ndarray, int]:
    part = triangle(a, lower)
    whole = part + np.conj(np.triu(part, 1).T if not lower else np.tril(part, -1).T)
    try:
        factor = np.linalg.cholesky(whole)
    except np.linalg.LinAlgError:
        return np.full_like(a, np.nan), 1
    if np.isnan(factor).any():
        return np.full_like(a, np.nan), 1
    return (factor if lower else factor.conj().T), 0


def _cholesky(op: ir.Operation, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    lower = bool(attr.decode(op.attributes["lower"]))
    return _each(lambda a: [_cholesky_of(a, lower)[0]], *operands)


def _potrf(op: ir.Operation, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    lower = _option(op, "uplo") == "L"

    def one(a: np.ndarray) -> list[Any]:
        factor, info = _cholesky_of(a, lower)
        return [factor + np.where(triangle(np.ones(a.shape), lower) == 0, np.nan, 0), info]
    return _each(one, *operands)


def _getrf(op: ir.Operation, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    def one(a: np.ndarray) -> list[Any]:
        lu, pivots, info = np.array(a), np.zeros(min(a.shape), np.int32), 0
        for k in range(min(a.shape)):
            sizes = np.abs(lu[k:, k])
            p = k + int(np.argmax(np.where(np.isnan(sizes), -1, sizes)))
            pivots[k] = p + 1
            lu[[k, p]] = lu[[p, k]]
            if lu[k, k] == 0:
                info = info or k + 1
                continue
            lu[k + 1:, k] /= lu[k, k]
            lu[k + 1:, k + 1:] -= np.outer(lu[k + 1:, k], lu[k, k + 1:])
        return [lu, pivots, info]
    return _each(one, *operands)


def _order_of_swaps(op: ir.Operation, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    (swaps,), count = operands, shape_and_dtype(op.results[0].type)[0][-1]
    order = np.broadcast_to(np.arange(count), (*swaps.shape[:-1], count)).copy()
    for place in np.ndindex(*swaps.shape[:-1]):
        for k, p in enumerate(swaps[place]):
            order[place][[k, p]] = order[place][[p, k]]
    return [order]


def _gtsv(op: ir.Operation, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    low, middle, up, right = operands
    lead, n = right.shape[:-2], right.shape[-2]
    solved, failed = np.empty_like(right), np.zeros(lead, np.int32)
    for place in np.ndindex(*lead):
        whole = np.diag(middle[place]) + np.diag(up[place][:-1], 1) + np.diag(low[place][1:], -1)
        try:
            solved[place] = np.linalg.solve(whole, right[place])
        except np.linalg.LinAlgError:
            solved[place], failed[place] = np.nan, n
    left_behind = [np.full_like(each, np.nan) for each in operands[:3]]
    return [*left_behind, solved, failed]


def _geqrf(op: ir.Operation, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    import scipy.linalg

    def one(a: np.ndarray) -> tuple[Any, ...]:
        (reflectors, tau), _ = scipy.linalg.qr(a, mode="raw", check_finite=False)
        return reflectors, tau
    return _each(one, *operands)


def _orgqr(op: ir.Operation, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    def one(a: np.ndarray, tau: np.ndarray) -> list[np.ndarray]:
        m, n = a.shape
        q = np.eye(m, dtype=a.dtype)
        for i in range(tau.shape[-1]):
            v = np.concatenate([np.zeros(i, a.dtype), [1], a[i + 1:, i]])
            q = q - tau[0, i] * np.outer(q @ v, v.conj())
        return [q[:, :n]]
    return _each(one, operands[0], operands[1][..., None, :])


def _syevd(op: ir.Operation, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    def one(a: np.ndarray) -> list[Any]:
        try:
            values, vectors = np.linalg.eigh(a, UPLO=_option(op, "uplo"))  # type: ignore[call-overload]
        except np.linalg.LinAlgError:
            values, vectors = np.full(len(a), np.nan, a.real.dtype), np.full_like(a, np.nan)
        return [vectors if _option(op, "mode") == "V" else np.full_like(a, np.nan), values, np.int32(0)]
    return _each(one, *operands)


TABLE |= {f"stablehlo.custom_call@{vendor}_lu_pivots_to_permutation": _order_of_swaps for vendor in VENDORS.values()}
TABLE |= {"stablehlo.fft": _fft, "stablehlo.cholesky": _cholesky, "stablehlo.triangular_solve": _triangular_solve}
for _letter in "sdcz":
    TABLE |= {f"stablehlo.custom_call@lapack_{_letter}{_routine}_ffi": _function for _routine, _function in (
        ("trsm", _trsm), ("potrf", _potrf), ("getrf", _getrf), ("geqrf", _geqrf), ("gtsv", _gtsv),
        ("syevd" if _letter in "sd" else "heevd", _syevd), ("orgqr" if _letter in "sd" else "ungqr", _orgqr))}
