"""What all programs of a process depend on: versions, the machine, settings. Part of every key of the cache."""
from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

import jax
import jaxlib
import numpy as np

from reactant.support.folders import home
from reactant.support.package import PACKAGE

LIBRARIES = {"scipy": "version.py", "llvmlite": "_version.py", "numba": "_version.py", "numba_cuda": "VERSION",
             "ml_dtypes": "__init__.py", "opt_einsum": "_version.py"}
"""Libraries that may not be loaded yet, and a file of each that another version writes anew."""
PREFIXES = ("REACTANT_", "XLA_", "JAX_", "TF_", "LLVM_", "OMP_", "OPENBLAS_", "MKL_", "GOTO_", "NPY_", "CUDA_",
            "NUMBA_")
NOT_MEANT = frozenset(("REACTANT_CACHE", "REACTANT_PROGRESS", "JAX_COMPILATION_CACHE_DIR", "REACTANT_POOL_BYTES",
                       "TF_CPP_MIN_LOG_LEVEL"))
NOT_ASKED = frozenset("""jax_compilation_cache_dir jax_enable_compilation_cache jax_logging_level jax_log_compiles
    jax_explain_cache_misses jax_persistent_cache_min_compile_time_secs jax_persistent_cache_min_entry_size_bytes
    jax_persistent_cache_enable_xla_caches jax_compilation_cache_max_size jax_raise_persistent_cache_errors""".split())
"""Settings of jax that change no program."""


def fingerprint() -> str:
    """A digest of the environment as it is now."""
    return hashlib.blake2b(repr(_told()).encode(), digest_size=20).hexdigest()


def _told() -> list[Any]:
    settings = [(name, value) for name, value in sorted(jax.config.values.items()) if name not in NOT_ASKED]
    device = jax.devices()[0] if jax.config.jax_default_device is None else jax.config.jax_default_device
    devices = jax.devices()
    return [versions(), _digest(machine(), package()), sorted(_variables()), repr(settings), repr(device),
            device_kind(device), len(devices), jax.process_count(), jax.process_index(), np.geterr(),
            repr(np.get_printoptions()), sys.flags.optimize, cores(), _calibrated()]


@lru_cache(maxsize=4)
def _digest(*told: tuple) -> str:
    """Of what hardly ever changes: written out, our own files are nine tenths of the environment."""
    return hashlib.blake2b(repr(told).encode(), digest_size=20).hexdigest()


def device_kind(device: Any) -> str:
    """Platform and kind of a device, or of what jax takes for one."""
    return f"{getattr(device, 'platform', device)} {getattr(device, 'device_kind', '')}"


def versions() -> tuple:
    """Of Python and of the libraries that programs are made with."""
    return (sys.version, np.__version__, jax.__version__, jaxlib.__version__, *_others())


@cache
def _others() -> tuple:
    found = []
    for name, file in LIBRARIES.items():
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            spec = None
        found.append((name, spec and spec.origin and _stat(os.path.join(os.path.dirname(spec.origin), file))))
    return tuple(found)


@cache
def machine() -> tuple:
    """The processor and the system."""
    lines: list[str] = []
    try:
        with open("/proc/cpuinfo") as file:
            lines = [line for line in file.read(8192).split("\n\n")[0].splitlines()
                     if line.startswith(("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU "))]
    except OSError:
        pass
    other = () if lines else (platform.processor(), platform.libc_ver())       # the first starts `uname`
    return platform.machine(), sys.platform, other, tuple(lines)


@cache
def package() -> tuple:
    """Our own files: names, sizes and times of change."""
    return tuple(sorted(_files(str(PACKAGE))))


def _files(directory: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    yield from _files(entry.path)
            elif entry.name.endswith(".py"):
                found = entry.stat()
                yield entry.path, found.st_size, found.st_mtime_ns


def _variables() -> Iterator[tuple[str, str]]:
    return ((name, value) for name, value in os.environ.items() if name.startswith(PREFIXES) and name not in NOT_MEANT)


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _calibrated() -> list[Any]:
    """The files of `reactant calibrate`."""
    try:
        return sorted(_stat(os.path.join(home(), name)) for name in os.listdir(home())
                      if name.startswith("calibration-"))
    except OSError:
        return []


def _stat(path: str) -> tuple | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return path, found.st_size, found.st_mtime_ns
