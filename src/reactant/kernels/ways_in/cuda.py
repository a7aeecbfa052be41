"""CUDA C++ as a way in: `reactant.cuda.load` compiles a file or a source string and gives its kernels.

The CUDA language comes from a header of ours (`headers/reactant_cuda.h`), so that neither a CUDA toolkit nor a GPU is
needed; where a toolkit is pointed at, its headers are used.
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reactant.kernels.launch.launchable import Launchable
from reactant.kernels.ways_in import clang
from reactant.kernels.ways_in.cuda_source import compiled, language
from reactant.kernels.ways_in.module_source import ModuleSource, NamedFunctions, SourceKernel
from reactant.kernels.ways_in.numba_cuda import without_gpu

__all__ = ["Module", "load", "without_gpu"]

INSTANCE = "__reactant_instance_"
"""Variables that hold the addresses of instances of templates, which says what clang calls them."""


def load(source: str | os.PathLike, name: str | None = None, *, defines: Mapping[str, object] | Iterable[str] = (),
         include: Sequence[str | os.PathLike] = (), name_expressions: Sequence[str] = (),
         options: Sequence[str] = (), compiler: str | os.PathLike | None = None,
         toolkit: str | os.PathLike | None = None, lower: str = "auto", check: bool = False) -> Any:
    """The kernels of a CUDA C++ file or source text, as objects to launch.

    Launched by `k[grid, block](arguments)` or, as CuPy does, `k(grid, block, arguments, shared_mem=bytes)`, inside or
    outside compiled functions.

    Args:
        source: the path of a file (`.cu`, `.cuh`, `.cpp`, `.h`), or source text.
        name: the kernel that is wanted; None for all.
        defines: macros, as a dict or a list of names.
        include: folders of headers; the file's own folder is one of them.
        name_expressions: instances of templates to compile, such as "axpy<float>".
        options: further flags for clang.
        compiler: another clang than that of the `ziglang` package.
        toolkit: the folder of a CUDA toolkit whose headers are used instead of ours; `compiler` has to be named too.
        lower: as for `reactant.kernel`.
        check: as for `reactant.kernel`.

    Returns:
        A `Module` of kernels, or the one named.

    Raises:
        CompilationError: with the compiler's words.
        FileNotFoundError: for a path that is not there.
        KeyError: for a kernel that the source does not have.
        UnsupportedError: where no clang is installed.

    Example:
        >>> axpy = reactant.cuda.load('''
        ... extern "C" __global__ void axpy(int n, float a, const float *x, float *y) {
        ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
        ...     if (i < n) y[i] += a * x[i];
        ... }''', "axpy")
        >>> x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
        >>> axpy[1, 32](4, 2.0, x, y)
        >>> y
        array([1., 3., 5., 7.], dtype=float32)
    """
    text, title, folder = clang.read_source(source, (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".h", ".hpp", ".c"))
    folders = [*([folder] if folder else []), *([include] if isinstance(include, (str, os.PathLike)) else include)]
    wanted = [name_expressions] if isinstance(name_expressions, str) else list(name_expressions)
    if name is not None and "<" in name and name not in wanted:
        wanted.append(name)
    text += "".join(f"\n__device__ void *{INSTANCE}{k} = (void *)&{name};" for k, name in enumerate(wanted))
    flags = [*language(compiler, toolkit), *clang.definitions(defines, folders), *options]
    made = compiled(flags, text, title, compiler)
    symbols = dict(re.findall(rf'^@{INSTANCE}(\d+) = .* ptr @("[^"]+"|[\w.$-]+)', made.text, re.MULTILINE))
    made.text = re.sub(rf"^@{INSTANCE}\d+ = .*\n", "", made.text, flags=re.MULTILINE)
    module = Module(made, lower, check, {_plain(wanted[int(k)]): s.strip('"') for k, s in symbols.items()})
    return module if name is None else module[name]


def _plain(name: str) -> str:
    """A kernel's name without what may be written in several ways: spaces, and the suffixes of integers."""
    return re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", re.sub(r"\s+", "", name))


class Module(NamedFunctions):
    """The kernels of one source: `module.name`, `module["space::name"]`, `module["name<float>"]`.

    Attributes:
        variables: the content of its `__constant__` and `__device__` variables, arrays by name; write into them to set
            them. A launch may replace them: `module.k[grid, block](x, coefficients=c)`.

    Example:
        >>> module = reactant.cuda.load('''
        ... __constant__ int step[1] = {1};
        ... extern "C" __global__ void count(int *x) { x[threadIdx.x] += step[0]; }''')
        >>> x = np.zeros(3, np.int32)
        >>> module.variables["step"][:] = 5
        >>> module.count[1, 3](x)
        >>> x
        array([5, 5, 5], dtype=int32)
    """

    def __init__(self, source: ModuleSource, lower: str = "auto", check: bool = False,
                 instances: Mapping[str, str] | None = None):
        self._lower, self._check = lower, check
        self._instances = dict(instances or {})     # as asked for, without spaces -> LLVM name
        kernels = re.findall(r'^define [^@\n]*\bptx_kernel [^@\n]*@("[^"]+"|[\w.$-]+)\(', source.text, re.MULTILINE)
        symbols = [s.strip('"') for s in kernels]
        found = [source.functions[s] for s in symbols if s in source.functions]
        names = [f.name for f in found]
        super().__init__(source, {f.name if names.count(f.name) == 1 else f.symbol: f for f in found})   # overloads
        self._made: dict[str, Launchable] = {}

    @property
    def source(self) -> ModuleSource:
        """The LLVM module, and what its debug information says."""
        return self._source

    def __getitem__(self, name: str) -> Launchable:
        if name not in self._made:
            self._made[name] = Launchable(SourceKernel(self._source, self._function(name), "cuda"), self._lower,
                                          self._check)
        return self._made[name]

    def _function(self, name: str) -> Any:
        plain = _plain(name)
        symbol = self._instances.get(plain, plain)
        matches = [f for n, f in self._functions.items() if symbol == f.symbol or plain == _plain(n)]
        if not matches:     # templates may be asked for by their name alone, kernels in namespaces by the last part
            matches = [f for n, f in self._functions.items()
                       if plain in (_plain(n).split("<")[0], n.split("<")[0].rsplit("::", 1)[-1])]
        if len(matches) != 1:
            known = ", ".join(self._functions) or "no kernel"
            raise KeyError(f"'{name}' names {'several kernels' if matches else 'no kernel'} of {self._source.name}, "
                           f"which "
                           f"has {known}. Templates are compiled when "
                           f"name_expressions=[\"{name.split('<')[0]}<float>\"] "
                           f"asks for them.")
        return matches[0]

    def get_function(self, name: str) -> Launchable:
        """A kernel by name, as CuPy's `RawModule` has it.

        Args:
            name: its name, with namespace and template arguments where several would fit.

        Returns:
            The kernel, to launch.

        Raises:
            KeyError: where no kernel, or several, have the name.
        """
        return self[name]

    def __repr__(self) -> str:
        return f"<CUDA module {self._source.name}: {', '.join(self._functions)}>"
