"""Weak scaling by compilation: programs whose devices always have the same to do, compiled for more and more of them.

    python benchmarks/communication_scaling.py [--devices 8 512 4096] [--predict 8 512 8192] [--plot FILE] [--json FILE]

Nothing runs: for each number of devices a process in which the CPU counts as so many compiles each program on a mesh of
two axes. Collectives and bytes are those of XLA's text (`reactant.communication.traffic`), seconds those that the
processor worked, and memory the most that the process had. From what one device has to do on the largest mesh and the
published rates of machines (`reactant.communication.machines`) follows how much of the time devices would compute: a
model, no measurement.
"""
from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

DEVICES, PREDICTED = (8, 512, 4096), (8, 512, 8192)
OF_ONE_PROCESS = 2048
"""CPU devices that jaxlib's compiler takes for those of one process; more are as on several machines."""


def sides(devices: int) -> tuple[int, int]:
    """A mesh of two axes, as square as can be."""
    x = next(n for n in range(int(devices ** 0.5), 0, -1) if devices % n == 0)
    return devices // x, x


def compiled(name: str, devices: int, each: int | None) -> dict[str, Any]:
    """Figures of one program, in a process that has so many devices."""
    import jax
    import numpy as np
    from communication_ocean import SCALED

    import reactant
    from reactant.communication.price import price_of
    program, shapes, own = SCALED[name]
    x, y = sides(devices)
    place = reactant.mesh(x=x, y=y).sharding("x", "y")
    given = [jax.ShapeDtypeStruct(shape, np.float32, sharding=place)
             for shape in shapes(x * (each or own), y * (each or own))]
    begun = time.process_time()
    lowered = reactant.jit(program).lower(*given)
    traced = time.process_time()
    made = lowered.program()
    divided = time.process_time()
    made.executable.compile()
    done = time.process_time()
    moved, price = made.traffic(), price_of(made.executable.partitioned.module, devices)
    return {"program": name, "devices": devices, "mesh": [x, y], "seconds": done - begun, "tracing": traced - begun,
            "dividing": divided - traced, "xla": done - divided, "collectives": moved.count,
            "bytes": moved.bytes / devices, "by_kind": moved.by_kind(), "price": asdict(price),
            "gibibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def measure(name: str, devices: int, each: int | None) -> dict[str, Any]:
    """`compiled` in a process of its own."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": (
        f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}").strip()}
    ran = subprocess.run([sys.executable, __file__, "--compile", name, "--devices", str(devices),
                          *(["--each", str(each)] if each else [])], env=environment, capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(f"{name} on {devices} devices: {ran.stderr.strip().splitlines()[-1:]}")
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def compile_here(name: str, devices: int, each: int | None) -> None:
    import jax
    if devices > OF_ONE_PROCESS:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        jax.distributed.initialize(f"127.0.0.1:{port}", 1, 0)
    print(json.dumps(compiled(name, devices, each)), flush=True)


def table(rows: Sequence[dict[str, Any]]) -> str:
    lines = [f"{'program':14} {'devices':>8} {'mesh':>8} {'collectives':>12} {'KiB each':>9} {'s':>6} "
             f"{'dividing':>9} {'XLA':>6} {'GiB':>5}"]
    for row in rows:
        lines.append(f"{row['program']:14} {row['devices']:8,} {'x'.join(map(str, row['mesh'])):>8} "
                     f"{row['collectives']:12} {row['bytes'] / 1024:9.1f} {row['seconds']:6.1f} {row['dividing']:9.1f} "
                     f"{row['xla']:6.1f} {row['gibibytes']:5.2f}")
    return "\n".join(lines)


def prices(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What one device has to do of each program, on the largest mesh."""
    from reactant.communication.price import Collective, Price
    found = {}
    for row in sorted(rows, key=lambda row: row["devices"]):
        parts = dict(row["price"])
        parts["collectives"] = tuple(Collective(**{**c, "line": None}) for c in parts["collectives"])
        found[row["program"]] = Price(**parts)
    return found


def drawn(file: Path, found: dict[str, Any], devices: Sequence[int]) -> None:
    """A plot of predicted efficiencies. Raises `ImportError` without matplotlib."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    from reactant.communication.machines import MACHINES
    from reactant.communication.roofline import time_of
    counts = [2**k for k in range(1, max(devices).bit_length())]
    figure, axes = pyplot.subplots(1, len(found), figsize=(5 * len(found), 4), sharey=True, squeeze=False)
    for each, (name, price) in zip(axes[0], found.items(), strict=True):
        for machine in MACHINES.values():
            each.semilogx(counts, [100 * time_of(price, machine, n).efficiency for n in counts], base=2,
                          label=machine.name)
        each.set(title=name, xlabel="devices", ylim=(0, 101))
        each.grid(alpha=0.3)
    axes[0][0].set_ylabel("predicted efficiency (%)")
    axes[0][0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(file)


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    from communication_ocean import SCALED
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", nargs="+", choices=SCALED, default=list(SCALED), metavar="NAME")
    parser.add_argument("--devices", nargs="+", type=int, default=list(DEVICES), help="that it is compiled for")
    parser.add_argument("--predict", nargs="+", type=int, default=list(PREDICTED), help="whose efficiency is predicted")
    parser.add_argument("--each", type=int, help="rows and columns of each device")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the prediction (matplotlib)")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--compile", metavar="NAME", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Print the tables."""
    given = parsed(arguments)
    if given.compile:
        compile_here(given.compile, given.devices[0], given.each)
        return 0
    from reactant.communication import roofline
    from reactant.communication.machines import MACHINES
    rows = [measure(name, devices, given.each) for name in given.programs for devices in given.devices]
    found, machines = prices(rows), list(MACHINES.values())
    print(table(rows), "\n\npredicted efficiency, by the number of devices; one device: its seconds for a run\n")
    print(roofline.table(found, machines, given.predict), "\n")
    print(roofline.plot(found, machines, given.predict))
    if given.plot:
        try:
            drawn(given.plot, found, given.predict)
        except ImportError as error:
            print(f"no plot: {error}")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
