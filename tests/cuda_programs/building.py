"""The whole CUDA programs of this folder: how both versions are built and run, what they have to agree in.

    python tests/cuda_programs/building.py --record [NAME ...]    builds OpenMP versions, writes down their results

OpenMP versions are compiled by the clang of the `ziglang` package; the wheel has no OpenMP library, so `libomp` comes
from the `cmeel-libomp` wheel (or a folder named by OPENMP_PREFIX); without one, `g++ -fopenmp` compiles them.
"""
from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "expected.json"
CLANG = (sys.executable, "-m", "ziglang", "c++")
FLAGS = ("-O3", "-march=native", "-std=c++17")
"""Of both versions."""
OMP_FLAGS = ("-fno-math-errno",)
"""Without it no loop with a square root is vectorised: whoever writes OpenMP for speed gives it."""


@dataclass(frozen=True)
class Program:
    """One row of `programs.toml`."""
    name: str
    test: Sequence[int]
    benchmark: Sequence[int]
    tolerance: float
    shows: str
    files: Sequence[str] = ()
    omp_files: Sequence[str] = ()
    options: Sequence[str] = ()
    libraries: Sequence[str] = ()

    @property
    def folder(self) -> Path:
        return HERE / "programs" / self.name

    def sources(self, omp: bool) -> list[Path]:
        given = self.omp_files if omp else self.files
        return [self.folder / f for f in given or (f"{self.name}_omp.cpp" if omp else f"{self.name}.cu",)]


PROGRAMS = {name: Program(name, **row) for name, row in tomllib.loads((HERE / "programs.toml").read_text()).items()}


@dataclass
class Outcome:
    """What a program printed."""
    results: dict[str, float] = field(default_factory=dict)
    kernel_ms: float = 0
    total_ms: float = 0
    wall_ms: float = 0
    text: str = ""


class ProgramError(AssertionError):
    """A program that does not compile, ends with an error, or says what it should not."""


def checked(command: Sequence[str | os.PathLike], **options: object) -> str:
    """The output of a command; its words where it fails."""
    made = subprocess.run([os.fspath(c) for c in command], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          **options)  # type: ignore[call-overload]
    if made.returncode:
        raise ProgramError(f"{' '.join(map(str, command))}\nends with {made.returncode}:\n{made.stdout[-2000:]}"
                           f"{made.stderr[-6000:]}")
    return made.stdout


# ---- building ----
def build_cuda(program: Program, target: Path, more: Sequence[str] = ()) -> float:
    """Builds by `reactant nvcc`; the seconds that took."""
    begun = time.perf_counter()
    checked([sys.executable, "-m", "reactant", "nvcc", *FLAGS[:1], *FLAGS[2:], *program.options, *more,
             *program.sources(False), *program.libraries, "-o", target])
    return time.perf_counter() - begun


def openmp_prefix() -> Path | None:
    """The folder with include/omp.h and lib/libomp.so, if there is one."""
    candidates = [Path(p) for p in [os.environ.get("OPENMP_PREFIX", "")] if p]
    if found := importlib.util.find_spec("cmeel"):
        candidates += [Path(p).parent / "cmeel.prefix" for p in found.submodule_search_locations or ()]
    candidates += [Path(p) / "cmeel.prefix" for p in sys.path if p]
    return next((c for c in candidates if (c / "lib" / "libomp.so").exists()), None)


def has_openmp() -> bool:
    """Whether OpenMP versions can be built here."""
    return openmp_prefix() is not None or shutil.which("g++") is not None


def build_omp(program: Program, target: Path, more: Sequence[str] = ()) -> float:
    """Builds the OpenMP version by the same clang (or g++); the seconds that took."""
    prefix = openmp_prefix()
    begun = time.perf_counter()
    if prefix is None:
        checked(["g++", *FLAGS, *OMP_FLAGS, *more, "-fopenmp", *program.sources(True), "-o", target])
    else:
        checked([*CLANG, *FLAGS, *OMP_FLAGS, *more, "-fopenmp", f"-I{prefix / 'include'}", *program.sources(True),
                 prefix / "lib" / "libomp.so", f"-Wl,-rpath,{prefix / 'lib'}", "-o", target])
    return time.perf_counter() - begun


# ---- running ----
def run(executable: Path, arguments: Sequence[object], threads: int | None = None, timeout: float = 300,
        clock: str = "wall") -> Outcome:
    """Runs a version, on a number of CPU threads; its times are of the wall, or CPU time of all its threads ("cpu")."""
    environment = dict(os.environ, PROGRAMS_CLOCK=clock)
    if threads:
        environment |= {"OMP_NUM_THREADS": str(threads), "REACTANT_CUDA_THREADS": str(threads)}
    begun = time.perf_counter()
    outcome = Outcome(text=checked([executable, *map(str, arguments)], env=environment, timeout=timeout))
    outcome.wall_ms = 1e3 * (time.perf_counter() - begun)
    for line in outcome.text.splitlines():
        words = line.split()
        if words[:1] == ["result"]:
            outcome.results[words[1]] = float(words[2])
        elif words[:1] == ["kernel_ms"]:
            outcome.kernel_ms = float(words[1])
        elif words[:1] == ["total_ms"]:
            outcome.total_ms = float(words[1])
    if not outcome.results:
        raise ProgramError(f"{executable} printed no result:\n{outcome.text}")
    return outcome


def difference(one: dict[str, float], other: dict[str, float]) -> float:
    """The largest relative difference of two sets of results; infinite where names differ, or a NaN is there."""
    if one.keys() != other.keys():
        return float("inf")
    worst = 0.0
    for name, a in one.items():
        b = other[name]
        if a == b:
            continue
        relative = abs(a - b) / max(abs(a), abs(b))
        worst = max(worst, relative if relative == relative else float("inf"))
    return worst


def expected() -> dict[str, dict[str, float]]:
    """The results of OpenMP versions at test size, as recorded."""
    return json.loads(EXPECTED.read_text())


def record(names: Sequence[str]) -> None:
    """Builds and runs OpenMP versions at test size, with their own checks, and writes down what they say."""
    import tempfile

    known = expected() if EXPECTED.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            program, target = PROGRAMS[name], Path(folder) / name
            build_omp(program, target)
            known[name] = run(target, [*program.test, "--check"]).results
            print(name, known[name])
    EXPECTED.write_text(json.dumps({name: known[name] for name in PROGRAMS if name in known}, indent=1) + "\n")


if __name__ == "__main__":
    record([a for a in sys.argv[1:] if not a.startswith("-")] or list(PROGRAMS))
