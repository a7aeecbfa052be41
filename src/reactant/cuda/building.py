"""What is made of a program's files: a library for its host code, and what its functions and kernels are called.

The library is the driver's (`reactant nvcc -shared`), kept as `reactant run` keeps programs. The types of host
functions come from the debug information of the host's side, kernels for raising from `reactant.cuda.load`.
"""
from __future__ import annotations

import contextlib
import io
import os
import pickle
import re
import shutil
import subprocess
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from reactant.cuda_programs.driver import compiling, precompiled, running
from reactant.cuda_programs.driver.options import parse
from reactant.cuda_programs.driver.toolchain import toolchain
from reactant.cuda_programs.tape import library as tape
from reactant.errors import NotDifferentiable, ReactantError, in_one_line
from reactant.kernels.ways_in import clang, cuda
from reactant.kernels.ways_in.debug_types import CFunction, DebugTypes
from reactant.kernels.ways_in.module_source import ModuleSource, SourceKernel
from reactant.support import folders

LIBRARY = ("-shared", "-Xcompiler", "-fPIC", "-Xcompiler", "-gline-tables-only", "-Xlinker", "-u,reactant_record")
"""The last: also where a program calls nothing of the runtime."""
SYSTEM = re.compile(r"^/usr/|/ziglang/|/cuda_programs/host/include/|/kernels/headers/")


@dataclass(frozen=True)
class Sources:
    """A program's files, and the options that they are compiled with."""

    files: tuple[Path, ...]
    options: tuple[str, ...]
    defines: tuple[str, ...]
    include: tuple[str, ...]

    @property
    def title(self) -> str:
        return ", ".join(file.name for file in self.files)

    @property
    def command(self) -> list[str]:
        """`reactant nvcc`'s command line."""
        plain = [] if any(re.match(r"-O", o) for o in self.options) else ["-O3"]
        return [*LIBRARY, *plain, *self.words]

    @property
    def words(self) -> list[str]:
        """Without what is asked of the driver for the library."""
        libraries = [o for o in self.options if o.startswith("-l")]
        return [*self.defines, *(f"-I{folder}" for folder in self.include),
                *(o for o in self.options if o not in libraries), *map(str, self.files), *libraries]


def sources(files: Any, options: Sequence[str], defines: Any, include: Any) -> Sources:
    """What `reactant.cuda.program` was given. Raises `FileNotFoundError`, `TypeError`."""
    each = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    if not each:
        raise TypeError("reactant.cuda.program takes a file, or several.")
    paths = tuple(Path(file).resolve() for file in each)
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"There is no file '{path}'.")
    macros = [f"-D{name}" if value is None or value is True else f"-D{name}={value}"
              for name, value in defines.items()] if isinstance(defines, Mapping) else [f"-D{name}" for name in defines]
    folders_ = [include] if isinstance(include, (str, os.PathLike)) else include
    words = options.split() if isinstance(options, str) else options
    return Sources(paths, tuple(words), tuple(macros), tuple(str(Path(folder).resolve()) for folder in folders_))


class Built:
    """A program that is compiled.

    Attributes:
        library: the file of its host code, with its kernels for this CPU in it.
        sources: what it was made of.
    """

    def __init__(self, given: Sources):
        self.sources = given
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.library, status = running.made(given.command)
        if status != 0:
            raise clang.refused(given.title, said.getvalue().strip(), ())

    def taped(self) -> tuple[Path, list[str]]:
        """The library whose host code notes where its numbers come from, and the lines of its complaints."""
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                return tape.taped(self.sources.command, self.library)
        except compiling.CompilationFailed:
            raise clang.refused(self.sources.title, said.getvalue().strip(), ()) from None
        except ValueError as error:
            raise NotDifferentiable(f"{self.sources.title} cannot be differentiated: {error}.",
                                    hint="Compile that file apart, without it, and name both files.") from None

    # ---- host functions ----

    @cached_property
    def functions(self) -> dict[str, list[CFunction]]:
        """Name in the source -> the host's functions of that name (overloads) that other files could call."""
        kept = self.library.with_suffix(".functions")
        with contextlib.suppress(OSError, pickle.UnpicklingError, AttributeError, ImportError, EOFError):
            if kept.stat().st_mtime_ns >= self.library.stat().st_mtime_ns:
                return dict(pickle.loads(kept.read_bytes()))
        found: dict[str, list[CFunction]] = {}
        for file in self.sources.files:
            for function in _host_functions(self.sources, file):
                found.setdefault(function.name, []).append(function)
        with contextlib.suppress(OSError):
            folders.put(kept, pickle.dumps(found))
        return found

    # ---- kernels ----

    @cached_property
    def modules(self) -> list[tuple[Path, ModuleSource | str]]:
        """Each file's kernels as the repository raises them, or why there are none."""
        return [(file, _module(self.sources, file)) for file in self.sources.files if file.suffix == ".cu"]

    def kernel(self, symbol: str) -> SourceKernel | str:
        """A kernel by its mangled name, or why it cannot be raised."""
        if symbol not in self._kernels:
            self._kernels[symbol] = self._found(symbol)
        return self._kernels[symbol]

    def name_of(self, symbol: str) -> str:
        """A kernel as its author called it, as far as that is known."""
        kernel = self._kernels.get(symbol)
        if isinstance(kernel, SourceKernel):
            return kernel.name
        plain = re.match(r"_Z(\d+)(\w+)", symbol)
        return plain[2][:int(plain[1])] if plain else symbol

    @cached_property
    def _kernels(self) -> dict[str, SourceKernel | str]:
        return {}

    def _found(self, symbol: str) -> SourceKernel | str:
        reasons = []
        for file, module in self.modules:
            if isinstance(module, str):
                reasons.append(f"{file.name} does not load as kernels: {module}")
            elif symbol in module.functions and symbol in module.bodies:
                try:
                    return SourceKernel(module, module.functions[symbol], "cuda")
                except ReactantError as error:
                    reasons.append(in_one_line(error))
        return "; ".join(reasons) or "its code was not found in the program's files"

    # ---- lines ----

    def line_of(self, address: int, library: Path | None = None) -> str:
        """The source line of an instruction of the host (of another library than the plain one), "" where that is not
        known."""
        key = library or self.library, address
        if key not in self._lines:
            self._lines[key] = _line_of(*key)
        return self._lines[key]

    @cached_property
    def _lines(self) -> dict[tuple[Path, int], str]:
        return {}


def _line_of(library: Path, address: int) -> str:
    tool = shutil.which("addr2line")
    if tool is None:
        return ""
    done = subprocess.run([tool, "-e", str(library), hex(address - 1)], capture_output=True, text=True, check=False)
    place = done.stdout.strip().partition(" ")[0]
    file, _, line = place.rpartition(":")
    return f"{Path(file).name}:{line}" if line.isdigit() and line != "0" else ""


def _host_functions(given: Sources, file: Path) -> list[CFunction]:
    """From the debug information of the host's side."""
    command = parse([*given.words, "-g"])
    tools = toolchain(command.host_compiler)
    each = next(i for i in command.inputs if i.text == str(file))
    unit = compiling.unit_of(each, replace(command, optimisation="-O0"), tools)
    words = compiling.host_command(unit)
    ready = precompiled.flags_for(words) if unit.kind == "cuda" else []
    rest = ["-Wno-everything", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm", str(file), "-o", "-"]
    done = subprocess.run([*words[:2], *ready, *words[2:], *rest], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise clang.refused(file.name, done.stderr.strip(), ())
    module = ModuleSource(done.stdout, file.name, host=True)
    return [function for symbol, function in DebugTypes(done.stdout).functions().items()
            if symbol in module.bodies and module.is_public(symbol) and not SYSTEM.search(_absolute(function, file))
            and "__device_stub__" not in symbol and not symbol.startswith("__cuda")]


def _absolute(function: CFunction, file: Path) -> str:
    return str(Path(file.parent, function.file))


def _module(given: Sources, file: Path) -> ModuleSource | str:
    """A file's device code; contraction and fast functions are as the driver's are asked for."""
    flags = [o for o in given.options if re.match(r"-std=|-D|-U", o)]
    macros = [d[2:] for d in given.defines]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return cuda.load(file, defines=macros, include=list(given.include), options=flags).source
    except (ReactantError, OSError) as error:
        return in_one_line(error)
