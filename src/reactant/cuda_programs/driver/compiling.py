"""One source to one object: host code by clang, device code by `device/`, at the same time."""
from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from reactant.cuda_programs.device import front
from reactant.cuda_programs.device.shapes import Shapes
from reactant.cuda_programs.driver import device_linking, launch_sites, precompiled
from reactant.cuda_programs.driver.options import Command, Input
from reactant.cuda_programs.driver.toolchain import INCLUDE, Toolchain, device_libraries
from reactant.kernels.ways_in import clang
from reactant.kernels.ways_in.cxx_tokens import with_launches_joined, with_managed_alone

HOST_LANGUAGE = ("-x", "cuda", "--cuda-host-only", "--cuda-gpu-arch=sm_80", "-nocudainc", "-nocudalib",
                 "-foffload-implicit-host-device-templates", "-Wno-unknown-cuda-version")
FORCED = ("-include", "reactant_program.h")
"""The header that every source begins with."""
QUIET = ("-Qunused-arguments", "-Wno-unknown-warning-option", "-Wno-ignored-optimization-argument")
"""What options for gcc are to clang."""
NOISE = re.compile(r"^.*(unused-command-line-argument|unknown-cuda-version).*\n|^\d+ (warnings?|errors?)( and \d+ "
                   r"errors?)? generated when compiling for (host|sm_\d+)\.\n", re.M)
DEVICE = re.compile(r"-(O\w+|g\w*|W.*|fPI[CE]|fpi[ce]|fopenmp.*|m(arch|tune|avx|sse|fma).*|pthread|pg|pipe|shared"
                    r"|static|fvisibility.*|ffast-math|fno-strict-aliasing|rdynamic|w)")
"""Options of the host's compiler that the device's side is not given."""

_LIBRARY_MISSING = re.compile(r"fatal error: '(thrust|cub|cuda|nv)/[^']*' file not found")
ADVICE = ('reactant nvcc: Thrust, CUB and libcu++ come with pip install "reactant-py[cuda]" (nvidia-cuda-cccl-cu12 '
          "12.9)\n")


class CompilationFailed(Exception):
    """The compiler has said why on standard error; `status` is the exit status."""

    def __init__(self, status: int):
        super().__init__(status)
        self.status = status


@dataclass(frozen=True)
class Unit:
    """A source, and what its objects are called."""

    source: Path
    kind: str
    command: Command
    tools: Toolchain
    read: Path | None = None
    """The file that the compilers read in the place of the source."""

    @property
    def file(self) -> Path:
        """What is given to the compilers."""
        return self.read or self.source

    @property
    def identity(self) -> str:
        """What the host's and the device's object of this source call themselves."""
        told = [str(self.source.resolve()), *self.command.both, self.command.standard, self.command.output,
                self.command.check, *self.command.tune]
        return "reactant-" + hashlib.sha256("\0".join(told).encode()).hexdigest()[:32]


HostObject = Callable[[Unit, Path, list[str]], None]


def language_flags(unit: Unit) -> list[str]:
    """The program's own flags of the preprocessor and the language, for both sides."""
    command = unit.command
    standard = [f"-std={command.standard}"] if command.standard else []
    if unit.kind == "cuda" and not standard:
        standard = ["-std=gnu++17"]
    both = [*standard, *command.both, *(["-iquote", str(unit.source.parent)] if unit.read else [])]
    if unit.kind == "cuda":
        both.append(f"-cuid={unit.identity[9:25]}")
        if command.relocatable:
            both += ["-D__CUDACC_RDC__=1"]
        if command.fast_math:
            both += ["-D__USE_FAST_MATH__=1", "-freciprocal-math", "-fapprox-func"]
        if command.device_debug:
            both += ["-D__CUDACC_DEBUG__=1"]
        both += device_libraries()      # after the program's own folders: its copy of Thrust is its copy
    return both


def _optimisation(command: Command) -> list[str]:
    """-O2 where nothing is said: what is slow by oversight is slow on this device's host, too."""
    said = [command.optimisation] if command.optimisation else [] if command.debug or command.device_debug else ["-O2"]
    lines = ["-gline-tables-only", "-fno-inline"] if command.check else []      # so that launches are of their lines
    return [*said, *lines, *(["-g"] if command.debug or command.device_debug else []),
            *(["-pg"] if command.profiled else [])]


def host_command(unit: Unit) -> list[str]:
    """clang's command for a source as the host sees it, without what is written where."""
    command = unit.command
    compiler = unit.tools.compiler(unit.kind != "c")
    given = [*QUIET, *_optimisation(command), *language_flags(unit), *command.host_options]
    if unit.kind == "cuda":
        relocatable = ["-fgpu-rdc"] if command.relocatable else []
        given = [option for option in given if not option.startswith("-fopenmp")]
        return [*compiler, *HOST_LANGUAGE, f"-I{INCLUDE}", f"-I{clang.HEADERS}", *FORCED, *relocatable, *given]
    forced = ["-x", unit.kind] if unit.kind != "assembly" else []
    if unit.tools.name == "machine" and any(option.startswith("-fopenmp") for option in command.host_options):
        compiler, given = [*unit.tools.linker], given[len(QUIET):]      # the package has no library for OpenMP
    return [*compiler, *forced, *given, "-idirafter", str(INCLUDE)]


def compiled(unit: Unit, folder: Path, host_object: HostObject | None = None) -> list[Path]:
    """The objects of a source: the host's, and the device's where it has such code.

    Args:
        unit: the source.
        folder: where the objects are written.
        host_object: what makes the host's object, of the source, the path and further flags; clang when None.

    Returns:
        Their paths.

    Raises:
        CompilationFailed: the compiler's words are on standard error.
    """
    stem = hashlib.sha256(unit.identity.encode()).hexdigest()[:12]
    host = folder / f"{unit.source.stem}-{stem}.host.o"
    make_host = host_object or _host_at_once
    if unit.kind != "cuda":
        make_host(unit, host, [])
        return [host]
    device = folder / f"{unit.source.stem}-{stem}.device.o"
    unit = in_one_piece(unit, folder)
    blob = folder / f"{stem}.identity"
    blob.write_bytes(unit.identity.encode() + b"\0")
    known: Future[Shapes] = Future()
    with ThreadPoolExecutor(1) as other:
        on_device = other.submit(_device, unit, device, known)
        more = [] if unit.command.relocatable else ["-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(blob)]
        try:
            if host_object is None and _optimised(unit.command):
                _host(unit, host, more, known)
            else:
                known.set_result({})
                make_host(unit, host, more)
        except CompilationFailed:
            on_device.exception()       # it says the same, or nothing
            raise
        try:
            on_device.result()
        except clang.CompilationError as error:
            print(error.fact, file=sys.stderr)
            raise CompilationFailed(1) from None
    return [host, device]


def in_one_piece(unit: Unit, folder: Path) -> Unit:
    """The source with launches and managed variables as clang reads them; lines stay what they are."""
    text = unit.source.read_text(errors="surrogateescape")
    joined = with_managed_alone(with_launches_joined(text))
    if joined == text:
        return unit
    name = str(unit.source).replace("\\", "\\\\").replace('"', '\\"')
    target = folder / unit.source.name
    target.write_text(f'#line 1 "{name}"\n{joined}', errors="surrogateescape")
    return replace(unit, read=target)


def _optimised(command: Command) -> bool:
    """Whether clang's LLVM IR of host code says what is constant in it, and can be made an object."""
    levels = [option for option in (*_optimisation(command), *command.host_options) if option.startswith("-O")]
    return bool(levels) and levels[-1] != "-O0" and not command.check and \
        not any(option.startswith("-flto") for option in command.host_options)


def _host(unit: Unit, target: Path, more: list[str], known: Future[Shapes]) -> None:
    """The host's object in two steps; after the first, the shapes that it launches kernels with are `known`."""
    text = target.with_suffix(".ll")
    shapes: Shapes = {}
    try:
        _by_clang(unit, target, [*more, "-S", "-emit-llvm"], text)
        shapes = launch_sites.shapes(text.read_text(errors="replace"))
    finally:
        known.set_result(shapes)
    command = unit.command
    options = [option for option in command.host_options if not option.startswith("-fopenmp")]
    say([*unit.tools.compiler(), *QUIET, "-Wno-everything", *_optimisation(command), *options, "-Xclang",
         "-disable-llvm-passes", "-x", "ir", "-c", str(text), "-o", str(target)])


def _host_at_once(unit: Unit, target: Path, more: list[str]) -> None:
    _by_clang(unit, target, [*more, "-c"], target)


def _by_clang(unit: Unit, target: Path, more: list[str], made: Path) -> None:
    """What clang makes of host code on the way to the object `target`."""
    dependencies = list(unit.command.dependencies)
    if dependencies:
        output = unit.command.output or f"{unit.source.stem}.o"
        if "-MF" not in dependencies:
            dependencies += ["-MF", str(Path(output).with_suffix(".d"))]
        if "-MT" not in dependencies and "-MQ" not in dependencies:
            dependencies += ["-MT", output]
    command = host_command(unit)
    rest = [*more, *dependencies, str(unit.file), "-o", str(made)]
    if unit.kind == "cuda" and not dependencies:        # a list of files names those that were read, and not these
        if ready := _libraries(unit, command):
            done = subprocess.run([*command[:2], *ready, *command[2:], *rest], capture_output=True, text=True,
                                  errors="replace", check=False)
            if done.returncode == 0:
                return said(done)           # all of a library was included, and may be what does not compile
        ready = precompiled.flags_for(command)
        done = subprocess.run([*command[:2], *ready, *command[2:], *rest], capture_output=True, text=True,
                              errors="replace", check=False)
        if not (done.returncode != 0 and "recompiled file" in done.stderr and precompiled.forget(ready)):
            return said(done)
    say([*command, *rest])
    if unit.read and "-MF" in dependencies:
        depfile = Path(dependencies[dependencies.index("-MF") + 1])
        depfile.write_text(depfile.read_text().replace(str(unit.read), str(unit.source)))


def _libraries(unit: Unit, command: list[str]) -> list[str]:
    """What makes a command read the headers of Thrust and CUB that are compiled already; [] where it includes none."""
    text = unit.file.read_text(errors="replace")
    header = precompiled.library_header(text)
    return precompiled.flags_for(command, header, text) if header else []


def device_options(unit: Unit, libraries: bool = False) -> list[str]:
    """clang's options for a source's device code, with headers that are compiled already; `libraries`: with all of
    Thrust and CUB, and nothing where the source includes none of it."""
    command = unit.command
    options = [*language_flags(unit), *(o for o in command.host_options if not DEVICE.fullmatch(o))]
    words = front.command(unit.file, options, contract=command.contract, relocatable=command.relocatable,
                          system=unit.tools.system())
    if command.check:                       # every access of a header is checked, too
        return [] if libraries else options
    words = words[:words.index(os.fspath(unit.file))]
    ready = _libraries(unit, words) if libraries else precompiled.flags_for(words)
    return options + ready if ready or not libraries else []


def _device(unit: Unit, target: Path, known: Future[Shapes]) -> None:
    """Write the device's object; of relocatable code the one that waits for the device link. `known`: the shapes of
    blocks that the host's code launches kernels with."""
    command = unit.command
    from reactant.cuda_programs.device.compile import device_code, device_object  # half a second, beside clang's work

    def made(options: list[str]) -> str:
        return device_code(unit.file, options, contract=command.contract, relocatable=command.relocatable,
                           system=unit.tools.system(), check=command.check)

    code = ""
    if options := device_options(unit, libraries=True):
        with contextlib.suppress(clang.CompilationError):       # all of a library was included, and may be the reason
            code = made(options)
    code = code or made(device_options(unit))
    if command.relocatable:
        made_code = device_linking.Code(code, command.check, command.tune, known.result())
        device_linking.code_object(made_code, unit.tools, target)
    else:
        target.write_bytes(device_object(code, unit.identity, command.check, command.tune, known.result()))


def say(command: list[str], output: str = "") -> None:
    """Run a compiler; what it says goes on without what nobody wants to know. Raises `CompilationFailed`."""
    said(subprocess.run(command, capture_output=True, text=True, errors="replace", check=False), output)


def said(done: subprocess.CompletedProcess, output: str = "") -> None:
    """Hand on what a compiler or linker said. Raises `CompilationFailed`."""
    words = NOISE.sub("", done.stderr)
    if _LIBRARY_MISSING.search(words) and not device_libraries():
        words += ADVICE
    if words:
        sys.stderr.write(words)
    if output:
        Path(output).write_text(done.stdout)
    elif done.stdout:
        sys.stdout.write(done.stdout)
        sys.stdout.flush()
    if done.returncode != 0:
        raise CompilationFailed(done.returncode)


def one_object(unit: Unit, target: str) -> None:
    """The object that `-c` writes: both sides in one."""
    with tempfile.TemporaryDirectory(prefix="reactant-") as folder:
        parts = compiled(unit, Path(folder))
        whole = Path(folder) / "whole.o"
        if len(parts) > 1:
            say([*unit.tools.relinker, "-o", str(whole), *map(str, parts)])
        else:
            whole = parts[0]
        _moved(whole, Path(target))


def _moved(source: Path, target: Path) -> None:
    """Write the target at once, so that a compiler that is interrupted leaves no half of an object."""
    try:
        os.replace(source, target)
    except OSError:                     # another file system
        target.write_bytes(source.read_bytes())


def unit_of(each: Input, command: Command, tools: Toolchain) -> Unit:
    """A file of the command line as a unit."""
    return Unit(Path(each.text), each.kind, command, tools)
