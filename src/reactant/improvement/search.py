"""The search for versions of a program that are more accurate or faster."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from reactant.errors import UnsupportedError
from reactant.improvement import programs
from reactant.improvement.forms import Found, Option, found_for
from reactant.improvement.front import Improvement, Version
from reactant.precision.improvement.recipe import LIMBS, Recipe
from reactant.precision.improvement.recording import Profile, merged

OBJECTIVES = ("accuracy", "speed", "both")
GUARDS = ("ranges", "needed")
PERTURBED, WIDTH = 2, 0.1
"""Runs with other inputs, unless `samples` says how many, and by which part floats in them are larger or smaller."""
MOST_NARROWED, MOST_VERSIONS = 6, 16
"""Versions with one expression more in a narrower format each, and all."""
PRICES = (0.02, 0.1, 0.5)
"""Nanoseconds per element that a bit may cost."""


def improve(function: Callable[..., Any], /, *args: Any, objective: str = "both",
            samples: int | Sequence[tuple] = PERTURBED, guards: str = "ranges", **kwargs: Any) -> Improvement:
    """Versions of a program that are more accurate or faster, with other forms of its elementwise expressions.

    The program runs on the given arguments while the ranges of its values, and samples of them, are recorded. For each
    elementwise expression of floats, also inside of loops and branches, other forms are searched: equal ones in real
    numbers, by an equality graph, exact quotients of polynomials and series; polynomials on the ranges that were seen;
    formats of more or fewer digits. Errors are measured against numbers of as many digits as it takes. Whole programs
    of these are compiled, and measured in turns.

    A form is used where it was measured: where a value is outside of the ranges that were seen, or NaN, the compiled
    function computes the expression as it was written.

    Args:
        function: a NumPy or JAX function, or a `reactant.jit` of one.
        args: arguments it is measured on; they are not changed. Large enough for times to mean something, and typical.
        objective: "accuracy": the most accurate forms; "speed": formats of fewer digits, and forms that cost less;
            "both": all of them.
        samples: how many more runs are recorded, with floats in the arguments up to a tenth larger or smaller; or a
            sequence of other argument tuples, of the same shapes and dtypes.
        guards: "ranges": outside of the ranges that were seen the program's answer does not change. "needed": less is
            tested, which takes less time, where a form is as right as the expression on samples of all floats of the
            format, infinities and NaN among them; outside it may lose a bit that the expression has not lost, or three
            where it has lost four.
        kwargs: arguments by name.

    Returns:
        An `Improvement` with `table()`, `best(bits=...)`, `explain()`, `plot(path)`.

    Raises:
        ValueError: for another objective, other guards, or samples of other shapes.
        UnsupportedError: where there are no arguments, or no floats that depend on them; where the program calls Python
            while it runs; where egglog or mpmath is not installed (the extra `equality`).

    Example:
        >>> x = np.geomspace(1e6, 1e15, 1000)
        >>> found = reactant.improve(lambda x: np.sqrt(x + 1) - np.sqrt(x), x, objective="accuracy")
        >>> found.versions[0].bits < 40 < found.front[-1].bits
        True

    Source: P. Panchekha, A. Sanchez-Stern, J. R. Wilcox, Z. Tatlock, "Automatically improving accuracy for floating
    point expressions", PLDI 2015; C. Rubio-González and others, "Precimonious", SC 2013.
    """
    if objective not in OBJECTIVES:
        raise ValueError(f"reactant.improve: objective is {', '.join(map(repr, OBJECTIVES))}, not {objective!r}.")
    if guards not in GUARDS:
        raise ValueError(f"reactant.improve: guards is {' or '.join(map(repr, GUARDS))}, not {guards!r}.")
    if not args and not kwargs:
        raise _nothing(getattr(function, "__name__", "the function"), "is given no arguments to be measured on",
                       "Call reactant.improve(f, x, ...) with typical arguments, as f(x, ...) is called.")
    program = programs.Program(function, args, kwargs)
    runs = [program.arrays, *_more_runs(program, samples)]
    places, told = programs.profiles(program, runs)
    if not places:
        raise _nothing(program.name, "computes nothing elementwise in float32 or float64 that depends on its arguments",
                       "Give it arrays of floats; integers and complex numbers are not looked at.")
    found = [found_for(expression, np.dtype(name), profile, weight, guards == "needed")
             for (expression, name), profile, weight in _by_expression(places, told)]
    real = programs.in_reals(program)
    versions = _versions(program, found, objective, real)
    compared = "real numbers" if real is not None else "the program as it is (it cannot be computed in more digits)"
    return Improvement(program.name, versions, found, places, compared)


def _nothing(name: str, why: str, hint: str) -> UnsupportedError:
    return UnsupportedError(f"reactant.improve: '{name}' {why}.", hint=hint, code="nothing-to-improve", span=None)


def _more_runs(program: programs.Program, samples: int | Sequence[tuple]) -> Iterator[list[np.ndarray]]:
    """The arrays of further runs."""
    if isinstance(samples, int):
        random = np.random.default_rng(0)
        for _ in range(samples):
            yield [np.asarray(each * random.uniform(1 - WIDTH, 1 + WIDTH, each.shape), each.dtype)
                   if each.dtype.kind == "f" else each for each in program.arrays]
        return
    shapes = [(each.shape, each.dtype) for each in program.arrays]
    for args in samples:
        arrays = program.arrays_of(tuple(args), program.kwargs)
        if [(each.shape, each.dtype) for each in arrays] != shapes:
            raise ValueError("reactant.improve: samples have the shapes and dtypes of the arguments.")
        yield arrays


def _by_expression(places: Sequence[programs.Seen], told: Sequence[Sequence[Profile | None]]
                   ) -> Iterator[tuple[Any, Profile, float]]:
    """Each expression once, with what was seen wherever it is computed, and for how many elements."""
    where: dict[Any, list[int]] = {}
    for k, place in enumerate(places):
        where.setdefault(place.key, []).append(k)
    for key, numbers in where.items():
        profile = merged([run[k] for run in told for k in numbers])
        if profile is not None:
            weight = sum(places[k].elements for k in numbers)
            yield key, profile, float(weight)


# ---- whole programs ------------------------------------------------------------------------------------------------

def _versions(program: programs.Program, found: Sequence[Found], objective: str, real: Any) -> list[Version]:
    """The original, and what is made of the options; each once."""
    recipes: dict[str, dict] = {"original": {}}
    if objective != "speed":
        recipes["most accurate"] = _chosen(found, lambda option, first: (option.bits, option.cost))
        recipes["accurate in its format"] = _chosen(
            found, lambda option, first: (_is_wider(option), round(4 * option.bits), option.cost))
        recipes["accurate, as fast"] = _chosen(
            found, lambda option, first: (option.cost > 1.02 * first.cost, round(4 * option.bits), option.cost))
        for price in PRICES:
            recipes[f"bits for {price:g} ns each"] = _chosen(found, _at(price))
    if objective != "accuracy":
        recipes["faster, as accurate"] = _chosen(
            found, lambda option, first: (option.bits > first.bits + 0.25, option.cost, option.bits))
        recipes |= _narrowed(found)
    recipes |= _alone(found, objective)
    compiled: list[tuple[str, Any, Recipe]] = []
    seen: set[frozenset] = set()
    for name, forms in recipes.items():
        if frozenset(forms.items()) not in seen and len(compiled) < MOST_VERSIONS:
            seen.add(frozenset(forms.items()))
            recipe = Recipe(forms)
            compiled.append((name, program.compiled(recipe if forms else None), recipe))
    times = programs.seconds([each for _, each, _ in compiled], program.args, program.kwargs)
    results = [program.results(each) for _, each, _ in compiled]
    bits = [programs.right_bits(each, results[0] if real is None else real) for each in results]
    return [Version(name, mean, worst, taken, len(recipe.forms), each, recipe)
            for (name, each, recipe), (mean, worst), taken in zip(compiled, bits, times, strict=True)]


def _at(price: float) -> Callable[[Option, Option], float]:
    """Costs, with so much for a bit of error."""
    return lambda option, first: option.cost + price * option.bits


def _is_wider(option: Option) -> bool:
    return option.form is not None and option.form.precision in LIMBS


def _chosen(found: Sequence[Found], price: Callable[[Option, Option], Any]) -> dict:
    """The forms of the options with the least price, where they are not the expression as it is."""
    forms = {}
    for each in found:
        option = min(each.options, key=lambda option: price(option, each.options[0]))
        if option.form is not None:
            forms[each.key] = option.form
    return forms


def _alone(found: Sequence[Found], objective: str) -> dict[str, dict]:
    """Each form of the expression that costs most, beside the accurate ones of the others: costs are estimates."""
    heaviest = max(found, key=lambda each: each.weight * each.options[0].cost)
    first = heaviest.options[0]
    others = _chosen([each for each in found if each is not heaviest],
                     lambda option, first: (option.cost > 1.02 * first.cost, round(4 * option.bits), option.cost))
    wanted = [each for each in heaviest.options[1:] if not _is_wider(each)
              and (each.bits < first.bits or objective != "accuracy")
              and (each.cost < first.cost or objective != "speed")]
    return {f"form {k}": {**others, heaviest.key: each.form} for k, each in enumerate(wanted, 1)}


def _narrowed(found: Sequence[Found]) -> dict[str, dict]:
    """The cheapest form of one expression more each time, those first that save the most for the bits they lose."""
    steps = []
    for each in found:
        first = each.options[0]
        option = min(each.options, key=lambda option: option.cost)
        if option.form is not None and option.bits > first.bits + 0.25:
            steps.append((each.weight * (first.cost - option.cost) / (option.bits - first.bits), each.key, option.form))
    steps.sort(key=lambda step: -step[0])
    forms = _chosen(found, lambda option, first: (option.bits > first.bits + 0.25, option.cost, option.bits))
    stride = max(1, -(-len(steps) // MOST_NARROWED))
    made = {}
    for k, (_, key, form) in enumerate(steps, 1):
        forms = {**forms, key: form}
        if k % stride == 0 or k == len(steps):
            made[f"{k} narrower"] = forms
    return made
