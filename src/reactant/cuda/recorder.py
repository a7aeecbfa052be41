"""Does what a program's runtime wrote down: as compiled functions, or by the program's own code.

Launches, copies and fills that come one after another are steps. Those that repeat become a loop of one compiled
function; others are compiled when they have come often enough to be worth it, and the program's process runs them in
the meantime, on the bytes that it shares with this one.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from reactant.api import jit
from reactant.calling.jitted import Jitted
from reactant.cuda import memories as memories_
from reactant.cuda import rows, sequences, steps
from reactant.cuda.building import Built
from reactant.cuda.memories import Memories
from reactant.cuda.process import Process
from reactant.cuda.rows import Allocated, Copied, Filled, Launched, Looked, Released, Row, Runs, SymbolWritten, Touched
from reactant.cuda.sequences import Unit, Writer, Written
from reactant.cuda.steps import LaunchStep, NotRecorded, Reader, Step
from reactant.cuda.telling import Place, Told
from reactant.errors import ReactantError, UnsupportedError, in_one_line
from reactant.kernels.launch import inspection
from reactant.kernels.ways_in.module_source import SourceKernel
from reactant.runtime.array import DeviceArray, array

LOWER = ("auto", "tensor", "native")
REPEATS = 8
"""Repetitions from which on a pattern is worth a compilation on a CPU, where the program has native code already."""
FLUSHES = 3
"""Times that a sequence without repetitions comes before it is compiled there."""
SHOWN = "it is only shown"
LONGEST = 24
"""Steps of one compiled function outside of its loops: the time of a compilation grows with them."""


@dataclass(frozen=True)
class How:
    """How a program runs: `lower` as for `reactant.kernel`, the device that arrays are on, whether that is this CPU."""

    lower: str = "auto"
    device: Any = None
    platform: str = "cpu"
    shown: str | None = None
    """A target whose modules are to be looked at; the program itself does the work."""

    @property
    def at_once(self) -> bool:
        """Whether all that can be compiled is, however seldom it comes."""
        return self.lower == "tensor" or self.platform != "cpu" or self.shown is not None


@dataclass
class Compiled:
    """What a program has compiled so far."""

    functions: dict[tuple, Jitted | str] = field(default_factory=dict)
    """By text and constants: the function, or why there is none."""
    reasons: dict[Step, str] = field(default_factory=dict)
    """Why steps are not compiled; "" where they are."""
    lowerings: dict[Step, str] = field(default_factory=dict)
    seen: Counter = field(default_factory=Counter)


@dataclass(frozen=True)
class Entry:
    """Something that was done: the row, its step or why it has none, the identities that it came with, and the bytes
    that the host gave or got."""

    row: Row
    step: Step | str
    runs: np.ndarray | None
    content: bytes


class Recorder:
    """Serves one process of a program."""

    def __init__(self, built: Built, process: Process, how: How, compiled: Compiled, told: Told):
        self.built, self.process, self.how, self.compiled, self.told = built, process, how, compiled, told
        self.memories = Memories(process.memory)
        self.reader = Reader(self.memories, process.base, "tensor" if how.lower == "tensor" else "auto")
        self.variables: dict[str, np.ndarray] = {}
        self._constants: dict[str, DeviceArray] = {}
        self.waiting: list[tuple[Step, Row]] = []
        self.log: list[Entry] | None = None
        """Everything that is done, where somebody wants to know."""
        self._runs: np.ndarray | None = None

    # ---- rows ----

    def flush(self, queue: memoryview) -> bool:
        """Do what is written down; the host waits. Whether there is content that the shared bytes have not."""
        self.memories.host_ran()
        for row in rows.read(queue):
            getattr(self, self.DO[type(row)])(row)
        self.finish()
        self.memories.host_runs()
        return any(memory.array is not None and memory.kind == rows.DEVICE for memory in self.memories)

    def allocated(self, row: Allocated) -> None:
        self.memories.add(row.base, row.bytes, row.kind)
        self.noted(row)

    def released(self, row: Released) -> None:
        if any(v.base == row.base for step, _ in self.waiting for v in step.views):
            self.finish()
        self.memories.remove(row.base)
        self.noted(row)

    def launched(self, row: Launched) -> None:
        kernel = self.built.kernel(row.kernel) if self.how.lower != "native" or self.log is not None else \
            'lower="native" asks for it'
        try:
            if isinstance(kernel, str):
                raise NotRecorded(kernel)
            step = self.reader.launch(row, kernel)
            self.fits(step)
        except NotRecorded as error:
            self.by_host(row, str(error))
            self.noted(row, str(error))
            return
        self.noted(row, step)
        if self.how.lower == "native":
            self.by_host(row, 'lower="native" asks for it')
        else:
            self.waiting.append((step, row))

    def _waits(self, row: Any, step_of: Callable[[Any, Any], Any]) -> bool:
        """Whether what a row says can wait, as a step of a sequence."""
        try:
            step = step_of(row, self.memories)
            self.fits(step)
        except NotRecorded:
            return False
        self.waiting.append((step, row))
        self.noted(row, step)
        return True

    def copied(self, row: Copied) -> None:
        if row.host == 0 and self._waits(row, steps.copied):
            return
        self.noted(row)
        target, source = self.memories.of_box(row.target), self.memories.of_box(row.source)
        self.before(target, source if row.host == 0 else None)
        if target is not None:
            if row.target.bytes != target.bytes or not row.target.in_one_piece:
                target.bring_home(self.memories.shared)
            if row.host == 0 and source is not None:
                source.bring_home(self.memories.shared)
        memories_.copy(self.memories.shared, row.target, row.source)
        if target is not None:
            target.changed_at_home()

    def filled(self, row: Filled) -> None:
        if self._waits(row, steps.filled):
            return
        self.noted(row)
        target = self.memories.of_box(row.target)
        self.before(target)
        if target is not None:
            target.bring_home(self.memories.shared)
        memories_.fill(self.memories.shared, row.target, row.value, row.element)
        if target is not None:
            target.changed_at_home()

    def symbol(self, row: SymbolWritten) -> None:
        self.noted(row)
        self.finish()
        self.process.write_symbol(row.at)
        if not row.constant:
            return
        for _, module in self.built.modules if self.how.lower != "native" else []:
            if not isinstance(module, str) and row.symbol in module.variables:
                variable = module.variables[row.symbol]
                value = self.variables.setdefault(row.symbol, module.value(variable).copy())
                content = self.memories.shared[row.staged:row.staged + row.bytes]
                value.reshape(-1).view(np.uint8)[row.offset:row.offset + row.bytes] = content
                self._constants.pop(row.symbol, None)

    def looked(self, row: Looked) -> None:
        self.finish()
        memory = self.memories.of_box(row.source)
        if memory is not None:
            memory.bring_home(self.memories.shared)
        self.noted(row)

    def touched(self, row: Touched) -> None:
        self.noted(row)
        self.finish()
        self.memories.bring_home()
        self.memories.changed_at_home()

    def runs(self, row: Runs) -> None:
        self._runs = row.runs

    DO: ClassVar[dict[type, str]] = {
        Allocated: "allocated", Released: "released", Launched: "launched", Copied: "copied", Filled: "filled",
        SymbolWritten: "symbol", Looked: "looked", Runs: "runs", Touched: "touched"}
    """What is done with each kind of row."""

    def noted(self, row: Row, step: Step | str = "") -> None:
        if self.log is None:
            return
        content = b""
        if isinstance(row, Looked) or isinstance(row, Copied) and row.host:
            content = memories_.rows_of(self.memories.shared, row.source).tobytes()
        elif isinstance(row, SymbolWritten):
            content = self.memories.shared[row.staged:row.staged + row.bytes].tobytes()
        self.log.append(Entry(row, step, self._runs, content))
        self._runs = None

    def fits(self, step: Step) -> None:
        """Whether what waits sees the same memory as the same arrays. Raises `NotRecorded`."""
        roots = {v.base: v.root for waiting, _ in self.waiting for v in waiting.views}
        for view in step.views:
            root = roots.setdefault(view.base, view.root)
            if root != view.root and (view.offset % root.itemsize or self.size(view.base) % root.itemsize):
                raise NotRecorded(f"it takes memory as {view.dtype} that other launches take as {root}")

    def size(self, base: int) -> int:
        found = self.memories.find(base)
        return 0 if found is None else found.bytes

    def before(self, *touched: Any) -> None:
        """Do what waits where it has to do with these memories."""
        bases = {m.base for m in touched if m is not None}
        if None in touched[:1] or any(v.base in bases for step, _ in self.waiting for v in step.views):
            self.finish()

    # ---- steps ----

    def finish(self) -> None:
        """Do all that waits, in units that one compiled function has room for."""
        waiting, self.waiting = self.waiting, []
        unit = Unit([], [])
        at = 0
        for part in sequences.repeated([s for s, _ in waiting]):
            if unit.parts and unit.length + part.period > LONGEST:
                self.run(unit)
                unit = Unit([], [])
            unit.parts.append(part)
            unit.done += waiting[at:at + len(part.steps)]
            at += len(part.steps)
        if unit.parts:
            self.run(unit)

    def run(self, unit: Unit) -> None:
        """A unit as one compiled function where that is worth it and possible, else in parts, or by the program."""
        key = unit.key()
        self.compiled.seen[key] += 1
        worth = self.how.at_once or any(p.count >= REPEATS for p in unit.parts) or self.compiled.seen[key] >= FLUSHES
        reason = "its sequence comes too seldom to be worth a compilation"
        if worth:
            reason = self.reason_of(unit) or self.compile_and_run(unit)
            if not reason:
                return
            if len(unit.parts) > 1 and reason != SHOWN:
                for part in unit.split():
                    self.run(part)
                return
        for step, row in unit.done:
            self.by_host(row, (self.compiled.reasons.get(sequences.without_floats(step)) if worth else "") or reason)

    def reason_of(self, unit: Unit) -> str:
        """Why a unit is not compiled, "" where it can be."""
        for step, row in unit.distinct():
            if reason := self.reason(step):
                if self.how.lower == "tensor":
                    raise self.refused(row, reason)
                return f"{self.name_of(row)} is in its sequence: {reason}"
        return ""

    def compile_and_run(self, unit: Unit) -> str:
        """Run a unit as a compiled function; gives why there is none."""
        written = Writer(self.kernel).written(unit.parts)
        key = (*written.key(), tuple(str(d) for d in written.roots.values()), tuple(written.variables))
        function = self.compiled.functions.get(key)
        try:
            if function is None:
                function = jit(written.function(), frontend="numpy", cache=False, target=self.how.shown)
                self.compiled.functions[key] = function
            if isinstance(function, str):
                return function
            if self.how.shown is not None:
                self.told.modules.append(function.lower(*self.inputs(written)).as_text())
                return SHOWN
            function(*self.inputs(written))
        except ReactantError as error:
            if self.how.lower == "tensor":
                raise
            self.compiled.functions[key] = reason = in_one_line(error)
            return reason
        for view in (v for p in unit.parts for s in p.steps[:p.period] for v in s.views):
            found = self.memories.find(view.base)
            assert found is not None
            found.changed_on_device()
        self.told.compiled(unit, self.place_of, self.compiled.lowerings)
        return ""

    def inputs(self, written: Written) -> list[Any]:
        """The arrays and numbers of a compiled function."""
        shared, found = self.memories.shared, []
        for base, dtype in written.roots.items():
            memory = self.memories.find(base)
            assert memory is not None
            found.append(memory.on_device(shared, dtype, self.how.device))
        values = [array(v, device=self.how.device) if isinstance(v, np.ndarray) else v for v in written.values]
        return [*found, *values, *(self.constant(symbol) for symbol in written.variables)]

    def constant(self, symbol: str) -> DeviceArray:
        if symbol not in self._constants:
            value = self.variables.get(symbol)
            if value is None:
                module, variable = next((m, m.variables[symbol]) for _, m in self.built.modules
                                        if not isinstance(m, str) and symbol in m.variables)
                value = module.value(variable)
            self._constants[symbol] = array(value, device=self.how.device)
        return self._constants[symbol]

    def kernel(self, symbol: str) -> SourceKernel:
        found = self.built.kernel(symbol)
        assert isinstance(found, SourceKernel)
        return found

    def reason(self, step: Step) -> str:
        """Why a step is not compiled, "" where it can be."""
        plain = sequences.without_floats(step)
        if not isinstance(step, LaunchStep):
            return ""
        if plain not in self.compiled.reasons:
            try:
                self.compiled.lowerings[plain] = lowering(self.kernel(step.kernel), step, self.size, self.how.shown)
                self.compiled.reasons[plain] = ""
            except (ReactantError, RuntimeError) as error:
                self.compiled.reasons[plain] = in_one_line(error)
        return self.compiled.reasons[plain]

    def refused(self, row: Launched | Row, reason: str) -> UnsupportedError:
        where = self.place_of(row).line if isinstance(row, Launched) else ""
        return UnsupportedError(f"The kernel '{self.name_of(row)}', launched at {where or 'a line that is not known'}, "
                                f"is no tensor program: {reason}",
                                hint='With lower="auto" the program\'s own code runs it, on the host.',
                                code="kernel-not-tensors")

    def place_of(self, row: Launched) -> Place:
        return Place(self.name_of(row), self.built.line_of(row.site - self.process.image), row.grid, row.block)

    def name_of(self, row: Row) -> str:
        return self.built.name_of(row.kernel) if isinstance(row, Launched) else "a copy"

    # ---- by the program itself ----

    def by_host(self, row: Row, reason: str) -> None:
        """Let the program's process do it, on the shared bytes."""
        self.finish()
        if isinstance(row, Copied):
            for box in (row.target, row.source):
                self.at_home(self.memories.of_box(box))
            memories_.copy(self.memories.shared, row.target, row.source)
            self.changed(self.memories.of_box(row.target))
            return
        if isinstance(row, Filled):
            self.at_home(self.memories.of_box(row.target))
            memories_.fill(self.memories.shared, row.target, row.value, row.element)
            self.changed(self.memories.of_box(row.target))
            return
        assert isinstance(row, Launched)
        if self.how.lower == "tensor" and reason != SHOWN:
            raise self.refused(row, reason)
        self.memories.bring_home()
        self.process.run(row.at)
        self.memories.changed_at_home()
        self.told.by_host(self.place_of(row), reason)

    def at_home(self, memory: Any) -> None:
        if memory is not None:
            memory.bring_home(self.memories.shared)

    def changed(self, memory: Any) -> None:
        if memory is not None:
            memory.changed_at_home()


def lowering(kernel: SourceKernel, step: LaunchStep, size: Any, target: str | None) -> str:
    """What a launch becomes, in words. Raises `ReactantError` where it becomes nothing."""
    roots: dict[int, np.ndarray] = {}

    def given(argument: Any) -> Any:
        if isinstance(argument, tuple):
            return tuple(given(a) for a in argument)
        if isinstance(argument, steps.View):
            root = roots.setdefault(argument.base, np.empty(size(argument.base) // argument.root.itemsize,
                                                            argument.root))
            return root.view(np.uint8)[argument.offset:][:argument.count * argument.dtype.itemsize].view(argument.dtype)
        if isinstance(argument, steps.Float):
            return argument.dtype.type(0) if not argument.bits else argument.value
        if isinstance(argument, steps.Record):
            return np.frombuffer(argument.content, argument.dtype)[0]
        return argument.value
    arguments = tuple(given(a) for a in step.arguments)
    variables = tuple(kernel.global_arguments({}))
    return str(inspection.lowering_of(kernel, step.launch, (*arguments, *variables), target))
