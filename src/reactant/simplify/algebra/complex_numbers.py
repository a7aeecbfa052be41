"""Complex numbers that are made of parts, and of which parts are read: arithmetic on the parts instead.

A product of complex numbers has four real products; where only one part of it is read, two are enough, and where a
factor is real, one. `real(x y)` is written as XLA itself computes it, so the value is the same but for contraction.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of
from reactant.rewrite import match, named, once, one_of, producer, rewrite, splat, users, variables
from reactant.simplify.facts.contents import is_splat

x, y, u, v, t = variables("x y u v t")


def _c(a: Any, n: int = 6) -> ir.Value:
    return ops.complex(a(n, dtype="float32"), a(n, dtype="float32"))


# ---- sums ----------------------------------------------------------------------------------------------------------

LINEAR = ("stablehlo.add", "stablehlo.subtract")


@rewrite(match.real(once(one_of(LINEAR, x, y, template="t"))), dtypes="complex")
def real_of_sum(x, y, t):
    """real(x + y) = real(x) + real(y)"""
    return _again(t.name, ops.real(x), ops.real(y))


@rewrite(match.imag(once(one_of(LINEAR, x, y, template="t"))), dtypes="complex")
def imag_of_sum(x, y, t):
    """imag(x + y) = imag(x) + imag(y)"""
    return _again(t.name, ops.imag(x), ops.imag(y))


def _again(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    return getattr(ops, name.removeprefix("stablehlo."))(left, right)


@rewrite(one_of(LINEAR, x, y, template="t"), dtypes="complex",
         example=(lambda a: ops.add(_c(a), _c(a)), lambda a: ops.subtract(_c(a), 2j),
                  lambda a: ops.add(ops.convert(a(6, dtype="float32"), "complex64"), 1j),
                  lambda a: ops.subtract(ops.convert(a(6, dtype="float16"), "complex64"), _c(a))),
         counter=(lambda a: ops.add(a(6, dtype="complex64"), 1j), lambda a: ops.add(_c(a), a(6, dtype="complex64")),
                  lambda a: [w := _c(a), ops.add(w, 1j)]))
def sum_of_pairs(x, y, t):
    """complex(a, b) + complex(c, d) = complex(a + c, b + d), where the parts are at hand"""
    if not (_is_pair(x) and _is_pair(y)) or any(ops.made_by(v, "complex") and users(v) > 1 for v in (x, y)):
        return None
    return ops.complex(*(_again(t.name, _part(x, part), _part(y, part)) for part in (0, 1)))


@rewrite(match.negate(once(match.complex(x, y))), example=lambda a: ops.negate(_c(a)))
def negate_of_pair(x, y):
    """-complex(x, y) = complex(-x, -y)"""
    return ops.complex(ops.negate(x), ops.negate(y))


@rewrite(match.conj(match.complex(x, y)), example=lambda a: ops.conj(_c(a)))
def conjugate_of_pair(x, y):
    """conj(complex(x, y)) = complex(x, -y)"""
    return ops.complex(x, ops.negate(y))


@rewrite(match.real(once(match.negate(x))), dtypes="complex")
def real_of_negate(x):
    """real(-x) = -real(x)"""
    return ops.negate(ops.real(x))


@rewrite(match.imag(once(match.negate(x))), dtypes="complex")
def imag_of_negate(x):
    """imag(-x) = -imag(x)"""
    return ops.negate(ops.imag(x))


# ---- products ------------------------------------------------------------------------------------------------------

@rewrite(match.real(once(match.multiply(x, y))), dtypes="complex", changes="rounding", assumes="finite")
def real_of_product(x, y):
    """real(x y) = real(x) real(y) - imag(x) imag(y)"""
    return ops.subtract(ops.multiply(ops.real(x), ops.real(y)), ops.multiply(ops.imag(x), ops.imag(y)))


@rewrite(match.imag(once(match.multiply(x, y))), dtypes="complex", changes="rounding", assumes="finite")
def imag_of_product(x, y):
    """imag(x y) = real(x) imag(y) + imag(x) real(y)"""
    return ops.add(ops.multiply(ops.real(x), ops.imag(y)), ops.multiply(ops.imag(x), ops.real(y)))


@rewrite(match.real(once(match.multiply(x, y))), dtypes="complex", changes="rounding",
         example=(lambda a: ops.real(ops.multiply(_c(a), _c(a))),
                  lambda a: ops.real(ops.multiply(ops.complex(a(6, dtype="float32"), 0.0), _c(a)))),
         counter=lambda a: ops.real(ops.multiply(a(6, dtype="complex64"), a(6, dtype="complex64"))))
def real_of_product_of_pairs(x, y):
    """real(complex(a, b) complex(c, d)) = a c - b d, where the parts are at hand"""
    if not (_is_pair(x) and _is_pair(y)):
        return None
    return ops.subtract(ops.multiply(_part(x, 0), _part(y, 0)), ops.multiply(_part(x, 1), _part(y, 1)))


@rewrite(match.imag(once(match.multiply(x, y))), dtypes="complex", changes="rounding",
         example=lambda a: ops.imag(ops.multiply(_c(a), _c(a))),
         counter=lambda a: ops.imag(ops.multiply(a(6, dtype="complex64"), a(6, dtype="complex64"))))
def imag_of_product_of_pairs(x, y):
    """imag(complex(a, b) complex(c, d)) = a d + b c, where the parts are at hand"""
    if not (_is_pair(x) and _is_pair(y)):
        return None
    return ops.add(ops.multiply(_part(x, 0), _part(y, 1)), ops.multiply(_part(x, 1), _part(y, 0)))


def _is_pair(value: ir.Value) -> bool:
    made = producer(value)
    return made is not None and (made.name in ("stablehlo.complex", "stablehlo.constant")
                                 or made.name == "stablehlo.convert" and dtype_of(made.operands[0]).kind == "f")


def _part(value: ir.Value, which: int) -> ir.Value:
    made = producer(value)
    if made is not None and made.name == "stablehlo.complex":
        return made.operands[which]
    if made is not None and made.name == "stablehlo.convert" and dtype_of(made.operands[0]).kind == "f":
        part = np.dtype(np.float32 if dtype_of(value) == np.complex64 else np.float64)
        real = ops.convert(made.operands[0], part)
        return real if which == 0 else ops.splat(0, real)
    return (ops.real, ops.imag)[which](value)


@rewrite(match.multiply(x, splat("c")), dtypes="complex", assumes="finite", changes="rounding",
         example=lambda a: ops.multiply(_c(a), ops.constant(2, "complex64", (6,))),
         counter=lambda a: ops.multiply(a(6, dtype="complex64"), ops.constant(2j, "complex64", (6,))))
def product_with_real_constant(x, c):
    """complex(x, y) c = complex(x c, y c) for a real number c"""
    if not _is_pair(x) or c.imag != 0 or ops.constant_value(x) is not None:
        return None
    return ops.complex(*(ops.multiply(part, ops.splat(c.real, part)) for part in (_part(x, 0), _part(x, 1))))


# ---- magnitudes ----------------------------------------------------------------------------------------------------

@rewrite(match.multiply(once(match.abs(x)), match.abs(x)), changes="rounding", assumes="finite",
         example=lambda a: ops.multiply(ops.abs(w := a(6, dtype="complex64")), ops.abs(w)),
         counter=lambda a: ops.multiply(ops.abs(a(6, dtype="float32")), ops.abs(a(6, dtype="float32"))))
def square_of_magnitude(x):
    """|x|^2 = real(x)^2 + imag(x)^2"""
    if dtype_of(x).kind != "c":
        return None
    re, im = ops.real(x), ops.imag(x)
    return ops.add(ops.multiply(re, re), ops.multiply(im, im))


@rewrite(match.multiply(match.abs(x), match.abs(x)), changes="rounding",
         example=lambda a: ops.multiply(m := ops.abs(_small(a)), m),
         counter=lambda a: ops.multiply(ops.abs(a(6, dtype="float32")), ops.abs(a(6, dtype="float32"))))
def square_of_magnitude_checked(x):
    """|x|^2 = real(x)^2 + imag(x)^2, infinite where a part of x is, also where the other part is NaN"""
    if dtype_of(x).kind != "c":
        return None
    re, im = ops.real(x), ops.imag(x)
    total = ops.add(ops.multiply(re, re), ops.multiply(im, im))
    return ops.select(ops.or_(ops.is_inf(re), ops.is_inf(im)), np.inf, total)


def _small(a: Any) -> ir.Value:
    """Numbers whose squares are ordinary, zero, infinite or NaN."""
    def part() -> ir.Value:
        w = a(6, dtype="float32")
        size_ = ops.abs(w)
        odd = ops.and_(ops.is_finite(w), ops.or_(ops.compare(size_, 1e10, "GT"), ops.compare(size_, 1e-10, "LT")))
        return ops.select(odd, 1.0, w)
    return ops.complex(part(), part())


@rewrite(match.abs(match.complex(x, 0.0)), example=lambda a: ops.abs(ops.complex(
    a(6, dtype="float32"), 0.0)), counter=lambda a: ops.abs(_c(a)))
def magnitude_of_real(x):
    """|complex(x, 0)| = |x|"""
    return ops.abs(x)


@rewrite(match.abs(named("w", match.convert(x))),
         example=lambda a: ops.abs(ops.convert(a(6, dtype="float32"), np.complex64)),
         counter=lambda a: ops.abs(ops.convert(a(6, dtype="float32"), np.float64)))
def magnitude_of_converted(w, x, result_dtype):
    """|convert(x, complex)| = |x| for real x"""
    if dtype_of(x).kind != "f" or dtype_of(w).kind != "c":
        return None
    return ops.abs(ops.convert(x, result_dtype)) if dtype_of(x).itemsize <= result_dtype.itemsize else None


@rewrite(match.abs(match.negate(x)), dtypes="complex",
         example=lambda a: ops.abs(ops.negate(a(6, dtype="complex64"))))
def magnitude_of_negate(x):
    """|-x| = |x|"""
    return ops.abs(x)


@rewrite(match.abs(match.conj(x)), dtypes="complex",
         example=lambda a: ops.abs(ops.conj(a(6, dtype="complex64"))))
def magnitude_of_conjugate(x):
    """|conj(x)| = |x|"""
    return ops.abs(x)


@rewrite(match.abs(match.complex(match.real(x), match.negate(match.imag(x)))),
         example=lambda a: ops.abs(ops.complex(ops.real(w := a(6, dtype="complex64")), ops.negate(ops.imag(w)))))
def magnitude_of_written_conjugate(x):
    """|complex(real(x), -imag(x))| = |x|"""
    return ops.abs(x)


@rewrite(match.complex(match.real(match.complex(x, y)), v), example=lambda a: ops.complex(ops.real(_c(a)),
                                                                                         a(6, dtype="float32")))
def pair_of_part(x, y, v):
    """complex(real(complex(x, y)), v) = complex(x, v)"""
    return ops.complex(x, v)


# ---- exponentials --------------------------------------------------------------------------------------------------

@rewrite(match.real(once(match.exponential(match.complex(x, y)))), changes="rounding", assumes="finite",
         example=lambda a: ops.real(ops.exponential(ops.complex(ops.tanh(a(6, dtype="float32")),
                                                                ops.tanh(a(6, dtype="float32"))))))
def real_of_exponential(x, y):
    """real(exp(x + i y)) = exp(x) cos(y)"""
    return _scaled(x, ops.cosine(y))


@rewrite(match.imag(once(match.exponential(match.complex(x, y)))), changes="rounding", assumes="finite",
         example=lambda a: ops.imag(ops.exponential(ops.complex(ops.tanh(a(6, dtype="float32")),
                                                                ops.tanh(a(6, dtype="float32"))))))
def imag_of_exponential(x, y):
    """imag(exp(x + i y)) = exp(x) sin(y)"""
    return _scaled(x, ops.sine(y))


def _scaled(x: ir.Value, wave: ir.Value) -> ir.Value:
    known = ops.constant_value(x)
    return wave if known is not None and not known.any() else ops.multiply(ops.exponential(x), wave)


@rewrite(match.exponential(x), dtypes="complex", changes="rounding",
         example=(lambda a: ops.exponential(ops.complex(ops.constant(0.0, np.float32, (6,)), a(6, dtype="float32"))),
                  lambda a: ops.exponential(ops.multiply(ops.convert(a(6, dtype="float32"), np.complex64),
                                                         ops.constant(2j, np.complex64, (6,))))),
         counter=lambda a: ops.exponential(_c(a)))
def exponential_of_imaginary(x):
    """exp(i y) = complex(cos(y), sin(y))"""
    y = _imaginary(x)
    return None if y is None else ops.complex(ops.cosine(y := y()), ops.sine(y))


def _imaginary(value: ir.Value) -> Callable[[], ir.Value] | None:
    """What builds y, where a complex value is i y (or NaN + i y, where y is not finite)."""
    made = producer(value)
    if made is not None and made.name == "stablehlo.complex":
        known = ops.constant_value(made.operands[0])
        y = made.operands[1]
        return (lambda: y) if known is not None and known.size and not known.any() else None
    if made is None or made.name != "stablehlo.multiply":
        return None
    factor, inner = ops.constant_value(made.operands[1]), producer(made.operands[0])
    if factor is None or not factor.size or factor.real.any() or not is_splat(factor) and factor.size > 1 \
            or inner is None or inner.name != "stablehlo.convert" or dtype_of(inner.operands[0]).kind != "f":
        return None
    number = factor.imag.reshape(-1)[0]
    part = np.dtype(np.float32 if dtype_of(value) == np.complex64 else np.float64)
    if not np.isfinite(number) or number == 0:
        return None
    source = inner.operands[0]
    return lambda: ops.multiply(ops.convert(source, part), float(number)) if number != 1 else ops.convert(source, part)
