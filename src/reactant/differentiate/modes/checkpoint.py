"""What is kept of the iterations of a loop for the reverse sweep: the policies, and the loops they make."""
from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.activity import LOOP, block_ops, blocks_of
from reactant.differentiate.modes.loops import AGAIN, LARGE, MOST, NUMBER, Carried, bound_of
from reactant.differentiate.modes.replay import SLOTS
from reactant.ir import modules, ops
from reactant.ir.induction import Trips, trips
from reactant.ir.splice import copied
from reactant.ir.types import nbytes
from reactant.support.records import dataclass

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def bytes_of(budget: str | int) -> int:
    """"256MB" (10^6), "1GiB" (2^30) or a number, in bytes. Raises `ValueError`."""
    if isinstance(budget, int) and not isinstance(budget, bool) and budget > 0:
        return budget
    found = re.fullmatch(r"\s*([0-9.]+)\s*([a-zA-Z]*)\s*", budget) if isinstance(budget, str) else None
    if found is None or found[2].upper() not in _UNITS:
        raise ValueError(f"memory_budget is bytes as an int or a text like '256MB', not {budget!r}.")
    return int(float(found[1]) * _UNITS[found[2].upper()])


SYNONYMS = {"revolve": "binomial", "online": "binomial"}
"""Names that the literature has for it: with known and with unknown counts of iterations."""


@dataclass(frozen=True)
class Policy:
    """kind: "" (nothing said), "all", "every", "sqrt", "binomial"; `every`: iterations between kept states; `budget`:
    bytes, 0 for any."""

    kind: str = ""
    every: int = 0
    budget: int = 0

    @staticmethod
    def of(checkpoint: str | int | None, memory_budget: str | int | None = None) -> Policy:
        """From what the user says. Raises `ValueError`."""
        budget = 0 if memory_budget is None else bytes_of(memory_budget)
        if checkpoint is None:
            return Policy("", 0, budget)
        if isinstance(checkpoint, str):
            checkpoint = SYNONYMS.get(checkpoint, checkpoint)
        if isinstance(checkpoint, int) and not isinstance(checkpoint, bool) and checkpoint > 0:
            return Policy("every", checkpoint, budget)
        if checkpoint in ("all", "sqrt", "binomial"):
            return Policy(str(checkpoint), 0, budget)
        raise ValueError(f"checkpoint is 'all', 'sqrt', 'binomial' or a positive number of iterations, not "
                         f"{checkpoint!r}.")

    @property
    def text(self) -> str:
        return f"{self.kind}:{self.every}:{self.budget}"

    @staticmethod
    def parse(text: str) -> Policy:
        if not text:
            return Policy()
        kind, every, budget = text.split(":")
        return Policy(kind, int(every), int(budget))


CHUNK, DEPTH = 64, 64
"""Most iterations between states, and most states, where nothing says how many iterations a loop has."""


@dataclass(frozen=True)
class Plan:
    """What becomes of a loop: groups of `every` iterations (0: none), of `slots` states at most where it is to be
    replayed (0: every group's state is kept)."""

    every: int = 0
    slots: int = 0


def plan(policy: Policy, bound: Trips | None, state: int, iteration: int | None, share: int) -> Plan:
    """How to keep a loop. state: bytes of the carried values; iteration: bytes that the adjoint of one iteration needs
    (None where not known); share: the budget of this loop in bytes (0: none)."""
    most = None if bound is None else bound.most
    if policy.kind == "every" and most is not None:
        return Plan(policy.every) if policy.every < most else Plan()
    if policy.kind == "binomial":
        slots = share // max(state, 1) if share else 2 + math.ceil(math.log2(max(most or 2**20, 2)))
        return Plan(1, min(max(slots, 2), DEPTH * 16, most or DEPTH))
    if policy.kind == "sqrt" and most is not None:
        return Plan(_divisor_near(most, math.sqrt(most))) if most > 3 else Plan()
    if share:
        return _within(share, most, state, max(iteration or 0, 1))
    if bound is not None and (bound.exact or policy.kind == "all"
                              or bound.most * (4 * state if iteration is None else iteration) <= LARGE):
        return Plan()
    every = policy.every or max(1, min(CHUNK, LARGE // 2 // max(4 * state, 1)))
    return Plan(every, max(4, min(DEPTH, LARGE // 2 // max(state, 1))))


def _within(share: int, most: int | None, state: int, iteration: int) -> Plan:
    """The fastest way that fits: everything; states of groups of iterations; few states, and runs again."""
    if most is not None:
        if most * iteration <= share:
            return Plan()
        every = _divisor_near(most, math.sqrt(most * max(state, 1) / iteration))
        if every * iteration + math.ceil(most / every) * state <= share:
            return Plan(every)
    every = max(1, min(CHUNK, share // 2 // iteration))
    groups = DEPTH if most is None else max(2, math.ceil(most / every))
    # Twice a state for each row: XLA has two buffers where the stack goes from one loop to another.
    return Plan(every, max(2, min((share - every * iteration) // max(2 * state, 1), groups)))


def _divisor_near(most: int, wanted: float) -> int:
    """A group size near `wanted`; one that divides the iterations where there is one within a factor of 1.25."""
    wanted = max(1.0, min(wanted, most))
    near = [d for d in range(1, most + 1) if most % d == 0 and wanted / 1.25 <= d <= wanted * 1.25] \
        if most <= 10**6 else []
    return min(near, key=lambda d: abs(d - wanted)) if near else max(1, round(wanted))


# ---- changing the loops --------------------------------------------------------------------------------------------

def number_loops(function: ir.Operation) -> None:
    """Give every loop of a function a number, by which copies of it are known."""
    for number, op in enumerate(op for op in modules.walk(function) if op.name == LOOP):
        op.attributes[NUMBER] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)


def measures(function: ir.Operation, active: Callable[[ir.Operation], bool], policy: Policy) -> bool:
    """Whether a plan depends on the bytes that an iteration of some loop needs: there is a byte budget, or a loop that
    may end early whose states are too large to keep, but perhaps not what its iterations change in them."""
    if policy.budget:
        return True
    for loop, depth in _active_loops(function, active):
        own = _said(loop, depth, policy)
        bound = bound_of(loop)
        if own.budget or bound is not None and plan(own, bound, _state(loop), None, 0) != plan(
                own, bound, _state(loop), 0, 0):
            return True
    return False


def restructure(function: ir.Operation, active: Callable[[ir.Operation], bool], policy: Policy,
                measured: dict[int, int] | None) -> None:
    """Give the active loops of a function the form that the sweep follows. The policy is for loops that are in no
    other; `measured`: bytes that an iteration of each loop needs, by number (None: find out, with the policy for
    all)."""
    found = _active_loops(function, active)
    outermost = max(1, sum(depth == 0 for _, depth in found))
    for loop, depth in found:
        own = policy if measured is None else _said(loop, depth, policy)
        iteration = (measured or {}).get(int(ir.IntegerAttr(loop.attributes[NUMBER]).value)) \
            if NUMBER in loop.attributes else None
        chosen = plan(own, bound_of(loop), _state(loop), iteration,
                      own.budget // outermost if own is policy else own.budget)
        if chosen.every:
            _group(loop, chosen)


def _said(loop: ir.Operation, depth: int, policy: Policy) -> Policy:
    """What holds for a loop: what the user says of it, else the policy where it is in no other."""
    if modules.LOOP_POLICY in loop.attributes:
        return Policy.parse(ir.StringAttr(loop.attributes[modules.LOOP_POLICY]).value)
    return policy if depth == 0 else Policy()


def _state(loop: ir.Operation) -> int:
    """Bytes of the carried values that change otherwise than by counting."""
    carried = Carried(loop)
    return sum(nbytes(a) for a in carried.block.arguments if not carried.free(a))


def _active_loops(function: ir.Operation, active: Callable[[ir.Operation], bool]) -> list[tuple[ir.Operation, int]]:
    """Active loops with how many loops they are in, inner ones first; inner ones are told their bound."""
    found: list[tuple[ir.Operation, int]] = []
    _collect(function.regions[0].blocks[0], 0, active, found)
    for loop, depth in found:
        if MOST in loop.attributes:                 # of an earlier derivative
            del loop.attributes[MOST]
        if depth and (bound := trips(loop)) is not None:
            loop.attributes[MOST] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), bound.most)
    return found


def _collect(block: ir.Block, depth: int, active: Callable[[ir.Operation], bool],
             found: list[tuple[ir.Operation, int]]) -> None:
    """Active loops with how many loops they are in, inner ones first."""
    for op in block_ops(block)[0]:
        for inner in op.regions:
            if op.name in (LOOP, "stablehlo.if", "stablehlo.case"):
                _collect(inner.blocks[0], depth + (op.name == LOOP), active, found)
        if op.name == LOOP and active(op):
            found.append((op, depth))


def _group(loop: ir.Operation, chosen: Plan) -> None:
    """Make a loop one over groups of `every` iterations. The loop over a group is run again by the reverse sweep."""
    condition, body = blocks_of(loop)
    bound = bound_of(loop)
    plain, every = len(loop.operands), chosen.every
    whole = bound is not None and bound.exact and bound.most % every == 0
    integer = np.int64

    def going(*arguments: ir.Value) -> ir.Value:
        within = ops.compare(arguments[-1], every, "LT")
        return within if whole else ops.and_(copied(condition, arguments[:-1])[0], within)

    def iteration(*arguments: ir.Value) -> list[ir.Value]:
        return [*copied(body, arguments[:-1]), ops.add(arguments[-1], 1)]

    def test(*arguments: ir.Value) -> ir.Value:
        if bound is None:
            return copied(condition, arguments[:-1])[0]
        groups = ops.compare(arguments[-1], -(-bound.most // every), "LT")
        return groups if bound.exact else ops.and_(copied(condition, arguments[:-1])[0], groups)

    def group(*arguments: ir.Value) -> list[ir.Value]:
        if every == 1:
            return [*copied(body, arguments[:-1]), ops.add(arguments[-1], 1)]
        results = ops.while_([*arguments[:-1], ops.constant(0, integer)], going, iteration)
        made = results[0].owner.operation
        made.attributes[AGAIN] = ir.UnitAttr.get()
        if NUMBER in loop.attributes:
            made.attributes[NUMBER] = loop.attributes[NUMBER]
        return [*results[:plain], ops.add(arguments[-1], 1)]

    with loop.location, ir.InsertionPoint(loop):
        results = ops.while_([*loop.operands, ops.constant(0, integer)], test, group)
    if chosen.slots:
        results[0].owner.operation.attributes[SLOTS] = ir.IntegerAttr.get(
            ir.IntegerType.get_signless(64), chosen.slots)
    for old, new in zip(loop.results, results, strict=False):
        old.replace_all_uses_with(new)
    loop.erase()
