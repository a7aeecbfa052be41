"""Objects to executables, shared libraries and archives."""
from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from reactant.cuda_programs.driver import device_linking, libraries, library
from reactant.cuda_programs.driver.compiling import said, say
from reactant.cuda_programs.driver.options import Command, Input
from reactant.cuda_programs.driver.toolchain import Toolchain

ALWAYS = ("-lpthread", "-ldl", "-lm")


def link_command(command: Command, tools: Toolchain, items: list[Input], target: str) -> list[str]:
    """The linker's command: objects and libraries in the order of the command line, the runtime last."""
    flags = ["-shared"] if command.shared else []
    if command.static:
        flags.append("-static")
    flags += [option for option in command.host_options if option.startswith(("-fopenmp", "-pthread", "-fsanitize"))
              or option in ("-fPIC", "-fPIE", "-pg")]
    if tools.name == "machine" and any(option.startswith("-fopenmp") for option in flags):
        flags = [option if not option.startswith("-fopenmp") else "-fopenmp" for option in flags]
    runtime = library.home(tools) / "lib64"
    # Modules that programs load while they run find the runtime's functions in them.
    flags += [f"-Wl,--dynamic-list={runtime / library.EXPORTS}"] if tools.name == "machine" else ["-rdynamic"]
    named = libraries.wanted(each.text for each in items if each.kind == "option")
    return [*tools.linker, *flags, "-o", target,
            *(each.text for each in items if not (each.kind == "option" and libraries.is_one(each.text))),
            *(str(libraries.archive(tools, name)) for name in named),       # last: they may be named before objects
            str(runtime / library.ARCHIVES[0]), f"-L{runtime}", *ALWAYS]


def link(command: Command, tools: Toolchain, items: list[Input], target: str) -> None:
    """Link, device code that waits for it first. Raises `CompilationFailed`; the linker's words are on standard error."""
    with tempfile.TemporaryDirectory(prefix="reactant-") as folder:
        device = Path(folder) / "linked.o"
        if codes := device_linking.codes_in(items, tools, Path(folder)):
            device_linking.linked(codes, device, os.path.abspath(target))
            items = [*items, Input("object", str(device))]
        _linked(command, tools, items, target)


def device_link(items: list[Input], tools: Toolchain, target: str) -> None:
    """Write the object that `-dlink` makes: the device code of others, an empty one where they hold none."""
    with tempfile.TemporaryDirectory(prefix="reactant-") as folder:
        codes = device_linking.codes_in(items, tools, Path(folder))
    if codes:
        return device_linking.linked(codes, Path(target), os.path.abspath(target))
    command = [*tools.compiler(False), "-x", "c", "-fPIC", "-c", "-", "-o", target]
    subprocess.run(command, input="", text=True, check=True)
    return None


def _linked(command: Command, tools: Toolchain, items: list[Input], target: str) -> None:
    done = subprocess.run(link_command(command, tools, items, target), capture_output=True, text=True, errors="replace",
                          check=False)
    for line in libraries.missing(done.stderr):
        done.stderr += line + "\n"
    said(done)


def archive(tools: Toolchain, objects: list[Path], target: str) -> None:
    """A static library of objects (`-lib`)."""
    say([*tools.archiver, "rcs", target, *map(str, objects)])
