"""Device code of .cu files as an object file for this processor."""
from __future__ import annotations

import os
from collections.abc import Sequence

from reactant.cuda_programs.device import arrange, checks, front, merging, prepared, retarget, tables, versions
from reactant.cuda_programs.device.shapes import Shapes
from reactant.native import engine

CHECKS = {"": 0, "memory": tables.CHECKED, "race": tables.CHECKED | tables.RACES}
"""What is checked while kernels run, as flags of theirs."""
LINKED, LINKED_SECTION = "reactant_device_code_is_not_linked", ".reactant_linked"
"""What objects whose device code has to be linked ask for, and the linked code has: the linker's error names it."""


def device_code(source: str | os.PathLike, options: Sequence[str] = (), *, contract: bool = True,
                relocatable: bool = False, compiler: str | os.PathLike | None = None,
                system: Sequence[str] | None = None, check: str = "") -> str:
    """A CUDA source's device code as clang's LLVM IR for GPUs.

    Args:
        source: the path of the file.
        options: the program's options for clang: -I, -D, -std=...
        contract: whether a * b + c is rounded once (nvcc's -fmad, which is on by default).
        relocatable: whether it is a part of the device code of a program (nvcc's -rdc=true).
        compiler: another clang than that of the `ziglang` package.
        system: clang's flags for the headers of the C and C++ libraries; those of the package by default.
        check: what is checked while kernels run (a key of `CHECKS`).

    Raises:
        CompilationError: with the compiler's words.
    """
    return front.compiled(source, [*options, *(checks.CLANG if check else ())], contract=contract,
                          relocatable=relocatable, compiler=compiler, system=system)[0]


def object_ir(code: str, identity: str, check: str = "", tune: Sequence[str] = (), shapes: Shapes | None = None) -> str:
    """LLVM IR of the object for a module of `device_code`, before LLVM optimises it; `tune`: versions that kernels
    have, too. `shapes`: of the blocks that kernels are launched with, as far as that is known."""
    module = retarget.retargeted(code)
    made = prepared.prepared(module, {} if check else shapes)
    merging.require_definitions(made)
    made = checks.checked(made, module) if check else checks.without_places(made)
    return arrange.arranged(made, module, identity, CHECKS[check], [versions.OTHERS[label] for label in tune])


def device_object(code: str, identity: str, check: str = "", tune: Sequence[str] = (),
                  shapes: Shapes | None = None) -> bytes:
    """An ELF object file with the kernels of a module of `device_code`, in the form of `runtime/reactant_launch.h`.

    Args:
        code: the module.
        identity: what the object and the host's object of the same source call themselves.
        check: what is checked while kernels run: "memory", or "race" for races, too (a key of `CHECKS`).
        tune: versions that kernels have, too, of which the program finds out the fastest (keys of `versions.OTHERS`).
        shapes: extents of blocks in threads, by the mangled names of the kernels that are launched with them: there is
            code in which they are constants. Launches of other shapes run code in which they are not.

    Raises:
        DeviceLinkError: where it calls what it does not define.
    """
    return engine.object_file(object_ir(code, identity, check, tune, shapes))


def linked_object(codes: Sequence[str], identity: str, check: str = "", tune: Sequence[str] = (),
                  shapes: Shapes | None = None) -> bytes:
    """The object file for the device code of a program, a module for each of its files; as `device_object`.

    Raises:
        DeviceLinkError: where the modules do not fit together.
    """
    text = object_ir(merging.merged(codes), identity, check, tune, shapes)
    return engine.object_file(f'{text}\n@{LINKED} = weak_odr constant i8 0, section "{LINKED_SECTION}"\n')
