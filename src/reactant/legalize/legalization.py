"""What XLA gets in place of a module: the same program in forms of which XLA computes what is meant.

`STEPS` are for every platform, `CPU_STEPS` for XLA:CPU. Each names the ops without which it has nothing to do, and
whose programs it is for: some things XLA gets wrong for everybody; others it computes as jax does, but not as NumPy.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial

from jaxlib.mlir import ir

from reactant.ir import context, cusolver, gpu_scans, modules
from reactant.legalize import (
    as_written,
    computed_once,
    denormal_constants,
    denormal_functions,
    exact_divisions,
    masked_products,
    nan_extremes,
    narrow_indices,
    pairwise_sums,
    reshaped_updates,
    rounded_products,
    single_rounding,
    special_functions,
)
from reactant.support.records import dataclass

EVERY, NUMPY, JAX = "every", "numpy", "jax"


@dataclass(frozen=True)
class Step:
    """A change of modules. `names`: one of them is in the bytecode of a module that it may change. `programs`: whose
    it is for."""

    apply: Callable[[ir.Module], ir.Module]
    names: tuple[bytes, ...]
    programs: str = EVERY

    def concerns(self, content: bytes, as_jax: bool) -> bool:
        """Whether it may change a module of this bytecode."""
        return self.programs in (EVERY, JAX if as_jax else NUMPY) and any(name in content for name in self.names)


ROUNDED_PRODUCTS = Step(rounded_products.kept, rounded_products.CONCERNED, NUMPY)
STEPS = (
    Step(reshaped_updates.separated, reshaped_updates.CONCERNED),
    Step(narrow_indices.widened, narrow_indices.CONCERNED),
    Step(exact_divisions.kept, exact_divisions.CONCERNED, JAX),
    Step(partial(exact_divisions.kept, everywhere=True), exact_divisions.CONCERNED, NUMPY),
    Step(special_functions.kept, special_functions.CONCERNED, NUMPY),
    Step(single_rounding.kept, single_rounding.CONCERNED, NUMPY),
    Step(pairwise_sums.kept, pairwise_sums.CONCERNED, NUMPY),
    Step(as_written.kept, as_written.CONCERNED, NUMPY),
    Step(masked_products.kept, masked_products.CONCERNED),
    Step(computed_once.kept, computed_once.CONCERNED),
    Step(denormal_constants.kept, denormal_constants.CONCERNED, NUMPY),
    ROUNDED_PRODUCTS,       # last: the others make products, too
)
CPU_STEPS = (Step(nan_extremes.kept, nan_extremes.CONCERNED),)
CPU_STEPS_WITH_DENORMALS = (*CPU_STEPS, Step(denormal_functions.kept, denormal_functions.CONCERNED))
SPREAD_STEPS = (Step(nan_extremes.over_devices, nan_extremes.CONCERNED),)


def legal(module: ir.Module, as_jax: bool, contract: bool) -> bytes:
    """The bytecode of a module for XLA. as_jax: whether results are those of jax. contract: whether products that
    something is added to may stay unrounded."""
    steps = [step for step in STEPS if not (contract and step is ROUNDED_PRODUCTS)]
    return _after(steps, modules.bytecode(module), as_jax, module)


@lru_cache(maxsize=64)
def legal_on_cpu(bytecode: bytes, denormals: bool) -> bytes:
    """The module for one CPU. denormals: whether programs compute with them."""
    return _after(CPU_STEPS_WITH_DENORMALS if denormals else CPU_STEPS, bytecode)


@lru_cache(maxsize=64)
def legal_over_devices(bytecode: bytes) -> bytes:
    """The module of a NumPy program for several CPUs."""
    return _after(SPREAD_STEPS, bytecode)


def _after(steps: Iterable[Step], content: bytes, as_jax: bool = False, module: ir.Module | None = None) -> bytes:
    concerned = [step for step in steps if step.concerns(content, as_jax)]
    if not concerned:
        return content
    with context.building():
        made = module = modules.parse(content) if module is None else module
        for step in concerned:
            made = step.apply(made)
        return content if made is module else modules.bytecode(made)


@lru_cache(maxsize=64)
def legal_elsewhere(bytecode: bytes, platform: str) -> bytes:
    """The module for a platform that has no LAPACK, and may have a kernel for cumulative sums."""
    on_gpu = platform in cusolver.VENDORS
    if b"lapack_" not in bytecode and not (on_gpu and b"reduce_window" in bytecode):
        return bytecode
    with context.building():
        module = modules.parse(bytecode)
        cusolver.for_platform(module, platform)
        if on_gpu:
            gpu_scans.as_scans(module)
        return modules.bytecode(module)
