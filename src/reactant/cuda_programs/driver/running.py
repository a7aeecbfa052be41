"""`reactant run app.cu`: the executable is kept for as long as its sources, headers and options stay as they are."""
from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from reactant.cuda_programs.driver import command, library
from reactant.cuda_programs.driver.options import CommandLineError, Input, parse

COMPILER = Path(__file__).parents[1]


def main(arguments: Sequence[str], rest: Sequence[str]) -> int:
    """Compile where that is needed, and run.

    Args:
        arguments: sources and options, as for `reactant nvcc`.
        rest: the program's own arguments.

    Returns:
        The program's exit status, as a shell has it (128 + the signal that ended it); the compiler's where it fails.

    Raises:
        CommandLineError: for options that do not make an executable.
    """
    parsed = parse(arguments)
    if parsed.mode != "link" or parsed.output or parsed.shared:
        raise CommandLineError("reactant run makes an executable of its own, and runs it",
                               hint="Say reactant nvcc for -o, -c, -shared and their like.")
    program, status = made(arguments)
    if status != 0:
        return status
    status = subprocess.run([str(program), *rest], check=False).returncode
    return status if status >= 0 else 128 - status


def made(arguments: Sequence[str]) -> tuple[Path, int]:
    """What a command line makes, kept for as long as it would make the same: (where it is, the compiler's status)."""
    key = hashlib.sha256("\0".join([os.getcwd(), library.digest(), _compiler(), *arguments]).encode()).hexdigest()[:32]
    program = library.cache_folder() / "programs" / key
    return program, 0 if _current(program) else _make(program, list(arguments), parse(arguments).inputs)


def _compiler() -> str:
    """What tells versions of the compiler from each other: names, sizes and times of its files."""
    told = [f"{file.name} {found.st_size} {found.st_mtime_ns}" for file in sorted(COMPILER.rglob("*.py"))
            for found in [file.stat()]]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


def _current(program: Path) -> bool:
    """Whether the program is there, and was made of what its files hold now."""
    try:
        made_of = json.loads(program.with_suffix(".json").read_text())
        return program.exists() and all(_digest(Path(file)) == digest for file, digest in made_of.items())
    except (OSError, ValueError):
        return False


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _make(program: Path, arguments: list[str], inputs: Sequence[Input]) -> int:
    program.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent, prefix=".making-") as folder:
        made, depfile = Path(folder) / "program", Path(folder) / "program.d"
        status = command.main([*arguments, "-MD", "-MF", str(depfile), "-o", str(made)])
        if status != 0:
            return status
        files = _prerequisites(depfile.read_text()) | {each.text for each in inputs
                                                       if each.kind not in ("option", "library")}
        listed = Path(folder) / "program.json"
        listed.write_text(json.dumps({str(Path(file).resolve()): _digest(Path(file)) for file in sorted(files)}))
        os.replace(made, program)
        os.replace(listed, program.with_suffix(".json"))
    return 0


def _prerequisites(rule: str) -> set[str]:
    """The files that a Makefile's rule names: those of the system do not change under a program."""
    words = rule.replace("\\\n", " ").partition(": ")[2].replace("\\ ", "\0").split()
    return {word.replace("\0", " ") for word in words if not word.startswith("/usr/")}
