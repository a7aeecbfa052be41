"""The forms that an expression of a program may take: how accurate each is, what it costs, and where it may be used."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reactant.precision.improvement import truth
from reactant.precision.improvement.candidates import candidates, measured
from reactant.precision.improvement.expressions import Array, Expression, leaves, operations
from reactant.precision.improvement.recipe import LIMBS, Form
from reactant.precision.improvement.recording import Profile
from reactant.precision.improvement.regimes import Piecewise, best_pieces, whole

SAMPLES = 256
"""Elements that errors are measured on."""
ANYWHERE = 160
"""Samples among all floats of the format, beside the special ones, on which a form without a guard loses nothing."""
SAME = 1.0
"""Bits of error that another form may have more on one of them."""
CHEAP_SAVING = 0.5
"""Nanoseconds per element below which a narrower format is not worth its conversions."""
Ranges = tuple[tuple[float, float], ...]
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan)


class Option(NamedTuple):
    """form: None for the expression as it is. bits: of error, on average. cost: nanoseconds per element."""

    form: Form | None
    bits: float
    cost: float


class Found(NamedTuple):
    """What there is for one expression; the first option is the expression as it is. weight: elements per call."""

    expression: Expression
    dtype: np.dtype
    options: list[Option]
    weight: float

    @property
    def key(self) -> tuple[Expression, str]:
        return self.expression, self.dtype.name


def found_for(expression: Expression, dtype: np.dtype, profile: Profile, weight: float) -> Found:
    """All options for an expression on a profile of its leaves."""
    given = _thinned(profile.samples)
    real = truth.in_reals(expression, given, dtype)[0][expression]
    before = measured(expression, given, real, dtype)
    base = float(before.errors.mean())
    options = [Option(None, base, before.cost)]
    ranges = _ranges(profile, dtype)
    accurate: dict[Piecewise, Ranges | None] = {whole(expression): None}
    if base > SAME / 4 and len(list(operations(expression))) > 1:
        forms = candidates(expression, given, dtype)
        pieces = best_pieces(expression, forms, given, dtype)
        for each in dict.fromkeys((pieces, *(whole(form.expression) for form in forms[:3]))):
            if each not in accurate:
                accurate[each] = _guard(expression, each, dtype, ranges)
                options.append(_option(expression, Form(each, dtype.name, accurate[each]), given, real, dtype))
    for name in ("float32", "float64"):
        if name != dtype.name:
            for pieces, guard in accurate.items():
                guard = ranges if name == "float32" else guard
                options.append(_option(expression, Form(pieces, name, guard), given, real, dtype))
    if dtype == np.float64 and min(each.bits for each in options) > SAME:
        for name in LIMBS:
            options.append(_option(expression, Form(whole(expression), name), given, real, dtype))
    return Found(expression, dtype, _worthwhile(options), weight)


def _thinned(samples: Sequence[Array]) -> list[Array]:
    count = len(samples[0])
    chosen = np.unique(np.linspace(0, count - 1, min(count, SAMPLES)).round().astype(int))
    return [each[chosen] for each in samples]


def _ranges(profile: Profile, dtype: np.dtype) -> tuple[tuple[float, float], ...]:
    most = float(np.finfo(dtype).max)
    return tuple((float(np.clip(low, -most, most)), float(np.clip(high, -most, most)))
                 for low, high in zip(profile.low, profile.high, strict=True))


def _option(expression: Expression, form: Form, given: Sequence[Array], real: Array, dtype: np.dtype) -> Option:
    values = computed(form, given, dtype)
    known = np.isfinite(real)
    errors = truth.bits_of_error(values, real, dtype)[known] if known.any() else np.zeros(1)
    return Option(form, float(errors.mean()), form.cost(expression, dtype))


def computed(form: Form, given: Sequence[Array], dtype: np.dtype) -> Array:
    """What a form gives on samples, but for its guard."""
    if form.precision in LIMBS:
        (expression,) = form.pieces.pieces
        return np.array([truth.rounded_at(expression, [each[k] for each in given], 104, dtype)
                         for k in range(len(given[0]))], dtype)
    inner = np.dtype(form.precision)
    with np.errstate(all="ignore"):
        return form.pieces.in_floats([np.asarray(each).astype(inner) for each in given], inner).astype(dtype)


def _guard(expression: Expression, pieces: Piecewise, dtype: np.dtype, ranges: Ranges) -> Ranges | None:
    """Where other pieces may be used: everywhere, if they lose nothing on samples of all floats of a format, and are
    infinite or NaN where the expression is; for all finite numbers, if only the other ones are in the way; else where
    they were measured."""
    given = anywhere(1 + max(leaves(expression)), dtype)
    real = truth.in_reals(expression, given, dtype)[0][expression]
    before, after = (each.in_floats(given, dtype) for each in (whole(expression), pieces))
    errors = [truth.bits_of_error(each, real, dtype) for each in (before, after)]
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    right = np.where(np.isfinite(real), errors[1] <= errors[0] + SAME, same)
    if right.all():
        return None
    finite = np.isfinite(given).all(axis=0)
    most = float(np.finfo(dtype).max)
    return ((-most, most),) * len(ranges) if right[finite].all() else ranges


def anywhere(count: int, dtype: np.dtype) -> list[Array]:
    """Samples for some leaves: random bits of the format, usual numbers, and the special ones with each other."""
    random = np.random.default_rng(7)
    kind = np.int64 if dtype == np.float64 else np.int32
    info = np.iinfo(kind)
    bits = random.integers(info.min, info.max, (count, ANYWHERE // 2), dtype=kind).view(dtype)
    sizes = 10.0 ** random.uniform(-3, 3, ANYWHERE // 2)
    usual = (random.standard_normal((count, ANYWHERE // 2)) * sizes).astype(dtype)
    tiny, most = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    special = np.array([*SPECIAL, tiny, -tiny, most, -most], dtype)
    mixed = special[random.integers(0, len(special), (count, 64 if count > 1 else 1))]
    alone = np.concatenate([np.where(np.arange(count)[:, None] == k, special, usual[:, :1]) for k in range(count)], 1)
    return list(np.concatenate([bits, usual, mixed, alone], 1))


def _worthwhile(options: list[Option]) -> list[Option]:
    """The first, and those that are more accurate than all that cost less, or cost clearly less."""
    first, *others = options
    kept: list[Option] = []
    for each in sorted(others, key=lambda option: (option.cost, option.bits)):
        cheaper = each.cost <= first.cost - CHEAP_SAVING
        better = each.bits < min([first.bits, *(other.bits for other in kept)]) - SAME / 4
        if better or cheaper and not any(other.bits <= each.bits + SAME / 4 for other in kept):
            kept.append(each)
    return [first, *kept]
