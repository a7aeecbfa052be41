"""Derivatives of host functions: `program.grad`.

A call is run once, in a process whose host code notes where its numbers come from (`tapes`); what was recorded is a
function of the arguments (`replay`), which `reactant.grad` differentiates. Its value is compared with the call's own.
"""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reactant.cuda.arguments import Call, HostArgumentError, signature
from reactant.cuda.building import Built
from reactant.cuda.process import Process
from reactant.cuda.recorder import Compiled, How, Recorder
from reactant.cuda.replay import Leaves, Replay
from reactant.cuda.rows import RUNS
from reactant.cuda.tapes import COMPLAINTS, READS_BITS, Tape
from reactant.cuda.telling import Told
from reactant.derivatives import value_and_grad
from reactant.errors import NotDifferentiable, ReactantError
from reactant.kernels.ways_in.debug_types import CFunction

AGREES = {4: 1e-3, 8: 1e-6}
"""Largest relative difference of the function's value from the call's, by the bytes of its numbers."""


class Gradient:
    """The derivative of a host function, made by `Program.grad`; call it with the function's arguments.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("square.cu").write_text('''
        ... __global__ void square(double *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= x[threadIdx.x]; }
        ... extern "C" double total(const double *x, int n, double factor) {
        ...     double *on_device, squares[32], sum = 0.0;
        ...     cudaMalloc(&on_device, n * sizeof(double));
        ...     cudaMemcpy(on_device, x, n * sizeof(double), cudaMemcpyHostToDevice);
        ...     square<<<1, 32>>>(on_device, n);
        ...     cudaMemcpy(squares, on_device, n * sizeof(double), cudaMemcpyDeviceToHost);
        ...     cudaFree(on_device);
        ...     for (int i = 0; i < n; ++i) sum += factor * squares[i];
        ...     return sum;
        ... }''')
        >>> slope = reactant.cuda.program("square.cu").grad("total", wrt=("x", "factor"))
        >>> slope(np.arange(4.0), 4, 0.5)
        (array([0., 1., 2., 3.]), np.float64(14.0))
    """

    def __init__(self, built: Built, function: CFunction, wrt: str | Sequence[str], of: str | None):
        self.built, self.function, self.one = built, function, isinstance(wrt, str)
        names: list[str] = [wrt] if isinstance(wrt, str) else list(wrt)
        self.wrt = [self._parameter(name, "wrt") for name in names]
        if not self.wrt or len(set(self.wrt)) != len(self.wrt):
            raise HostArgumentError("wrt names parameters of the function, each once.")
        self.of = None if of is None else self._parameter(of, "of")
        if of is None and not self._is_float(function.result):
            pointers = [n for n, t in zip(function.names, function.parameters, strict=True)
                        if t.kind == "pointer" and self._is_float(t.target) and not t.target.constant]  # type: ignore
            raise HostArgumentError(f"'{signature(function)}' returns no floating-point number to differentiate.",
                                    hint=f"Say which argument it writes it to: of={' or '.join(map(repr, pointers))}."
                                    if pointers else "Return one, or write it through a pointer.")
        self._functions: dict[tuple, Any] = {}

    def _parameter(self, name: str, what: str) -> int:
        if name not in self.function.names:
            raise HostArgumentError(f"{what}={name!r} is no parameter of '{signature(self.function)}'.",
                                    hint=f"It has {', '.join(self.function.names)}.")
        k = self.function.names.index(name)
        wanted = self.function.parameters[k]
        number = wanted.target if wanted.kind == "pointer" else wanted
        if not self._is_float(number) or what == "of" and wanted.kind != "pointer":
            raise HostArgumentError(f"{what}={name!r}: {wanted} {name} holds no floating-point numbers"
                                    f"{' that the function could write' if what == 'of' else ''}.")
        return k

    @staticmethod
    def _is_float(kind: Any) -> bool:
        return kind is not None and kind.kind == "number" and kind.dtype is not None and kind.dtype.kind == "f"

    def __call__(self, *arguments: Any) -> Any:
        """The derivative at these arguments, which stay as they are: of the shape of each argument of `wrt`."""
        return self.value_and_grad(*arguments)[1]

    def value_and_grad(self, *arguments: Any) -> tuple[Any, Any]:
        """The number and its derivative.

        Args:
            arguments: those of the function, which stay as they are.

        Returns:
            (the number, the derivative or a tuple of them).

        Raises:
            NotDifferentiable: as the call of this object.
        """
        library, lines = self.built.taped()
        process = Process(library, self.built.sources.title)
        try:
            return self._differentiated(arguments, process, library, lines)
        finally:
            process.close()

    # ---- one call ----

    def _differentiated(self, given: tuple, process: Process, library: Path, lines: list[str]) -> tuple[Any, Any]:
        call = Call(self.function, given, process)
        recorder = Recorder(self.built, process, How("native"), Compiled(), Told())
        recorder.log = []
        leaves, ranges, names, inputs = self._leaves(call, given)
        watched = [call.arrays[self.of][1:]] if self.of is not None else []
        process.start_taped((self.function.symbol, call.result, call.arguments), leaves, watched)
        returned, answer = process.serve(recorder.flush)
        if not returned:
            raise process.ended(f"'{self.function.name}' ran")
        value, identity, nodes, complaints, runs = answer
        replay = Replay(self.built, lambda row: self.built.line_of(row.site - process.image, library), Tape(nodes),
                        ranges)
        replay.play(recorder.log)
        self._heed(complaints, lines, replay)
        if self.of is None:
            dtype = self.function.result.dtype
            recorded = np.array([value], dtype)
            result = replay._numbers(recorded, [identity], True)
        else:
            x, at, size = call.arrays[self.of]
            recorded = np.frombuffer(process.memory[at:at + size].tobytes(), x.dtype)
            if recorded.size != 1:
                raise HostArgumentError(f"of={self.function.names[self.of]!r} has {recorded.size} numbers; a gradient "
                                        f"is of one.", hint="Let the function write a sum to it, or return it.")
            result = replay._content(recorded.tobytes(), np.frombuffer(runs[0], RUNS), recorded.dtype) + "[0]"
        return self._evaluated(replay, result, names, inputs, recorded[0])

    def _leaves(self, call: Call, given: tuple) -> tuple[list[tuple], dict[int, Leaves], list[str], list[Any]]:
        """What the tape begins with: the arguments that derivatives are by."""
        leaves: list[tuple] = []
        ranges: dict[int, Leaves] = {}
        names: list[str] = []
        inputs: list[Any] = []
        numbers = [k for k, t in enumerate(self.function.parameters) if self._is_float(t)]
        for number, k in enumerate(self.wrt):
            wanted = self.function.parameters[k]
            names.append(f"a{number}")
            if k in call.arrays:
                x, at, size = call.arrays[k]
                flat = np.array(x).reshape(-1)
                leaves.append(("array", at, size))
            elif k in numbers:
                flat = np.array([given[k]], wanted.dtype)
                leaves.append(("number", numbers.index(k)))
            else:
                raise HostArgumentError(f"{self.function.names[k]} is NULL: there is nothing to differentiate by.")
            ranges[number] = Leaves(names[-1], flat)
            inputs.append(flat)
        return leaves, ranges, names, inputs

    def _evaluated(self, replay: Replay, result: str, names: list[str], inputs: list[Any], recorded: Any) -> Any:
        key, function = replay.finished(result, names)
        if key not in self._functions:
            self._functions[key] = value_and_grad(function(), argnums=tuple(range(len(names))))
        try:
            value, slopes = self._functions[key](*inputs, *replay.given)
        except ReactantError as error:
            raise self._at_launch(error, replay) from error
        tolerance = AGREES.get(recorded.dtype.itemsize, 1e-3)
        if not abs(float(value) - float(recorded)) <= tolerance * max(abs(float(recorded)), 1e-30) + tolerance ** 2:
            raise NotDifferentiable(f"'{self.function.name}' gave {recorded}, and what was recorded of it gives "
                                    f"{value}: its derivative would not be that of the function.",
                                    hint="A kernel reads memory that nothing has written, or depends on the order of "
                                         "its threads.")
        shaped = [self._shaped(k, slope) for k, slope in zip(self.wrt, slopes, strict=True)]
        return recorded, shaped[0] if self.one else tuple(shaped)

    def _shaped(self, k: int, slope: Any) -> Any:
        return np.asarray(slope)[0] if self.function.parameters[k].kind != "pointer" else np.asarray(slope)

    def _at_launch(self, error: Any, replay: Replay) -> NotDifferentiable:
        named = next((f" (launched at {place})" for name, place in replay.sites.items() if f"'{name}'" in str(error)
                      and place), "")
        return NotDifferentiable(f"'{self.function.name}' cannot be differentiated{named}: {error.fact}",
                                 hint=getattr(error, "hint", "") or "")

    def _heed(self, complaints: bytes, lines: list[str], replay: Replay) -> None:
        """Raises `NotDifferentiable` where host code may have lost a number."""
        for complaint in np.frombuffer(complaints, COMPLAINTS):
            number = int(complaint["range"])
            if number in replay.leaves and replay.leaves[number].recorded.dtype.kind != "f":
                continue                # the device's integers, read as such
            line = lines[int(complaint["line"])]
            if complaint["what"] == READS_BITS:
                raise NotDifferentiable(f"The host code at {line} reads the bytes of numbers as something else.",
                                        hint="Copy them as float or double, by assignment or memcpy; give them to "
                                             "kernels and functions as arguments of their own, not in a struct.")
            raise NotDifferentiable(f"The host code at {line} gives a number to a function that is not the program's "
                                    f"own, and whose derivative is not known.",
                                    hint="Write that function in one of the program's files.")
