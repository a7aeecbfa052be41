"""C and C++ as a way in: `reactant.c.load` compiles a file and gives its functions over pointers."""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reactant.kernels.ways_in import clang
from reactant.kernels.ways_in.functions import FunctionModule
from reactant.kernels.ways_in.module_source import ModuleSource


def load(source: str | os.PathLike, name: str | None = None, *, defines: Mapping[str, object] | Iterable[str] = (),
         include: Sequence[str | os.PathLike] = (), language: str | None = None, options: Sequence[str] = (),
         compiler: str | os.PathLike | None = None, lower: str = "auto", check: bool = False) -> Any:
    """The functions of a C or C++ file or source text, to be called with arrays.

    Args:
        source: the path of a file (`.c`, `.cpp`, ...), or source text.
        name: the function that is wanted; None for all.
        defines: macros, as a dict or a list of names.
        include: folders of headers; the file's own folder is one of them.
        language: "c" or "c++"; None: told from the file's name, C for text.
        options: further flags for clang.
        compiler: another clang than that of the `ziglang` package.
        lower: as for `reactant.kernel`.
        check: as for `reactant.kernel`.

    Returns:
        A module of functions, or the one named. `module.f(x, y, 3)` runs it on NumPy or device arrays, writing into
        them, and gives what it returns; inside a compiled function it becomes part of the program. An array argument is
        a pointer to its first element.

    Raises:
        CompilationError: with the compiler's words.
        FileNotFoundError: for a path that is not there.
        KeyError: for a function that the source does not have.
        UnsupportedError: where no clang is installed.

    Example:
        >>> dot = reactant.c.load('''
        ... double dot(long n, const double *x, const double *y) {
        ...     double sum = 0;
        ...     for (long i = 0; i < n; i++) sum += x[i] * y[i];
        ...     return sum;
        ... }''', "dot")
        >>> float(dot(3, np.arange(3.0), np.ones(3)))
        3.0
    """
    text, title, folder = clang.read_source(source, (".c", ".h", ".cpp", ".cc", ".cxx", ".hpp"))
    chosen = language or ("c++" if title.endswith((".cpp", ".cc", ".cxx", ".hpp")) else "c")
    if chosen not in ("c", "c++"):
        raise ValueError(f"reactant.c.load: language is 'c' or 'c++', not {language!r}.")
    folders = [*([folder] if folder else []), *([include] if isinstance(include, (str, os.PathLike)) else include)]
    flags = ["-x", chosen, *clang.system_headers(compiler, chosen == "c++"), f"-I{clang.HEADERS / 'c'}",
             *clang.definitions(defines, folders), *options]
    module = ModuleSource(clang.compile_to_llvm(flags, text, title, ".c" if chosen == "c" else ".cpp", compiler), title,
                          host=True)
    functions = [f for f in module.functions.values() if module.is_public(f.symbol)]
    made = FunctionModule(module, {f.name: f for f in functions}, set(), "c", lower, check)
    return made if name is None else made[name]
