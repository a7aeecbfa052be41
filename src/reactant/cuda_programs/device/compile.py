"""A .cu file's device code as an object file for this processor."""
from __future__ import annotations

import os
from collections.abc import Sequence

from reactant.cuda_programs.device import arrange, checks, front, prepared, retarget, tables
from reactant.native import engine

CHECKS = {"": 0, "memory": tables.CHECKED, "race": tables.CHECKED | tables.RACES}
"""What is checked while kernels run, as flags of theirs."""


def device_ir(source: str | os.PathLike, options: Sequence[str] = (), *, identity: str | None = None,
              contract: bool = True, relocatable: bool = False, compiler: str | os.PathLike | None = None,
              system: Sequence[str] | None = None, check: str = "") -> str:
    """LLVM IR of the object, before LLVM optimises it."""
    options = [*options, *(checks.CLANG if check else ())]
    text, _ = front.compiled(source, options, contract=contract, relocatable=relocatable, compiler=compiler,
                             system=system)
    return _arranged(text, identity or os.fspath(source), relocatable, check)


def _arranged(text: str, identity: str, relocatable: bool, check: str = "") -> str:
    module = retarget.retargeted(text, relocatable)
    made = prepared.prepared(module)
    made = checks.checked(made, module) if check else made
    return arrange.arranged(made, module, identity, CHECKS[check])


def object_of(text: str, identity: str, relocatable: bool = False) -> bytes:
    """The object file of device code that clang has made LLVM IR of (`front.compiled`)."""
    return engine.object_file(_arranged(text, identity, relocatable))


def device_object(source: str | os.PathLike, options: Sequence[str] = (), *, identity: str | None = None,
                  contract: bool = True, relocatable: bool = False,
                  compiler: str | os.PathLike | None = None,
                  system: Sequence[str] | None = None, check: str = "") -> bytes:
    """An ELF object file with the kernels of a CUDA source, in the form of `runtime/reactant_launch.h`.

    Args:
        source: the path of the file.
        options: the program's options for clang: -I, -D, -std=...
        identity: what the object and the host's object of the same source call themselves; the path by default.
        contract: whether a * b + c is rounded once (nvcc's -fmad, which is on by default).
        relocatable: whether other objects may name its device functions and variables (nvcc's -rdc=true).
        compiler: another clang than that of the `ziglang` package.
        system: clang's flags for the headers of the C and C++ libraries; those of the package by default.
        check: what is checked while kernels run: "memory", or "race" for races, too (a key of `CHECKS`).

    Returns:
        The object file's bytes.

    Raises:
        CompilationError: with the compiler's words.
    """
    text = device_ir(source, options, identity=identity, contract=contract, relocatable=relocatable,
                     compiler=compiler, system=system, check=check)
    return engine.object_file(text)
