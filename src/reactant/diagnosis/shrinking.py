"""A small module that still fails: `shrink` keeps one result, iterations results of ops into arguments, and drops what
is no longer needed, as long as the module goes on failing.

The search is delta debugging (Zeller and Hildebrandt, 2002) over the ops whose results could be arguments: halves
first, then quarters, down to single ops.
"""
from __future__ import annotations

import concurrent.futures
import concurrent.futures.process
import multiprocessing
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant import pipelines
from reactant.diagnosis.trial import Trial, random_arguments
from reactant.errors import in_one_line
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.options import CompileOptions

Fails = Callable[[ir.Module], str]
"""Says how a module fails, or nothing where it does not."""
SECONDS = 120
"""A trial that takes longer has failed: it hangs."""


def shrink(module: ir.Module, fails: Fails) -> ir.Module:
    """A module in which `fails` still finds something, with as few results and ops as the search finds. The module
    itself is not changed. Raises `ValueError` where it does not fail."""
    with building():
        modules.inline_calls(work := modules.clone(module))
        found = fails(work)
        if not found:
            raise ValueError("The module does not fail: there is nothing to shrink.")

        def alike(smaller: ir.Module) -> bool:
            now = fails(smaller)
            return bool(now) and _kind(now) == _kind(found)

        work = _with_one_result(work, alike)
        before = None
        while before != modules.size(work):
            before = modules.size(work)
            work = _with_earlier_result(_with_fewer_ops(work, alike), alike)
        return work


def _kind(finding: str) -> str:
    """What a smaller module has to share: the type of the error, or that a result differs."""
    return "result" if finding.startswith("result ") else finding.split(":")[0]


def _with_one_result(module: ir.Module, fails: Callable[[ir.Module], bool]) -> ir.Module:
    count = len(_returned(module))
    for number in range(count if count > 1 else 0):
        smaller = _cut(module, [], [number])
        if fails(smaller):
            return smaller
    return module


def _with_fewer_ops(module: ir.Module, fails: Callable[[ir.Module], bool]) -> ir.Module:
    """Delta debugging: chunks of ops, smaller and smaller, become arguments."""
    size = max(1, len(_cuttable(module)) // 2)
    while True:
        position = 0
        while position < (total := len(_cuttable(module))):
            chunk = list(range(max(0, total - position - size), total - position))   # the last ops first
            smaller = _cut(module, chunk, None)
            if modules.size(smaller) < modules.size(module) and fails(smaller):
                module = smaller
            else:
                position += size
        if size == 1:
            return module
        size //= 2


def _with_earlier_result(module: ir.Module, fails: Callable[[ir.Module], bool]) -> ir.Module:
    """The results of one op in place of those of the module, of the first op that will do."""
    for number in range(len(_cuttable(module))):
        smaller = _cut(module, [], None, number)
        if modules.size(smaller) < modules.size(module) and fails(smaller):
            return smaller
    return module


def _cuttable(module: ir.Module) -> list[ir.Operation]:
    """Ops of @main whose results could be arguments."""
    block = modules.function(module).regions[0].blocks[0]
    return [op.operation for op in block.operations if len(op.results) and op.name != "stablehlo.constant"]


def _returned(module: ir.Module) -> list[ir.Value]:
    block = modules.function(module).regions[0].blocks[0]
    return list(block.operations[len(block.operations) - 1].operands)


def _cut(module: ir.Module, chunk: Sequence[int], results: Sequence[int] | None, last: int | None = None) -> ir.Module:
    """A copy in which the ops of a chunk are arguments, with only some results, or those of op number `last`; dead ops
    and arguments are dropped."""
    work = modules.clone(module)
    main = modules.function(work)
    block = main.regions[0].blocks[0]
    cuttable = _cuttable(work)
    for number in chunk:
        for result in cuttable[number].results:
            if any(True for _ in result.uses):
                result.replace_all_uses_with(block.add_argument(result.type, ir.Location.unknown()))
    terminator = block.operations[len(block.operations) - 1]
    kept = [v for i, v in enumerate(terminator.operands) if results is None or i in results]
    kept = kept if last is None else list(cuttable[last].results)
    with ir.InsertionPoint(terminator), ir.Location.unknown():
        ops.create(terminator.operation.name, [], kept)
    terminator.operation.erase()
    _erase_dead(block)
    for number in reversed(range(len(block.arguments))):
        if not any(True for _ in block.arguments[number].uses):
            block.erase_argument(number)
    types = ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in kept])
    for name in ("arg_attrs", "res_attrs"):
        if name in main.attributes:
            del main.attributes[name]
    main.attributes["function_type"] = ir.TypeAttr.get(types)
    return work


def _erase_dead(block: ir.Block) -> None:
    for op in reversed([op.operation for op in block.operations]):
        if len(op.results) and not any(True for result in op.results for _ in result.uses):
            op.erase()


# ---- what counts as failing ------------------------------------------------------------------------------------

def differing(passes: Any = "default", options: CompileOptions | None = None, rtol: float = 1e-9, atol: float = 0.0,
              seed: int = 0) -> Fails:
    """Fails where the results after the passes differ from those of the module as it is, on random arguments."""
    def fails(module: ir.Module) -> str:
        trial = Trial(module, random_arguments(module, seed), options or CompileOptions(), passes, rtol, atol)
        if all(np.isnan(r).all() for r in trial.expected if r.dtype.kind in "fc" and r.size):
            return ""       # nothing left that could differ
        return trial.difference(trial.rewritten()[0])
    return fails


def broken(passes: Any = "default", options: CompileOptions | None = None) -> Fails:
    """Fails where the passes raise, do not settle, or leave an invalid module."""
    def fails(module: ir.Module) -> str:
        work = modules.clone(module)
        try:
            report = pipelines.run(work, passes, options=options, verify=True)
        except Exception as error:
            return f"{type(error).__name__}: {in_one_line(error)}"
        return f"rewriting did not settle: {', '.join(report.not_converged)}" if report.not_converged else ""
    return fails


class Failing:
    """Fails as `broken` or else as `differing` does, and where either ends the process or hangs: the trials run in a
    process of their own."""

    def __init__(self, passes: Any = "default", options: CompileOptions | None = None, rtol: float = 1e-9,
                 atol: float = 0.0, seed: int = 0):
        self.settings = passes, options, rtol, atol, seed
        self.pool: concurrent.futures.ProcessPoolExecutor | None = None

    def __call__(self, module: ir.Module) -> str:
        if self.pool is None:
            self.pool = concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        future = self.pool.submit(_try, module.operation.get_asm(), *self.settings)
        try:
            return future.result(timeout=SECONDS)
        except concurrent.futures.process.BrokenProcessPool:
            self.close()
            return "the process crashes"
        except TimeoutError:
            self.close()
            return f"nothing comes back within {SECONDS} seconds"

    def close(self) -> None:
        """End the process, also where it hangs. The next trial starts another one."""
        if self.pool is not None:
            for process in list((self.pool._processes or {}).values()):
                process.kill()
            self.pool.shutdown(wait=False)
            self.pool = None


def _try(text: str, passes: Any, options: CompileOptions | None, rtol: float, atol: float, seed: int) -> str:
    with building():
        module = modules.parse(text)
        return broken(passes, options)(module) or differing(passes, options, rtol, atol, seed)(module)
