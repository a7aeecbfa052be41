"""`np.random.seed(k)` and `np.random.RandomState(k)` in compiled code: NumPy's own numbers, drawn while tracing.

What such a generator gives after a known seed is known, so it is a constant of the program. That is so where each call
is traced once and comes once: outside of branches and loops decided at run time; loops that draw are unrolled. Location
and scale may be run-time values: NumPy multiplies and adds to what it drew. After the call NumPy's hidden state is what
the plain function would have left.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from reactant.errors import Reason
from reactant.frontends.arrays.creation import array
from reactant.frontends.arrays.implements import has_tensors
from reactant.frontends.arrays.tensor import Tensor, is_tensor
from reactant.frontends.numpy.refused import LEGACY_RANDOM
from reactant.frontends.session import calls
from reactant.frontends.session.trace import Trace, current_trace, is_tracing
from reactant.frontends.texts import printing

PARAMETERS = Reason("{name} draws with parameters that are known only at run time.",
                    "Draw standard numbers (standard_normal, random_sample) and scale them, or use "
                    "rng = np.random.default_rng(seed).", "random-generator")
STAGED = Reason("{name} in a branch or loop that run-time values decide would draw once, while it is traced.",
                "Draw before it, or use rng = np.random.default_rng(seed).", "random-generator")
SEED = Reason("{name} with a seed that is not known while the function is compiled.",
              "Use rng = np.random.default_rng(seed), whose seed may be a run-time value.", "random-generator")

DRAWS = """rand randn randint random random_sample random_integers choice shuffle permutation beta binomial
    chisquare dirichlet exponential f gamma geometric gumbel hypergeometric laplace logistic lognormal logseries
    multinomial multivariate_normal negative_binomial noncentral_chisquare noncentral_f normal pareto poisson power
    rayleigh standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular uniform vonmises
    wald weibull zipf""".split()

NAMES = frozenset({*DRAWS, "ranf", "sample", "seed", "RandomState"})
"""What of `np.random` is replaced."""

_seeded: weakref.WeakKeyDictionary[Trace, np.random.RandomState] = weakref.WeakKeyDictionary()
"""What stands for the hidden generator in a trace that has seeded it."""
_made: weakref.WeakKeyDictionary[Trace, dict[int, np.random.RandomState]] = weakref.WeakKeyDictionary()
"""The generators that a trace has made, by their ids."""


def _state_of(generator: Any, name: str) -> np.random.RandomState:
    """The generator that answers in this trace. Raises `UnsupportedError` where none can."""
    trace = current_trace()
    own = _seeded.get(trace) if generator is np.random.mtrand._rand else \
        _made.get(trace, {}).get(id(generator))
    if own is None:
        raise LEGACY_RANDOM.named(f"np.random.{name}").error()
    if trace.region.parent is not None:
        raise STAGED.named(f"np.random.{name}").error()
    return own


def _drawing(original: Callable, name: str) -> Callable:
    def draw(generator: Any, *args: Any, **keywords: Any) -> Any:
        if not is_tracing():
            return original(generator, *args, **keywords)
        state = _state_of(generator, name)
        if name in ("shuffle", "permutation", "choice") and args and is_tensor(args[0]):
            return _of_array(state, name, *args, **keywords)
        args, keywords = _known(args), dict(zip(keywords, _known(tuple(keywords.values())), strict=True))
        if has_tensors(args, keywords):
            scaled = _SCALED.get(name)
            if scaled is None:
                raise PARAMETERS.named(f"np.random.{name}").error()
            return scaled(state, *args, **keywords)
        drawn = getattr(state, name)(*args, **keywords)
        return array(drawn) if isinstance(drawn, np.ndarray) else drawn
    return draw


def _known(values: tuple) -> tuple:
    """Arrays of the trace whose elements are known, as NumPy's."""
    return tuple(x.numpy() if is_tensor(x) and x.is_concrete() else x for x in values)


def _of_array(state: np.random.RandomState, name: str, a: Tensor, *args: Any, **keywords: Any) -> Any:
    """What permutes or chooses elements: by their numbers."""
    if name == "choice":
        if has_tensors(args, keywords):
            raise PARAMETERS.named("np.random.choice").error()
        return a[state.choice(len(a), *args, **keywords)]
    order = state.permutation(len(a))
    if name == "permutation":
        return a[order]
    a[...] = a[order]
    return None


def _shape(size: Any, *parameters: Any) -> Any:
    return np.broadcast_shapes(*(np.shape(p) for p in parameters)) if size is None else size


def _normal(state: np.random.RandomState, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return loc + scale * _standard(state.standard_normal(_shape(size, loc, scale)))


def _uniform(state: np.random.RandomState, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    return low + (high - low) * _standard(state.random_sample(_shape(size, low, high)))


def _exponential(state: np.random.RandomState, scale: Any = 1.0, size: Any = None) -> Any:
    return scale * _standard(state.standard_exponential(_shape(size, scale)))


def _standard(drawn: Any) -> Any:
    return array(drawn) if np.ndim(drawn) else float(drawn)


_SCALED = {"normal": _normal, "uniform": _uniform, "exponential": _exponential}


def _checked_seed(seed: Any, name: str) -> Any:
    seed, = _known((seed,))
    if has_tensors((seed,), {}):
        raise SEED.named(name).error()
    if seed is None:
        raise LEGACY_RANDOM.named(name).error()
    return seed


def _seed(original: Callable) -> Callable:
    def seed(seed: Any = None) -> None:
        if not is_tracing():
            return original(seed)
        trace = current_trace()
        known = _checked_seed(seed, "np.random.seed")
        if trace.region.parent is not None:
            raise STAGED.named("np.random.seed").error()
        if trace in _seeded:
            _seeded[trace].seed(known)
            return None
        _seeded[trace] = state = np.random.RandomState(known)
        printing.said(lambda: np.random.set_state(state.get_state()), (), {})       # where the draws have left it
        return None
    return seed


def _random_state(original: type) -> Callable:
    def make(seed: Any = None) -> np.random.RandomState:
        if not is_tracing():
            return original(seed)
        made = original(_checked_seed(seed, "np.random.RandomState"))
        _made.setdefault(current_trace(), {})[id(made)] = made
        return made
    return make


def install() -> None:
    """Put the functions in place."""
    for name in DRAWS:
        method = getattr(np.random.RandomState, name)
        calls.replace(method)(_drawing(method, name))
    uniform = _drawing(np.random.RandomState.random_sample, "random_sample")
    for alias in (np.random.ranf, np.random.sample):
        calls.replace(alias)(lambda *args, **keywords: uniform(np.random.mtrand._rand, *args, **keywords))
    calls.replace(np.random.seed)(_seed(np.random.seed))
    calls.replace(np.random.RandomState)(_random_state(np.random.RandomState))

