"""`reactant.vmap` of random programs against one call after the other: axes from the front and the back, arguments that
are the same for all, trees of arguments, `vmap` of `vmap`, writes into arguments, loops and branches that elements
leave at different times, derivatives."""
from __future__ import annotations

import itertools
import linecache
import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reactant
from tests.amounts import few
from tests.frontends.test_control_flow_random import Program as ControlProgram
from tests.fuzz import differentiable, loops
from tests.fuzz.programs import Program, programs

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example]
REFUSALS = (reactant.UnsupportedError, reactant.ControlFlowError)
CHEAP = {"native": "never"}


@dataclass
class Case:
    """Arguments of `vmap` of `vmap` (of one `vmap` where `sizes` has one number): for each level the axes of the
    arguments as that level gets them, None for those it passes on as they are."""

    sizes: list[int]
    axes: list[list[int | None]]
    arguments: list[Any]


def case_of(r: random.Random, elements: Callable[[int], list[Any]], written: Sequence[int] = ()) -> Case:
    """Random axes over arguments; `elements(k)` are those of call k. What is `written` is mapped on every level."""
    sizes = [r.choice((1, 2, 3)) for _ in range(r.choice((1, 1, 1, 2)))]
    count = int(np.prod(sizes))
    each = [elements(k) for k in range(count)]
    mapped = [[number in written or r.random() < 0.6 for number in range(len(each[0]))] for _ in sizes]
    for level in mapped:
        if not any(level):
            level[r.randrange(len(level))] = True
    axes: list[list[int | None]] = [[None] * len(each[0]) for _ in sizes]
    arguments = []
    for number, first in enumerate(each[0]):
        levels = [level for level in range(len(sizes)) if mapped[level][number]]
        if not levels:
            arguments.append(first)
            continue
        whole = np.stack([np.asarray(row[number]) for row in each]).reshape(*sizes, *np.shape(first))
        whole = whole[tuple(slice(None) if level in levels else 0 for level in range(len(sizes)))]
        for place, level in reversed([*enumerate(levels)]):     # the innermost dimension first
            rank = whole.ndim - place
            axis = r.randrange(rank)
            whole = np.moveaxis(whole, place, place + axis)
            axes[level][number] = axis - rank if r.random() < 0.4 else axis
        arguments.append(whole.copy() if r.random() < 0.7 else whole)
    return Case(sizes, axes, arguments)


def elements_of(case: Case, arguments: Sequence[Any]) -> list[list[Any]]:
    """The arguments of each call: views of those that are mapped."""
    rows = [list(arguments)]
    for size, axes in zip(case.sizes, case.axes, strict=True):
        rows = [[a if axis is None else np.moveaxis(a, axis, 0)[k] if a.ndim > 1 else a[k]
                 for a, axis in zip(row, axes, strict=True)] for row in rows for k in range(size)]
    return rows


def placed(r: random.Random, sizes: Sequence[int], each: Sequence[Any]) -> tuple[list[int], np.ndarray]:
    """Random axes for a result, one of every level, and the result of all calls with those."""
    whole = np.stack([np.asarray(e) for e in each]).reshape(*sizes, *np.shape(each[0]))
    axes: list[int] = []
    for level in reversed(range(len(sizes))):
        rank = whole.ndim - level
        axis = r.randrange(rank)
        whole = np.moveaxis(whole, level, level + axis)
        axes.insert(0, axis - rank if r.random() < 0.4 else axis)
    return axes, whole


def compare(found: Any, wanted: np.ndarray, what: str, tolerance: float) -> None:
    assert np.shape(found) == wanted.shape, f"shape {np.shape(found)} against {wanted.shape}: {what}"
    if wanted.dtype.kind in "biu" and np.asarray(found).dtype.kind in "biu":
        np.testing.assert_array_equal(found, wanted, err_msg=what)
    else:
        scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1.0)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale, err_msg=what)


def agree(r: random.Random, function: Callable, case: Case, source: str, tolerance: float = 1e-9,
          oracle: Callable | None = None, **options: Any) -> str:
    """'same' or 'refused', or an assertion fails. `oracle`: what gives the results of one call, if not the function."""
    mine, theirs = ([a.copy(order="K") if isinstance(a, np.ndarray) else a for a in case.arguments] for _ in range(2))
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            each = [(oracle or function)(*row) for row in elements_of(case, mine)]
    except (ValueError, IndexError, ZeroDivisionError, TypeError, AttributeError):
        return "refused"
    each = [e if isinstance(e, tuple) else (e,) for e in each]
    if len({tuple(np.shape(v) for v in e) for e in each}) > 1:
        return "refused"
    outs = [placed(r, case.sizes, column) for column in zip(*each, strict=True)]
    tree = r.random() < 0.3
    mapped = with_tree(function) if tree else lambda *a: as_tuple(function(*a))
    for level in reversed(range(len(case.sizes))):
        axes: Any = tuple(case.axes[level])
        if tree:
            axes = ({"all": [*axes[1:]]}, axes[0])
        elif len(set(axes)) == 1 and axes[0] is not None and r.random() < 0.5:
            axes = axes[0]
        out_axes: Any = tuple(out[level] for out, _ in outs)
        if out_axes and len(set(out_axes)) == 1 and r.random() < 0.5:
            out_axes = out_axes[0]
        mapped = reactant.vmap(mapped, in_axes=axes, out_axes=out_axes, **options)
    text = f"\n{source}\nsizes {case.sizes} in {case.axes} out {[out for out, _ in outs]} {options}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)     # NumPy's, of constants
            found = mapped({"all": theirs[1:]}, theirs[0]) if tree else mapped(*theirs)
    except REFUSALS:
        return "refused"
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}{text}") from error
    for number, (got, (_, wanted)) in enumerate(zip(found, outs, strict=True)):
        compare(got, wanted, f"result {number}{text}", tolerance)
    for number, (new, old) in enumerate(zip(theirs, mine, strict=True)):
        compare(new, np.asarray(old), f"argument {number} afterwards{text}", tolerance)
    return "same"


def as_tuple(results: Any) -> tuple:
    return results if isinstance(results, tuple) else (results,)


def with_tree(function: Callable) -> Callable:
    """The function of a dict and its first argument."""
    def of_tree(rest, first):
        return as_tuple(function(first, *rest["all"]))

    return of_tree


# ---- control flow and loops ---------------------------------------------------------------------------------------

def check_control(seed: int) -> str:
    r, rng = random.Random(seed), np.random.default_rng(seed)
    program = next(p for p in map(ControlProgram, itertools.count(1000 * seed)) if p.loops < 3)   # others are long
    name = f"<mapped program {seed}>"
    linecache.cache[name] = (len(program.text), None, program.text.splitlines(True), name)
    namespace = {"np": np}
    exec(compile(program.text, name, "exec"), namespace)
    case = case_of(r, lambda k: [rng.normal(size=4), np.float64(rng.normal()), np.int64(rng.integers(0, 6))], [0])
    return agree(r, namespace["program"], case, program.text, optimize=r.choice((False, "default")),
                 unroll_limit=r.choice((0, 4, 64)), **CHEAP)


def check_loops(seed: int) -> str:
    r = random.Random(seed)
    function, source = loops.Loops(seed).function()

    def copying(x, y, a, idx):
        return function(x.copy(), y, a, idx)

    case = case_of(r, lambda k: list(loops.arguments(1000 * seed + k)), [0])
    return agree(r, r.choice((function, copying)), case, source, 1e-8, unroll_limit=r.choice((0, 64)),
                 optimize=r.choice((False, "default")), **CHEAP)


@pytest.mark.parametrize(("check", "seed"), [(check, seed) for check in (check_control, check_loops)
                                             for seed in range(4)])
def test_control_flow(check, seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize(("check", "first"), [*itertools.product((check_control, check_loops), range(4, 304, 50))])
def test_much_control_flow(check, first):
    assert [check(seed) for seed in range(first, first + 50)].count("same") >= 25


# ---- arrays of every kind, views, writes ----------------------------------------------------------------------------

def check_program(program: Program, seed: int) -> str:
    r, rng = random.Random(seed), np.random.default_rng(seed)

    def elements(k: int) -> list[np.ndarray]:
        if k == 0:
            return list(program.arguments.values())
        return [rng.permuted(a.ravel()).reshape(a.shape) for a in program.arguments.values()]

    single = any(a.dtype.name in ("float16", "float32", "complex64")
                 for a in (*program.arguments.values(), *program.outside.values()))
    single = single or "float32" in program.source
    case = case_of(r, elements, range(len(program.arguments)))
    return agree(r, program.function(), case, program.source, 1e-5 if single else 1e-8, **CHEAP)


@given(programs(statements=6), st.integers(0, 99))
@settings(max_examples=few(4, 8), deadline=None, suppress_health_check=QUIET, derandomize=True)
def test_programs(program, seed):
    check_program(program, seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))                   # other programs in each, and in each run
@given(programs(statements=10), st.integers(0, 9999))
@settings(max_examples=100, deadline=None, suppress_health_check=QUIET)
def test_many_programs(part, program, seed):
    check_program(program, seed)


# ---- derivatives ----------------------------------------------------------------------------------------------------

def check_derivative(source: str, seed: int, n: int) -> str:
    """`vmap` of a gradient, of a value and gradient, of forward mode; and a gradient of `vmap`."""
    r, rng = random.Random(seed), np.random.default_rng(seed)
    function = differentiable.function_of(source)
    n = np.int64(n)

    def elements(k: int) -> list[Any]:
        return [rng.uniform(0.1, 1.2, 4), rng.standard_normal(4)]

    def value(x, d):
        return function(x.copy(), n)

    single = reactant.jit(value, **CHEAP)
    kinds = {
        "gradient": lambda x, d: reactant.grad(value)(x, d),
        "both": lambda x, d: reactant.value_and_grad(value)(x, d),
        "forward": lambda x, d: reactant.jvp(value, (x, d), (d, None)),
    }
    kind = r.choice([*kinds, "outside"])
    case = case_of(r, elements, [0])
    try:
        if kind != "outside":
            return agree(r, kinds[kind], case, f"{source}{kind} n={n}", 1e-7, **CHEAP,
                         oracle=lambda x, d: reactant.jit(kinds[kind], **CHEAP)(x, d))
        one = case_of(r, elements, [0])
        while len(one.sizes) > 1:
            one = case_of(r, elements, [0])
        weights = rng.standard_normal(one.sizes[0])
        whole = reactant.grad(lambda x, d: np.sum(weights * reactant.vmap(value, in_axes=tuple(one.axes[0]))(x, d)))
        x, d = one.arguments
        found = reactant.jit(whole, **CHEAP)(x, d)
        gradient = reactant.jit(reactant.grad(single), **CHEAP)
        rows = elements_of(one, one.arguments)
        each = [w * gradient(np.array(row[0]), row[1]) for w, row in zip(weights, rows, strict=True)]
        wanted = np.moveaxis(np.stack(each), 0, one.axes[0][0])
        if np.isfinite(wanted).all() and np.abs(wanted).max() < 1e5:
            compare(found, wanted, f"{source}gradient of the map, axes {one.axes}, n={n}", 1e-7)
        return "same"
    except REFUSALS:
        return "refused"


@given(differentiable.programs(), st.integers(0, 99), st.sampled_from((0, 1, 3, 9)))
@settings(max_examples=few(2, 6), deadline=None, suppress_health_check=QUIET, derandomize=True)
def test_derivatives(source, seed, n):
    check_derivative(source, seed, n)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))                   # other programs in each, and in each run
@given(differentiable.programs(), st.integers(0, 9999), st.sampled_from((0, 1, 3, 9)))
@settings(max_examples=50, deadline=None, suppress_health_check=QUIET)
def test_many_derivatives(part, source, seed, n):
    check_derivative(source, seed, n)
