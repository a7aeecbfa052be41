"""The runtime library, and the folder that looks like a CUDA toolkit: made once for a version and toolchain.

    bin/nvcc  include/  lib64/libcudart_static.a, libcudart.a, libcudadevrt.a  nvvm/libdevice/

Makefiles and CMake find what they look for in it. It is made under another name and renamed, by one process at a time.
"""
from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reactant.cuda_programs.driver.toolchain import INCLUDE, RUNTIME, Toolchain
from reactant.errors import ReactantError
from reactant.support.folders import home as user_folder

FLAGS = ("-std=c++17", "-O2", "-g1", "-fPIC", "-fno-exceptions", "-Wall", "-Wextra", "-Werror",
         "-ffunction-sections", f"-I{RUNTIME}", f"-I{INCLUDE}")
ARCHIVES = ("libcudart_static.a", "libcudart.a")
EXPORTS = "reactant.exports"
"""Which of a program's functions modules see that it loads (a list for the linker)."""
EMPTY = ("libcudadevrt.a", "libcuda.a", "libnvrtc.a")


class RuntimeLibraryError(ReactantError):
    """The runtime library could not be compiled: the toolchain is not whole, or the folder of caches not writable.

    Example:
        >>> from reactant.cuda_programs.driver.library import RuntimeLibraryError
        >>> RuntimeLibraryError("The runtime library does not compile: ...").code
        'cuda-runtime-library'
    """

    code = "cuda-runtime-library"
    hint = "The message is the compiler's own; REACTANT_CUDA_HOST=packaged uses the ziglang package alone."


def cache_folder() -> Path:
    """Where the libraries and the programs of `reactant run` are kept: beside the compile cache."""
    said = os.environ.get("REACTANT_CUDA_CACHE", "")
    return Path(os.path.expanduser(said)) if said else Path(user_folder()) / "cuda"


@functools.cache
def digest() -> str:
    """What the library is made of: the content of its source and of the headers that it includes."""
    made = hashlib.sha256(repr(FLAGS).encode())
    for folder in (RUNTIME, INCLUDE / "reactant_program"):
        for file in sorted(folder.iterdir()):
            if file.suffix in (".h", ".cpp", ".inc"):
                made.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return made.hexdigest()[:16]


def home(tools: Toolchain) -> Path:
    """The folder with the runtime library for a toolchain, which is made where it is not there.

    Raises:
        RuntimeLibraryError: with the compiler's words.
    """
    compiler = hashlib.sha256(" ".join([*tools.linker, *tools.system()]).encode()).hexdigest()[:8]
    folder = cache_folder() / f"{digest()}-{tools.name}-{compiler}"
    if (folder / "lib64" / ARCHIVES[0]).exists():
        return folder
    with kept(folder.with_suffix(".lock")):
        if not (folder / "lib64" / ARCHIVES[0]).exists():
            _make(tools, folder)
    return folder


@contextlib.contextmanager
def kept(lock: Path) -> Iterator[None]:
    """What is done within is done by one process at a time, and writes beside the lock. Raises `RuntimeLibraryError`."""
    try:
        lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(lock, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise RuntimeLibraryError(f"The runtime library cannot be kept in {lock.parent}: {error.strerror}.",
                                  hint="Name another folder with REACTANT_CUDA_CACHE.") from None


def _make(tools: Toolchain, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as made:
        whole = Path(made) / "toolkit"
        for name in ("bin", "lib64", "objects", "nvvm/libdevice"):      # the last one is how CMake knows a toolkit
            (whole / name).mkdir(parents=True)
        sources = sorted(RUNTIME.glob("*.cpp"), key=lambda file: -file.stat().st_size)
        with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
            nvcc = str(folder / "bin" / "nvcc").replace("\\", "\\\\").replace('"', '\\"')
            flags = (*FLAGS, f'-DREACTANT_NVCC="{nvcc}"')           # what nvrtc calls
            objects = list(threads.map(lambda source: compiled(tools, source, whole / "objects", flags), sources))
        call([*tools.archiver, "rcs", str(whole / "lib64" / ARCHIVES[0]), *map(str, objects)])
        for name in ARCHIVES[1:]:
            (whole / "lib64" / name).symlink_to(ARCHIVES[0])
        (whole / "lib64" / EXPORTS).write_text("{ reactant_*; };\n")
        for name in EMPTY:
            (whole / "lib64" / name).write_bytes(b"!<arch>\n")
        shutil.rmtree(whole / "objects")
        (whole / "include").symlink_to(INCLUDE)
        script = whole / "bin" / "nvcc"
        package = Path(__file__).parents[3]
        script.write_text(f'#!/bin/sh\nPYTHONPATH="{package}${{PYTHONPATH:+:$PYTHONPATH}}" '
                          f'exec "{sys.executable}" -m reactant nvcc "$@"\n')
        script.chmod(0o755)
        os.rename(whole, folder)


def compiled(tools: Toolchain, source: Path, folder: Path, flags: Sequence[str]) -> Path:
    """The object of a source of the runtime. Raises `RuntimeLibraryError` with the compiler's words."""
    target = folder / f"{source.stem}.o"
    call([*tools.compiler(), *flags, "-c", str(source), "-o", str(target)])
    return target


def call(command: list[str]) -> None:
    """Run a compiler or archiver. Raises `RuntimeLibraryError` with its words."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeLibraryError(f"The runtime library does not compile:\n{done.stderr.strip()}")
