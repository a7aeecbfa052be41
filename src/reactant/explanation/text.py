"""`explain`: what each user line became, which rules fired there, and where compile time went, as text."""
from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from reactant.api import as_jitted
from reactant.calling.compiled import Lowered, Times
from reactant.communication.account import Needed
from reactant.communication.traffic import Moved, Traffic
from reactant.ir import modules
from reactant.ir.context import building
from reactant.rewrite import Report
from reactant.rewrite.report import following, source_line
from reactant.support.records import dataclass

MOST_CHAINS = 8
"""Chains of one line that are printed; all are in `Line.chains`."""
LONGEST = 400
"""Characters of a chain that are printed."""
_BOOKKEEPING = {"func.func", "func.return", "stablehlo.return", "builtin.module"}


@dataclass
class Line:
    """One source line of the user: operations it emitted, what is left of them, rules that fired on them."""

    place: str
    traced: Counter[str]
    kept: Counter[str]
    rules: dict[str, int]
    chains: dict[str, int]
    """What became of its ops, rule after rule, and for how many of them."""
    moved: tuple[Moved, ...] = ()
    """What it moves between devices,"""
    why: tuple[str, ...] = ()
    """and why."""

    @property
    def source(self) -> str:
        file, _, number = self.place.rpartition(":")
        return linecache.getline(file, int(number)).strip() if number.isdigit() else ""


@dataclass
class Explanation:
    """The account of one compilation; printed as a text. Made by `reactant.explain`.

    Attributes:
        name: the function's name.
        lines: a `Line` for each source line: its `place` (file:line), the operations `traced` and `kept`, counts by
            name, the `rules` that fired, the `chains` of rewrites, what it `moved` between devices and `why`.
        operations: how many before and after our passes, as are `flops` and `bytes` (of one run, estimated).
        report: which rules fired, how often, and the seconds that took.
        times: seconds of `trace`, `passes`, `xla` and `native`.
        reason: why a JAX function was left to `jax.jit` as it is, or "".
        native: what was compiled natively, a text for each part.
        traffic: what one run moves between the devices of a mesh.
        choice: why its arguments lie there as they do, if that was chosen.

    Example:
        >>> account = reactant.explain(lambda x: np.log(np.exp(x)) * 1.0, np.ones(3))
        >>> print(account)
        <lambda>: ... operations...
    """

    name: str
    lines: list[Line]
    operations: tuple[int, int]
    flops: tuple[float, float]
    bytes: tuple[float, float]
    report: Report
    times: Times
    reason: str = ""
    """Why a JAX function was left to jax.jit as it is, if it was."""
    native: tuple[str, ...] = ()
    """What was compiled natively, a line for each part."""
    traffic: Traffic = Traffic(())
    """What one run moves between the devices of a mesh."""
    choice: str = ""
    """Why its arguments lie there as they do, if that was chosen."""

    def __str__(self) -> str:
        parts = [f"{self.name}: {self.operations[0]} -> {self.operations[1]} operations, "
                 f"{_short(self.flops[0])} -> {_short(self.flops[1])} flops, "
                 f"{_short(self.bytes[0])} -> {_short(self.bytes[1])} bytes",
                 f"compile time: trace {_ms(self.times.trace)}, passes {_ms(self.times.passes)}, "
                 f"native {_ms(self.times.native)}, XLA {_ms(self.times.xla)}"]
        parts += self._between_devices()
        parts += [self.choice] if self.choice else []
        parts += self.native
        parts += [f"differentiated: {mode} mode of {function}, {before} -> {after} operations"
                  for mode, function, before, after in self.report.derivatives]
        parts += [f"left to jax.jit: {self.reason}", ""] if self.reason else [""]
        for line in self.lines:
            parts.append(f"{line.place or '(no source line)'}   {line.source}")
            parts.append(f"    traced: {_counts(line.traced)}")
            parts.append(f"    now:    {_counts(line.kept) or 'nothing is left'}")
            if line.moved:
                parts.append(f"    moves:  {_collectives(line.moved, self.traffic.devices)}")
                parts += [f"    why:    {'; '.join(line.why)}"] if line.why else []
            if line.rules:
                parts.append(f"    rules:  {_counts(line.rules)}")
            shown = sorted(line.chains.items(), key=lambda item: -len(item[0]))
            parts += [f"    chain:  {_clipped(chain)}" + (f" (x{count})" if count > 1 else "")
                      for chain, count in shown[:MOST_CHAINS]]
            if len(shown) > MOST_CHAINS:
                parts.append(f"    and {len(shown) - MOST_CHAINS} more chains")
        parts += ["", "rules that fired:"]
        parts += [f"  {firing.count:5d}  {name}" for name, firing in
                  sorted(self.report.fired.items(), key=lambda item: -item[1].count)] or ["  none"]
        if self.report.not_converged:
            parts.append(f"stopped before convergence: {', '.join(self.report.not_converged)}")
        return "\n".join(parts)

    __repr__ = __str__

    def _between_devices(self) -> list[str]:
        devices = self.traffic.devices
        if devices == 1:
            return []
        return [f"between {devices} devices: {_collectives(self.traffic.moved, devices) or 'nothing moves'}"
                + ("; loops of unknown length count as one turn" if self.traffic.unknown_loops else "")]


def _collectives(moved: Sequence[Moved], devices: int) -> str:
    """Collectives by kind, and their bytes: of all devices, and of each on average."""
    if not moved:
        return ""
    together = Traffic(tuple(moved))
    kinds = {kind: count for kind, (count, _) in together.by_kind().items()}
    return f"{_counts(kinds)}: {_short(together.bytes)} bytes, {_short(together.bytes / devices)} per device"


def _clipped(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rpartition(' -> ')[0]} -> ..."


def _short(number: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"


def _counts(counts: Any) -> str:
    return ", ".join(f"{name.removeprefix('stablehlo.')}" + (f" x{n}" if n > 1 else "")
                     for name, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def by_line(module: ir.Module) -> dict[str, Counter[str]]:
    """Operation counts of a module by the user's line."""
    found: dict[str, Counter[str]] = {}
    for op in modules.walk(module):
        if op.name not in _BOOKKEEPING and op.name != "stablehlo.constant":
            found.setdefault(source_line(op.location), Counter())[op.name] += 1
    return found


def _order(place: str) -> tuple[str, int]:
    file, _, number = place.rpartition(":")
    return (file, int(number)) if number.isdigit() else (place, 0)


def account(lowered: Lowered, times: Times, traffic: Traffic, needed: Sequence[Needed] = ()) -> Explanation:
    """The explanation of a lowered program, which moves `traffic` between devices; needed: why."""
    with building():
        before, after = by_line(lowered.original), by_line(lowered.module)
    rules = lowered.report.by_line()
    chains: dict[str, Counter[str]] = {}
    for chain in lowered.report.chains or ():
        chains.setdefault(chain.line, Counter())[str(chain)] += 1
    moved = {f"{line[0]}:{line[1]}" if line else "": each for line, each in traffic.by_line().items()}
    why: dict[str, list[str]] = {}
    for each in needed:
        line = each.collective.line
        why.setdefault(f"{line[0]}:{line[1]}" if line else "", []).append(each.why)
    lines = [Line(place, before.get(place, Counter()), after.get(place, Counter()), rules.get(place, {}),
                  dict(chains.get(place, {})), moved.get(place, ()),
                  tuple(dict.fromkeys(why.get(place, ()))))
             for place in sorted({*before, *after, *rules, *moved}, key=_order)]
    first, last = lowered.cost(optimized=False), lowered.cost()
    return Explanation(lowered.name, lines,
                       (sum(sum(c.values()) for c in before.values()), sum(sum(c.values()) for c in after.values())),
                       (first["flops"], last["flops"]), (first["bytes"], last["bytes"]), lowered.report,
                       times, getattr(lowered, "reason", ""), tuple(lowered.notes), traffic,
                       "" if lowered.choice is None else str(lowered.choice))


def explain(function: Any, /, *args: Any, **kwargs: Any) -> Explanation:
    """An account of what compiling a function for some arguments does.

    Args:
        function: a NumPy or JAX function, a `reactant.jit` of one, or a derivative.
        args: its arguments, which stay as they are.
        kwargs: arguments by name.

    Returns:
        An `Explanation`, to print or to read. For each source line the operations it was traced to and what is left of
        them, the rules that fired, and the chain of rewrites of each operation; operations, flops and bytes before and
        after our passes; seconds of tracing, passes and XLA; what became native code; of a program on several devices
        the collective operations and their bytes.

    Raises:
        ReactantError: where the function cannot be compiled.

    Example:
        >>> account = reactant.explain(lambda x: (2.0 * x.T).T, np.ones((2, 3)))
        >>> account.operations[1] < account.operations[0]
        True
    """
    derivative = hasattr(function, "differentiated") and hasattr(function, "lower")
    with following():
        compiled = (function if derivative else as_jitted(function)).lower(*args, **kwargs).compile()
    compiled.executable.compile(on_device=compiled.lowered.on_device)
    needed: Sequence[Needed] = getattr(compiled.executable, "needed", tuple)()
    return account(compiled.lowered, compiled.times, compiled.traffic(), needed)
