"""Does what a program's runtime wrote down: as compiled functions, or by the program's own code.

Launches, copies and fills that come one after another are steps. Those that repeat become a loop of one compiled
function; others are compiled when they have come often enough to be worth it, and the program's process runs them in the
meantime, on the bytes that it shares with this one.
"""
from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from reactant.api import jit
from reactant.calling.jitted import Jitted
from reactant.cuda import memories as memories_
from reactant.cuda import rows, sequences, steps
from reactant.cuda.building import Built
from reactant.cuda.memories import Memories
from reactant.cuda.process import Process
from reactant.cuda.rows import Allocated, Copied, Filled, Launched, Looked, Released, Row, Runs, SymbolWritten
from reactant.cuda.sequences import Repeated, Writer, Written
from reactant.cuda.steps import LaunchStep, NotRecorded, Reader, Step
from reactant.cuda.telling import Told
from reactant.errors import ReactantError, UnsupportedError, in_one_line
from reactant.kernels.launch import inspection
from reactant.kernels.ways_in.module_source import SourceKernel
from reactant.runtime.array import DeviceArray, array

LOWER = ("auto", "tensor", "native")
REPEATS = 8
"""Repetitions from which on a pattern is worth a compilation on a CPU, where the program has native code already."""
FLUSHES = 3
"""Times that a sequence without repetitions comes before it is compiled there."""
LONGEST = 24
"""Steps of one compiled function outside of its loops: the time of a compilation grows with them."""


@dataclass(frozen=True)
class How:
    """How a program runs: `lower` as for `reactant.kernel`, the device that arrays are on, whether that is this CPU."""

    lower: str = "auto"
    device: Any = None
    platform: str = "cpu"

    @property
    def at_once(self) -> bool:
        """Whether all that can be compiled is, however seldom it comes."""
        return self.lower == "tensor" or self.platform != "cpu"


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

    def flush(self, queue: memoryview) -> None:
        """Do what is written down; the host waits."""
        self.memories.host_ran()
        for row in rows.read(queue):
            self.DO[type(row)](self, row)
        self.finish()
        self.memories.host_runs()

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

    def copied(self, row: Copied) -> None:
        if row.host == 0:
            try:
                step = steps.copied(row, self.memories)
                self.fits(step)
                self.waiting.append((step, row))
                self.noted(row, step)
                return
            except NotRecorded:
                pass
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
        try:
            step = steps.filled(row, self.memories)
            self.fits(step)
            self.waiting.append((step, row))
            self.noted(row, step)
            return
        except NotRecorded:
            pass
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

    def runs(self, row: Runs) -> None:
        self._runs = row.runs

    DO = {Runs: runs, Allocated: allocated, Released: released, Launched: launched, Copied: copied, Filled: filled,
          SymbolWritten: symbol, Looked: looked}

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
        """Do all that waits."""
        waiting, self.waiting = self.waiting, []
        if not waiting:
            return
        at, single = 0, list[tuple[Step, Row]]()
        for part in sequences.repeated([s for s, _ in waiting]):
            these = waiting[at:at + len(part.steps)]
            at += len(part.steps)
            if part.count == 1:
                single += these
                if len(single) == LONGEST:
                    self.straight(single)
                    single = []
                continue
            self.straight(single)
            single = []
            if not (self.how.at_once or part.count >= REPEATS) or not self.compiled_run(part, these):
                self.straight(these)
        self.straight(single)

    def straight(self, these: list[tuple[Step, Row]]) -> None:
        """Steps one after another, as one compiled function where that is worth it."""
        if not these:
            return
        plain = tuple(sequences.without_floats(s) for s, _ in these)
        key = tuple(self.anonymous(plain))
        self.compiled.seen[key] += 1
        if (self.how.at_once or self.compiled.seen[key] >= FLUSHES) and \
                (len(these) <= LONGEST and self.compiled_run(Repeated(tuple(s for s, _ in these)), these)):
            return
        if self.how.at_once and len(these) > 1:
            for each in these:
                self.straight([each])
            return
        for step, row in these:
            self.by_host(row, self.compiled.reasons.get(sequences.without_floats(step), "") or
                         "its sequence comes too seldom to be worth a compilation")

    def anonymous(self, plain: tuple[Step, ...]) -> list[Any]:
        """Steps with places in the order in which they come: the same sequence over other memory is the same."""
        order: dict[int, int] = {}

        def named(a: Any) -> Any:
            if isinstance(a, tuple):
                return tuple(named(i) for i in a)
            return replace(a, base=order.setdefault(a.base, len(order))) if isinstance(a, steps.View) else a
        return [replace(s, arguments=named(s.arguments)) if isinstance(s, LaunchStep) else
                replace(s, **{k: named(v) for k, v in vars(s).items()}) for s in plain]

    def compiled_run(self, part: Repeated, these: list[tuple[Step, Row]]) -> bool:
        """Run steps as a compiled function; False where some step has none."""
        for step, row in {sequences.without_floats(s): (s, r) for s, r in these[:part.period]}.values():
            reason = self.reason(step)
            if reason and self.how.lower == "tensor":
                raise self.refused(row, reason)
            if reason:
                return False
        writer = Writer(self.kernel)
        written = writer.written([part])
        key = (written.text, tuple(str(d) for d in written.roots.values()), tuple(written.variables),
               tuple((k, str(v) if not hasattr(v, "launch") else (v.way_in.name, v.launch))
                     for k, v in written.space.items() if k != "seen"))
        function = self.compiled.functions.get(key)
        try:
            if function is None:
                function = self.compiled.functions[key] = jit(written.function(), frontend="numpy", cache=False)
            if isinstance(function, str):
                return False
            begun = time.perf_counter()
            self.call(function, written)
        except ReactantError as error:
            if self.how.lower == "tensor":
                raise
            self.compiled.functions[key] = in_one_line(error)
            for step, _ in these[:part.period]:
                self.compiled.reasons[sequences.without_floats(step)] = in_one_line(error)
            return False
        for view in (v for s in part.steps[:part.period] for v in s.views):
            found = self.memories.find(view.base)
            assert found is not None
            found.changed_on_device()
        self.told.compiled(self, part, these, time.perf_counter() - begun)
        return True

    def call(self, function: Jitted, written: Written) -> None:
        shared = self.memories.shared
        found = [self.memories.find(base) for base in written.roots]
        arrays = [m.on_device(shared, dtype, self.how.device) for m, dtype in zip(found, written.roots.values(),
                                                                                  strict=True) if m is not None]
        values = [array(v, device=self.how.device) if isinstance(v, np.ndarray) else v for v in written.values]
        function(*arrays, *values, *(self.constant(symbol) for symbol in written.variables))

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
                self.compiled.lowerings[plain] = lowering(self.kernel(step.kernel), step, self.size,
                                                          None if self.how.platform == "cpu" else self.how.platform)
                self.compiled.reasons[plain] = ""
            except (ReactantError, RuntimeError) as error:
                self.compiled.reasons[plain] = in_one_line(error)
        return self.compiled.reasons[plain]

    def refused(self, row: Launched | Row, reason: str) -> UnsupportedError:
        what = row.kernel if isinstance(row, Launched) else "A copy"
        where = self.built.line_of(row.site - self.process.image) if isinstance(row, Launched) else ""
        kernel = self.built.kernel(what)
        name = what if isinstance(kernel, str) else kernel.name
        return UnsupportedError(f"The kernel '{name}', launched at {where or 'a line that is not known'}, is no tensor "
                                f"program: {reason}", hint='With lower="auto" the program\'s own code runs it, on the '
                                                           'host.', code="kernel-not-tensors")

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
        if self.how.lower == "tensor":
            raise self.refused(row, reason)
        self.memories.bring_home()
        begun = time.perf_counter()
        self.process.run(row.at)
        self.memories.changed_at_home()
        self.told.by_host(self, row, reason, time.perf_counter() - begun)

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
