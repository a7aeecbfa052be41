"""cuBLAS and its like: archives that are compiled when a program is first linked with them.

BLAS and LAPACK are OpenBLAS's, which SciPy's wheel brings: programs load it when they make a handle, from the place where
it was when the archive was compiled, or where REACTANT_OPENBLAS says.
"""
from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from reactant.cuda_programs.driver import library
from reactant.cuda_programs.driver.toolchain import INCLUDE, RUNTIME, Toolchain

SOURCES = RUNTIME / "libraries"
"""A folder a library, and `common`, which is part of each."""
FLAGS = (*(flag for flag in library.FLAGS if flag != "-g1"), "-march=native", "-fno-math-errno", f"-I{SOURCES}")
NAMES = {"cublas": "cuBLAS", "cufft": "cuFFT", "curand": "cuRAND", "cusparse": "cuSPARSE", "cusolver": "cuSOLVER",
         "nccl": "NCCL"}
"""What -l says -> what the library is called."""
ALSO = {**{f"{name}_static": name for name in NAMES}, "cufft_static_nocallback": "cufft"}
"""Other names that -l may say."""
NOTHING = {"cublasLt", "cublasLt_static", "culibos", "nvJitLink", "nvJitLink_static", "cusolver_lapack_static",
           "cusolver_metis_static", "metis_static", "nvToolsExt", "cudadevrt"}
"""Names that users of those libraries give as well, of which nothing is needed."""
OPEN = re.compile(r"undefined (?:reference to|symbol:) [`']?(cublas|cufft|curand|cusparse|cusolver|nccl)(\w*)")


def wanted(options: Iterable[str]) -> list[str]:
    """The libraries that `-l` options name, each once, in order.

    Example:
        >>> from reactant.cuda_programs.driver.libraries import wanted
        >>> wanted(["-lm", "-lcublas_static", "-lculibos", "-lcublas"])
        ['cublas']
    """
    named = (option[2:] for option in options if option.startswith("-l"))
    return list(dict.fromkeys(name for each in named if (name := ALSO.get(each, each)) in NAMES))


def is_one(option: str) -> bool:
    """Whether an option of the linker names one of these libraries, or one that nothing is needed of."""
    return option.startswith("-l") and (option[2:] in NOTHING or bool(wanted([option])))


def missing(said: str) -> list[str]:
    """What to add to the command line for names that a linker's words call undefined, a line each."""
    found: dict[str, str] = {}
    for prefix, rest in OPEN.findall(said):
        found.setdefault(prefix, prefix + rest)
    return [f"reactant: {name} is a function of {NAMES[prefix]}: add -l{prefix} to the command line"
            for prefix, name in found.items()]


def archive(tools: Toolchain, name: str) -> Path:
    """The static library, which is made where it is not there.

    Args:
        tools: the toolchain.
        name: one of `NAMES`.

    Returns:
        Its path.

    Raises:
        RuntimeLibraryError: with the compiler's words.
    """
    told = " ".join([_digest(), *tools.linker, *tools.system(), str(openblas()), _processor()])
    folder = library.cache_folder() / f"libraries-{hashlib.sha256(told.encode()).hexdigest()[:16]}-{tools.name}"
    target = folder / f"lib{name}.a"
    if target.exists():
        return target
    with library.kept(folder / "lock"):
        if not target.exists():
            _make(tools, name, target)
    return target


def all_in(tools: Toolchain, folder: Path) -> None:
    """Show every library in a folder: build systems look for files there, and may link without us."""
    for name in NAMES:
        made, link = archive(tools, name), folder / f"lib{name}.a"
        if not (link.is_symlink() and link.readlink() == made):
            link.unlink(missing_ok=True)
            link.symlink_to(made)


def openblas() -> Path | None:
    """The OpenBLAS of SciPy's wheel, or of the wheel that has nothing else; None where neither is installed."""
    for package, place in (("scipy", "../scipy.libs"), ("scipy_openblas32", "lib")):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin:
            found = sorted((Path(spec.origin).parent / place).glob("libscipy_openblas*.so"))
            if found:
                return found[0].resolve()
    return None


def directions(dimensions: int = 20_000) -> bytes | None:
    """Sobol's direction numbers: 32 of 32 bits for each dimension, of Joe and Kuo's polynomials, which SciPy brings.

    Source: S. Joe, F. Y. Kuo: "Constructing Sobol sequences with better two-dimensional projections", SIAM J. Sci.
    Comput. 30 (2008), equation 2. None where SciPy is not installed.
    """
    spec = importlib.util.find_spec("scipy")
    file = Path(spec.origin).parent / "stats" / "_sobol_direction_numbers.npz" if spec and spec.origin else None
    if file is None or not file.exists():
        return None
    with np.load(file) as tables:
        polynomials, first = tables["poly"][:dimensions], tables["vinit"][:dimensions]
    degree = np.array([int(p).bit_length() - 1 for p in polynomials])
    numbers = np.zeros((len(polynomials), 32), np.uint32)
    rows = np.arange(len(polynomials))
    numbers[0] = [1 << (31 - bit) for bit in range(32)]
    for bit in range(32):
        given = (rows > 0) & (bit < degree)
        numbers[given, bit] = first[given, min(bit, first.shape[1] - 1)] << (31 - bit)
        made = rows[(rows > 0) & (bit >= degree)]
        back = degree[made]
        last = numbers[made, bit - back]
        sums = last ^ (last >> back.astype(np.uint32))
        for k in range(1, int(degree.max())):
            use = (k < back) & (polynomials[made] >> np.maximum(back - k, 0) & 1 == 1)
            sums[use] ^= numbers[made[use], bit - k]
        numbers[made, bit] = sums
    return numbers.tobytes()


def _digest() -> str:
    made = hashlib.sha256(repr(FLAGS).encode())
    for folder in (SOURCES, RUNTIME, INCLUDE):
        for file in sorted(folder.rglob("*") if folder != RUNTIME else folder.glob("*.h")):
            if file.suffix in (".h", ".cpp", ".hpp", ".inc"):
                made.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes() + b"\0")
    return made.hexdigest()


def _processor() -> str:
    """What tells processors with other instruction sets from this one."""
    try:
        with open("/proc/cpuinfo") as file:
            return next((line for line in file if line.startswith(("flags", "Features"))), "")
    except OSError:
        return ""


def _make(tools: Toolchain, name: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".making-") as made:
        flags = [*FLAGS, f'-DREACTANT_OPENBLAS="{openblas() or ""}"']
        if name == "curand" and (table := directions()) is not None:
            (Path(made) / "directions").write_bytes(table)
            flags.append(f'-DREACTANT_DIRECTIONS="{made}/directions"')
        common = target.parent / "common"
        sources = [*(SOURCES / name).glob("*.cpp"), *([] if common.exists() else (SOURCES / "common").glob("*.cpp"))]
        sources.sort(key=lambda file: -file.stat().st_size)
        with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
            objects = list(threads.map(lambda source: library.compiled(tools, source, Path(made), flags), sources))
        if not common.exists():
            (Path(made) / "common").mkdir()
            for source, compiled in zip(sources, objects, strict=True):
                if source.parent.name == "common":
                    shutil.copy(compiled, Path(made) / "common")
            os.rename(Path(made) / "common", common)
        own = [compiled for source, compiled in zip(sources, objects, strict=True) if source.parent.name == name]
        whole = Path(made) / "whole.a"
        library.call([*tools.archiver, "rcs", str(whole), *map(str, [*own, *sorted(common.glob("*.o"))])])
        os.rename(whole, target)
