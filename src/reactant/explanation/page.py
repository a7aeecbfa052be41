"""`explain` as a page of HTML."""
from __future__ import annotations

import itertools
import os
from collections import Counter
from html import escape

from reactant.explanation import graphs, memory
from reactant.explanation.costs import line_costs
from reactant.explanation.graphs import Node
from reactant.explanation.numbers import counts, ms, short
from reactant.explanation.records import Account, Line
from reactant.explanation.text import MOST_CHAINS, clipped, collectives
from reactant.ir import traffic
from reactant.ir.context import building
from reactant.ir.cost import Cost
from reactant.rewrite.report import source_line
from reactant.support.html import bar, document, facts, folded, listed, table
from reactant.support.html import fragment as as_fragment
from reactant.support.source_lines import around, by_file

AROUND = 2
"""Lines of the source that are shown around those of the program."""
MOST_KEPT = 40
"""Kept values that are listed."""
HOT = 0.25
_pages = itertools.count()


def page(account: Account) -> str:
    """The whole page."""
    return document(f"{account.name}: what became of it", _body(account))


def fragment(account: Account) -> str:
    """The same within another page."""
    return as_fragment(_body(account))


def _body(account: Account) -> str:
    with building():
        before, after = ({}, {}) if account.lowered is None else (
            line_costs(account.lowered.original), line_costs(account.lowered.module))
        drawn = ({}, {}) if account.lowered is None else (
            graphs.graphs(account.lowered.original), graphs.graphs(account.lowered.module))
        parts = [f"<h1>What became of <code>{escape(account.name)}</code></h1>", _summary(account),
                 _source(account, before, after, drawn, f"x{next(_pages)}"), _rules(account), _not_done(account)]
        if account.lowered is not None:
            parts += ["<h2>Memory over time</h2>", memory.chart(memory.moments(account.lowered.module)),
                      '<p class="soft">Of one run, operation by operation; loops with the most that is held inside. '
                      "What is computed where it is read is not stored.</p>"]
        parts.append(_between_devices(account))
    return "\n".join(part for part in parts if part)


def _summary(a: Account) -> str:
    pairs = [("operations", f"{a.operations[0]} as traced, {a.operations[1]} after the rules"),
             ("flops", f"{short(a.flops[0])} before, {short(a.flops[1])} after"),
             ("bytes", f"{short(a.bytes[0])} before, {short(a.bytes[1])} after, as if nothing were fused"),
             ("compiled in", f"tracing {ms(a.times.trace)}, passes {ms(a.times.passes)}, native code "
                             f"{ms(a.times.native)}, XLA {ms(a.times.xla)}")]
    if a.reason:
        pairs.append(("left to jax.jit", a.reason))
    if a.workarounds:
        pairs.append(("for XLA", ", ".join(a.workarounds)))
    if a.choice:
        pairs.append(("arguments", a.choice))
    if a.not_kept:
        pairs.append(("not in the compile cache", a.not_kept))
    made = [note for note in a.native if not note.startswith("left to XLA")]
    return facts(pairs) + (folded(f"{len(made)} notes on native code and kernels", listed(made), len(made) < 6)
                           if made else "")


def _source(a: Account, before: dict[str, Cost], after: dict[str, Cost],
            drawn: tuple[dict[str, list[Node]], dict[str, list[Node]]], mark: str) -> str:
    most = max((cost.flops + cost.bytes for cost in after.values()), default=0.0)
    parts = ["<h2>Source</h2>"]
    for k, (file, lines) in enumerate(by_file(a.lines).items()):
        rows, hot = [], []
        for shown in around(file, lines, AROUND):
            if shown is None:
                rows.append(("", "", "", "", '<span class="soft">...</span>'))
                continue
            n, source = shown[0], escape(shown[1])
            if n not in lines:
                rows.append((str(n), "", "", "", source))
                continue
            place = lines[n].place
            old, new = before.get(place, Cost()), after.get(place, Cost())
            part = (new.flops + new.bytes) / most if most else 0.0
            hot += [len(rows)] if part >= HOT else []
            rows.append((f'<a href="#{mark}-{k}-{n}">{n}</a>', _change(old.flops, new.flops),
                         f"{_change(old.bytes, new.bytes)} {bar(part)}",
                         escape(counts(lines[n].kept) or "nothing is left"), source))
        parts.append(table(("line", "flops", "bytes", "now", "source"), rows, file, (0, 1, 2),
                           ("", "", "", "what", "source"), hot))
        parts.append(f"<h2>Line by line: {escape(os.path.basename(file))}</h2>")
        parts += [folded(f'<strong id="{mark}-{k}-{n}">{n}</strong> <code>{escape(line.source)}</code>',
                         _line(line, drawn)) for n, line in sorted(lines.items())]
    others = [line for line in a.lines if not line.place.rpartition(":")[2].isdigit()]
    parts += [folded("<strong>no line</strong> <span>operations that belong to none</span>", _line(line, drawn))
              for line in others]
    return "\n".join(parts)


def _change(before: float, after: float) -> str:
    if not before and not after:
        return ""
    return short(after) if before == after else f"{short(before)}&nbsp;→&nbsp;{short(after)}"


def _line(line: Line, drawn: tuple[dict[str, list[Node]], dict[str, list[Node]]]) -> str:
    pairs = [("traced to", counts(line.traced) or "nothing"), ("now", counts(line.kept) or "nothing is left")]
    if line.rules:
        pairs.append(("rules", counts(line.rules)))
    if line.moved:
        pairs.append(("moves", collectives(line.moved, 1)))
        pairs += [("because", "; ".join(line.why))] if line.why else []
    parts = [facts(pairs)]
    if any(line.place in each for each in drawn):
        parts.append(graphs.pair(*drawn, line.place))
        parts.append(folded("The same as lists", "".join(
            f"<h3>{name}</h3>{graphs.as_list(each.get(line.place, []))}"
            for name, each in (("As traced", drawn[0]), ("After the rules", drawn[1])))))
    chains = sorted(line.chains.items(), key=lambda item: -len(item[0]))
    if chains:
        said = [clipped(chain) + (f" (x{count})" if count > 1 else "") for chain, count in chains[:MOST_CHAINS]]
        more = f" ({len(chains) - MOST_CHAINS} more)" if len(chains) > MOST_CHAINS else ""
        parts.append(folded(f"{len(chains)} chain{'s' * (len(chains) > 1)} of rewrites{more}", listed(said)))
    return "".join(parts)


def _rules(a: Account) -> str:
    fired = sorted(a.report.fired.items(), key=lambda item: -item[1].count)
    if not fired:
        return "<h2>Rules</h2><p>No rule fired.</p>"
    rows = [(f"<code>{escape(name)}</code>", str(firing.count), ms(firing.seconds)) for name, firing in fired]
    made = table(("rule", "fired", "time"), rows, "Rules that fired", (1, 2))
    return "<h2>Rules</h2>" + folded(f"{len(fired)} rules fired {sum(f.count for _, f in fired)} times", made)


def _not_done(a: Account) -> str:
    """What stayed as it was, and why."""
    parts = []
    left = [note for note in a.native if note.startswith("left to XLA")]
    if a.report.not_converged:
        left.append(f"stopped before nothing changed any more: {', '.join(a.report.not_converged)}")
    if a.reason:
        left.append(f"no rule of ours ran: the function was left to jax.jit, since {a.reason}")
    if left:
        parts.append("<h3>Left as it was</h3>" + listed(left))
    if a.loops:
        parts.append("<h3>Loops that stay loops</h3>" + listed(map(str, a.loops)))
    if a.report.derivatives:
        parts.append("<h3>Derivatives</h3>" + listed(
            f"{mode} mode of {function}: {before} operations became {after}"
            + (f", {after / before:.1f} times as many" if before else "")
            for mode, function, before, after in a.report.derivatives))
    kept = _kept(a)
    if kept:
        parts.append(folded(f"<strong>Not fused</strong>: {sum(kept.values())} values are stored, since something "
                            "needs them in memory", listed(f"{text}{f' (x{n})' if n > 1 else ''}"
                                                     for text, n in kept.most_common(MOST_KEPT))))
    return "<h2>What was not done, and why</h2>" + ("".join(parts) or "<p>Nothing that is known of.</p>")


def _kept(a: Account) -> Counter[str]:
    """What could be computed where it is read, and is stored all the same."""
    found: Counter[str] = Counter()
    if a.lowered is None:
        return found
    for op, reader in traffic.kept(a.lowered.module):
        line, other = (source_line(each.location).rpartition(":")[2] for each in (op, reader))
        name, needs = (each.name.removeprefix("stablehlo.").removeprefix("func.") for each in (op, reader))
        found[f"{name}{f' of line {line}' if line else ''}: "
              + ("is a result" if needs == "return" else f"{needs}{f' of line {other}' if other else ''} reads memory")
              ] += 1
    return found


def _between_devices(a: Account) -> str:
    devices = a.traffic.devices
    if devices == 1:
        return ""
    rows = [(f"{escape(os.path.basename(line.place))}", f"<code>{escape(line.source)}</code>",
             escape(collectives(line.moved, devices)), escape("; ".join(line.why))) for line in a.lines if line.moved]
    said = collectives(a.traffic.moved, devices) or "nothing moves"
    loops = "; loops of unknown length count as one iteration" if a.traffic.unknown_loops else ""
    return (f"<h2>Between {devices} devices</h2><p>{escape(said + loops)}</p>"
            + (table(("line", "source", "moves", "because"), rows, "What lines move between devices") if rows else ""))
