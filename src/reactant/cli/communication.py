"""`reactant opt --mesh`: a program for one device as one for a mesh, and what it sends there."""
from __future__ import annotations

import argparse
import contextlib
import linecache
import math
import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reactant.cli.usage import UsageError

if TYPE_CHECKING:
    from jaxlib.mlir import ir

    from reactant.communication.account import Needed
    from reactant.communication.executable import MeshExecutable
    from reactant.communication.placement import Placement
    from reactant.communication.sharding import Sharding
    from reactant.communication.traffic import Traffic
    from reactant.options import CompileOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mesh", type=_sizes, metavar="x=4,y=2", help="print the program for devices in a mesh, each "
                        "axis with its size; the processor counts as so many")
    parser.add_argument("--shardings", default="auto", metavar="AXES ...", help="how each argument lies there, in one "
                        "word: x,- for rows over x, -,x+y for columns over x and y, ? for as it comes; default: auto, "
                        "what is estimated best")
    parser.add_argument("--print-communication", action="store_true", help="print, instead of the program, for each "
                        "line what moves between devices and why, and how much more XLA's own partitioner moves")


def _sizes(text: str) -> dict[str, int]:
    found = {}
    for part in text.split(","):
        if not (match := re.fullmatch(r"\s*([A-Za-z_]\w*)=(\d+)\s*", part)) or not int(match[2]) or match[1] in found:
            raise argparse.ArgumentTypeError(f"{text!r} is no mesh: x=8, or x=4,y=2, each axis once")
        found[match[1]] = int(match[2])
    return found


def prepare(sizes: dict[str, int]) -> None:
    """Have the processor count as enough devices, where jax has none yet and nobody has said how many."""
    import jax

    if "host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        with contextlib.suppress(RuntimeError):     # there are some
            jax.config.update("jax_num_cpu_devices", math.prod(sizes.values()))


def run(module: ir.Module, names: list[str], chosen: CompileOptions, options: argparse.Namespace) -> int:
    """Divide the module after some passes, and print what is asked for."""
    from jaxlib.mlir import ir

    from reactant import pipelines
    from reactant.calling.placing import passes_of
    from reactant.communication.executable import MeshExecutable
    from reactant.communication.placement import Placement, partitioned
    from reactant.ir import modules
    from reactant.ir.context import building
    from reactant.runtime.devices import devices
    from reactant.runtime.meshes import mesh

    where = mesh(devices=devices("cpu"), **options.mesh).jax
    with building():
        kind = ir.FunctionType(modules.function(module).attributes["function_type"].value)
        arguments, results = len(kind.inputs), len(kind.results)
        placement = Placement(where, (None,) * arguments, (None,) * results)
        report = pipelines.run(module, names, passes_of(chosen, placement))
        placement = _placed(module, report.kept, placement, options)
        if not options.print_communication:
            print(partitioned(module, report.kept, placement).module.operation.get_asm())
            return 0
        executable = MeshExecutable(module, placement, name="main", general=report.kept)
        _print(executable, options.file)
    return 0


def _placed(module: ir.Module, general: bytes | None, placement: Placement, options: argparse.Namespace) -> Placement:
    from dataclasses import replace

    if options.shardings == "auto":
        from reactant.communication.choosing import chosen
        labels = [f"%arg{n}" for n in range(len(placement.arguments))]
        placement, choice = chosen(module, general, placement, labels)
        print(choice, file=sys.stderr)
        return placement
    words = options.shardings.split()
    if len(words) != len(placement.arguments):
        raise UsageError(f"--shardings has {len(words)} words, and the program {len(placement.arguments)} arguments")
    return replace(placement, arguments=tuple(
        None if word == "?" else placement.named(_sharding(word, placement, kind))
        for word, kind in zip(words, _ranks(module), strict=True)))


def _ranks(module: ir.Module) -> list[int]:
    from reactant.ir import modules
    from reactant.ir.types import shape_of

    return [len(shape_of(a)) for a in modules.function(module).regions[0].blocks[0].arguments]


def _sharding(word: str, placement: Placement, rank: int) -> Sharding:
    from reactant.communication.sharding import Sharding

    axes = tuple(() if part == "-" else tuple(part.split("+")) for part in word.split(","))
    used = [axis for each in axes for axis in each]
    if not set(used) <= set(placement.shape.names) or len(set(used)) < len(used) or len(axes) > rank:
        raise UsageError(f"--shardings: {word} is none for an array of {rank} dimensions on a mesh of "
                         f"{placement.shape}, of which each axis divides one dimension")
    return Sharding((*axes, *((),) * (rank - len(axes))))


def _print(executable: MeshExecutable, file: str) -> None:
    inputs = ", ".join(f"%arg{n} {s}" for n, s in enumerate(executable.partitioned.inputs))
    mesh = executable.placement.shape
    print(f"{mesh.devices} devices, {mesh}: {inputs}")
    lines: dict[tuple[str, int] | None, list[Needed]] = {}
    for needed in executable.needed():
        lines.setdefault(needed.collective.line, []).append(needed)
    for line, found in lines.items():
        print(_place(line, file))
        for needed in found:
            each = needed.collective
            print(f"    {each.kind.replace('_', '-')}{_times(each.count)}: {_amount(each.count * each.total)} "
                  f"({_amount(each.count * each.total / mesh.devices)} per device): {needed.why}")
    ours, xla = executable.traffic(), executable.traffic(divided_by_xla=True)
    print(f"compiled: {_total(ours, mesh.devices)}\nas XLA divides it: {_total(xla, mesh.devices)}")


def _place(line: tuple[str, int] | None, file: str) -> str:
    if line is None:
        return "(no source line)"
    name = file if line[0] == "-" else line[0]
    return f"{name}:{line[1]}   {linecache.getline(name, line[1]).strip()}".rstrip()


def _total(found: Traffic, devices: int) -> str:
    kinds = ", ".join(f"{kind}{_times(count)}" for kind, (count, _) in found.by_kind().items())
    loops = "; loops of unknown length count as one iteration" if found.unknown_loops else ""
    return f"{_amount(found.bytes)} ({_amount(found.bytes / devices)} per device) in {kinds or 'no collectives'}{loops}"


def _times(count: float) -> str:
    return f" x{count:.0f}" if count != 1 else ""


def _amount(count: float) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.0f} B"


def require_beside(options: argparse.Namespace, ignored: Sequence[str]) -> None:
    """Raise `UsageError` for what has no meaning beside or without a mesh."""
    if options.mesh is None:
        if options.print_communication or options.shardings != "auto":
            raise UsageError("--print-communication and --shardings need --mesh, x=8 say")
    elif named := [name for name in ignored if getattr(options, name) not in (None, False)]:
        raise UsageError(f"--{named[0].replace('_', '-')} has no meaning beside --mesh")
