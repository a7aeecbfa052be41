"""`jacobian` and `hessian`: whole matrices."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reactant.derivatives.gradients import grad
from reactant.derivatives.products import linearize, vjp
from reactant.errors import UnsupportedError
from reactant.signature import map_tree


def jacobian(function: Callable, argnums: int = 0, mode: str = "auto") -> Callable:
    """The matrix of all derivatives of a function from one array to one array: shape (*output.shape, *input.shape).

    mode: "forward" runs once for each element of the input, "reverse" once for each of the output, "auto" takes what
    runs less often. Real arrays only.
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"jacobian: mode={mode!r} is not auto, forward or reverse.")

    def of(*args: Any, **kwargs: Any) -> np.ndarray:
        x = args[argnums]
        outputs, push = linearize(function, *args, argnums=(argnums,), **kwargs)
        leaves: list[Any] = []
        map_tree(outputs, leaves.append)
        if not hasattr(np.asarray(x), "dtype") or np.asarray(x).dtype == object or len(leaves) != 1:
            raise UnsupportedError(f"jacobian is of a function from one array to one array; this one gives "
                                   f"{len(leaves)}. Use jvp or vjp.")
        x, y = np.asarray(x), np.asarray(leaves[0])
        if "c" in (x.dtype.kind, y.dtype.kind) or y.dtype.kind not in "fc":
            raise TypeError(f"jacobian is of real arrays, not {x.dtype} to {y.dtype}. Use jvp or vjp.")
        forward = mode == "forward" or mode == "auto" and x.size <= y.size
        if forward:
            rows = [np.asarray(_leaf(push(e))).reshape(-1) for e in _basis(x)]
            return np.array(rows, y.dtype).reshape(x.size, y.size).T.reshape(*y.shape, *x.shape)
        pull = vjp(function, *args, argnums=argnums, **kwargs)[1]
        rows = [np.asarray(pull(map_tree(outputs, lambda _, e=e: e))).reshape(-1) for e in _basis(y)]
        return np.array(rows, y.dtype).reshape(*y.shape, *x.shape)

    return of


def _leaf(tree: Any) -> Any:
    found: list[Any] = []
    map_tree(tree, found.append)
    return found[0]


def _basis(like: np.ndarray) -> Any:
    for number in range(like.size):
        row = np.zeros(like.size, like.dtype)
        row[number] = 1
        yield row.reshape(like.shape)


def hessian(function: Callable, argnums: int = 0) -> Callable:
    """The matrix of second derivatives of a function from one array to one real number, forward over reverse."""
    return jacobian(grad(function, argnums), argnums, mode="forward")
