"""`check_derivatives`: derivatives against differences, and against the complex step where it applies."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from reactant.calling import signature as sig
from reactant.calling.jitted import Jitted
from reactant.derivatives import complex_step
from reactant.derivatives.entry import EXTRA, compiled, name_of
from reactant.derivatives.linear import prepared, primal_of
from reactant.derivatives.outline import as_floating, leaves_of
from reactant.derivatives.products import jvp, vjp
from reactant.errors import NotDifferentiable
from reactant.frontends.arrays.tensor import ARRAY, Tensor
from reactant.support.records import dataclass

EXACT = 1e-4
"""The part of the tolerance that the complex step has to agree to."""


@dataclass
class DerivativeCheck:
    """What `reactant.check_derivatives` found; true when both modes agree with differences and with each other.

    Attributes:
        name: the function's name.
        forward_error: relative difference of forward mode and differences; None without a forward mode.
        reverse_error: that of reverse and forward mode, or of reverse mode and differences without a forward mode.
        tolerance: what is admitted.
        complex_step_error: that of forward mode and the complex step; None where it does not apply.

    Example:
        >>> found = reactant.check_derivatives(lambda x: np.sum(x ** 2), np.arange(3.0))
        >>> bool(found), found.forward_error < found.tolerance
        (True, True)
    """

    name: str
    forward_error: float | None
    reverse_error: float
    tolerance: float
    complex_step_error: float | None = None

    def __bool__(self) -> bool:
        exact = self.complex_step_error is None or self.complex_step_error <= EXACT * self.tolerance
        return exact and max(self.forward_error or 0.0, self.reverse_error) <= self.tolerance

    def __str__(self) -> str:
        verdict = "agree" if self else "DIFFER"
        step = "" if self.complex_step_error is None else f", complex step {self.complex_step_error:.2g}"
        found = f"reverse against differences {self.reverse_error:.2g}" if self.forward_error is None else \
            f"forward against differences {self.forward_error:.2g}, reverse against forward {self.reverse_error:.2g}"
        return f"{self.name}: derivatives {verdict}: {found}{step} (relative; tolerance {self.tolerance:.2g})"

    __repr__ = __str__


def check_derivatives(function: Callable, *args: Any, argnums: Sequence[int] | None = None, step: float | None = None,
                      tolerance: float | None = None, seed: int = 0, **kwargs: Any) -> DerivativeCheck:
    """Forward mode compared with central differences, and reverse with forward mode, along one random direction.

    Where the program does with float64 only what is analytic, or analytic on either side of a comparison, forward mode
    is also compared with the complex step, Im f(x + i h t) / h, which is exact to rounding: to 1e-4 of `tolerance`.
    Where a `custom_derivative` has a `vjp` rule alone there is no forward mode, and reverse mode is compared with
    differences.

    Args:
        function: a NumPy or JAX function, or a compiled one.
        args: its positional arguments.
        argnums: positions of those that vary, which have to be floats or complex; all when None.
        step: of the differences; by the least precise dtype of arguments and results when None (6e-6 for float64, 5e-3
            for float32).
        tolerance: relative difference that is admitted; likewise (1e-5 and 1e-3).
        seed: of the random direction.
        kwargs: its arguments by name.

    Returns:
        A `DerivativeCheck`, which is true when all agree and prints the relative differences.

    Raises:
        TypeError: for an argument that cannot vary.
        NotDifferentiable: where an operation has no derivative.

    Example:
        >>> bool(reactant.check_derivatives(lambda x: np.sum(np.sin(x)), np.arange(4.0)))
        True

    Source:
        Complex step: Squire and Trapp, *Using complex variables to estimate derivatives of real functions*, SIAM Review
        40, 1998.
    """
    rng = np.random.default_rng(seed)
    numbers = tuple(range(len(args)) if argnums is None else argnums)
    tangents: list[Any] = [None] * len(args)
    for n in numbers:
        tangents[n] = sig.map_tree(args[n], lambda leaf: _varied_leaf(leaf, rng))
    outputs, pull = vjp(function, *args, argnums=numbers, **kwargs)
    results, moved = _forward(function, args, tangents, kwargs) or (outputs, None)
    precision = _precision([results, *(x for x, t in zip(args, tangents, strict=True) if t is not None)])
    step = precision ** (1 / 3) if step is None else step
    tolerance = max(1e-5, 0.2 * precision ** (1 / 3)) if tolerance is None else tolerance
    ends = []
    for sign in (1, -1):
        shifted = [x if t is None else _moved(x, t, sign * step) for x, t in zip(args, tangents, strict=True)]
        ends.append(vjp(function, *shifted, argnums=numbers, **kwargs)[0])
    cotangents = sig.map_tree(results, lambda leaf: _random(rng, leaf))
    back = _paired(pull(cotangents), [tangents[n] for n in numbers])
    differences = [_difference(a, b, step) for a, b in zip(*map(leaves_of, ends), strict=True)]
    there = [d for d in differences if d is not None]
    scale = max([1.0, *map(_largest, there)])
    if moved is None:
        return DerivativeCheck(name_of(function), None, abs(back - _paired(cotangents, differences)) / scale, tolerance)
    varying = [np.asarray(t) for t, d in zip(leaves_of(moved), differences, strict=True) if d is not None]
    error = max((_largest(d - t) for t, d in zip(varying, there, strict=True)), default=0.0)
    found = _paired(cotangents, moved)
    by_step = _by_complex_step(function, args, tangents, kwargs)
    exact = None if by_step is None else \
        max(map(_largest, map(np.subtract, varying, by_step)), default=0.0) / scale
    return DerivativeCheck(name_of(function), error / scale, abs(back - found) / max(abs(found), 1.0),
                           tolerance, exact)


def _forward(function: Any, args: tuple, tangents: Sequence[Any], kwargs: dict) -> tuple | None:
    """Results and their tangents; None where a rule of the user's is for reverse mode only."""
    try:
        return jvp(function, args, tangents, **kwargs)
    except NotDifferentiable:
        return None


def _difference(after: Any, before: Any, step: float) -> np.ndarray | None:
    """The central difference of one output; None where it does not vary."""
    if after is None or np.asarray(after).dtype.kind not in "fc":
        return None
    return (np.asarray(after) - np.asarray(before)) / (2 * step)


def _by_complex_step(function: Any, args: tuple, tangents: Sequence[Any], kwargs: dict) -> list[Any] | None:
    """The derivative of each output that varies; None where the complex step does not apply."""
    numbers = [n for n, t in enumerate(tangents) if t is not None]
    given = [leaf for t in tangents for leaf in leaves_of(t) if leaf is not None]
    if any(t.dtype != np.float64 for t in given):
        return None

    def traced(args: tuple, kwargs: dict, tangents: Any) -> Any:
        moved = tuple(x if t is None else _moved(x, t, 1.0) for x, t in zip(args, tangents, strict=True))
        made = prepared(function, moved, kwargs, numbers)
        results, _ = primal_of(made)
        return [Tensor.of_value(results[i], ARRAY) for i in made.varying(made.outputs())]

    made = compiled(function, traced, name_of(function), extra=True)
    plain: Jitted = Jitted(made.function, made.options.with_(optimize=("inline",)), made._static, made._traced)
    kwargs = {**kwargs, EXTRA: tuple(tangents)}
    program, leaves = plain.lower(*args, **kwargs).traced, plain._sign(args, kwargs)[1]
    return complex_step.along(program.module, [*leaves, *(array for array, _ in program.captured)],
                              [any(leaf is t for t in given) for leaf in leaves])


def _varied_leaf(leaf: Any, rng: np.random.Generator) -> Any:
    return _random(rng, leaf) if as_floating(leaf) else None


def _precision(trees: Any) -> float:
    """The largest distance between 1 and the next number, of the dtypes of the floats in a tree."""
    dtypes = {np.asarray(leaf).dtype for leaf in leaves_of(trees) if as_floating(leaf)}
    return max((float(jnp.finfo(dtype).eps) for dtype in dtypes), default=np.finfo(float).eps)


def _largest(array: np.ndarray) -> float:
    """The largest absolute value; infinite where something is no number, so that it counts as different."""
    size = np.abs(array)
    return float(np.max(np.where(np.isnan(size), np.inf, size), initial=0))


def _moved(x: Any, t: Any, step: complex) -> Any:
    left = iter(leaves_of(t))

    def leaf(x: Any) -> Any:
        along = next(left)
        return x if along is None else x + step * along
    return sig.map_tree(x, leaf)


def _random(rng: np.random.Generator, like: Any) -> Any:
    if like is None:
        return None
    like = np.asarray(like)
    made = np.asarray(rng.standard_normal(like.shape))
    if like.dtype.kind == "c":
        made = made + 1j * rng.standard_normal(like.shape)
    return made.astype(like.dtype if like.dtype.kind in "fc" else float)


def _paired(cotangents: Any, tangents: Any) -> float:
    return sum(float(np.sum(np.asarray(g) * np.asarray(t)).real)
               for g, t in zip(leaves_of(cotangents), leaves_of(tangents), strict=True)
               if g is not None and t is not None)
