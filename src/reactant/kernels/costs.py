"""Which way a launch runs faster, by measured rates: as a tensor program (`tensor_costs`), or natively (`dry_run`).

A tensor program is fused with what is around it, simplified and differentiated with it: native code has to be faster by
`MARGIN`. Where tensor programs lose: halos and tiles that are put together piece by piece, short rows, columns of a
recurrence, threads that turn as often as their own data ask. Where native code does: reductions and products over
blocks that are one operation of XLA's, stencils, gathers that keep loops from being vectors, atomics.
"""
from __future__ import annotations

from functools import cache

from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.kernels.dry_run import counts_of
from reactant.kernels.record import Buffer, KernelRecord
from reactant.kernels.tensor_costs import tensor_seconds
from reactant.rewrite import RuleSet, registry

RATES = {
    "arithmetic": 0.024, "load": 0.012, "load far": 0.12, "store": 0.03, "store far": 0.4, "division": 0.05,
    "function": 0.4, "shuffle": 1.0, "vote": 35.0, "barrier": 0.007, "atomic": 7.0,
    "arithmetic beside": 0.03, "load beside": 0.02, "division beside": 0.45, "function beside": 11.0,
    "arithmetic alone": 0.011, "load alone": 0.2, "load far alone": 0.1, "store alone": 0.12, "store far alone": 0.6,
    "division alone": 0.23, "function alone": 4.3, "atomic alone": 4.4,
    "arithmetic apart": 0.02, "load apart": 0.01, "load far apart": 0.04, "store apart": 0.03, "store far apart": 0.06,
    "division apart": 2.3, "function apart": 4.3, "atomic apart": 4.4,
    "block": 1.8, "written": 0.13, "launch": 10_000.0,
}
"""Nanoseconds for one of each kind (of `dry_run`) on two cores; "written": a byte of the arrays that are written, which
are copied. "beside" what LLVM does not make vectors of, see `SCALAR`. Fitted to the kernels that those of
`tensor_costs` were; nine estimates in ten are within a factor 3."""
SCALAR = 0.03
"""Accesses of scattered places, for one arithmetic operation, from which a loop over threads is no vector code."""
LANES = 8
CORES = 2
MARGIN = 1.05
"""Native code has to be this much faster: it is a wall to fusion."""
LEAST = 1e-4
"""Seconds below which nothing is worth a wall."""
MOST_RAISED = 16_000
MOST_OPERATIONS = 3000
"""Tensor programs with more operations take too long to compile: as they are raised, and simplified."""
ROUNDS = 8


def reason_for_native(record: KernelRecord, structured: ir.Module, raised: ir.Module) -> str | None:
    """Why native code is the better choice; None where the tensor program is."""
    operations = modules.size(raised)
    if operations > MOST_RAISED:
        return f"as a tensor program it would have {operations} operations"
    native = native_seconds(record, structured)
    if operations <= MOST_OPERATIONS and tensor_seconds(raised) <= max(MARGIN * native / 2, LEAST):
        return None     # and it is to become simpler yet
    simple = simplified(raised)
    operations, tensor = modules.size(simple), tensor_seconds(simple)
    if operations > MOST_OPERATIONS:
        return f"as a tensor program it would have {operations} operations"
    if tensor <= max(MARGIN * native, LEAST):
        return None
    return f"estimated at {1e3 * tensor:.3g} ms as a tensor program, {1e3 * native:.3g} ms natively"


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


def native_seconds(record: KernelRecord, structured: ir.Module) -> float:
    """An estimate for the kernel: what a thread executes, vectors of threads where LLVM makes them."""
    counts = counts_of(record, structured)
    scattered = sum(counts.get(kind, 0) for kind in ("load far", "store far", "atomic"))
    beside = scattered > 0 and scattered >= SCALAR * counts.get("arithmetic", 0)
    filled = counts.lanes / (LANES * -(-counts.lanes // LANES)) if counts.lanes > 1 else 1.0
    blocks = record.threads / max(1, record.block[0] * record.block[1] * record.block[2])
    total = 0.0
    for kind, count in counts.items():
        together = not kind.endswith((" alone", " apart"))
        if beside and f"{kind} beside" in RATES:
            kind += " beside"
        total += RATES[kind] * count / (filled if together else 1.0)
    written = sum(p.elements * p.dtype.itemsize for p in record.parameters if isinstance(p, Buffer) and p.written)
    return 1e-9 * (total * record.threads * CORES / min(CORES, blocks) + RATES["block"] * blocks
                   + RATES["written"] * written + RATES["launch"])
