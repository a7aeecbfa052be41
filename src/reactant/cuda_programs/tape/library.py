"""A program's library whose host code notes where its numbers come from, for `reactant.cuda`; kept as others are."""
from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reactant.cuda_programs.driver import compiling, linking
from reactant.cuda_programs.driver.compiling import CompilationFailed, Unit
from reactant.cuda_programs.driver.options import Input, parse
from reactant.cuda_programs.driver.toolchain import toolchain
from reactant.cuda_programs.tape import instrument
from reactant.support import folders

UNOPTIMISED = ("-O0", "-Xclang", "-disable-O0-optnone", "-fignore-exceptions", "-ffp-contract=off", "-Wno-everything")


def taped(arguments: Sequence[str], plain: Path) -> tuple[Path, list[str]]:
    """The library of a command line, as `running.made` makes `plain` of it, with host code for the tape.

    Args:
        arguments: of `reactant nvcc`.
        plain: the ordinary library, which is newer whenever its files change.

    Returns:
        The library, and the lines that complaints of its tape mean.

    Raises:
        CompilationFailed: the compiler's words are on standard error.
        ValueError: for host code that cannot be taped, with the reason.
    """
    target, lines = plain.with_suffix(".taped"), plain.with_suffix(".lines")
    with contextlib.suppress(OSError, ValueError):
        if target.stat().st_mtime_ns >= plain.stat().st_mtime_ns:
            return target, list(json.loads(lines.read_text()))
    command = replace(parse(arguments), optimisation="-O0")
    tools = toolchain(command.host_compiler)
    with tempfile.TemporaryDirectory(dir=plain.parent, prefix=".making-") as made:
        folder = Path(made)
        units = [compiling.unit_of(each, replace(command, optimisation=""), tools) for each in command.sources]
        texts = {unit.source: _ir(unit) for unit in units}
        own = {name for text in texts.values() for name in instrument.defined(text)}
        said: list[str] = ["a line that is not known"]
        items: list[Input] = []
        for number, unit in enumerate(units):
            place = folder / str(number)
            place.mkdir()
            objects = compiling.compiled(unit, place, lambda u, o, more: _object(u, o, more, own, said))
            items += [Input("object", str(path)) for path in objects]
        items += [each for each in command.inputs if each.kind not in ("cuda", "c", "c++", "assembly")]
        linking.link(command, tools, items, str(folder / "library"))
        folders.put(lines, json.dumps(said).encode())
        os.replace(folder / "library", target)
    return target, said


def _ir(unit: Unit, more: Sequence[str] = ()) -> str:
    words = [w for w in compiling.host_command(unit) if w not in ("-O1", "-O2", "-O3", "-Ofast", "-ffast-math")]
    flags = [*UNOPTIMISED, "-gline-tables-only", *more, "-S", "-emit-llvm", str(unit.file), "-o", "-"]
    done = subprocess.run([*words, *flags], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise CompilationFailed(done.returncode)
    return done.stdout


def _object(unit: Unit, target: Path, more: list[str], own: set[str], said: list[str]) -> None:
    """The host's object of a source, with what is noted of its numbers."""
    made = instrument.instrumented(_ir(unit, more), own, unit.source.name, said)
    text = target.with_suffix(".ll")
    text.write_text(made)
    compiling.say([*unit.tools.compiler(False), "-Wno-everything", "-x", "ir", "-O1", "-fPIC", "-c", str(text), "-o",
                   str(target)])
