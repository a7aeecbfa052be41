"""`reactant nvcc`: the actions that a command line asks for, one after another."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from reactant.cuda_programs.driver import answers, compiling, images, linking
from reactant.cuda_programs.driver.compiling import CompilationFailed, Unit, unit_of
from reactant.cuda_programs.driver.options import Command, CommandLineError, Input, parse
from reactant.cuda_programs.driver.toolchain import Toolchain, toolchain


def main(arguments: Sequence[str]) -> int:
    """Do what nvcc's command line says.

    Args:
        arguments: what follows `reactant nvcc`.

    Returns:
        The exit status: 0, the compiler's or linker's, or the program's own where `-run` runs it.

    Raises:
        CommandLineError: for an option or a file that cannot be.
    """
    answer = answers.asked(list(arguments))
    if answer is not None:
        sys.stdout.write(answer)
        return 0
    command = parse(arguments)
    tools = toolchain(command.host_compiler)
    if command.verbose or command.dry_run:
        sys.stderr.write(answers.settings(command, tools))
    if command.dry_run:
        return 0
    if not command.inputs:
        raise CommandLineError("no file is named", hint="Say reactant nvcc app.cu -o app.")
    _existing(command)
    try:
        return ACTIONS[command.mode](command, tools)
    except CompilationFailed as failed:
        return failed.status if 0 < failed.status < 256 else 1


def _existing(command: Command) -> None:
    for each in command.inputs:
        if each.kind not in ("option", "library") and not os.path.exists(each.text):
            raise CommandLineError(f"there is no file '{each.text}'", hint="Name an existing one.")
        if each.kind in ("unknown", "ptx"):
            raise CommandLineError(f"'{each.text}' is no file that is compiled or linked: its name says neither",
                                   hint="Say -x cu or -x c++ before it.")


def _target(command: Command, source: str, suffix: str) -> str:
    if command.output:
        if len(command.sources) > 1:
            raise CommandLineError("-o names one file, and several are compiled", hint="Leave -o out, or say -odir.")
        return command.output
    return str(Path(command.folder or ".") / (Path(source).stem + suffix))


def _objects(command: Command, tools: Toolchain) -> int:
    for each in command.sources:
        compiling.one_object(unit_of(each, command, tools), _target(command, each.text, ".o"))
    return 0


def _linked(command: Command, tools: Toolchain) -> int:
    target = command.output or ("a.so" if command.shared else "a.out")
    with tempfile.TemporaryDirectory(prefix="reactant-") as folder:
        linking.link(command, tools, _link_items(command, tools, Path(folder)), target)
    if command.run:
        return subprocess.run([os.path.abspath(target), *command.run_arguments], check=False).returncode
    return 0


def _link_items(command: Command, tools: Toolchain, folder: Path) -> list[Input]:
    """What is linked, in order: sources have become objects."""
    items: list[Input] = []
    for number, each in enumerate(command.inputs):
        if each.kind in ("cuda", "c", "c++", "assembly"):
            own = folder / str(number)
            own.mkdir()
            items += [Input("object", str(path)) for path in compiling.compiled(unit_of(each, command, tools), own)]
        else:
            items.append(each)
    return items


def _archived(command: Command, tools: Toolchain) -> int:
    with tempfile.TemporaryDirectory(prefix="reactant-") as folder:
        items = _link_items(command, tools, Path(folder))
        linking.archive(tools, [Path(each.text) for each in items if each.kind == "object"], command.output or "a.a")
    return 0


def _device_linked(command: Command, tools: Toolchain) -> int:
    with tempfile.TemporaryDirectory(prefix="reactant-") as folder:
        linking.device_link(_link_items(command, tools, Path(folder)), tools, command.output or "a_dlink.o")
    return 0


def _preprocessed(command: Command, tools: Toolchain) -> int:
    for each in command.sources:
        target = ["-o", command.output] if command.output else []
        compiling.say([*compiling.host_command(unit_of(each, command, tools)), "-E", each.text, *target])
    return 0


def _depends(command: Command, tools: Toolchain) -> int:
    flag = "-MM" if command.mode == "depend-user" else "-M"
    for each in command.sources:
        named = [] if "-MT" in command.dependencies else ["-MT", f"{Path(each.text).stem}.o"]
        target = ["-o", command.output] if command.output else []
        compiling.say([*compiling.host_command(unit_of(each, command, tools)), flag, *command.dependencies, *named,
                       each.text, *target])
    return 0


def _ptx(command: Command, tools: Toolchain) -> int:
    """PTX to look at, and the module that programs load instead, in a comment at its end."""
    for each in command.sources:
        unit: Unit = unit_of(each, command, tools)
        host = compiling.host_command(unit)
        device = ["--cuda-device-only" if word == "--cuda-host-only" else word for word in host]
        target = _target(command, each.text, ".ptx")
        compiling.say([*device, "-O3", "-S", each.text, "-o", target])
        with open(target, "a") as file:
            file.write(images.image(unit))
    return 0


def _image(command: Command, tools: Toolchain) -> int:
    for each in command.sources:
        made = images.image(unit_of(each, command, tools), command.names)
        Path(_target(command, each.text, ".cubin")).write_text(made)
    return 0


ACTIONS = {"object": _objects, "link": _linked, "archive": _archived, "device-link": _device_linked,
           "preprocess": _preprocessed, "depend": _depends, "depend-user": _depends, "ptx": _ptx, "image": _image}
"""What is done for each mode of the command line."""
