"""Functions over pointers, from C or LLVM IR, called as one thread: `f(*arrays)` writes into its arrays."""
from __future__ import annotations

from typing import Any

from reactant.kernels.form.record import KernelRecord
from reactant.kernels.launch.launchable import Launchable
from reactant.kernels.ways_in.debug_types import CFunction
from reactant.kernels.ways_in.module_source import ModuleSource, NamedFunctions, SourceKernel


class Function:
    """A compiled C or LLVM function. Call it with arrays for its pointers and numbers for its numbers."""

    def __init__(self, way_in: SourceKernel, lower: str, check: bool):
        self.way_in = way_in
        self.__name__ = way_in.name
        self._launch = Launchable(way_in, lower, check)[1, 1]

    def __call__(self, /, *arguments: Any, **variables: Any) -> Any:
        """Run; gives what the function returns. `variables` replace the module's global variables of these names."""
        return self._launch(*arguments, **variables)

    def record(self, /, *arguments: Any, **variables: Any) -> KernelRecord:
        """What the later steps get for these arguments."""
        return self._launch.record(*arguments, **variables)

    def explain(self, /, *arguments: Any, **variables: Any) -> str:
        """Whether the call is a tensor program or native code, and why."""
        return self._launch.explain(*arguments, **variables)

    def __repr__(self) -> str:
        wanted = ", ".join(f"{t} {n}" for t, n in zip(self.way_in.function.parameters, self.way_in.function.names,
                                                      strict=True))
        return f"<function {self.way_in.function.result} {self.__name__}({wanted})>"


class FunctionModule(NamedFunctions):
    """The functions of one source: `module.name` or `module["name"]`.

    variables: the content of its global variables, by name; they live from call to call and may be written into.
    """

    def __init__(self, source: ModuleSource, functions: dict[str, CFunction], kernels: set[str], frontend: str,
                 lower: str, check: bool):
        super().__init__(source, functions)
        self._kernels, self._frontend, self._options = kernels, frontend, (lower, check)
        self._made: dict[str, Function | Launchable] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            matches = [f for n, f in self._functions.items() if name in (n, f.symbol)]
            if not matches:
                raise KeyError(f"{self._source.name} has no function '{name}'; it has {', '.join(self._functions)}.")
            way_in = SourceKernel(self._source, matches[0], self._frontend)
            self._made[name] = (Launchable if matches[0].symbol in self._kernels else Function)(way_in, *self._options)
        return self._made[name]

    def __repr__(self) -> str:
        return f"<{self._frontend} module {self._source.name}: {', '.join(self._functions)}>"
