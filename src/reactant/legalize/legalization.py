"""What XLA gets in place of a module: the same program in forms of which XLA computes what is meant.

`WORKAROUNDS` is the table, one defect a row. Each names the ops without which it has nothing to do, and whose programs
it is for: some things XLA gets wrong for everybody; others it computes as jax does, but not as NumPy.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from functools import lru_cache, partial

from jaxlib.mlir import ir

from reactant.ir import context, cusolver, gpu_scans, modules
from reactant.legalize import (
    as_written,
    computed_apart,
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
    shared_scatters,
    single_rounding,
    special_functions,
)
from reactant.support.records import dataclass

EVERY, NUMPY, JAX = "every", "numpy", "jax"


@dataclass(frozen=True)
class Workaround:
    """A change of modules against a defect of XLA. names: one of them is in the bytecode of what it may change.
    programs: whose it is for. cpu: for programs on CPUs alone. defect, seen: what XLA does, and in which jaxlib.
    reproduction: a function of `tests/legalize/test_defects.py`, which shows the defect on plain XLA and fails where it
    is mended, or a script of `findings/`; "" where no small program shows it. shortest: bytes that the bytecode of what
    it may change has at least."""

    name: str
    apply: Callable[[ir.Module], ir.Module]
    names: tuple[bytes, ...]
    programs: str
    defect: str
    cpu: bool = False
    seen: str = "0.10.2"
    reproduction: str = "tests/legalize/test_defects.py"
    shortest: int = 0

    def concerns(self, content: bytes, as_jax: bool) -> bool:
        """Whether it may change a module of this bytecode."""
        return len(content) >= self.shortest and self.programs in (EVERY, JAX if as_jax else NUMPY) \
            and any(name in content for name in self.names)

    def __call__(self, module: ir.Module) -> None:
        """As a pass of a pipeline: change the module in place."""
        made = self.apply(module)
        if made is not module:
            modules.become(module, made)


EXACT_DIVISIONS = "Divisions by constants and by what is broadcast are products with a rounded reciprocal."
WORKAROUNDS = (
    Workaround("reshaped_updates", reshaped_updates.separated, reshaped_updates.CONCERNED, EVERY,
               "Updates of a reshaped array write over what the new elements are still computed from."),
    Workaround("narrow_indices", narrow_indices.widened, narrow_indices.CONCERNED, EVERY,
               "The place of an updated element is limited to what its 8 or 16 bits count."),
    Workaround("exact_divisions", partial(exact_divisions.kept, everywhere=True), exact_divisions.CONCERNED, NUMPY,
               EXACT_DIVISIONS),
    Workaround("deciding_divisions", exact_divisions.kept, exact_divisions.CONCERNED, JAX,
               EXACT_DIVISIONS + " In JAX programs where the last place decides something."),
    Workaround("special_functions", special_functions.kept, special_functions.CONCERNED, NUMPY,
               "lgamma, digamma, erf_inv and log(1 + x) lose their last digits near zeros and at the ends of their "
               "range."),
    Workaround("single_rounding", single_rounding.kept, single_rounding.CONCERNED, NUMPY,
               "Float64 and integers are rounded to float32 first, and then to half precision."),
    Workaround("pairwise_sums", pairwise_sums.kept, pairwise_sums.CONCERNED, NUMPY,
               "Few numbers are added one after the other, not in NumPy's order."),
    Workaround("as_written", as_written.kept, as_written.CONCERNED, NUMPY,
               "x / y / z, sqrt(x * x), log(exp(x)) and merged constants are replaced by what is equal for real "
               "numbers only."),
    Workaround("masked_products", masked_products.kept, masked_products.CONCERNED, EVERY,
               "x * convert(p) is taken for select(p, x, 0), also where x is NaN, infinite or below zero."),
    Workaround("computed_once", computed_once.kept, computed_once.CONCERNED, EVERY,
               "A value is computed again in each consumer, rounded otherwise: x == min(x) may hold nowhere.",
               reproduction=""),
    Workaround("denormal_constants", denormal_constants.kept, denormal_constants.CONCERNED, NUMPY,
               "LLVM takes denormal float32 constants for 0 where it computes with them."),
    Workaround("rounded_products", rounded_products.kept, rounded_products.CONCERNED, NUMPY,
               "Products and sums of one fusion are contracted, so that x * x - y * y is not 0 at x = y."),
    Workaround("nan_extremes", nan_extremes.kept, nan_extremes.CONCERNED, EVERY,
               "The greatest and the least of some thousand numbers pass over NaN.", cpu=True),
    Workaround("denormal_functions", denormal_functions.kept, denormal_functions.CONCERNED, EVERY,
               "exp is 0 where the result is denormal; log and arcsin do not know denormals.", cpu=True),
    Workaround("shared_scatters", shared_scatters.kept, shared_scatters.CONCERNED, EVERY,
               "A scatter of several arrays, two of which are equal, gives the first one's result twice.", cpu=True),
    Workaround("computed_apart", computed_apart.kept, computed_apart.CONCERNED, EVERY,
               "In programs of thousands of operations, stencils of stencils are computed again at each place that "
               "reads them, and compiled for minutes.", cpu=True, reproduction="", shortest=computed_apart.SHORTEST),
)
"""In the order in which they are applied: `rounded_products` is after those that make products, `computed_apart` the
last."""
BY_NAME = {each.name: each for each in WORKAROUNDS}
STEPS = tuple(each for each in WORKAROUNDS if not each.cpu)
CPU_STEPS = (BY_NAME["nan_extremes"], BY_NAME["shared_scatters"], BY_NAME["computed_apart"])
CPU_STEPS_WITH_DENORMALS = (*CPU_STEPS[:-1], BY_NAME["denormal_functions"], CPU_STEPS[-1])
SPREAD_STEPS = (dataclasses.replace(BY_NAME["nan_extremes"], apply=nan_extremes.over_devices),
                BY_NAME["shared_scatters"])
FOR_NUMPY, FOR_JAX = (tuple(each for each in WORKAROUNDS if each.programs in (EVERY, whose)) for whose in (NUMPY, JAX))
"""The pipelines "xla" and "xla_of_jax"."""


def applied(module: ir.Module, as_jax: bool, contract: bool, denormals: bool) -> list[str]:
    """Names of the workarounds that change a module, on one CPU."""
    found, steps = [], [*_steps(contract), *(CPU_STEPS_WITH_DENORMALS if denormals else CPU_STEPS)]
    with context.building():
        for step in steps:
            if step.concerns(modules.bytecode(module), as_jax) and (made := step.apply(module)) is not module:
                found.append(step.name)
                module = made
    return found


def _steps(contract: bool) -> list[Workaround]:
    """Programs of JAX that may not contract are those in sums of floats: a quotient that XLA makes a product with a
    reciprocal costs them half of their digits where that product is contracted."""
    return [dataclasses.replace(step, programs=EVERY) if step.name == "rounded_products" else step
            for step in STEPS if not (contract and step.name == "rounded_products")]


def markdown() -> str:
    """The page of all workarounds."""
    lines = ["# Workarounds for XLA", "",
             "<!-- Generated by `reactant patterns --workarounds > docs/xla.md`; do not edit. -->", "",
             "What XLA gets is the same program in forms of which it computes what is meant. Each change is a pass, in",
             "the pipeline `xla` (NumPy programs on a CPU) or `xla_of_jax`: `reactant opt --pipeline xla program.mlir`",
             "prints what XLA gets, `--bisect` says whether a pass changes results, `reactant.explain` which of them",
             "changed a program. The defects are shown on plain XLA by a test of the pass's name in the file beside",
             "it, which fails when a new jaxlib has mended the defect, and then the pass may go.", "",
             "| pass | what XLA does | programs | seen in jaxlib | shown by |", "|---|---|---|---|---|"]
    for each in WORKAROUNDS:
        whose = {EVERY: "all", NUMPY: "NumPy", JAX: "JAX"}[each.programs] + (", on CPUs" if each.cpu else "")
        lines.append(f"| `{each.name}` | {each.defect} | {whose} | {each.seen} | "
                     f"{f'`{each.reproduction}`' if each.reproduction else 'large programs only'} |")
    return "\n".join(lines) + "\n"


def legal(module: ir.Module, as_jax: bool, contract: bool) -> bytes:
    """The bytecode of a module for XLA. as_jax: whether results are those of jax. contract: whether products that
    something is added to may stay unrounded."""
    return _after(_steps(contract), modules.bytecode(module), as_jax, module)


@lru_cache(maxsize=64)
def legal_on_cpu(bytecode: bytes, denormals: bool) -> bytes:
    """The module for one CPU. denormals: whether programs compute with them."""
    return _after(CPU_STEPS_WITH_DENORMALS if denormals else CPU_STEPS, bytecode)


@lru_cache(maxsize=64)
def legal_over_devices(bytecode: bytes) -> bytes:
    """The module of a NumPy program for several CPUs."""
    return _after(SPREAD_STEPS, bytecode)


def _after(steps: Iterable[Workaround], content: bytes, as_jax: bool = False, module: ir.Module | None = None) -> bytes:
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
