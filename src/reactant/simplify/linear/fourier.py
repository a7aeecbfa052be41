"""fft: transforms that undo each other, of real numbers, of constants, of sums; several one-dimensional ones in one.

StableHLO's kinds: FFT and IFFT (complex), RFFT (real to half a spectrum), IRFFT (back). A transform spreads a NaN or
an infinity over everything that it makes; where one is dropped, a test does that (`_spread_bad`).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, is_complex, real_dtype, shape_of, size
from reactant.rewrite import match, once, one_of, producer, rest, rewrite, splat, users, variables
from reactant.simplify.facts.evaluation import content_of

x, y, h, d, k, j, n, m, p = variables("x y h d k j n m p")
start, limit, strides = variables("start limit strides")
FOLDED_ELEMENTS = 4_096
"""Constants of at most so many elements are transformed when the program is simplified."""


def transform(inner: Any, kind: Any = k, lengths: Any = n, template: str = "t") -> Any:
    """The pattern of an fft."""
    return one_of(("stablehlo.fft",), inner, fft_type=kind, fft_length=lengths, template=template)


def _kind(k: Any) -> str:
    return str(k)


def as_real(value: ir.Value) -> ir.Value | None:
    """The real numbers that a complex value is made of, where its imaginary part is zero."""
    made = producer(value)
    if made is None or not is_complex(dtype_of(value)):
        return None
    if made.name == "stablehlo.convert" and not is_complex(dtype_of(made.operands[0])):
        inner = made.operands[0]
        return ops.convert(inner, real_dtype(dtype_of(value)))
    if made.name == "stablehlo.complex":
        imaginary = ops.constant_value(made.operands[1])
        return made.operands[0] if imaginary is not None and not imaginary.any() else None
    return None


def is_real(value: ir.Value) -> bool:
    """Whether `as_real` finds numbers; builds nothing."""
    made = producer(value)
    if made is None or not is_complex(dtype_of(value)):
        return False
    if made.name == "stablehlo.convert":
        return not is_complex(dtype_of(made.operands[0]))
    imaginary = ops.constant_value(made.operands[1]) if made.name == "stablehlo.complex" else None
    return imaginary is not None and not imaginary.any()


def conjugate(value: ir.Value) -> ir.Value:
    return ops.complex(ops.real(value), ops.negate(ops.imag(value)))


def _ordinary(a: Any, *shape: int, dtype: str = "complex64") -> ir.Value:
    """Numbers for examples, NaN and infinities among them, but none so great that a sum overflows."""
    if dtype == "complex64":
        return ops.complex(_ordinary(a, *shape, dtype="float32"), _ordinary(a, *shape, dtype="float32"))
    v = a(*shape, dtype=dtype)
    return ops.select(ops.and_(ops.is_finite(v), ops.compare(ops.abs(v), 1e30, "GT")), 1.0, v)


def _conjugated(value: ir.Value) -> ir.Value | None:
    """What a value is the conjugate of, if it is written as one."""
    made = producer(value)
    if made is None:
        return None
    if made.name == "chlo.conj":
        return made.operands[0]
    if made.name != "stablehlo.complex":
        return None
    one, minus = (producer(v) for v in made.operands)
    other = producer(minus.operands[0]) if minus is not None and minus.name == "stablehlo.negate" else None
    if one is None or other is None or one.name != "stablehlo.real" or other.name != "stablehlo.imag" \
            or one.operands[0] != other.operands[0]:
        return None
    return one.operands[0]


# ---- pairs ---------------------------------------------------------------------------------------------------------

INVERSE = {("IFFT", "FFT"), ("FFT", "IFFT"), ("IRFFT", "RFFT")}


def _undoes(k: Any, j: Any, n: Sequence[int], m: Sequence[int], x: ir.Value, shape: Sequence[int]) -> bool:
    return (_kind(k), _kind(j)) in INVERSE and tuple(n) == tuple(m) and shape_of(x) == tuple(shape)


def _spread_bad(value: ir.Value, source: ir.Value, rank: int) -> ir.Value:
    """`value`, but NaN where the transform over the last `rank` dimensions of `source` reads a number that is none."""
    shape = shape_of(source)
    dims = list(range(len(shape) - rank, len(shape)))
    parts = [ops.real(source), ops.imag(source)] if is_complex(dtype_of(source)) else [source]
    fine = ops.is_finite(parts[0])
    for part in parts[1:]:
        fine = ops.and_(fine, ops.is_finite(part))
    every = ops.reduce(fine, ops.constant(True), dims, "and")
    nan = complex(np.nan, np.nan) if is_complex(dtype_of(value)) else np.nan
    spread = ops.broadcast_in_dim(every, shape_of(value), range(len(shape) - rank))
    return ops.select(spread, value, ops.constant(nan, dtype_of(value), shape_of(value)))


_PAIRS = (lambda a: ops.fft(ops.fft(_ordinary(a, 3, 8), "FFT", (8,)), "IFFT", (8,)),
          lambda a: ops.fft(ops.fft(_ordinary(a, 2, 4, 5), "IFFT", (4, 5)), "FFT", (4, 5)),
          lambda a: ops.fft(ops.fft(_ordinary(a, 3, 7, dtype="float32"), "RFFT", (7,)), "IRFFT", (7,)))
_NO_PAIR = (lambda a: ops.fft(ops.fft(a(3, 8, dtype="complex64"), "FFT", (8,)), "FFT", (8,)),
            lambda a: ops.fft(ops.fft(a(3, 8, dtype="complex64"), "FFT", (8,)), "IFFT", (3, 8)),
            lambda a: ops.fft(ops.fft(a(3, 7, dtype="float32"), "RFFT", (7,)), "IRFFT", (6,)))


@rewrite(transform(transform(x, j, m, "s")), changes="rounding", assumes="finite", example=_PAIRS, counter=_NO_PAIR)
def inverse_transforms(x, k, j, n, m, s, t, result_shape):
    """ifft(fft(x)) = x, irfft(rfft(x)) = x, for finite numbers"""
    return x if _undoes(k, j, n, m, x, result_shape) and 0 not in result_shape else None


@rewrite(transform(transform(x, j, m, "s")), changes="rounding", example=_PAIRS, counter=_NO_PAIR)
def inverse_transforms_checked(x, k, j, n, m, s, t, result_shape):
    """ifft(fft(x)) = x, irfft(rfft(x)) = x, but NaN where a transform meets a number that is not finite"""
    if not _undoes(k, j, n, m, x, result_shape) or 0 in result_shape:
        return None
    return _spread_bad(x, x, len(n))


@rewrite(one_of(("chlo.conj", "stablehlo.complex"), rest("parts"), template="c"), changes="rounding",
         example=(lambda a: conjugate(ops.fft(conjugate(_ordinary(a, 3, 8)), "FFT", (8,))),
                  lambda a: conjugate(ops.fft(ops.conj(_ordinary(a, 3, 8)), "IFFT", (8,)))),
         counter=lambda a: conjugate(ops.fft(_ordinary(a, 3, 8), "FFT", (8,))))
def conjugate_of_transform_of_conjugate(parts, c, result):
    """conj(fft(conj(x))) = n ifft(x), conj(ifft(conj(x))) = fft(x) / n"""
    inner = _conjugated(result)
    made = None if inner is None else producer(inner)
    if made is None or made.name != "stablehlo.fft" or _kind(made["fft_type"]) not in ("FFT", "IFFT"):
        return None
    source = _conjugated(made.operands[0])
    if source is None or users(inner) > 2:
        return None
    count, forward = size(made["fft_length"]), _kind(made["fft_type"]) == "FFT"
    other = ops.fft(source, "IFFT" if forward else "FFT", made["fft_length"])
    return ops.multiply(other, ops.splat(count if forward else 1 / count, other))


# ---- small and known -----------------------------------------------------------------------------------------------

@rewrite(transform(x), changes="rounding",
         example=(lambda a: ops.fft(a(3, 1, dtype="complex64"), "FFT", (1,)),
                  lambda a: ops.fft(a(3, 1, 1, dtype="complex64"), "IFFT", (1, 1)),
                  lambda a: ops.fft(a(3, 1, dtype="float32"), "RFFT", (1,)),
                  lambda a: ops.fft(a(3, 1, dtype="complex64"), "IRFFT", (1,)),
                  lambda a: ops.fft(a(3, 1, 6, dtype="complex64"), "FFT", (1, 6))),
         counter=(lambda a: ops.fft(a(3, 2, dtype="complex64"), "FFT", (2,)),
                  lambda a: ops.fft(a(3, 2, 1, dtype="complex64"), "FFT", (2, 1))))
def transform_of_length_one(x, k, n, t):
    """fft over one element = that element; dimensions of extent 1 in front of others need no transform"""
    if size(n) == 1:
        return {"RFFT": lambda: ops.complex(x, 0.0), "IRFFT": lambda: ops.real(x)}.get(_kind(k), lambda: x)()
    if n[0] != 1:
        return None
    return ops.fft(x, _kind(k), n[1:])


@rewrite(transform(splat("c")), changes="rounding",
         example=(lambda a: ops.fft(ops.constant(3, "complex64", (2, 6)), "FFT", (6,)),
                  lambda a: ops.fft(ops.constant(3, "float32", (2, 6)), "RFFT", (6,)),
                  lambda a: ops.fft(ops.constant(3, "complex64", (5, 6)), "IFFT", (5, 6))),
         counter=lambda a: ops.fft(a(6, dtype="complex64"), "FFT", (6,)))
def transform_of_splat(c, k, n, t, result_shape, result_dtype):
    """fft of equal numbers c = n c, followed by zeros"""
    kind, count = _kind(k), size(n)
    if kind == "IRFFT" or not np.isfinite(c) or 0 in result_shape:
        return None
    first = complex(c) * (1 if kind == "IFFT" else count)
    if not np.isfinite(np.asarray(first, result_dtype)):
        return None
    rank = len(n)
    low = [0] * len(result_shape)
    start = ops.constant(first, result_dtype, (*result_shape[:-rank], *[1] * rank))
    return ops.pad(start, ops.constant(0, result_dtype), low, [*low[rank:], *(extent - 1
                                                                              for extent in result_shape[-rank:])])


@rewrite(transform(x), changes="rounding",
         example=(lambda a: ops.fft(ops.constant(np.arange(6, dtype=np.complex64)), "FFT", (6,)),
                  lambda a: ops.fft(ops.constant(np.arange(6, dtype=np.float32)), "RFFT", (6,))),
         counter=lambda a: ops.fft(a(6, dtype="complex64"), "FFT", (6,)))
def fold_transform(x, k, n, t, result_dtype):
    """fft(constant) = constant, computed in double precision"""
    content = ops.constant_value(x)
    if content is None or content.size > FOLDED_ELEMENTS or not content.size:
        return None
    axes = tuple(range(-len(n), 0))
    function = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}[_kind(k)]
    wide = content.astype(np.complex128 if content.dtype.kind == "c" else np.float64)
    return ops.constant(np.ascontiguousarray(function(wide, n, axes)).astype(result_dtype))


# ---- real numbers --------------------------------------------------------------------------------------------------

@rewrite(match.slice(once(transform(x)), start_indices=start, limit_indices=limit, strides=strides),
         changes="rounding",
         example=(lambda a: ops.slice(ops.fft(ops.complex(a(3, 8, dtype="float32"), 0.0), "FFT", (8,)), (0, 0), (3, 5)),
                  lambda a: ops.slice(ops.fft(ops.convert(a(4, 6, dtype="float32"), np.complex64), "FFT", (4, 6)),
                                      (0, 1), (4, 3))),
         counter=(lambda a: ops.slice(ops.fft(ops.complex(a(3, 8, dtype="float32"), 0.0), "FFT", (8,)), (0, 0), (3, 6)),
                  lambda a: ops.slice(ops.fft(a(3, 8, dtype="complex64"), "FFT", (8,)), (0, 0), (3, 2))))
def half_of_transform_of_real(x, k, n, t, start, limit, strides):
    """the first half of fft(x) = rfft(x), for real x"""
    if _kind(k) != "FFT" or not is_real(x) or limit[-1] > n[-1] // 2 + 1:
        return None
    return ops.slice(ops.fft(as_real(x), "RFFT", n), start, limit, strides)


@rewrite(match.slice(once(transform(x)), start_indices=start, limit_indices=limit, strides=strides),
         changes="rounding", assumes="finite",
         example=(lambda a: ops.slice(ops.fft(a(3, 8, dtype="complex64"), "FFT", (8,)), (0, 0), (3, 1)),
                  lambda a: ops.slice(ops.fft(a(3, 8, dtype="float32"), "RFFT", (8,)), (1, 0), (2, 1))),
         counter=lambda a: ops.slice(ops.fft(a(3, 8, dtype="complex64"), "FFT", (8,)), (0, 0), (3, 2)))
def first_of_transform_is_sum(x, k, n, t, start, limit, strides, result_dtype):
    """fft(x)[0] = sum(x)"""
    if _kind(k) not in ("FFT", "RFFT") or len(n) != 1 or limit[-1] != 1 or start[-1] != 0:
        return None
    shape = shape_of(x)
    total = ops.reduce(x, ops.constant(0, dtype_of(x)), (len(shape) - 1,), "add")
    total = ops.complex(total, 0.0) if _kind(k) == "RFFT" else total
    return ops.slice(ops.reshape(total, (*shape[:-1], 1)), start, limit, strides)


FILTERS = ("stablehlo.multiply", "stablehlo.divide")


@rewrite(match.real(once(transform(once(one_of(FILTERS, once(transform(x, j, m, "s")), h, template="o"))))),
         changes="rounding",
         example=(lambda a: _filtered(a, (6,), 8), lambda a: _filtered(a, (), 7), lambda a: _filtered(a, (4,), 6, 2)),
         counter=lambda a: _filtered(a, (6,), 8, weights=np.arange(8.0)))
def filter_of_real(x, j, m, s, h, k, n, t, o):
    """real(ifft(fft(x) h)) = irfft(rfft(x) h), for real x and weights h of a real filter; likewise fft(x) / h"""
    if (_kind(k), _kind(j)) != ("IFFT", "FFT") or tuple(n) != tuple(m) or not is_real(x) or not _hermitian(h, len(n)):
        return None
    rank, half = len(shape_of(h)), n[-1] // 2 + 1
    part = ops.slice(h, [0] * rank, [*shape_of(h)[:-1], half])
    half_spectrum = ops.fft(as_real(x), "RFFT", n)
    return ops.fft(o.build((half_spectrum, part), shape_of(half_spectrum)), "IRFFT", n)


def _filtered(a: Any, lead: tuple[int, ...], length: int, rank: int = 1, weights: np.ndarray | None = None) -> ir.Value:
    if weights is None:
        weights = np.minimum(np.arange(length), length - np.arange(length)).astype(np.float32)
    shape = (*lead, length)
    made = ops.broadcast_in_dim(ops.constant(weights.astype(np.complex64)), shape, (len(shape) - 1,))
    lengths = shape[-rank:]
    spectrum = ops.fft(ops.complex(a(*shape, dtype="float32"), 0.0), "FFT", lengths)
    return ops.real(ops.fft(ops.multiply(spectrum, made), "IFFT", lengths))


def _hermitian(weights: ir.Value, rank: int) -> bool:
    """Whether weights w satisfy w[-k] = conj(w[k]) in the last `rank` dimensions, as the spectrum of real numbers."""
    content = content_of(weights)
    if content is None or not content.size or not np.isfinite(content).all():
        return False
    mirrored = content
    for axis in range(content.ndim - rank, content.ndim):
        mirrored = np.roll(np.flip(mirrored, axis), 1, axis)
    scale = float(np.max(np.abs(content)))
    return bool(np.allclose(mirrored.conj(), content, rtol=0, atol=1e-6 * scale if content.dtype.itemsize <= 8
                            else 1e-13 * scale))


# ---- several transforms --------------------------------------------------------------------------------------------

@rewrite(one_of(("stablehlo.add", "stablehlo.subtract"), once(transform(x, j, m, "s")), once(transform(y)),
                template="o"), changes="rounding",
         example=(lambda a: ops.add(ops.fft(_ordinary(a, 3, 8), "FFT", (8,)),
                                    ops.fft(_ordinary(a, 3, 8), "FFT", (8,))),
                  lambda a: ops.subtract(ops.fft(_ordinary(a, 3, 8, dtype="float32"), "RFFT", (8,)),
                                         ops.fft(_ordinary(a, 3, 8, dtype="float32"), "RFFT", (8,)))),
         counter=(lambda a: ops.add(ops.fft(w := _ordinary(a, 3, 8), "FFT", (8,)), ops.fft(w, "IFFT", (8,))),
                  lambda a: ops.add(v := ops.fft(_ordinary(a, 3, 8), "FFT", (8,)), v)))
def sum_of_transforms(x, y, j, m, s, k, n, t, o):
    """fft(x) + fft(y) = fft(x + y)"""
    if _kind(k) != _kind(j) or tuple(n) != tuple(m) or x == y:
        return None
    return ops.fft((ops.add if o.name == "stablehlo.add" else ops.subtract)(x, y), _kind(k), n)


@rewrite(match.concatenate(rest("parts"), dimension=d), changes="rounding", made_by=("stablehlo.fft",),
         example=lambda a: ops.concatenate([ops.fft(a(3, 8, dtype="complex64"), "FFT", (8,)),
                                            ops.fft(a(2, 8, dtype="complex64"), "FFT", (8,))], 0),
         counter=lambda a: ops.concatenate([ops.fft(a(3, 8, dtype="complex64"), "FFT", (8,)),
                                            ops.fft(a(3, 8, dtype="complex64"), "FFT", (8,))], 1))
def concatenate_of_transforms(parts, d, result_shape):
    """concatenate(fft(x), fft(y)) = fft(concatenate(x, y)) along a dimension that is not transformed"""
    made = [producer(v) for v in parts]
    if len(parts) < 2 or any(f is None or f.name != "stablehlo.fft" for f in made) or any(users(v) > 1 for v in parts):
        return None
    kinds = {(_kind(f["fft_type"]), tuple(f["fft_length"])) for f in made}
    (kind, lengths), *others = kinds
    if others or d >= len(result_shape) - len(lengths):
        return None
    return ops.fft(ops.concatenate([f.operands[0] for f in made], d), kind, lengths)


@rewrite(transform(once(match.transpose(once(transform(x, j, m, "s")), permutation=p))), changes="rounding",
         example=lambda a: ops.fft(ops.transpose(ops.fft(a(2, 4, 6, dtype="complex64"), "FFT", (6,)), (0, 2, 1)),
                                   "FFT", (4,)),
         counter=lambda a: ops.fft(ops.transpose(ops.fft(a(2, 4, 6, dtype="complex64"), "FFT", (6,)), (1, 2, 0)),
                                   "IFFT", (2,)))
def transforms_of_two_dimensions(x, j, m, s, p, k, n, t):
    """fft over one dimension, then over the next to last = one fft over two dimensions"""
    rank = len(p)
    if _kind(k) != _kind(j) or _kind(k) not in ("FFT", "IFFT") or len(n) != 1 or len(m) != 1 \
            or tuple(p) != (*range(rank - 2), rank - 1, rank - 2):
        return None
    return ops.transpose(ops.fft(x, _kind(k), (n[0], m[0])), p)


@rewrite(match.multiply(once(transform(once(match.multiply(x, splat("c"))))), splat("f")), changes="association",
         example=lambda a: ops.multiply(ops.fft(ops.multiply(w := a(3, 8, dtype="complex64"), ops.splat(2, w)), "FFT",
                                                (8,)), ops.constant(0.5, "complex64", (3, 8))),
         counter=lambda a: ops.multiply(ops.fft(a(3, 8, dtype="complex64"), "FFT", (8,)),
                                        ops.constant(0.5, "complex64", (3, 8))))
def scaled_transform_of_scaled(x, c, k, n, t, f, result):
    """d fft(c x) = (c d) fft(x)"""
    made = ops.fft(x, _kind(k), n)
    return ops.multiply(made, ops.splat(np.asarray(c * f), made))
