"""Which way a launch runs faster, by measured rates: as a tensor program (`tensor_costs`), or natively (`dry_run`).

A tensor program is fused with what is around it, simplified and differentiated with it: native code has to be faster by
`MARGIN`. Where tensor programs lose: halos and tiles that are put together piece by piece, short rows, columns of a
recurrence, threads whose loops run as often as their own data ask. Where native code does: reductions and products over
blocks that are one operation of XLA's, stencils, gathers that keep loops from being vectors, atomics.
"""
from __future__ import annotations

from dataclasses import field, replace
from functools import cache

from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.ir.induction import trips
from reactant.kernels.form.record import KernelRecord
from reactant.kernels.launch import tensor_costs
from reactant.kernels.launch.dry_run import Counts, counts_of
from reactant.rewrite import RuleSet, registry
from reactant.simplify.facts.target_costs import BY_PLATFORM
from reactant.support.records import dataclass

RATES = {
    "arithmetic": 0.068, "load": 0.0098, "load far": 0.19, "store": 0.025, "store far": 0.17, "division": 0.034,
    "function": 0.41, "shuffle": 1.0, "vote": 35.0, "barrier": 0.0069, "atomic": 13.0,
    "arithmetic beside": 0.013, "load beside": 0.011, "division beside": 0.14, "function beside": 0.57,
    "arithmetic alone": 0.01, "load alone": 0.15, "load far alone": 0.11, "store alone": 0.21, "store far alone": 0.61,
    "division alone": 0.29, "function alone": 13.0, "atomic alone": 4.4,
    "arithmetic apart": 0.051, "load apart": 0.038, "load far apart": 0.056, "store apart": 0.1, "store far apart": 0.2,
    "division apart": 5.5, "function apart": 4.3, "atomic apart": 4.4,
    "branch": 1.8, "quotient": 2.0, "quotient by constant": 0.22,
    "block": 1.9, "written": 0.064, "launch": 1_900.0,
}
"""Nanoseconds for one of each kind (of `dry_run`) on two cores; "written": a byte of the arrays that are written, which
are copied. "beside" what LLVM does not make vectors of, see `SCALAR`. Fitted with the rates of `tensor_costs`; since
native code has become faster, vectors, what is beside them and far accesses are scaled (there the narrow kinds): of 120
sizes that were measured, by which they were chosen, half of the estimates are within a factor 1.6, of 35 of other
kernels (looked at when the last variant was picked) within 1.9. Fitting every rate anew estimates what is fitted
better, and chooses worse for the rest."""
SCALAR = 0.03
"""Accesses of scattered places, for one arithmetic operation, from which a loop over threads is no vector code."""
LANES = 8
CORES = 2
MARGIN = 1.2
"""Native code has to be this much faster: it is a wall to fusion."""
LEAST = 1.5e-5
"""Seconds below which nothing is worth a wall."""
SURE = 0.5
"""Of the time of native code, from which on a tensor program is the choice before it is simplified."""
MOST_RAISED = 16_000
MOST_OPERATIONS = 3000
"""Tensor programs with more operations take too long to compile: as they are raised, and simplified."""
ROUNDS = 8


@dataclass(frozen=True)
class Estimate:
    """What both paths do for a launch. always: why it is native code in any case."""

    record: KernelRecord
    native: dict[str, float]
    tensor: dict[str, float]
    always: str | None = None
    looped: dict[str, float] = field(default_factory=dict)
    """What the tensor program does as part of a loop."""

    def reason_for_native(self, given: tuple[bool, ...] | None = None, looped: bool = False) -> str | None:
        """Why native code is the better choice; None where the tensor program is. given: which memories hold arguments
        of the program, which are copied before native code writes into them; all, where left out. looped: the launch
        is in a loop of the program."""
        if self.always:
            return self.always
        tensor = tensor_costs.seconds_of(self.looped if looped and self.looped else self.tensor)
        native = seconds_of(self.native_with_copies(given))
        if tensor <= max(MARGIN * native, LEAST):
            return None
        return f"estimated at {1e3 * tensor:.3g} ms as a tensor program, {1e3 * native:.3g} ms natively"

    def native_with_copies(self, given: tuple[bool, ...] | None) -> dict[str, float]:
        """The work of native code."""
        copied = sum(b.elements * b.dtype.itemsize for k, b in enumerate(self.record.buffers)
                     if b.written and (given is None or k >= len(given) or given[k]))
        return {**self.native, "written": copied}


def estimate(record: KernelRecord, structured: ir.Module, raised: ir.Module) -> Estimate:
    """Of both paths, the tensor program simplified where that may decide."""
    counts = counts_of(record, structured)
    found = Estimate(record, native_work(record, counts), {})
    operations = modules.size(raised)
    if operations > MOST_RAISED:
        return replace(found, always=f"as a tensor program it would have {operations} operations")
    if operations <= MOST_OPERATIONS:
        work = tensor_costs.tensor_work(raised, counts.iterations)
        if tensor_costs.seconds_of(work) <= SURE * max(MARGIN * seconds_of(found.native), LEAST):
            return replace(found, tensor=work, looped=tensor_costs.work_in_a_loop(raised, counts.iterations))
    simple = simplified(raised)
    operations = modules.size(simple)
    if operations > MOST_OPERATIONS:
        return replace(found, always=f"as a tensor program it would have {operations} operations")
    return replace(found, tensor=tensor_costs.tensor_work(simple, counts.iterations),
                   looped=tensor_costs.work_in_a_loop(simple, counts.iterations))


def reason_for_ptx(raised: ir.Module) -> str | None:
    """Why a kernel is better launched as itself on a GPU; None where the tensor program is as good. An iteration of a
    loop is launches there, and a test that the host reads (NVIDIA H100: 30 us, an iteration of a thread's loop some
    ns)."""
    simple = simplified(raised) if modules.size(raised) <= MOST_RAISED else raised
    operations = modules.size(simple)
    if operations > MOST_OPERATIONS:
        return f"as a tensor program it would have {operations} operations"
    fewest = BY_PLATFORM["gpu"].unrolled_iterations
    for loop in modules.ops_called("stablehlo.while", simple):
        iterations = trips(loop)
        if iterations is None or iterations.most > fewest:
            return "as a tensor program it would be a loop, each iteration of which is a launch or more"
    return None


@cache
def _rules() -> RuleSet:
    import reactant.simplify  # noqa: F401 - declares the rules
    return RuleSet(tuple(rule for family in registry.families() if not family.startswith("target")
                         for rule in registry.rules(family) if rule.changes is None and rule.assumes is None))


def simplified(module: ir.Module) -> ir.Module:
    """A copy as the optimiser will make it, roughly."""
    made = modules.clone(module)
    for _ in range(ROUNDS):
        modules.run_passes(made, "func.func(cse)")
        if not _rules().apply(made.operation):
            break
    return made


def seconds_of(work: dict[str, float]) -> float:
    """What work of kinds of `RATES` takes; in loops that have no rate of their own, what it takes elsewhere."""
    return 1e-9 * sum(RATES[kind if kind in RATES else kind.rsplit(" ", 1)[0]] * count for kind, count in work.items())


def native_work(record: KernelRecord, counts: Counts) -> dict[str, float]:
    """How much of each kind (of `RATES`) a launch is, without the copies of what it writes into: vectors of threads
    where LLVM makes them."""
    scattered = sum(counts.get(kind, 0) for kind in ("load far", "store far", "atomic"))
    beside = scattered > 0 and scattered >= SCALAR * counts.get("arithmetic", 0)
    filled = counts.lanes / (LANES * -(-counts.lanes // LANES)) if counts.lanes > 1 else 1.0
    blocks = record.threads / max(1, record.block[0] * record.block[1] * record.block[2])
    scale = record.threads * CORES / min(CORES, blocks)
    work: dict[str, float] = {"block": blocks, "launch": 1}
    for kind, count in counts.items():
        together = not kind.endswith((" alone", " apart"))
        if beside and f"{kind} beside" in RATES:
            kind, count = f"{kind} beside", counts.whole[kind]
        work[kind] = scale * count / (filled if together else 1.0)
    return work
