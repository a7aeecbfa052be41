"""The forms that an expression of a program may take: how accurate each is, what it costs, and where it may be used."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from reactant.precision.improvement import truth
from reactant.precision.improvement.candidates import Candidate, candidates, measured
from reactant.precision.improvement.expressions import Array, Expression, leaves, operations
from reactant.precision.improvement.fits import of_a_quotient, specialised
from reactant.precision.improvement.guards import Guard, holding, of_leaves, price, together
from reactant.precision.improvement.recipe import LIMBS, Form
from reactant.precision.improvement.recording import Profile
from reactant.precision.improvement.regimes import Piecewise, best_pieces, whole

SAMPLES = 256
"""Elements that errors are measured on."""
ANYWHERE = 160
"""Samples among all floats of the format, beside the special ones, on which a form without a guard loses nothing."""
SAME = 1.0
"""Bits of error that another form may have more on one of them."""
CHEAP_SAVING = 0.15
"""Nanoseconds per element below which a narrower format is not worth its conversions."""
CHEAP = 2.0
"""Nanoseconds per element of an expression for which no cheaper one is looked for."""
MOST_FORMS, LEAST_HELD = 10, 40
"""Forms that guards are looked for, and samples that have to be within them."""
DIGITS, REDUCED = {"float32": 24, "float64": 53}, 32
"""Binary digits of polynomials, and those of ones for fewer digits of float64."""
LEAST_RIGHT = 10
"""Right bits of forms that are less accurate than the expression."""
Guards: TypeAlias = tuple[Guard, ...]
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


def found_for(expression: Expression, dtype: np.dtype, profile: Profile, weight: float, needed: bool = False) -> Found:
    """All options for an expression on a profile of its leaves. needed: with the guards alone that `Anywhere` asks for,
    not with those of all ranges."""
    given = _thinned(profile.samples)
    real = truth.in_reals(expression, given, dtype)[0][expression]
    before = measured(expression, given, real, dtype)
    first = Option(None, float(before.errors.mean()), before.cost)
    ranges = _ranges(profile, dtype)
    several = len(list(operations(expression))) > 1
    forms = [before]
    if several and (first.bits > SAME / 4 or first.cost > CHEAP):
        forms = candidates(expression, given, dtype)
    options = [first]
    test = Anywhere(expression, dtype, given) if needed else None
    accurate = [whole(expression)]
    if first.bits > SAME / 4 and several:
        accurate.append(best_pieces(expression, forms, given, dtype))
    accurate += [whole(each.expression) for each in _front(forms)]
    for pieces in dict.fromkeys(accurate):
        if pieces != accurate[0]:
            form = Form(pieces, dtype.name, _where(pieces, (), ranges, test))
            options.append(_option(expression, form, given, real, dtype))
        for name in ("float32", "float64"):
            if name != dtype.name:
                where = _where(pieces, (), ranges, None if name == "float32" else test)
                options.append(_option(expression, Form(pieces, name, where), given, real, dtype))
    for form in _on_ranges(forms, given, profile, dtype, ranges, test):
        options.append(_option(expression, form, given, real, dtype))
    if dtype == np.float64 and min(each.bits for each in options) > SAME:
        for name in LIMBS:
            options.append(_option(expression, Form(whole(expression), name, ranges), given, real, dtype))
    return Found(expression, dtype, _worthwhile(options, DIGITS[dtype.name] - LEAST_RIGHT), weight)


def _front(forms: Sequence[Candidate]) -> list[Candidate]:
    """Those that no other one beats in both bits and cost, and a few more of the most accurate ones."""
    found = list(forms[:MOST_FORMS])
    for each in sorted(forms[MOST_FORMS:], key=lambda form: (form.cost, form.errors.mean())):
        if all(other.cost > each.cost or other.errors.mean() > each.errors.mean() + SAME / 4
               for other in found):
            found.append(each)
    return found


def _on_ranges(forms: Sequence[Candidate], given: Sequence[Array], profile: Profile, dtype: np.dtype, ranges: Guards,
               test: Anywhere | None) -> Iterator[Form]:
    """The forms with polynomials for functions of one value, in the format and with fewer digits."""
    for each in _front(forms):
        for name in ("float64", "float32") if dtype == np.float64 else (dtype.name,):
            for digits in (DIGITS[name], REDUCED):
                for find in (specialised, of_a_quotient) if each is forms[0] else (specialised,):
                    made = find(each.expression, given, profile.low, profile.high, np.dtype(name), digits)
                    if made is not None and digits <= DIGITS[name]:
                        pieces = whole(made[0])
                        yield Form(pieces, name, _where(pieces, made[1], ranges, test if name == dtype.name else None))


def _where(pieces: Piecewise, own: Guards, ranges: Guards, test: Anywhere | None) -> Guards:
    """The guards of a form, beside those it has of its own."""
    return together([*own, *ranges]) if test is None else test.where(pieces, own, ranges)


def _thinned(samples: Sequence[Array]) -> list[Array]:
    count = len(samples[0])
    chosen = np.unique(np.linspace(0, count - 1, min(count, SAMPLES)).round().astype(int))
    return [each[chosen] for each in samples]


def _ranges(profile: Profile, dtype: np.dtype) -> Guards:
    most = float(np.finfo(dtype).max)
    low, high = ([float(np.clip(each, -most, most)) for each in ends] for ends in (profile.low, profile.high))
    return of_leaves(low, high)


def _option(expression: Expression, form: Form, given: Sequence[Array], real: Array, dtype: np.dtype) -> Option:
    values = computed(form, given, dtype)
    if form.where:
        values = np.where(holding(form.where, given, dtype), values, whole(expression).in_floats(given, dtype))
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


class Anywhere:
    """Samples among all floats of a format, on which forms are tried: where they lose nothing, no guard is needed."""

    def __init__(self, expression: Expression, dtype: np.dtype, seen: Sequence[Array]):
        self.expression, self.dtype = expression, dtype
        self.given = anywhere(1 + max(leaves(expression)), dtype)
        if len(seen) > 1:
            self.given = [np.concatenate([all_kinds, *more]) for all_kinds, *more in
                          zip(self.given, *(self._seen_in(k, seen) for k in range(len(seen))), strict=True)]

    def _seen_in(self, k: int, seen: Sequence[Array]) -> list[Array]:
        """Samples with one leaf as it was seen."""
        count = min(ANYWHERE // 2, len(seen[k]))
        rows = [each[np.arange(count)] for each in anywhere(len(seen), self.dtype)]
        rows[k] = seen[k][np.linspace(0, len(seen[k]) - 1, count).round().astype(int)]
        return rows

    @cached_property
    def before(self) -> tuple[Array, Array, Array]:
        """Real values, floats, and bits of error of the expression."""
        real = truth.in_reals(self.expression, self.given, self.dtype)[0][self.expression]
        values = whole(self.expression).in_floats(self.given, self.dtype)
        return real, values, truth.bits_of_error(values, real, self.dtype)

    def _as_right(self, after: Array) -> Array:
        """For which samples a form is as right as the expression: it loses at most a bit more, up to three where that
        has lost some; where there is no real number it is infinite or NaN too."""
        real, before, errors = self.before
        lost = np.minimum(truth.bits_of_error(after, real, self.dtype), DIGITS[self.dtype.name])    # more is no worse
        given_nan = np.isnan(self.given).any(axis=0)
        same = (before == after) | np.isinf(before) & np.isinf(after) | (after == real) \
            | np.isnan(before) & (np.isnan(after) | np.isinf(after) & ~given_nan)
        return np.where(np.isfinite(real), lost <= errors + SAME + np.minimum(errors / 2, 2 * SAME), same)

    def where(self, pieces: Piecewise, own: Guards, ranges: Guards) -> Guards:
        """The cheapest guards, beside those of a form's own, with which it is as right as the expression on the
        samples; else those of where it was measured."""
        right = self._as_right(pieces.in_floats(self.given, self.dtype))
        most = float(np.finfo(self.dtype).max)
        finite = tuple(Guard(each.of, -most, most) for each in ranges)
        tried = [(), *((each,) for each in finite), *((each,) for each in ranges), finite,
                 *((a, *finite[:k], *finite[k + 1:]) for k, a in enumerate(ranges))]
        for more in sorted(tried, key=lambda guards: price(together([*own, *guards]), self.dtype)):
            guards = together([*own, *more])
            held = holding(guards, self.given, self.dtype) if guards else np.ones(len(right), bool)
            if right[held].all() and held.sum() >= LEAST_HELD:
                return guards
        return together([*own, *ranges])


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


def _worthwhile(options: list[Option], most: float) -> list[Option]:
    """The first, and those that are more accurate than all that cost less, or cost clearly less. most: bits of error of
    those that have more than the first."""
    first, *others = options
    kept: list[Option] = []
    useful = [each for each in others if each.bits <= max(first.bits, most)]
    for each in sorted(useful, key=lambda option: (option.cost, option.bits)):
        cheaper = each.cost <= first.cost - CHEAP_SAVING
        better = each.bits < min([first.bits, *(other.bits for other in kept)]) - SAME / 4
        if better or cheaper and not any(other.bits <= each.bits + SAME / 4 for other in kept):
            kept.append(each)
    return [first, *kept]
