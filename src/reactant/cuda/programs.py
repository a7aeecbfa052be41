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
            defines: Mapping[str, object] | Iterable[str] = (), include: str | os.PathLike | Sequence[Any] = (),
            target: str | None = None, lower: str = "auto") -> Program:
    """A whole CUDA program to call: its host code runs as it is, its kernels on any device that JAX drives.

    Host code is compiled for this machine and runs in a process of its own. What it asks of its device is written down
    and done when it looks: launches that repeat become one compiled function, raised to tensors where that is possible;
    what cannot be raised is run by the program's own code, on the host.

    Args:
        files: a `.cu` file, or several files of a program (`.cu`, `.cpp`, `.c`).
        options: further options, as for `reactant nvcc`: a list, or words in a string.
        defines: macros, as a dict or a list of names.
        include: folders of headers.
        target: "cpu", "gpu" or "tpu": the device of arrays and compiled functions; JAX's default device when None.
        lower: "auto" (on a CPU, what repeats is compiled, the rest is the program's own code; on other devices all that
            can be is compiled), "tensor" (everything is a tensor program, or an error says why not), "native" (nothing
            is: the program's own code does all).

    Returns:
        A `Program`.

    Raises:
        FileNotFoundError: for a file that is not there.
        CompilationError: with the compiler's words.
        UnsupportedError: where JAX has no such device, or no compiler is installed.
        ValueError: for another target or `lower`.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("scale.cu").write_text('''
        ... __global__ void scale(double *x, int n, double factor) {
        ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
        ...     if (i < n) x[i] *= factor;
        ... }
        ... extern "C" void scaled(double *x, int n, double factor) {
        ...     double *on_device;
        ...     cudaMalloc(&on_device, n * sizeof(double));
        ...     cudaMemcpy(on_device, x, n * sizeof(double), cudaMemcpyHostToDevice);
        ...     scale<<<(n + 127) / 128, 128>>>(on_device, n, factor);
        ...     cudaMemcpy(x, on_device, n * sizeof(double), cudaMemcpyDeviceToHost);
        ...     cudaFree(on_device);
        ... }''')
        >>> program = reactant.cuda.program("scale.cu")
        >>> x = np.arange(4.0)
        >>> program.scaled(x, 4, 10.0)
        >>> x
        array([ 0., 10., 20., 30.])
        >>> program.close()
    """
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
    """A CUDA program; `program.f(...)` or `program["space::f"](...)` calls a host function.

    Made by `reactant.cuda.program`.

    Host functions take numbers for numbers, strings for `const char *`, and arrays of NumPy or `reactant.array` for
    pointers, which they may write into; None is NULL. They give numbers, strings or None. All calls but `main` share
    one process, so that the program's variables and allocations stay between them.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("words.cu").write_text('''
        ... extern "C" int length(const char *text) { return (int)strlen(text); }
        ... int main(int count, char **words) { printf("%s, %d\\\\n", words[1], count); return 3; }''')
        >>> program = reactant.cuda.program("words.cu")
        >>> program.length("reactant")
        8
        >>> done = program.main("hello", capture=True)
        >>> done.stdout, done.returncode
        ('hello, 2\\n', 3)
        >>> program.close()
    """

    def __init__(self, built: Built, how: How):
        self._built, self._how = built, how
        self._compiled, self._told = Compiled(), Told()
        self._recorder: Recorder | None = None

    # ---- main ----

    def main(self, *words: Any, capture: bool = False) -> Any:
        """Run the program from its beginning, in a new process.

        Args:
            words: the arguments of the command line; numbers become text.
            capture: give back what it prints, instead of printing it.

        Returns:
            The exit status, 128 + the signal that ended it; with `capture` a `subprocess.CompletedProcess` with
            `returncode`, `stdout` and `stderr` as text.

        Raises:
            NoSuchFunction: where the program has no `main`.
            UnsupportedError: with `lower="tensor"`, for a launch that is no tensor program.
        """
        self._function("main")
        title = self._built.sources.files[0].stem
        given = [os.fspath(w) if isinstance(w, os.PathLike) else str(w) for w in words]
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
        """The StableHLO modules that a call would run on a target, which need not be here; the call itself is done.

        Args:
            name: a host function, or "main".
            arguments: its arguments.
            target: "cpu", "gpu" or "tpu". For a TPU every launch has to be a tensor program.

        Returns:
            A text for each compiled function, in the order in which they would run.

        Raises:
            UnsupportedError: for a launch that cannot run on a TPU, with the kernel, the line and the reason.
            ValueError: for another target.
        """
        if target not in PLATFORMS:
            raise ValueError(f"target is 'cpu', 'gpu' or 'tpu', not {target!r}.")
        told = Told()
        how = How("tensor" if target == "tpu" else "auto", shown=PLATFORMS[target])
        process = Process(self._built.library, self._built.sources.title)
        try:
            recorder = Recorder(self._built, process, how, Compiled(), told)
            if name == "main":
                words = [self._built.sources.files[0].stem, *map(str, arguments)]
                process.start_main([w.encode() for w in words])
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
        """The derivative of a number that a host function computes.

        A call of the result runs the function once, in a process whose host code notes how its numbers come from one
        another, and differentiates what was recorded: kernels as tensor programs, host arithmetic by reverse sweeps.
        The function has to allocate what it uses with cudaMalloc; state of earlier calls is not there.

        Args:
            name: the function.
            wrt: a parameter to differentiate by, or several: floating-point numbers, and pointers to them.
            of: the pointer that the number is written to; None for the number that the function returns.

        Returns:
            A `Gradient`, to call with the function's arguments. It gives the derivative, of the shape of the argument,
            or a tuple of them where `wrt` has several; the arguments stay as they are.

        Raises:
            HostArgumentError: for names that are no such parameters.
            NoSuchFunction: for a function that is not there.
            NotDifferentiable: at the call, for a launch that has no derivative (with kernel, line and reason), and for
                host code that numbers go through unseen.

        Source:
            Griewank and Walther, "Evaluating Derivatives", SIAM 2008: the tape of host code, chapter 6.
        """
        return Gradient(self._built, self._function(name), wrt, of)

    def close(self) -> None:
        """End the process in which host functions run; the next call begins a new one."""
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            recorder.process.close()

    def explain(self) -> str:
        """What became of the launches so far, by kernel and by line of the host code.

        Returns:
            A text. It says whether each kernel is a tensor program, and for each line that launches it how often it ran
            in which compiled function, or by the program's own code, and why.
        """
        return self._told.text()

    def __repr__(self) -> str:
        return f"<CUDA program {self._built.sources.title}: {', '.join(self._built.functions)}>"


class Function:
    """A host function of a program."""

    def __init__(self, program: Program, function: CFunction):
        self._program, self._function = program, function
        self.__name__ = function.name

    def __call__(self, *arguments: Any) -> Any:
        """Call it. Raises `HostArgumentError`, and `ProgramEnded` where the process ends."""
        return self._program._call(self._function, arguments)

    def __repr__(self) -> str:
        return f"<host function {arguments_.signature(self._function)} of {self._program._built.sources.title}>"
