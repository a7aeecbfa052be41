"""Timing of several ways to run one program, fairly: interleaved runs on fresh copies of the arguments, medians."""
from __future__ import annotations

import copy
import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
"""Seconds of the clock, and those of all threads: a busy machine changes the second less."""


def timed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[float, Any]:
    """Seconds that `function(*arguments)` takes, and its result."""
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def interleaved(
    functions: Mapping[str, Callable[..., Any]],
    arguments: tuple[Any, ...],
    repeats: int,
    after_round: Callable[[], None] = lambda: None,
) -> dict[str, float]:
    """The median seconds of each function over `repeats` rounds, in each of which every function runs once.

    Each run gets its own copy of `arguments`, made before the clock starts, so that programs may write into them.
    Interleaving spreads a slow moment of the machine over all functions; the medians drop it.
    """
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            elapsed, _result = timed(function, copy.deepcopy(arguments))
            seconds[name].append(elapsed)
        after_round()
    return {name: statistics.median(runs) for name, runs in seconds.items()}


def taking_iterations(
    functions: Mapping[str, Callable[[], Any]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """As `interleaved` for functions that keep their arguments: no copies, results on a device are waited for, and each
    function runs once before the clock starts."""
    runs = {name: (lambda function=function: one_run(function, clock)) for name, function in functions.items()}
    for run in runs.values():
        run()
    return rounds(runs, repeats)


def one_run(function: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds until the results of `function()` are there."""
    import jax

    start = clock()
    jax.block_until_ready(function())
    return clock() - start


def one_burst(function: Callable[[], Any], least: float, clock: Callable[[], float] = time.perf_counter) -> float:
    """The median seconds of runs that follow one another for `least` seconds, after one that is not counted.

    For comparisons between processes: what a process's first run after a pause costs is in none of them.
    """
    one_run(function)
    seconds = [one_run(function, clock)]
    while sum(seconds) < least:
        seconds.append(one_run(function, clock))
    return statistics.median(seconds)


def rounds(runs: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, float]:
    """The median of what each of `runs` returns (seconds), all of them once in each of `repeats` rounds."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            seconds[name].append(run())
    return {name: statistics.median(each) for name, each in seconds.items()}


def geometric_mean(ratios: Iterable[float]) -> float:
    """exp(mean(log(ratios))); nan of nothing."""
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(statistics.fmean(logarithms)) if logarithms else math.nan


def largest_difference(one: Any, other: Any) -> float:
    """max |one - other| over all arrays and numbers of two equally built results (tuples, lists and dictionaries).

    Equal infinities and NaN against NaN count as no difference. Raises `ValueError` where the structures, shapes or
    lengths differ.
    """
    if isinstance(one, dict):
        if not isinstance(other, dict) or one.keys() != other.keys():
            raise ValueError("the results have different keys")
        return max((largest_difference(one[key], other[key]) for key in one), default=0.0)
    if isinstance(one, (tuple, list)):
        if not isinstance(other, (tuple, list)) or len(one) != len(other):
            raise ValueError("the results have different lengths")
        return max((largest_difference(a, b) for a, b in zip(one, other, strict=True)), default=0.0)
    if one is None and other is None:
        return 0.0
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape:
        raise ValueError(f"the results have shapes {a.shape} and {b.shape}")
    if a.dtype.kind in "biu":
        a, b = a.astype(np.float64), b.astype(np.float64)
    same = (a == b) | ((a != a) & (b != b))
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0.0, np.abs(a - b))
    return float(difference.max(initial=0.0))
