"""A CUDA program as an object: its `main` and its host functions, called from Python."""
from __future__ import annotations

import os
import subprocess
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax

from reactant.cuda import arguments as arguments_
from reactant.cuda.building import Built, sources
from reactant.cuda.gradients import Gradient
from reactant.cuda.process import Process
from reactant.cuda.recorder import LOWER, Compiled, How, Recorder
from reactant.cuda.telling import Told
from reactant.errors import UnsupportedError
from reactant.kernels.ways_in.debug_types import CFunction

PLATFORMS = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu", "tpu": "tpu"}


def program(files: str | os.PathLike | Iterable[str | os.PathLike], *, options: str | Sequence[str] = (),
            defines: Mapping[str, object] | Iterable[str] = (), include: Any = (), target: str | None = None,
            lower: str = "auto") -> Program:
    """A whole CUDA program: host code runs as it is, its kernels on any device that JAX drives."""
    return Program(Built(sources(files, options, defines, include)), _how(target, lower))


def _how(target: str | None, lower: str) -> How:
    if lower not in LOWER:
        raise ValueError(f"lower is {', '.join(map(repr, LOWER))}, not {lower!r}.")
    if target is not None and target not in PLATFORMS:
        raise ValueError(f"target is 'cpu', 'gpu' or 'tpu', not {target!r}.")
    if target is None:
        return How(lower, None, _platform(jax.devices()[0]))
    try:
        device = jax.devices(PLATFORMS[target])[0]
    except RuntimeError:
        has = ", ".join(sorted({d.platform for d in jax.devices()}))
        raise UnsupportedError(f"JAX has no device '{target}' here; it has {has}.",
                               hint="Leave target out, or install jax for that device. `program.lower` shows what the "
                                    "program would be there.", code="cuda-program-target") from None
    return How(lower, device, _platform(device))


def _platform(device: Any) -> str:
    return PLATFORMS.get(device.platform, device.platform)


class Program:
    """A compiled CUDA program."""

    def __init__(self, built: Built, how: How):
        self._built, self._how = built, how
        self._compiled, self._told = Compiled(), Told()
        self._recorder: Recorder | None = None

    # ---- main ----

    def main(self, *words: Any, capture: bool = False) -> Any:
        """Run the program from its beginning."""
        self._function("main")
        title = self._built.sources.files[0].stem
        given = [str(w) if not isinstance(w, os.PathLike) else os.fspath(w) for w in words]
        pipe = subprocess.PIPE if capture else None
        process = Process(self._built.library, self._built.sources.title, pipe, pipe)
        recorder = Recorder(self._built, process, self._how, self._compiled, self._told)
        reading = process.read_output() if capture else None
        try:
            process.start_main([w.encode() for w in (title, *given)])
            process.serve(recorder.flush)
            status = process.wait()
        finally:
            process.close()
        if reading is None:
            return status
        return subprocess.CompletedProcess([title, *given], status, *reading())

    # ---- functions ----

    def __getattr__(self, name: str) -> Function:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Function:
        return Function(self, self._function(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._built.functions)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._built.functions})

    def _function(self, name: str) -> CFunction:
        return arguments_.found(self._built.functions, name, self._built.sources.title)

    def _running(self) -> Recorder:
        if self._recorder is None:
            process = Process(self._built.library, self._built.sources.title)
            self._recorder = Recorder(self._built, process, self._how, self._compiled, self._told)
            weakref.finalize(self, process.close)
        return self._recorder

    def _call(self, function: CFunction, given: tuple) -> Any:
        recorder = self._running()
        process = recorder.process
        call = arguments_.Call(function, given, process)
        try:
            process.start_call(function.symbol, call.result, call.arguments)
            returned, value = process.serve(recorder.flush)
            if not returned:
                raise process.ended(f"'{function.name}' ran")
            call.give_back()
            return call.value(value)
        except BaseException:
            self.close()
            raise
        finally:
            process.clear()

    def lower(self, name: str, *arguments: Any, target: str) -> list[str]:
        """The modules that a call would run on a target, which need not be here."""
        if target not in PLATFORMS:
            raise ValueError(f"target is 'cpu', 'gpu' or 'tpu', not {target!r}.")
        told = Told()
        how = How("tensor" if target == "tpu" else "auto", shown=PLATFORMS[target])
        process = Process(self._built.library, self._built.sources.title)
        try:
            recorder = Recorder(self._built, process, how, Compiled(), told)
            if name == "main":
                process.start_main([self._built.sources.files[0].stem.encode(), *(str(w).encode() for w in arguments)])
                process.serve(recorder.flush)
            else:
                function = self._function(name)
                call = arguments_.Call(function, arguments, process)
                process.start_call(function.symbol, call.result, call.arguments)
                if not process.serve(recorder.flush)[0]:
                    raise process.ended(f"'{function.name}' ran")
        finally:
            process.close()
        return told.modules

    def grad(self, name: str, wrt: str | Sequence[str], of: str | None = None) -> Gradient:
        """The derivative of a host function."""
        return Gradient(self._built, self._function(name), wrt, of)

    def close(self) -> None:
        """End the process in which host functions run."""
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            recorder.process.close()

    def explain(self) -> str:
        """What became of the launches so far."""
        return self._told.text()

    def __repr__(self) -> str:
        return f"<CUDA program {self._built.sources.title}: {', '.join(self._built.functions)}>"


class Function:
    """A host function of a program."""

    def __init__(self, program: Program, function: CFunction):
        self._program, self._function = program, function
        self.__name__ = function.name

    def __call__(self, *arguments: Any) -> Any:
        return self._program._call(self._function, arguments)

    def __repr__(self) -> str:
        return f"<host function {arguments_.signature(self._function)} of {self._program._built.sources.title}>"
