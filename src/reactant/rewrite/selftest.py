"""The test every declared rule gets without a line of test code.

An instance of the left side is built, evaluated by the reference interpreter, rewritten by that rule alone (which must
fire and settle), verified, and evaluated again, on ordinary values and on NaN, infinities, -0.0 and integer extremes.
"""
from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate, interpretable
from reactant.ir.types import is_complex, is_float, shape_and_dtype, tensor_type
from reactant.rewrite.driver import RuleSet
from reactant.rewrite.pattern import Constant, Op, Rest, Rule, Splat, Template, Variable, bindings, build
from reactant.rewrite.report import Report

TRIED_DTYPES = {
    None: ("float32", "int32", "complex64", "bool"), "integer": ("int32", "uint8", "int8"),
    "float": ("float32", "float64"), "real": ("float32", "int32", "uint8"), "bool": ("bool",),
    "discrete": ("int32", "bool", "uint8"), "complex": ("complex64",), "inexact": ("float32", "complex64"),
    "number": ("float32", "int32", "complex64"), "ordered": ("float32", "int32", "int8", "uint8", "bool"),
}
SEEDS = 6
LARGE, SEEDS_OF_LARGE = 1000, 3
"""From that many elements on one array holds every special value many times, in many places."""
LENGTH = 16
"""Of the vectors rules are tried on: room for every special value."""


class RuleFailure(AssertionError):
    """A rule does not do what it declares."""


def check(rule: Rule) -> int:
    """Test one rule on all its examples; gives the number of instances tried. Raises `RuleFailure`."""
    with building():
        instances = list(_instances(rule, rule.example))
        if not instances:
            raise RuleFailure(f"{rule.qualified}: no instance of its left side verifies; give example=.")
        for module in instances:
            _check_instance(rule, module)
        for counter in _several(rule.counter):
            for module in _instances(rule, counter):
                if _apply(rule, module).fired:
                    raise RuleFailure(f"{rule.qualified} fired on its counter-example:\n{module}")
        return len(instances)


def _several(example: object) -> tuple[Any, ...]:
    return () if example is None else example if isinstance(example, tuple) else (example,)


def _apply(rule: Rule, module: ir.Module) -> Report:
    report = Report()
    RuleSet((rule,)).apply(module.operation, report, strict=True)
    return report


def _check_instance(rule: Rule, module: ir.Module) -> None:
    before = modules.to_text(module)
    inputs = [list(arguments) for arguments in _inputs(rule, module)]
    wanted = [evaluate(module, arguments) for arguments in inputs]
    if not _apply(rule, module).fired:
        raise RuleFailure(f"{rule.qualified} did not fire on\n{before}")
    modules.verify(module)
    for arguments, expected in zip(inputs, wanted, strict=True):
        for old, new in zip(expected, evaluate(module, arguments), strict=True):
            if not _agree(rule, old, new):
                raise RuleFailure(f"{rule.qualified} changed the result\n{before}\ninto\n{module}\non {arguments}\n"
                                  f"before: {old}\nafter:  {new}")


# ---- instances -----------------------------------------------------------------------------------------------------

def _instances(rule: Rule, example: object) -> Iterator[ir.Module]:
    for each in _several(example) or (None,):
        if isinstance(each, str):
            text = each if "func.func" in each else f"func.func @main{each}"
            yield modules.parse(text)
            continue
        found: set[str] = set()     # an example may have dtypes of its own
        for dtype in TRIED_DTYPES[rule.dtypes]:
            for builder in [each] if each is not None else _generic(rule):
                module = build_module(builder, np.dtype(dtype))
                if module is not None and (text := modules.to_text(module)) not in found:
                    found.add(text)
                    yield module
        if not found:
            raise RuleFailure(f"{rule.qualified}: an example verifies for no dtype.")


def build_module(builder: Callable[..., Any], dtype: np.dtype) -> ir.Module | None:
    """A module whose main returns `builder(a)`, where `a(*shape, dtype=None)` adds an argument; None where it would be
    invalid."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        main = ops.create("func.func", [], [], {"sym_name": ir.StringAttr.get("main"),
                                                "function_type": ir.TypeAttr.get(ir.FunctionType.get([], []))}, 1)
    block = main.regions[0].blocks.append()

    def argument(*shape: int, dtype: object = dtype) -> ir.Value:
        dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
        return block.add_argument(tensor_type(tuple(shape), np.dtype(dtype)), ir.Location.unknown())

    argument.dtype = dtype  # type: ignore[attr-defined]
    with ir.InsertionPoint(block):
        try:
            results = builder(argument)
        except (KeyError, OverflowError, ir.MLIRError):
            return None
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        ops.create("func.return", [], results)
    main.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get([a.type for a in block.arguments], [r.type for r in results]))
    try:
        module.operation.verify()
    except ir.MLIRError:
        return None
    return module if interpretable(module) else None


def _generic(rule: Rule) -> list[Callable[..., Any]]:
    """Builders of the pattern itself on vectors, one for each op the root may be."""
    if rule.pattern is None:
        raise RuleFailure(f"{rule.qualified}: a general rule needs example=.")

    def builder_of(pattern: Op) -> Callable[..., Any]:
        def builder(a: Any) -> ir.Value:
            values: dict[str, Any] = {}
            for name, kind in _kinds(pattern).items():
                if kind is Splat:
                    values[name] = 1 if a.dtype.kind == "b" else 3
                elif kind is Constant:
                    values[name] = ops.constant((np.arange(LENGTH) - 2).astype(a.dtype))
                elif kind is Rest:
                    values[name] = (a(LENGTH), a(LENGTH))
                elif kind is Variable:
                    values[name] = a(LENGTH)
            return build(pattern, values)
        return builder
    return [builder_of(dataclasses.replace(rule.pattern, names=(name,))) for name in rule.pattern.names]


def _kinds(pattern: object) -> dict[str, type]:
    kinds: dict[str, type] = {}
    if isinstance(pattern, Op):
        for operand in pattern.operands:
            kinds |= _kinds(operand)
        kinds |= {value.name: Template for _, value in pattern.attributes if isinstance(value, Variable)}
    elif isinstance(pattern, (Variable, Constant, Splat, Rest)):
        kinds[pattern.name] = type(pattern)
    elif hasattr(pattern, "inner"):
        kinds |= _kinds(pattern.inner)
    return kinds


# ---- values --------------------------------------------------------------------------------------------------------

def _inputs(rule: Rule, module: ir.Module) -> Iterator[list[np.ndarray]]:
    types = [shape_and_dtype(a.type) for a in modules.function(module).regions[0].blocks[0].arguments]
    large = any(math.prod(shape) >= LARGE for shape, _ in types)
    for seed in range(SEEDS_OF_LARGE if large else SEEDS):
        rng = np.random.default_rng(seed)
        yield [special_values(rng, shape, dtype, seed, rule.assumes == "finite") for shape, dtype in types]


def special_values(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype, seed: int,
                   finite: bool = False) -> np.ndarray:
    """Values for a test: ordinary ones for seed 0, positive or small ones for 1, extremes after that."""
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if is_complex(dtype):
        part = np.dtype(np.float32 if dtype == np.complex64 else np.float64)
        real, imag = (special_values(rng, shape, part, seed, finite) for _ in range(2))
        return _complex_of(real, imag, dtype)
    if is_float(dtype):
        if seed == 0:
            return rng.normal(size=shape).astype(dtype)
        if seed == 1:
            return rng.uniform(0.25, 4, shape).astype(dtype)
        special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.0]
        if not finite:
            limits = ml_dtypes.finfo(dtype)
            special += [np.nan, np.inf, -np.inf]
            special += [float(limits.max), float(limits.tiny), float(limits.smallest_subnormal)]
        return _shuffled(rng, np.array(special, np.float64), shape).astype(dtype)
    limits = ml_dtypes.iinfo(dtype)
    if seed < 2:
        return rng.integers(0 if limits.min == 0 else -4, 5, shape).astype(dtype)
    special = [limits.min, limits.max, 0, 1, 2, 3, 7, limits.max - 1] + ([-1, -2] if limits.min else [])
    return _shuffled(rng, np.array(special, dtype), shape)


def _shuffled(rng: np.random.Generator, numbers: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """An array of `shape` in which each number stands about equally often."""
    count = int(np.prod(shape))
    rounds = [rng.permutation(numbers) for _ in range(-(-count // len(numbers)))]
    return np.concatenate([numbers[:0], *rounds])[:count].reshape(shape)


def _complex_of(real: np.ndarray, imag: np.ndarray, dtype: np.dtype) -> np.ndarray:
    out = np.empty(real.shape, dtype)
    out.real, out.imag = real, imag
    return out


def _agree(rule: Rule, old: np.ndarray, new: np.ndarray) -> bool:
    if old.dtype != new.dtype or old.shape != new.shape:
        return False
    if is_complex(old.dtype):
        bad = np.isnan(old.real) | np.isnan(old.imag), np.isnan(new.real) | np.isnan(new.imag)
        return np.array_equal(*bad) and all(
            _agree(rule, np.where(bad[0], 0, o), np.where(bad[0], 0, n))
            for o, n in ((old.real, new.real), (old.imag, new.imag)))
    if not is_float(old.dtype):
        return np.array_equal(old, new)
    old, new = (x.astype(np.float64) for x in (old, new))
    if rule.changes is None and rule.assumes is None:
        return np.array_equal(old, new, equal_nan=True) and np.array_equal(
            np.signbit(np.where(np.isnan(old), 0, old)), np.signbit(np.where(np.isnan(new), 0, new)))
    if rule.assumes == "finite":  # elsewhere the assumption does not hold
        old, new = old[np.isfinite(old)], new[np.isfinite(old)]
    return bool(np.allclose(old, new, rtol=2e-5, atol=1e-6, equal_nan=True))


__all__ = ["RuleFailure", "bindings", "check"]
