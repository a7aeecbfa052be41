"""Programs on limbs as they are, and what they give against mpmath."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.types import tensor_type
from reactant.precision.wide import Wide
from reactant.runtime.executable import Executable

FREE = ("stablehlo.constant", "stablehlo.bitcast_convert")
"""Operations that cost nothing at run time."""


def program(function: Callable[..., Any], arguments: int, dtype: Any, count: int, size: int) -> ir.Module:
    """The module of a function of wide numbers, whose arguments and results are limbs."""
    with building():
        module = ir.Module.create()
        type_ = tensor_type((size,), np.dtype(dtype))
        with ir.InsertionPoint(module.body), ir.Location.unknown():
            made = func.FuncOp("main", ir.FunctionType.get([type_] * count * arguments, [type_] * count))
            block = made.add_entry_block()
            with ir.InsertionPoint(block):
                given = [Wide(block.arguments[k * count:(k + 1) * count]) for k in range(arguments)]
                func.ReturnOp(list(function(*given).first(count).limbs))
        modules.run_passes(module, "func.func(cse)")
        return module


def spread(x: ir.Value, size: int) -> ir.Value:
    """One number everywhere."""
    return ops.broadcast_in_dim(x, (size,), ())


def operations(module: ir.Module) -> int:
    """Narrow operations of a program."""
    with building():
        return sum(n for name, n in modules.counts(module).items() if name not in FREE)


def run(module: ir.Module, arguments: Sequence[Sequence[np.ndarray]]) -> list[np.ndarray]:
    """The limbs of the result, computed by XLA."""
    executable = Executable(module, name="limbs", contract=True)
    return [np.asarray(limb) for limb in executable([limb for argument in arguments for limb in argument])]


def samples(size: int, count: int, dtype: Any, low: float, high: float, seed: int = 0, *, signed: bool = True,
            even: bool = False) -> list[np.ndarray]:
    """Random numbers with all limbs: their exponents, or the numbers themselves (`even`), are evenly spread."""
    rng, name = np.random.default_rng(seed), np.dtype(dtype).name
    digits = {"float32": 24, "float64": 53}[name]
    if even:
        first = rng.uniform(low, high, size)
    else:
        first = np.exp2(rng.uniform(math.log2(low), math.log2(high), size))
        first *= rng.choice([-1, 1], size) if signed else 1
    limbs = [first.astype(dtype)]
    for _ in range(count - 1):
        limbs.append((limbs[-1].astype(np.float64) * rng.uniform(-0.49, 0.49, size) * 2.0**(1 - digits)).astype(dtype))
    return limbs


def exact(limbs: Sequence[np.ndarray], index: int) -> mpmath.mpf:
    """One number, exactly."""
    return sum((mpmath.mpf(float(limb[index])) for limb in limbs), mpmath.mpf(0))


def worst_bits(found: Sequence[np.ndarray], arguments: Sequence[Sequence[np.ndarray]],
               truth: Callable[..., Any]) -> float:
    """The fewest right bits of all results."""
    worst = math.inf
    with mpmath.workprec(400):
        for index in range(len(found[0])):
            wanted = truth(*(exact(argument, index) for argument in arguments))
            error = abs(exact(found, index) - wanted)
            if error:
                worst = min(worst, float(-mpmath.log(error / abs(wanted), 2)) if wanted else 0.0)
    return worst


def on_matrices(function: Callable[..., Sequence[Any]], matrices: Sequence[np.ndarray], dtype: Any, count: int
                ) -> list[mpmath.matrix]:
    """What a function of matrices of wide numbers, (1, m, n), gives for these: real results, exactly, as matrices."""
    with building():
        module = ir.Module.create()
        given = [_split(matrix, dtype, count) for matrix in matrices]
        types = [tensor_type((1, *matrix.shape), np.dtype(dtype)) for matrix in matrices for _ in range(count)]
        with ir.InsertionPoint(module.body), ir.Location.unknown():
            made = func.FuncOp("main", ir.FunctionType.get(types, []))
            block = made.add_entry_block()
            with ir.InsertionPoint(block):
                found = function(*[Wide(block.arguments[k * count:(k + 1) * count]) for k in range(len(matrices))])
                limbs = [limb for each in found for limb in each.first(count).limbs]
                func.ReturnOp(limbs)
            made.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [v.type for v in limbs]))
    executable = Executable(module, name="limbs", contract=True)
    results = [np.asarray(limb) for limb in executable([limb[None] for limbs in given for limb in limbs])]
    return [_exact_matrix([r.reshape(r.shape[-2:]) for r in results[k:k + count]])
            for k in range(0, len(results), count)]


def _split(matrix: np.ndarray, dtype: Any, count: int) -> list[np.ndarray]:
    limbs, rest = [], np.asarray(matrix, np.float64)
    for _ in range(count):
        limbs.append(rest.astype(dtype))
        rest = rest - limbs[-1].astype(np.float64)
    return limbs


def _exact_matrix(limbs: Sequence[np.ndarray]) -> mpmath.matrix:
    m, n = limbs[0].shape
    with mpmath.workprec(400):
        found = mpmath.matrix(m, n)
        for i in range(m):
            for j in range(n):
                found[i, j] = sum((mpmath.mpf(float(limb[i, j])) for limb in limbs), mpmath.mpf(0))
    return found


def bits_of_residual(found: mpmath.matrix, wanted: mpmath.matrix) -> float:
    """Bits of the difference of two matrices, relative to the greatest number of the second."""
    with mpmath.workprec(400):
        error = max(abs(x) for x in found - wanted)
        return float(mpmath.log(max(abs(x) for x in wanted) / error, 2)) if error else math.inf
