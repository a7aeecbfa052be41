"""`grad`, `value_and_grad`, `jvp`, `vjp`, `jacobian`, `hessian`, `hvp`, `check_derivatives`.

A function is traced and simplified as by `jit`, its module is differentiated, and the result is simplified again. A
function that writes into its arguments is a function to its result *and* the final contents of what it writes; its
derivatives leave the caller's arrays as they are.

Complex numbers: tangents are complex; gradients pair with them as Re(sum(g * t)), so that the gradient of a real
function of z = x + iy is df/dx - i df/dy (jax's convention); a holomorphic function has its complex derivative.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant import pipelines
from reactant import signature as sig
from reactant.api import Jitted, as_jitted
from reactant.compiled import arranged, seen_through
from reactant.differentiate import forward, reverse
from reactant.errors import ReactantError, UnsupportedError
from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.types import dtype_of
from reactant.options import CompileOptions
from reactant.runtime.executable import Executable
from reactant.session import is_tracing
from reactant.tracing import Known, OfArgument, Result

__all__ = ["check_derivatives", "grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp"]


# ---- programs ------------------------------------------------------------------------------------------------------

@dataclass
class Program:
    """A simplified module and the recipe of its results: trees of Result, OfArgument and Known leaves."""

    module: ir.Module
    result: Any
    name: str
    options: CompileOptions
    written: dict[int, int] = field(default_factory=dict)
    captured: list[np.ndarray] = field(default_factory=list)
    flags: int | None = None
    errors: list[Callable[[], BaseException]] = field(default_factory=list)

    @functools.cached_property
    def executable(self) -> Executable:
        """The program after the default pipeline, compiled."""
        with building():
            copy = modules.clone(self.module)
            pipelines.run(copy, "default" if self.options.optimize is not False else "none", options=self.options)
            return Executable(copy, name=self.name, xla_options=dict(self.options.xla))

    def call(self, leaves: Sequence[Any], extra: Sequence[Any] = ()) -> list[np.ndarray]:
        """All results; raises what a run-time check of the function found."""
        results = self.executable([*(np.asarray(leaf) for leaf in leaves), *self.captured, *extra])
        if self.flags is not None:
            flags = np.asarray(results[self.flags])
            if not flags.all():
                raise self.errors[int(np.argmin(flags))]()
        return results

    def deliver(self, tree: Any, results: Sequence[Any], leaves: Sequence[Any]) -> Any:
        """A tree with its leaves filled in."""
        return sig.map_tree(tree, lambda leaf: self._filled(leaf, results, leaves))

    def _filled(self, leaf: Any, results: Sequence[Any], leaves: Sequence[Any]) -> Any:
        if isinstance(leaf, Known):
            return leaf.value
        if isinstance(leaf, Result):
            return _view(np.asarray(results[leaf.index]), leaf)[()]
        if isinstance(leaf, OfArgument):
            index = self.written.get(leaf.number)
            base = np.array(leaves[leaf.number]) if index is None else np.asarray(results[index])
            return _view(base, leaf)
        return leaf

    def outputs(self) -> Any:
        """The tree of everything the function gives: its result, and with writes (result, final contents)."""
        if not self.written:
            return self.result
        return self.result, tuple(Result(self.written[n], "array") for n in sorted(self.written))


def _view(array: np.ndarray, leaf: Result | OfArgument) -> Any:
    """What a leaf shows of the array it belongs to."""
    return seen_through(_laid_out(array, leaf), leaf.steps)


def _laid_out(array: np.ndarray, leaf: Result | OfArgument) -> np.ndarray:
    """The array with its elements in memory as the steps of the leaf need them."""
    layout = leaf.layout if isinstance(leaf, Result) else None
    return array if layout is None else arranged(array, layout)


def _program(function: Any, args: tuple, kwargs: dict) -> Program:
    """The simplified program of a function, or of a derivative, for arguments of this signature."""
    if is_tracing():
        raise UnsupportedError("Derivatives inside a compiled function are not supported. Take them outside: "
                               "reactant.grad(f) compiles f and its gradient as one program.")
    if isinstance(function, Derivative):
        return function.program(args, kwargs)
    jitted = as_jitted(function)
    options = jitted.options.with_(optimize=("inline", "simplify")) if jitted.options.optimize is True \
        else jitted.options
    traced = Jitted(jitted.function, options, jitted._static, jitted._traced).lower(*args, **kwargs).traced
    if traced.updates:
        raise UnsupportedError(f"'{jitted.__name__}' changes lists, dicts or objects among its arguments, which a "
                               f"derivative cannot follow. Return what it makes instead.")
    sig.map_tree(traced.result, lambda leaf: _refuse_same(leaf, jitted.__name__))
    return Program(traced.module, traced.result, jitted.__name__, jitted.options, traced.written, traced.captured,
                   traced.flags, traced.errors)


def _refuse_same(leaf: Any, name: str) -> None:
    if isinstance(leaf, sig.Same):
        raise UnsupportedError(f"'{name}' returns one of its own list, dict or object arguments. Return its arrays.")


def _signature(function: Any, args: tuple, kwargs: dict) -> tuple[Any, list]:
    while isinstance(function, Derivative):
        function = function.function
    return as_jitted(function)._sign(args, kwargs)


# ---- arguments -----------------------------------------------------------------------------------------------------

def _numbers(argnums: int | Iterable[int], args: tuple) -> tuple[int, ...]:
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise ReactantError(f"argnums={n}, but the function was called with {len(args)} positional arguments.")
    return tuple(n % len(args) for n in numbers)


def _leaves_of(args: tuple, leaves: list, numbers: tuple[int, ...]) -> list[list[int]]:
    """For each differentiated argument, which leaves it has. Raises `TypeError` for what has no derivative."""
    flat = sig.Flattener()
    spans = []
    for position, arg in enumerate(args):
        start = len(flat.leaves)
        node = flat.node(arg)
        spans.append(list(range(start, len(flat.leaves))))
        if position in numbers:
            _require_floats(position, arg, node)
    return [spans[n] for n in numbers]


def _require_floats(position: int, arg: Any, node: Any) -> None:
    def check(leaf: Any) -> None:
        if isinstance(leaf, (float, complex)) or (hasattr(leaf, "dtype") and np.dtype(leaf.dtype).kind in "fc"
                                                  or getattr(getattr(leaf, "dtype", None), "name", "") == "bfloat16"):
            return
        what = f"{np.dtype(leaf.dtype)} array" if hasattr(leaf, "dtype") else type(leaf).__name__
        raise TypeError(f"Argument {position} has a part of type {what}, which has no derivative: only floats and "
                        f"complex numbers vary. Pass it as float, or leave it out with argnums.")
    sig.map_tree(arg, check)
    if _has_same(node):
        raise UnsupportedError(f"Argument {position} shares an array with an argument before it (or holds one twice), "
                               f"so there is no derivative in each of them. Pass a copy.")


def _has_same(node: Any) -> bool:
    return isinstance(node, tuple) and bool(node) and (node[0] == "same" or any(_has_same(n) for n in node))


def _like(arg: Any, values: Sequence[Any]) -> Any:
    """A tree like an argument with other leaves, in order."""
    left = iter(values)
    return sig.map_tree(arg, lambda _: next(left))


def _tree_leaves(tree: Any) -> list[Any]:
    found: list[Any] = []
    sig.map_tree(tree, found.append)
    return found


# ---- gradients -----------------------------------------------------------------------------------------------------

class Derivative:
    """A gradient function; a function like any other, so it can be differentiated again. Made by `grad`."""

    def __init__(self, function: Any, argnums: int | Iterable[int], has_aux: bool, with_value: bool):
        self.function, self.argnums, self.has_aux, self.with_value = function, argnums, has_aux, with_value
        self.__name__ = f"grad_{getattr(function, '__name__', 'function')}"
        self.__doc__ = f"Gradient of {getattr(function, '__name__', 'a function')}."
        self._programs: dict[Any, Program] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if is_tracing():
            _program(self.function, args, kwargs)       # says that this is not supported
        key, leaves = _signature(self, args, kwargs)
        made = self._programs.get(key)
        if made is None:
            made = self._programs[key] = self.program(args, kwargs)
        return made.deliver(made.result, made.call(leaves), leaves)

    def program(self, args: tuple, kwargs: dict) -> Program:
        """The program of the gradient for arguments of this signature."""
        primal = _program(self.function, args, kwargs)
        _, leaves = _signature(self, args, kwargs)
        numbers = _numbers(self.argnums, args)
        spans = _leaves_of(args, leaves, numbers)
        value, aux = primal.result, None
        if self.has_aux:
            if not (isinstance(value, tuple) and len(value) == 2):
                raise TypeError(f"has_aux=True needs a function that returns (value, aux); '{primal.name}' does not.")
            value, aux = value
        active = [n for span in spans for n in span]
        module, first = _gradient_module(primal, value, active)
        gradients = []
        for number, span in zip(numbers, spans, strict=True):
            where = [Result(first + active.index(n), "array") for n in span]
            gradients.append(_like(args[number], where))
        result: Any = gradients[0] if isinstance(self.argnums, int) else tuple(gradients)
        if self.with_value:
            result = (primal.result, result)
        elif self.has_aux:
            result = (result, aux)
        return Program(module, result, self.__name__, primal.options, primal.written, primal.captured, primal.flags,
                       primal.errors)


def _gradient_module(primal: Program, value: Any, active: list[int]) -> tuple[ir.Module, int]:
    """The simplified module with gradients after the results, and where they begin."""
    with building():
        results = list(modules.function(primal.module).attributes["function_type"].value.results)
        wanted = _scalar_result(primal, value)
        made = reverse.vjp(primal.module, active, wanted, ones=True)
        pipelines.run(made, ("inline", "simplify"), options=primal.options)
    return made, len(results)


def _scalar_result(primal: Program, value: Any) -> list[int]:
    """The result a gradient is of: [its number], or [] for a constant."""
    kind = f"returns a {type(value).__name__}"
    if isinstance(value, Known):
        if isinstance(value.value, (int, float, complex)) or np.ndim(value.value) == 0 and value.value is not None:
            return []
        kind = f"returns {value.value!r}"
    if isinstance(value, Result):
        result = _result_types(primal)[value.index]
        if result[0] == () and result[1].kind == "f" and not value.steps:
            return [value.index]
        kind = f"returns {result[1]}{list(result[0])}"
    raise TypeError(f"A gradient is of a function that returns one real number; '{primal.name}' {kind}. Reduce it to "
                    f"one, or use reactant.vjp or reactant.jacobian.")


def _result_types(program: Program) -> list[tuple[tuple[int, ...], np.dtype]]:
    with building():
        block = modules.function(program.module).regions[0].blocks[0]
        returned = list(block.operations)[-1].operation.operands
        return [(tuple(v.type.shape), dtype_of(v)) for v in returned]


def grad(function: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Derivative:
    """The gradient of a function that returns one real number, in its arguments `argnums`.

    The gradient has the structure of the argument (arrays, lists, dicts, dataclasses...); several `argnums` give a
    tuple.
    has_aux: the function returns (value, aux); so does the gradient function.
    Raises `TypeError` for integer arguments, and `NotDifferentiable`, which names the line, where an operation has no
    derivative.
    """
    return Derivative(function, argnums, has_aux, with_value=False)


def value_and_grad(function: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Derivative:
    """As `grad`, but gives (what the function returns, gradient)."""
    return Derivative(function, argnums, has_aux, with_value=True)


# ---- products with Jacobians ---------------------------------------------------------------------------------------

class _Linearised:
    """Everything `jvp`, `vjp` and `jacobian` need about one function and one set of arguments."""

    def __init__(self, function: Any, args: tuple, argnums: Iterable[int], kwargs: dict):
        self.primal = _program(function, args, kwargs)
        _, self.leaves = _signature(function, args, kwargs)
        self.args, self.numbers = args, _numbers(tuple(argnums), args)
        self.spans = _leaves_of(args, self.leaves, self.numbers)
        self.active = [n for span in self.spans for n in span]
        self.tree = self.primal.outputs()
        self.types = _result_types(self.primal)
        self.varying: list[int] = []          # results of the module with a float among the outputs
        for leaf in _tree_leaves(self.tree):
            index = self.index_of(leaf)
            if index is not None and self.types[index][1].kind in "fc" and index not in self.varying:
                self.varying.append(index)

    def index_of(self, leaf: Any) -> int | None:
        """The result of the module that a leaf of the outputs shows."""
        if isinstance(leaf, Result):
            return leaf.index
        if isinstance(leaf, OfArgument):
            if leaf.number not in self.primal.written:
                raise UnsupportedError(f"'{self.primal.name}' returns one of its arguments (or a view of it) "
                                       f"unchanged. Return a copy of it.")
            return self.primal.written[leaf.number]
        return None

    def made(self, module: ir.Module, name: str) -> Program:
        with building():
            pipelines.run(module, ("inline", "simplify"), options=self.primal.options)
        return Program(module, self.primal.result, f"{name}_{self.primal.name}", self.primal.options,
                       self.primal.written, self.primal.captured, self.primal.flags, self.primal.errors)

    @functools.cached_property
    def pushing(self) -> Program:
        return self.made(forward.jvp(self.primal.module, self.active, self.varying), "jvp")

    @functools.cached_property
    def pulling(self) -> Program:
        return self.made(reverse.vjp(self.primal.module, self.active, self.varying), "vjp")

    def outputs(self, results: Sequence[Any]) -> Any:
        return self.primal.deliver(self.tree, results, self.leaves)

    def push(self, tangents: Sequence[Any]) -> tuple[Any, Any]:
        """(outputs, their tangents)."""
        results = self.pushing.call(self.leaves, tangents)
        count = len(self.types)
        moved = {index: results[count + n] for n, index in enumerate(self.varying)}

        def tangent(leaf: Any) -> Any:
            index = self.index_of(leaf)
            if index in moved:
                return _view(np.asarray(moved[index]), leaf)[()]
            value = np.asarray(self.primal._filled(leaf, results, self.leaves))
            return np.zeros(value.shape, value.dtype if value.dtype.kind in "fc" else float)[()]

        return self.outputs(results), sig.map_tree(self.tree, tangent)

    def pull(self, cotangents: Any) -> list[Any]:
        """The cotangents of the active leaves, from a tree like the outputs."""
        given = {index: np.zeros(*self.types[index]) for index in self.varying}
        leaves, wanted = _tree_leaves(cotangents), _tree_leaves(self.tree)
        if len(leaves) != len(wanted):
            raise ReactantError(f"The cotangent has {len(leaves)} leaves, the outputs of '{self.primal.name}' have "
                                f"{len(wanted)}.")
        for leaf, g in zip(wanted, leaves, strict=True):
            index = self.index_of(leaf)
            if index in given:
                given[index] = _laid_out(given[index], leaf)
                target = seen_through(given[index], leaf.steps)
                if np.shape(g) != np.shape(target):
                    raise ReactantError(f"A cotangent has shape {np.shape(g)}, its output {np.shape(target)}.")
                if leaf.steps:
                    target += g
                else:
                    given[index] = given[index] + np.asarray(g, given[index].dtype)
        results = self.pulling.call(self.leaves, [given[i] for i in self.varying])
        return results[len(self.types):]

    def direction(self, tangents: Sequence[Any]) -> list[np.ndarray]:
        """Tangent leaves, checked against the arguments."""
        found = []
        for span, number, tree in zip(self.spans, self.numbers, tangents, strict=True):
            leaves = _tree_leaves(tree)
            if len(leaves) != len(span):
                raise ReactantError(f"The tangent of argument {number} has {len(leaves)} leaves, the argument "
                                    f"{len(span)}.")
            for n, leaf in zip(span, leaves, strict=True):
                like = np.asarray(self.leaves[n])
                if np.shape(leaf) != like.shape:
                    raise ReactantError(f"A tangent of argument {number} has shape {np.shape(leaf)}, the argument "
                                        f"{like.shape}.")
                found.append(np.asarray(leaf, like.dtype))
        return found


def jvp(function: Callable, primals: Sequence[Any], tangents: Sequence[Any], **kwargs: Any) -> tuple[Any, Any]:
    """(outputs, J t): the derivative of `function(*primals)` along `tangents`, one for each argument.

    A tangent of None holds its argument constant. Outputs of a function that writes into its arguments are
    (result, final contents of the written arguments). Integer outputs have tangent 0.0.
    """
    if len(primals) != len(tangents):
        raise ReactantError(f"jvp got {len(primals)} arguments and {len(tangents)} tangents.")
    numbers = [n for n, t in enumerate(tangents) if t is not None]
    made = _Linearised(function, tuple(primals), numbers, kwargs)
    return made.push(made.direction([tangents[n] for n in numbers]))


def vjp(function: Callable, *primals: Any, argnums: int | Sequence[int] | None = None,
        **kwargs: Any) -> tuple[Any, Callable]:
    """(outputs, pullback): `pullback(g)`, for `g` like the outputs, gives g^T J as a tuple, one for each argument.

    argnums: which arguments (all when None; one when an int, which gives no tuple). The pullback runs the function
    again together with its reverse sweep.
    """
    numbers = range(len(primals)) if argnums is None else (argnums,) if isinstance(argnums, int) else argnums
    made = _Linearised(function, primals, numbers, kwargs)

    def pullback(cotangents: Any) -> Any:
        flat = iter(made.pull(cotangents))
        trees = tuple(_like(primals[n], [next(flat) for _ in span])
                      for n, span in zip(made.numbers, made.spans, strict=True))
        return trees[0] if isinstance(argnums, int) else trees

    return made.outputs(made.primal.call(made.leaves)), pullback


# ---- whole matrices ------------------------------------------------------------------------------------------------

def jacobian(function: Callable, argnums: int = 0, mode: str = "auto") -> Callable:
    """The matrix of all derivatives of a function from one array to one array: shape (*output.shape, *input.shape).

    mode: "forward" runs once for each element of the input, "reverse" once for each of the output, "auto" takes what
    runs less often. Real arrays only.
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"jacobian: mode={mode!r} is not auto, forward or reverse.")

    def of(*args: Any, **kwargs: Any) -> np.ndarray:
        made = _Linearised(function, args, (argnums,), kwargs)
        leaves = _tree_leaves(made.tree)
        if len(made.active) != 1 or len(leaves) != 1 or made.index_of(leaves[0]) is None:
            raise UnsupportedError(f"jacobian is of a function from one array to one array; '{made.primal.name}' has "
                                   f"{len(made.active)} and {len(leaves)}. Use jvp or vjp.")
        x = np.asarray(made.leaves[made.active[0]])
        y = np.asarray(made.outputs(made.primal.call(made.leaves)))
        if "c" in (x.dtype.kind, y.dtype.kind) or y.dtype.kind not in "fc":
            raise TypeError(f"jacobian is of real arrays, not {x.dtype} to {y.dtype}. Use jvp or vjp.")
        return _matrix(made, x, y, mode if mode != "auto" else "forward" if x.size <= y.size else "reverse")

    return of


def _matrix(made: _Linearised, x: np.ndarray, y: np.ndarray, mode: str) -> np.ndarray:
    across = x if mode == "forward" else y
    rows = []
    for number in range(across.size):
        basis = np.zeros(across.size, across.dtype)
        basis[number] = 1
        basis = basis.reshape(across.shape)
        rows.append(np.asarray(made.push([basis])[1] if mode == "forward"
                               else made.pull(_like(made.tree, [basis]))[0]).reshape(-1))
    matrix = np.array(rows, y.dtype).reshape(across.size, (y if mode == "forward" else x).size)
    return (matrix.T if mode == "forward" else matrix).reshape(*y.shape, *x.shape)


def hessian(function: Callable, argnums: int = 0) -> Callable:
    """The matrix of second derivatives of a function from one array to one real number, forward over reverse."""
    return jacobian(grad(function, argnums), argnums, mode="forward")


def hvp(function: Callable, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian times a vector, without the Hessian: gradient in all arguments, moved along `tangents`."""
    numbers = tuple(n for n, t in enumerate(tangents) if t is not None)
    result = jvp(grad(function, numbers), primals, tangents)[1]
    return result[0] if len(numbers) == 1 else result


# ---- checking ------------------------------------------------------------------------------------------------------

@dataclass
class DerivativeCheck:
    """What `check_derivatives` found; true when both modes agree with differences and with each other."""

    name: str
    forward_error: float
    reverse_error: float
    tolerance: float

    def __bool__(self) -> bool:
        return max(self.forward_error, self.reverse_error) <= self.tolerance

    def __str__(self) -> str:
        verdict = "agree" if self else "DIFFER"
        return (f"{self.name}: derivatives {verdict}: forward against differences {self.forward_error:.2g}, reverse "
                f"against forward {self.reverse_error:.2g} (relative; tolerance {self.tolerance:.2g})")

    __repr__ = __str__


def check_derivatives(function: Callable, *args: Any, argnums: Sequence[int] | None = None, step: float = 1e-6,
                      tolerance: float = 1e-5, seed: int = 0, **kwargs: Any) -> DerivativeCheck:
    """Compare forward mode with central differences of the plain function's program, and reverse with forward mode,
    along one random direction. Use float64 arguments. Give `argnums` where some arguments are not floats."""
    rng = np.random.default_rng(seed)
    made = _Linearised(function, args, range(len(args)) if argnums is None else argnums, kwargs)
    tangents = [_random(rng, made.leaves[n]) for n in made.active]
    results, moved = made.push(tangents)
    cotangents = sig.map_tree(results, lambda leaf: _random(rng, leaf))
    ends = []
    for sign in (1, -1):
        leaves = list(made.leaves)
        for n, t in zip(made.active, tangents, strict=True):
            leaves[n] = np.asarray(leaves[n]) + sign * step * t
        ends.append(made.primal.deliver(made.tree, made.primal.call(leaves), leaves))
    expected, found = 0.0, _paired(cotangents, moved)
    scale = 1e-300
    for t, a, b in zip(*map(_tree_leaves, (moved, *ends)), strict=True):
        if np.asarray(a).dtype.kind in "fc":
            difference = (np.asarray(a) - b) / (2 * step)
            expected = max(expected, float(np.max(np.abs(difference - t), initial=0)))
            scale = max(scale, float(np.max(np.abs(difference), initial=0)))
    pulled = made.pull(cotangents)
    back = sum(float(np.sum(g * t).real) for g, t in zip(pulled, tangents, strict=True))
    return DerivativeCheck(made.primal.name, expected / max(scale, 1.0), abs(back - found) / max(abs(found), 1.0),
                           tolerance)


def _random(rng: np.random.Generator, like: Any) -> np.ndarray:
    like = np.asarray(like)
    made = np.asarray(rng.standard_normal(like.shape))
    if like.dtype.kind == "c":
        made = made + 1j * rng.standard_normal(like.shape)
    return made.astype(like.dtype if like.dtype.kind in "fc" else float)


def _paired(cotangents: Any, tangents: Any) -> float:
    return sum(float(np.sum(np.asarray(g) * t).real)
               for g, t in zip(_tree_leaves(cotangents), _tree_leaves(tangents), strict=True))
