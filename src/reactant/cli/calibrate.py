"""`reactant calibrate`: measure the thresholds of the target stage on this machine and store them."""
from __future__ import annotations

import argparse

HELP = "time pairs of equal forms on this machine, and what it can do at best, and store both (about a minute)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="print what would be stored")
    parser.add_argument("--reset", action="store_true", help="forget what was stored: use the shipped defaults")


def run(options: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.table import Table

    from reactant import calibration
    from reactant.profiling import machine
    from reactant.simplify.facts import target_costs

    console = Console()
    path = target_costs.stored_at()
    if options.reset:
        path.unlink(missing_ok=True)
        machine.stored_at().unlink(missing_ok=True)
        console.print(f"{path} is gone; the shipped defaults are used.", markup=False)
        return 0
    defaults = target_costs.shipped() or target_costs.CPU
    with console.status("measuring") as status:
        rows: list[calibration.Measured] = []

        def note(step: calibration.Measured) -> None:
            rows.append(step)
            status.update(f"{step.name}: {step.threshold:g}")
        found = calibration.calibrate(defaults, note)
    table = Table(title=f"equal forms on {target_costs.device_name()}: microseconds")
    for heading in ("threshold", "at", "as written", "other form", "ratio"):
        table.add_column(heading, justify="left" if heading == "threshold" else "right")
    for row in rows:
        table.add_row(row.name, f"{row.threshold:g}", f"{row.first:.0f}", f"{row.second:.0f}", f"{row.ratio:.2f}")
    console.print(table)
    for name in calibration.LADDERS:
        console.print(f"{name} = {getattr(found, name)} (shipped: {getattr(defaults, name)})", markup=False)
    rates = machine.measure() if options.dry_run else machine.rates(again=True)
    console.print(str(rates), markup=False)
    if not options.dry_run:
        console.print(f"stored in {calibration.store(found)} and {machine.stored_at()}", markup=False)
    return 0
