"""`jacobian` and `hessian`: whole matrices, all columns (or rows) at once."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.calling import signature as sig
from reactant.derivatives import by_jax
from reactant.derivatives.entry import DerivativeFunction, argument, as_chosen, chosen_arguments, name_of
from reactant.derivatives.gradients import grad
from reactant.derivatives.linear import prepared
from reactant.derivatives.outline import Outlined, Slot, as_floating, filled, leaves_of
from reactant.derivatives.sparse_matrices import SparseJacobian
from reactant.differentiate import requests
from reactant.errors import UnsupportedError
from reactant.frontends.arrays.tensor import ARRAY, SCALAR, Tensor
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import shape_and_dtype, size
from reactant.support.like_functions import remembering_how
from reactant.support.session import is_tracing

MODES = ("auto", "forward", "reverse")


class Jacobian(DerivativeFunction):
    """A function of the same arguments that gives the matrix of all derivatives. Made by `jacobian` and `hessian`."""

    def __init__(self, function: Any, argnums: int | Sequence[int], argnames: str | Sequence[str] | None, mode: str,
                 has_aux: bool, holomorphic: bool):
        self.differentiated, self.argnums, self.argnames = function, argnums, argnames
        self.mode, self.has_aux, self.holomorphic = mode, has_aux, holomorphic
        self.__name__ = f"jacobian_{name_of(function)}"
        self.__doc__ = f"Jacobian of {name_of(function)}."

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.traced(args, kwargs) if is_tracing() else self.jitted(*args, **kwargs)

    def traced(self, args: tuple, kwargs: dict) -> Any:
        """The matrix as part of the trace that is running."""
        chosen = chosen_arguments(self.differentiated, self.argnums, self.argnames, args, kwargs)
        made = prepared(self.differentiated, args, kwargs, chosen, self.has_aux)
        varying = _outputs(made, self.holomorphic)
        inputs = [shape_and_dtype(t.value().type) for t in made.active]
        outputs = [shape_and_dtype(made.types[i]) for i in varying]
        forward = self.mode == "forward" or self.mode == "auto" and _total(inputs) <= _total(outputs) \
            and not requests.reverse_only(current_trace().module.operation, made.callee)
        results, blocks = _blocks(made, varying, inputs, outputs, forward)

        def row(index: int) -> Any:
            left = iter(blocks[varying.index(index)])
            trees = [sig.map_tree(argument(n, args, kwargs), lambda x: _as_tensor(next(left), x) if as_floating(x)
                                  else None) for n in chosen]
            return as_chosen(self.argnums, self.argnames, trees)

        found = sig.map_tree(made.outputs(), lambda leaf: None if leaf is None else row(leaf.index))
        return (found, filled(made.aux, results)) if self.has_aux else found

    def by_jax(self, args: tuple, kwargs: dict) -> Any:
        """The matrix as JAX computes it."""
        chosen = chosen_arguments(self.differentiated, self.argnums, self.argnames, args, kwargs)
        (result, aux), rows = by_jax.matrix(self.differentiated, args, kwargs, chosen, self.has_aux, self.mode,
                                           self.holomorphic)
        left = iter(rows)
        found = sig.map_tree(result, lambda leaf: None if leaf is None
                             else as_chosen(self.argnums, self.argnames, next(left)))
        return (found, aux) if self.has_aux else found


Kinds = Sequence[tuple[tuple[int, ...], np.dtype]]


def _total(kinds: Kinds) -> int:
    return sum(size(shape) for shape, _ in kinds)


def _outputs(made: Outlined, holomorphic: bool) -> list[int]:
    """The numbers of the results; raises where one, or an argument, is not of real numbers (of complex ones)."""
    kinds, numbers = ("c", "complex") if holomorphic else ("fV", "real")
    other = "holomorphic=True is for functions of complex numbers alone." if holomorphic else \
        "Use jvp or vjp, or holomorphic=True if it is."
    for tensor in made.active:
        if (tensor.dtype.kind == "c") != holomorphic:
            raise TypeError(f"jacobian is of {numbers} numbers; '{made.name}' is given {tensor.dtype}. {other}")
    for leaf in leaves_of(made.outputs()):
        if leaf is None:                       # of a function that only writes
            continue
        if type(leaf) is not Slot:
            raise UnsupportedError(f"jacobian is of a function that returns arrays; '{made.name}' returns {leaf!r}.",
                                   hint="Return arrays or numbers.", code="unsupported-result")
        dtype = shape_and_dtype(made.types[leaf.index])[1]
        if dtype.kind not in kinds:
            raise TypeError(f"jacobian is of {numbers} numbers; '{made.name}' returns {dtype}. {other}")
    return made.varying(made.outputs())


def _blocks(made: Outlined, varying: list[int], inputs: Kinds, outputs: Kinds, forward: bool
            ) -> tuple[list[ir.Value], list[list[ir.Value]]]:
    """What the function gives, and for each output, for each input, the derivatives: shape (*output, *input). One run
    with the whole basis."""
    across, along = (inputs, outputs) if forward else (outputs, inputs)
    count = _total(across)
    if not count or not _total(along):
        results, _ = made.request(requests.FORWARD, varying, _zeros(inputs))
        made.take_effect(results)
        return results, [[ops.constant(0, dtype, (*shape, *before)) for before, _ in inputs]
                         for shape, dtype in outputs]
    results, found = made.request(requests.FORWARD if forward else requests.REVERSE, varying, _basis(across, count),
                                  count=count)
    made.take_effect(results)
    if forward:
        return results, [list(_columns(moved, inputs, shape, dtype)) for moved, (shape, dtype) in
                         zip(found, outputs, strict=True)]
    rows: list[list[ir.Value]] = []
    start = 0
    for shape, dtype in outputs:
        end = start + size(shape)
        rows.append([ops.convert(ops.reshape(_rows(g, start, end), (*shape, *before)), dtype)
                     for g, (before, _) in zip(found, inputs, strict=True)])
        start = end
    return results, rows


def _columns(moved: ir.Value, inputs: Kinds, shape: tuple[int, ...], dtype: np.dtype) -> Iterator[ir.Value]:
    """(columns, *output) as (*output, *input) for each input."""
    start = 0
    for before, _ in inputs:
        end = start + size(before)
        turned = ops.transpose(_rows(moved, start, end), [*range(1, len(shape) + 1), 0])
        yield ops.convert(ops.reshape(turned, (*shape, *before)), dtype)
        start = end


def _rows(x: ir.Value, start: int, end: int) -> ir.Value:
    shape = shape_and_dtype(x.type)[0]
    return ops.slice(x, [start, *[0] * (len(shape) - 1)], [end, *shape[1:]])


def _zeros(kinds: Kinds) -> list[ir.Value]:
    return [ops.constant(0, dtype, shape) for shape, dtype in kinds]


def _basis(kinds: Kinds, count: int) -> list[ir.Value]:
    """(count, *shape) for each array: the unit vectors of all of them together."""
    found, start = [], 0
    for shape, dtype in kinds:
        n = size(shape)
        rows, columns = ops.iota((count, n), np.int64, 0), ops.iota((count, n), np.int64, 1)
        unit = ops.compare(rows, ops.add(columns, start) if start else columns, "EQ")
        found.append(ops.reshape(ops.convert(unit, dtype), (count, *shape)))
        start += n
    return found


def _as_tensor(value: ir.Value, like: Any) -> Tensor:
    shape = shape_and_dtype(value.type)[0]
    return Tensor.of_value(value, ARRAY if shape or isinstance(like, np.ndarray) else SCALAR)


@remembering_how
def jacobian(function: Callable, argnums: int | Sequence[int] | None = None, mode: str = "auto",
             sparse: bool | str = False, *, argnames: str | Sequence[str] | None = None, has_aux: bool = False,
             holomorphic: bool = False) -> Jacobian | SparseJacobian:
    """The matrix of all derivatives of a function of real arrays, as a function of the same arguments.

    All columns (or rows) are computed at once, by one program with another dimension.

    Args:
        function: a NumPy or JAX function, or a compiled one, that returns arrays.
        argnums: positions of the arguments that vary: one, or several for a tuple; the first when None.
        mode: "forward" has one direction for each element of the input, "reverse" one for each of the output, "auto"
            takes fewer.
        sparse: True for a `scipy.sparse.csr_array` of shape (output.size, input.size). Which entries can differ from
            zero is read off the program (and the integer arguments); columns without a common row are one direction.
            "dense": an array, computed in the same way. One argument and one output; not inside compiled functions.
        argnames: the arguments that vary by name: one, or several for a dict. Not with `argnums`.
        has_aux: the function returns (value, aux), and the result is (matrix, aux).
        holomorphic: the function is a holomorphic one of complex arrays; gives its complex derivatives.

    Returns:
        A function that gives arrays of shape `(*output.shape, *input.shape)`. Where the argument or the output has
        several arrays, the result has the structure of the output with, at each of its leaves, that of the argument.

    Raises:
        ValueError: for another `mode` or `sparse`.
        TypeError: at the call, for arguments and outputs that are not real (complex where `holomorphic`).
        NotDifferentiable: at the call, where an operation has no derivative.

    Example:
        >>> reactant.jacobian(np.cumsum)(np.arange(3.0))
        array([[1., 0., 0.],
               [1., 1., 0.],
               [1., 1., 1.]])
        >>> reactant.jacobian(lambda u: u[1:] * u[:-1], sparse=True)(np.arange(1.0, 1001.0)).nnz
        1998

    Source:
        Sparse matrices: Curtis, Powell and Reid, *On the estimation of sparse Jacobian matrices*, IMA Journal of
        Applied Mathematics 13, 1974.
    """
    return _matrix(function, argnums, argnames, mode, sparse, has_aux, holomorphic)


@remembering_how
def hessian(function: Callable, argnums: int | Sequence[int] | None = None, sparse: bool | str = False, *,
            argnames: str | Sequence[str] | None = None, has_aux: bool = False, holomorphic: bool = False
            ) -> Jacobian | SparseJacobian:
    """The matrix of second derivatives of a function that returns one real number: forward over reverse mode.

    Args:
        function: a NumPy or JAX function, or a compiled one, that returns one real number.
        argnums: positions of the arguments that vary: one, or several for a tuple; the first when None.
        sparse: True or "dense", as in `jacobian`.
        argnames: the arguments that vary by name, as in `jacobian`.
        has_aux: the function returns (value, aux), and the result is (matrix, aux).
        holomorphic: the function is a holomorphic one of complex arrays.

    Returns:
        A function that gives arrays of shape `(*input.shape, *input.shape)`.

    Raises:
        TypeError: at the call, as `jacobian`.
        NotDifferentiable: at the call, where an operation has no derivative.

    Example:
        >>> reactant.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
        array([[4., 2.],
               [2., 0.]])
    """
    gradient = grad(function, argnums, has_aux, argnames=argnames, holomorphic=holomorphic)
    return _matrix(gradient, argnums, argnames, "forward", sparse, has_aux, holomorphic)


def _matrix(function: Any, argnums: int | Sequence[int] | None, argnames: str | Sequence[str] | None, mode: str,
            sparse: bool | str, has_aux: bool, holomorphic: bool) -> Jacobian | SparseJacobian:
    if not callable(function):
        raise TypeError(f"A derivative is of a function, not of {type(function).__name__}.")
    if argnums is not None and argnames is not None:
        raise TypeError("jacobian takes argnums or argnames, not both.")
    if mode not in MODES:
        raise ValueError(f"jacobian: mode={mode!r} is not auto, forward or reverse.")
    if sparse not in (False, True, "dense"):
        raise ValueError(f"jacobian: sparse={sparse!r} is not True, False or 'dense'.")
    argnums = 0 if argnums is None else argnums
    if not sparse:
        return Jacobian(function, argnums, argnames, mode, has_aux, holomorphic)
    if argnames is not None or has_aux or holomorphic:
        raise TypeError("A sparse Jacobian is of one argument, by argnums, and of a function of real numbers without "
                        "has_aux.")
    return SparseJacobian(function, argnums, mode, sparse == "dense")
