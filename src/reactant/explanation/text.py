"""`explain` as text: what each user line became, which rules fired there, and where compile time went."""
from __future__ import annotations

from collections.abc import Sequence

from reactant.communication.traffic import Moved, Traffic
from reactant.explanation.numbers import counts, ms, short
from reactant.explanation.records import Account

MOST_CHAINS = 8
"""Chains of one line that are printed; all are in `Line.chains`."""
LONGEST = 400
"""Characters of a chain that are printed."""


def text(account: Account) -> str:
    """The account as text."""
    parts = [f"{account.name}: {account.operations[0]} -> {account.operations[1]} operations, "
             f"{short(account.flops[0])} -> {short(account.flops[1])} flops, "
             f"{short(account.bytes[0])} -> {short(account.bytes[1])} bytes",
             f"compile time: trace {ms(account.times.trace)}, passes {ms(account.times.passes)}, "
             f"native {ms(account.times.native)}, XLA {ms(account.times.xla)}"]
    parts += _between_devices(account)
    parts += [account.choice] if account.choice else []
    parts += [str(each) for each in account.report.became]
    parts += account.native
    parts += [f"for XLA: {', '.join(account.workarounds)}"] if account.workarounds else []
    parts += [f"not in the compile cache: {account.not_kept}"] if account.not_kept else []
    parts += [f"differentiated: {mode} mode of {function}, {before} -> {after} operations"
              for mode, function, before, after in account.report.derivatives]
    parts += [str(loop) for loop in account.loops]
    parts += [f"left to jax.jit: {account.reason}", ""] if account.reason else [""]
    for line in account.lines:
        parts.append(f"{line.place or '(no source line)'}   {line.source}")
        parts.append(f"    traced: {counts(line.traced)}")
        parts.append(f"    now:    {counts(line.kept) or 'nothing is left'}")
        if line.moved:
            parts.append(f"    moves:  {collectives(line.moved, account.traffic.devices)}")
            parts += [f"    why:    {'; '.join(line.why)}"] if line.why else []
        if line.rules:
            parts.append(f"    rules:  {counts(line.rules)}")
        shown = sorted(line.chains.items(), key=lambda item: -len(item[0]))
        parts += [f"    chain:  {clipped(chain)}" + (f" (x{count})" if count > 1 else "")
                  for chain, count in shown[:MOST_CHAINS]]
        if len(shown) > MOST_CHAINS:
            parts.append(f"    and {len(shown) - MOST_CHAINS} more chains")
    parts += ["", "rules that fired:"]
    parts += [f"  {firing.count:5d}  {name}" for name, firing in
              sorted(account.report.fired.items(), key=lambda item: -item[1].count)] or ["  none"]
    if account.report.not_converged:
        parts.append(f"stopped before convergence: {', '.join(account.report.not_converged)}")
    return "\n".join(parts)


def _between_devices(account: Account) -> list[str]:
    devices = account.traffic.devices
    if devices == 1:
        return []
    return [f"between {devices} devices: {collectives(account.traffic.moved, devices) or 'nothing moves'}"
            + ("; loops of unknown length count as one iteration" if account.traffic.unknown_loops else "")]


def collectives(moved: Sequence[Moved], devices: int) -> str:
    """Collectives by kind, and their bytes: of all devices, and of each on average."""
    if not moved:
        return ""
    together = Traffic(tuple(moved))
    kinds = {kind: count for kind, (count, _) in together.by_kind().items()}
    return f"{counts(kinds)}: {short(together.bytes)} bytes, {short(together.bytes / devices)} per device"


def clipped(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rpartition(' -> ')[0]} -> ..."
