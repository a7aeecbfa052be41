"""CUDA C++ to LLVM IR with clang: the flags, and the dialects of C++ that are tried."""
from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence

from reactant.kernels.ways_in import clang, host_code
from reactant.kernels.ways_in.cxx_tokens import with_launches_joined
from reactant.kernels.ways_in.module_source import ModuleSource

ARCHITECTURE = "sm_80"
TEMPLATES = "-foffload-implicit-host-device-templates"
HOST = ("-include", "reactant_host.h")
HOST_LIBRARIES = re.compile(
    r"(mpi|omp|cublas|cublasLt|cublas_v2|cublasXt|cusparse|cusolver\w*|cufft\w*|curand|nccl|nvml|cudnn\w*|cuda_?gl\w*"
    r"|cudaProfiler|cuda_profiler_api|nvToolsExt\w*|helper_\w+|exception|shrUtils|cutil\w*|hdf5|netcdf|papi|getopt"
    r"|opencv|png|jpeglib|zlib|tiffio|fftw3\w*|lapacke|cblas|mkl\w*|gtest|benchmark|boost|fmt|spdlog|json|nlohmann"
    r"|Eigen|nvtx3|GL|GLFW|torch|ATen|pybind11|tbb|numa|glog|gflags|CL|hip|unistd|windows)([./].*|\.h|\.hpp)?$")
"""Headers whose names device code does not use: they may be missing without a word."""


def language(compiler: str | os.PathLike | None, toolkit: str | os.PathLike | None) -> list[str]:
    """The flags that make clang read CUDA C++, with the headers of a toolkit or ours."""
    common = ["-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch={ARCHITECTURE}", "-nocudalib"]
    if toolkit is not None:
        return [*common, f"--cuda-path={os.fspath(toolkit)}", "-Wno-unknown-cuda-version"]
    return [*common, "-nocudainc", *clang.system_headers(compiler, True), f"-I{clang.HEADERS}", "-include",
            "reactant_cuda.h"]


def compiled(flags: list[str], text: str, title: str, compiler: str | os.PathLike | None) -> ModuleSource:
    """The first of a few dialects that the compiler accepts, if need be without the host code.

    Raises `CompilationError` with the errors of the dialect that has the fewest in device code."""
    source = _Source(flags, with_launches_joined(text), title, compiler)
    usual, host, *others = _dialects(flags)
    made = source.compiled(usual) or source.without_host_code(host)
    if not source.misses_headers:
        for dialect in others:
            made = made or source.compiled(dialect)
    for dialect in (usual, *others):
        if made is None and not source.fails_alike(dialect):
            made = source.without_host_code(dialect)
    if made is None:
        raise source.error()
    return made


def _dialects(flags: list[str]) -> list[tuple[str, ...]]:
    """C++17 with templates for host and device; then others, with what nvcc includes by itself."""
    host = _host(flags)
    if any(f.startswith("-std=") for f in flags):
        return [(TEMPLATES,), host, (TEMPLATES, *host)]
    return [("-std=gnu++17", TEMPLATES), ("-std=gnu++17", *host), ("-std=gnu++14", *host),
            ("-std=gnu++20", TEMPLATES, *host)]


def _host(flags: Sequence[str]) -> tuple[str, ...]:
    """What makes the compiler include what nvcc does; a toolkit's headers do so themselves."""
    return HOST if "-nocudainc" in flags else ()


class _Source:
    """A source, and what the compiler said of it in each dialect."""

    def __init__(self, flags: list[str], text: str, title: str, compiler: str | os.PathLike | None):
        self.flags, self.text, self.title, self.compiler = flags, text, title, compiler
        self.failed: dict[tuple[str, ...], clang.CompilationError] = {}
        self.device: list[tuple[list[host_code.DeviceError], tuple[str, ...], tuple[str, ...]]] = []
        """For each dialect without its host code: the errors in device code, the dialect, the missing headers."""

    @property
    def misses_headers(self) -> bool:
        return any("file not found" in str(error) for error in self.failed.values())

    def compiled(self, dialect: tuple[str, ...]) -> ModuleSource | None:
        """The source as it is, in one dialect."""
        try:
            return ModuleSource(clang.compile_to_llvm([*self.flags, *dialect], self.text, self.title, ".cu",
                                                      self.compiler), self.title)
        except clang.CompilationError as error:
            self.failed[dialect] = error
            return None

    def without_host_code(self, dialect: tuple[str, ...]) -> ModuleSource | None:
        """The source without the host code that does not compile."""
        given = [*self.flags, *dialect, *(f for f in _host(self.flags) if f not in dialect)]
        try:
            whole, missing = clang.preprocessed(given, self.text, self.title, ".cu", self.compiler)
        except clang.CompilationError as error:         # #error
            self.failed[dialect] = error
            return None
        kept, errors = host_code.without_host_errors(
            whole, str(clang.HEADERS), lambda t: clang.complaints(given, t, self.compiler))
        if errors:
            self.device.append((errors, dialect, missing))
            return None
        try:
            llvm = clang.compile_to_llvm(given, kept, self.title, ".cu", self.compiler, preprocessed=True)
        except clang.CompilationError as error:
            self.failed[dialect] = error
            return None
        _warn_of(missing, self.title)
        return ModuleSource(re.sub(rf"^@{host_code.KEPT}\d+ = .*\n", "", llvm, flags=re.MULTILINE), self.title)

    def fails_alike(self, dialect: tuple[str, ...]) -> bool:
        """Whether a dialect has all the errors in device code that one without host code has."""
        said = clang.errors_in(self.failed[dialect].said) if dialect in self.failed else {}
        return any(all((e.file, e.line, e.text) in said for e in errors) for errors, _, _ in self.device)

    def error(self) -> clang.CompilationError:
        """The errors in device code of the dialect that has the fewest, in the compiler's words where it shows them."""
        if not self.device:
            return list(self.failed.values())[-1]
        errors, dialect, missing = min(self.device, key=lambda d: len(d[0]))
        said = [clang.errors_in(e.said) for d, e in self.failed.items() if d == dialect]
        said += [clang.errors_in(e.said) for e in self.failed.values()]
        shown = (next((s[e.file, e.line, e.text] for s in said if (e.file, e.line, e.text) in s), str(e))
                 for e in errors)
        return clang.refused(self.title, "\n".join(dict.fromkeys(shown)), missing)


def _warn_of(missing: Sequence[str], title: str) -> None:
    """Say which headers were taken as empty, unless host libraries have them."""
    unknown = [name for name in missing if not HOST_LIBRARIES.match(name)]
    if unknown:
        warnings.warn(f"{title} includes {', '.join(unknown)}, not found and taken as empty: its kernels compile "
                      f"without what it would define. include=[folder] says where headers are.", stacklevel=5)


def linked(text: str, title: str, include: Sequence[str | os.PathLike] = ()) -> str:
    """LLVM IR of CUDA C++ that other kernels are linked with."""
    return compiled([*language(None, None), *clang.definitions((), include)], text, title, None).text
