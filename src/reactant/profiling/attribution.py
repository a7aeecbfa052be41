"""Operations and loops out of what was recorded: XLA's thunks, steps of programs without it, sites of native code."""
from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from reactant.communication.traffic import KINDS
from reactant.native.clocks import Counted
from reactant.native.function import NativeFunction
from reactant.profiling import thunks
from reactant.profiling.hlo_costs import Described
from reactant.profiling.native_parts import parts
from reactant.profiling.records import Loop, Operation, Work
from reactant.profiling.timed import Timed

Rows = tuple[list[Operation], list[Loop]]
Known = Mapping[tuple[int, str], Described]
"""What is known of the instructions of programs, by the program's number and the instruction's name."""
Sites = Mapping[str, Mapping[int, Counted]]
"""What the sites of native functions have counted, by the names that XLA calls functions by."""
PRODUCTS = ("gemm", "gemv", "syrk")
"""Native functions that are products: of their first matrices, the last one is the result."""


def of_thunks(events: Sequence[thunks.Event], known: Known, functions: Mapping[str, NativeFunction], counted: Sites,
              rate: float) -> Rows:
    """The operations of thunks; those that are calls of native functions in parts."""
    seconds, counts = thunks.divided(events, known), thunks.counts(events)
    made: list[Operation] = []
    loops = list(_loops(events, known, counts))
    calls: dict[tuple[str, object], list[tuple[Described, float, float]]] = defaultdict(list)
    for key, nanoseconds in seconds.items():
        told, count = known.get(key), float(counts[key])
        if told is None:
            made.append(Operation(key[1], "XLA", "not in the text of a program of ours", 1e-9 * nanoseconds, count))
        elif told.target in functions:
            apart = "" if functions[told.target].sites else key     # only its place tells what such a call is for
            calls[told.target, apart].append((told, 1e-9 * nanoseconds, count))
        else:
            made.append(Operation(key[1], "XLA", told.what, 1e-9 * nanoseconds, count, told.lines,
                                  told.work.times(count), told.opcode.removesuffix("-start") in KINDS))
    for (target, _), each in calls.items():
        told = each[0][0]
        rows, inside = parts(functions[target], counted.get(target, {}), rate, sum(s for _, s, _ in each),
                             sum(c for *_, c in each), next(iter(told.lines), ""),
                             work_of_call(functions[target], told.work.bytes, told.shapes))
        made += rows
        loops += inside
    return made, loops


def of_steps(steps: Sequence[tuple[Timed, float, float]], counted: Sites, rate: float) -> Rows:
    """The operations of steps without XLA: each with seconds, and how often it ran."""
    made: list[Operation] = []
    loops: list[Loop] = []
    calls: dict[tuple[str, str], list[tuple[Timed, float, float]]] = defaultdict(list)
    for step in steps:
        calls[step[0].function.target, step[0].line].append(step)
    for (target, line), each in calls.items():
        timed = each[0][0]
        rows, inside = parts(timed.function, counted.get(target, {}), rate, sum(s for _, s, _ in each),
                             sum(c for *_, c in each), line,
                             work_of_call(timed.function, timed.nbytes, timed.shapes))
        made += rows
        loops += inside
    return made, loops


def _loops(events: Sequence[thunks.Event], known: Known, counts: Mapping[tuple[int, str], int]) -> Iterator[Loop]:
    """XLA's loops: iterations are how often what is in their bodies ran."""
    for (program, name), told in known.items():
        if told.opcode != "while" or (program, name) not in counts:
            continue
        iterations = max((counts.get((program, each), 0) for each in told.body), default=0)
        taken = 1e-9 * sum(e.end - e.begin for e in events if e.op == name and e.program == program)
        yield Loop(next(iter(told.lines), ""), "XLA", counts[program, name], iterations, taken)


def work_of_call(function: NativeFunction, nbytes: float, shapes: Sequence[tuple[int, ...]]) -> Work:
    """The work of a call of which only the arrays are known: of a product of matrices, the operations, too.

    Of M x K by K x N, the product of all three sizes is (M K N)^2."""
    flops = 0.0
    if function.name in PRODUCTS and len(shapes) > 2:
        sizes = [math.prod(shape) for shape in (shapes[0], shapes[0 if function.name == "syrk" else 1], shapes[-1])]
        stack = math.prod(shapes[-1][:-2])
        flops = (1.0 if function.name == "syrk" else 2.0) * math.sqrt(math.prod(sizes) / max(stack, 1))
    doubles = any(a.dtype.name in ("float64", "complex128") for a in function.arguments)
    return Work(flops, flops * doubles, 0.0, nbytes, nbytes)


def together(loops: Sequence[Loop], runs: int) -> list[Loop]:
    """Loops of one line as one, of one run of several."""
    found: dict[tuple[str, str], Loop] = {}
    for loop in loops:
        mine = found.setdefault((loop.place, loop.kind), Loop(loop.place, loop.kind, 0.0, 0.0, 0.0))
        mine.entered += loop.entered / runs
        mine.iterations += loop.iterations / runs
        mine.seconds += loop.seconds / runs
    return sorted(found.values(), key=lambda loop: -loop.seconds)


def merged(operations: Sequence[Operation], runs: int) -> list[Operation]:
    """Operations of one name and line as one, of one run of several."""
    found: dict[tuple, Operation] = {}
    for op in operations:
        key = op.name, op.kind, op.what, tuple(sorted(op.lines))
        if key not in found:
            found[key] = Operation(op.name, op.kind, op.what, 0.0, 0.0, dict(op.lines), exchanges=op.exchanges)
        mine = found[key]
        mine.seconds += op.seconds / runs
        mine.count += op.count / runs
        mine.work = mine.work.plus(op.work, 1 / runs)
    return sorted(found.values(), key=lambda op: -op.seconds)
