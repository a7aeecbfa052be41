"""Whether what is not followed gives the same whenever it is called: tables of modules and names.

A program that mentions anything else is not cached. Libraries in `PURE` are told by their versions (`environment`).
"""
from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

PURE = frozenset("""numpy scipy jax jaxlib ml_dtypes math cmath operator itertools functools collections abc types
    typing typing_extensions numbers enum dataclasses copy contextlib heapq bisect array struct fractions string re
    textwrap __future__ builtins keyword reprlib graphlib
    _operator _functools _collections _collections_abc _abc _heapq _bisect _struct _sre _weakref weakref
    opt_einsum numba numba_cuda reactant""".split())
"""Top-level modules of which what is called does nothing but compute, but for `IMPURE`."""

IMPURE = {
    "builtins": frozenset("""open input print eval exec compile globals locals __import__ breakpoint id help exit
        quit""".split()),
    "numpy": frozenset("""load loadtxt genfromtxt fromfile fromregex memmap open_memmap save savez savez_compressed
        savetxt DataSource show_config show_runtime set_printoptions seterr seterrcall geterrcall setbufsize
        getbufsize get_include info""".split()),
    "jax": frozenset("""pure_callback io_callback print_environment_info load save savez fromfile
        live_arrays""".split()),
    "scipy": frozenset("""load_npz save_npz show_config test""".split()),
    "contextlib": frozenset(("chdir", "redirect_stdout", "redirect_stderr", "redirect_stdin")),
    "weakref": frozenset(("finalize",)),
    "_weakref": frozenset(("getweakrefcount", "getweakrefs")),
    "reactant": frozenset(("load", "export", "cluster", "explain", "bisect")),
}
"""Names in these that read or change something outside."""

IMPURE_MODULES = ("numpy.random", "numpy.lib.npyio", "numpy.lib._npyio_impl", "numpy.testing", "numpy.f2py",
                  "numpy.ctypeslib", "scipy.io", "scipy.datasets", "jax.debug", "jax.experimental", "jax.profiler",
                  "jax.monitoring", "jax.distributed", "numba.cuda.random", "numba.pycc",
                  "reactant.cache", "reactant.processes", "reactant.diagnosis")
"""Modules below those in `PURE` that do."""

BY_NAME = frozenset("""getattr setattr delattr hasattr attrgetter methodcaller vars dir __getattribute__ __dict__
    format format_map vformat get_field""".split())
"""What may ask modules for names that the code does not mention."""

LOOKS_AROUND = frozenset("""__subclasses__ f_globals f_locals f_back gi_frame cr_frame tb_frame __annotations__
    __globals__ __closure__ __code__ __defaults__ __kwdefaults__ cell_contents get_type_hints get_annotations tofile
    dump cache_info cache_clear __reduce_ex__ __builtins__ __loader__ __spec__ __file__ __cached__ __hash__ ctypes
    __array_interface__ __array_struct__
    """.split())
"""Attributes that lead to what is not compared, or to the world outside."""


def root_of(module: str) -> str:
    """The top-level module of a dotted name."""
    return module.partition(".")[0]


def is_pure_module(name: str) -> bool:
    """Whether what is in a module is told by the version of its library."""
    return root_of(name) in PURE and not name.startswith(IMPURE_MODULES)


def is_impure(module: str, name: str) -> bool:
    """Whether calling `module.name` may read or change something outside."""
    return not is_pure_module(module) or name in IMPURE.get(root_of(module), ())


@cache
def _directories() -> tuple[str, ...]:
    """Where the libraries lie that are told by their versions."""
    paths = sysconfig.get_paths()
    found = {paths["stdlib"], paths["platstdlib"], os.path.realpath(paths["stdlib"])}
    for name in ("numpy", "scipy", "jax", "jaxlib", "reactant", "ml_dtypes", "opt_einsum", "numba", "numba_cuda"):
        module = sys.modules.get(name)
        spec = module.__spec__ if module is not None else find_spec(name)       # it may be loaded later
        if spec is not None and spec.origin:
            found |= {os.path.dirname(spec.origin), os.path.dirname(os.path.realpath(spec.origin))}
    return tuple(sorted(path + os.sep for path in found))


@cache
def is_library_file(filename: str) -> bool:
    """Whether code of a file is told by the version of Python or of a library in `PURE`."""
    if filename.startswith("<frozen"):
        return True
    if f"{os.sep}site-packages{os.sep}" in filename or f"{os.sep}dist-packages{os.sep}" in filename:
        packages = [d for d in _directories() if "-packages" in d]
        return filename.startswith(tuple(packages)) if packages else False
    return filename.startswith(_directories()) and f"{os.sep}reactant{os.sep}demos{os.sep}" not in filename


def is_here(module: str, name: str, value: Any) -> bool:
    """Whether a library has a value under its name."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None) if not isinstance(found, ModuleType) else vars(found).get(part)
    return found is value


def names_in(values: Iterable[Any]) -> set[str]:
    """The texts among constants that may be names."""
    return {value for value in values if type(value) is str and value.isidentifier()}
