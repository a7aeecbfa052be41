"""CUDA C++ to LLVM IR with clang: the flags, and the dialects of C++ that are tried."""
from __future__ import annotations

import os
from collections.abc import Sequence

from reactant.kernels.ways_in import clang
from reactant.kernels.ways_in.module_source import ModuleSource

ARCHITECTURE = "sm_80"


def language(compiler: str | os.PathLike | None, toolkit: str | os.PathLike | None) -> list[str]:
    """The flags that make clang read CUDA C++, with the headers of a toolkit or ours."""
    common = ["-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch={ARCHITECTURE}", "-nocudalib"]
    if toolkit is not None:
        return [*common, f"--cuda-path={os.fspath(toolkit)}", "-Wno-unknown-cuda-version"]
    return [*common, "-nocudainc", *clang.system_headers(compiler, True), f"-I{clang.HEADERS}", "-include",
            "reactant_cuda.h"]


def compiled(flags: list[str], text: str, title: str, compiler: str | os.PathLike | None) -> ModuleSource:
    """The first of a few dialects that the compiler accepts; the errors of the first where none is."""
    standard = [] if any(f.startswith("-std=") for f in flags) else ["-std=gnu++17"]
    try:
        templates = [*flags, *standard, "-foffload-implicit-host-device-templates"]
        llvm = clang.compile_to_llvm(templates, text, title, ".cu", compiler)
    except clang.CompilationError as first:
        for dialect in (standard, ["-std=gnu++14"]):
            try:
                llvm = clang.compile_to_llvm([*flags, *dialect], text, title, ".cu", compiler)
                break
            except clang.CompilationError:
                continue
        else:
            raise first from None
    return ModuleSource(llvm, title)


def linked(text: str, title: str, include: Sequence[str | os.PathLike] = ()) -> str:
    """LLVM IR of CUDA C++ that other kernels are linked with."""
    return compiled([*language(None, None), *clang.definitions((), include)], text, title, None).text
