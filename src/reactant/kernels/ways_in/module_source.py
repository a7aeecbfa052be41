"""A module of C, C++ or LLVM IR: its functions, what they call, its global variables."""
from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from reactant.errors import UnsupportedError
from reactant.kernels.launch.arguments import Argument, ArrayArgument, Operands, plain
from reactant.kernels.llvm_ir import cleanup, signatures
from reactant.kernels.ways_in.c_types import fill
from reactant.kernels.ways_in.debug_types import CFunction, CType, DebugTypes
from reactant.support.like_functions import Told
from reactant.support.records import dataclass

_DEFINE = re.compile(r'^define [^\n]*?@("[^"]+"|[\w.$-]+)\(.*?^\}', re.MULTILINE | re.DOTALL)
_GLOBAL = re.compile(r'^@("[^"]+"|[\w.$-]+) = (.*)$', re.MULTILINE)


@dataclass(frozen=True)
class GlobalVariable:
    """A variable of a module that the host may set (`__constant__`) or that lives between launches (`__device__`)."""

    name: str
    symbol: str
    type: CType
    text: str
    place: str = ""

    @property
    def dtype(self) -> np.dtype:
        """With its shape; bytes where NumPy has no such type."""
        return self.type.structured() or np.dtype(("u1", (self.type.size,)))


class ModuleSource(Told):
    """The LLVM module of one source, and what its debug information says."""

    def depends_on(self) -> tuple | None:
        return self.text, self.name, self.host, self.values

    def __init__(self, text: str, name: str, host: bool = False):
        self.text, self.name, self.host = text, name, host
        self._values: dict[str, np.ndarray] = {}

    @cached_property
    def debug(self) -> DebugTypes:
        return DebugTypes(self.text)

    @cached_property
    def functions(self) -> dict[str, CFunction]:
        """LLVM name -> function."""
        return self.debug.functions()

    @cached_property
    def bodies(self) -> dict[str, str]:
        """LLVM name -> text of the function."""
        return {m[1].strip('"'): m[0] for m in _DEFINE.finditer(self.text)}

    @cached_property
    def variables(self) -> dict[str, GlobalVariable]:
        """LLVM name -> variable, those that launches see as memory."""
        found = {}
        types = self.debug.variables()
        for symbol, text in _GLOBAL.findall(self.text):
            symbol = symbol.strip('"')
            shared = "externally_initialized" in text or re.search(r"addrspace\(1\) .*\bglobal\b", text) \
                or (self.host and re.search(r"(^| )global ", text) and "addrspace" not in text)
            if shared and "extern_weak" not in text and " external " not in f" {text}" and symbol in types:
                name, kind, line = types[symbol]
                found[symbol] = GlobalVariable(name, symbol, kind, text, f"{self.name}:{line}")
        return found

    @cached_property
    def values(self) -> dict[str, np.ndarray]:
        """Name -> current content of each such variable that holds no addresses; a user may write into these arrays."""
        return {v.name: self.value(v) for v in self.variables.values() if " @" not in v.text.split(", !dbg")[0]}

    def value(self, variable: GlobalVariable) -> np.ndarray:
        """The current content of a variable. Raises `UnsupportedError` where it holds addresses."""
        if variable.name not in self._values:
            self._values[variable.name] = self._initial(variable)
        return self._values[variable.name]

    def used_variables(self, symbol: str) -> tuple[GlobalVariable, ...]:
        """The variables that a function and what it calls refer to."""
        seen: set[str] = set()
        waiting = [symbol]
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            waiting += [n for n in _names(self.bodies.get(current, "")) if n in self.bodies or n in self.variables]
        return tuple(v for s, v in self.variables.items() if s in seen)

    def is_public(self, symbol: str) -> bool:
        """Whether other modules could call the function."""
        head = self.bodies[symbol].split("@", 1)[0]
        return not re.search(r"\b(internal|private|linkonce\w*|available_externally)\b", head)

    def parameters(self, symbol: str) -> list[str]:
        """The LLVM parameters of a function."""
        head = self.bodies[symbol].split("\n", 1)[0]
        return signatures.split_arguments(head[head.index("(", head.index("@")) + 1:_closing(head)])

    def _initial(self, variable: GlobalVariable) -> np.ndarray:
        """The content that the source gives a variable."""
        if " @" in variable.text.split(", !dbg")[0]:
            raise UnsupportedError(f"The variable '{variable.name}' at {variable.place} holds addresses, which are "
                                   "not known when a kernel is compiled.",
                                   hint="Choose by an index and a switch instead.", code="kernel-memory-access")
        stored = re.search(r"\b(?:constant|global) (.*?)(?:, (?:align|comdat|section|!dbg)\b.*)?$", variable.text)
        assert stored is not None
        structs = "\n".join(re.findall(r"^%.* = type .*$", self.text, re.MULTILINE))
        content = _bytes_of(f'{structs}\n@variable = global {stored[1]}\n',
                            variable.type.size, variable.name)
        return np.frombuffer(content, variable.dtype.base).reshape(variable.dtype.shape).copy()


def _names(body: str) -> set[str]:
    return {n.strip('"') for n in re.findall(r'@("[^"]+"|[\w.$-]+)', body)}


def _closing(head: str) -> int:
    depth = 0
    for i in range(head.index("(", head.index("@")), len(head)):
        depth += head[i] == "("
        depth -= head[i] == ")"
        if depth == 0:
            return i
    return len(head)


def _bytes_of(text: str, size: int, name: str) -> bytes:
    """The bytes of `@variable` of a module, as LLVM lays them out."""
    binding = cleanup.llvm()
    try:
        machine = binding.Target.from_default_triple().create_target_machine()
        with binding.create_mcjit_compiler(binding.parse_assembly(text), machine) as engine:
            engine.finalize_object()
            return ctypes.string_at(engine.get_global_value_address("variable"), size)
    except RuntimeError as error:
        raise UnsupportedError(f"The initial value of the variable '{name}' cannot be read: {error}",
                               hint="Check the source with its own compiler.", code="kernel-code") from error


class SourceKernel(Told):
    """A function of a module as a way in."""

    def depends_on(self) -> tuple | None:
        return self.module, self.function.symbol, self.frontend

    def __init__(self, module: ModuleSource, function: CFunction, frontend: str):
        self.module, self.function, self.frontend = module, function, frontend
        self.name, self.source, self.line = function.name, function.file or module.name, function.line
        self.variables = module.used_variables(function.symbol)
        self.names = (*function.names, *(v.name for v in self.variables))
        self.result = function.result.dtype if function.result.kind == "number" else None
        if function.result.kind not in ("void", "number"):
            raise UnsupportedError(f"'{self.name}' returns a {function.result}: functions may return a number or "
                                   "nothing.", hint="Write it through a pointer.", code="kernel-code")

    def global_arguments(self, given: dict[str, object]) -> Iterator[object]:
        """The memories of the module's variables that the kernel refers to; `given` replaces some."""
        for variable in self.variables:
            value: Any = given[variable.name] if variable.name in given else self.module.value(variable)
            one = getattr(value, "shape", None) == () and getattr(value, "dtype", np.dtype("V0")).names
            yield (np.asarray(value) if isinstance(value, np.void) else value).reshape(1) if one else value

    def prepare(self, arguments: tuple[Argument, ...], operands: Operands) -> tuple[str, ...]:
        """Fill in the call; returns the module. Raises `KernelArgumentError`."""
        count = len(arguments) - len(self.variables)
        fill(self.function, self.module.parameters(self.function.symbol), arguments[:count], operands)
        if self.result is not None:
            operands.wrapper.result = cleanup.result_type(self.module.bodies[self.function.symbol])
        for variable, argument in zip(self.variables, arguments[count:], strict=True):
            assert isinstance(argument, ArrayArgument)
            size = int(np.prod(argument.shape)) * argument.dtype.itemsize
            if plain(argument.dtype)[0] != plain(variable.dtype.base)[0] or size != variable.type.size:
                raise TypeError(f"The variable '{variable.name}' is {variable.dtype.base}{list(variable.dtype.shape)}; "
                                f"{argument.dtype}{list(argument.shape)} given.")
            operands.wrapper.variables[variable.symbol] = operands.pointer(argument)
        return (self.module.text,)

    @property
    def pointer_tables(self) -> frozenset[int]:
        """The parameters that are pointers to pointers."""
        return frozenset(k for k, t in enumerate(self.function.parameters)
                         if t.kind == "pointer" and t.target is not None and t.target.kind == "pointer")

    def takes_integer(self, path: tuple[int, ...], value: int | None) -> bool:
        """Whether a parameter, or a member of a struct, is a number that holds this one, or a struct for a record."""
        wanted = self.function.parameters[path[0]] if path[0] < len(self.function.parameters) else None
        for k in path[1:]:
            within = wanted is not None and wanted.kind == "struct" and k < len(wanted.members)
            wanted = wanted.members[k][2] if within and wanted is not None else None
        if value is None:
            return wanted is not None and wanted.kind == "struct"
        if wanted is None or wanted.kind != "number" or wanted.dtype is None:
            return False
        return wanted.dtype.kind not in "iu" or np.iinfo(wanted.dtype).min <= value <= np.iinfo(wanted.dtype).max


class NamedFunctions(Told):
    """What can be called of a source, by name: `module.name` or `module["name"]`. Kinds of modules say in
    `__getitem__` what a name stands for.

    variables: the current content of the source's variables, by name; write into these arrays to set them.
    """

    def __init__(self, source: ModuleSource, functions: dict[str, CFunction]):
        self._source, self._functions = source, functions

    @property
    def variables(self) -> dict[str, np.ndarray]:
        return self._source.values

    def __getitem__(self, name: str) -> Any:
        raise KeyError(name)

    def depends_on(self) -> tuple | None:
        follow = ("_made", "_functions", "_kernels")        # from the source
        return tuple((name, value) for name, value in sorted(vars(self).items()) if name not in follow)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._functions})
