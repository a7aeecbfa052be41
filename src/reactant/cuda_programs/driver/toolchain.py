"""Which compiler and which linker: clang of the `ziglang` package with the machine's C++ library, or with its own."""
from __future__ import annotations

import functools
import importlib.metadata
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from reactant.cuda_programs.driver.options import CommandLineError
from reactant.errors import UnsupportedError
from reactant.kernels.ways_in import clang

CHOICE = "REACTANT_CUDA_HOST"
"""In the environment: `machine` or `packaged`; without, the machine's where it has a C++ compiler."""
INCLUDE = Path(__file__).parents[1] / "host" / "include"
"""Headers of CUDA programs."""
RUNTIME = Path(__file__).parents[1] / "runtime"
"""The runtime library's source."""
LIBRARIES = Path(__file__).parents[1] / "host" / "cccl"
"""What takes the place of files of CCCL (Thrust, CUB, libcu++): how work is divided on this device."""
CCCL = "nvidia-cuda-cccl-cu12", "12.9."
"""The package with CCCL's headers, and the release that `LIBRARIES` fits."""

SETTINGS = "-DCUB_DISABLE_CDP", "-DCCCL_DISABLE_NVTX", "-D_LIBCUDACXX_ATOMIC_UNSAFE_AUTOMATIC_STORAGE"
"""Algorithms that device code calls run within its thread; nobody records ranges; all memory is of one kind."""


@dataclass(frozen=True)
class Toolchain:
    """How programs are compiled and linked.

    Attributes:
        name: `machine` or `packaged`, part of the names of what is cached.
        zig: the `zig` of the package, whose `clang` compiles everything.
        linker: the command that links C++ programs.
        relinker: the command that makes one object of several, `-r -o` and the objects follow.
    """

    name: str
    zig: Path
    linker: tuple[str, ...]
    relinker: tuple[str, ...]
    archiver: tuple[str, ...]
    gcc: str = ""

    def system(self, cplusplus: bool = True) -> list[str]:
        """clang's flags for the headers of the C and C++ libraries."""
        if self.name == "packaged":
            return clang.system_headers(None, cplusplus)
        chosen = [f"--gcc-install-dir={_gcc_folder(self.gcc)}"] if self.gcc else []
        return ["-resource-dir", str(self.zig.parent / "lib"), *chosen]

    def compiler(self, cplusplus: bool = True) -> list[str]:
        """The command that compiles C or C++, with the headers of the libraries."""
        return [str(self.zig), "clang", *(["--driver-mode=g++"] if cplusplus else []), *self.system(cplusplus)]


@functools.cache
def device_libraries() -> tuple[str, ...]:
    """clang's flags for Thrust, CUB and libcu++; none where NVIDIA's package with their headers is not installed."""
    try:
        distribution = importlib.metadata.distribution(CCCL[0])
    except importlib.metadata.PackageNotFoundError:
        return ()
    folder = Path(str(distribution.locate_file("nvidia/cuda_cccl/include")))
    if not distribution.version.startswith(CCCL[1]) or not (folder / "thrust").is_dir():
        return ()
    return f"-I{LIBRARIES}", "-isystem", str(folder), *SETTINGS


def toolchain(host_compiler: str = "") -> Toolchain:
    """What this machine, the environment and `-ccbin` say.

    Args:
        host_compiler: the argument of `-ccbin`: a C++ compiler or the folder that it is in; "" for the machine's own.

    Returns:
        The toolchain.

    Raises:
        UnsupportedError: where the `ziglang` package is not installed.
        CommandLineError: where the compiler that is named is not there.
    """
    zig = clang.packaged() / "zig"
    choice = os.environ.get(CHOICE, "")
    if choice not in ("", "machine", "packaged"):
        raise CommandLineError(f"{CHOICE}={choice} names no toolchain", hint="Say machine or packaged.")
    found = _named(host_compiler) if host_compiler else shutil.which("g++") or shutil.which("c++")
    if choice == "packaged" or (found is None and choice == ""):
        tool = str(zig)
        return Toolchain("packaged", zig, (tool, "c++"), (tool, "ld.lld", "-r"), (tool, "ar"))
    if found is None:
        raise UnsupportedError(f"{CHOICE}=machine, and there is no C++ compiler.",
                               hint="Install g++, or leave the variable out to use the package's own library.",
                               code="kernel-toolchain")
    relinker = (shutil.which("ld") or found, "-r") if shutil.which("ld") else (str(zig), "ld.lld", "-r")
    archiver = (shutil.which("ar"),) if shutil.which("ar") else (str(zig), "ar")
    named = found if host_compiler and "clang" not in Path(found).name else ""
    return Toolchain("machine", zig, (found,), relinker, archiver, named)       # type: ignore[arg-type]


def _named(host_compiler: str) -> str:
    path = Path(host_compiler)
    found = shutil.which("g++", path=str(path)) if path.is_dir() else shutil.which(host_compiler)
    if found is None:
        raise CommandLineError(f"-ccbin: there is no C++ compiler '{host_compiler}'",
                               hint="Name one, or the folder that it is in, or leave -ccbin out.")
    name = Path(found).name
    if name in ("gcc", "cc") or name.startswith("gcc-"):       # nvcc, too, links with the C++ compiler beside it
        beside = Path(found).with_name({"cc": "c++"}.get(name, name.replace("gcc", "g++")))
        found = str(beside) if beside.exists() else found
    return found


@functools.cache
def _gcc_folder(compiler: str) -> str:
    """The folder of gcc's own library, from which clang finds its headers."""
    done = subprocess.run([compiler, "-print-libgcc-file-name"], capture_output=True, text=True, check=False)
    return str(Path(done.stdout.strip()).parent)
